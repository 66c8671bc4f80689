//! Crashes at every write of a node with steps of each kind and questions.

use std::sync::Arc;

use futures::join;
use rustagents_core::{
    ask::{Answer, Ask, Subject},
    journal::Journal,
};
use rustagents_graph::{Graph, GraphEnd, GraphState, NodeError, Outcome};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_testkit::{drive, tool::World};
use serde_json::json;

use super::{change, working};
use crate::bench::Bench;

fn graph(world: &World) -> Graph {
    let noted = world.clone();
    working(move |context| {
        let world = noted.clone();
        async move {
            let mut said = Vec::new();
            for round in 0..2 {
                let work = || change(world.clone(), format!("work {round}"));
                let done = context.step("work", work).await?;
                let paid = {
                    let world = world.clone();
                    context.step_once_keyed("pay", round, move |_| async move {
                        change(world, format!("pay {round}")).await
                    })
                };
                // Whatever an error is here, the node makes light of it.
                let (paid, answer) = join!(paid, context.ask(done));
                said.push(json!([paid.unwrap_or("caught".into()), answer?]));
            }
            let inner = (context.clone(), world.clone());
            let spawned = context.spawn(async move {
                let (context, world) = inner;
                context.step("last", || change(world, "last".into())).await
            })?;
            said.push(json!(spawned.await??));
            Ok::<_, NodeError>(json!(said))
        }
    })
}

/// A person who knows what happened in the world.
fn reply(world: &World, ask: &Ask) -> Answer {
    let Subject::StepInDoubt(subject) = &ask.subject else {
        return Answer::Value {
            value: json!("yes"),
        };
    };
    let what = if subject.step == "pay:0#1" {
        "pay 0"
    } else {
        "pay 1"
    };
    if world.changes().iter().any(|change| change == what) {
        Answer::Done {
            result: json!(what),
        }
    } else {
        Answer::Repeat
    }
}

async fn to_the_end(bench: &Bench, graph: &Graph, world: &World) -> Option<GraphEnd> {
    for _ in 0..9 {
        let end = bench.attempt(graph).await.ok()?;
        let Outcome::Suspended(asks) = &end.outcome else {
            return Some(end);
        };
        for ask in asks {
            let answer = reply(world, ask);
            drive::answer(&*bench.journal, Bench::thread(), &ask.id, &answer)
                .await
                .ok()?;
        }
    }
    panic!("no end after nine attempts");
}

#[tokio::test]
async fn a_crash_at_any_write_repeats_no_payment_and_leads_to_the_same_state() {
    let never = FaultPoint {
        write: u64::MAX,
        side: Side::Before,
    };
    let whole = FaultJournal::new(Arc::new(MemoryJournal::new()), never, || {});
    let (whole, world) = (Arc::new(whole), World::new());
    let bench = Bench::on(whole.clone());
    let end = to_the_end(&bench, &graph(&world), &world).await.unwrap();
    let expected = end.state.to_json();
    let undisturbed = ["work 0", "pay 0", "work 1", "pay 1", "last"];
    assert_eq!(world.changes(), undisturbed);
    assert_eq!(expected["out"][0], json!(["pay 0", "yes"]));
    for write in 1..=whole.writes() {
        for side in [Side::Before, Side::After] {
            let inner = Arc::new(MemoryJournal::new());
            let fault = FaultJournal::new(inner.clone(), FaultPoint { write, side }, || {});
            let world = World::new();
            let graph = graph(&world);
            let on = |journal: Arc<dyn Journal>| Bench::on(journal);
            let struck = to_the_end(&on(Arc::new(fault)), &graph, &world).await;
            assert!(struck.is_none(), "write {write} {side:?}");
            let end = to_the_end(&on(inner), &graph, &world).await.unwrap();
            assert_eq!(end.state.to_json(), expected, "write {write} {side:?}");
            let changes = world.changes();
            let times = |what: &str| changes.iter().filter(|change| *change == what).count();
            for what in undisturbed {
                let repeatable = !what.starts_with("pay") && side == Side::Before;
                let most = 1 + usize::from(repeatable);
                assert!(
                    (1..=most).contains(&times(what)),
                    "write {write} {side:?}: {changes:?}"
                );
            }
            assert!(changes.len() <= undisturbed.len() + 1, "{changes:?}");
        }
    }
}
