//! Lowers blueprints to graphs and agents, opens and resumes runs.
//!
//! Reading order: [`program`] (a blueprint with its capabilities bound),
//! `nodes.rs` (where graph and agent meet), [`record`] (what opens and closes a
//! run), [`view`] (a thread as its log tells it), `doubt.rs` (effects
//! that must not be forgotten or repeated), [`answers`] (what a person may
//! say, checked before anything is written), [`runs`] (start and resume), `pin.rs`
//! (the plan that is recorded),
//! [`inbox`] (what others ask of a thread that somebody drives) and [`report`],
//! [`stream`] (watching a run), [`public_event`] (what is told of it outside),
//! `keep.rs` (keeping events) and [`replay`] (reading them again), [`status`] (put
//! together from events), [`inspect`] (listings and histories),
//! [`threads`] (what is done with whole threads: fork, delete, prune, count, check,
//! export and import), and [`graphs`] (graphs of one's own, without a plan).
//!
//! Invariant: a call that is refused has written nothing.
//!
//! Invariant: this crate knows no concrete provider, tool or store.

pub mod answers;
mod doubt;
mod gone;
pub mod graphs;
#[cfg(doctest)]
mod guide;
pub mod host;
pub mod inbox;
pub mod inspect;
mod keep;
mod ledger;
mod nodes;
mod pin;
pub mod program;
pub mod public_event;
pub mod record;
pub mod replay;
pub mod report;
pub mod runs;
pub mod status;
pub mod stream;
pub mod threads;
pub mod view;

pub use answers::{Answers, Decision};
pub use graphs::{Decisions, GraphInside, GraphRun, GraphRunError, GraphRunner, GraphView};
pub use inbox::{Answered, CancelRequest, Cancelling, OnBusy};
pub use keep::{KeepEvents, LostEvents};
pub use nodes::{AgentNode, AgentSaid};
pub use pin::PinError;
pub use program::{Capabilities, Program};
pub use report::{Report, Status};
pub use runs::{Resume, Retry, RunError, Runtime, Start, StateEdit, UpdateState, Updated, Watch};
pub use rustagents_graph::topology;
pub use view::ThreadView;
