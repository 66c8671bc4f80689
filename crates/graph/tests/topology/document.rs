use proptest::prelude::*;
use rustagents_core::{Code, code::Coded};
use rustagents_graph::{
    GraphTopology, TopologyEdge, TopologyEdgeKind, TopologyNode,
    topology::{MAX_BYTES, MAX_DEPTH, MAX_EDGES, MAX_NODES, TopologyError},
};
use serde_json::json;

use super::bench::{any_graph, nested, shape};

fn read(document: &str) -> Result<GraphTopology, TopologyError> {
    GraphTopology::from_json(document.as_bytes())
}

/// A document with these parts.
fn with(nodes: &str, edges: &str) -> String {
    format!(r#"{{"schema":"rag.graph/1","name":"g","nodes":{nodes},"edges":{edges}}}"#)
}

#[test]
fn a_plain_document_says_no_more_than_it_must() {
    let text = shape(&["START a", "a x b", "b END"]).to_json();
    let expected = concat!(
        r#"{"schema":"rag.graph/1","name":"g","channels":[],"#,
        r#""nodes":[{"name":"a"},{"name":"b"}],"edges":["#,
        r#"{"from":"START","to":"a","label":null},"#,
        r#"{"from":"a","to":"b","label":"x"},"#,
        r#"{"from":"b","to":"END","label":null}]}"#,
    );
    assert_eq!(text, expected);
}

#[test]
fn a_full_document_says_everything() {
    let mut graph = shape(&["START !a", "START b", "a+b c", "c ~ END"]);
    graph.nodes[1].kind = Some("agent".to_owned());
    graph.nodes[1]
        .metadata
        .insert("owner".to_owned(), json!("ops"));
    let mut graph = nested(graph, "c", GraphTopology::new("inner"));
    graph.nodes[2].keeps_state = true;
    let inner = json!({"name": "inner", "channels": [], "nodes": [], "edges": []});
    let expected = json!({
        "schema": "rag.graph/1",
        "name": "g",
        "channels": [],
        "nodes": [
            {"name": "a", "deferred": true},
            {"name": "b", "kind": "agent", "metadata": {"owner": "ops"}},
            {"name": "c", "keeps_state": true, "subgraph": inner},
        ],
        "edges": [
            {"from": "START", "to": "a", "label": null},
            {"from": "START", "to": "b", "label": null},
            {"from": "a", "to": "c", "label": null, "kind": "join", "join": "j2"},
            {"from": "b", "to": "c", "label": null, "kind": "join", "join": "j2"},
            {"from": "c", "to": "END", "label": null, "kind": "command"},
        ],
    });
    assert_eq!(json!(graph.document()), expected);
    assert_eq!(read(&expected.to_string()), Ok(graph.clone()));
    assert_eq!(
        serde_json::from_value::<GraphTopology>(expected).unwrap(),
        graph
    );
}

#[test]
fn what_may_be_left_out_has_its_default_and_the_unknown_is_passed_over() {
    let edges = r#"[{"from":"START","to":"a"},{"from":"a","to":"END","label":"x","colour":1}]"#;
    let graph = read(&with(r#"[{"name":"a","later":[1]}]"#, edges)).unwrap();
    assert_eq!(graph.nodes, [TopologyNode::new("a")]);
    assert_eq!(graph.edges[0], TopologyEdge::direct("START", "a"));
    assert_eq!(graph.edges[1].kind, TopologyEdgeKind::Route);
    let empty = read(r#"{"schema":"rag.graph/1","name":"g"}"#);
    assert_eq!(empty, Ok(GraphTopology::new("g")));
}

#[test]
fn each_mistake_is_told_with_its_place() {
    let inner = r#"[{"name":"a","subgraph":{"name":"i","nodes":[{"name":"x"},{"name":"x"}]}}]"#;
    for (document, says) in [
        (
            with("[]", "[").as_str(),
            "the graph cannot be read: expected",
        ),
        ("[]", "the graph cannot be read: it is no JSON object"),
        ("{}", "`schema` is null, not \"rag.graph/1\""),
        (
            r#"{"schema":"rag.graph/2","name":7}"#,
            "`schema` is \"rag.graph/2\", not",
        ),
        (
            r#"{"schema":"rag.graph/1"}"#,
            "the graph cannot be read: missing field `name`",
        ),
        (
            &with(r#"[{"name":"START"}]"#, "[]"),
            "nodes[0].name: `START` cannot name a node",
        ),
        (
            &with(r#"[{"name":""}]"#, "[]"),
            "nodes[0].name: `` cannot name a node",
        ),
        (
            &with(inner, "[]"),
            "nodes[0].subgraph.nodes[1]: there are two nodes `x`",
        ),
        (
            &with("[]", r#"[{"from":"START","to":"a\nb"}]"#),
            r"edges[0].to: no edge can have an end at `a\u{a}b`",
        ),
        (
            &with("[]", r#"[{"from":"END","to":"END"}]"#),
            "edges[0].from: no edge can have an end at `END`",
        ),
        (
            &with("[]", r#"[{"from":"START","to":"START"}]"#),
            "edges[0].to: no edge can have an end at `START`",
        ),
        (
            &with("[]", r#"[{"from":"START","to":"END","kind":"leap"}]"#),
            "the graph cannot be read: unknown variant `leap`",
        ),
        (
            r#"{"schema":"rag.graph/1","name":"g","channels":[
                {"name":"a","reducer":"append"},{"name":"a","reducer":"append"}]}"#,
            "channels[1]: there are two channels `a`",
        ),
    ] {
        let error = read(document).unwrap_err();
        assert!(error.to_string().starts_with(says), "{error}");
        assert_eq!(error.code(), Code::GraphDocument);
    }
    let error = serde_json::from_str::<GraphTopology>(r#"{"name":"g","nodes":[{"name":""}]}"#);
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("nodes[0].name: `` cannot"), "{error}");
}

/// Graphs in each other, so many.
fn deep(depth: usize) -> GraphTopology {
    let inner = GraphTopology::new("innermost");
    (1..depth).fold(inner, |inner, _| nested(shape(&["START a"]), "a", inner))
}

#[test]
fn what_is_over_a_limit_is_refused() {
    let mut nodes = GraphTopology::new("g");
    nodes.nodes = (0..MAX_NODES)
        .map(|i| TopologyNode::new(i.to_string()))
        .collect();
    let mut edges = shape(&["START a"]);
    edges.edges = vec![TopologyEdge::direct("START", "a"); MAX_EDGES];
    for graph in [&nodes, &edges, &deep(MAX_DEPTH + 1)] {
        assert_eq!(read(&graph.to_json()).as_ref(), Ok(graph));
    }
    let inner = shape(&["START b", "b END"]);
    nodes.nodes[7].subgraph = Some(Box::new(inner.clone()));
    edges.nodes[0].subgraph = Some(Box::new(inner));
    let large = with("[]", "[]") + &" ".repeat(MAX_BYTES);
    let places = "nodes[0].subgraph.".repeat(MAX_DEPTH + 1);
    let places = places.trim_end_matches('.');
    for (document, says) in [
        (
            nodes.to_json(),
            "nodes[9999]: there are more than 10000 nodes",
        ),
        (
            edges.to_json(),
            "edges[99998]: there are more than 100000 edges",
        ),
        (
            deep(MAX_DEPTH + 2).to_json(),
            &*format!("{places}: there are more than 16 graphs around one"),
        ),
        (large, "byte 16777216: there are more than 16777216 bytes"),
    ] {
        let error = read(&document).unwrap_err();
        assert_eq!(error.to_string(), says);
        assert_eq!(error.code(), Code::TooLarge);
    }
    let error = read(&deep(100).to_json()).unwrap_err();
    assert!(error.to_string().contains("recursion limit"), "{error}");
}

proptest! {
    #[test]
    fn a_graph_is_read_as_it_was_written(graph in any_graph()) {
        let again = read(&graph.to_json());
        prop_assert_eq!(again.as_ref(), Ok(&graph));
        let value = serde_json::to_value(&graph).unwrap();
        prop_assert_eq!(serde_json::from_value::<GraphTopology>(value).unwrap(), graph);
    }
}
