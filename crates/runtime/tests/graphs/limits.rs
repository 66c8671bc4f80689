//! Limits of steps: each graph's own, and that of the run, with graphs inside.

use super::*;
use rustagents_core::budget::{Bounds, Limits, Resource};
use rustagents_graph::{
    NodeSpec,
    record::{Checkpoint, Source},
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Shared,
    Adapted,
    Called,
    Kept,
}

const KINDS: [Kind; 4] = [Kind::Shared, Kind::Adapted, Kind::Called, Kind::Kept];

/// A graph of `rounds` steps, which may take `limit`.
fn child(rounds: usize, limit: u64) -> Graph<Desk> {
    GraphBuilder::<Desk>::typed("child")
        .function("again", |_, _| async { note("again") })
        .start(["again"])
        .branch(
            "again",
            move |desk: &Desk| desk.notes.len() < rounds,
            [(true, "again"), (false, END)],
        )
        .recursion_limit(limit)
        .compile()
        .unwrap()
}

/// A graph of two steps, the first of which is the child.
fn around(kind: Kind, child: Graph<Desk>) -> Graph<Desk> {
    let graph = GraphBuilder::<Desk>::typed("around");
    let nothing = || Desk::update();
    let graph = match kind {
        Kind::Shared => graph.subgraph("sub", child),
        Kind::Adapted => graph.adapted("sub", child, move |_, _| nothing(), move |_| nothing()),
        Kind::Kept => graph
            .adapted("sub", child, move |_, _| nothing(), move |_| nothing())
            .spec("sub", NodeSpec::new().keep_state()),
        Kind::Called => graph.function("sub", move |_: Arc<Desk>, context: TaskContext| {
            let child = child.clone();
            async move {
                context.run_graph("child", &child, Desk::update()).await?;
                Ok(Desk::update().into())
            }
        }),
    };
    graph
        .function("last", |_, _| async { note("last") })
        .start(["sub"])
        .sequence(["sub", "last", END])
        .compile()
        .unwrap()
}

fn steps(steps: u64) -> Limits {
    Limits {
        steps,
        ..Limits::default()
    }
}

/// How many steps of which chain are recorded.
async fn recorded(bench: &Bench) -> BTreeMap<String, u64> {
    let thread = ThreadId::new("t").unwrap();
    let log = ThreadLog::load_whole(&*bench.journal, &thread);
    let mut steps = BTreeMap::new();
    for record in log.await.unwrap().records() {
        if record.is(kind::CHECKPOINT) {
            let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT).unwrap();
            let count = u64::from(checkpoint.source == Source::Step);
            *steps.entry(record.chain.namespace.to_string()).or_default() += count;
        }
    }
    steps
}

async fn consumed(bench: &Bench) -> u64 {
    let thread = ThreadId::new("t").unwrap();
    let view = ThreadView::load(&*bench.journal, &thread).await.unwrap();
    view.unwrap().report().spent.steps
}

/// Opens the run, or goes on with it, or tries it again.
async fn once_more(
    runner: &GraphRunner,
    graph: &Graph<Desk>,
) -> Result<GraphRun<Desk>, GraphRunError> {
    match runner.state(graph, "t").await {
        Err(GraphRunError::UnknownThread { .. }) => runner.run(graph, "t", Desk::update()).await,
        Ok(view) if view.status.is_none() => runner.resume(graph, "t", ()).await,
        Ok(_) => runner.retry(graph, "t").await,
        Err(error) => Err(error),
    }
}

#[tokio::test]
async fn steps_of_graphs_inside_are_of_the_run_s_budget() {
    for kind in KINDS {
        let bench = Bench::new();
        let graph = around(kind, child(4, 25));
        let tight = bench.runner().limited(steps(4));
        let run = tight.run(&graph, "t", Desk::update()).await.unwrap();
        let Outcome::Budget(exceeded) = run.outcome else {
            panic!("{kind:?}: {:?}", run.outcome);
        };
        assert_eq!((exceeded.resource, exceeded.limit), (Resource::Steps, 4));
        // The step around the child is not over.
        assert_eq!(consumed(&bench).await, 3, "{kind:?}");
        let enough = bench.runner().limited(steps(6));
        let run = enough.retry(&graph, "t").await.unwrap();
        assert!(matches!(run.outcome, Outcome::Completed), "{kind:?}");
        assert_eq!((run.steps, consumed(&bench).await), (2, 6), "{kind:?}");
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn a_step_that_is_tried_again_or_waits_counts_once() {
    let bench = Bench::new();
    let tries = Arc::new(AtomicUsize::new(0));
    let child = GraphBuilder::<Desk>::typed("child")
        .function("a", |_, _| async { note("a") })
        .function("b", move |_, context: TaskContext| {
            let failed = tries.fetch_add(1, Ordering::Relaxed) < 2;
            async move {
                if failed {
                    return Err(NodeError::failed("no luck"));
                }
                context.ask("?").await?;
                note("b")
            }
        })
        .start(["a"])
        .sequence(["a", "b", END])
        .compile()
        .unwrap();
    let graph = GraphBuilder::<Desk>::typed("around")
        .subgraph("sub", child)
        .spec(
            "sub",
            NodeSpec::new().retry(rustagents_graph::RetryPolicy::new()),
        )
        .start(["sub"])
        .finish("sub")
        .compile()
        .unwrap();
    let runner = bench.runner().limited(steps(3));
    let clock = bench.clock.clone();
    let advance = async {
        loop {
            clock.advance(Duration::from_secs(1));
            tokio::task::yield_now().await;
        }
    };
    let run = tokio::select! {
        run = runner.run(&graph, "t", Desk::update()) => run.unwrap(),
        () = advance => unreachable!(),
    };
    let answer = [(run.asks()[0].id.clone(), true)];
    let run = runner.resume(&graph, "t", answer).await.unwrap();
    assert!(
        matches!(run.outcome, Outcome::Completed),
        "{:?}",
        run.outcome
    );
    assert_eq!(consumed(&bench).await, 3);
}

/// Runs a graph at a limit to its end, and tries it again, on a journal that dies.
async fn crashed(
    graph: &Graph<Desk>,
    limits: Limits,
    fault: FaultPoint,
) -> (u64, BTreeMap<String, u64>, String) {
    let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let dying = Arc::new(FaultJournal::new(Arc::clone(&inner), fault, || {}));
    let first = Bench::on(dying.clone());
    let runner = first.runner().limited(limits);
    for _ in 0..3 {
        if once_more(&runner, graph).await.is_err() {
            break;
        }
    }
    let mut bench = Bench::on(inner);
    bench.ids = first.ids;
    let runner = bench.runner().limited(limits);
    let mut how = String::new();
    for _ in 0..3 {
        how = match once_more(&runner, graph).await {
            Ok(run) => match run.outcome {
                Outcome::Failed { failure, .. } => failure.code.to_string(),
                Outcome::RecursionLimit { .. } => "RAG0702".into(),
                Outcome::Budget(_) => "RAG0701".into(),
                other => panic!("{other:?}"),
            },
            Err(error) => error.code().to_string(),
        };
    }
    bench.is_whole().await;
    (dying.writes(), recorded(&bench).await, how)
}

async fn crash_everywhere(graph: &Graph<Desk>, limits: Limits, code: &str) -> Vec<u64> {
    let never = FaultPoint {
        write: u64::MAX,
        side: Side::Before,
    };
    let (writes, expected, how) = crashed(graph, limits, never).await;
    assert_eq!(how, code);
    for write in 1..=writes {
        for side in [Side::Before, Side::After] {
            let fault = FaultPoint { write, side };
            let (_, steps, how) = crashed(graph, limits, fault).await;
            assert_eq!((&steps, how.as_str()), (&expected, code), "{fault:?}");
        }
    }
    expected.into_values().collect()
}

#[tokio::test]
async fn a_crash_at_any_write_lets_no_graph_take_a_step_past_its_recursion_limit() {
    for kind in KINDS {
        let graph = around(kind, child(usize::MAX, 3));
        let steps = crash_everywhere(&graph, steps(50), "RAG0702").await;
        assert_eq!(steps, [0, 3], "{kind:?}");
    }
    let alone = child(usize::MAX, 3);
    assert_eq!(crash_everywhere(&alone, steps(50), "RAG0702").await, [3]);
}

#[tokio::test]
async fn a_crash_at_any_write_counts_no_step_of_the_budget_twice_or_not_at_all() {
    for kind in KINDS {
        let graph = around(kind, child(usize::MAX, 25));
        let taken = crash_everywhere(&graph, steps(4), "RAG0701").await;
        assert_eq!(taken, [0, 3], "{kind:?}");
    }
    let alone = child(usize::MAX, 25);
    assert_eq!(crash_everywhere(&alone, steps(3), "RAG0701").await, [3]);
}

/// A graph with `depth` graphs in each other inside it.
fn deep(depth: usize) -> Graph<Desk> {
    (0..depth).fold(child(1, 25), |inner, _| {
        GraphBuilder::<Desk>::typed("around")
            .subgraph("sub", inner)
            .start(["sub"])
            .finish("sub")
            .compile()
            .unwrap()
    })
}

fn failure(run: &GraphRun<Desk>) -> (&str, &str) {
    match &run.outcome {
        Outcome::Failed { failure, .. } => {
            let hint = failure.hint.as_deref().unwrap_or_default();
            (failure.code.as_str(), hint)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn graphs_lie_in_each_other_as_deep_as_the_runner_says() {
    for (most, bounds) in [
        (8, Bounds::default()),
        (1, Bounds::default().max_depth(1)),
        (16, Bounds::default().max_depth(usize::MAX)),
    ] {
        let bench = Bench::new();
        let runner = bench.runner().bounded(bounds);
        let run = runner.run(&deep(most), "t", Desk::update()).await.unwrap();
        assert!(matches!(run.outcome, Outcome::Completed), "{most}");
        let bench = Bench::new();
        let runner = bench.runner().bounded(bounds);
        let deeper = deep(most + 1);
        let run = runner.run(&deeper, "t", Desk::update()).await.unwrap();
        let (code, hint) = failure(&run);
        assert_eq!(code, "RAG0702");
        assert!(hint.contains("Bounds::max_depth"), "{hint}");
        assert_eq!(hint.contains("at its most"), most == 16, "{hint}");
        if most < 16 {
            let deeper_still = bench.runner().bounded(Bounds::MOST);
            let run = deeper_still.retry(&deeper, "t").await.unwrap();
            assert!(matches!(run.outcome, Outcome::Completed), "{most}");
        }
        bench.is_whole().await;
    }
}

/// Sends each of so many items to a node, and makes a step for each.
fn fanning(items: u32) -> Graph<Desk> {
    GraphBuilder::<Desk>::typed("fanning")
        .function("plan", move |_, context: TaskContext| async move {
            for _ in 0..items {
                context
                    .step("look", || async { Ok::<_, NodeError>(()) })
                    .await?;
            }
            Ok(NodeOutput::default().send_each("work", 0..items))
        })
        .function("work", |_, _| async { note("work") })
        .start(["plan"])
        .commands("plan", ["work"])
        .finish("work")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_superstep_has_as_many_tasks_as_the_runner_says_and_a_retry_may_have_more() {
    let bench = Bench::new();
    let tight = Bounds::default().max_tasks(3);
    let runner = bench.runner().bounded(tight);
    let run = runner.run(&fanning(4), "t", Desk::update()).await.unwrap();
    let (code, hint) = failure(&run);
    assert_eq!(code, "RAG0805");
    assert!(hint.contains("Bounds::max_tasks"), "{hint}");
    let run = bench.runner().retry(&fanning(4), "t").await.unwrap();
    assert_eq!(run.state.notes.len(), 4);
    let run = runner.run(&fanning(3), "t", Desk::update()).await.unwrap();
    assert_eq!(run.state.notes.len(), 7);
    bench.is_whole().await;
}

#[tokio::test]
async fn a_task_makes_as_many_steps_as_the_runner_says_and_a_retry_may_make_more() {
    let bench = Bench::new();
    let tight = bench.runner().bounded(Bounds::default().max_task_steps(3));
    let run = tight.run(&fanning(4), "t", Desk::update()).await.unwrap();
    let (code, hint) = failure(&run);
    assert_eq!(code, "RAG0812");
    assert!(hint.contains("Bounds::max_task_steps"), "{hint}");
    let run = bench.runner().retry(&fanning(4), "t").await.unwrap();
    assert_eq!(run.state.notes.len(), 4);
    bench.is_whole().await;
}
