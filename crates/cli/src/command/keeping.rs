//! Keeping the events of what is driven, where somebody asks for it.

use rustagents_config::EventsKept;
use rustagents_runtime::{KeepEvents, Runtime};

use crate::{
    arguments::{Keeping, Which},
    store::Address,
};

/// The runtime, keeping events beside the store if the command line says so, or else
/// if the configuration does.
pub(super) fn keeping(
    runtime: Runtime,
    address: &Address,
    configured: EventsKept,
    given: Keeping,
) -> Runtime {
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
