//! One superstep of one task that adds an item to a list.
//!
//! The limit in memory is a vector of boxed futures that push to a list. On
//! SQLite it is one prepared insert and its commit per step, with the same
//! durability (write-ahead log, `synchronous = FULL`).

use std::{path::Path, sync::Arc};

use futures::future::BoxFuture;
use rustagents_core::{
    CancellationToken,
    budget::{Budget, Limits, Spent},
    event::Events,
    ids::{Branch, RunId, ThreadId},
    journal::{Journal, Owner},
    log::ThreadLog,
    scope::{RunShared, Scope, Write},
};
use rustagents_graph::{
    END, Frame, Graph, GraphBuilder, GraphEnd, NodeOutput, Outcome, Reducer, Update, Writes,
    node_fn,
};
use rustagents_runtime::host::SystemClock;
use rustagents_store::MemoryJournal;
use rustagents_store_sqlite::SqliteJournal;

use crate::row::{self, Side, Sides};

const IN_MEMORY: u32 = 1_000;
const ON_DISK: u32 = 200;

struct NoFrame;

impl Frame for NoFrame {
    fn close(&self, _: &GraphEnd, _: &mut Write) {}
}

pub(crate) fn memory(measure: &mut dyn FnMut(Sides<'_>)) {
    let runtime = row::runtime();
    let graph = line(IN_MEMORY);
    let ours = Side {
        units: IN_MEMORY,
        work: Box::new(|| runtime.block_on(run(&graph, Arc::new(MemoryJournal::new()), IN_MEMORY))),
    };
    let limit = Side {
        units: IN_MEMORY,
        work: Box::new(|| runtime.block_on(by_hand())),
    };
    measure(Sides {
        unit: "us/step",
        ours,
        limit,
    });
}

pub(crate) fn sqlite(measure: &mut dyn FnMut(Sides<'_>)) {
    let runtime = row::runtime();
    let graph = line(ON_DISK);
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    let mut fresh = || {
        number += 1;
        folder.path().join(format!("ours-{number}.db"))
    };
    let ours = Side {
        units: ON_DISK,
        work: Box::new(move || {
            let journal = SqliteJournal::open(fresh()).unwrap();
            runtime.block_on(run(&graph, Arc::new(journal), ON_DISK));
        }),
    };
    let mut number = 0;
    let limit = Side {
        units: ON_DISK,
        work: Box::new(|| {
            number += 1;
            insert_by_hand(&folder.path().join(format!("hand-{number}.db")));
        }),
    };
    measure(Sides {
        unit: "us/step",
        ours,
        limit,
    });
}

fn line(steps: u32) -> Graph {
    let mut builder = GraphBuilder::new("line")
        .channel("seen", Reducer::Append)
        .start(["n0"]);
    for step in 0..steps {
        let add =
            node_fn(|_, _| async { Ok(NodeOutput::new().write("seen", Update::Value(1.into()))) });
        let next = if step + 1 == steps {
            END.to_owned()
        } else {
            format!("n{}", step + 1)
        };
        builder = builder
            .node(format!("n{step}"), add)
            .edge(format!("n{step}"), next);
    }
    builder
        .recursion_limit(u64::from(steps) + 1)
        .compile()
        .unwrap()
}

async fn run(graph: &Graph, journal: Arc<dyn Journal>, steps: u32) {
    let thread = ThreadId::new("bench").unwrap();
    let claim = journal.claim(&thread, Owner::default()).await.unwrap();
    let limits = Limits {
        steps: u64::from(steps) + 1,
        ..Limits::default()
    };
    let scope = Scope::root(RunShared {
        journal,
        thread,
        branch: Branch::main(),
        epoch: claim.epoch,
        run: RunId::from("bench"),
        attempt: 1,
        retried: 0,
        input: None,
        log: ThreadLog::default(),
        budget: Budget::resumed(limits, Spent::default()),
        events: Events::default(),
        clock: Arc::new(SystemClock::new()),
        durability: rustagents_core::recorder::Durability::Sync,
        cancel: CancellationToken::new(),
        drain: CancellationToken::new(),
    });
    let at = graph.position(&scope).unwrap();
    let at = graph
        .open(&scope, at, Writes::new(), Write::new())
        .await
        .unwrap();
    let end = Box::pin(graph.drive(&scope, at, &NoFrame)).await.unwrap();
    assert!(matches!(end.outcome, Outcome::Completed));
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

fn insert_by_hand(path: &Path) {
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
    for step in 0..ON_DISK {
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
        row::allocations(|| {
            runtime.block_on(run(&graph, Arc::new(MemoryJournal::new()), steps));
        })
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
