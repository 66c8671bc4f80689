//! Time that moves when nothing else can, and what runs on it.

use std::{
    collections::BTreeMap,
    fmt,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use rustagents_core::{BoxFuture, clock::Clock};

/// The most polls of one run.
const MAX_POLLS: u64 = 1_000_000;

/// A clock that stands still while anything can go on, and then jumps to the next
/// sleeper. Clones show the same time. It starts one second after the Unix epoch.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Arc<Mutex<Time>>);

#[derive(Debug, Default)]
struct Time {
    now: Duration,
    /// How many sleeps there were.
    sleeps: u64,
    /// Who sleeps, by when they wake and then by when they began.
    sleepers: BTreeMap<(Duration, u64), Option<Waker>>,
}

/// Nothing can go on: everybody waits, and nobody for the time. Or it goes on and on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// How often it was polled.
    pub polls: u64,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stuck after {} polls", self.polls)
    }
}

/// Whether somebody was woken since the last poll.
struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl VirtualClock {
    /// A clock that starts.
    pub fn new() -> Self {
        Self::default()
    }

    fn time(&self) -> MutexGuard<'_, Time> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `future` to its end on this thread; time passes only while it waits.
    ///
    /// # Errors
    /// [`Stuck`]: it waits for something that nobody will do, so a wake-up was lost,
    /// or it never ends.
    pub fn run<T>(&self, future: impl Future<Output = T>) -> Result<T, Stuck> {
        let bell = Arc::new(Bell(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&bell));
        let mut future = pin!(future);
        for polls in 0..MAX_POLLS {
            if !bell.0.swap(false, Ordering::SeqCst) && !self.pass() {
                return Err(Stuck { polls });
            }
            if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Ok(done);
            }
        }
        Err(Stuck { polls: MAX_POLLS })
    }

    /// Moves on to when somebody wakes, and wakes all who do then.
    fn pass(&self) -> bool {
        let mut woken = Vec::new();
        {
            let mut time = self.time();
            let Some(until) = time.sleepers.keys().next().map(|(until, _)| *until) else {
                return false;
            };
            time.now = time.now.max(until);
            for (_, waker) in time.sleepers.range_mut((until, 0)..=(until, u64::MAX)) {
                woken.extend(waker.take());
            }
            time.sleepers.retain(|(at, _), _| *at > until);
        }
        woken.into_iter().for_each(Waker::wake);
        true
    }
}

impl Clock for VirtualClock {
    fn now_ms(&self) -> u64 {
        1_000 + u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn elapsed(&self) -> Duration {
        self.time().now
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut time = self.time();
        time.sleeps += 1;
        let place = (time.now + duration, time.sleeps);
        drop(time);
        Box::pin(Sleep {
            clock: self.clone(),
            place,
        })
    }
}

/// Somebody who sleeps, once polled.
struct Sleep {
    clock: VirtualClock,
    place: (Duration, u64),
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut time = self.clock.time();
        if time.now >= self.place.0 {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        time.sleepers.insert(self.place, Some(waker));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.clock.time().sleepers.remove(&self.place);
    }
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt, future::pending, stream::FuturesUnordered};

    use super::*;

    #[test]
    fn who_sleeps_less_wakes_first_and_no_real_time_passes() {
        let clock = VirtualClock::new();
        let sleep = |seconds: u64| {
            let clock = clock.clone();
            async move {
                clock.sleep(Duration::from_secs(seconds)).await;
                seconds
            }
        };
        let sleepers: FuturesUnordered<_> = [30, 10, 86_400, 20].map(sleep).into_iter().collect();
        let woken = clock.run(sleepers.collect::<Vec<_>>());
        assert_eq!(woken, Ok(vec![10, 20, 30, 86_400]));
        assert_eq!(clock.now_ms(), 86_401_000);
    }

    #[test]
    fn what_nobody_wakes_is_found() {
        let clock = VirtualClock::new();
        drop(clock.sleep(Duration::from_secs(1)));
        assert_eq!(clock.run(pending::<()>()), Err(Stuck { polls: 1 }));
    }
}
