use std::time::Duration;

use rustagents_core::{
    budget::{Limits, Resource},
    scope::Halt,
    tool::{Approval, EffectClass, ToolError, ToolErrorKind},
};
use rustagents_testkit::{
    model::Reply,
    tool::{FakeTool, World},
};

use crate::{
    bench::{Bench, said},
    loops::{agent, calls},
};

fn exceeded(halt: &Halt) -> Option<Resource> {
    match halt {
        Halt::Budget(exceeded) => Some(exceeded.resource),
        _ => None,
    }
}

#[tokio::test]
async fn model_calls_and_tool_calls_run_out() {
    let world = World::new();
    let look = || FakeTool::noting("look", EffectClass::Repeatable, &world);
    let endless = || std::iter::repeat_n(calls(&[("look", "{}")]), 50);
    let cases = [
        (
            Limits {
                model_calls: 3,
                ..Limits::default()
            },
            Resource::ModelCalls,
        ),
        (
            Limits {
                tool_calls: 2,
                ..Limits::default()
            },
            Resource::ToolCalls,
        ),
    ];
    for (limits, resource) in cases {
        let mut bench = Bench::new();
        bench.limits = limits;
        let (agent, _) = agent(endless(), [look()]);
        let halt = bench.attempt(&agent).await.unwrap_err();
        assert_eq!(exceeded(&halt), Some(resource));
        assert!(!bench.log().await.is_empty(), "what was done stays");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_hangs_uses_up_the_driven_time() {
    let mut bench = Bench::new();
    bench.limits.driven = Duration::from_mins(1);
    let (agent, _) = agent([Reply::Hang], []);
    let halt = bench.attempt(&agent).await.unwrap_err();
    assert_eq!(exceeded(&halt), Some(Resource::DrivenTime));
}

#[tokio::test(start_paused = true)]
async fn a_slow_tool_is_told_to_stop_and_believed_if_it_says_what_happened() {
    let patient = |said: ToolError| {
        FakeTool::new("wait", EffectClass::Once, move |_, context| {
            let said = said.clone();
            async move {
                context.cancel.cancelled().await;
                Err(said)
            }
        })
        .declare(|spec| {
            spec.timeout = Duration::from_secs(5);
            spec.approval = Some(Approval::Allow);
        })
    };
    let rolled_back = patient(ToolError::not_executed(
        ToolErrorKind::Cancelled,
        "rolled back",
    ));
    let deaf = FakeTool::new("wait", EffectClass::Once, |_, _| std::future::pending())
        .declare(|spec| spec.approval = Some(Approval::Allow));
    for (tool, expected) in [(rolled_back, "ok"), (deaf, "suspended: c-1/doubt/1")] {
        let (agent, _) = agent([calls(&[("wait", "{}")]), Reply::Text("ok")], [tool]);
        assert_eq!(said(&Bench::new().attempt(&agent).await.unwrap()), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_stops_in_every_phase_and_the_next_attempt_goes_on() {
    // Thinking.
    let bench = Bench::new();
    bench.cancel.cancel();
    let (thinker, _) = agent([Reply::Hang], []);
    assert!(matches!(
        bench.attempt(&thinker).await,
        Err(Halt::Cancelled)
    ));

    // Acting, on a tool that stops cleanly: it runs again later.
    let mut bench = Bench::new();
    let world = World::new();
    let (token, noted) = (bench.cancel.clone(), world.clone());
    let tool = FakeTool::new("pay", EffectClass::Once, move |_, context| {
        let (token, world) = (token.clone(), noted.clone());
        async move {
            if world.changes().is_empty() {
                world.change("refused");
                token.cancel();
                context.cancel.cancelled().await;
                return Err(ToolError::not_executed(ToolErrorKind::Cancelled, "stopped"));
            }
            world.change("paid");
            Ok(serde_json::json!({}))
        }
    })
    .declare(|spec| spec.approval = Some(Approval::Allow));
    let (payer, _) = agent([calls(&[("pay", "{}")]), Reply::Text("ok")], [tool]);
    assert!(matches!(bench.attempt(&payer).await, Err(Halt::Cancelled)));
    bench.cancel = rustagents_core::CancellationToken::new();
    assert_eq!(said(&bench.attempt(&payer).await.unwrap()), "ok");
    assert_eq!(world.changes(), ["refused", "paid"]);

    // Acting, on a tool that finishes all the same: its result is kept.
    let mut bench = Bench::new();
    let (token, world) = (bench.cancel.clone(), World::new());
    let noted = world.clone();
    let tool = FakeTool::new("pay", EffectClass::Once, move |_, _| {
        token.cancel();
        noted.change("paid");
        async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(serde_json::json!({}))
        }
    })
    .declare(|spec| spec.approval = Some(Approval::Allow));
    let (payer, _) = agent([calls(&[("pay", "{}")]), Reply::Text("ok")], [tool]);
    assert!(matches!(bench.attempt(&payer).await, Err(Halt::Cancelled)));
    bench.cancel = rustagents_core::CancellationToken::new();
    assert_eq!(said(&bench.attempt(&payer).await.unwrap()), "ok");
    assert_eq!(world.changes(), ["paid"]);
}

#[tokio::test]
async fn draining_stops_at_the_next_boundary() {
    let bench = Bench::new();
    let (token, world) = (bench.drain.clone(), World::new());
    let noted = world.clone();
    let tool = FakeTool::new("look", EffectClass::Repeatable, move |_, _| {
        noted.change("looked");
        token.cancel();
        async { Ok(serde_json::json!({})) }
    });
    let (agent, model) = agent([calls(&[("look", "{}")]), Reply::Text("ok")], [tool]);
    assert!(matches!(bench.attempt(&agent).await, Err(Halt::Drained)));
    let mut bench = bench;
    bench.drain = rustagents_core::CancellationToken::new();
    assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "ok");
    assert_eq!((world.changes().len(), model.calls()), (1, 2));
}

/// A tool that works for `seconds` unless it is told to stop, and notes how it ended.
fn working(name: &'static str, effect: EffectClass, seconds: u64, world: &World) -> FakeTool {
    let noted = world.clone();
    let tool = FakeTool::new(name, effect, move |_, context| {
        let world = noted.clone();
        async move {
            let work = tokio::time::sleep(Duration::from_secs(seconds));
            tokio::select! {
                () = work => world.change("done"),
                () = context.cancel.cancelled() => {
                    world.change("stopped");
                    return Err(ToolError::unknown(ToolErrorKind::Cancelled, "stopped"));
                }
            }
            Ok(serde_json::json!({}))
        }
    });
    tool.declare(|spec| {
        spec.timeout = Duration::from_mins(5);
        spec.approval = Some(Approval::Allow);
    })
}

/// One attempt that is drained a second after it began: how it ended, and how long it
/// went on after that.
async fn drained(bench: &Bench, agent: &rustagents_agent::Agent) -> (Halt, Duration) {
    let start = tokio::time::Instant::now();
    let drain = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        bench.drain.cancel();
    };
    let (ended, ()) = futures::join!(bench.attempt(agent), drain);
    let after = start.elapsed().saturating_sub(Duration::from_secs(1));
    (ended.unwrap_err(), after)
}

#[tokio::test(start_paused = true)]
async fn a_drained_run_waits_two_seconds_for_a_call_that_changes_nothing() {
    let (mut bench, world) = (Bench::new(), World::new());
    let look = working("look", EffectClass::Repeatable, 60, &world);
    let (agent, model) = agent([calls(&[("look", "{}")]), Reply::Text("ok")], [look]);
    let (halt, after) = drained(&bench, &agent).await;
    assert!(matches!(halt, Halt::Drained), "{halt:?}");
    assert_eq!(
        (after, world.changes()),
        (Duration::from_secs(2), vec!["stopped".into()])
    );
    // The next attempt makes it again.
    bench.drain = rustagents_core::CancellationToken::new();
    assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "ok");
    assert_eq!((world.changes().len(), model.calls()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_drained_run_keeps_what_ends_in_time_and_starts_nothing_more() {
    let (bench, world) = (Bench::new(), World::new());
    let soon = working("soon", EffectClass::Repeatable, 2, &world);
    let late = working("late", EffectClass::Repeatable, 60, &world);
    let asked = calls(&[("soon", "{}"), ("late", "{}")]);
    let (looking, _) = agent([asked, Reply::Text("ok")], [soon, late]);
    let (halt, after) = drained(&bench, &looking).await;
    assert!(matches!(halt, Halt::Drained), "{halt:?}");
    assert_eq!(
        (after, world.changes()),
        (
            Duration::from_secs(2),
            vec!["done".into(), "stopped".into()]
        )
    );
    let log = bench.log().await;
    let key = |key: &str| {
        log.records()
            .iter()
            .any(|r| r.key().is_some_and(|k| k.as_str() == key))
    };
    assert!(key("call/c-1/result") && !key("call/c-2/result"));

    // A call that had not begun waits for the next attempt.
    let (mut bench, world) = (Bench::new(), World::new());
    let pay = working("pay", EffectClass::Once, 5, &world);
    let asked = calls(&[("pay", r#"{"n":1}"#), ("pay", r#"{"n":2}"#)]);
    let (paying, _) = agent([asked, Reply::Text("ok")], [pay]);
    let (halt, _) = drained(&bench, &paying).await;
    assert!(matches!(halt, Halt::Drained), "{halt:?}");
    assert_eq!(world.changes(), ["done"]);
    bench.drain = rustagents_core::CancellationToken::new();
    assert_eq!(said(&bench.attempt(&paying).await.unwrap()), "ok");
    assert_eq!(world.changes(), ["done", "done"], "each was paid once");
}

#[tokio::test(start_paused = true)]
async fn a_drained_run_waits_for_a_call_that_may_have_changed_something() {
    for effect in [EffectClass::Once, EffectClass::Idempotent] {
        let (mut bench, world) = (Bench::new(), World::new());
        let pay = working("pay", effect, 60, &world);
        let (agent, _) = agent([calls(&[("pay", "{}")]), Reply::Text("ok")], [pay]);
        let (halt, after) = drained(&bench, &agent).await;
        assert!(matches!(halt, Halt::Drained), "{halt:?}");
        assert_eq!(
            (after, world.changes()),
            (Duration::from_secs(59), vec!["done".into()])
        );
        bench.drain = rustagents_core::CancellationToken::new();
        assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "ok");
        assert_eq!(world.changes().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_stops_one_call_does_not_drop_the_others_in_flight() {
    let (mut bench, world) = (Bench::new(), World::new());
    bench.limits.tool_calls = 1;
    let noted = world.clone();
    let slow = FakeTool::new("send", EffectClass::Idempotent, move |_, _| {
        let world = noted.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            world.change("sent");
            Ok(serde_json::json!({}))
        }
    });
    let asked = calls(&[("send", r#"{"n":1}"#), ("send", r#"{"n":2}"#)]);
    let (agent, _) = agent([asked, Reply::Text("ok")], [slow]);
    let halt = bench.attempt(&agent).await.unwrap_err();
    assert_eq!(exceeded(&halt), Some(Resource::ToolCalls));
    assert_eq!(world.changes(), ["sent"]);
    let results = bench.log().await;
    let recorded = results.records().iter().filter(|record| {
        record
            .key()
            .is_some_and(|key| key.as_str() == "call/c-1/result")
    });
    assert_eq!(recorded.count(), 1, "what was sent is recorded");
}
