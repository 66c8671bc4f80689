//! Going on without what no longer fits graphs inside a graph.

use super::*;
use rustagents_runtime::record::{Forced, GoneWithout, RunAttempt};

#[derive(Clone, Copy, Debug)]
enum Kind {
    Shared,
    Adapted,
    Deeper,
}

const KINDS: [Kind; 3] = [Kind::Shared, Kind::Adapted, Kind::Deeper];

/// Clerks in a graph inside, who pay once and ask, and one outside who sums up.
fn around(kind: Kind, clerks: &[&'static str], world: &World) -> Graph<Desk> {
    let mut child = GraphBuilder::<Desk>::typed("child");
    for name in clerks.iter().copied() {
        let world = world.clone();
        let clerk = move |_: Arc<Desk>, context: TaskContext| {
            let world = world.clone();
            async move {
                let pay = move |_: StepContext| async move {
                    world.change(name);
                    Ok::<_, NodeError>(())
                };
                context.step_once("pay", pay).await?;
                context.ask("?").await?;
                note(name)
            }
        };
        child = child.function(name, clerk);
    }
    let child = if clerks.len() > 1 {
        let child = child.function("both", |_, _| async { note("both") });
        child.join(clerks.iter().copied(), "both").finish("both")
    } else {
        clerks.iter().fold(child, |child, name| child.finish(*name))
    };
    let child = child.start(clerks.iter().copied()).compile().unwrap();
    let holding = |child: Graph<Desk>, name: &str| {
        let graph = GraphBuilder::<Desk>::typed(name);
        match kind {
            Kind::Adapted => graph.adapted(
                "sub",
                child,
                |_, _| Desk::update(),
                |child| Desk::update().extend_notes(child.notes.clone()),
            ),
            Kind::Shared | Kind::Deeper => graph.subgraph("sub", child),
        }
    };
    let held = match kind {
        Kind::Deeper => {
            let middle = holding(child, "middle").start(["sub"]).finish("sub");
            holding(middle.compile().unwrap(), "around")
        }
        _ => holding(child, "around"),
    };
    held.function("last", |_, _| async { note("last") })
        .start(["sub"])
        .sequence(["sub", "last", END])
        .compile()
        .unwrap()
}

fn inside(kind: Kind, name: &str) -> String {
    match kind {
        Kind::Deeper => format!("sub:1.0/sub:1.0/{name}"),
        _ => format!("sub:1.0/{name}"),
    }
}

async fn forced(bench: &Bench) -> Vec<Forced> {
    let thread = ThreadId::new("t").unwrap();
    let log = ThreadLog::load_whole(&*bench.journal, &thread)
        .await
        .unwrap();
    let attempts = log
        .records()
        .iter()
        .filter(|record| record.is(kind::RUN_ATTEMPT));
    let attempts = attempts.map(|record| record.decode::<RunAttempt>(kind::RUN_ATTEMPT).unwrap());
    attempts.flat_map(|attempt| attempt.forced).collect()
}

#[tokio::test]
async fn a_task_inside_whose_node_is_gone_is_dropped_and_the_others_go_on() {
    for kind in KINDS {
        let bench = Bench::new();
        let runner = bench.runner();
        let before = around(kind, &["left", "right"], &bench.world);
        let run = runner.run(&before, "t", Desk::update()).await.unwrap();
        let right = inside(kind, "right:1.1/1");
        assert_eq!(ids(run.asks()), [inside(kind, "left:1.0/1"), right.clone()]);

        let now = around(kind, &["right"], &bench.world);
        let answer = || [(right.clone(), "yes")];
        bench
            .refuses("RAG0409", runner.resume(&now, "t", answer()))
            .await;
        let stale = [(inside(kind, "left:1.0/1"), "yes")];
        bench
            .refuses("RAG0409", runner.resume_forced(&now, "t", stale))
            .await;
        let run = runner.resume_forced(&now, "t", answer()).await.unwrap();
        assert!(
            matches!(run.outcome, Outcome::Completed),
            "{kind:?}: {:?}",
            run.outcome
        );
        assert_eq!(run.state.notes, ["right", "last"], "{kind:?}");
        assert_eq!(bench.world.changes().len(), 2, "nobody paid again");
        let told = forced(&bench).await;
        assert_eq!(
            told[0].what,
            GoneWithout::Task(inside(kind, "left:1.0").into())
        );
        assert_eq!(told[0].why, "there is no node `left` any more");
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn a_graph_inside_of_which_nothing_is_left_fails_and_goes_on_once_its_node_is_back() {
    for kind in KINDS {
        let bench = Bench::new();
        let runner = bench.runner();
        let before = around(kind, &["left"], &bench.world);
        runner.run(&before, "t", Desk::update()).await.unwrap();
        let now = around(kind, &["right"], &bench.world);
        let run = runner.resume_forced(&now, "t", ()).await.unwrap();
        let Outcome::Failed { failure, .. } = &run.outcome else {
            panic!("{kind:?}: {:?}", run.outcome);
        };
        assert_eq!(failure.code.as_str(), "RAG0409", "{kind:?}");
        let run = runner.retry(&before, "t").await.unwrap();
        let answer = [(run.asks()[0].id.clone(), "yes")];
        let run = runner.resume(&before, "t", answer).await.unwrap();
        assert_eq!(run.state.notes, ["left", "last"], "{kind:?}");
        assert_eq!(bench.world.changes().len(), 1, "{kind:?}");
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn a_crash_at_any_write_drops_inside_or_leaves_all_as_it_was() {
    for kind in KINDS {
        for write in 1.. {
            let mut survived = false;
            for side in [Side::Before, Side::After] {
                let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
                let mut bench = Bench::on(Arc::clone(&inner));
                let before = around(kind, &["left", "right"], &bench.world);
                bench
                    .runner()
                    .run(&before, "t", Desk::update())
                    .await
                    .unwrap();
                let fault = FaultPoint { write, side };
                bench.journal = Arc::new(FaultJournal::new(Arc::clone(&inner), fault, || {}));
                let now = around(kind, &["right"], &bench.world);
                let answer = [(inside(kind, "right:1.1/1"), "yes")];
                let run = bench
                    .runner()
                    .resume_forced(&now, "t", answer.clone())
                    .await;
                survived = run.is_ok();
                bench.journal = inner;
                if run.is_err() {
                    let runner = bench.runner();
                    let run = match forced(&bench).await.len() {
                        0 => runner.resume_forced(&now, "t", answer).await,
                        // What was said once holds.
                        _ => runner.resume(&now, "t", ()).await,
                    };
                    match run {
                        Ok(run) => assert_eq!(run.state.notes, ["right", "last"], "{kind:?}"),
                        Err(error) => assert_eq!(error.code().as_str(), "RAG0416", "{error}"),
                    }
                }
                let view = bench.runner().state(&now, "t").await.unwrap();
                assert_eq!(view.status, Some(Status::Completed), "{kind:?} {fault:?}");
                assert_eq!(view.state.notes, ["right", "last"], "{kind:?} {fault:?}");
                assert_eq!(bench.world.changes().len(), 2, "{kind:?} {fault:?}");
                bench.is_whole().await;
            }
            if survived {
                break;
            }
        }
    }
}
