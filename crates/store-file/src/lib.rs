//! The file journal: a folder of logs, one line a batch; the application
//! store and the event journal, each in a folder of its own.
//!
//! A thread is `rustagents_store`'s model of one, and a log that makes it: each
//! operation reads what the log gained since it last looked, checks the batch
//! against the model, appends one line, and waits for the disk. Only then the
//! model takes the batch in, as it does when the log is read back.
//!
//! Reading order: [`FileJournal`] in `journal.rs`; `format.rs` (is the folder
//! ours), `mark.rs` (whether it still is), `store.rs` (the folder, and how a thread is
//! looked at), `line.rs` (what stands in a line, and its sum), `apart.rs` (lines whose
//! long bodies are in parts), `log.rs` (reading a log, and what is torn),
//! `write.rs` (writing one), `claims.rs`, `batch.rs` (batches, and those that wait
//! together), `whole.rs` (copying,
//! installing, compacting, removing), `contents.rs`, `list.rs`; `cache.rs`, and
//! `disk.rs`, through which everything is written. In builds with debug
//! assertions, [`fault`] makes that fail. Apart from the journal, but on the same
//! disk: [`FileStore`] in `items.rs`, and [`FileEvents`] in `events.rs`.
//!
//! Network file systems are not supported: their locks are not reliable.
//!
//! Invariant: opening reads only. Nothing is made or changed before the first
//! claim, installation or put.
//!
//! Invariant: a log is written to by who holds its lock, and no async worker
//! waits for a disk or a lock.
//!
//! Invariant: nothing whole is ever cut or overwritten. What a crash left of a
//! line is cut by the next who writes; a log with another damage is not written.
//!
//! Invariant: locks are taken in one order: the turn of families, families, then the thread in this
//! process, then the thread's file.

mod apart;
mod batch;
mod cache;
mod claims;
mod contents;
mod disk;
mod events;
#[cfg(debug_assertions)]
pub mod fault;
mod format;
mod items;
mod journal;
mod line;
mod list;
mod lock;
mod log;
mod mark;
mod store;
mod whole;
mod write;

pub use events::FileEvents;
pub use items::FileStore;
pub use journal::FileJournal;
