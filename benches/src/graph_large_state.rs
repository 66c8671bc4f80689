//! One superstep of one task on a state that holds 10,000 messages: 1,000 of them,
//! each of which looks at the last message and adds one.
//!
//! The limit in memory pushes to the same list, one boxed future a step; on SQLite
//! it is one prepared insert and its commit per step.

use std::sync::Arc;

use futures::future::BoxFuture;
use rustagents_core::{ids::MessageId, message::Message};
use rustagents_graph::{END, Graph, GraphBuilder, NodeOutput, Reducer, State, TaskContext, Update};

use crate::{
    drive::{self, Journals, Place},
    graph_linear::insert_by_hand,
    row::{self, Side, Sides},
};

const HELD: usize = 10_000;
const IN_MEMORY: u32 = 1_000;
const ON_DISK: u32 = 200;
/// So many that taking in what is held is a fifth of a message a step.
const STEADY: u32 = 50_000;

pub(crate) fn nowhere(measure: &mut dyn FnMut(Sides<'_>)) {
    on(Place::Nowhere, IN_MEMORY, measure);
}

pub(crate) fn memory(measure: &mut dyn FnMut(Sides<'_>)) {
    on(Place::Memory, IN_MEMORY, measure);
}

/// Steps alone, as far as that goes: the state grows to 60,000 messages meanwhile.
pub(crate) fn steady(measure: &mut dyn FnMut(Sides<'_>)) {
    on(Place::Memory, STEADY, measure);
}

pub(crate) fn sqlite(measure: &mut dyn FnMut(Sides<'_>)) {
    on(Place::Sqlite, ON_DISK, measure);
}

fn on(place: Place, steps: u32, measure: &mut dyn FnMut(Sides<'_>)) {
    let runtime = row::runtime();
    let graph = adding(HELD, steps);
    let (mut journals, mut files) = (Journals::new(place), Journals::new(place));
    measure(Sides {
        unit: "us/step",
        ours: Side {
            units: steps,
            work: Box::new(|| runtime.block_on(run(&graph, &mut journals, HELD, steps))),
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

/// A node that adds a message until there are `held` and `steps`.
fn adding(held: usize, steps: u32) -> Graph {
    let more = move |state: &State| state.messages("messages").len() < held + steps as usize;
    GraphBuilder::new("large")
        .channel("messages", Reducer::Messages)
        .function(
            "add",
            |state: Arc<State>, context: TaskContext| async move {
                let last = state
                    .messages("messages")
                    .last()
                    .map(|last| last.text().len());
                assert_eq!(last, Some(5));
                let message = Message::user(context.scope().mint_message(), "hello");
                Ok(NodeOutput::new().write("messages", Update::Messages(vec![message.into()])))
            },
        )
        .start(["add"])
        .branch("add", more, [(true, "add"), (false, END)])
        .recursion_limit(u64::from(steps) + 1)
        .compile()
        .unwrap()
}

async fn run(graph: &Graph, journals: &mut Journals, held: usize, steps: u32) {
    let end = drive::run(graph, journals, held).await;
    assert_eq!(end.state.messages("messages").len(), held + steps as usize);
}

async fn by_hand(steps: u32) {
    fn message(number: usize) -> Arc<Message> {
        Arc::new(Message::user(MessageId::numbered(number as u64), "hello"))
    }
    let node: fn(usize) -> BoxFuture<'static, Arc<Message>> =
        |number| Box::pin(async move { message(number) });
    let mut held: Vec<_> = (0..HELD).map(message).collect();
    for _ in 0..steps {
        let new = std::hint::black_box(node)(held.len()).await;
        held.push(new);
    }
    assert_eq!(held.len(), HELD + steps as usize);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Allocations of 100 steps on a state that holds `held` messages.
    fn allocations(held: usize) -> u64 {
        let runtime = row::runtime();
        let of = |steps| {
            let graph = adding(held, steps);
            let mut journals = Journals::new(Place::Memory);
            row::allocations(|| runtime.block_on(run(&graph, &mut journals, held, steps)))
        };
        of(200) - of(100)
    }

    #[test]
    fn a_superstep_costs_the_same_on_a_large_state() {
        let (small, large) = (allocations(100), allocations(10_000));
        assert!(
            large <= small + 10,
            "{small} for 100 steps on 100 messages, {large} on 10,000"
        );
    }
}
