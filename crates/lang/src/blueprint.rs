//! The blueprint: a plan without its source.

mod canonical;

use serde::{Deserialize, Serialize};

pub use canonical::BlueprintError;

/// The version of the blueprints that this crate makes and reads.
pub const VERSION: u32 = 1;

/// How the end of a run is written as a target.
pub const END: &str = "END";

/// The canonical definition of a graph, as a journal stores it.
///
/// Everything is in the order of its declaration. Equal blueprints have equal
/// [canonical texts](Blueprint::canonical) and [digests](Blueprint::digest).
///
/// ```
/// use rustagents_lang::{Blueprint, compile};
/// use rustagents_registry::Snapshot;
///
/// let source = r#"graph hello {
///     channel answer overwrite
///     start ask
///     node ask { kind interrupt  prompt "Go on?"  output answer  next END }
/// }"#;
/// let blueprint = compile(source, &Snapshot::default()).blueprint.ok_or("no errors")?;
/// assert_eq!(blueprint.name, "hello");
/// assert_eq!(Blueprint::from_canonical(&blueprint.canonical())?, blueprint);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blueprint {
    /// [`VERSION`].
    pub version: u32,
    /// The graph's name.
    pub name: String,
    /// The most supersteps of a run; `None` leaves it to the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recursion_limit: Option<u64>,
    /// The channels.
    pub channels: Vec<Channel>,
    /// Where a run starts.
    pub start: Vec<Target>,
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// A channel: a named part of the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// How writes become its value.
    pub reducer: Reducer,
}

/// How the writes of a superstep become a channel's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reducer {
    /// The value that was written.
    Overwrite,
    /// The values so far, then those that were written.
    Append,
    /// The conversation: messages by their id.
    Messages,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it does.
    pub kind: NodeKind,
    /// Where it leads.
    pub way: Way,
}

/// What a node does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum NodeKind {
    /// Lets a model work, with tools, until it has an answer.
    Agent {
        /// The alias of the model.
        model: String,
        /// The instruction.
        prompt: String,
        /// The names of the tools.
        tools: Vec<String>,
        /// The channel that gets the answer; `None` for the conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
    },
    /// Asks a person and waits for the answer.
    Interrupt {
        /// The question.
        prompt: String,
        /// The channel that gets the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
    },
}

/// Where a node leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Always to these.
    Next(Vec<Target>),
    /// Where the node's answer says.
    Routes(Vec<Route>),
}

/// A way that is taken for one answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The answer, compared without case.
    pub label: String,
    /// Where it leads.
    pub targets: Vec<Target>,
}

/// What a way leads to; stored as a plain string.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Target {
    /// The node with this name, which is never [`END`].
    Node(String),
    /// The end of the run, [`END`].
    End,
}

impl Blueprint {
    /// The name of the channel that holds the conversation.
    pub fn messages_channel(&self) -> Option<&str> {
        self.channels
            .iter()
            .find(|channel| channel.reducer == Reducer::Messages)
            .map(|channel| channel.name.as_str())
    }
}

impl Reducer {
    /// All reducers.
    pub const ALL: &'static [Self] = &[Self::Overwrite, Self::Append, Self::Messages];

    /// The name, as plans and blueprints write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overwrite => "overwrite",
            Self::Append => "append",
            Self::Messages => "messages",
        }
    }

    /// The reducer with this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|reducer| reducer.as_str() == name)
    }
}

impl Way {
    /// All targets, in order; a target of two routes is there twice.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let (next, routes) = match self {
            Self::Next(targets) => (targets.as_slice(), [].as_slice()),
            Self::Routes(routes) => ([].as_slice(), routes.as_slice()),
        };
        next.iter()
            .chain(routes.iter().flat_map(|route| &route.targets))
    }
}

impl Target {
    /// The name, [`END`] for the end.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Node(name) => name,
            Self::End => END,
        }
    }
}

impl From<&str> for Target {
    fn from(name: &str) -> Self {
        Self::from(name.to_owned())
    }
}

impl From<String> for Target {
    fn from(name: String) -> Self {
        if name == END {
            Self::End
        } else {
            Self::Node(name)
        }
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        match target {
            Target::Node(name) => name,
            Target::End => END.to_owned(),
        }
    }
}
