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
