//! What changed from one shape to another.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::Serialize;

use super::{
    GraphTopology, Shown, TopologyChannel, TopologyEdge, TopologyEdgeKind, TopologyNode,
    TopologyPolicies, policies::Changed, reducer,
};
use crate::{builder::START, state::Reducer};

/// What changed, in an order that does not depend on the declarations'. Displayed, it
/// has one line for each change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TopologyDiff {
    /// The changes.
    pub changes: Vec<TopologyChange>,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TopologyChange {
    /// The graph has another name.
    Name {
        /// The old one.
        old: String,
        /// The new one.
        new: String,
    },
    /// There is a new channel.
    ChannelAdded {
        /// The channel.
        channel: TopologyChannel,
    },
    /// A channel is gone.
    ChannelRemoved {
        /// The channel.
        channel: TopologyChannel,
    },
    /// A channel takes writes in another way.
    ReducerChanged {
        /// Its name.
        channel: String,
        /// The old way.
        old: Reducer,
        /// The new way.
        new: Reducer,
    },
    /// A barrier waits for other names.
    AwaitedChanged {
        /// Its name.
        channel: String,
        /// The names of before.
        old: Vec<String>,
        /// The names of now.
        new: Vec<String>,
    },
    /// There is a new node.
    NodeAdded {
        /// Its name.
        node: String,
    },
    /// A node is gone.
    NodeRemoved {
        /// Its name.
        node: String,
    },
    /// A node is gone, and a new one stands between the same nodes: it is probably
    /// the same one, and is compared as that.
    NodeRenamed {
        /// The old name.
        old: String,
        /// The new name.
        new: String,
    },
    /// A node is of another kind.
    KindChanged {
        /// Its name.
        node: String,
        /// The old kind.
        old: Option<String>,
        /// The new kind.
        new: Option<String>,
    },
    /// A node is deferred now, or not any more.
    DeferredChanged {
        /// Its name.
        node: String,
        /// Whether it is deferred now.
        deferred: bool,
    },
    /// The state of a node's graph is kept from call to call now, or not any more.
    KeepsStateChanged {
        /// Its name.
        node: String,
        /// Whether it is kept now.
        keeps_state: bool,
    },
    /// A node is run in another way.
    PoliciesChanged {
        /// Its name.
        node: String,
        /// The old way.
        old: TopologyPolicies,
        /// The new way.
        new: TopologyPolicies,
    },
    /// Something else is said of a node.
    MetadataChanged {
        /// Its name.
        node: String,
        /// The keys that are new, gone, or have another value.
        keys: Vec<String>,
    },
    /// A node runs a graph now.
    SubgraphAdded {
        /// Its name.
        node: String,
    },
    /// A node runs no graph any more.
    SubgraphRemoved {
        /// Its name.
        node: String,
    },
    /// The graph that a node runs changed.
    SubgraphChanged {
        /// Its name.
        node: String,
        /// How.
        diff: TopologyDiff,
    },
    /// One more node runs first.
    StartAdded {
        /// Its name.
        node: String,
    },
    /// A node does not run first any more.
    StartRemoved {
        /// Its name.
        node: String,
    },
    /// There is a new edge.
    EdgeAdded {
        /// The edge.
        edge: TopologyEdge,
    },
    /// An edge is gone.
    EdgeRemoved {
        /// The edge.
        edge: TopologyEdge,
    },
    /// An edge has another label, or is taken in another way.
    EdgeChanged {
        /// The old one.
        old: TopologyEdge,
        /// The new one.
        new: TopologyEdge,
    },
}

impl TopologyDiff {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

impl GraphTopology {
    /// What changed from this shape to `new`. The order of declarations and the names
    /// of joins are no difference. A node that is probably renamed is told as that.
    ///
    /// ```
    /// use rustagents_graph::{GraphTopology, TopologyNode};
    ///
    /// let old = GraphTopology::new("desk");
    /// let mut new = old.clone();
    /// new.nodes.push(TopologyNode::new("clerk"));
    /// assert_eq!(old.diff(&new).to_string(), "node added: `clerk`\n");
    /// ```
    #[must_use]
    pub fn diff(&self, new: &Self) -> TopologyDiff {
        let mut changes = Vec::new();
        if self.name != new.name {
            changes.push(TopologyChange::Name {
                old: self.name.clone(),
                new: new.name.clone(),
            });
        }
        channels(self, new, &mut changes);
        let renamed = nodes(self, new, &mut changes);
        edges(self, new, &renamed, &mut changes);
        TopologyDiff { changes }
    }
}

fn channels(old: &GraphTopology, new: &GraphTopology, changes: &mut Vec<TopologyChange>) {
    let before = by_name(&old.channels, |channel| &channel.name);
    let after = by_name(&new.channels, |channel| &channel.name);
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for name in names {
        changes.extend(match (before.get(name), after.get(name)) {
            (Some(&channel), None) => Some(TopologyChange::ChannelRemoved {
                channel: channel.clone(),
            }),
            (None, Some(&channel)) => Some(TopologyChange::ChannelAdded {
                channel: channel.clone(),
            }),
            (Some(one), Some(other)) if one.reducer != other.reducer => {
                Some(TopologyChange::ReducerChanged {
                    channel: one.name.clone(),
                    old: one.reducer,
                    new: other.reducer,
                })
            }
            (Some(one), Some(other)) if one.awaited != other.awaited => {
                Some(TopologyChange::AwaitedChanged {
                    channel: one.name.clone(),
                    old: one.awaited.clone(),
                    new: other.awaited.clone(),
                })
            }
            _ => None,
        });
    }
}

/// Compares the nodes; says which are probably renamed, from the old name to the new.
fn nodes<'a>(
    old: &'a GraphTopology,
    new: &'a GraphTopology,
    changes: &mut Vec<TopologyChange>,
) -> BTreeMap<&'a str, &'a str> {
    let before = by_name(&old.nodes, |node| &node.name);
    let after = by_name(&new.nodes, |node| &node.name);
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let fresh = after.keys().filter(|name| !before.contains_key(*name));
    let (gone, fresh): (BTreeSet<_>, BTreeSet<_>) =
        (gone.copied().collect(), fresh.copied().collect());
    let renamed = renamed(old, new, &gone, &fresh);
    let taken: BTreeSet<_> = renamed.values().copied().collect();
    changes.extend(gone.iter().map(|name| match renamed.get(name) {
        Some(new) => TopologyChange::NodeRenamed {
            old: (*name).to_owned(),
            new: (*new).to_owned(),
        },
        None => TopologyChange::NodeRemoved {
            node: (*name).to_owned(),
        },
    }));
    let added = fresh.difference(&taken);
    changes.extend(added.map(|name| TopologyChange::NodeAdded {
        node: (*name).to_owned(),
    }));
    for (name, node) in &before {
        let name = renamed.get(name).unwrap_or(name);
        if let Some(other) = after.get(name) {
            node.compare(other, changes);
        }
    }
    renamed
}

impl TopologyNode {
    fn compare(&self, new: &Self, changes: &mut Vec<TopologyChange>) {
        let node = || new.name.clone();
        if self.kind != new.kind {
            changes.push(TopologyChange::KindChanged {
                node: node(),
                old: self.kind.clone(),
                new: new.kind.clone(),
            });
        }
        if self.deferred != new.deferred {
            changes.push(TopologyChange::DeferredChanged {
                node: node(),
                deferred: new.deferred,
            });
        }
        if self.keeps_state != new.keeps_state {
            changes.push(TopologyChange::KeepsStateChanged {
                node: node(),
                keeps_state: new.keeps_state,
            });
        }
        if self.policies != new.policies {
            changes.push(TopologyChange::PoliciesChanged {
                node: node(),
                old: self.policies.clone(),
                new: new.policies.clone(),
            });
        }
        let keys: BTreeSet<_> = self.metadata.keys().chain(new.metadata.keys()).collect();
        let keys = keys.into_iter();
        let keys = keys.filter(|key| self.metadata.get(*key) != new.metadata.get(*key));
        let keys: Vec<_> = keys.cloned().collect();
        if !keys.is_empty() {
            changes.push(TopologyChange::MetadataChanged { node: node(), keys });
        }
        changes.extend(match (&self.subgraph, &new.subgraph) {
            (None, Some(_)) => Some(TopologyChange::SubgraphAdded { node: node() }),
            (Some(_), None) => Some(TopologyChange::SubgraphRemoved { node: node() }),
            (Some(one), Some(other)) => {
                let diff = one.diff(other);
                let is_same = diff.is_empty();
                let change = TopologyChange::SubgraphChanged { node: node(), diff };
                (!is_same).then_some(change)
            }
            (None, None) => None,
        });
    }
}

/// An edge of a node, as seen from it. The node itself has no name there.
type Neighbour<'a> = (
    bool,
    Option<&'a str>,
    TopologyEdgeKind,
    Option<&'a str>,
    usize,
);

/// The nodes of `gone` that alone among them stand between the same nodes as one of
/// `fresh` does, alone among those; with that one.
fn renamed<'a>(
    old: &'a GraphTopology,
    new: &'a GraphTopology,
    gone: &BTreeSet<&'a str>,
    fresh: &BTreeSet<&'a str>,
) -> BTreeMap<&'a str, &'a str> {
    let mut places: BTreeMap<_, (Vec<&str>, Vec<&str>)> = BTreeMap::new();
    for (name, place) in neighbours(old, gone) {
        places.entry(place).or_default().0.push(name);
    }
    for (name, place) in neighbours(new, fresh) {
        places.entry(place).or_default().1.push(name);
    }
    let pairs = places.into_values().filter_map(|(gone, fresh)| {
        let ([old], [new]) = (&gone[..], &fresh[..]) else {
            return None;
        };
        Some((*old, *new))
    });
    pairs.collect()
}

/// What stands around each of the nodes `of` that has any edge.
fn neighbours<'a>(
    graph: &'a GraphTopology,
    of: &BTreeSet<&'a str>,
) -> BTreeMap<&'a str, Vec<Neighbour<'a>>> {
    let mut sizes: BTreeMap<_, usize> = BTreeMap::new();
    for edge in &graph.edges {
        *sizes.entry(edge.group()).or_default() += 1;
    }
    let mut found: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for edge in &graph.edges {
        let size = match edge.kind {
            TopologyEdgeKind::Join => sizes[&edge.group()],
            _ => 0,
        };
        let other = |name: &'a str| (edge.from != edge.to).then_some(name);
        let ends = [
            (true, &*edge.from, &*edge.to),
            (false, &*edge.to, &*edge.from),
        ];
        for (is_out, own, far) in ends {
            if of.contains(own) {
                let label = edge.label.as_deref();
                let neighbour = (is_out, other(far), edge.kind, label, size);
                found.entry(own).or_default().push(neighbour);
            }
        }
    }
    for neighbours in found.values_mut() {
        neighbours.sort_unstable();
    }
    found
}

/// An edge without the name of its join, which is a number in both graphs.
type Same<'a> = (
    &'a str,
    &'a str,
    TopologyEdgeKind,
    Option<&'a str>,
    Option<usize>,
);

fn edges(
    old: &GraphTopology,
    new: &GraphTopology,
    renamed: &BTreeMap<&str, &str>,
    changes: &mut Vec<TopologyChange>,
) {
    let nobody = BTreeMap::new();
    let (before, after) = (Joins::of(old, renamed), Joins::of(new, &nobody));
    let numbers = (before.numbers_beside(&after), after.numbers());
    let mut same: BTreeMap<Same<'_>, (Vec<&TopologyEdge>, Vec<&TopologyEdge>)> = BTreeMap::new();
    for edge in &old.edges {
        let key = same_as(edge, renamed, &numbers.0);
        same.entry(key).or_default().0.push(edge);
    }
    for edge in &new.edges {
        let key = same_as(edge, &nobody, &numbers.1);
        same.entry(key).or_default().1.push(edge);
    }
    let mut left: BTreeMap<_, (Vec<_>, Vec<_>)> = BTreeMap::new();
    for ((from, to, ..), (gone, fresh)) in same {
        let both = gone.len().min(fresh.len());
        let (more_gone, more_fresh) = left.entry((from, to)).or_default();
        more_gone.extend_from_slice(&gone[both..]);
        more_fresh.extend_from_slice(&fresh[both..]);
    }
    for (gone, fresh) in left.into_values() {
        if let ([old], [new]) = (&gone[..], &fresh[..]) {
            changes.push(TopologyChange::EdgeChanged {
                old: (*old).clone(),
                new: (*new).clone(),
            });
            continue;
        }
        changes.extend(gone.into_iter().map(removed));
        changes.extend(fresh.into_iter().map(added));
    }
}

fn added(edge: &TopologyEdge) -> TopologyChange {
    if edge.is_start() {
        let node = edge.to.clone();
        return TopologyChange::StartAdded { node };
    }
    TopologyChange::EdgeAdded { edge: edge.clone() }
}

fn removed(edge: &TopologyEdge) -> TopologyChange {
    if edge.is_start() {
        let node = edge.to.clone();
        return TopologyChange::StartRemoved { node };
    }
    TopologyChange::EdgeRemoved { edge: edge.clone() }
}

/// The name of a node in the new graph.
fn now<'a>(name: &'a str, renamed: &BTreeMap<&str, &'a str>) -> &'a str {
    renamed.get(name).copied().unwrap_or(name)
}

type Group<'a> = (&'a str, Option<&'a str>);

fn same_as<'a>(
    edge: &'a TopologyEdge,
    renamed: &BTreeMap<&str, &'a str>,
    numbers: &BTreeMap<Group<'_>, usize>,
) -> Same<'a> {
    let (from, to) = (now(&edge.from, renamed), now(&edge.to, renamed));
    let join = match edge.kind {
        TopologyEdgeKind::Join => numbers.get(&(to, edge.join.as_deref())).copied(),
        _ => None,
    };
    (from, to, edge.kind, edge.label.as_deref(), join)
}

type Sources<'a> = Vec<(&'a str, Option<&'a str>)>;

/// The joins of a graph, each with its sources in order.
struct Joins<'a>(BTreeMap<Group<'a>, Sources<'a>>);

impl<'a> Joins<'a> {
    fn of(graph: &'a GraphTopology, renamed: &BTreeMap<&str, &'a str>) -> Self {
        let mut joins: BTreeMap<_, Sources<'_>> = BTreeMap::new();
        let edges = graph.edges.iter();
        for edge in edges.filter(|edge| edge.kind == TopologyEdgeKind::Join) {
            let group = (now(&edge.to, renamed), edge.join.as_deref());
            let source = (now(&edge.from, renamed), edge.label.as_deref());
            joins.entry(group).or_default().push(source);
        }
        for sources in joins.values_mut() {
            sources.sort_unstable();
        }
        Self(joins)
    }

    /// A number for each.
    fn numbers(&self) -> BTreeMap<Group<'a>, usize> {
        self.0.keys().copied().zip(0..).collect()
    }

    /// A number for each, that of a join of `new` where it is the same before the same
    /// target: by its sources, or else by its name, or else as one is left there.
    fn numbers_beside(&self, new: &Self) -> BTreeMap<Group<'a>, usize> {
        let numbers = new.numbers();
        let (mut found, mut taken) = (BTreeMap::new(), BTreeSet::new());
        for sameness in [Sameness::Sources, Sameness::Name, Sameness::Target] {
            let mut free: BTreeMap<_, Vec<_>> = BTreeMap::new();
            for (group, sources) in &new.0 {
                let number = numbers[group];
                if !taken.contains(&number) {
                    let key = sameness.key(*group, sources);
                    free.entry(key).or_default().push(number);
                }
            }
            for (group, sources) in &self.0 {
                let numbers = free.get_mut(&sameness.key(*group, sources));
                let number = numbers.filter(|_| !found.contains_key(group));
                if let Some(number) = number.and_then(Vec::pop) {
                    found.insert(*group, number);
                    taken.insert(number);
                }
            }
        }
        let rest = self.0.keys().zip(new.0.len()..);
        for (group, number) in rest {
            found.entry(*group).or_insert(number);
        }
        found
    }
}

/// Why two joins are the same.
#[derive(Clone, Copy)]
enum Sameness {
    Sources,
    Name,
    Target,
}

type Key<'a, 'b> = (&'a str, Option<&'b Sources<'a>>, Option<Option<&'a str>>);

impl Sameness {
    fn key<'a, 'b>(self, (target, name): Group<'a>, sources: &'b Sources<'a>) -> Key<'a, 'b> {
        match self {
            Self::Sources => (target, Some(sources), None),
            Self::Name => (target, None, Some(name)),
            Self::Target => (target, None, None),
        }
    }
}

/// The items under their names; the last one where two have one name.
fn by_name<T>(items: &[T], name: impl Fn(&T) -> &String) -> BTreeMap<&str, &T> {
    let items = items.iter();
    items.map(|item| (name(item).as_str(), item)).collect()
}

impl TopologyEdge {
    fn is_start(&self) -> bool {
        self.from == START && self.kind == TopologyEdgeKind::Direct && self.label.is_none()
    }
}

impl fmt::Display for TopologyDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tell("", f)
    }
}

impl TopologyDiff {
    fn tell(&self, prefix: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for change in &self.changes {
            match change {
                TopologyChange::SubgraphChanged { node, diff } => {
                    diff.tell(&format!("{prefix}in {}: ", Shown(node)), f)?;
                }
                change => writeln!(f, "{prefix}{}", Line(change))?,
            }
        }
        Ok(())
    }
}

/// A change in one line.
struct Line<'a>(&'a TopologyChange);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TopologyChange::Name { old, new } => {
                write!(f, "graph renamed: {} is now {}", Shown(old), Shown(new))
            }
            TopologyChange::ChannelAdded { channel } => {
                write!(f, "channel added: {}", Typed(channel))
            }
            TopologyChange::ChannelRemoved { channel } => {
                write!(f, "channel removed: {}", Typed(channel))
            }
            TopologyChange::ReducerChanged { channel, old, new } => {
                let (old, new) = (reducer(*old), reducer(*new));
                write!(
                    f,
                    "channel changed: {}: was {old}, is {new}",
                    Shown(channel)
                )
            }
            TopologyChange::AwaitedChanged { channel, old, new } => {
                let (old, new) = (Names(old), Names(new));
                let channel = Shown(channel);
                write!(
                    f,
                    "channel changed: {channel}: waited for {old}, waits for {new}"
                )
            }
            TopologyChange::StartAdded { node } => write!(f, "start added: {}", Shown(node)),
            TopologyChange::StartRemoved { node } => write!(f, "start removed: {}", Shown(node)),
            TopologyChange::EdgeAdded { edge } => write!(f, "edge added: {}", Arrow(edge)),
            TopologyChange::EdgeRemoved { edge } => write!(f, "edge removed: {}", Arrow(edge)),
            TopologyChange::EdgeChanged { old, new } => {
                let (from, to) = (Shown(&new.from), Shown(&new.to));
                let (old, new) = (How(old), How(new));
                write!(f, "edge changed: {from} -> {to}: was {old}, is {new}")
            }
            change => node_line(change, f),
        }
    }
}

fn node_line(change: &TopologyChange, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let kind = |kind: &Option<String>| match kind {
        Some(kind) => Shown(kind).to_string(),
        None => "none".to_owned(),
    };
    match change {
        TopologyChange::NodeAdded { node } => write!(f, "node added: {}", Shown(node)),
        TopologyChange::NodeRemoved { node } => write!(f, "node removed: {}", Shown(node)),
        TopologyChange::NodeRenamed { old, new } => {
            let (old, new) = (Shown(old), Shown(new));
            write!(f, "node probably renamed: {old} is now {new}")
        }
        TopologyChange::KindChanged { node, old, new } => {
            let (node, old, new) = (Shown(node), kind(old), kind(new));
            write!(f, "node changed: {node}: kind was {old}, is {new}")
        }
        TopologyChange::DeferredChanged { node, deferred } => {
            let now = if *deferred {
                "is deferred now"
            } else {
                "is not deferred any more"
            };
            write!(f, "node changed: {}: {now}", Shown(node))
        }
        TopologyChange::KeepsStateChanged { node, keeps_state } => {
            let now = if *keeps_state {
                "keeps the state of its graph now"
            } else {
                "does not keep the state of its graph any more"
            };
            write!(f, "node changed: {}: {now}", Shown(node))
        }
        TopologyChange::PoliciesChanged { node, old, new } => {
            write!(f, "node changed: {}: {}", Shown(node), Changed(old, new))
        }
        TopologyChange::MetadataChanged { node, keys } => {
            let (node, keys) = (Shown(node), Names(keys));
            write!(f, "node changed: {node}: metadata {keys}")
        }
        TopologyChange::SubgraphAdded { node } => {
            write!(f, "node changed: {}: runs a graph now", Shown(node))
        }
        TopologyChange::SubgraphRemoved { node } => {
            write!(f, "node changed: {}: runs no graph any more", Shown(node))
        }
        _ => Ok(()),
    }
}

/// A channel, with its reducer.
struct Typed<'a>(&'a TopologyChannel);

impl fmt::Display for Typed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(channel) = self;
        write!(f, "{}, {}", Shown(&channel.name), reducer(channel.reducer))?;
        match &channel.awaited[..] {
            [] => Ok(()),
            awaited => write!(f, " of {}", Names(awaited)),
        }
    }
}

/// Names in a row.
struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nobody");
        }
        let names: Vec<_> = self.0.iter().map(|name| Shown(name).to_string()).collect();
        f.write_str(&names.join(", "))
    }
}

/// An edge, and how it is taken unless that is always.
struct Arrow<'a>(&'a TopologyEdge);

impl fmt::Display for Arrow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", Shown(&self.0.from), Shown(&self.0.to))?;
        if self.0.kind == TopologyEdgeKind::Direct && self.0.label.is_none() {
            return Ok(());
        }
        write!(f, ", {}", How(self.0))
    }
}

/// How an edge is taken.
struct How<'a>(&'a TopologyEdge);

impl fmt::Display for How<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0.kind {
            TopologyEdgeKind::Direct => "direct",
            TopologyEdgeKind::Route => "route",
            TopologyEdgeKind::Join => "join",
            TopologyEdgeKind::Command => "command",
            TopologyEdgeKind::Error => "error",
        })?;
        match &self.0.label {
            Some(label) => write!(f, " {}", Shown(label)),
            None => Ok(()),
        }
    }
}
