//! What a graph records: checkpoints, and the writes of finished tasks.

use std::collections::BTreeMap;

use rustagents_core::{
    ids::{FactKey, Namespace, NodeName, TaskId},
    journal::{Kind, Seq, kind},
};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct as _};
use serde_json::Value;

use crate::state::{ChannelName, Delta, Written};

/// The body of a checkpoint: what a superstep changed, and what runs next.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Checkpoint {
    /// Its number in the thread, from 1.
    pub checkpoint: u64,
    /// How many supersteps the run has done.
    pub step: u64,
    /// Where it comes from.
    pub source: Source,
    /// The checkpoint whose state it starts from, where that is not the one before.
    #[serde(default)]
    pub from: Option<u64>,
    /// The call whose state it starts from, where it is the first of one whose state
    /// is kept.
    #[serde(default)]
    pub base: Option<Base>,
    /// The changes, in order.
    pub deltas: Vec<(ChannelName, Delta)>,
    /// The writes that the changes come of, where a graph around this one takes them.
    #[serde(default)]
    pub writes: Vec<(ChannelName, Written)>,
    /// What was written beside to channels that no record keeps, as `writes` is there.
    #[serde(default)]
    pub untracked: Vec<(ChannelName, Unkept)>,
    /// The tasks whose writes are in it.
    pub done: Vec<TaskId>,
    /// The chains of the last calls of those nodes that keep the state of their graph.
    #[serde(default)]
    pub kept: BTreeMap<NodeName, Namespace>,
    /// The migrations that the state went through, in order, where the checkpoint is
    /// the first of its chain or they are others than before.
    #[serde(default)]
    pub migrations: Vec<String>,
    /// What is left to do.
    #[serde(flatten)]
    pub pending: Pending,
}

/// What the body of a checkpoint is written from. Written by hand, and of what lies
/// elsewhere: this is what each step does.
pub(crate) struct Body<'b, D> {
    pub(crate) checkpoint: u64,
    pub(crate) step: u64,
    pub(crate) source: Source,
    pub(crate) from: Option<u64>,
    pub(crate) base: Option<&'b Base>,
    pub(crate) deltas: &'b [(ChannelName, Delta)],
    pub(crate) writes: &'b [(ChannelName, Written)],
    pub(crate) untracked: &'b [(ChannelName, Unkept)],
    pub(crate) done: D,
    pub(crate) kept: &'b BTreeMap<NodeName, Namespace>,
    pub(crate) migrations: &'b [String],
    pub(crate) pending: &'b Pending,
}

/// `kind` in the version that a body needs which names calls or migrations, or none.
fn versioned(kind: Kind, names_some: bool) -> Kind {
    if names_some { kind } else { kind.at(1) }
}

impl<D> Body<'_, D> {
    /// What it is recorded as.
    pub(crate) fn kind(&self) -> Kind {
        let names_calls = self.base.is_some() || !self.kept.is_empty();
        versioned(kind::CHECKPOINT, names_calls || !self.migrations.is_empty())
    }
}

/// The call of a node that a later one goes on from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// Its chain.
    pub chain: Namespace,
    /// The number of its last checkpoint.
    pub checkpoint: u64,
}

impl Serialize for Checkpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let body = Body {
            checkpoint: self.checkpoint,
            step: self.step,
            source: self.source,
            from: self.from,
            base: self.base.as_ref(),
            deltas: &self.deltas,
            writes: &self.writes,
            untracked: &self.untracked,
            done: self.done.iter(),
            kept: &self.kept,
            migrations: &self.migrations,
            pending: &self.pending,
        };
        body.serialize(serializer)
    }
}

/// Ids that are written as a list.
struct Listed<D>(D);

impl<'t, D: Iterator<Item = &'t TaskId> + Clone> Serialize for Listed<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

impl<'t, D: Iterator<Item = &'t TaskId> + Clone> Serialize for Body<'_, D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pending = self.pending;
        let mut body = serializer.serialize_struct("Checkpoint", 15)?;
        body.serialize_field("checkpoint", &self.checkpoint)?;
        body.serialize_field("step", &self.step)?;
        body.serialize_field("source", &self.source)?;
        if let Some(from) = &self.from {
            body.serialize_field("from", from)?;
        }
        if let Some(base) = &self.base {
            body.serialize_field("base", base)?;
        }
        body.serialize_field("deltas", &self.deltas)?;
        if !self.writes.is_empty() {
            body.serialize_field("writes", &self.writes)?;
        }
        if !self.untracked.is_empty() {
            body.serialize_field("untracked", &self.untracked)?;
        }
        body.serialize_field("done", &Listed(self.done.clone()))?;
        if !self.kept.is_empty() {
            body.serialize_field("kept", &self.kept)?;
        }
        if !self.migrations.is_empty() {
            body.serialize_field("migrations", &self.migrations)?;
        }
        body.serialize_field("next", &pending.next)?;
        if !pending.deferred.is_empty() {
            body.serialize_field("deferred", &pending.deferred)?;
        }
        if !pending.waiting.is_empty() {
            body.serialize_field("waiting", &pending.waiting)?;
        }
        if let Some(parent) = &pending.parent {
            body.serialize_field("parent", parent)?;
        }
        body.end()
    }
}

/// What is left to do after a checkpoint; nothing: the graph is done.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Pending {
    /// The tasks of the next superstep.
    pub next: Vec<Task>,
    /// Tasks of deferred nodes, which wait until nothing else is left.
    #[serde(default)]
    pub deferred: Vec<Task>,
    /// The joins that some of their sources have reached.
    #[serde(default)]
    pub waiting: Vec<Waiting>,
    /// Where the graph around this one goes on, where a node said so.
    #[serde(default)]
    pub parent: Option<Vec<Goto>>,
}

/// A join that waits for more of its sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The join: its sources and its target.
    pub join: String,
    /// The sources that reached it.
    pub reached: Vec<NodeName>,
}

/// The body of a snapshot: the state at a checkpoint, as the changes that make it
/// of an empty one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The number of the checkpoint.
    pub checkpoint: u64,
    /// Where the checkpoint stands, if not right before the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Seq>,
    /// The number of the last message that was minted by then.
    pub messages: u64,
    /// The number of the last call that was minted by then.
    pub calls: u64,
    /// The changes, in order.
    pub state: Vec<(ChannelName, Delta)>,
    /// The chains of the last calls of those nodes that keep the state of their graph.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kept: BTreeMap<NodeName, Namespace>,
    /// The migrations that the state went through, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub migrations: Vec<String>,
}

impl Snapshot {
    /// What it is recorded as.
    pub fn kind(&self) -> Kind {
        let names_some = !self.kept.is_empty() || !self.migrations.is_empty();
        versioned(kind::SNAPSHOT, names_some)
    }

    /// The bytes of its body.
    pub(crate) fn bytes(&self) -> usize {
        serde_json::to_vec(self).map_or(usize::MAX, |body| body.len())
    }
}

/// Where a checkpoint comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Source {
    /// The input of a run.
    Input,
    /// A superstep.
    Step,
    /// Somebody changed the state from outside.
    Update,
    /// Somebody went back to an earlier checkpoint.
    Fork,
    /// The state was brought to what a newer program declares.
    Migration,
}

/// One activation of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub task: TaskId,
    /// The node.
    pub node: NodeName,
    /// What it was sent, where it was sent something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<Value>,
}

/// Where a node says that the graph goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Goto {
    /// At a node, which runs once however many lead to it.
    Node(NodeName),
    /// At a node, which runs once for each that is sent to it.
    Send {
        /// The node.
        node: NodeName,
        /// What it is sent.
        argument: Value,
    },
    /// Nowhere.
    End,
    /// In a graph further out.
    Outer {
        /// How many levels further out, from 1.
        levels: usize,
        /// The node there, or [`END`](crate::END).
        target: String,
    },
}

impl Goto {
    /// At `target`, a node or [`END`](crate::END), `levels` further out; 0 is here.
    pub(crate) fn outer(levels: usize, target: &impl ToString) -> Self {
        match levels {
            0 => Self::from_name(target),
            levels => Self::Outer {
                levels,
                target: target.to_string(),
            },
        }
    }

    /// How many levels further out it is.
    pub(crate) fn levels(&self) -> usize {
        match self {
            Self::Outer { levels, .. } => *levels,
            _ => 0,
        }
    }

    /// What the graph around a child does of where the child says that it goes on:
    /// what is its own, and what it hands on to the graph around itself.
    pub(crate) fn arrived(gotos: Vec<Self>) -> (Option<Vec<Self>>, Option<Vec<Self>>) {
        let (outer, own): (Vec<_>, Vec<_>) = gotos.into_iter().partition(|to| to.levels() > 0);
        let outer = outer.into_iter().map(|to| match to {
            Self::Outer { levels, target } => Self::outer(levels - 1, &target),
            own => own,
        });
        let outer: Vec<_> = outer.collect();
        let own = (!own.is_empty() || outer.is_empty()).then_some(own);
        (own, (!outer.is_empty()).then_some(outer))
    }

    /// To a node, or to [`END`](crate::END).
    pub fn from_name(target: &impl ToString) -> Self {
        match target.to_string() {
            end if end == crate::END => Self::End,
            node => Self::Node(NodeName::from(node)),
        }
    }

    /// To a node, with an argument.
    pub fn send(node: &impl ToString, argument: Value) -> Self {
        Self::Send {
            node: NodeName::from(node.to_string()),
            argument,
        }
    }

    /// The node, or [`END`](crate::END).
    pub fn target(&self) -> &str {
        match self {
            Self::Node(node) | Self::Send { node, .. } => node.as_str(),
            Self::End => crate::END,
            Self::Outer { target, .. } => target,
        }
    }
}

/// The body of a finished task's write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskWrite {
    /// What it writes, in order.
    #[serde(rename = "deltas")]
    pub writes: Vec<(ChannelName, Written)>,
    /// The route that it takes, where its node has routes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// Where it says that the graph goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goto: Option<Vec<Goto>>,
    /// Whether `goto` hands the failure of the task to the error handler of its node,
    /// where it might: where it sends something to one node, and goes nowhere else.
    /// Records of older builds do not say it: of those, each that sends something to the
    /// handler does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled: Option<bool>,
    /// Where it says that the graph around this one goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Vec<Goto>>,
    /// Whether the next call of its node goes on from the chain of this task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps: bool,
    /// What it wrote beside to channels that no record keeps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untracked: Vec<(ChannelName, Unkept)>,
}

/// What is recorded of a write to an untracked channel: that it was made, so that
/// another one in its step is refused whenever that one comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unkept {
    /// A value, or that the channel is emptied.
    Write,
    /// A value that wins over all other writes of its step.
    Replace,
}

impl Unkept {
    pub(crate) fn of(written: &Written) -> Self {
        match written {
            Written::Replace(_) => Self::Replace,
            _ => Self::Write,
        }
    }

    /// A write that excludes the same others. What it writes is not known any more.
    pub(crate) fn stand_in(self) -> Written {
        match self {
            Self::Write => Written::Clear,
            Self::Replace => Written::Replace(Value::Null),
        }
    }
}

impl TaskWrite {
    /// Takes out what no record keeps, and notes that it was there.
    pub(crate) fn forget(&mut self, is_tracked: impl Fn(&str) -> bool) {
        self.untracked.extend(forget(&mut self.writes, is_tracked));
    }

    /// The key of the write of `task` inside `namespace`.
    pub fn key(namespace: &Namespace, task: &TaskId) -> FactKey {
        FactKey::from(format_args!("write/{}", namespace.child(task)))
    }
}

/// Takes out of `writes` what no record keeps, and says what that was.
pub(crate) fn forget(
    writes: &mut Vec<(ChannelName, Written)>,
    is_tracked: impl Fn(&str) -> bool,
) -> Vec<(ChannelName, Unkept)> {
    let mut forgotten = Vec::new();
    writes.retain(|(channel, written)| {
        let keeps = is_tracked(channel);
        if !keeps {
            forgotten.push((channel.clone(), Unkept::of(written)));
        }
        keeps
    });
    forgotten
}

/// The body of the record of a try that failed and is followed by another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTry {
    /// Which try, from 1.
    pub number: u32,
    /// How it failed, in one line.
    pub message: String,
}

impl FailedTry {
    /// The key of the failure of try `number` of `task` inside `namespace`.
    pub fn key(namespace: &Namespace, task: &TaskId, number: u32) -> FactKey {
        FactKey::from(format_args!("try/{}/{number}", namespace.child(task)))
    }
}

#[cfg(test)]
mod tests {
    use rustagents_core::encode;
    use serde_json::{Value, json};

    use super::*;
    use crate::state::{Delta, Written};

    fn task(task: &str, argument: Option<Value>) -> Task {
        Task {
            task: TaskId::from(task),
            node: TaskId::from(task).node(),
            argument,
        }
    }

    fn full() -> Checkpoint {
        Checkpoint {
            checkpoint: 7,
            step: 3,
            source: Source::Fork,
            from: Some(2),
            base: Some(Base {
                chain: Namespace::from("sub:4.0"),
                checkpoint: 3,
            }),
            deltas: vec![("a \"b\"".into(), Delta::Append(vec![json!(1), json!("x")]))],
            writes: vec![("a".into(), Written::Set(json!({"k": null})))],
            untracked: vec![("b".into(), Unkept::Replace)],
            done: vec![TaskId::from("one:6.0")],
            kept: BTreeMap::from([(NodeName::from("sub"), Namespace::from("sub:5.0"))]),
            migrations: vec!["first".into(), "second".into()],
            pending: Pending {
                next: vec![task("two:7.0", None), task("three:7.1", Some(json!([1])))],
                deferred: vec![task("last:7.2", None)],
                waiting: vec![Waiting {
                    join: "one+two:last".into(),
                    reached: vec![NodeName::from("one")],
                }],
                parent: Some(vec![Goto::End, Goto::send(&"up", json!(2))]),
            },
        }
    }

    fn empty() -> Checkpoint {
        Checkpoint {
            checkpoint: 1,
            step: 0,
            source: Source::Input,
            from: None,
            base: None,
            deltas: Vec::new(),
            writes: Vec::new(),
            untracked: Vec::new(),
            done: Vec::new(),
            kept: BTreeMap::new(),
            migrations: Vec::new(),
            pending: Pending::default(),
        }
    }

    #[test]
    fn a_checkpoint_is_read_as_it_was_written_with_all_there_is_and_with_nothing() {
        for checkpoint in [full(), empty()] {
            let text = encode::json(&checkpoint, str::to_owned).unwrap();
            assert_eq!(text, serde_json::to_string(&checkpoint).unwrap());
            let read: Checkpoint = serde_json::from_str(&text).unwrap();
            assert_eq!(read, checkpoint);
        }
    }

    #[test]
    fn what_is_recorded_of_migrations_is_read_as_it_is() {
        let checkpoint = r#"{"checkpoint":8,"step":1,"source":"migration","deltas":[],"done":[],"migrations":["a","b"],"next":[{"task":"sign:7.0","node":"approve"}]}"#;
        let read: Checkpoint = serde_json::from_str(checkpoint).unwrap();
        assert_eq!(read.source, Source::Migration);
        assert_eq!(read.pending.next[0].node.as_str(), "approve");
        assert_eq!(serde_json::to_string(&read).unwrap(), checkpoint);
        let snapshot = r#"{"checkpoint":8,"messages":2,"calls":0,"state":[["cents",{"set":7}]],"migrations":["a","b"]}"#;
        let read: Snapshot = serde_json::from_str(snapshot).unwrap();
        assert_eq!(read.kind().version, 2);
        assert_eq!(serde_json::to_string(&read).unwrap(), snapshot);
        let older = r#"{"checkpoint":8,"messages":2,"calls":0,"state":[]}"#;
        let read: Snapshot = serde_json::from_str(older).unwrap();
        assert_eq!(read.kind().version, 1);
        assert_eq!(serde_json::to_string(&read).unwrap(), older);
    }

    #[test]
    fn what_is_not_there_is_not_written() {
        let text = serde_json::to_string(&empty()).unwrap();
        let bare = r#"{"checkpoint":1,"step":0,"source":"input","deltas":[],"done":[],"next":[]}"#;
        assert_eq!(text, bare);
    }
}
