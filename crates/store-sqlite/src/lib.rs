//! The SQLite journal: write-ahead log, one writer thread, group commit; the
//! application store; the event journal.
//!
//! Reading order: [`SqliteJournal`] in `journal.rs`, `schema.rs` (tables and
//! versions), `opened.rs` (what SQLite has open), `file.rs` (is the file still the one
//! that was opened), `writer.rs` (the thread that writes), `handoff.rs` (how jobs get
//! there), `batch.rs` (one batch inside a transaction), `known.rs` (what the writer
//! remembers of threads), `target.rs` (the rows of a thread that is written to), `placed.rs` (a record as it goes
//! into its row, and its sum), `bodies.rs` (long bodies, in parts), `chains.rs`
//! (its chains), `bound.rs` (what inserts a row), `spans.rs` (which rows are a thread's), `threads.rs` (whole threads
//! inside a transaction), `flush.rs` (commits become durable beside the writer), `log.rs` (SQLite's log is moved into the file), `reader.rs`,
//! `tail.rs` (hearing of writes), `claims.rs` (operating-system locks), `health.rs` (is
//! the file whole). Apart from it: [`SqliteStore`] in `items.rs`, the application store,
//! and [`SqliteEvents`] in `events.rs`, the event journal.
//!
//! Files of the journal, and of the others but for the last: `DB` itself with SQLite's own companions, `DB.writer` (held by the
//! writer that is in a transaction), and `DB.claims/`, one lock file for each
//! thread that was ever driven. Network file systems are not supported: their
//! locks are not reliable.
//!
//! Invariant: opening reads only. Nothing is made or changed before the first
//! claim, append or put.
//!
//! Invariant: a journal or a store uses one file as long as it lives. If that is gone from its
//! path, nothing is written, and no other is made.
//!
//! Invariant: only the writer thread writes to the journal; no async worker waits for a disk.
//! One that writes alone looks for its outcome for up to 150 µs before it sleeps.

mod batch;
mod bodies;
mod bound;
mod chains;
mod claims;
mod connections;
mod database;
mod events;
mod file;
mod flush;
mod handoff;
mod health;
mod items;
mod journal;
mod known;
mod log;
mod opened;
mod placed;
mod reader;
mod schema;
mod spans;
mod sync;
mod tail;
mod target;
mod threads;
mod writer;

pub use events::SqliteEvents;
pub use health::Health;
pub use items::SqliteStore;
pub use journal::SqliteJournal;
pub use schema::Synchronous;
