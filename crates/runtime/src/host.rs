//! Time and names from the machine that the runtime runs on.

use std::time::Duration;

use futures::FutureExt;
use rustagents_core::{BoxFuture, clock::Clock, ids::Ids};
use tokio::time::Instant;

/// The system's clock, with tokio's timers. What need not be exact is read from the
/// clock that the kernel moves on at each of its ticks, every 1 to 10 milliseconds.
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
        u64::try_from(rough::now().as_millis()).unwrap_or(u64::MAX)
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn elapsed_roughly(&self) -> Duration {
        rough::elapsed()
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

/// Time that may lag behind, where the kernel has a clock that costs less so.
mod rough {
    use std::{
        sync::LazyLock,
        time::{Duration, Instant, SystemTime, UNIX_EPOCH},
    };

    static START: LazyLock<Instant> = LazyLock::new(Instant::now);

    #[cfg(target_os = "linux")]
    mod coarse {
        use std::time::Duration;

        use nix::time::{ClockId, clock_gettime};

        fn read(clock: ClockId) -> Option<Duration> {
            clock_gettime(clock).ok().map(Duration::from)
        }

        pub(super) fn now() -> Option<Duration> {
            read(ClockId::CLOCK_REALTIME_COARSE)
        }

        pub(super) fn elapsed() -> Option<Duration> {
            read(ClockId::CLOCK_MONOTONIC_COARSE)
        }
    }

    #[cfg(not(target_os = "linux"))]
    mod coarse {
        use std::time::Duration;

        pub(super) const fn now() -> Option<Duration> {
            None
        }

        pub(super) const fn elapsed() -> Option<Duration> {
            None
        }
    }

    /// Since the Unix epoch.
    pub(super) fn now() -> Duration {
        let exact = || SystemTime::now().duration_since(UNIX_EPOCH);
        coarse::now().unwrap_or_else(|| exact().unwrap_or_default())
    }

    pub(super) fn elapsed() -> Duration {
        coarse::elapsed().unwrap_or_else(|| START.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    fn exact_ms() -> u128 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.unwrap_or_default().as_millis()
    }

    #[test]
    fn the_rough_time_is_that_of_the_system() {
        const LATE: u128 = 1_000;
        let before = exact_ms();
        let now = u128::from(SystemClock::new().now_ms());
        assert!((before - LATE..=exact_ms()).contains(&now), "{now}");
    }

    #[test]
    fn rough_time_never_goes_back() {
        let clock = SystemClock::new();
        let times: Vec<_> = (0..1_000).map(|_| clock.elapsed_roughly()).collect();
        assert!(times.is_sorted());
    }
}
