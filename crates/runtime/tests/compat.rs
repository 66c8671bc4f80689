//! A plan that changed while something was pending: forced, or pinned.

use std::sync::{Arc, Mutex};

use rustagents_core::{
    code::Coded,
    event::{Event, Events},
    journal::{Journal, kind},
    message::{MessageBody, ResultStatus},
};
use rustagents_graph::{GraphBuilder, NodeOutput, Reducer, Writes};
use rustagents_runtime::{
    Capabilities, Decision, GraphRunner, PinError, Program, Report, Resume, RunError, Status,
    Watch,
    program::LowerError,
    record::{Forced, GoneWithout, RunAttempt},
    threads::check::check,
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use serde_json::json;

use crate::bench::{Bench, DESK, approve};

/// One clerk whose call is in doubt.
const LOST: &str = r#"graph lost {
  channel messages messages
  start clerk
  node clerk { kind agent  model "losing"  prompt "Lose."  tools ["lose"]  next END }
}"#;

fn without_left() -> String {
    DESK.replace("left", "links")
}

fn without_tool() -> String {
    DESK.replace(r#""Left."  tools ["pay"]"#, r#""Left.""#)
}

async fn forced(
    bench: &Bench,
    source: &str,
    decisions: Vec<Decision>,
    events: Events,
) -> Result<Report, RunError> {
    let resume = Resume {
        thread: Bench::thread(),
        decisions,
    };
    let watch = Watch {
        events,
        ..bench.watch()
    };
    let program = bench.program(source);
    let report = bench.runtime().resume_forced(&program, resume, watch).await;
    let wrong = check(&*bench.journal, &Bench::thread()).await.unwrap();
    assert_eq!(wrong, []);
    report
}

async fn force(bench: &Bench, source: &str, decisions: Vec<Decision>) -> Result<Report, RunError> {
    forced(bench, source, decisions, Events::default()).await
}

fn waiting() -> Resume {
    Resume {
        thread: Bench::thread(),
        decisions: Vec::new(),
    }
}

async fn attempts(bench: &Bench) -> Vec<RunAttempt> {
    let log = bench.log().await;
    let records = log.records().iter();
    let attempts = records.filter(|record| record.is(kind::RUN_ATTEMPT));
    attempts
        .map(|record| record.decode(kind::RUN_ATTEMPT).unwrap())
        .collect()
}

async fn last_attempt(bench: &Bench) -> RunAttempt {
    attempts(bench).await.pop().unwrap()
}

fn done(call: &str) -> Decision {
    Decision::Done {
        call: call.into(),
        result: json!({ "lost": true }),
    }
}

fn not_done(call: &str) -> Decision {
    Decision::NotDone { call: call.into() }
}

#[tokio::test]
async fn a_task_without_a_node_is_dropped_and_the_others_go_on() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&told);
    let events = Events::listen(move |event| {
        if let Event::Forced { what, why } = event {
            hears.lock().unwrap().push(format!("{what}: {why}"));
        }
    });
    let report = forced(&bench, &without_left(), vec![approve("c-2")], events).await;
    assert_eq!(report.unwrap().status, Status::Completed);
    assert_eq!(bench.world.changes().len(), 1);
    let expected = Forced {
        what: GoneWithout::Task("left:1.0".into()),
        why: "there is no node `left` any more".into(),
    };
    assert_eq!(last_attempt(&bench).await.forced, [expected]);
    let told = told.lock().unwrap().clone();
    assert_eq!(told, ["task left:1.0: there is no node `left` any more"]);
    assert_eq!(bench.view().await.pending().count(), 0);
}

#[tokio::test]
async fn what_waits_besides_goes_on_waiting() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let report = force(&bench, &without_left(), vec![]).await.unwrap();
    assert_eq!((report.status, report.asks.len()), (Status::Suspended, 1));
    assert_eq!(report.asks[0].id.as_str(), "c-2");
    let report = bench.resume(&without_left(), vec![approve("c-2")]).await;
    assert_eq!(report.unwrap().status, Status::Completed);
}

#[tokio::test]
async fn a_call_without_a_tool_is_settled_as_not_run() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let report = force(&bench, &without_tool(), vec![approve("c-2")])
        .await
        .unwrap();
    assert_eq!(report.status, Status::Completed);
    assert_eq!(
        bench.world.changes().len(),
        1,
        "the other call alone was made"
    );
    let expected = Forced {
        what: GoneWithout::Call("c-1".into()),
        why: "the tool `pay` is gone".into(),
    };
    assert_eq!(last_attempt(&bench).await.forced, [expected]);
    let log = bench.log().await;
    let last = log.last_message();
    let mut told = (1..=last).filter_map(|n| {
        let id = rustagents_core::ids::MessageId::numbered(n);
        let message = log.message(&id).unwrap();
        match &message.body {
            MessageBody::Tool { call, status, .. } if call.as_str() == "c-1" => {
                Some((*status, message.text()))
            }
            _ => None,
        }
    });
    let (status, text) = told.next().unwrap();
    assert_eq!(status, ResultStatus::Error);
    assert!(text.contains("not run: the tool `pay` is gone"), "{text}");
    assert_eq!(told.next(), None);
}

#[tokio::test]
async fn an_approval_of_what_is_gone_is_refused_and_writes_nothing() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let records = bench.records().await;
    for source in [without_left(), without_tool()] {
        let error = force(&bench, &source, vec![approve("c-1")])
            .await
            .unwrap_err();
        assert_eq!(error.code().as_str(), "RAG0409");
    }
    assert_eq!(bench.records().await, records);
}

#[tokio::test]
async fn a_run_with_nothing_left_ends_as_failed_and_takes_a_new_input() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let gone = without_left().replace("right", "rechts");
    let report = force(&bench, &gone, vec![]).await.unwrap();
    assert_eq!(report.status, Status::Failed);
    assert_eq!(report.error.unwrap().code, "RAG0409");
    assert_eq!(bench.view().await.pending().count(), 0);
    let again = bench.start(DESK).await.unwrap();
    assert_eq!(again.status, Status::Suspended);
}

#[tokio::test]
async fn a_doubt_is_never_hidden() {
    let gone = LOST
        .replace("node clerk", "node other")
        .replace("start clerk", "start other");
    let no_tool = LOST.replace(r#"tools ["lose"]"#, "");
    for (source, ends) in [(gone, Status::Failed), (no_tool, Status::Completed)] {
        for decision in [done("c-1"), not_done("c-1")] {
            let bench = Bench::new();
            let report = bench.start(LOST).await.unwrap();
            assert_eq!(report.status, Status::Suspended);
            let records = bench.records().await;
            match force(&bench, &source, vec![]).await.unwrap_err() {
                RunError::ForcedDoubt { report, calls } => {
                    assert_eq!(report.asks.len(), 1);
                    assert_eq!(calls[0].0.as_str(), "c-1");
                }
                other => panic!("{other}"),
            }
            let repeat = Decision::Repeat { call: "c-1".into() };
            let error = force(&bench, &source, vec![repeat]).await.unwrap_err();
            assert_eq!(error.code().as_str(), "RAG0406");
            assert_eq!(bench.records().await, records);
            let report = force(&bench, &source, vec![decision]).await.unwrap();
            assert_eq!(report.status, ends);
            assert_eq!(bench.count(kind::ANSWER).await, 1);
        }
    }
}

#[tokio::test]
async fn a_call_that_a_crash_cut_off_is_settled_though_nobody_was_asked() {
    let bench = Bench::new();
    let stuck = LOST.replace("losing", "sticking").replace("lose", "stick");
    let (program, runtime) = (bench.program(&stuck), bench.runtime());
    let mut run = Box::pin(runtime.start(&program, bench.request(), Watch::default()));
    assert!(futures::poll!(&mut run).is_pending());
    drop(run);
    assert_eq!(bench.count(kind::INTENT).await, 1);
    assert_eq!(bench.count(kind::ASK).await, 0);
    let source = LOST
        .replace("losing", "last")
        .replace(r#"tools ["lose"]"#, "");
    let records = bench.records().await;
    let error = bench.resume(&source, vec![]).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0409");
    assert_eq!(bench.records().await, records, "it is refused before all");
    let error = force(&bench, &source, vec![]).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0412");
    assert_eq!(bench.records().await, records);
    let report = force(&bench, &source, vec![done("c-1")]).await.unwrap();
    assert_eq!(report.status, Status::Completed);
    assert_eq!(
        (
            bench.count(kind::ASK).await,
            bench.count(kind::ANSWER).await
        ),
        (1, 1)
    );
}

#[tokio::test]
async fn a_crash_at_any_write_forces_once_or_not_at_all() {
    let gone = without_left().replace(r#""Right."  tools ["pay"]"#, r#""Right.""#);
    for side in [Side::Before, Side::After] {
        for write in 1..100 {
            let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
            let mut bench = Bench::on(Arc::clone(&inner));
            bench.start(DESK).await.unwrap();
            let point = FaultPoint { write, side };
            let faulty = FaultJournal::new(Arc::clone(&inner), point, || {});
            bench.journal = Arc::new(faulty);
            let crashed = bench
                .runtime()
                .resume_forced(&bench.program(&gone), waiting(), bench.watch())
                .await
                .is_err();
            bench.journal = inner;
            let report = if bench.count(kind::RUN_ATTEMPT).await == 0 {
                force(&bench, &gone, vec![]).await.unwrap()
            } else {
                bench.resume(&gone, vec![]).await.unwrap()
            };
            assert_eq!(report.status, Status::Completed, "{side:?} {write}");
            let forced: Vec<_> = attempts(&bench).await;
            let forced = forced.iter().filter(|attempt| !attempt.forced.is_empty());
            assert_eq!(forced.count(), 1, "{side:?} {write}");
            assert!(bench.world.changes().is_empty());
            if !crashed {
                assert!(write > 1, "no write was cut off");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_forced_resume_where_all_fits_is_a_resume() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let records = bench.records().await;
    let waiting = force(&bench, DESK, vec![]).await.unwrap();
    assert_eq!((waiting.status, waiting.asks.len()), (Status::Suspended, 2));
    assert_eq!(bench.records().await, records);
    let report = force(&bench, DESK, vec![approve("c-1"), approve("c-2")])
        .await
        .unwrap();
    assert_eq!(report.status, Status::Completed);
    assert_eq!(last_attempt(&bench).await.forced, []);
}

#[tokio::test]
async fn a_question_whose_answers_changed_is_not_forced() {
    let ask = |label: &str| {
        format!(
            r#"graph g {{ channel messages messages  start ask, clerk
            node ask {{ kind interrupt  prompt "?"  routes {{ {label} -> END }} }}
            node clerk {{ kind agent  model "clerk"  prompt "Pay."  tools ["pay"]  next END }} }}"#
        )
    };
    let bench = Bench::new();
    bench.start(&ask("yes")).await.unwrap();
    let records = bench.records().await;
    let changed = ask("ja")
        .replace("node clerk", "node cashier")
        .replace(", clerk", ", cashier");
    let error = force(&bench, &changed, vec![]).await.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0409");
    assert_eq!(bench.records().await, records);
}

#[tokio::test]
async fn an_agent_whose_settled_call_has_no_tool_any_more_is_resumed() {
    let bench = Bench::new();
    let source = DESK.replace(
        "model \"clerk\"  prompt \"Left.\"",
        "model \"stumbling\"  prompt \"Left.\"",
    );
    bench.start(&source).await.unwrap();
    // The call is made, and the model fails then: the run is closed.
    let report = bench
        .resume(&source, vec![approve("c-1"), approve("c-2")])
        .await
        .unwrap();
    assert_eq!(report.status, Status::Failed);
    let mended = without_tool();
    let retry = rustagents_runtime::Retry {
        thread: Bench::thread(),
        limits: bench.limits,
    };
    let program = bench.program(&mended);
    let report = bench
        .runtime()
        .retry(&program, retry, bench.watch())
        .await
        .unwrap();
    assert_eq!(report.status, Status::Completed);
}

// The recorded plan.

async fn recorded(bench: &Bench) -> Result<rustagents_lang::Blueprint, PinError> {
    bench.view().await.recorded_plan(&*bench.journal).await
}

#[tokio::test]
async fn a_pinned_resume_needs_no_plan() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let plan = recorded(&bench).await.unwrap();
    let program = Program::lower(&plan, &bench.capabilities()).unwrap();
    assert_eq!(program.definition(), bench.program(DESK).definition());
    let resume = Resume {
        thread: Bench::thread(),
        decisions: vec![approve("c-1"), approve("c-2")],
    };
    let report = bench
        .runtime()
        .resume(&program, resume, bench.watch())
        .await
        .unwrap();
    assert_eq!(report.status, Status::Completed);
    assert_eq!(last_attempt(&bench).await.definition, None);
}

#[tokio::test]
async fn the_plan_of_the_last_attempt_is_the_recorded_one() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let changed = DESK.replace("Last.", "Be kind.");
    bench.resume(&changed, vec![approve("c-1")]).await.unwrap();
    let plan = recorded(&bench).await.unwrap();
    assert!(plan.canonical().contains("Be kind."));
}

#[tokio::test]
async fn a_recorded_plan_without_its_capabilities_says_which() {
    let bench = Bench::new();
    bench.start(DESK).await.unwrap();
    let plan = recorded(&bench).await.unwrap();
    match Program::lower(&plan, &Capabilities::default()).unwrap_err() {
        LowerError::Model { model, .. } => assert_eq!(model, "clerk"),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_graph_that_a_program_builds_has_no_recorded_plan() {
    let bench = Bench::new();
    let graph = GraphBuilder::new("own")
        .channel("n", Reducer::Overwrite)
        .function("one", |_, _| async { Ok(NodeOutput::default()) })
        .finish("one")
        .start(["one"])
        .compile()
        .unwrap();
    let runner = GraphRunner::new(Arc::clone(&bench.journal));
    let run = runner.run(&graph, "t", Writes::new());
    run.await.unwrap();
    let error = recorded(&bench).await.unwrap_err();
    assert!(matches!(error, PinError::Built { .. }));
    assert_eq!(error.code().as_str(), "RAG0417");
}
