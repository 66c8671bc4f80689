use rustagents_graph::{GraphTopology, Reducer, TopologyChannel};
use serde_json::json;

use super::bench::{nested, shape};

fn lines(old: &GraphTopology, new: &GraphTopology) -> String {
    old.diff(new).to_string()
}

#[test]
fn each_change_is_a_line() {
    let mut old = shape(&[
        "START a", "START b", "a b", "a x c", "a z b", "b END", "c END",
    ]);
    let mut new = shape(&[
        "START a", "START !c", "a b", "a y c", "c d", "d ~ END", "c END",
    ]);
    new.name = "h".to_owned();
    let channel = TopologyChannel::new;
    old.channels = vec![
        channel("k", Reducer::Append),
        channel("old", Reducer::Append),
    ];
    new.channels = vec![
        channel("k", Reducer::Messages),
        channel("new", Reducer::Overwrite),
    ];
    new.nodes[0].kind = Some("agent".to_owned());
    old.nodes[1].keeps_state = true;
    old.nodes[0].metadata = [("k".to_owned(), json!(1)), ("l".to_owned(), json!(1))].into();
    new.nodes[0].metadata = [("k".to_owned(), json!(1))].into();
    let old = nested(old, "b", shape(&["START x", "x END"]));
    let new = nested(new, "b", shape(&["START x", "x r END"]));
    let expected = "\
graph renamed: `g` is now `h`
channel changed: `k`: was append, is messages
channel added: `new`, overwrite
channel removed: `old`, append
node added: `d`
node changed: `a`: kind was none, is `agent`
node changed: `a`: metadata `l`
node changed: `b`: does not keep the state of its graph any more
in `b`: edge changed: `x` -> `END`: was direct, is route `r`
node changed: `c`: is deferred now
start removed: `b`
start added: `c`
edge removed: `a` -> `b`, route `z`
edge changed: `a` -> `c`: was route `x`, is route `y`
edge removed: `b` -> `END`
edge added: `c` -> `d`
edge added: `d` -> `END`, command
";
    assert_eq!(lines(&old, &new), expected);
    assert!(old.diff(&old).is_empty());
}

#[test]
fn the_changes_are_data() {
    let old = nested(shape(&["START a", "a END"]), "a", shape(&["START x"]));
    let new = nested(
        shape(&["START a", "a END"]),
        "a",
        shape(&["START x", "x x"]),
    );
    let expected = json!({"changes": [{
        "change": "subgraph_changed",
        "node": "a",
        "diff": {"changes": [{
            "change": "edge_added",
            "edge": {"from": "x", "to": "x", "label": null},
        }]},
    }]});
    assert_eq!(json!(old.diff(&new)), expected);
}

#[test]
fn a_subgraph_comes_and_goes() {
    let plain = shape(&["START a", "a END"]);
    let with = nested(plain.clone(), "a", shape(&["START x"]));
    assert_eq!(
        lines(&plain, &with),
        "node changed: `a`: runs a graph now\n"
    );
    assert_eq!(
        lines(&with, &plain),
        "node changed: `a`: runs no graph any more\n"
    );
}

#[test]
fn a_node_in_the_same_place_is_probably_renamed() {
    let old = shape(&["START a", "a x b", "b b", "b+a c", "c END"]);
    let new = shape(&["START a", "a x !twin", "twin twin", "twin+a c", "c END"]);
    let expected = "\
node probably renamed: `b` is now `twin`
node changed: `twin`: is deferred now
";
    assert_eq!(lines(&old, &new), expected);
}

#[test]
fn an_uncertain_rename_is_none() {
    let ways = |one: &str, other: &str| {
        let ways = [
            format!("START {one}"),
            format!("START {other}"),
            format!("{one} END"),
            format!("{other} END"),
        ];
        shape(&ways.each_ref().map(String::as_str))
    };
    let text = lines(&ways("a", "b"), &ways("c", "d"));
    assert!(
        text.contains("node removed: `a`\nnode removed: `b`\nnode added: `c`"),
        "{text}"
    );
    let mut old = shape(&["START a"]);
    let mut new = old.clone();
    old.nodes.extend(shape(&["lone lone"]).nodes);
    new.nodes.extend(shape(&["single single"]).nodes);
    assert_eq!(
        lines(&old, &new),
        "node removed: `lone`\nnode added: `single`\n"
    );
}

#[test]
fn a_join_is_its_sources_and_not_its_name() {
    let old = shape(&["START a", "START b", "START c", "a+b d", "b+c d", "d END"]);
    let new = shape(&["b+c d", "a+b d", "START a", "START b", "START c", "d END"]);
    assert_eq!(lines(&old, &new), "");
    let wider = shape(&["a+b+c d", "b+c d", "START a", "START b", "START c", "d END"]);
    assert_eq!(lines(&old, &wider), "edge added: `c` -> `d`, join\n");
    let loose = shape(&[
        "START a", "START b", "START c", "a d", "b d", "b+c d", "d END",
    ]);
    let expected = "\
edge changed: `a` -> `d`: was join, is direct
edge changed: `b` -> `d`: was join, is direct
";
    assert_eq!(lines(&old, &loose), expected);
}

#[test]
fn an_edge_that_is_there_twice_is_one_more() {
    let once = shape(&["START a", "a END"]);
    let twice = shape(&["START a", "a END", "a END"]);
    assert_eq!(lines(&once, &twice), "edge added: `a` -> `END`\n");
}

#[test]
fn a_name_stays_on_its_line() {
    let mut new = shape(&["START a"]);
    new.nodes[0].name = "a\nb\u{1b}".to_owned();
    new.edges.clear();
    let text = lines(&GraphTopology::new("g"), &new);
    assert_eq!(text, "node added: `a\\u{a}b\\u{1b}`\n");
}
