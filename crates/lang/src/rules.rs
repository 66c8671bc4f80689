//! The rules of the language, one file a code.
//!
//! Each file says what its diagnostic means, why the rule exists, gives an
//! example and what to write instead, and tests itself.

mod duplicate_name;
pub(crate) mod graph_count;
mod misplaced_item;
mod missing_item;
mod missing_start;
mod no_way_on;
mod reserved_name;
pub(crate) mod syntax;
mod unknown_channel;
mod unknown_default;
mod unknown_kind;
mod unknown_model;
mod unknown_reducer;
mod unknown_target;
mod unknown_tool;
pub(crate) mod unreachable;

use rustagents_registry::Snapshot;

use crate::{diagnostic::Report, outline::Outline};

pub(crate) use unknown_default::RECURSION_LIMIT;
pub(crate) use unknown_kind::Kind;

/// What a rule looks at.
pub(crate) struct Context<'a> {
    pub(crate) outline: &'a Outline,
    pub(crate) capabilities: &'a Snapshot,
}

/// Looks for what breaks one rule.
type Rule = fn(&Context<'_>, &mut Report<'_>);

/// The rules for a graph, but for the one that needs a blueprint.
pub(crate) const OF_GRAPH: &[Rule] = &[
    missing_start::check,
    duplicate_name::check,
    reserved_name::check,
    unknown_default::check,
    unknown_reducer::check,
    unknown_kind::check,
    unknown_model::check,
    unknown_tool::check,
    unknown_channel::check,
    unknown_target::check,
    missing_item::check,
    misplaced_item::check,
    no_way_on::check,
];
