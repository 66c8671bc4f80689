//! One superstep of one task that adds an item to a list.
//!
//! The limit in memory is a vector of boxed futures that push to a list. On
//! SQLite it is one prepared insert and its commit per step, with the same
//! durability (write-ahead log, `synchronous = FULL`).

use std::path::Path;

use futures::future::BoxFuture;
use rustagents_graph::{END, Graph, GraphBuilder, NodeOutput, Reducer, Update};

use crate::{
    drive::{self, Journals, Place},
    row::{self, Side, Sides},
};

const IN_MEMORY: u32 = 1_000;
const ON_DISK: u32 = 200;

pub(crate) fn nowhere(measure: &mut dyn FnMut(Sides<'_>)) {
    in_memory(Place::Nowhere, measure);
}

pub(crate) fn memory(measure: &mut dyn FnMut(Sides<'_>)) {
    in_memory(Place::Memory, measure);
}

fn in_memory(place: Place, measure: &mut dyn FnMut(Sides<'_>)) {
    let runtime = row::runtime();
    let graph = line(IN_MEMORY);
    let mut journals = Journals::new(place);
    measure(Sides {
        unit: "us/step",
        ours: Side {
            units: IN_MEMORY,
            work: Box::new(|| runtime.block_on(run(&graph, &mut journals, IN_MEMORY))),
        },
        limit: Side {
            units: IN_MEMORY,
            work: Box::new(|| runtime.block_on(by_hand())),
        },
    });
}

pub(crate) fn sqlite(measure: &mut dyn FnMut(Sides<'_>)) {
    let runtime = row::runtime();
    let graph = line(ON_DISK);
    let (mut journals, mut files) = (Journals::new(Place::Sqlite), Journals::new(Place::Sqlite));
    measure(Sides {
        unit: "us/step",
        ours: Side {
            units: ON_DISK,
            work: Box::new(|| runtime.block_on(run(&graph, &mut journals, ON_DISK))),
        },
        limit: Side {
            units: ON_DISK,
            work: Box::new(|| insert_by_hand(&files.file(), ON_DISK)),
        },
    });
}

/// A graph of `steps` nodes, one after the other.
pub(crate) fn line(steps: u32) -> Graph {
    let mut builder = GraphBuilder::new("line")
        .channel("seen", Reducer::Append)
        .start(["n0"]);
    for step in 0..steps {
        let next = if step + 1 == steps {
            END.to_owned()
        } else {
            format!("n{}", step + 1)
        };
        let name = format!("n{step}");
        builder = builder
            .function(&name, |_, _| async {
                Ok(NodeOutput::new().write("seen", Update::Value(1.into())))
            })
            .edge(name, next);
    }
    builder
        .recursion_limit(u64::from(steps) + 1)
        .compile()
        .unwrap()
}

async fn run(graph: &Graph, journals: &mut Journals, steps: u32) {
    let end = drive::run(graph, journals, 0).await;
    assert_eq!(end.state.list("seen").len(), steps as usize);
}

async fn by_hand() {
    fn node(_: usize) -> BoxFuture<'static, u32> {
        Box::pin(async { 1 })
    }
    let nodes: Vec<fn(usize) -> BoxFuture<'static, u32>> = vec![node; IN_MEMORY as usize];
    let mut seen = Vec::new();
    for node in &nodes {
        seen.push(node(seen.len()).await);
    }
    assert_eq!(seen.len(), IN_MEMORY as usize);
}

/// Inserts `steps` rows, each durable before the next.
pub(crate) fn insert_by_hand(path: &Path, steps: u32) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE steps(thread INTEGER, seq INTEGER, body BLOB, PRIMARY KEY(thread, seq))",
        )
        .unwrap();
    let mut insert = connection
        .prepare("INSERT INTO steps VALUES(1, ?1, ?2)")
        .unwrap();
    for step in 0..steps {
        let body = format!(r#"{{"step":{step},"deltas":[["seen",{{"append":[1]}}]]}}"#);
        insert
            .execute(rusqlite::params![step, body.as_bytes()])
            .unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Allocations of a whole run, its opening and its end included.
    fn allocations(steps: u32) -> u64 {
        let graph = line(steps);
        let runtime = row::runtime();
        let mut journals = Journals::new(Place::Memory);
        row::allocations(|| runtime.block_on(run(&graph, &mut journals, steps)))
    }

    #[test]
    fn a_superstep_allocates_at_most_fifteen_times() {
        for steps in [100, 1_000] {
            let allocated = allocations(steps);
            let most = 15 * u64::from(steps);
            assert!(allocated <= most, "{allocated} in {steps} steps");
        }
    }

    #[test]
    fn a_late_superstep_allocates_what_an_early_one_does() {
        let early = allocations(200) - allocations(100);
        let late = allocations(1_100) - allocations(1_000);
        // A list or a table may grow in one of the two, and not in the other.
        assert!(
            late <= early + 10,
            "{early} from step 100, {late} from 1,000"
        );
    }
}
