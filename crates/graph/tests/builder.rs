use rustagents_core::code::Coded;
use rustagents_graph::{END, GraphBuilder, GraphFault, NodeOutput, Reducer, node_fn};

fn noop(builder: GraphBuilder, name: &str) -> GraphBuilder {
    builder.node(name, node_fn(|_, _| async { Ok(NodeOutput::new()) }))
}

#[test]
fn every_fault_is_in_one_report() {
    let mut builder = GraphBuilder::new("g")
        .channel("c", Reducer::Append)
        .channel("c", Reducer::Overwrite)
        .barrier("gate", [""; 0])
        .recursion_limit(0)
        .edge("a", "nowhere")
        .edge("ghost", END)
        .edge("both", END)
        .route("both", "x", ["a"])
        .route("both", "x", ["a"]);
    for name in ["a", "a", "END", "stuck", "both"] {
        builder = noop(builder, name);
    }
    let faults = builder.compile().unwrap_err();
    assert_eq!(faults.code().as_str(), "RAG0803");
    let text = faults.to_string();
    for expected in [
        "there are two nodes `a`",
        "there are two channels `c`",
        "barrier `gate` waits for no names",
        "`END` cannot name a node",
        "the graph has no start",
        "the recursion limit is 0",
        "`a` leads to `nowhere`, which does not exist",
        "an edge starts at `ghost`, which does not exist",
        "route `x` of `both` is named twice or leads nowhere",
        "`stuck` has no way on",
        "`both` has several kinds of ways on",
    ] {
        assert!(
            text.contains(expected),
            "`{expected}` is missing in: {text}"
        );
    }
}

#[test]
fn a_compiled_graph_is_not_changed_by_its_builder() {
    let one = noop(GraphBuilder::new("g"), "a")
        .start(["a"])
        .edge("a", END)
        .compile()
        .unwrap();
    let again = one.clone();
    assert!(again.has_node(&"a".into()) && !again.has_node(&"b".into()));
}

#[test]
fn a_start_at_the_end_needs_no_node() {
    assert!(GraphBuilder::new("g").start([END]).compile().is_ok());
    let faults = GraphBuilder::new("g").compile().unwrap_err();
    assert_eq!(faults.0, [GraphFault::NoStart]);
}
