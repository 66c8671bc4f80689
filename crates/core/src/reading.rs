//! Readings of a thread's log during an attempt, shared by those who need one at the
//! same time.

use std::{
    fmt,
    future::Future,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{journal::JournalError, log::ThreadLog};

/// A moment of an attempt: the next reading after it finds all that was durable then.
/// All moments before a reading begins share it, and what it read is kept as long as
/// one of them is.
#[derive(Clone)]
pub struct Moment(Arc<Reading>);

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Moment").finish_non_exhaustive()
    }
}

/// One that is to come, is at work, or is done.
#[derive(Default)]
struct Reading(futures::lock::Mutex<Option<Arc<ThreadLog>>>);

/// The readings of an attempt.
#[derive(Default)]
pub(crate) struct Readings {
    /// The one that did not begin yet.
    next: Mutex<Arc<Reading>>,
}

impl Readings {
    pub(crate) fn now(&self) -> Moment {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        Moment(Arc::clone(&next))
    }

    /// The next reading after `moment`, which `load` makes, if nobody did.
    pub(crate) async fn after(
        &self,
        moment: &Moment,
        load: impl Future<Output = Result<ThreadLog, JournalError>>,
    ) -> Result<Arc<ThreadLog>, JournalError> {
        let mut read = moment.0.0.lock().await;
        if let Some(log) = &*read {
            return Ok(Arc::clone(log));
        }
        self.begins(moment);
        let log = Arc::new(load.await?);
        *read = Some(Arc::clone(&log));
        Ok(log)
    }

    /// Who writes from now on is found by a later reading.
    fn begins(&self, moment: &Moment) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&next, &moment.0) {
            mem::take(&mut *next);
        }
    }
}
