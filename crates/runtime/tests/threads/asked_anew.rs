//! A fork of a thread that waits: what was asked and granted there counts there alone.

use std::{collections::BTreeMap, sync::Arc};

use rustagents_core::{
    ask::{Answer, Ask},
    code::Coded,
    ids::{Branch, CallId, FactKey},
    journal::{Author, Batch, Chain, Entry, Journal, Owner, Place, Record, kind},
    message::MessageBody,
    tool::EffectClass,
};
use rustagents_runtime::{
    Decision, Report, Resume, RunError, Start, StateEdit, Status, ThreadView, UpdateState, Watch,
    threads::{Fork, fork},
    view::Phase,
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use rustagents_store_sqlite::SqliteJournal;
use rustagents_testkit::batch;
use serde_json::json;

use super::{MIXED, WORD, name};
use crate::bench::{Bench, approve};

/// One clerk whose call may have been made.
const LOSING: &str = r#"graph losing {
  channel messages messages
  channel note overwrite
  channel list append
  start clerk
  node clerk { kind agent  model "losing"  prompt "Lose it."  tools ["lose"]  next END }
}"#;

/// A clerk who pays again and again.
const GREEDY: &str = r#"graph greedy {
  channel messages messages
  channel note overwrite
  channel list append
  start clerk
  node clerk { kind agent  model "greedy"  prompt "More."  tools ["pay"]  next END }
}"#;

fn at(from: &str, checkpoint: impl Into<Option<u64>>, to: &str) -> Fork {
    Fork {
        from: name(from),
        to: name(to),
        checkpoint: checkpoint.into(),
        repeats: false,
    }
}

impl Bench {
    async fn decide(
        &self,
        thread: &str,
        source: &str,
        decisions: Vec<Decision>,
    ) -> Result<Report, RunError> {
        let resume = Resume {
            thread: name(thread),
            decisions,
        };
        let (runtime, program) = (self.live(), self.program(source));
        runtime.resume(&program, resume, Watch::default()).await
    }

    async fn forked(&self, from: &str, to: &str) {
        let made = fork(&*self.journal, &at(from, None, to)).await.unwrap();
        assert_eq!(made, []);
        self.is_whole(to).await;
    }

    async fn look(&self, thread: &str) -> ThreadView {
        let view = ThreadView::load(&*self.journal, &name(thread)).await;
        view.unwrap().unwrap()
    }

    /// Says that a decision is refused as one that names nothing, and wrote nothing.
    async fn knows_not(&self, thread: &str, source: &str, decision: Decision) {
        let before = self.all(thread).await;
        let refused = self.decide(thread, source, vec![decision]).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code().as_str(), "RAG0402");
        // Before a fork is resumed, nobody was asked anything.
        let was_asked = self.look(thread).await.pending().next().is_some();
        let hint = refused.hint().unwrap();
        assert_eq!(hint.starts_with("pending: "), was_asked, "{hint}");
        assert_eq!(
            hint.contains("resume without answers"),
            !was_asked,
            "{hint}"
        );
        assert_eq!(self.all(thread).await, before);
    }

    /// Says that each call of the thread has exactly one result.
    async fn has_one_result_each(&self, thread: &str) {
        let messages = self.journal.messages(&name(thread), 0, 1_000).await;
        let messages = messages.unwrap().into_iter().map(|(_, message)| message);
        let messages: Vec<_> = messages.collect();
        let calls = messages.iter().flat_map(|message| message.calls());
        let mut results: BTreeMap<CallId, usize> = calls.map(|call| (call.id.clone(), 0)).collect();
        for message in &messages {
            if let MessageBody::Tool { call, .. } = &message.body {
                *results.get_mut(call).unwrap() += 1;
            }
        }
        assert!(results.values().all(|count| *count == 1), "{results:?}");
    }
}

fn ids(report: &Report) -> Vec<&str> {
    report.asks.iter().map(|ask| ask.id.as_str()).collect()
}

async fn each_finishes_with_its_own_calls(journal: Arc<dyn Journal>) {
    let bench = Bench::on(journal);
    let waits = bench.say("t", MIXED, json!(1)).await;
    assert_eq!(ids(&waits), ["c-1", "c-2"]);
    let source = bench.all("t").await;
    bench.forked("t", "u").await;
    let view = bench.look("u").await;
    assert_eq!(
        (view.phase.clone(), view.pending().count()),
        (Phase::Open, 0)
    );
    bench.knows_not("u", MIXED, approve("c-1")).await;
    let asked = bench.decide("u", MIXED, vec![]).await.unwrap();
    assert_eq!(ids(&asked), ["c-3", "c-4"], "it is asked anew");
    assert_eq!(bench.all("t").await, source);
    bench.knows_not("t", MIXED, approve("c-3")).await;
    bench.knows_not("u", MIXED, approve("c-1")).await;
    assert_eq!(bench.world.changes().len(), 0);
    for (thread, calls) in [("u", ["c-3", "c-4"]), ("t", ["c-1", "c-2"])] {
        let decisions = calls.map(approve).to_vec();
        let done = bench.decide(thread, MIXED, decisions).await.unwrap();
        assert_eq!(done.status, Status::Completed, "{thread}");
        bench.is_whole(thread).await;
        bench.has_one_result_each(thread).await;
    }
    assert_eq!(bench.world.changes().len(), 4, "each its own");
    let more = bench.one_more("u").await;
    assert_eq!(bench.one_more("t").await.len(), more.len());
}

#[tokio::test]
async fn a_thread_that_waits_and_its_copy_finish_each_with_its_own_calls() {
    each_finishes_with_its_own_calls(Arc::new(MemoryJournal::new())).await;
    let folder = tempfile::tempdir().unwrap();
    let journal = SqliteJournal::open(folder.path().join("journal.db"));
    each_finishes_with_its_own_calls(Arc::new(journal.unwrap())).await;
}

#[tokio::test]
async fn what_was_granted_and_not_begun_is_asked_again() {
    let bench = Bench::new();
    bench.say("t", MIXED, json!(1)).await;
    let granted = [approve("c-1"), approve("c-2")];
    bench.live().answer(&name("t"), &granted).await.unwrap();
    bench.forked("t", "u").await;
    let asked = bench.decide("u", MIXED, vec![]).await.unwrap();
    assert_eq!(ids(&asked), ["c-3", "c-4"]);
    assert_eq!(bench.world.changes().len(), 0);
    let done = bench.decide("t", MIXED, vec![]).await.unwrap();
    assert_eq!(done.status, Status::Completed);
    assert_eq!(bench.world.changes().len(), 2);
}

#[tokio::test]
async fn what_was_done_stays_done_in_a_fork_of_the_rest() {
    let bench = Bench::new();
    bench.say("t", MIXED, json!(1)).await;
    let waits = bench
        .decide("t", MIXED, vec![approve("c-1")])
        .await
        .unwrap();
    assert_eq!(ids(&waits), ["c-2"]);
    assert_eq!(bench.world.changes().len(), 1);
    bench.forked("t", "u").await;
    bench.forked("u", "v").await;
    for (thread, call) in [("u", "c-3"), ("v", "c-4"), ("t", "c-2")] {
        let asked = bench.decide(thread, MIXED, vec![]).await.unwrap();
        assert_eq!(ids(&asked), [call], "{thread}");
        let done = bench
            .decide(thread, MIXED, vec![approve(call)])
            .await
            .unwrap();
        assert_eq!(done.status, Status::Completed, "{thread}");
        bench.has_one_result_each(thread).await;
        bench.is_whole(thread).await;
    }
    assert_eq!(bench.world.changes().len(), 4);
}

#[tokio::test]
async fn a_denial_that_was_not_heard_is_not_heard_in_the_fork() {
    let bench = Bench::new();
    bench.say("t", MIXED, json!(1)).await;
    let deny = |call: &str| Decision::Deny {
        call: call.into(),
        reason: None,
    };
    let denied = [deny("c-1"), deny("c-2")];
    bench.live().answer(&name("t"), &denied).await.unwrap();
    bench.forked("t", "u").await;
    assert_eq!(bench.approve_all("u", MIXED).await.asks.len(), 2);
    bench.finish("u").await;
    assert_eq!(bench.world.changes().len(), 2);
}

#[tokio::test]
async fn a_call_in_doubt_stays_in_doubt_and_the_answer_of_the_source_does_not_settle_it() {
    let bench = Bench::new();
    let waits = bench.say("t", LOSING, json!(1)).await;
    assert_eq!(ids(&waits), ["c-1/doubt/1"]);
    let repeat = |call: &str| Decision::Repeat { call: call.into() };
    bench
        .live()
        .answer(&name("t"), &[repeat("c-1")])
        .await
        .unwrap();
    bench.forked("t", "u").await;
    let doubted = bench.look("u").await.in_doubt().unwrap();
    assert_eq!(doubted, [(CallId::from("c-2"), "lose".to_owned())]);
    let cancelled = bench.live().cancel(&name("u")).await.unwrap_err();
    assert_eq!(cancelled.code().as_str(), "RAG0412");
    bench.knows_not("u", LOSING, repeat("c-1")).await;
    let asked = bench.decide("u", LOSING, vec![]).await.unwrap();
    assert_eq!(ids(&asked), ["c-2/doubt/1"], "it is not made once more");
    let done = Decision::Done {
        call: "c-2".into(),
        result: json!("found"),
    };
    let done = bench.decide("u", LOSING, vec![done]).await.unwrap();
    assert_eq!(done.status, Status::Completed);
    bench.has_one_result_each("u").await;
    bench.is_whole("u").await;
}

/// Facts about the call of `left`, as a driver leaves them.
async fn facts(bench: &Bench, facts: &[(&str, &'static str, String)]) {
    let run = bench.look("t").await.run;
    let entries = facts.iter().map(|(key, kind, body)| Entry {
        run: run.clone(),
        chain: Chain {
            branch: Branch::main(),
            namespace: "left:1.0".into(),
        },
        kind: match *kind {
            "intent" => kind::INTENT,
            _ => kind::RESULT,
        },
        effect: Some(EffectClass::Once),
        ..batch::entry(Place::Fact((*key).into()), body)
    });
    let left = Batch {
        author: Author::Outside,
        ..batch::batch(&name("t"), 0, entries.collect())
    };
    bench.journal.append(left).await.unwrap();
}

#[tokio::test]
async fn a_call_that_was_let_go_before_it_did_anything_is_asked_about_again() {
    let bench = Bench::new();
    bench.say("t", MIXED, json!(1)).await;
    let granted = [approve("c-1")];
    bench.live().answer(&name("t"), &granted).await.unwrap();
    let intent = r#"{"call":"c-1","tool":"pay","number":1,"approval":"c-1"}"#;
    let released = r#"{"call":"c-1","number":1}"#;
    facts(
        &bench,
        &[
            ("call/c-1/intent/1", "intent", intent.into()),
            ("call/c-1/released/1", "result", released.into()),
        ],
    )
    .await;
    bench.forked("t", "u").await;
    assert_eq!(bench.look("u").await.in_doubt().unwrap(), []);
    let asked = bench.decide("u", MIXED, vec![]).await.unwrap();
    assert_eq!(ids(&asked), ["c-3", "c-4"]);
    let decisions = vec![approve("c-3"), approve("c-4")];
    let done = bench.decide("u", MIXED, decisions).await.unwrap();
    assert_eq!(done.status, Status::Completed);
    assert_eq!(bench.world.changes().len(), 2);
    let records = bench.all("u").await;
    let keys = records.iter().filter_map(Record::key);
    let keys: Vec<_> = keys.map(FactKey::as_str).collect();
    assert!(keys.contains(&"call/c-3/intent/2"), "{keys:?}");
    assert!(!keys.iter().any(|key| key.contains("c-1")), "{keys:?}");
}

#[tokio::test]
async fn a_fork_at_a_change_of_a_state_that_waited_is_asked_anew() {
    let bench = Bench::new();
    bench.say("t", MIXED, json!(1)).await;
    let (runtime, program) = (bench.live(), bench.program(MIXED));
    let set = vec![("note".into(), json!("by hand"))];
    let update = UpdateState {
        thread: name("t"),
        edits: vec![StateEdit {
            set,
            ..StateEdit::default()
        }],
    };
    runtime.update_state(&program, update).await.unwrap();
    for (number, to, calls) in [(2, "u", ["c-3", "c-4"]), (1, "v", ["c-3", "c-4"])] {
        fork(&*bench.journal, &at("t", number, to)).await.unwrap();
        bench.is_whole(to).await;
        let asked = bench.decide(to, MIXED, vec![]).await.unwrap();
        assert_eq!(ids(&asked), calls, "{to}");
        bench.finish(to).await;
    }
}

#[tokio::test]
async fn a_run_that_is_over_for_good_is_copied_to_the_letter() {
    let bench = Bench::new();
    bench.say("t", MIXED, json!(1)).await;
    bench.live().cancel(&name("t")).await.unwrap();
    bench.forked("t", "u").await;
    assert_eq!(bench.all("u").await, bench.all("t").await);
    bench.say("u", WORD, json!(2)).await;
    bench.is_whole("u").await;
}

#[tokio::test]
async fn a_copy_that_dies_at_its_write_is_there_with_nothing_granted_or_not_at_all() {
    for side in [Side::Before, Side::After] {
        let bench = Bench::new();
        bench.say("t", MIXED, json!(1)).await;
        let granted = [approve("c-1"), approve("c-2")];
        bench.live().answer(&name("t"), &granted).await.unwrap();
        let source = bench.all("t").await;
        let mut write = 1;
        loop {
            let point = FaultPoint { write, side };
            let dying = FaultJournal::new(Arc::clone(&bench.journal), point, || {});
            let to = format!("u{write}");
            let made = fork(&dying, &at("t", None, &to)).await;
            assert_eq!(bench.all("t").await, source);
            if !dying.is_dead() {
                assert_eq!(made.unwrap(), []);
                break;
            }
            made.unwrap_err();
            if side == Side::After {
                let asked = bench.decide(&to, MIXED, vec![]).await.unwrap();
                assert_eq!(ids(&asked), ["c-3", "c-4"]);
                bench.is_whole(&to).await;
            } else {
                assert_eq!(bench.all(&to).await, []);
            }
            write += 1;
        }
        assert_eq!(write, 2, "a copy is one write");
        assert_eq!(bench.world.changes().len(), 0);
    }
}

#[tokio::test]
async fn an_answer_to_a_question_of_the_source_counts_for_nothing_in_the_fork() {
    let bench = Bench::new();
    bench.say("t", MIXED, json!(1)).await;
    bench.forked("t", "u").await;
    let asked = bench.decide("u", MIXED, vec![]).await.unwrap();
    let hash = asked.asks[0].call().unwrap().hash;
    // As if it had been written past every check.
    let fork = name("u");
    let claim = bench.journal.claim(&fork, Owner::default()).await.unwrap();
    let entry = Entry {
        chain: batch::root(),
        kind: kind::ANSWER,
        ..batch::entry(
            Place::Fact(Ask::answer_key(&"c-1".into())),
            &serde_json::to_string(&Answer::Approve { hash }).unwrap(),
        )
    };
    let stray = batch::batch(&fork, claim.epoch, vec![entry]);
    bench.journal.append(stray).await.unwrap();
    drop(claim);
    let still = bench.decide("u", MIXED, vec![]).await.unwrap();
    assert_eq!(ids(&still), ["c-3", "c-4"]);
    assert_eq!(bench.world.changes().len(), 0);
}

#[tokio::test]
async fn an_id_that_both_threads_give_later_is_answered_in_the_one_that_is_named() {
    let bench = Bench::new();
    bench.say("t", MIXED, json!(1)).await;
    bench.forked("t", "u").await;
    bench.finish("t").await;
    let paid = bench.world.changes().len();
    let there = bench.say("t", GREEDY, json!(2)).await;
    let here = bench.decide("u", MIXED, vec![]).await.unwrap();
    assert_eq!((ids(&there), ids(&here)), (vec!["c-3"], vec!["c-3", "c-4"]));
    let granted = |report: &Report| Decision::Approve {
        call: "c-3".into(),
        hash: Some(report.asks[0].call().unwrap().hash.short()),
    };
    for (thread, source, other) in [("t", GREEDY, &here), ("u", MIXED, &there)] {
        let before = bench.all(thread).await;
        let refused = bench.decide(thread, source, vec![granted(other)]).await;
        assert_eq!(refused.unwrap_err().code().as_str(), "RAG0403", "{thread}");
        let refused = bench.live().answer(&name(thread), &[granted(other)]).await;
        assert_eq!(refused.unwrap_err().code().as_str(), "RAG0403", "{thread}");
        assert_eq!(bench.all(thread).await, before);
    }
    let before = bench.all("u").await;
    let decisions = vec![granted(&there)];
    let more = bench.decide("t", GREEDY, decisions).await.unwrap();
    assert_eq!(ids(&more), ["c-4"], "the next one is asked about");
    let changes = bench.world.changes();
    assert_eq!(changes[paid..], [r#"pay {"cents":7}"#]);
    assert_eq!(bench.all("u").await, before);
    let still = bench.decide("u", MIXED, vec![approve("c-4")]).await;
    assert_eq!(ids(&still.unwrap()), ["c-3"], "it waits for its own answer");
}

/// Brings the thread to its end as a person would who knows of each call that was begun
/// that it took effect.
async fn brought_to_its_end(bench: &Bench, thread: &str) -> Option<Report> {
    let mut report = bench.decide(thread, MIXED, vec![]).await.ok()?;
    for _ in 0..10 {
        if report.status != Status::Suspended {
            return Some(report);
        }
        let ask = &report.asks[0];
        let call = ask.call().unwrap().call.to_string();
        let decision = if ask.subject.is_in_doubt() {
            let result = json!({ "ok": true });
            Decision::Done { call, result }
        } else {
            Decision::Approve { call, hash: None }
        };
        report = bench.decide(thread, MIXED, vec![decision]).await.ok()?;
    }
    panic!("no end after ten resumes");
}

#[tokio::test]
async fn a_copy_of_a_run_that_died_at_any_write_begins_no_call_that_was_begun_before() {
    for write in 2.. {
        let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
        let point = FaultPoint {
            write,
            side: Side::After,
        };
        let dying = Arc::new(FaultJournal::new(Arc::clone(&inner), point, || {}));
        let source = Bench::on(Arc::clone(&dying) as Arc<dyn Journal>);
        let start = Start {
            thread: Some(name("t")),
            ..source.request()
        };
        let (runtime, program) = (source.live(), source.program(MIXED));
        let _ = runtime.start(&program, start, Watch::default()).await;
        let _ = brought_to_its_end(&source, "t").await;
        let bench = Bench::on(inner);
        let begun = bench.count(kind::INTENT).await;
        bench.forked("t", "u").await;
        let ended = brought_to_its_end(&bench, "u").await.unwrap();
        assert_eq!(ended.status, Status::Completed, "write {write}");
        let made = bench.world.changes().len();
        assert_eq!(made + begun, 2, "write {write}");
        bench.has_one_result_each("u").await;
        bench.is_whole("u").await;
        if !dying.is_dead() {
            assert!(write > 10, "the story has {write} writes");
            return;
        }
    }
}
