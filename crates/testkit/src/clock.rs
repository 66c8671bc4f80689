//! A clock that tests control.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::FutureExt;
use rustagents_core::{BoxFuture, clock::Clock};

/// A clock on tokio's time: with `start_paused`, sleeping costs nothing.
#[derive(Clone, Debug)]
pub struct TestClock {
    start: tokio::time::Instant,
    reads: Arc<AtomicU64>,
}

impl TestClock {
    /// A clock that starts now, which is one second after the Unix epoch.
    pub fn new() -> Self {
        Self {
            start: tokio::time::Instant::now(),
            reads: Arc::default(),
        }
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TestClock {
    fn now_ms(&self) -> u64 {
        let reads = self.reads.fetch_add(1, Ordering::Relaxed);
        1_000 + reads + u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }
}

/// A clock that moves only when it is told to, and when somebody sleeps on it.
/// Clones show the same time. It needs no async runtime.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that stands one second after the Unix epoch.
    pub fn new() -> Self {
        Self(Arc::new(AtomicU64::new(1_000)))
    }

    /// Moves on.
    pub fn advance(&self, duration: Duration) {
        let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.now_ms())
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.advance(duration);
        futures::future::ready(()).boxed()
    }
}
