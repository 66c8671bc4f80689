//! What a runtime is given of what stands beside the store: what agents remember, and
//! events, where somebody asks for them. Nothing is opened before it is used.

use std::sync::Arc;

use rustagents_config::EventsKept;
use rustagents_runtime::{KeepEvents, Runtime, host::SystemClock};
use rustagents_store::MemoryStore;

use crate::{
    arguments::{Keeping, Which},
    store::Address,
};

/// The runtime on what stands beside the store: with the items there, and keeping events beside the store if the command line says so, or else
/// if the configuration does.
pub(super) fn keeping(
    runtime: Runtime,
    address: &Address,
    configured: EventsKept,
    given: Keeping,
) -> Runtime {
    let runtime = match address.items() {
        Some(items) => runtime.with_store(items),
        None => runtime.with_store(Arc::new(MemoryStore::new(Arc::new(SystemClock::new())))),
    };
    let (keeps, deltas) = match given.which {
        Some(Which::No) => (false, false),
        Some(Which::Yes) => (true, configured.deltas),
        Some(Which::Deltas) => (true, true),
        None => (configured.keep, configured.deltas),
    };
    let journal = keeps.then(|| address.events(configured.last)).flatten();
    let Some(journal) = journal else {
        return runtime;
    };
    let keep = KeepEvents::new(journal).with_deltas(deltas);
    runtime.keeping(match configured.age {
        Some(age) => keep.dropping_after(age),
        None => keep,
    })
}
