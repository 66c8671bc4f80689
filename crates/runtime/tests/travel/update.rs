use rustagents_core::{
    code::Coded,
    ids::NodeName,
    journal::{Owner, kind},
};
use rustagents_graph::END;
use rustagents_runtime::{
    Decision, Retry, RunError, StateEdit, Status, Watch,
    threads::{Fork, Keep, fork},
    view::Phase,
};
use serde_json::{Value, json};

use super::retry::{HALF, MENDED};
use crate::{
    bench::{Bench, DESK, approve},
    threads::{MIXED, WORD, name},
};

fn set(channel: &str, value: impl Into<Value>) -> StateEdit {
    StateEdit {
        set: vec![(channel.into(), value.into())],
        ..StateEdit::default()
    }
}

fn acting(node: &str) -> StateEdit {
    StateEdit {
        as_node: Some(node.into()),
        ..set("note", "by hand")
    }
}

#[tokio::test]
async fn a_waiting_thread_is_changed_and_waits_for_the_same() {
    let bench = Bench::new();
    let waiting = bench.say("t", MIXED, json!(1)).await;
    let before = bench.all("t").await;
    let updated = bench.update("t", vec![set("note", "new")]).await.unwrap();
    assert_eq!(
        (&updated.checkpoints[..], &updated.changed[..]),
        (&[2][..], &["note".to_owned()][..])
    );
    assert_eq!(updated.asks, waiting.asks);
    assert_eq!(bench.all("t").await[..before.len()], before[..]);
    let view = bench.view().await;
    assert!(view.waits(), "a resume without an answer has nothing to do");
    let idle = bench.resume(MIXED, vec![]).await.unwrap();
    assert_eq!((idle.status, idle.asks), (Status::Suspended, waiting.asks));
    let end = bench.approve_all("t", MIXED).await;
    assert_eq!(end.status, Status::Completed);
    assert_eq!(bench.world.changes().len(), 2);
    assert_eq!(bench.stood(None).await.state["note"], json!("new"));
    bench.is_whole("t").await;
}

#[tokio::test]
async fn several_edits_are_several_checkpoints_in_one_write_or_none() {
    let bench = Bench::new();
    bench.say("t", MIXED, json!(1)).await;
    let records = bench.records().await;
    let bad = vec![set("note", 1), set("nowhere", 2)];
    let error = bench.update("t", bad).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0411");
    assert_eq!(bench.records().await, records);
    let both = vec![set("note", 1), set("list", 2)];
    let updated = bench.update("t", both).await.unwrap();
    assert_eq!(updated.checkpoints, [2, 3]);
    assert_eq!(bench.records().await, records + 3, "and the wait once more");
    let none = bench.update("t", vec![]).await.unwrap();
    assert!(none.checkpoints.is_empty());
    assert_eq!(bench.records().await, records + 3);
}

#[tokio::test]
async fn an_update_as_a_node_takes_its_place_and_voids_its_question() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let edit = StateEdit {
        set: vec![("messages".into(), json!("The left one is settled by hand."))],
        as_node: Some("left".into()),
        route: None,
    };
    let updated = bench.update_of(DESK, "t", vec![edit]).await.unwrap();
    let asks: Vec<_> = updated.asks.iter().map(|ask| ask.node.as_str()).collect();
    assert_eq!(asks, ["right"]);
    let view = bench.view().await;
    assert_eq!(view.phase, Phase::Open, "what follows can run");
    let error = bench.resume(DESK, vec![approve("c-1")]).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0402");
    let left = bench.live();
    let program = bench.program(DESK);
    let resume = rustagents_runtime::Resume {
        thread: name("t"),
        decisions: vec![],
    };
    let report = left
        .resume(&program, resume, Watch::default())
        .await
        .unwrap();
    let asks: Vec<_> = report.asks.iter().map(|ask| ask.id.as_str()).collect();
    assert_eq!(
        (report.status, &asks[..]),
        (Status::Suspended, &["c-2"][..])
    );
    let end = bench.resume(DESK, vec![approve("c-2")]).await.unwrap();
    assert_eq!(end.status, Status::Completed);
    assert_eq!(bench.world.changes().len(), 1, "the left one never paid");
    bench.is_whole("t").await;
}

#[tokio::test]
async fn an_update_as_the_end_leaves_nothing_to_do() {
    let bench = Bench::new();
    bench.say("t", MIXED, json!(1)).await;
    let updated = bench.update("t", vec![acting(END)]).await.unwrap();
    assert!(updated.next.is_empty() && updated.asks.is_empty());
    let end = bench.resume(MIXED, vec![]).await.unwrap();
    assert_eq!((end.status, end.steps), (Status::Completed, 0));
    assert!(bench.world.changes().is_empty());
    bench.one_more("t").await;
    bench.is_whole("t").await;
}

#[tokio::test]
async fn a_finished_thread_stays_finished_and_takes_no_update_as_a_node() {
    let bench = Bench::new();
    let end = bench.say("t", WORD, json!(1)).await;
    let updated = bench.update("t", vec![set("note", 2)]).await.unwrap();
    assert!(updated.is_closed);
    let view = bench.view().await;
    assert_eq!(
        (view.report().status, view.report().output),
        (end.status, end.output)
    );
    let records = bench.records().await;
    let error = bench.update("t", vec![acting("last")]).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0416");
    assert!(error.hint().unwrap().contains("rag threads rewind t@"));
    assert_eq!(bench.records().await, records);
    bench.is_whole("t").await;
    for checkpoint in [2, 3] {
        let to = format!("f{checkpoint}");
        let given = Fork {
            from: name("t"),
            to: name(&to),
            checkpoint: Some(checkpoint),
            repeats: false,
        };
        fork(&*bench.journal, &given).await.unwrap();
        bench.is_whole(&to).await;
        bench.one_more(&to).await;
    }
    bench.live().prune(&name("t"), Keep::Last(1)).await.unwrap();
    bench.is_whole("t").await;
    assert_eq!(bench.stood(None).await.state["note"], json!(2));
    bench.one_more("t").await;
}

#[tokio::test]
async fn a_fork_between_changes_of_a_run_that_is_over_is_over_too() {
    let bench = Bench::new();
    let end = bench.say("t", WORD, json!(1)).await;
    let three = vec![set("note", 3), set("note", 4), set("note", 5)];
    let updated = bench.update("t", three).await.unwrap();
    assert_eq!(updated.checkpoints, [3, 4, 5]);
    for kept in [u64::MAX, 3, 2] {
        bench
            .live()
            .prune(&name("t"), Keep::Last(kept))
            .await
            .unwrap();
        for checkpoint in bench.checkpoints("t").await.into_iter().filter(|c| *c > 1) {
            let to = format!("f{checkpoint}-{kept}");
            let given = Fork {
                from: name("t"),
                to: name(&to),
                checkpoint: Some(checkpoint),
                repeats: false,
            };
            fork(&*bench.journal, &given).await.unwrap();
            bench.is_whole(&to).await;
            let program = bench.program(WORD);
            let resume = rustagents_runtime::Resume {
                thread: name(&to),
                decisions: vec![],
            };
            let runtime = bench.live();
            let before = bench.all(&to).await;
            let told = runtime.resume(&program, resume, Watch::default()).await;
            let told = told.unwrap();
            assert_eq!(
                (told.status, told.is_closed, told.output),
                (end.status, true, end.output.clone())
            );
            assert_eq!(bench.all(&to).await, before, "there is nothing to resume");
            let stood = runtime.state(&program, &name(&to), None).await.unwrap();
            let then = runtime.state(&program, &name("t"), Some(checkpoint)).await;
            assert_eq!(stood.state, then.unwrap().state);
            bench.one_more(&to).await;
            bench.is_whole(&to).await;
        }
    }
}

#[tokio::test]
async fn a_fork_between_changes_of_a_run_that_failed_is_retried() {
    let bench = Bench::new();
    bench.say("t", HALF, json!(1)).await;
    let both = vec![set("note", 2), set("note", 3)];
    let updated = bench.update_of(HALF, "t", both).await.unwrap();
    let given = Fork {
        from: name("t"),
        to: name("u"),
        checkpoint: Some(updated.checkpoints[0]),
        repeats: false,
    };
    fork(&*bench.journal, &given).await.unwrap();
    let retry = Retry {
        thread: name("u"),
        limits: bench.limits,
    };
    let program = bench.program(MENDED);
    let end = bench.live().retry(&program, retry, Watch::default()).await;
    assert_eq!(end.unwrap().status, Status::Completed);
    bench.is_whole("u").await;
}

#[tokio::test]
async fn a_failed_thread_is_mended_by_hand_and_retried() {
    let bench = Bench::new();
    let failed = bench.say("t", HALF, json!(1)).await;
    let updated = bench
        .update_of(HALF, "t", vec![set("note", 2)])
        .await
        .unwrap();
    assert!(updated.is_closed);
    let next: Vec<_> = updated.next.iter().map(NodeName::as_str).collect();
    assert_eq!(next, ["left", "right"]);
    let retry = Retry {
        thread: name("t"),
        limits: bench.limits,
    };
    let program = bench.program(MENDED);
    let end = bench.live().retry(&program, retry, Watch::default()).await;
    let end = end.unwrap();
    assert_eq!((end.status, end.run), (Status::Completed, failed.run));
    assert_eq!(
        end.spent.model_calls,
        failed.spent.model_calls + 2,
        "the left one did not run again"
    );
    assert_eq!(bench.stood(None).await.state["note"], json!(2));
    bench.is_whole("t").await;
}

#[tokio::test]
async fn a_thread_whose_driver_is_gone_is_changed_and_goes_on() {
    let bench = Bench::new();
    let watch = Watch::default();
    watch.cancel.cancel();
    let program = bench.program(MIXED);
    let started = bench.live().start(&program, bench.request(), watch).await;
    assert!(!started.unwrap().is_closed);
    bench.update("t", vec![set("note", 2)]).await.unwrap();
    assert_eq!(bench.view().await.phase, Phase::Open);
    bench.finish("t").await;
    assert_eq!(bench.stood(None).await.state["note"], json!(2));
}

#[tokio::test]
async fn nobody_takes_the_place_of_a_call_in_doubt() {
    let losing = r#"graph g {
  channel messages messages
  channel note overwrite
  start left
  node left { kind agent  model "losing"  prompt "Lose."  tools ["lose"]  next END }
}"#;
    let bench = Bench::new();
    bench.start(losing).await.unwrap();
    for node in ["left", END] {
        let error = bench.update_of(losing, "t", vec![acting(node)]).await;
        let error = error.unwrap_err();
        assert!(matches!(error, RunError::InDoubt { .. }), "{error}");
    }
    bench
        .update_of(losing, "t", vec![set("note", 1)])
        .await
        .unwrap();
    assert_eq!(bench.view().await.pending().count(), 1, "it is still asked");
    let settled = Decision::NotDone { call: "c-1".into() };
    let end = bench.resume(losing, vec![settled]).await.unwrap();
    assert_eq!(end.status, Status::Completed);
}

#[tokio::test]
async fn an_interrupt_is_answered_for_by_its_route() {
    let source = r#"graph g {
  channel messages messages
  channel note overwrite
  start ask
  node ask { kind interrupt  prompt "Ship?"  routes { yes -> ship  no -> keep } }
  node ship { kind agent  model "last"  prompt "Ship."  next END }
  node keep { kind agent  model "last"  prompt "Keep."  next END }
}"#;
    let bench = Bench::new();
    bench.start(source).await.unwrap();
    let unknown = StateEdit {
        route: Some("maybe".into()),
        ..acting("ask")
    };
    let error = bench
        .update_of(source, "t", vec![unknown])
        .await
        .unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0802");
    let no = StateEdit {
        route: Some("no".into()),
        ..acting("ask")
    };
    let updated = bench.update_of(source, "t", vec![no]).await.unwrap();
    let next: Vec<_> = updated.next.iter().map(NodeName::as_str).collect();
    assert_eq!((&next[..], updated.asks.len()), (&["keep"][..], 0));
    assert_eq!(bench.view().await.pending().count(), 0);
    let end = bench.resume(source, vec![]).await.unwrap();
    assert_eq!(end.status, Status::Completed);
}

#[tokio::test]
async fn waiting_before_an_update_is_no_driven_time() {
    let bench = Bench::new();
    bench.say("t", MIXED, json!(1)).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    bench.update("t", vec![set("note", 2)]).await.unwrap();
    let spent = bench.view().await.report().spent;
    assert!(spent.driven_ms < 300, "{} ms", spent.driven_ms);
}

#[tokio::test]
async fn a_driven_thread_is_not_changed() {
    let bench = Bench::new();
    bench.say("t", MIXED, json!(1)).await;
    let records = bench.records().await;
    let owner = Owner {
        process: 9,
        since_ms: 0,
    };
    let claim = bench.journal.claim(&name("t"), owner).await.unwrap();
    let update = rustagents_runtime::UpdateState {
        thread: name("t"),
        edits: vec![set("note", 2)],
    };
    let program = bench.program(MIXED);
    let busy = bench.runtime().update_state(&program, update.clone()).await;
    assert_eq!(busy.unwrap_err().code().as_str(), "RAG0305");
    assert_eq!(bench.records().await, records);
    let over = bench.live().taking_over(true);
    assert_eq!(
        over.update_state(&program, update)
            .await
            .unwrap()
            .checkpoints,
        [2]
    );
    assert_eq!(bench.count(kind::RUN_SUSPENDED).await, 2);
    drop(claim);
}

#[tokio::test]
async fn the_state_is_told_with_and_without_a_program() {
    let bench = Bench::new();
    let waiting = bench.say("t", MIXED, json!(1)).await;
    let program = bench.program(MIXED);
    let whole = bench
        .live()
        .state(&program, &name("t"), None)
        .await
        .unwrap();
    assert_eq!(whole.asks.len(), waiting.asks.len());
    assert_eq!(whole.next.len(), 2);
    assert_eq!(whole.state["list"], json!([1]));
    let bare = bench.stood(None).await;
    assert_eq!(bare.state, whole.state, "every channel was written");
    bench.finish("t").await;
    let then = bench.stood(1).await;
    assert_eq!((then.state, then.asks.len()), (bare.state, 0));
    let fresh = bench.live().state(&program, &name("t"), Some(9)).await;
    assert_eq!(fresh.unwrap_err().code().as_str(), "RAG0414");
}
