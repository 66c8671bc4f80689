//! The threads that this process looked at last, as their logs told them.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{batch::Queue, log::State};

/// The most threads that are remembered.
const MAX_THREADS: usize = 256;

/// The most bytes of logs that are remembered, beside the thread in use.
const MAX_BYTES: u64 = 64 << 20;

/// Remembered threads, by the names of their folders. What is forgotten is read
/// again; what is remembered twice for a moment is kept apart by the files' locks.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    slots: Mutex<HashMap<String, Arc<Slot>>>,
    clock: AtomicU64,
}

/// One remembered thread; who works on it holds its lock.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    state: Mutex<Option<State>>,
    /// What waits to be written to it.
    pub(crate) waiting: Queue,
    bytes: AtomicU64,
    used: AtomicU64,
}

impl Slot {
    /// The thread, if it is remembered. Whoever panicked left nothing to rely on.
    pub(crate) fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(|poisoned| {
            let mut state = poisoned.into_inner();
            *state = None;
            self.state.clear_poison();
            state
        })
    }
}

impl Cache {
    /// The place of the thread whose folder has this name.
    pub(crate) fn slot(&self, folder: &str) -> Arc<Slot> {
        let mut slots = self.slots();
        let slot = match slots.get(folder) {
            Some(slot) => Arc::clone(slot),
            None => Arc::clone(slots.entry(folder.to_owned()).or_default()),
        };
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        slot.used.store(now, Ordering::Relaxed);
        slot
    }

    /// The place of a thread, if there is one.
    pub(crate) fn known(&self, folder: &str) -> Option<Arc<Slot>> {
        self.slots().get(folder).cloned()
    }

    /// Notes how much is remembered, and forgets what was not used for long.
    pub(crate) fn settle(&self, slot: &Slot, state: Option<&State>) {
        let bytes = state.map_or(0, |state| state.end + state.apart);
        slot.bytes.store(bytes, Ordering::Relaxed);
        let mut slots = self.slots();
        let others = |slots: &HashMap<String, Arc<Slot>>| -> u64 {
            let all = slots.values();
            let all: u64 = all.map(|slot| slot.bytes.load(Ordering::Relaxed)).sum();
            all.saturating_sub(bytes)
        };
        while slots.len() > MAX_THREADS || others(&slots) > MAX_BYTES {
            let used = |slot: &Slot| slot.used.load(Ordering::Relaxed);
            let oldest = slots.iter().min_by_key(|(_, slot)| used(slot));
            let Some(name) = oldest.map(|(name, _)| name.clone()) else {
                break;
            };
            slots.remove(&name);
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<String, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
