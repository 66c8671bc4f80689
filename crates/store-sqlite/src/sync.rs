//! What the hand-off waits with. The tests put a scheduler that tries many orders
//! in its place.

use std::{
    thread,
    time::{Duration, Instant},
};

pub(crate) use std::sync::{
    Arc, Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// The longest that anybody spins, and the longest that what is spun for may have
/// taken the last time. About what it takes to wake two threads, which it saves.
const BOUND: Duration = Duration::from_micros(150);

/// How long the processor is kept before others on it are let go first.
const EAGER: Duration = Duration::from_micros(20);

/// How often it is looked between two looks at the clock.
const LOOKS: u32 = 16;

/// Whether somebody else can do something while this thread spins.
pub(crate) fn is_worth_it() -> bool {
    thread::available_parallelism().is_ok_and(|processors| processors.get() > 1)
}

/// Waits for something that is about to happen, and says whether it paid: whether it
/// happened, and in time. It does not where somebody else has the processor.
pub(crate) fn spin(mut until: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    loop {
        for _ in 0..LOOKS {
            if until() {
                return began.elapsed() < BOUND;
            }
            std::hint::spin_loop();
        }
        let spun = began.elapsed();
        if spun >= BOUND {
            return false;
        }
        if spun >= EAGER {
            thread::yield_now();
        }
    }
}

/// Tells what is short enough to be spun for.
#[derive(Debug)]
pub(crate) struct Watch(Instant);

impl Watch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Whether it is not yet too long.
    pub(crate) fn is_short(&self) -> bool {
        self.0.elapsed() < BOUND
    }
}
