//! Forks of pruned threads, at a checkpoint that somebody made between two steps.

use super::*;
use rustagents_graph::{Edit, NodeSpec};
use rustagents_runtime::threads::{Fork, Keep, fork};

/// Pays once, and then asks or is done.
fn paying(
    name: &'static str,
    asks: bool,
    world: &World,
) -> impl Fn(Arc<Desk>, TaskContext) -> rustagents_core::BoxFuture<'static, Ended> + Send + Sync + use<>
{
    let world = world.clone();
    move |_, context| {
        let world = world.clone();
        Box::pin(async move {
            let pay = move |_: StepContext| async move {
                world.change(name);
                Ok::<_, NodeError>(())
            };
            context.step_once("pay", pay).await?;
            if asks {
                context.ask("?").await?;
            }
            note(name)
        })
    }
}

/// One that paid and is done, one that paid and asks, and both in graphs inside.
fn payers(world: &World) -> Graph<Desk> {
    let child = GraphBuilder::<Desk>::typed("child")
        .function("first", paying("inside, first", false, world))
        .function("then", paying("inside, then", true, world))
        .start(["first"])
        .sequence(["first", "then", END])
        .compile()
        .unwrap();
    let adapted = child.clone();
    let called = child.clone();
    GraphBuilder::<Desk>::typed("payers")
        .function("done", paying("done", false, world))
        .function("asks", paying("asks", true, world))
        .subgraph("shared", child)
        .adapted(
            "adapted",
            adapted,
            |_, _| Desk::update(),
            |_| Desk::update(),
        )
        .spec("adapted", NodeSpec::new().keep_state())
        .function("calls", move |_: Arc<Desk>, context: TaskContext| {
            let called = called.clone();
            async move {
                context.run_graph("child", &called, Desk::update()).await?;
                note("calls")
            }
        })
        .function("last", |_, _| async { note("last") })
        .start(["done", "asks", "shared", "adapted", "calls"])
        .join(["done", "asks", "shared", "adapted", "calls"], "last")
        .finish("last")
        .compile()
        .unwrap()
}

async fn to_the_end(bench: &Bench, graph: &Graph<Desk>, thread: &str) -> GraphRun<Desk> {
    let runner = bench.runner();
    let mut run = runner.resume(graph, thread, ()).await.unwrap();
    while !run.asks().is_empty() {
        let answers = run.asks().iter().map(|ask| (ask.id.clone(), json!("yes")));
        let answers: Vec<_> = answers.collect();
        run = runner.resume(graph, thread, answers).await.unwrap();
    }
    assert!(matches!(run.outcome, Outcome::Completed), "{run:?}");
    run
}

#[tokio::test]
async fn a_fork_of_a_pruned_thread_at_an_update_makes_no_step_again_that_was_done_before_it() {
    for prunes in [false, true] {
        let bench = Bench::new();
        let (runner, graph) = (bench.runner(), payers(&bench.world));
        runner.run(&graph, "t", Desk::update()).await.unwrap();
        let paid = bench.world.changes().len();
        assert_eq!(paid, 8);
        let edit = Edit::new(Desk::update().topic("chairs"));
        let view = runner.update(&graph, "t", [edit]).await.unwrap();
        assert_eq!(view.checkpoint, 2);
        let run = to_the_end(&bench, &graph, "t").await;
        // Another run, so that the first keeps nothing of its own.
        runner.run(&graph, "t", Desk::update()).await.unwrap();
        to_the_end(&bench, &graph, "t").await;
        let paid = bench.world.changes().len();
        assert_eq!(paid, 16);

        let thread = ThreadId::new("t").unwrap();
        if prunes {
            let clock = Arc::new(bench.clock.clone());
            let runtime = Runtime::new(Arc::clone(&bench.journal), clock, bench.ids.clone());
            let pruned = runtime.prune(&thread, Keep::Last(6)).await.unwrap();
            assert!(pruned.removed.records > 0);
            bench.is_whole().await;
            let again = runtime.prune(&thread, Keep::Last(6)).await.unwrap();
            assert_eq!(again.removed.records, 0, "it is done");
        }
        let forking = Fork {
            from: thread,
            to: ThreadId::new("u").unwrap(),
            checkpoint: Some(2),
            repeats: true,
        };
        fork(&*bench.journal, &forking).await.unwrap();
        let forked = to_the_end(&bench, &graph, "u").await;
        assert_eq!(forked.state, run.state);
        assert_eq!(bench.world.changes().len(), paid, "prunes: {prunes}");
        let u = ThreadId::new("u").unwrap();
        assert_eq!(check(&*bench.journal, &u).await.unwrap(), []);
    }
}
