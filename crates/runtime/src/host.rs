//! Time and names from the machine that the runtime runs on.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::FutureExt;
use rustagents_core::{BoxFuture, clock::Clock, ids::Ids};
use tokio::time::Instant;

/// The system's clock, with tokio's timers.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock that counts from now.
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }
}

/// Names that sort by time: version 7 UUIDs.
#[derive(Clone, Copy, Debug, Default)]
pub struct UuidIds;

impl Ids for UuidIds {
    fn fresh(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }
}
