//! Contracts and plain data of the RustAgents runtime.
//!
//! Everything durable about a thread is a record in that thread's log, the
//! [`journal`]. The machines in `rustagents-agent` and `rustagents-graph` decide
//! on plain data from this crate; backends, tools and models implement its
//! traits.
//!
//! Reading order: [`ids`] and [`digest`], then [`canonical`] (the one JSON form
//! that approvals, records and tools share), [`message`], [`model`], [`tool`],
//! [`journal`], [`log`](mod@log) (a thread as it was read back), [`scope`] (how
//! a machine writes while it drives), [`migration`], [`recorder`] (when that is durable),
//! [`store`] (what agents remember across threads), and last [`ask`], [`budget`],
//! [`event`] and [`event_journal`], [`code`], [`secret`] (what none of them holds).
//!
//! Invariant: this crate starts no task, opens no file or socket and reads no
//! clock. Time and ids come through [`clock::Clock`] and [`ids::Ids`].
//!
//! Invariant: a type with serde derives is persisted or sent; it carries a
//! version where it is stored, through [`journal::Kind`].

pub mod ask;
pub mod budget;
pub mod canonical;
pub mod clock;
pub mod code;
pub mod digest;
pub mod encode;
pub mod event;
pub mod event_journal;
mod fence;
pub mod ids;
pub mod journal;
mod limit;
pub mod log;
pub mod message;
pub mod migration;
pub mod model;
mod reading;
pub mod recorder;
pub mod scope;
pub mod secret;
pub mod store;
pub mod tool;

pub use code::{Code, Coded};
pub use tokio_util::sync::CancellationToken;

/// A boxed future, for the object-safe traits of this crate.
pub type BoxFuture<'a, T> = futures::future::BoxFuture<'a, T>;
