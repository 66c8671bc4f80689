//! What runs inside a node says for it that it is alive.

use std::time::Duration;

use rustagents_core::code::Code;
use rustagents_graph::{
    Graph, GraphBuilder, GraphEnd, MapReduce, NodeError, NodeOutput, NodeSpec, Outcome, Reducer,
    State, TaskContext, Timeout, Update, Writes, node_fn,
};
use serde_json::json;
use tokio::time::sleep;

use crate::bench::{Bench, failure};

/// How long a node may be without a sign of life.
const IDLE: Duration = Duration::from_secs(15);

/// How long something takes that is in time.
const SHORT: Duration = Duration::from_secs(10);

/// How long something takes that is not.
const LONG: Duration = Duration::from_secs(20);

fn builder(name: &str) -> GraphBuilder {
    GraphBuilder::new(name).channel("seen", Reducer::Append)
}

/// What a task does in the time after which the next one begins.
#[derive(Clone, Copy, Debug)]
enum Does {
    /// Nothing but that it takes its time.
    Ends,
    Beats,
    Tells,
    Steps,
    Maps,
}

const ALL: [Does; 5] = [
    Does::Ends,
    Does::Beats,
    Does::Tells,
    Does::Steps,
    Does::Maps,
];

/// Spends `time`, four times unless it is to end.
async fn busy(context: &TaskContext, does: Does, time: Duration) -> Result<(), NodeError> {
    let nap = move || async move {
        sleep(time).await;
        Ok::<_, NodeError>(())
    };
    match does {
        Does::Ends => sleep(time).await,
        Does::Beats => {
            for _ in 0..4 {
                sleep(time).await;
                context.heartbeat();
            }
        }
        Does::Tells => {
            for beat in 0..4 {
                sleep(time).await;
                context.tell(beat);
            }
        }
        Does::Steps => {
            for _ in 0..4 {
                context.step("nap", nap).await?;
            }
        }
        Does::Maps => {
            let one_by_one = MapReduce::new().concurrency(1);
            let items = context.map_reduce("nap", 0..4, one_by_one, move |_| nap());
            items.await?;
        }
    }
    Ok(())
}

/// A graph of four nodes in a row.
fn working(does: Does, time: Duration) -> Graph {
    let nodes = ["a", "b", "c", "d"];
    let graph = nodes.iter().fold(builder("inner"), |graph, name| {
        graph.function(name, move |_, context: TaskContext| async move {
            busy(&context, does, time).await?;
            Ok(NodeOutput::new().write("seen", Update::Value(json!(context.node().as_str()))))
        })
    });
    graph
        .start(["a"])
        .sequence(nodes)
        .finish("d")
        .compile()
        .unwrap()
}

fn called(graph: Graph) -> impl rustagents_graph::Node {
    node_fn(move |_, context: TaskContext| {
        let graph = graph.clone();
        async move {
            context.run_graph("in", &graph, Writes::new()).await?;
            Ok(NodeOutput::new())
        }
    })
}

/// The ways in which a node holds a graph.
const HOLDS: [&str; 4] = ["shared", "adapted", "called", "deep"];

/// A graph whose node `x` holds `child`, and may not be idle for too long.
fn around(holds: &str, child: Graph) -> Graph {
    let graph = builder("g");
    let graph = match holds {
        "shared" => graph.subgraph("x", child),
        "adapted" => graph.adapted(
            "x",
            child,
            |_: &State, _: &TaskContext| Writes::new(),
            |_: &State| Writes::new(),
        ),
        "called" => graph.node("x", called(child)),
        _ => {
            let deep = builder("deep").node("called", called(child));
            let deep = deep.start(["called"]).finish("called").compile().unwrap();
            graph.subgraph("x", deep)
        }
    };
    timed(graph)
}

fn timed(graph: GraphBuilder) -> Graph {
    graph
        .spec("x", NodeSpec::new().timeout(Timeout::idle(IDLE)))
        .start(["x"])
        .finish("x")
        .compile()
        .unwrap()
}

async fn end_of(graph: &Graph) -> GraphEnd {
    Bench::new().attempt(graph).await.unwrap()
}

fn check_cut(what: &str, end: &GraphEnd) {
    assert_eq!(
        failure(end),
        format!(
            "x {}: the node was idle for more than 15000 ms",
            Code::NodeTimeout
        ),
        "{what}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_graph_inside_does_is_a_sign_of_life_of_its_node() {
    for holds in HOLDS {
        for does in ALL {
            let end = end_of(&around(holds, working(does, SHORT))).await;
            let what = format!("{holds} {does:?}: {:?}", end.outcome);
            assert!(matches!(end.outcome, Outcome::Completed), "{what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_in_whose_graph_nothing_happens_is_idle() {
    for holds in HOLDS {
        for does in ALL {
            let end = end_of(&around(holds, working(does, LONG))).await;
            check_cut(&format!("{holds} {does:?}"), &end);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_item_that_ends_is_a_sign_of_life() {
    let mapping = |time| {
        let graph = builder("g").function("x", move |_, context: TaskContext| async move {
            busy(&context, Does::Maps, time).await?;
            Ok(NodeOutput::new())
        });
        timed(graph)
    };
    let end = end_of(&mapping(SHORT)).await;
    assert!(matches!(end.outcome, Outcome::Completed));
    check_cut("an item", &end_of(&mapping(LONG)).await);
}

#[tokio::test(start_paused = true)]
async fn a_task_beside_the_idle_one_gives_no_sign_for_it() {
    let graph = builder("g")
        .function("x", |_, _| async {
            sleep(LONG).await;
            Ok(NodeOutput::new())
        })
        .subgraph("y", working(Does::Beats, Duration::from_secs(1)))
        .start(["y"])
        .finish("y");
    check_cut("beside", &end_of(&timed(graph)).await);
}

#[tokio::test(start_paused = true)]
async fn an_inner_time_out_is_not_put_off_by_what_happens_around_it() {
    let idle = NodeSpec::new().timeout(Timeout::idle(IDLE));
    let child = builder("inner")
        .function("a", |_, _| async {
            sleep(LONG).await;
            Ok(NodeOutput::new())
        })
        .spec("a", idle)
        .function("b", |_, context: TaskContext| async move {
            busy(&context, Does::Beats, SHORT).await?;
            Ok(NodeOutput::new())
        })
        .start(["a", "b"])
        .finish("a")
        .finish("b")
        .compile()
        .unwrap();
    let end = end_of(&around("shared", child)).await;
    let told = failure(&end);
    assert!(told.contains("`a` in graph `inner`"), "{told}");
}
