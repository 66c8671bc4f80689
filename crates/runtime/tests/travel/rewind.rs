use rustagents_core::{
    code::Coded,
    ids::{MessageId, NodeName},
    journal::{Owner, Record, kind},
};
use rustagents_runtime::{
    Decision, RunError, StateEdit, Status, ThreadView, Watch, inspect,
    record::RunOpened,
    threads::{
        Fork, Keep, Rewind, check, fork, state_at, stats,
        transfer::{image, read, write},
    },
    view::Phase,
};
use serde_json::json;

use crate::{
    bench::{Bench, DESK, approve},
    threads::{MIXED, WORD, name},
};

async fn view(bench: &Bench, thread: &str) -> ThreadView {
    let view = ThreadView::load(&*bench.journal, &name(thread)).await;
    view.unwrap().unwrap()
}

async fn forked(bench: &Bench, checkpoint: u64, to: &str) {
    let given = Fork {
        from: name("t"),
        to: name(to),
        checkpoint: Some(checkpoint),
        repeats: true,
    };
    fork(&*bench.journal, &given).await.unwrap();
    bench.is_whole(to).await;
}

/// Two runs, the second of which pays; then back to where the clerks begin, and to
/// the end along the new line, on another note. Checkpoints: 1 and 2, 3 to 5, the fork
/// 6, the update 7, and 8 and 9.
async fn two_lines() -> Bench {
    let bench = Bench::new();
    bench.say("t", WORD, json!("first")).await;
    bench.paid("t", json!("second")).await;
    let rewound = bench.go_back("t", 3).await.unwrap();
    assert_eq!((rewound.from, rewound.checkpoint), (3, 6));
    let edit = StateEdit {
        set: vec![("note".into(), json!("third"))],
        ..Default::default()
    };
    bench.update("t", vec![edit]).await.unwrap();
    bench.finish("t").await;
    bench
}

#[tokio::test]
async fn a_finished_thread_goes_back_and_a_resume_drives_the_new_run() {
    let bench = Bench::new();
    let first = bench.paid("t", json!(1)).await;
    let before = bench.all("t").await;
    assert_eq!(bench.checkpoints("t").await, [1, 2, 3]);
    let rewound = bench.go_back("t", 1).await.unwrap();
    assert_eq!(rewound.cancelled, None);
    assert_eq!(
        rewound.repeats.len(),
        2,
        "both payments may be made once more"
    );
    let next: Vec<_> = rewound.next.iter().map(NodeName::as_str).collect();
    assert_eq!(next, ["left", "right"]);
    assert_eq!(
        bench.all("t").await[..before.len()],
        before[..],
        "nothing old changed"
    );
    let seen = view(&bench, "t").await;
    assert_eq!((&seen.run, seen.attempts), (&rewound.run, 1));
    assert_ne!(seen.run, first.run);
    assert_eq!(seen.phase, Phase::Open);
    assert_eq!(seen.opened.input, view_input(&before));
    let waits = bench.approve_all("t", MIXED).await;
    assert_eq!((waits.status, waits.asks.len()), (Status::Suspended, 2));
    let end = bench.approve_all("t", MIXED).await;
    assert_eq!((end.status, end.output), (first.status, first.output));
    assert_eq!(end.spent.model_calls, 5, "a new run counts its own calls");
    assert_eq!(bench.world.changes().len(), 4);
    bench.is_whole("t").await;
}

fn view_input(records: &[Record]) -> Option<MessageId> {
    let opened = records
        .iter()
        .find(|record| record.is(kind::RUN_OPENED))
        .unwrap();
    let opened: RunOpened = opened.decode(kind::RUN_OPENED).unwrap();
    opened.input
}

#[tokio::test]
async fn calls_behind_the_checkpoint_are_named_and_nothing_is_written() {
    let bench = Bench::new();
    bench.paid("t", json!(1)).await;
    let records = bench.records().await;
    let error = bench.rewind("t", 1, false).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0412");
    let text = error.to_string();
    assert!(
        text.starts_with("going back in thread `t` could make calls again: c-"),
        "{text}"
    );
    assert_eq!(bench.records().await, records);
    assert!(
        bench
            .rewind("t", 2, false)
            .await
            .unwrap()
            .repeats
            .is_empty()
    );
}

#[tokio::test]
async fn a_waiting_run_is_given_up_and_its_questions_are_void() {
    let bench = Bench::new();
    let waiting = bench.say("t", MIXED, json!(1)).await;
    let rewound = bench.rewind("t", 1, false).await.unwrap();
    assert_eq!(rewound.cancelled, Some(waiting.run.clone()));
    let all = bench.all("t").await;
    let closed = all
        .iter()
        .find(|record| record.is(kind::RUN_CLOSED))
        .unwrap();
    assert_eq!(closed.run, waiting.run);
    let seen = view(&bench, "t").await;
    assert_eq!((seen.pending().count(), &seen.phase), (0, &Phase::Open));
    let error = bench.resume(MIXED, vec![approve("c-1")]).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0402");
    let again = bench.approve_all("t", MIXED).await;
    let calls: Vec<_> = again.asks.iter().map(|ask| ask.id.as_str()).collect();
    assert_eq!(calls, ["c-3", "c-4"], "questions of its own");
    bench.finish("t").await;
    assert_eq!(bench.world.changes().len(), 2);
    bench.is_whole("t").await;
}

#[tokio::test]
async fn a_call_in_doubt_is_settled_before_anybody_goes_back() {
    let losing = r#"graph g {
  channel messages messages
  channel note overwrite
  channel list append
  start left
  node left { kind agent  model "losing"  prompt "Lose."  tools ["lose"]  next END }
}"#;
    let bench = Bench::new();
    bench.say("t", losing, json!(1)).await;
    let records = bench.records().await;
    let error = bench.go_back("t", 1).await.unwrap_err();
    assert!(matches!(error, RunError::InDoubt { .. }), "{error}");
    assert_eq!(bench.records().await, records);
    let settled = Decision::NotDone { call: "c-1".into() };
    bench.resume(losing, vec![settled]).await.unwrap();
    bench.go_back("t", 1).await.unwrap();
}

#[tokio::test]
async fn the_end_of_an_earlier_run_takes_a_new_input_and_the_last_end_is_refused() {
    let bench = Bench::new();
    let first = bench.say("t", WORD, json!(1)).await;
    bench.say("t", WORD, json!(2)).await;
    let records = bench.records().await;
    let error = bench.go_back("t", 4).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0416");
    assert_eq!(
        error.to_string(),
        "the last run of thread `t` is over, and stands at checkpoint 4"
    );
    assert_eq!(bench.records().await, records);
    let rewound = bench.go_back("t", 2).await.unwrap();
    assert!(rewound.next.is_empty());
    let seen = view(&bench, "t").await;
    assert_eq!(seen.report().status, Status::Completed);
    assert_eq!(seen.report().output, first.output);
    assert_eq!(bench.stood(None).await.state["note"], json!(1));
    bench.say("t", WORD, json!(3)).await;
    let stood = bench.stood(None).await;
    assert_eq!(
        stood.state["list"],
        json!([1, 3]),
        "the second run is not in it"
    );
    bench.is_whole("t").await;
}

#[tokio::test]
async fn a_pending_node_that_is_gone_is_refused() {
    let bench = Bench::new();
    bench.paid("t", json!(1)).await;
    let records = bench.records().await;
    let rewind = Rewind {
        thread: name("t"),
        checkpoint: 1,
        target: None,
        repeats: true,
    };
    let refused = bench.live().rewind(&bench.program(WORD), rewind).await;
    assert_eq!(refused.unwrap_err().code().as_str(), "RAG0409");
    assert_eq!(bench.records().await, records);
    for missing in [0, 4] {
        let error = bench.go_back("t", missing).await.unwrap_err();
        assert_eq!(error.code().as_str(), "RAG0414");
        assert_eq!(error.hint().unwrap(), "it has the checkpoints 1 to 3");
    }
}

#[tokio::test]
async fn history_state_and_stats_follow_the_line() {
    let bench = two_lines().await;
    let moments = inspect::history(&*bench.journal, &name("t"), 100, None).await;
    let moments = moments.unwrap();
    let told: Vec<_> = moments.iter().map(|m| (m.checkpoint, m.from)).collect();
    assert_eq!(
        told,
        [
            (1, None),
            (2, None),
            (3, None),
            (4, None),
            (5, None),
            (6, Some(3)),
            (7, None),
            (8, None),
            (9, None)
        ]
    );
    for (checkpoint, note) in [
        (2, "first"),
        (5, "second"),
        (6, "second"),
        (7, "third"),
        (9, "third"),
    ] {
        let stood = bench.stood(checkpoint).await;
        assert_eq!(stood.state["note"], json!(note), "checkpoint {checkpoint}");
        let messages = stood.state["messages"].as_array().unwrap().len();
        let expected = if checkpoint == 2 { 2 } else { 3 };
        assert!(messages >= expected, "{messages}");
    }
    assert_eq!(bench.stood(3).await.state, bench.stood(6).await.state);
    assert_eq!(
        bench.stood(3).await.next.len(),
        bench.stood(6).await.next.len()
    );
    let page = inspect::history(&*bench.journal, &name("t"), 2, Some(7))
        .await
        .unwrap();
    assert_eq!(
        page.iter().map(|m| m.checkpoint).collect::<Vec<_>>(),
        [5, 6]
    );
    let counted = stats::stats(&*bench.journal, &name("t")).await.unwrap();
    assert_eq!((counted.runs, counted.checkpoints), (3, 9));
    let problems = check::check(&*bench.journal, &name("t")).await.unwrap();
    assert_eq!(problems, []);
}

#[tokio::test]
async fn forks_on_either_line_have_the_state_of_their_line() {
    let bench = two_lines().await;
    for checkpoint in 1..=9 {
        let to = format!("f{checkpoint}");
        forked(&bench, checkpoint, &to).await;
        let state = state_at(&*bench.journal, &name("t"), Some(checkpoint))
            .await
            .unwrap();
        let copy = state_at(&*bench.journal, &name(&to), None).await.unwrap();
        assert_eq!(state, copy, "checkpoint {checkpoint}");
        bench.finish(&to).await;
        bench.one_more(&to).await;
        bench.is_whole(&to).await;
    }
}

#[tokio::test]
async fn a_thread_goes_back_across_its_own_forks() {
    let bench = two_lines().await;
    // To the other line, from it to the input of the first run, and to a fork.
    for (to, note) in [(4, "second"), (1, "first"), (6, "second"), (8, "third")] {
        bench.go_back("t", to).await.unwrap();
        assert_eq!(
            bench.stood(None).await.state["note"],
            json!(note),
            "to {to}"
        );
        bench.is_whole("t").await;
        bench.finish("t").await;
        bench.is_whole("t").await;
    }
}

#[tokio::test]
async fn pruning_keeps_what_going_back_needs() {
    for keep in 1..=9 {
        let bench = two_lines().await;
        bench
            .live()
            .prune(&name("t"), Keep::Last(keep))
            .await
            .unwrap();
        bench.is_whole("t").await;
        let whole = two_lines().await;
        let kept = bench.checkpoints("t").await;
        assert_eq!(kept.len() as u64, keep);
        for checkpoint in kept {
            let (state, twin) = (bench.stood(checkpoint).await, whole.stood(checkpoint).await);
            assert_eq!(
                state.state, twin.state,
                "keep {keep}, checkpoint {checkpoint}"
            );
            forked(&bench, checkpoint, &format!("f{checkpoint}")).await;
        }
        let first = bench.checkpoints("t").await[0];
        if first < 9 {
            bench.go_back("t", first).await.unwrap();
            bench.finish("t").await;
            bench.is_whole("t").await;
        }
    }
}

#[tokio::test]
async fn deleting_a_run_leaves_the_other_lines_whole() {
    for index in 0..3 {
        let bench = two_lines().await;
        let mut runs: Vec<_> = inspect::history(&*bench.journal, &name("t"), 100, None)
            .await
            .unwrap()
            .into_iter()
            .map(|moment| moment.run)
            .collect();
        runs.dedup();
        let before = bench.stood(None).await.state;
        bench
            .live()
            .delete_run(&name("t"), &runs[index])
            .await
            .unwrap();
        bench.is_whole("t").await;
        let now = bench.stood(None).await.state;
        if index == 2 {
            assert_eq!(now["note"], json!("second"), "as before it went back");
        } else {
            assert_eq!(now, before);
        }
        bench.one_more("t").await;
        bench.is_whole("t").await;
    }
}

#[tokio::test]
async fn a_rewound_thread_is_exported_and_imported_as_it_is() {
    let bench = two_lines().await;
    bench.go_back("t", 3).await.unwrap();
    let mut bytes = Vec::new();
    let whole = image(&*bench.journal, &name("t")).await.unwrap();
    write(&whole, &mut bytes).unwrap();
    let other = Bench::new();
    let read = read(&mut std::io::BufReader::new(&*bytes)).unwrap();
    other.journal.install(read).await.unwrap();
    other.is_whole("t").await;
    assert_eq!(other.all("t").await, bench.all("t").await);
    other.finish("t").await;
    assert_eq!(other.stood(None).await.state["note"], json!("second"));
}

#[tokio::test]
async fn a_driven_thread_does_not_go_back_unless_it_is_taken_over() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let owner = Owner {
        process: 9,
        since_ms: 0,
    };
    let claim = bench.journal.claim(&Bench::thread(), owner).await.unwrap();
    let rewind = Rewind {
        thread: name("t"),
        checkpoint: 1,
        target: None,
        repeats: false,
    };
    let program = bench.program(DESK);
    let runtime = bench.runtime();
    let busy = runtime.rewind(&program, rewind.clone()).await.unwrap_err();
    assert_eq!(busy.code().as_str(), "RAG0305");
    let taken = bench
        .live()
        .taking_over(true)
        .rewind(&program, rewind)
        .await;
    assert_eq!(taken.unwrap().checkpoint, 2);
    drop(claim);
    let report = bench
        .live()
        .start(&program, bench.request(), Watch::default())
        .await;
    assert!(matches!(report, Err(RunError::Unfinished { .. })));
}

#[tokio::test]
async fn calls_that_a_task_made_before_an_update_are_named_when_going_back_to_it() {
    let bench = Bench::new();
    bench.say("t", MIXED, json!(1)).await;
    let one = view(&bench, "t").await;
    let one = approve(one.pending().next().unwrap().id.as_str());
    bench.resume(MIXED, vec![one]).await.unwrap();
    assert_eq!(bench.world.changes().len(), 1);
    let edit = StateEdit {
        set: vec![("note".into(), json!("by hand"))],
        ..Default::default()
    };
    bench.update("t", vec![edit]).await.unwrap();
    let error = bench.rewind("t", 2, false).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0412", "{error}");
    let given = Fork {
        from: name("t"),
        to: name("u"),
        checkpoint: Some(2),
        repeats: false,
    };
    let again = fork(&*bench.journal, &given).await.unwrap();
    assert_eq!(again, [], "the call and its result go along");
    bench.finish("t").await;
    bench.live().prune(&name("t"), Keep::Last(3)).await.unwrap();
    assert_eq!(bench.checkpoints("t").await, [2, 3, 4]);
    let rewound = bench.go_back("t", 2).await.unwrap();
    assert_eq!(rewound.repeats.len(), 2, "{:?}", rewound.repeats);
    bench.is_whole("t").await;
}
