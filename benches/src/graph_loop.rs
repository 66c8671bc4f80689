//! One superstep of one node that leads to itself and counts: 10,000 of them.
//!
//! The limit in memory is a loop over one boxed future; on SQLite it is one
//! prepared insert and its commit per step.

use futures::future::BoxFuture;
use rustagents_graph::{END, Graph, GraphBuilder, NodeOutput, Reducer, State, Update};
use serde_json::Value;

use crate::{
    drive::{self, Journals, Place},
    graph_linear::insert_by_hand,
    row::{self, Side, Sides},
};

const IN_MEMORY: u32 = 10_000;
const ON_DISK: u32 = 200;

pub(crate) fn nowhere(measure: &mut dyn FnMut(Sides<'_>)) {
    on(Place::Nowhere, IN_MEMORY, measure);
}

pub(crate) fn memory(measure: &mut dyn FnMut(Sides<'_>)) {
    on(Place::Memory, IN_MEMORY, measure);
}

pub(crate) fn sqlite(measure: &mut dyn FnMut(Sides<'_>)) {
    on(Place::Sqlite, ON_DISK, measure);
}

fn on(place: Place, steps: u32, measure: &mut dyn FnMut(Sides<'_>)) {
    let runtime = row::runtime();
    let graph = counting(steps);
    let (mut journals, mut files) = (Journals::new(place), Journals::new(place));
    measure(Sides {
        unit: "us/step",
        ours: Side {
            units: steps,
            work: Box::new(|| runtime.block_on(run(&graph, &mut journals, steps))),
        },
        limit: Side {
            units: steps,
            work: Box::new(|| match place {
                Place::Sqlite => insert_by_hand(&files.file(), steps),
                Place::Nowhere | Place::Memory => runtime.block_on(by_hand(steps)),
            }),
        },
    });
}

/// A node that adds one until `steps` are counted.
fn counting(steps: u32) -> Graph {
    let more = move |state: &State| {
        let count = state.value("count").and_then(Value::as_u64);
        count.unwrap_or(0) < u64::from(steps)
    };
    GraphBuilder::new("loop")
        .channel("count", Reducer::Counter)
        .function("add", |_, _| async {
            Ok(NodeOutput::new().write("count", Update::Value(1.into())))
        })
        .start(["add"])
        .branch("add", more, [(true, "add"), (false, END)])
        .recursion_limit(u64::from(steps) + 1)
        .compile()
        .unwrap()
}

async fn run(graph: &Graph, journals: &mut Journals, steps: u32) {
    let end = drive::run(graph, journals, 0).await;
    assert_eq!(end.state.value("count"), Some(&steps.into()));
}

async fn by_hand(steps: u32) {
    let node: fn(u32) -> BoxFuture<'static, u32> = |count| Box::pin(async move { count + 1 });
    let mut count = 0;
    while count < steps {
        count = std::hint::black_box(node)(count).await;
    }
    assert_eq!(count, steps);
}
