//! `rag graph`: the shape of a plan, as a drawing or as data.

use serde_json::json;

use crate::bench::{Desk, Said};

fn draw(desk: &Desk, options: &[&str]) -> Said {
    let said = desk.rag(&[&["graph", "support.rag"], options].concat());
    assert_eq!((said.status, &*said.stderr), (Some(0), ""), "{said:?}");
    said
}

#[test]
fn the_drawing_is_mermaid_unless_another_format_is_asked_for() {
    let desk = Desk::new();
    let before = desk.files();
    let expected = r#"flowchart TD
    start(["START"])
    n0["triage"]
    n1["refunds"]
    n2["carrier"]
    n3["reply"]
    stop(["END"])
    start --> n0
    n0 -->|"refund"| n1
    n0 -->|"refund"| n2
    n0 -->|"other"| n3
    n1 --> n3
    n2 --> n3
    n3 --> stop
"#;
    assert_eq!(draw(&desk, &[]).stdout, expected);
    assert_eq!(draw(&desk, &["--format", "mermaid"]).stdout, expected);
    assert_eq!(desk.rag(&["graph", "."]).stdout, expected);
    assert!(desk.files() == before, "a drawing writes nothing");
}

#[test]
fn dot_is_drawn() {
    let expected = r#"digraph "support" {
    start [label="START", shape=oval];
    n0 [label="triage", shape=box];
    n1 [label="refunds", shape=box];
    n2 [label="carrier", shape=box];
    n3 [label="reply", shape=box];
    stop [label="END", shape=oval];
    start -> n0;
    n0 -> n1 [label="refund"];
    n0 -> n2 [label="refund"];
    n0 -> n3 [label="other"];
    n1 -> n3;
    n2 -> n3;
    n3 -> stop;
}
"#;
    assert_eq!(draw(&Desk::new(), &["--format", "dot"]).stdout, expected);
}

#[test]
fn the_json_is_one_object() {
    let desk = Desk::new();
    let expected = json!({
        "schema": "rag.graph/1",
        "name": "support",
        "channels": [
            {"name": "messages", "reducer": "messages"},
            {"name": "topic", "reducer": "overwrite"},
        ],
        "nodes": [
            {"name": "triage"}, {"name": "refunds"}, {"name": "carrier"}, {"name": "reply"},
        ],
        "edges": [
            {"from": "START", "to": "triage", "label": null},
            {"from": "triage", "to": "refunds", "label": "refund"},
            {"from": "triage", "to": "carrier", "label": "refund"},
            {"from": "triage", "to": "reply", "label": "other"},
            {"from": "refunds", "to": "reply", "label": null},
            {"from": "carrier", "to": "reply", "label": null},
            {"from": "reply", "to": "END", "label": null},
        ],
    });
    for options in [
        &["--format", "json"][..],
        &["--json"],
        &["--json", "--format", "json"],
    ] {
        assert_eq!(draw(&desk, options).json(), expected);
    }
}

#[test]
fn a_plan_with_errors_is_refused_as_for_a_run() {
    let desk = Desk::new();
    desk.edit("support.rag", "other -> reply", "other -> repy");
    for format in ["mermaid", "json", "dot"] {
        let said = desk.rag(&["graph", "support.rag", "--format", format]);
        assert_eq!((said.status, &*said.stdout), (Some(2), ""), "{said:?}");
        let first = "support.rag:14:16: error[RAG0104]: unknown node `repy`";
        assert!(said.stderr.starts_with(first), "{said:?}");
    }
    let said = desk.rag(&["graph", "support.rag", "--json"]);
    assert_eq!((said.status, &*said.stderr), (Some(2), ""), "{said:?}");
    assert_eq!(said.code(), "RAG0104");
    assert_eq!(said.json()["error"]["place"], "support.rag:14:16");
}

#[test]
fn a_warning_stops_no_drawing() {
    let desk = Desk::new();
    let lost = "node lost { kind interrupt  prompt \"?\"  next END }\n  node reply {";
    desk.edit("support.rag", "node reply {", lost);
    let said = draw(&desk, &[]);
    assert!(said.stdout.contains("n3[\"lost\"]"), "{said:?}");
}

#[test]
fn what_cannot_be_drawn_is_a_mistake() {
    let desk = Desk::new();
    for (arguments, says) in [
        (&["graph"][..], "<TARGET>"),
        (&["graph", "nowhere.rag"], "error[RAG0002]"),
        (&["graph", ".", "--format", "svg"], "mermaid, json, dot"),
        (
            &["graph", ".", "--format", "dot", "--json"],
            "error\":{\"code\":\"RAG0001\"",
        ),
    ] {
        let said = desk.rag(arguments);
        assert_eq!(said.status, Some(2), "{said:?}");
        let told = said.stdout.clone() + &said.stderr;
        assert!(told.contains(says), "no `{says}` in {said:?}");
    }
    let said = desk.rag(&["graph", ".", "--format", "svg", "--json"]);
    assert_eq!(
        (said.status, &*said.code()),
        (Some(2), "RAG0001"),
        "{said:?}"
    );
}
