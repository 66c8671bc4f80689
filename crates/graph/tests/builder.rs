use std::{collections::BTreeSet, sync::Arc};

use rustagents_core::code::Coded;
use rustagents_graph::{
    END, Graph, GraphBuilder, GraphFault, GraphFaults, MemoryCache, NodeOutput, NodeSpec, Outcome,
    Reducer, RetryPolicy, START, State, Update, Writes, node_fn,
};
use serde_json::Value;
use tokio::sync::Barrier;

use crate::{bench::Bench, steps::seen};

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

/// Passes on what it was given once both runs are in its middle, so that neither can
/// end before the other has begun.
fn meeting(both: &Arc<Barrier>) -> Graph {
    let both = Arc::clone(both);
    GraphBuilder::new("g")
        .channel("word", Reducer::Overwrite)
        .channel("seen", Reducer::Append)
        .function("meet", move |state: Arc<State>, _| {
            let both = Arc::clone(&both);
            async move {
                both.wait().await;
                let word = state.value("word").cloned().unwrap_or_default();
                Ok(NodeOutput::new().write("seen", Update::Value(word)))
            }
        })
        .start(["meet"])
        .branch(
            "meet",
            |state: &State| state.list("seen").len() < 3,
            [(true, "meet"), (false, END)],
        )
        .compile()
        .unwrap()
}

/// Runs `graph` on a thread of the machine and on a journal, both its own.
fn run_alone(graph: &Graph, word: &'static str) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let end = runtime.unwrap().block_on(async {
        let input = |_: &_| {
            let mut input = Writes::new();
            input.push("word", Update::Value(word.into()));
            input
        };
        Bench::new().attempt_on(graph, input).await.unwrap()
    });
    assert!(matches!(end.outcome, Outcome::Completed), "{end:?}");
    seen(&end.state)
}

#[test]
fn one_compiled_graph_runs_on_two_threads_at_once_and_each_run_has_its_own_end() {
    let both = Arc::new(Barrier::new(2));
    let graph = meeting(&both);
    let (left, right) = std::thread::scope(|scope| {
        let left = scope.spawn(|| run_alone(&graph, "left"));
        let right = scope.spawn(|| run_alone(&graph, "right"));
        (left.join().unwrap(), right.join().unwrap())
    });
    assert_eq!(left, ["left"; 3]);
    assert_eq!(right, ["right"; 3]);
}

#[test]
fn a_start_at_the_end_needs_no_node() {
    assert!(GraphBuilder::new("g").start([END]).compile().is_ok());
    let faults = GraphBuilder::new("g").compile().unwrap_err();
    assert_eq!(faults.0, [GraphFault::NoStart]);
}

/// A graph of one node without a way on.
fn one() -> GraphBuilder {
    noop(GraphBuilder::new("g"), "a").start(["a"])
}

/// What is wrong with a graph, each fault in its own words.
fn told(builder: GraphBuilder) -> Vec<String> {
    let GraphFaults(faults) = builder.compile().unwrap_err();
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn each_way_to_a_node_that_is_not_there_is_told() {
    let ghost = "`a` leads to `ghost`, which does not exist";
    for (way, builder) in [
        ("a route", one().route("a", "x", ["ghost"])),
        ("a branch", one().branch("a", |_| "x", [("x", "ghost")])),
        ("commands", one().commands("a", ["ghost"])),
        ("a join", one().join(["a"], "ghost")),
        (
            "a handler",
            one()
                .finish("a")
                .spec("a", NodeSpec::new().on_error("ghost")),
        ),
    ] {
        assert_eq!(told(builder), [ghost], "{way}");
    }
    assert_eq!(
        told(one().finish("a").start(["ghost"])),
        ["`START` leads to `ghost`, which does not exist"]
    );
    assert_eq!(
        told(
            one()
                .finish("a")
                .defaults(NodeSpec::new().on_error("ghost"))
        ),
        ["`the defaults` leads to `ghost`, which does not exist"]
    );
}

#[test]
fn what_begins_or_ends_at_no_node_is_told() {
    let end = "an edge starts at `END`, which is behind all nodes";
    let start = "an edge, a route, commands or a join start at `START`, for which there are \
                 `start` and `start_branch`";
    let to_start = "`a` leads to `START`, which is before all nodes";
    let done = || one().finish("a");
    for (what, builder, expected) in [
        ("an edge to it", one().edge("a", START), to_start),
        ("a route to it", one().route("a", "x", [START]), to_start),
        ("a join to it", one().join(["a"], START), to_start),
        ("an edge from it", done().edge(START, "a"), start),
        ("a route from it", done().route(START, "x", ["a"]), start),
        ("commands from it", done().commands(START, ["a"]), start),
        ("a join from it", done().join([START], "a"), start),
        ("an edge from the end", done().edge(END, "a"), end),
        ("a route from the end", done().route(END, "x", ["a"]), end),
        ("a join from the end", done().join([END], "a"), end),
        (
            "a branch from the end",
            done().branch(END, |_| "x", [("x", "a")]),
            end,
        ),
    ] {
        assert_eq!(told(builder), [expected], "{what}");
    }
    let cache = Arc::new(MemoryCache::new(1));
    let unknown = done()
        .spec("ghost", NodeSpec::new())
        .cached("spectre", cache, None, |_, _| None);
    assert_eq!(
        told(unknown),
        [
            "a specification is of `ghost`, which does not exist",
            "a cache is of `spectre`, which does not exist",
        ]
    );
}

#[test]
fn what_is_said_twice_is_told() {
    let cache = || Arc::new(MemoryCache::new(1));
    let builder = one()
        .finish("a")
        .spec("a", NodeSpec::new().ask_before())
        .spec("a", NodeSpec::new().retry(RetryPolicy::new()))
        .cached("a", cache(), None, |_, _| None)
        .cached("a", cache(), None, |_, _| None)
        .group("few", 1)
        .group("few", 2)
        .defaults(NodeSpec::new().ask_before())
        .defaults(NodeSpec::new())
        .recursion_limit(0);
    assert_eq!(
        told(builder),
        [
            "there are two specifications of `a`",
            "`a` is cached twice",
            "there are two groups `few`",
            "there are two defaults",
            "the recursion limit is 0",
        ]
    );
}

#[test]
fn each_fault_of_a_specification_is_told() {
    let with = |spec| one().finish("a").spec("a", spec);
    for (builder, expected) in [
        (
            with(NodeSpec::new().group("few")),
            "`a` is in group `few`, which does not exist",
        ),
        (
            with(NodeSpec::new().retry(RetryPolicy::new().tries(0))),
            "`a` has a retry policy without any try",
        ),
        (
            one()
                .commands("a", [END])
                .spec("a", NodeSpec::new().optional()),
            "`a` is optional, and chooses its way, which nobody would choose after a failure",
        ),
        (
            one()
                .route("a", "x", [END])
                .spec("a", NodeSpec::new().optional()),
            "`a` is optional, and chooses its way, which nobody would choose after a failure",
        ),
        (
            with(NodeSpec::new().on_error("a")),
            "`a` is its own error handler",
        ),
        (
            one()
                .finish("a")
                .defaults(NodeSpec::new().deferred().ask_before()),
            "the defaults say `deferred`, which each node has to say for itself",
        ),
        (
            one().finish("a").defaults(NodeSpec::new().keep_state()),
            "the defaults say `keep_state`, which each node has to say for itself",
        ),
        (
            one()
                .route("a", "x", [END])
                .defaults(NodeSpec::new().optional()),
            "`a` is optional, and chooses its way, which nobody would choose after a failure",
        ),
        (
            one().finish("a").join([""; 0], "a"),
            "a join to `a` has no sources",
        ),
        (
            one().finish("a").max_concurrency(0),
            "the most tasks at the same time are 0",
        ),
        (
            one().finish("a").group("few", 0),
            "the most tasks at the same time in group `few` are 0",
        ),
    ] {
        assert_eq!(told(builder), [expected]);
    }
}

/// A graph inside, with a channel beside `c`.
fn inside(channel: &'static str) -> Graph {
    noop(GraphBuilder::new("inside"), "in")
        .channel("c", Reducer::Append)
        .channel(channel, Reducer::Append)
        .start(["in"])
        .finish("in")
        .compile()
        .unwrap()
}

#[test]
fn a_node_keeps_only_the_state_of_a_graph_that_has_one_and_runs() {
    let keep = || NodeSpec::new().keep_state();
    let around = || {
        GraphBuilder::new("g")
            .channel("c", Reducer::Append)
            .channel("d", Reducer::Append)
            .start(["sub"])
            .finish("sub")
            .spec("sub", keep())
    };
    let adapted = || {
        let nothing = |_: &_, _: &_| Writes::new();
        around().adapted("sub", inside("d"), nothing, |_| Writes::new())
    };
    assert!(around().subgraph("sub", inside("own")).compile().is_ok());
    assert!(adapted().compile().is_ok());
    let holds_none = "`sub` keeps the state of its graph, and holds none";
    assert_eq!(told(noop(around(), "sub")), [holds_none]);
    assert_eq!(
        told(around().subgraph("sub", inside("d"))),
        ["`sub` keeps what is its graph's own, and all channels of that are those around it"]
    );
    let cache = Arc::new(MemoryCache::new(1));
    assert_eq!(
        told(adapted().cached("sub", cache, None, |_, _| None)),
        ["`sub` keeps the state of its graph, and is cached, so that it may not run"]
    );
}

#[test]
fn a_graph_without_a_channel_of_its_own_is_kept_for_what_it_keeps() {
    let keep = || NodeSpec::new().keep_state();
    let middle = GraphBuilder::new("middle")
        .channel("c", Reducer::Append)
        .subgraph("in", inside("own"))
        .spec("in", keep())
        .start(["in"])
        .finish("in")
        .compile()
        .unwrap();
    let graph = GraphBuilder::new("g")
        .channel("c", Reducer::Append)
        .subgraph("sub", middle)
        .spec("sub", keep())
        .start(["sub"])
        .finish("sub");
    assert!(graph.compile().is_ok());
}

/// The codes as they are written: a list of them could lack one.
fn codes() -> Vec<&'static str> {
    let source = include_str!("../src/builder/fault.rs");
    let (_, code) = source.split_once("pub const fn code").unwrap();
    let (code, _) = code.split_once("\n    }\n").unwrap();
    let lines = code
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Self::"));
    let codes = lines.map(|line| line.split('"').nth(1).unwrap());
    codes.collect()
}

#[test]
fn each_fault_has_a_code_of_its_own_which_the_page_tells() {
    let page = include_str!("../../../docs/reference/errors/RAG0803.md");
    let told: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(code, _)| code)
        .collect();
    assert!(told.len() > 30, "{told:?}");
    assert_eq!(told, codes());
    let distinct: BTreeSet<_> = told.iter().collect();
    assert_eq!(distinct.len(), told.len());
}

#[test]
fn the_report_has_the_code_of_each_fault() {
    let faults = GraphFaults(vec![
        GraphFault::NoStart,
        GraphFault::NoWayOn { node: "a".into() },
    ]);
    assert_eq!(
        faults.to_string(),
        "the graph has no start (no-start); `a` has no way on (no-way-on)"
    );
}
