//! Time, as the machines see it.

use std::time::Duration;

use crate::BoxFuture;

/// Where time comes from. Nothing is ever ordered by it.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch; may be some of them late.
    fn now_ms(&self) -> u64;

    /// Time since an arbitrary fixed point; never goes back.
    fn elapsed(&self) -> Duration;

    /// As [`elapsed`](Self::elapsed), from a fixed point of its own; where it costs
    /// less, it may be some milliseconds late.
    fn elapsed_roughly(&self) -> Duration {
        self.elapsed()
    }

    /// Completes after `duration`; dropping it costs nothing.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}
