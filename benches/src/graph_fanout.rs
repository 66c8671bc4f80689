//! One task of 1,000 that are sent to a node, each with a number, and joined.
//!
//! The limit spawns 1,000 tasks of the executor and collects what they return;
//! on SQLite it inserts what they return in one transaction.

use rustagents_graph::{Graph, GraphBuilder, NodeOutput, Reducer, TaskContext, Update};

use crate::{
    drive::{self, Journals, Place},
    row::{self, Side, Sides},
};

const TASKS: u32 = 1_000;

pub(crate) fn nowhere(measure: &mut dyn FnMut(Sides<'_>)) {
    on(Place::Nowhere, measure);
}

pub(crate) fn memory(measure: &mut dyn FnMut(Sides<'_>)) {
    on(Place::Memory, measure);
}

pub(crate) fn sqlite(measure: &mut dyn FnMut(Sides<'_>)) {
    on(Place::Sqlite, measure);
}

fn on(place: Place, measure: &mut dyn FnMut(Sides<'_>)) {
    let runtime = row::runtime();
    let graph = fan_out(TASKS);
    let (mut journals, mut files) = (Journals::new(place), Journals::new(place));
    measure(Sides {
        unit: "us/task",
        ours: Side {
            units: TASKS,
            work: Box::new(|| runtime.block_on(run(&graph, &mut journals, TASKS))),
        },
        limit: Side {
            units: TASKS,
            work: Box::new(|| {
                let squares = runtime.block_on(by_hand());
                if place == Place::Sqlite {
                    insert(&files.file(), &squares);
                }
            }),
        },
    });
}

/// Sends `tasks` numbers to a node, and goes on once all are squared.
fn fan_out(tasks: u32) -> Graph {
    GraphBuilder::new("fan-out")
        .channel("squares", Reducer::Append)
        .function("plan", move |_, _| async move {
            Ok(NodeOutput::new().send_each("square", 0..u64::from(tasks)))
        })
        .function("square", |_, context: TaskContext| async move {
            let number: u64 = context.argument()?;
            Ok(NodeOutput::new().write("squares", Update::Value((number * number).into())))
        })
        .function("join", |_, _| async { Ok(NodeOutput::new()) })
        .start(["plan"])
        .commands("plan", ["square"])
        .edge("square", "join")
        .finish("join")
        .compile()
        .unwrap()
}

async fn run(graph: &Graph, journals: &mut Journals, tasks: u32) {
    let end = drive::run(graph, journals, 0).await;
    assert_eq!(end.state.list("squares").len(), tasks as usize);
}

async fn by_hand() -> Vec<u64> {
    let spawn = |number: u64| tokio::spawn(async move { number * number });
    let tasks: Vec<_> = (0..u64::from(TASKS)).map(spawn).collect();
    let mut squares = Vec::with_capacity(tasks.len());
    for task in tasks {
        squares.push(task.await.unwrap());
    }
    squares
}

fn insert(path: &std::path::Path, squares: &[u64]) {
    let mut connection = rusqlite::Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE squares(seq INTEGER PRIMARY KEY, square INTEGER)",
        )
        .unwrap();
    let transaction = connection.transaction().unwrap();
    for (seq, square) in squares.iter().enumerate() {
        let values =
            rusqlite::params![i64::try_from(seq).unwrap(), i64::try_from(*square).unwrap()];
        transaction
            .execute("INSERT INTO squares VALUES(?1, ?2)", values)
            .unwrap();
    }
    transaction.commit().unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocations(tasks: u32) -> u64 {
        let graph = fan_out(tasks);
        let runtime = row::runtime();
        let mut journals = Journals::new(Place::Memory);
        row::allocations(|| runtime.block_on(run(&graph, &mut journals, tasks)))
    }

    #[test]
    fn a_task_of_a_large_fan_out_allocates_what_one_of_a_small_one_does() {
        let small = allocations(200) - allocations(100);
        let large = allocations(2_100) - allocations(2_000);
        assert!(
            large <= small + 20,
            "{small} for 100 tasks more than 100, {large} for 100 more than 2,000"
        );
        assert!(small <= 100 * 20, "{small} for 100 tasks");
    }
}
