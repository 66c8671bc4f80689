//! When a call has to stop: its deadline, its cancellation, nobody waits for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustagents_core::CancellationToken;

/// Why a call stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It had this long.
    Timeout(Duration),
    /// Somebody cancelled it, or nobody waits for it any more.
    Cancelled,
}

/// Shared between the future of a call and the thread that does its work.
#[derive(Debug)]
pub(super) struct Watch {
    timeout: Duration,
    /// `None` for a deadline past the end of time.
    deadline: Option<Instant>,
    cancel: CancellationToken,
    abandoned: AtomicBool,
}

impl Watch {
    /// A call that may take `timeout` from now.
    pub(super) fn start(timeout: Duration, cancel: CancellationToken) -> Arc<Self> {
        let deadline = Instant::now().checked_add(timeout);
        Arc::new(Self {
            timeout,
            deadline,
            cancel,
            abandoned: AtomicBool::new(false),
        })
    }

    /// Whether the call has to stop now.
    pub(super) fn stop(&self) -> Option<Stop> {
        if self.abandoned.load(Ordering::Relaxed) || self.cancel.is_cancelled() {
            return Some(Stop::Cancelled);
        }
        let late = self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline);
        late.then_some(Stop::Timeout(self.timeout))
    }

    /// How long to wait before another try, at most `wanted`.
    pub(super) fn pause(&self, wanted: Duration) -> Duration {
        let left = self
            .deadline
            .map(|deadline| deadline.duration_since(Instant::now()));
        left.map_or(wanted, |left| left.min(wanted))
    }
}

/// Stops the work when the future that waits for it is dropped.
#[derive(Debug)]
pub(super) struct Guard(pub(super) Arc<Watch>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.abandoned.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    #[test]
    fn a_call_stops_for_each_reason() {
        let cancel = CancellationToken::new();
        let watch = Watch::start(LONG, cancel.clone());
        assert_eq!(watch.stop(), None);
        cancel.cancel();
        assert_eq!(watch.stop(), Some(Stop::Cancelled));

        let watch = Watch::start(Duration::ZERO, CancellationToken::new());
        assert_eq!(watch.stop(), Some(Stop::Timeout(Duration::ZERO)));
        assert_eq!(watch.pause(LONG), Duration::ZERO);

        let watch = Watch::start(LONG, CancellationToken::new());
        drop(Guard(Arc::clone(&watch)));
        assert_eq!(watch.stop(), Some(Stop::Cancelled));
    }

    #[test]
    fn a_deadline_past_the_end_of_time_never_comes() {
        let watch = Watch::start(Duration::MAX, CancellationToken::new());
        assert_eq!(watch.stop(), None);
        assert_eq!(watch.pause(LONG), LONG);
    }
}
