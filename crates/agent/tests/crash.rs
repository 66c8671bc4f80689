//! Crashes at every write, on both sides of its durability point.

use std::sync::Arc;

use rustagents_agent::{Agent, AgentEnd, agent::AgentOutcome};
use rustagents_core::{
    ask::{Answer, Subject},
    tool::EffectClass,
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_testkit::{
    model::Reply,
    tool::{FakeTool, World},
};

use crate::{
    bench::{Bench, Projection, approve, project},
    loops::{agent, calls},
};

fn clerk(world: &World) -> Agent {
    let replies = [
        calls(&[("look", "{}"), ("look", r#"{"n":2}"#)]),
        calls(&[("nope", "{}")]),
        calls(&[("pay", r#"{"n":1}"#), ("look", "{}"), ("pay", r#"{"n":2}"#)]),
        Reply::Text("all paid"),
    ];
    let look = FakeTool::noting("look", EffectClass::Repeatable, &World::new());
    agent(
        replies,
        [look, FakeTool::noting("pay", EffectClass::Once, world)],
    )
    .0
}

/// Drives to the end as a person would: approves, and settles what is in doubt
/// by looking at the world.
async fn drive(bench: &Bench, agent: &Agent, world: &World) -> Option<AgentEnd> {
    for _ in 0..20 {
        let end = bench.attempt(agent).await.ok()?;
        let AgentOutcome::Suspended(asks) = &end.outcome else {
            return Some(end);
        };
        for ask in asks {
            let subject = ask.call().unwrap();
            let done = world
                .changes()
                .contains(&format!("pay {}", subject.arguments));
            let answer = match (&ask.subject, done) {
                (Subject::Approval(_), _) => approve(ask),
                (_, true) => Answer::Done {
                    result: serde_json::json!({ "ok": true }),
                },
                (_, false) => Answer::Repeat,
            };
            bench.answer(&ask.id, answer).await.ok()?;
        }
    }
    panic!("no end after 20 attempts");
}

async fn undisturbed() -> (u64, Projection) {
    let never = FaultPoint {
        write: u64::MAX,
        side: Side::Before,
    };
    let journal = Arc::new(FaultJournal::new(
        Arc::new(MemoryJournal::new()),
        never,
        || {},
    ));
    let (bench, world) = (Bench::on(journal.clone()), World::new());
    let end = drive(&bench, &clerk(&world), &world).await.unwrap();
    assert_eq!(world.changes(), [r#"pay {"n":1}"#, r#"pay {"n":2}"#]);
    (journal.writes(), project(&bench, &end).await)
}

#[tokio::test]
async fn a_crash_at_any_write_changes_nothing_that_counts() {
    let (writes, expected) = undisturbed().await;
    assert!(writes > 15, "the scenario has {writes} writes");
    for write in 1..=writes {
        for side in [Side::Before, Side::After] {
            let inner = Arc::new(MemoryJournal::new());
            let fault = FaultJournal::new(inner.clone(), FaultPoint { write, side }, || {});
            let (fault, world) = (Arc::new(fault), World::new());
            let agent = clerk(&world);
            let early = drive(&Bench::on(fault.clone()), &agent, &world).await;
            assert!(early.is_none() && fault.is_dead(), "write {write} {side:?}");
            let bench = Bench::on(inner);
            let end = drive(&bench, &agent, &world).await.unwrap();
            assert_eq!(
                project(&bench, &end).await,
                expected,
                "write {write} {side:?}"
            );
            assert_eq!(
                world.changes(),
                [r#"pay {"n":1}"#, r#"pay {"n":2}"#],
                "write {write} {side:?}"
            );
        }
    }
}
