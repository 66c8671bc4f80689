//! Shapes for tests: written in short, and random.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*, sample::select};
use rustagents_graph::{
    GraphTopology, Reducer, TopologyChannel, TopologyEdge, TopologyEdgeKind, TopologyNode,
};

/// A graph of its ways: `a b` is an edge, `a x b` a route, `a ~ b` a command, `a ! b` a handler, and
/// `a+b c` a join. A node is there once it is named; `!a` is deferred.
pub(super) fn shape(ways: &[&str]) -> GraphTopology {
    let mut graph = GraphTopology::new("g");
    for (index, way) in ways.iter().enumerate() {
        let words: Vec<_> = way.split(' ').collect();
        let (first, last) = (words[0], *words.last().unwrap());
        let sources: Vec<_> = first
            .split('+')
            .map(|name| declare(&mut graph, name))
            .collect();
        let target = declare(&mut graph, last);
        for from in &sources {
            graph.edges.push(match words[1..words.len() - 1] {
                [] if sources.len() > 1 => TopologyEdge::join(from, format!("j{index}"), &target),
                [] => TopologyEdge::direct(from, &target),
                ["~"] => TopologyEdge::command(from, &target),
                ["!"] => TopologyEdge::error(from, &target),
                [label] => TopologyEdge::route(from, label, &target),
                _ => panic!("no way: {way}"),
            });
        }
    }
    graph
}

fn declare(graph: &mut GraphTopology, name: &str) -> String {
    let plain = name.trim_start_matches('!');
    let is_known = graph.nodes.iter().any(|node| node.name == plain);
    if !is_known && !["START", "END"].contains(&plain) {
        let mut node = TopologyNode::new(plain);
        node.deferred = plain != name;
        graph.nodes.push(node);
    }
    plain.to_owned()
}

/// `outer` with `inner` in its node `name`.
pub(super) fn nested(mut outer: GraphTopology, name: &str, inner: GraphTopology) -> GraphTopology {
    let node = outer
        .nodes
        .iter_mut()
        .find(|node| node.name == name)
        .unwrap();
    node.subgraph = Some(Box::new(inner));
    outer
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-d]",
        ".{1,4}",
        select(&["end", "n0", "start", "\"]", "\n", "->", "a/b"][..]).prop_map(str::to_owned),
    ]
}

fn metadata() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        Just(serde_json::Value::Null),
        any::<f64>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        ".{0,3}".prop_map(serde_json::Value::from),
        vec(any::<bool>(), 0..2).prop_map(serde_json::Value::from),
    ]
}

fn node(inner: impl Strategy<Value = GraphTopology>) -> impl Strategy<Value = TopologyNode> {
    let metadata = proptest::collection::btree_map(".{0,2}", metadata(), 0..2);
    let subgraph = proptest::option::weighted(0.2, inner.prop_map(Box::new));
    let kind = proptest::option::of(name());
    let run = (any::<bool>(), proptest::option::of(2_u32..4));
    let said = (any::<bool>(), any::<bool>(), run);
    (name(), kind, said, metadata, subgraph).prop_map(
        |(name, kind, (deferred, keeps_state, run), metadata, subgraph)| {
            let mut node = TopologyNode::new(name);
            (node.kind, node.deferred) = (kind, deferred);
            node.keeps_state = keeps_state;
            (node.policies.ask_after, node.policies.tries) = run;
            (node.metadata, node.subgraph) = (metadata, subgraph);
            node
        },
    )
}

fn edge() -> impl Strategy<Value = (usize, usize, TopologyEdge)> {
    let kind = select(
        &[
            TopologyEdgeKind::Direct,
            TopologyEdgeKind::Route,
            TopologyEdgeKind::Join,
            TopologyEdgeKind::Command,
            TopologyEdgeKind::Error,
        ][..],
    );
    let label = proptest::option::of(name());
    let join = proptest::option::of("[jk]");
    (0_usize..9, 0_usize..9, kind, label, join).prop_map(|(from, to, kind, label, join)| {
        let mut edge = TopologyEdge::direct("", "");
        (edge.kind, edge.label, edge.join) = (kind, label, join);
        (from, to, edge)
    })
}

fn graph(inner: impl Strategy<Value = GraphTopology>) -> impl Strategy<Value = GraphTopology> {
    let channels = vec(
        (name(), select(&[Reducer::Append, Reducer::Messages][..])),
        0..3,
    );
    let parts = (name(), channels, vec(node(inner), 0..7), vec(edge(), 0..16));
    parts.prop_map(|(name, channels, nodes, edges)| {
        let mut graph = GraphTopology::new(name);
        let mut seen = BTreeSet::new();
        let channels = channels.into_iter();
        let channels = channels.filter(|(name, _)| seen.insert(name.clone()));
        graph.channels = channels
            .map(|(name, how)| TopologyChannel::new(name, how))
            .collect();
        let mut seen = BTreeSet::from(["START".to_owned(), "END".to_owned()]);
        let nodes = nodes.into_iter();
        graph.nodes = nodes
            .filter(|node| seen.insert(node.name.clone()))
            .collect();
        let end = |index: usize, edge: &str| match graph.nodes.get(index) {
            Some(node) => node.name.clone(),
            None => edge.to_owned(),
        };
        let edges = edges.into_iter().map(|(from, to, edge)| {
            let mut whole = edge;
            (whole.from, whole.to) = (end(from, "START"), end(to, "END"));
            whole
        });
        graph.edges = edges.collect();
        graph
    })
}

/// Any graph that a document can hold, three deep.
pub(super) fn any_graph() -> impl Strategy<Value = GraphTopology> {
    let none = Just(GraphTopology::new("none"));
    graph(graph(none))
}
