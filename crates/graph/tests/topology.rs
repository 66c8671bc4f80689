mod analysis;
mod bench;
mod diff;
mod document;
mod drawing;
mod policies;
mod text;

use rustagents_graph::{
    END, Graph, GraphBuilder, GraphTopology, NodeOutput, NodeSpec, Reducer, node_fn,
};
use serde_json::json;

fn nodes(builder: GraphBuilder, names: &[&str]) -> GraphBuilder {
    names.iter().fold(builder, |builder, name| {
        builder.node(*name, node_fn(|_, _| async { Ok(NodeOutput::new()) }))
    })
}

/// Two starts, routes to one and to several, an edge that ends.
fn desk() -> Graph {
    nodes(GraphBuilder::new("desk"), &["triage", "audit", "clerk"])
        .channel("topic", Reducer::Overwrite)
        .channel("messages", Reducer::Messages)
        .channel("notes", Reducer::Append)
        .start(["triage", "audit"])
        .edge("clerk", END)
        .route("triage", "refund", ["clerk", "audit"])
        .route("triage", "other", [END])
        .edge("audit", "clerk")
        .compile()
        .unwrap()
}

/// One node and one route, under names that mean something elsewhere.
fn hostile(node: &str, label: &str) -> Graph {
    nodes(GraphBuilder::new(node), &[node])
        .start([node])
        .route(node, label, [END])
        .compile()
        .unwrap()
}

#[test]
fn what_an_author_says_of_a_node_stands_in_the_shape_and_goes_through_a_document() {
    let graph = nodes(GraphBuilder::new("desk"), &["triage", "clerk"])
        .defaults(NodeSpec::new().metadata("team", "desk").metadata("tier", 1))
        .spec("clerk", NodeSpec::new().metadata("team", "refunds"))
        .start(["triage"])
        .sequence(["triage", "clerk", END])
        .compile()
        .unwrap();
    let shape = graph.topology();
    let said: Vec<_> = shape
        .nodes
        .iter()
        .map(|node| json!(node.metadata))
        .collect();
    let expected = [
        json!({"team": "desk", "tier": 1}),
        json!({"team": "refunds", "tier": 1}),
    ];
    assert_eq!(said, expected);
    let document = shape.to_json();
    let read = GraphTopology::from_json(document.as_bytes()).unwrap();
    assert_eq!(read, *shape);
}

#[test]
fn the_json_keeps_the_order_of_the_declarations() {
    let expected = serde_json::json!({
        "name": "desk",
        "channels": [
            {"name": "topic", "reducer": "overwrite"},
            {"name": "messages", "reducer": "messages"},
            {"name": "notes", "reducer": "append"},
        ],
        "nodes": [
            {"name": "triage", "kind": "function"},
            {"name": "audit", "kind": "function"},
            {"name": "clerk", "kind": "function"},
        ],
        "edges": [
            {"from": "START", "to": "triage", "label": null},
            {"from": "START", "to": "audit", "label": null},
            {"from": "triage", "to": "clerk", "label": "refund"},
            {"from": "triage", "to": "audit", "label": "refund"},
            {"from": "triage", "to": "END", "label": "other"},
            {"from": "audit", "to": "clerk", "label": null},
            {"from": "clerk", "to": "END", "label": null},
        ],
    });
    assert_eq!(serde_json::json!(desk().topology()), expected);
}

#[test]
fn mermaid_draws_starts_routes_and_ends() {
    let expected = r#"flowchart TD
    start(["START"])
    n0["triage"]
    n1["audit"]
    n2["clerk"]
    stop(["END"])
    start --> n0
    start --> n1
    n0 -->|"refund"| n2
    n0 -->|"refund"| n1
    n0 -->|"other"| stop
    n1 --> n2
    n2 --> stop
"#;
    assert_eq!(desk().topology().to_mermaid(), expected);
}

#[test]
fn dot_draws_starts_routes_and_ends() {
    let expected = r#"digraph "desk" {
    start [label="START", shape=oval];
    n0 [label="triage", shape=box];
    n1 [label="audit", shape=box];
    n2 [label="clerk", shape=box];
    stop [label="END", shape=oval];
    start -> n0;
    start -> n1;
    n0 -> n2 [label="refund"];
    n0 -> n1 [label="refund"];
    n0 -> stop [label="other"];
    n1 -> n2;
    n2 -> stop;
}
"#;
    assert_eq!(desk().topology().to_dot(), expected);
}

#[test]
fn a_graph_without_an_end_is_drawn_without_it() {
    let graph = nodes(GraphBuilder::new("g"), &["again"])
        .start(["again"])
        .edge("again", "again")
        .compile()
        .unwrap();
    let topology = graph.topology();
    let drawings = [topology.to_mermaid(), topology.to_dot()];
    assert!(drawings.iter().all(|drawing| !drawing.contains("stop")));
    assert!(drawings[0].ends_with("    start --> n0\n    n0 --> n0\n"));
}

#[test]
fn no_name_breaks_mermaid() {
    let expected = r##"flowchart TD
    start(["START"])
    n0["a#34;#93;#59; b #35;quot#59; #60;i#62; #38; #92;#96;"]
    stop(["END"])
    start --> n0
    n0 -->|"#124;#10;#37;#37;#123;init#58; ja, 1.5-é_x#125;#37;#37;"| stop
"##;
    let graph = hostile("a\"]; b #quot; <i> & \\`", "|\n%%{init: ja, 1.5-é_x}%%");
    assert_eq!(graph.topology().to_mermaid(), expected);
}

#[test]
fn no_name_breaks_dot() {
    let expected = r#"digraph "a\"]; &amp;lt; \\" {
    start [label="START", shape=oval];
    n0 [label="a\"]; &amp;lt; \\", shape=box];
    stop [label="END", shape=oval];
    start -> n0;
    n0 -> stop [label="\\N\n<b>\\u{0}\\u{1b}é"];
}
"#;
    let graph = hostile("a\"]; &lt; \\", "\\N\n<b>\0\u{1b}é");
    assert_eq!(graph.topology().to_dot(), expected);
}

#[test]
fn keywords_and_ids_as_names_stay_names() {
    let graph = nodes(
        GraphBuilder::new("graph"),
        &["n1", "end", "start", "subgraph"],
    )
    .start(["n1"])
    .route("n1", "", ["end"])
    .edge("end", "start")
    .edge("start", "subgraph")
    .edge("subgraph", END)
    .compile()
    .unwrap();
    let expected = r#"flowchart TD
    start(["START"])
    n0["n1"]
    n1["end"]
    n2["start"]
    n3["subgraph"]
    stop(["END"])
    start --> n0
    n0 -->|" "| n1
    n1 --> n2
    n2 --> n3
    n3 --> stop
"#;
    assert_eq!(graph.topology().to_mermaid(), expected);
}

#[test]
fn a_builder_says_what_each_way_and_node_is() {
    let inner = nodes(GraphBuilder::new("inner"), &["x"])
        .channel("own", Reducer::Append)
        .start(["x"])
        .edge("x", END)
        .compile()
        .unwrap();
    let graph = nodes(
        GraphBuilder::new("desk"),
        &["a", "b", "late", "pick", "help"],
    )
    .subgraph("inside", inner)
    .spec("late", NodeSpec::new().deferred())
    .spec("inside", NodeSpec::new().on_error("help").keep_state())
    .start_branch(|_| "x", [("x", "a"), ("y", "b")])
    .start(["inside"])
    .join(["a", "inside"], "pick")
    .edge("b", END)
    .commands("pick", ["late", "b"])
    .edge("late", END)
    .edge("help", END)
    .compile()
    .unwrap();
    let expected = "\
graph desk
node a kind=function
node b kind=function
node help kind=function
node inside kind=subgraph keeps_state
  graph inner
  channel own append
  node x kind=function
  edge START -> x
  edge x -> END
node late kind=function deferred
node pick kind=function
edge START -> a route=x
edge START -> b route=y
edge START -> inside
edge b -> END
edge help -> END
edge inside -> help error
edge late -> END
edge pick -> b command
edge pick -> late command
join a + inside -> pick
";
    assert_eq!(graph.topology().to_text(), expected);
    assert!(graph.topology().analyse().is_empty());
}
