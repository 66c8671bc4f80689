//! Name resolution, diagnostics and the canonical blueprint of `.rag` files.
//!
//! [`compile`] checks a source against what a host offers and answers with
//! [`Diagnostic`]s and, if none of them is an error, with a [`Blueprint`]: the
//! definition that a journal stores and that a runtime lowers to a graph.
//!
//! Reading order: [`Blueprint`], [`compile`](compile()), [`Diagnostic`];
//! `outline` (what a graph declares, read once), `rules` (one file a code, each
//! with What, Why, Example and Instead), `lower` (an outline to a blueprint).
//! The language itself is described, and tested, in `spec/language`.
//!
//! Invariant: this crate knows how a program is written, how it is spelled out
//! canonically and what is wrong with it. It runs nothing, reads no file and
//! knows neither graphs nor agents, providers or stores.
//!
//! Invariant: there is a blueprint exactly if no diagnostic is an error. What
//! changes no meaning (white space, comments, how a string is quoted) changes
//! no blueprint.
//!
//! Invariant: compiling never fails and never panics; at most
//! [`MAX_DIAGNOSTICS`] diagnostics and one marker come out, in the order of the
//! source, errors before warnings where there is not room for both.
//!
//! Invariant: rules about what is missing look only where a syntax error cannot
//! have hidden it, so one mistake is not reported twice.

mod blueprint;
mod compile;
mod diagnostic;
mod lower;
mod names;
mod outline;
mod rules;
#[cfg(test)]
mod testing;

pub use blueprint::{
    Blueprint, BlueprintError, Channel, END, Node, NodeKind, Reducer, Route, Target, VERSION, Way,
};
pub use compile::{Compiled, compile};
pub use diagnostic::{Diagnostic, MAX_DIAGNOSTICS, Severity};
pub use rustagents_syntax::TextRange;
