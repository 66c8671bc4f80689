//! Threads of older programs: named changes that bring their state to what a newer
//! program declares.
//!
//! A chain of records says which migrations its state went through: with its first
//! checkpoint, with each snapshot, and with the checkpoint of a migration. A chain
//! that is behind is read without types, migrated, and read with those of the graph;
//! what came of it is recorded as a checkpoint with a snapshot before anything else,
//! so no migration runs on its own result.

mod carry;
mod record;
mod rename;

use std::{collections::BTreeSet, fmt, sync::Arc};

use rustagents_core::ids::NodeName;
use serde_json::{Map, Value};

/// What is recorded of a state: each channel that something was written to, with its
/// value, its items, or the ids of its messages.
pub type Channels = Map<String, Value>;

type Apply = Arc<dyn Fn(&mut Channels) -> Result<(), MigrationError> + Send + Sync>;

/// A named change of the state of threads that older programs wrote.
///
/// Finished tasks of a step that is not over keep writes that belong to the state of
/// before. So a thread that stands there is refused by a migration that is about one
/// of their channels, and goes on in the program of before until the step is over. A
/// migration that says what it is about keeps this rare.
///
/// ```
/// use rustagents_graph::{GraphBuilder, Migration, NodeOutput, Reducer};
/// use serde_json::json;
///
/// let graph = GraphBuilder::new("order")
///     .channel("customer", Reducer::Overwrite)
///     .channel("cents", Reducer::Overwrite)
///     .function("bill", |_, _| async { Ok(NodeOutput::new()) })
///     .start(["bill"])
///     .finish("bill")
///     .with_migration(Migration::rename_channel("customer", "client", "customer"))
///     .with_migration(Migration::change_channel("cents", "cents", |euros| {
///         let euros = euros.as_u64().ok_or("no number")?;
///         Ok(json!(euros * 100))
///     }))
///     .with_migration(Migration::rename_node("bill", "invoice", "bill"))
///     .compile()?;
/// # Ok::<(), rustagents_graph::GraphFaults>(())
/// ```
#[derive(Clone)]
pub struct Migration {
    name: String,
    touches: Touches,
    apply: Apply,
    /// A node's name of before, and its name now.
    node: Option<(NodeName, NodeName)>,
}

/// The channels that a migration is about.
#[derive(Clone, Debug)]
enum Touches {
    Any,
    Only(BTreeSet<String>),
}

impl fmt::Debug for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Migration")
            .field("name", &self.name)
            .field("touches", &self.touches)
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

impl Migration {
    /// One that may change anything; see
    /// [`GraphBuilder::migration`](crate::GraphBuilder::migration).
    pub fn new(
        name: impl Into<String>,
        migrate: impl Fn(&mut Channels) -> Result<(), MigrationError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            touches: Touches::Any,
            apply: Arc::new(migrate),
            node: None,
        }
    }

    /// The same, which is about these channels alone. It fails where it changes
    /// another one.
    #[must_use]
    pub fn touching<C: Into<String>>(mut self, channels: impl IntoIterator<Item = C>) -> Self {
        self.touches = Touches::Only(channels.into_iter().map(Into::into).collect());
        self
    }

    /// What is in channel `old` is in channel `new` from now on. It fails where
    /// something is there already.
    pub fn rename_channel(
        name: impl Into<String>,
        old: impl Into<String>,
        new: impl Into<String>,
    ) -> Self {
        let (old, new) = (old.into(), new.into());
        let touched = [old.clone(), new.clone()];
        let rename = move |state: &mut Channels| {
            let Some(value) = state.remove(&old) else {
                return Ok(());
            };
            if state.contains_key(&new) {
                return Err(MigrationError::in_channel(
                    &new,
                    "something is in it already",
                ));
            }
            state.insert(new.clone(), value);
            Ok(())
        };
        Self::new(name, rename).touching(touched)
    }

    /// Channel `channel` has the value from now on that `change` makes of the one
    /// before: of all of its items, where it is a list. Where nothing was written,
    /// nothing is changed.
    pub fn change_channel(
        name: impl Into<String>,
        channel: impl Into<String>,
        change: impl Fn(Value) -> Result<Value, MigrationError> + Send + Sync + 'static,
    ) -> Self {
        let channel = channel.into();
        let touched = [channel.clone()];
        let change = move |state: &mut Channels| {
            let Some(value) = state.remove(&channel) else {
                return Ok(());
            };
            let changed = change(value).map_err(|error| error.within(&channel))?;
            state.insert(channel.clone(), changed);
            Ok(())
        };
        Self::new(name, change).touching(touched)
    }

    /// Tasks of node `old` that are left to do are those of node `new` from now on.
    /// They keep their ids, what was recorded of them, and what they were sent.
    pub fn rename_node(
        name: impl Into<String>,
        old: impl Into<NodeName>,
        new: impl Into<NodeName>,
    ) -> Self {
        let nothing: [String; 0] = [];
        Self {
            node: Some((old.into(), new.into())),
            ..Self::new(name, |_| Ok(())).touching(nothing)
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is about `channel`.
    fn touches(&self, channel: &str) -> bool {
        match &self.touches {
            Touches::Any => true,
            Touches::Only(channels) => channels.contains(channel),
        }
    }

    /// Whether it is about any channel at all.
    fn touches_any(&self) -> bool {
        match &self.touches {
            Touches::Any => true,
            Touches::Only(channels) => !channels.is_empty(),
        }
    }
}

/// Why a migration does not take a state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct MigrationError {
    channel: Option<String>,
    reason: String,
}

impl MigrationError {
    /// For this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            channel: None,
            reason: reason.into(),
        }
    }

    /// For what is in a channel.
    pub fn in_channel(channel: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(reason).within(channel)
    }

    /// The same, about `channel`, unless it is about another one.
    fn within(mut self, channel: impl Into<String>) -> Self {
        self.channel.get_or_insert_with(|| channel.into());
        self
    }
}

impl From<&str> for MigrationError {
    fn from(reason: &str) -> Self {
        Self::new(reason)
    }
}

impl From<String> for MigrationError {
    fn from(reason: String) -> Self {
        Self::new(reason)
    }
}

impl From<serde_json::Error> for MigrationError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string())
    }
}
