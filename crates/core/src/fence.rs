//! What a driver knows of having lost its thread, and what it still has to tell.

use std::{
    future::poll_fn,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
};

use futures::task::AtomicWaker;

use crate::{
    code::{Code, Coded},
    journal::JournalError,
};

/// Whether another driver took the thread over, as the journal told this one.
#[derive(Debug, Default)]
pub(crate) struct Fence {
    lost: OnceLock<JournalError>,
    in_flight: AtomicUsize,
    waker: AtomicWaker,
}

/// An effect in flight whose end a driver may still tell after it lost its thread.
/// Dropping it says that the end is told, or will not be.
#[derive(Debug)]
#[must_use = "the effect is in flight as long as this is kept"]
pub struct InFlight<'f>(&'f Fence);

impl Fence {
    /// Heeds why a write failed.
    pub(crate) fn heed(&self, error: &JournalError) {
        if error.code() == Code::Fenced {
            // What was told first stands.
            let _ = self.lost.set(error.clone());
            self.waker.wake();
        }
    }

    pub(crate) fn in_flight(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        InFlight(self)
    }

    /// Waits until the thread is lost and nothing is in flight that can still be told.
    /// One waits at a time.
    pub(crate) async fn lost(&self) -> JournalError {
        poll_fn(|context| {
            self.waker.register(context.waker());
            match self.lost.get() {
                Some(error) if self.in_flight.load(Ordering::SeqCst) == 0 => {
                    Poll::Ready(error.clone())
                }
                _ => Poll::Pending,
            }
        })
        .await
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
        if self.0.lost.get().is_some() {
            self.0.waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::ids::ThreadId;

    fn fenced() -> JournalError {
        JournalError::Fenced {
            thread: ThreadId::new("t").unwrap(),
            own: 1,
            current: 2,
        }
    }

    #[test]
    fn a_thread_is_lost_once_that_is_told_and_every_effect_in_flight_has_ended() {
        let fence = Fence::default();
        let mut lost = Box::pin(fence.lost());
        let (first, second) = (fence.in_flight(), fence.in_flight());
        fence.heed(&JournalError::Encode {
            reason: "another one".into(),
        });
        drop(first);
        assert!(lost.as_mut().now_or_never().is_none());
        fence.heed(&fenced());
        assert!(lost.as_mut().now_or_never().is_none());
        drop(second);
        let error = lost.as_mut().now_or_never().unwrap();
        assert_eq!(error.code(), Code::Fenced);
    }
}
