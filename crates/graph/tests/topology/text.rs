use proptest::prelude::*;
use rustagents_graph::{GraphTopology, Reducer, TopologyChannel};
use serde_json::json;

use super::bench::{any_graph, nested, shape};

#[test]
fn every_fact_is_a_line() {
    let mut graph = shape(&[
        "START !b", "START a", "b+a c", "a ~ END", "c it's c", "c END", "a ! b",
    ]);
    graph
        .channels
        .push(TopologyChannel::new("notes", Reducer::Append));
    graph
        .channels
        .push(TopologyChannel::new("a topic", Reducer::Overwrite));
    graph.nodes[1].kind = Some("agent".to_owned());
    graph.nodes[1]
        .metadata
        .insert("owner".to_owned(), json!({"team": "ops"}));
    let graph = nested(graph, "c", shape(&["START x", "x END"]));
    let expected = r#"graph g
channel "a topic" overwrite
channel notes append
node a kind=agent
  metadata owner={"team":"ops"}
node b deferred
node c
  graph g
  node x
  edge START -> x
  edge x -> END
edge START -> a
edge START -> b
edge a -> END command
edge a -> b error
edge c -> END
edge c -> c route="it's"
join a + b -> c
"#;
    assert_eq!(graph.to_text(), expected);
}

fn turned(graph: &GraphTopology) -> GraphTopology {
    let mut turned = graph.clone();
    turned.channels.reverse();
    turned.nodes.reverse();
    turned.edges.reverse();
    for node in &mut turned.nodes {
        node.subgraph = node
            .subgraph
            .take()
            .map(|inner| Box::new(self::turned(&inner)));
    }
    turned
}

proptest! {
    #[test]
    fn the_order_of_declarations_is_no_difference(graph in any_graph()) {
        let turned = turned(&graph);
        prop_assert_eq!(graph.to_text(), turned.to_text());
        prop_assert_eq!(graph.diff(&turned).to_string(), "");
    }

    /// What reads the same is the same.
    #[test]
    fn a_difference_shows_in_the_text(graph in any_graph(), at in any::<usize>(), what in 0..8) {
        let mut other = graph.clone();
        let (node, edge) = (at % graph.nodes.len().max(1), at % graph.edges.len().max(1));
        match (what, other.nodes.get_mut(node), other.edges.get_mut(edge)) {
            (0, Some(node), _) => node.deferred = !node.deferred,
            (5, Some(node), _) => node.keeps_state = !node.keeps_state,
            (6, Some(node), _) => node.policies.ask_before = !node.policies.ask_before,
            (7, Some(node), _) => node.policies.group = Some("few".to_owned()),
            (1, Some(node), _) => node.kind = Some("agent".to_owned()),
            (2, _, Some(_)) => drop(other.edges.remove(edge)),
            (3, _, Some(edge)) => edge.label = Some("other".to_owned()),
            (4, _, Some(edge)) => edge.join = Some("j".to_owned()),
            _ => other.name.push('!'),
        }
        let is_same = graph.to_text() == other.to_text();
        prop_assert_eq!(is_same, graph.diff(&other).is_empty());
    }
}
