use proptest::prelude::*;
use rustagents_graph::GraphTopology;

use super::bench::{any_graph, nested, shape};

/// A join with a route, a command, a deferred node, and a deferred graph in a graph.
fn rich() -> GraphTopology {
    let mut graph = shape(&[
        "START !a",
        "START b",
        "a+b c",
        "b ~ END",
        "c again a",
        "c END",
        "b ! a",
    ]);
    graph.edges[2].label = Some("ok".to_owned());
    let mut middle = shape(&["START x", "x ~ x"]);
    middle.nodes[0].deferred = true;
    let inner = nested(middle, "x", shape(&["START end", "end END"]));
    nested(graph, "c", inner)
}

#[test]
fn mermaid_draws_joins_commands_deferred_nodes_and_subgraphs() {
    let expected = r#"flowchart TD
    start(["START"])
    n0["a"]
    style n0 stroke-dasharray: 5 5
    n1["b"]
    subgraph n2["c"]
        n2_start(["START"])
        subgraph n2_n0["x"]
            n2_n0_start(["START"])
            n2_n0_n0["end"]
            n2_n0_stop(["END"])
            n2_n0_start --> n2_n0_n0
            n2_n0_n0 --> n2_n0_stop
        end
        style n2_n0 stroke-dasharray: 5 5
        n2_stop(["END"])
        n2_start --> n2_n0_start
        n2_n0_stop -.-> n2_n0_start
    end
    stop(["END"])
    j0(("all"))
    start --> n0
    start --> n1
    n0 -->|"ok"| j0
    n1 --> j0
    n1 -.-> stop
    n2_stop -->|"again"| n0
    n2_stop --> stop
    n1 -.->|"error"| n0
    j0 --> n2_start
"#;
    assert_eq!(rich().to_mermaid(), expected);
}

#[test]
fn dot_draws_joins_commands_deferred_nodes_and_subgraphs() {
    let expected = r#"digraph "g" {
    start [label="START", shape=oval];
    n0 [label="a", shape=box, style=dashed];
    n1 [label="b", shape=box];
    subgraph cluster_n2 {
        graph [label="c"];
        n2_start [label="START", shape=oval];
        subgraph cluster_n2_n0 {
            graph [label="x", style=dashed];
            n2_n0_start [label="START", shape=oval];
            n2_n0_n0 [label="end", shape=box];
            n2_n0_stop [label="END", shape=oval];
            n2_n0_start -> n2_n0_n0;
            n2_n0_n0 -> n2_n0_stop;
        }
        n2_stop [label="END", shape=oval];
        n2_start -> n2_n0_start;
        n2_n0_stop -> n2_n0_start [style=dashed];
    }
    stop [label="END", shape=oval];
    j0 [label="all", shape=circle];
    start -> n0;
    start -> n1;
    n0 -> j0 [label="ok"];
    n1 -> j0;
    n1 -> stop [style=dashed];
    n2_stop -> n0 [label="again"];
    n2_stop -> stop;
    n1 -> n0 [label="error", style=dashed];
    j0 -> n2_start;
}
"#;
    assert_eq!(rich().to_dot(), expected);
}

/// Whether each line of a drawing is one of its forms, with texts between quotes.
fn is_well_formed(drawing: &str, quote: &str, words: &str) -> bool {
    let mut depth = 0_usize;
    for line in drawing.lines() {
        let line = line.trim_start().replace(quote, "");
        let outside = line.split('"').step_by(2).collect::<String>();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || words.contains(c);
        if line.matches('"').count() % 2 == 1 || !outside.chars().all(is_plain) {
            return false;
        }
        depth += usize::from(line.starts_with("subgraph ") || line.starts_with("digraph "));
        let Some(left) = depth.checked_sub(usize::from(line == "end" || line == "}")) else {
            return false;
        };
        depth = left;
    }
    depth == 0
}

proptest! {
    #[test]
    fn no_graph_breaks_a_drawing(graph in any_graph()) {
        let mermaid = graph.to_mermaid();
        prop_assert!(is_well_formed(&mermaid, "\\\"", "_ ()[]->.|:"), "{}", mermaid);
        let dot = graph.to_dot().replace("\\\\", "");
        prop_assert!(is_well_formed(&dot, "\\\"", "_ {}[]->;=,"), "{}", dot);
    }
}
