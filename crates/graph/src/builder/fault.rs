//! What can be wrong with the structure of a graph.

use std::fmt;

use rustagents_core::code::{Code, Coded};

use super::{END, START};

/// One structural fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphFault {
    /// Two nodes have one name.
    #[error("there are two nodes `{node}`")]
    DuplicateNode {
        /// The name.
        node: String,
    },
    /// Two channels have one name.
    #[error("there are two channels `{channel}`")]
    DuplicateChannel {
        /// The name.
        channel: String,
    },
    /// A node is specified twice: neither counts more than the other.
    #[error("there are two specifications of `{node}`")]
    DuplicateSpec {
        /// The node.
        node: String,
    },
    /// A node is cached twice.
    #[error("`{node}` is cached twice")]
    DuplicateCache {
        /// The node.
        node: String,
    },
    /// Two groups have one name.
    #[error("there are two groups `{group}`")]
    DuplicateGroup {
        /// The name.
        group: String,
    },
    /// Two specifications are to hold for all nodes.
    #[error("there are two defaults")]
    DuplicateDefaults,
    /// The name belongs to a virtual node, is empty, or has a `/`.
    #[error("`{name}` cannot name a node")]
    ReservedName {
        /// The name.
        name: String,
    },
    /// Nothing runs first.
    #[error("the graph has no start")]
    NoStart,
    /// No step may be taken.
    #[error("the recursion limit is 0")]
    RecursionLimit,
    /// No task may run.
    #[error("the most tasks at the same time{} are 0", group.as_ref().map_or(String::new(), |group| format!(" in group `{group}`")))]
    Concurrency {
        /// The group, if it is not the whole graph.
        group: Option<String>,
    },
    /// An edge or route leads nowhere.
    #[error("`{from}` leads to {}", as_target(target))]
    UnknownTarget {
        /// Where it starts.
        from: String,
        /// Where it leads.
        target: String,
    },
    /// An edge, a route, commands or a join begin at no node.
    #[error("{}", as_source(from))]
    UnknownSource {
        /// Where they begin.
        from: String,
    },
    /// No node is specified.
    #[error("a specification is of `{node}`, which does not exist")]
    UnknownSpec {
        /// Its name.
        node: String,
    },
    /// No node is cached.
    #[error("a cache is of `{node}`, which does not exist")]
    UnknownCached {
        /// Its name.
        node: String,
    },
    /// A node is in no declared group.
    #[error("`{node}` is in group `{group}`, which does not exist")]
    UnknownGroup {
        /// The node.
        node: String,
        /// The group.
        group: String,
    },
    /// A node may not be tried at all.
    #[error("`{node}` has a retry policy without any try")]
    NoTry {
        /// The node.
        node: String,
    },
    /// A node is to handle its own failures.
    #[error("`{node}` is its own error handler")]
    OwnHandler {
        /// The node.
        node: String,
    },
    /// The defaults say what each node has to say for itself.
    #[error("the defaults say `{what}`, which each node has to say for itself")]
    NoDefault {
        /// The method of a specification.
        what: &'static str,
    },
    /// A node that chooses its way may fail without consequence.
    #[error("`{node}` is optional, and chooses its way, which nobody would choose after a failure")]
    OptionalChoice {
        /// The node.
        node: String,
    },
    /// Two joins wait for the same.
    #[error("two joins of the same sources lead to `{target}`")]
    DuplicateJoin {
        /// Where they lead.
        target: String,
    },
    /// A join waits for nothing.
    #[error("a join to `{target}` has no sources")]
    EmptyJoin {
        /// Where it leads.
        target: String,
    },
    /// A barrier waits for nobody.
    #[error("barrier `{channel}` waits for no names")]
    EmptyBarrier {
        /// The channel.
        channel: String,
    },
    /// A route is named twice, or has no target.
    #[error("route `{label}` of `{node}` is named twice or leads nowhere")]
    Route {
        /// The node.
        node: String,
        /// The label.
        label: String,
    },
    /// A graph and one inside it take writes to a channel differently.
    #[error("the graph in `{node}` has another reducer for channel `{channel}`")]
    SharedChannel {
        /// The node.
        node: String,
        /// The channel.
        channel: String,
    },
    /// Two migrations have one name.
    #[error("there are two migrations `{migration}`")]
    DuplicateMigration {
        /// The name.
        migration: String,
    },
    /// A migration has no name.
    #[error("a migration has no name")]
    NamelessMigration,
    /// A node keeps the state of a graph, and holds none.
    #[error("`{node}` keeps the state of its graph, and holds none")]
    NoGraphKept {
        /// The node.
        node: String,
    },
    /// A node keeps the state of a graph that has none of its own.
    #[error("`{node}` keeps what is its graph's own, and all channels of that are those around it")]
    NothingKept {
        /// The node.
        node: String,
    },
    /// A node keeps the state of a graph that a cache would not let run.
    #[error("`{node}` keeps the state of its graph, and is cached, so that it may not run")]
    KeptAndCached {
        /// The node.
        node: String,
    },
    /// A node has no edge, route, branch, command or join.
    #[error("`{node}` has no way on")]
    NoWayOn {
        /// The node.
        node: String,
    },
    /// A node has ways on of several kinds.
    #[error("`{node}` has several kinds of ways on: edges, routes, a branch or commands")]
    EdgesAndRoutes {
        /// The node.
        node: String,
    },
}

impl GraphFault {
    /// Its code within [RAG0803](Code::GraphInvalid), for programs and for looking it up:
    /// it never stands for another fault.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::DuplicateNode { .. } => "duplicate-node",
            Self::DuplicateChannel { .. } => "duplicate-channel",
            Self::DuplicateSpec { .. } => "duplicate-spec",
            Self::DuplicateCache { .. } => "duplicate-cache",
            Self::DuplicateGroup { .. } => "duplicate-group",
            Self::DuplicateDefaults => "duplicate-defaults",
            Self::ReservedName { .. } => "reserved-name",
            Self::NoStart => "no-start",
            Self::RecursionLimit => "no-steps",
            Self::Concurrency { .. } => "no-concurrency",
            Self::UnknownTarget { .. } => "unknown-target",
            Self::UnknownSource { .. } => "unknown-source",
            Self::UnknownSpec { .. } => "unknown-spec",
            Self::UnknownCached { .. } => "unknown-cached",
            Self::UnknownGroup { .. } => "unknown-group",
            Self::NoTry { .. } => "no-try",
            Self::OwnHandler { .. } => "own-handler",
            Self::NoDefault { .. } => "no-default",
            Self::OptionalChoice { .. } => "optional-choice",
            Self::DuplicateJoin { .. } => "duplicate-join",
            Self::EmptyJoin { .. } => "empty-join",
            Self::EmptyBarrier { .. } => "empty-barrier",
            Self::Route { .. } => "bad-route",
            Self::SharedChannel { .. } => "other-reducer",
            Self::DuplicateMigration { .. } => "duplicate-migration",
            Self::NamelessMigration => "nameless-migration",
            Self::NoGraphKept { .. } => "no-graph-kept",
            Self::NothingKept { .. } => "nothing-kept",
            Self::KeptAndCached { .. } => "kept-and-cached",
            Self::NoWayOn { .. } => "no-way-on",
            Self::EdgesAndRoutes { .. } => "several-ways",
        }
    }
}

/// Why nothing leads to `target`.
fn as_target(target: &str) -> String {
    match target {
        START => format!("`{START}`, which is before all nodes"),
        _ => format!("`{target}`, which does not exist"),
    }
}

/// Why nothing begins at `from`.
fn as_source(from: &str) -> String {
    match from {
        START => format!(
            "an edge, a route, commands or a join start at `{START}`, for which there are \
             `start` and `start_branch`"
        ),
        END => format!("an edge starts at `{END}`, which is behind all nodes"),
        _ => format!("an edge starts at `{from}`, which does not exist"),
    }
}

/// All faults of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphFaults(pub Vec<GraphFault>);

impl fmt::Display for GraphFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "; " };
            write!(f, "{comma}{fault} ({})", fault.code())?;
        }
        Ok(())
    }
}

impl std::error::Error for GraphFaults {}

impl Coded for GraphFaults {
    fn code(&self) -> Code {
        Code::GraphInvalid
    }
}
