use std::{sync::Arc, time::Duration};

use rustagents_graph::{
    END, Graph, GraphBuilder, GraphTopology, MemoryCache, NodeSpec, Reducer, RetryPolicy, Timeout,
};
use serde_json::{Value, json};

use super::nodes;

/// A graph whose node `pay` is run as `spec` says.
fn paying(spec: NodeSpec) -> Graph {
    nodes(GraphBuilder::new("g"), &["pay", "plain"])
        .spec("pay", spec)
        .group("few", 2)
        .group("many", 9)
        .start(["pay"])
        .sequence(["pay", "plain", END])
        .compile()
        .unwrap()
}

/// All that a specification can say here.
fn full() -> NodeSpec {
    let time = Timeout::run(Duration::from_secs(30)).and(Timeout::idle(Duration::from_secs(5)));
    NodeSpec::new()
        .retry(RetryPolicy::new())
        .timeout(time)
        .group("few")
        .optional()
        .ask_before()
        .ask_after()
}

fn lines(old: &Graph, new: &Graph) -> String {
    let (old, new) = (old.topology(), new.topology());
    assert_eq!(old.diff(new).is_empty(), old == new);
    old.diff(new).to_string()
}

#[test]
fn how_a_node_is_run_stands_in_the_document_and_is_read_again() {
    let graph = paying(full());
    let shape = graph.topology();
    let node = &json!(shape.document())["nodes"][0];
    let expected = json!({
        "tries": 3, "run_timeout_ms": 30_000, "idle_timeout_ms": 5_000, "group": "few",
        "optional": true, "ask_before": true, "ask_after": true,
    });
    assert_eq!(node["policies"], expected);
    let plain = json!({ "name": "plain", "kind": "function" });
    assert_eq!(json!(shape.document())["nodes"][1], plain);
    let read = GraphTopology::from_json(shape.to_json().as_bytes());
    assert_eq!(read.unwrap(), *shape);
    let text = "node pay kind=function ask_after ask_before group=few \
                idle_timeout_ms=5000 optional run_timeout_ms=30000 tries=3\n";
    assert!(shape.to_text().contains(text), "{}", shape.to_text());
}

#[test]
fn a_removed_approval_and_each_other_policy_is_a_change() {
    let asking = || NodeSpec::new().ask_before();
    let pay = |what: &str| format!("node changed: `pay`: {what}\n");
    for (old, new, expected) in [
        (asking(), NodeSpec::new(), "ask_before is gone"),
        (NodeSpec::new(), asking(), "ask_before is new"),
        (
            asking(),
            NodeSpec::new().ask_after(),
            "ask_before is gone; ask_after is new",
        ),
        (
            NodeSpec::new().retry(RetryPolicy::new().tries(2)),
            NodeSpec::new().retry(RetryPolicy::new()),
            "tries was 2, is 3",
        ),
        (
            NodeSpec::new().timeout(Timeout::run(Duration::from_secs(1))),
            NodeSpec::new().timeout(Timeout::idle(Duration::from_secs(1))),
            "run_timeout_ms 1000 is gone; idle_timeout_ms 1000 is new",
        ),
        (
            NodeSpec::new().group("few"),
            NodeSpec::new().group("many"),
            "group was `few`, is `many`",
        ),
        (
            full(),
            NodeSpec::new().group("few"),
            "ask_after is gone; ask_before is gone; idle_timeout_ms 5000 is gone; \
             optional is gone; run_timeout_ms 30000 is gone; tries 3 is gone",
        ),
    ] {
        assert_eq!(lines(&paying(old), &paying(new)), pay(expected));
    }
    let one_try = NodeSpec::new().retry(RetryPolicy::new().tries(1));
    assert_eq!(lines(&paying(one_try), &paying(NodeSpec::new())), "");
    let changes = paying(asking())
        .topology()
        .diff(paying(NodeSpec::new()).topology());
    assert_eq!(
        json!(changes),
        json!({ "changes": [{
            "change": "policies_changed", "node": "pay",
            "old": { "ask_before": true }, "new": {},
        }] })
    );
}

#[test]
fn what_the_defaults_say_and_a_cache_stand_with_each_node() {
    let cached = |is_cached| {
        let builder = nodes(GraphBuilder::new("g"), &["a"])
            .defaults(NodeSpec::new().ask_before())
            .start(["a"])
            .finish("a");
        let builder = if is_cached {
            builder.cached("a", Arc::new(MemoryCache::new(1)), None, |_, _| None)
        } else {
            builder
        };
        builder.compile().unwrap()
    };
    let policies =
        |graph: &Graph| json!(graph.topology().document())["nodes"][0]["policies"].clone();
    assert_eq!(
        policies(&cached(true)),
        json!({ "cached": true, "ask_before": true })
    );
    assert_eq!(
        lines(&cached(true), &cached(false)),
        "node changed: `a`: cached is gone\n"
    );
}

/// A graph with a barrier for `awaited`.
fn gated(awaited: &[&'static str]) -> Graph {
    nodes(GraphBuilder::new("g"), &["a"])
        .channel("topic", Reducer::Overwrite)
        .barrier("gate", awaited.iter().copied())
        .start(["a"])
        .finish("a")
        .compile()
        .unwrap()
}

#[test]
fn the_names_of_a_barrier_stand_in_the_shape_and_a_change_of_them_is_told() {
    let graph = gated(&["south", "north"]);
    let channels = json!(graph.topology().document())["channels"].clone();
    assert_eq!(
        channels,
        json!([
            { "name": "topic", "reducer": "overwrite" },
            { "name": "gate", "reducer": "barrier", "awaited": ["north", "south"] },
        ])
    );
    let text = graph.topology().to_text();
    assert!(
        text.contains("channel gate barrier north + south\n"),
        "{text}"
    );
    assert_eq!(
        lines(&graph, &gated(&["south", "west"])),
        "channel changed: `gate`: waited for `north`, `south`, waits for `south`, `west`\n"
    );
    assert_eq!(lines(&graph, &gated(&["north", "south"])), "");
    let none = GraphTopology::new("g");
    let mut one = none.clone();
    one.channels
        .extend(graph.topology().channels.last().cloned());
    assert_eq!(
        none.diff(&one).to_string(),
        "channel added: `gate`, barrier of `north`, `south`\n"
    );
    let read = GraphTopology::from_json(
        br#"{"schema":"rag.graph/1","name":"g","channels":[{"name":"gate","reducer":"barrier","awaited":["south","north","south"]}]}"#,
    );
    assert_eq!(read.unwrap(), one);
}

#[test]
fn a_document_of_an_earlier_version_is_read_without_policies_and_names() {
    let old: Value = json!({
        "schema": "rag.graph/1",
        "name": "g",
        "channels": [{ "name": "gate", "reducer": "barrier" }],
        "nodes": [{ "name": "a", "kind": "function" }],
        "edges": [],
    });
    let read = GraphTopology::from_json(old.to_string().as_bytes()).unwrap();
    assert!(read.nodes[0].policies.is_empty());
    assert_eq!(json!(read.document()), old);
    assert_eq!(
        read.diff(&{
            let mut new = read.clone();
            new.channels[0].awaited.push("north".to_owned());
            new
        })
        .to_string(),
        "channel changed: `gate`: waited for nobody, waits for `north`\n"
    );
}
