//! Model providers, each behind a feature.
//!
//! A provider implements [`Model`](rustagents_core::model::Model) for one way of
//! getting an answer. Whatever is its own, such as a file format or a wire
//! protocol, stays in its module.
//!
//! | feature    | default | what it adds                                                   |
//! |------------|---------|----------------------------------------------------------------|
//! | `openai`   | yes     | `OpenAiModel`: servers of the chat-completions wire, over HTTP |
//! | `scripted` | yes     | `ScriptedModel`: answers from rules, without any network       |
//!
//! Reading order: `scripted` (the model and its language), and in it `rule` (what
//! a rule is and when it matches), `load` and `fields` (a file becomes rules), `scene`
//! (what a request offers to match), `engine` (templates, bounded), `answer` (the
//! stream). Then `openai` (the model and its wire), and in it `dialect` (what differs
//! between servers), `wire` and `encode` (a request becomes bytes), `client` (they
//! are sent), `probe` (is there a server at all), `answer` and `sse` (bytes become events), `fold` and `calls` (events
//! become deltas), `failure` and `said` (what went wrong, in words).
//!
//! Invariant: no provider knows agents, graphs, stores or configuration; it sees
//! a [`ModelRequest`](rustagents_core::model::ModelRequest) and nothing else.
//!
//! Invariant: no file is opened and no environment is read here; sources and keys
//! are handed in as text. The certificates that the system trusts are its own affair.
//!
//! Invariant: an answer is produced as it is read; dropping the stream ends it.

#[cfg(feature = "openai")]
pub mod openai;
#[cfg(feature = "scripted")]
pub mod scripted;

#[cfg(feature = "openai")]
pub use openai::{OpenAiConfig, OpenAiError, OpenAiModel, Secret};
#[cfg(feature = "scripted")]
pub use scripted::{ScriptError, ScriptedModel};
