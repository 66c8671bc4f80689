//! `rag graph`: the shape of a plan, as a drawing or as data; its check, and what
//! changed.

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
            {"name": "triage", "kind": "agent"}, {"name": "refunds", "kind": "agent"},
            {"name": "carrier", "kind": "agent"}, {"name": "reply", "kind": "agent"},
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
    for format in ["mermaid", "json", "dot", "text"] {
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
        (&["graph", "nowhere.json"], "error[RAG0002]"),
        (
            &["graph", ".", "--format", "dot", "--check"],
            "cannot be used with",
        ),
        (
            &["graph", ".", "--check", "--diff", "."],
            "cannot be used with",
        ),
        (
            &["graph", ".", "--format", "text", "--diff", "."],
            "cannot be used with",
        ),
        (&["graph", ".", "--diff", "nowhere.rag"], "error[RAG0002]"),
        (
            &["graph", ".", "--format", "svg"],
            "mermaid, json, dot, text",
        ),
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

#[test]
fn the_text_has_a_line_for_each_fact() {
    let expected = "\
graph support
channel messages messages
channel topic overwrite
node carrier kind=agent
node refunds kind=agent
node reply kind=agent
node triage kind=agent
edge START -> triage
edge carrier -> reply
edge refunds -> reply
edge reply -> END
edge triage -> carrier route=refund
edge triage -> refunds route=refund
edge triage -> reply route=other
";
    assert_eq!(draw(&Desk::new(), &["--format", "text"]).stdout, expected);
}

#[test]
fn a_document_is_drawn_as_the_plan_that_it_is_of() {
    let desk = Desk::new();
    desk.write("kept.json", &draw(&desk, &["--json"]).stdout);
    for format in ["mermaid", "json", "dot", "text"] {
        let said = desk.rag(&["graph", "kept.json", "--format", format]);
        assert_eq!(said.stdout, draw(&desk, &["--format", format]).stdout);
    }
}

#[test]
fn a_check_tells_what_cannot_work() {
    let desk = Desk::new();
    let said = desk.rag(&["graph", "support.rag", "--check"]);
    let clean = (Some(0), "", "graph checked, nothing found\n");
    assert_eq!((said.status, &*said.stdout, &*said.stderr), clean);
    let lost = "node lost { kind interrupt  prompt \"?\"  next lost }\n  node reply {";
    desk.edit("support.rag", "node reply {", lost);
    let said = desk.rag(&["graph", "support.rag", "--check"]);
    let expected = "warning[unreachable_node]: `lost` can never run\n\
                    hint: lead an edge, a route or a command to it, or remove it\n";
    let told = (Some(1), expected, "");
    assert_eq!((said.status, &*said.stdout, &*said.stderr), told);
    let said = desk.rag(&["graph", "support.rag", "--check", "--json"]);
    let expected = json!({
        "schema": "rag.graph-check/1",
        "findings": [{
            "kind": "unreachable_node",
            "severity": "warning",
            "graph": [],
            "nodes": ["lost"],
            "message": "`lost` can never run",
            "hint": "lead an edge, a route or a command to it, or remove it",
        }],
    });
    assert_eq!((said.status, said.json()), (Some(1), expected));
}

#[test]
fn a_diff_tells_what_changed_since_a_document_or_a_plan() {
    let desk = Desk::new();
    desk.write("kept.json", &draw(&desk, &["--json"]).stdout);
    let plan = std::fs::read(desk.path().join("support.rag")).unwrap();
    desk.write("kept.rag", plan);
    let said = desk.rag(&["graph", "support.rag", "--diff", "kept.json"]);
    let same = (Some(0), "", "graphs compared, nothing changed\n");
    assert_eq!((said.status, &*said.stdout, &*said.stderr), same);
    desk.edit("support.rag", "other -> reply", "other -> END");
    let expected = "edge added: `triage` -> `END`, route `other`\n\
                    edge removed: `triage` -> `reply`, route `other`\n";
    for old in ["kept.json", "kept.rag"] {
        let said = desk.rag(&["graph", "support.rag", "--diff", old]);
        let told = (Some(1), expected, "");
        assert_eq!((said.status, &*said.stdout, &*said.stderr), told);
    }
    let said = desk.rag(&["graph", "support.rag", "--diff", "kept.rag", "--json"]);
    let edge = |to| json!({"from": "triage", "to": to, "label": "other"});
    let expected = json!({
        "schema": "rag.graph-diff/1",
        "changes": [
            {"change": "edge_added", "edge": edge("END")},
            {"change": "edge_removed", "edge": edge("reply")},
        ],
    });
    assert_eq!((said.status, said.json()), (Some(1), expected));
}

#[test]
fn a_document_that_is_none_is_refused_with_its_place() {
    let desk = Desk::new();
    let edge = r#"{"from":"START","to":"repy"}"#;
    for (document, code, message) in [
        (
            format!(r#"{{"schema":"rag.graph/1","name":"g","edges":[{edge}]}}"#),
            "RAG0813",
            "edges[0].to: no edge can have an end at `repy`",
        ),
        (
            r#"{"schema":"rag.graph/9"}"#.to_owned(),
            "RAG0813",
            "`schema` is \"rag.graph/9\", not \"rag.graph/1\"",
        ),
        (
            " ".repeat((16 << 20) + 1),
            "RAG0309",
            "`old.json` has more than 16777216 bytes",
        ),
    ] {
        desk.write("old.json", &document);
        let said = desk.rag(&["graph", ".", "--diff", "old.json", "--json"]);
        assert_eq!((said.status, &*said.code()), (Some(2), code), "{said:?}");
        assert_eq!(said.json()["error"]["message"], message);
    }
}
