//! The canonical blueprint.

use rustagents_core::{Code, Coded as _};
use rustagents_lang::{Blueprint, BlueprintError, Target, Way, compile};

use crate::{SUPPORT, capabilities};

fn support() -> Blueprint {
    let compiled = compile(SUPPORT, &capabilities());
    assert_eq!(compiled.diagnostics, []);
    compiled.blueprint.unwrap()
}

/// A stored blueprint must be readable by every later version.
#[test]
fn the_canonical_text_never_changes() {
    let source = r#"graph g {
        defaults { recursion_limit 20 }
        channel log append
        start a
        node a { kind agent  model "default"  prompt "Hi."  tools ["refund"]  output log }
        a -> b
        node b { kind interrupt  prompt "Sure?"  routes { yes -> END  no -> a, b } }
    }"#;
    let blueprint = compile(source, &capabilities()).blueprint.unwrap();
    let expected = concat!(
        r#"{"channels":[{"name":"log","reducer":"append"}],"name":"g","nodes":["#,
        r#"{"kind":{"agent":{"model":"default","output":"log","prompt":"Hi.","tools":["refund"]}},"#,
        r#""name":"a","way":{"next":["b"]}},"#,
        r#"{"kind":{"interrupt":{"prompt":"Sure?"}},"name":"b","way":{"routes":["#,
        r#"{"label":"yes","targets":["END"]},{"label":"no","targets":["a","b"]}]}}],"#,
        r#""recursion_limit":20,"start":["a"],"version":1}"#,
    );
    assert_eq!(blueprint.canonical(), expected);
    assert_eq!(Blueprint::from_canonical(expected).unwrap(), blueprint);
}

#[test]
fn a_blueprint_keeps_the_order_of_declaration() {
    let blueprint = support();
    let names: Vec<_> = blueprint.nodes.iter().map(|node| &node.name).collect();
    assert_eq!(names, ["triage", "refunds", "carrier", "reply"]);
    assert_eq!(blueprint.messages_channel(), Some("messages"));
    let Way::Routes(routes) = &blueprint.nodes[0].way else {
        panic!("triage has routes")
    };
    assert_eq!(
        routes[0].targets,
        [Target::from("refunds"), Target::from("carrier")]
    );
    assert_eq!(blueprint.nodes[3].way, Way::Next(vec![Target::End]));
}

#[test]
fn an_edge_means_the_same_as_next() {
    let edges = SUPPORT.replacen("next reply", "", 2).replacen(
        "  start",
        "  refunds -> reply\n  carrier -> reply\n  start",
        1,
    );
    let compiled = compile(&edges, &capabilities());
    assert_eq!(compiled.diagnostics, []);
    assert_eq!(compiled.blueprint.unwrap().digest(), support().digest());
}

#[test]
fn what_changes_the_meaning_changes_the_digest() {
    let digest = support().digest();
    for (before, after) in [
        ("recursion_limit 20", "recursion_limit 21"),
        ("graph support", "graph helpdesk"),
        ("Refund clerk.", "Refund clerk!"),
        ("refunds, carrier", "carrier, refunds"),
        ("topic overwrite", "topic append"),
        ("refund -> refunds", "money -> refunds"),
    ] {
        let source = SUPPORT.replacen(before, after, 1);
        let blueprint = compile(&source, &capabilities()).blueprint.unwrap();
        assert_ne!(blueprint.digest(), digest, "{after}");
    }
}

#[test]
fn a_text_that_is_no_blueprint_is_refused() {
    let text = support().canonical();
    let refused = |before: &str, after: &str| {
        let changed = text.replacen(before, after, 1);
        assert_ne!(changed, text, "{before} is in the text");
        Blueprint::from_canonical(&changed).unwrap_err()
    };

    let newer = refused("\"version\":1", "\"version\":2");
    assert_eq!(
        newer.to_string(),
        "the blueprint has version 2, newer than 1"
    );
    assert_eq!(newer.code(), Code::StoreNewer);
    // A newer one is recognised as such whatever else is in it.
    assert!(matches!(
        Blueprint::from_canonical(r#"{"version":7,"shape":"other"}"#),
        Err(BlueprintError::Newer { found: 7 })
    ));

    for (before, after) in [
        ("\"version\":1", "\"version\":0"),
        ("\"version\":1", "\"version\":\"1\""),
        (",\"version\":1", ""),
    ] {
        assert!(matches!(refused(before, after), BlueprintError::NoVersion));
    }
    for (before, after) in [
        ("\"name\":\"support\",", ""),
        ("\"name\":\"support\"", "\"name\":\"support\",\"more\":1"),
        ("\"reducer\":\"messages\"", "\"reducer\":\"other\""),
        ("\"tools\":[]", "\"tools\":[],\"more\":1"),
        ("{\"agent\":", "{\"workflow\":"),
    ] {
        let error = refused(before, after);
        assert!(matches!(error, BlueprintError::Shape(_)), "{after}");
        assert_eq!(error.code(), Code::StoreCorrupt);
    }
    assert!(matches!(refused("}", ""), BlueprintError::Json(_)));
    assert!(matches!(
        refused("\"version\":1", "\"version\":1,\"version\":1"),
        BlueprintError::Json(_)
    ));
}
