//! Model providers, each behind a feature.
//!
//! A provider implements [`Model`](rustagents_core::model::Model) for one way of
//! getting an answer. Whatever is its own, such as a file format or a wire
//! protocol, stays in its module.
//!
//! | feature    | default | what it adds                                             |
//! |------------|---------|----------------------------------------------------------|
//! | `scripted` | yes     | `ScriptedModel`: answers from rules, without any network |
//!
//! Reading order: `scripted` (the model and its language), and in it `rule` (what
//! a rule is and when it matches), `load` and `fields` (a file becomes rules), `scene`
//! (what a request offers to match), `engine` (templates, bounded), `answer` (the
//! stream).
//!
//! Invariant: no provider knows agents, graphs, stores or configuration; it sees
//! a [`ModelRequest`](rustagents_core::model::ModelRequest) and nothing else.
//!
//! Invariant: no file is opened and no environment is read here; sources are
//! handed in as text.
//!
//! Invariant: an answer is produced as it is read; dropping the stream ends it.

#[cfg(feature = "scripted")]
pub mod scripted;

#[cfg(feature = "scripted")]
pub use scripted::{ScriptError, ScriptedModel};
