//! Updates, going back, and trying again.

use super::*;
use rustagents_core::journal::ThreadQuery;
use rustagents_graph::Edit;
use rustagents_runtime::{
    inspect::Moment,
    threads::{Fork, fork},
};

#[tokio::test]
async fn an_update_keeps_what_waits_and_its_answers() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    bench.open().await;
    let edit = Edit::new(Desk::update().topic("chairs").notes("by hand"));
    let view = runner.update(&graph, "t", [edit]).await.unwrap();
    assert_eq!((view.status, view.checkpoint), (Some(Status::Suspended), 2));
    assert_eq!(ids(&view.asks), [LEFT, RIGHT]);
    let both = [(LEFT, "a"), (RIGHT, "b")];
    let run = runner.resume(&graph, "t", both).await.unwrap();
    assert_eq!(run.state.notes[0], "by hand");
    assert_eq!(bench.world.changes().len(), 2);
    bench.is_whole().await;
}

#[tokio::test]
async fn an_update_as_a_node_voids_its_question() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    bench.open().await;
    let edit = Edit::as_node("left", note("left: by hand").unwrap());
    let view = runner.update(&graph, "t", [edit]).await.unwrap();
    assert_eq!(ids(&view.asks), [RIGHT]);
    let void = runner.resume(&graph, "t", [(LEFT, "a")]);
    bench.refuses("RAG0402", void).await;
    let run = runner.resume(&graph, "t", [(RIGHT, "b")]).await.unwrap();
    assert_eq!(run.state.notes, ["left: by hand", "right: b", "2 notes"]);
    bench.is_whole().await;
}

#[tokio::test]
async fn a_state_is_updated_between_runs_and_not_as_a_node() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    bench.open().await;
    runner.cancel("t").await.unwrap();
    let edit = Edit::new(Desk::update().topic("chairs"));
    let view = runner.update(&graph, "t", [edit]).await.unwrap();
    assert_eq!(view.status, Some(Status::Cancelled));
    assert_eq!(view.state.topic, "chairs");
    let edit = Edit::as_node("left", note("x").unwrap());
    let update = runner.update(&graph, "t", [edit]);
    bench.refuses("RAG0416", update).await;
    let edit = Edit::as_node("ghost", note("x").unwrap());
    runner.run(&graph, "t", Desk::update()).await.unwrap();
    let update = runner.update(&graph, "t", [edit]);
    bench.refuses("RAG0409", update).await;
    bench.is_whole().await;
}

#[tokio::test]
async fn messages_are_swapped_from_outside() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    runner
        .run_with(&graph, "t", |scope| {
            Desk::update().messages(Message::user(scope.mint_message(), "helo"))
        })
        .await
        .unwrap();
    let view = runner.state(&graph, "t").await.unwrap();
    let old = view.state.messages[0].id.clone();
    let view = runner
        .update_with(&graph, "t", |scope| {
            let new = Message::user(scope.mint_message(), "hello");
            vec![Edit::new(Desk::update().swap_messages(old, new))]
        })
        .await
        .unwrap();
    assert_eq!(view.state.messages[0].text(), "hello");
}

fn texts(desk: &Desk) -> Vec<String> {
    desk.messages.iter().map(|message| message.text()).collect()
}

/// A conversation of which one message was swapped (checkpoint 2), and then one was
/// taken out (checkpoint 3).
async fn edited(bench: &Bench) {
    let (runner, graph) = (bench.runner(), bench.desk());
    let input = |scope: &rustagents_core::scope::Scope| {
        let message = |text| Message::user(scope.mint_message(), text);
        Desk::update().messages([message("helo"), message("well?")])
    };
    let run = runner.run_with(&graph, "t", input).await.unwrap();
    let there: Vec<_> = run.state.messages.iter().map(|m| m.id.clone()).collect();
    let swap = |scope: &rustagents_core::scope::Scope| {
        let new = Message::user(scope.mint_message(), "hello");
        vec![Edit::new(
            Desk::update().swap_messages(there[0].clone(), new),
        )]
    };
    runner.update_with(&graph, "t", swap).await.unwrap();
    let shorter = Edit::new(Desk::update().remove_messages([there[1].clone()]));
    let view = runner.update(&graph, "t", [shorter]).await.unwrap();
    assert_eq!(
        (view.checkpoint, texts(&view.state)),
        (3, vec!["hello".into()])
    );
}

#[tokio::test]
async fn an_earlier_checkpoint_has_the_messages_of_then() {
    for with_snapshot in [false, true] {
        let bench = Bench::new();
        let (runner, graph) = (bench.runner(), bench.desk());
        edited(&bench).await;
        if with_snapshot {
            let large = || Edit::new(Desk::update().topic("x".repeat(60_000)));
            let edits = (0..5).map(|_| large());
            runner.update(&graph, "t", edits).await.unwrap();
        }
        let thread = ThreadId::new("t").unwrap();
        let log = ThreadLog::load_whole(&*bench.journal, &thread)
            .await
            .unwrap();
        let mut records = log.records().iter();
        let has_snapshot = records.any(|record| record.is(kind::SNAPSHOT));
        assert_eq!(has_snapshot, with_snapshot);

        let now = runner.state(&graph, "t").await.unwrap();
        assert_eq!(texts(&now.state), ["hello"]);
        for (checkpoint, expected) in [
            (1, vec!["helo", "well?"]),
            (2, vec!["hello", "well?"]),
            (3, vec!["hello"]),
        ] {
            let then = runner.state_at(&graph, "t", checkpoint).await.unwrap();
            assert_eq!(texts(&then), expected, "{checkpoint}");
            let copy = format!("copy-{checkpoint}");
            let of_then = Fork {
                from: thread.clone(),
                to: ThreadId::new(&copy).unwrap(),
                checkpoint: Some(checkpoint),
                repeats: false,
            };
            fork(&*bench.journal, &of_then).await.unwrap();
            let copied = runner.state(&graph, &copy).await.unwrap();
            assert_eq!(texts(&copied.state), expected, "{copy}");
        }
        let back = runner.rewind(&graph, "t", 1).await.unwrap();
        assert_eq!(texts(&back.state), ["helo", "well?"]);
        let run = runner.resume(&graph, "t", ()).await.unwrap();
        assert_eq!(texts(&run.state), ["helo", "well?"]);
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn going_back_opens_a_run_in_which_all_that_followed_runs_anew() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    let first = bench.open().await;
    let both = [(LEFT, "a"), (RIGHT, "b")];
    runner.resume(&graph, "t", both).await.unwrap();
    let earlier = runner.state_at(&graph, "t", 2).await.unwrap();
    assert_eq!(earlier.notes, ["left: a", "right: b"]);
    let view = runner.rewind(&graph, "t", 1).await.unwrap();
    assert_eq!((view.status, view.checkpoint), (None, 4));
    assert_ne!(view.run, first.run);
    assert!(view.state.notes.is_empty());
    let run = runner.resume(&graph, "t", ()).await.unwrap();
    assert_eq!(ids(run.asks()), ["left:4.0/1", "right:4.1/1"]);
    assert_eq!(bench.world.changes().len(), 4, "steps too");
    // Back from the middle of a run: it is given up.
    let view = runner.rewind(&graph, "t", 2).await.unwrap();
    assert_eq!(view.next[0].as_str(), "sum");
    let run = runner.resume(&graph, "t", ()).await.unwrap();
    assert_eq!(run.state.notes, ["left: a", "right: b", "2 notes"]);
    let view = runner.rewind(&graph, "t", 3).await.unwrap();
    assert_eq!(
        view.status,
        Some(Status::Completed),
        "nothing is left to do"
    );
    let error = bench
        .refuses("RAG0414", runner.rewind(&graph, "t", 99))
        .await;
    assert_eq!(
        error.hint().as_deref(),
        Some("it has the checkpoints 1 to 7")
    );
    bench.is_whole().await;
}

#[tokio::test]
async fn a_failed_run_is_tried_again_and_its_finished_tasks_are_not() {
    let bench = Bench::new();
    let world = bench.world.clone();
    let graph = GraphBuilder::<Desk>::typed("g")
        .function("fine", move |_, _| {
            world.change("fine");
            async { note("fine") }
        })
        .function("picky", |desk: Arc<Desk>, _| async move {
            if desk.topic == "chairs" {
                return note("picky");
            }
            Err(NodeError::failed("not lamps"))
        })
        .start(["fine", "picky"])
        .finish("fine")
        .finish("picky")
        .compile()
        .unwrap();
    let runner = bench.runner();
    let run = runner.run(&graph, "t", Desk::update().topic("lamps")).await;
    assert!(matches!(run.unwrap().outcome, Outcome::Failed { .. }));
    bench
        .refuses("RAG0416", runner.resume(&graph, "t", ()))
        .await;
    let edit = Edit::new(Desk::update().topic("chairs"));
    runner.update(&graph, "t", [edit]).await.unwrap();
    let run = runner.retry(&graph, "t").await.unwrap();
    assert_eq!(run.state.notes, ["fine", "picky"]);
    assert_eq!(bench.world.changes(), ["fine"]);
    bench.refuses("RAG0416", runner.retry(&graph, "t")).await;
    bench.is_whole().await;
}

#[tokio::test]
async fn a_budget_that_ran_out_is_raised_by_a_retry_and_stays_raised() {
    let bench = Bench::new();
    let graph = GraphBuilder::<Desk>::typed("g")
        .function("again", |_, context: TaskContext| async move {
            if context.task().as_str() == "again:3.0" {
                context.ask("?").await?;
            }
            note("again")
        })
        .start(["again"])
        .branch(
            "again",
            |desk: &Desk| desk.notes.len() < 4,
            [(true, "again"), (false, END)],
        )
        .compile()
        .unwrap();
    let limits = |steps| rustagents_core::budget::Limits {
        steps,
        ..Default::default()
    };
    let tight = bench.runner().limited(limits(2));
    let run = tight.run(&graph, "t", Desk::update()).await.unwrap();
    assert!(matches!(run.outcome, Outcome::Budget(_)));
    let wide = bench.runner().limited(limits(9));
    let run = wide.retry(&graph, "t").await.unwrap();
    let ask = run.asks()[0].id.clone();
    let run = tight.resume(&graph, "t", [(ask, true)]).await.unwrap();
    assert_eq!(run.state.notes.len(), 4);
    bench.is_whole().await;
}

#[tokio::test]
async fn going_back_and_then_acting_as_a_node_branches_off() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    bench.open().await;
    let both = [(LEFT, "a"), (RIGHT, "b")];
    runner.resume(&graph, "t", both).await.unwrap();
    runner.rewind(&graph, "t", 1).await.unwrap();
    let edits = ["left", "right"].map(|node| Edit::as_node(node, note(node).unwrap()));
    let view = runner.update(&graph, "t", edits).await.unwrap();
    assert_eq!(view.next.len(), 1, "both reached the join");
    let run = runner.resume(&graph, "t", ()).await.unwrap();
    assert_eq!(run.state.notes, ["left", "right", "2 notes"]);
    bench.is_whole().await;
}

#[tokio::test]
async fn changes_are_recorded_whatever_the_durability() {
    for durability in [Durability::Exit, Durability::Async, Durability::None] {
        let bench = Bench::new();
        let graph = bench.desk();
        bench.open().await;
        let watch = Watch {
            durability,
            ..Watch::default()
        };
        let runner = bench.runner().watched(watch);
        let edit = Edit::as_node("left", note("left: by hand").unwrap());
        let view = runner.update(&graph, "t", [edit]).await.unwrap();
        assert_eq!(view.checkpoint, 2, "{durability:?}");
        let view = runner.rewind(&graph, "t", 1).await.unwrap();
        assert_eq!((view.status, view.checkpoint), (None, 3), "{durability:?}");
        runner.cancel("t").await.unwrap();
        let view = runner.state(&graph, "t").await.unwrap();
        assert_eq!(view.status, Some(Status::Cancelled), "{durability:?}");
        bench.is_whole().await;
    }
}

/// Charges, and asks what to do with the receipt.
fn receipt(world: &World) -> Graph<Desk> {
    let world = world.clone();
    GraphBuilder::<Desk>::typed("till")
        .function("charge", move |_, context: TaskContext| {
            let world = world.clone();
            async move {
                let charge = |_: StepContext| async move {
                    world.change("charged");
                    Ok::<_, NodeError>("receipt".to_owned())
                };
                let receipt = context.step_once("charge", charge).await?;
                context.ask("send it?").await?;
                note(receipt)
            }
        })
        .start(["charge"])
        .finish("charge")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn what_a_task_did_before_an_update_would_be_repeated_by_going_back_to_it() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), receipt(&bench.world));
    runner.run(&graph, "t", Desk::update()).await.unwrap();
    let edit = Edit::new(Desk::update().topic("chairs"));
    runner.update(&graph, "t", [edit]).await.unwrap();
    let back = bench
        .refuses("RAG0412", runner.rewind(&graph, "t", 2))
        .await;
    assert_eq!(
        back.to_string(),
        "going back in thread `t` could repeat step `charge:1.0/charge#1`"
    );
    runner.rewind_and_repeat(&graph, "t", 2).await.unwrap();
    bench.is_whole().await;
}

/// A node that handles the failure of its charge, and one beside or behind it that
/// asks.
fn handling(world: &World, beside: bool) -> Graph<Desk> {
    let world = world.clone();
    let graph = GraphBuilder::<Desk>::typed("till")
        .function("charge", move |_, context: TaskContext| {
            let world = world.clone();
            async move {
                let charge = |_: StepContext| async move {
                    world.change("charged");
                    Err::<String, _>("the line dropped")
                };
                let receipt = context.step_once("charge", charge).await;
                note(receipt.unwrap_or_else(|_| "ask the bank".into()))
            }
        })
        .function("wait", |_, context: TaskContext| async move {
            context.ask("go on?").await?;
            note("went on")
        })
        .finish("wait");
    let graph = if beside {
        graph.start(["charge", "wait"]).finish("charge")
    } else {
        graph.start(["charge"]).edge("charge", "wait")
    };
    graph.compile().unwrap()
}

#[tokio::test]
async fn a_run_is_given_up_after_a_node_handled_what_may_have_happened() {
    for beside in [false, true] {
        let bench = Bench::new();
        let graph = handling(&bench.world, beside);
        let run = bench.runner().run(&graph, "t", Desk::update()).await;
        assert_eq!(run.unwrap().asks().len(), 1);
        bench.runner().cancel("t").await.unwrap();
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn a_runtime_gives_up_no_run_with_a_step_in_doubt() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), charging(&bench.world));
    runner.run(&graph, "t", Desk::update()).await.unwrap();
    let clock = Arc::new(bench.clock.clone());
    let runtime = Runtime::new(Arc::clone(&bench.journal), clock, bench.ids.clone());
    let before = bench.records().await;
    let error = runtime.cancel(&ThreadId::new("t").unwrap()).await;
    let error = error.unwrap_err();
    assert_eq!(error.code().as_str(), "RAG0412");
    assert_eq!(
        error.to_string(),
        "thread `t` has a call in doubt: charge:1.0/charge#1 (step)"
    );
    assert_eq!(bench.records().await, before);
}

/// A loop without an end, which may take `limit` steps.
fn looping(world: &World, limit: u64) -> Graph<Desk> {
    let world = world.clone();
    GraphBuilder::<Desk>::typed("g")
        .function("again", move |_, _| {
            world.change("again");
            async { note("again") }
        })
        .start(["again"])
        .edge("again", "again")
        .recursion_limit(limit)
        .compile()
        .unwrap()
}

fn steps(steps: u64) -> rustagents_core::budget::Limits {
    rustagents_core::budget::Limits {
        steps,
        ..Default::default()
    }
}

#[tokio::test]
async fn a_recursion_limit_that_still_holds_refuses_a_retry_and_a_higher_one_goes_on() {
    let bench = Bench::new();
    let runner = bench.runner();
    let three = looping(&bench.world, 3);
    let run = runner.run(&three, "t", Desk::update()).await.unwrap();
    assert!(matches!(run.outcome, Outcome::RecursionLimit { limit: 3 }));
    for graph in [&three, &looping(&bench.world, 2)] {
        let error = bench.refuses("RAG0702", runner.retry(graph, "t")).await;
        assert_eq!(
            error.hint().as_deref(),
            Some("raise `recursion_limit`, or give the loop an end")
        );
    }
    assert_eq!(bench.world.changes().len(), 3);
    let five = looping(&bench.world, 5);
    let run = runner.retry(&five, "t").await.unwrap();
    assert!(matches!(run.outcome, Outcome::RecursionLimit { limit: 5 }));
    assert_eq!((run.steps, bench.world.changes().len()), (5, 5));
    bench.refuses("RAG0702", runner.retry(&five, "t")).await;
    bench.is_whole().await;
}

#[tokio::test]
async fn a_limit_of_steps_that_still_holds_refuses_a_retry_and_a_higher_one_goes_on() {
    let bench = Bench::new();
    let graph = looping(&bench.world, 9);
    let runner = |limit| bench.runner().limited(steps(limit));
    let run = runner(2).run(&graph, "t", Desk::update()).await.unwrap();
    assert!(matches!(run.outcome, Outcome::Budget(_)));
    for limit in [2, 1] {
        let runner = runner(limit);
        let error = bench.refuses("RAG0701", runner.retry(&graph, "t")).await;
        assert!(matches!(error, GraphRunError::Halt(Halt::Budget(_))));
        assert!(error.hint().is_some());
    }
    assert_eq!(bench.world.changes().len(), 2);
    let run = runner(4).retry(&graph, "t").await.unwrap();
    assert!(matches!(run.outcome, Outcome::Budget(_)));
    assert_eq!((run.steps, bench.world.changes().len()), (4, 4));
    bench.is_whole().await;
}

#[tokio::test]
async fn a_run_that_went_back_counts_its_steps_anew() {
    let bench = Bench::new();
    let tight = |limit| bench.runner().limited(steps(limit));
    // Once the recursion limit ends it, and once the limit of steps.
    for (thread, limit, budget) in [("t", 3, 50), ("u", 50, 3)] {
        let graph = looping(&bench.world, limit);
        let runner = tight(budget);
        let run = runner.run(&graph, thread, Desk::update()).await.unwrap();
        assert_eq!((run.checkpoint, run.steps), (4, 3));
        let view = runner.rewind(&graph, thread, 3).await.unwrap();
        assert_eq!((view.state.notes.len(), view.steps), (2, 0));
        assert_eq!(view.next[0].as_str(), "again");
        let run = runner.resume(&graph, thread, ()).await.unwrap();
        assert!(!matches!(run.outcome, Outcome::Completed));
        assert_eq!((run.state.notes.len(), run.steps), (5, 3));
        assert_eq!(run.visited.len(), 3);
    }
    bench.is_whole().await;
}

#[tokio::test]
async fn who_looks_later_is_told_why_a_run_failed_and_what_to_do() {
    let bench = Bench::new();
    let runner = bench.runner();
    let broken = AtomicUsize::new(1);
    let graph = GraphBuilder::<Desk>::typed("g")
        .function("pick", move |_, _| {
            let fails = broken.swap(0, Ordering::SeqCst) > 0;
            async move {
                if !fails {
                    return note("picked");
                }
                Err(NodeError::Failed(rustagents_graph::NodeFailure {
                    code: rustagents_core::code::Code::NodeTimeout,
                    class: rustagents_core::code::Class::Retryable,
                    message: "nobody was there".into(),
                    hint: Some("come in the morning".into()),
                }))
            }
        })
        .start(["pick"])
        .finish("pick")
        .compile()
        .unwrap();
    runner.run(&graph, "t", Desk::update()).await.unwrap();
    let view = runner.state(&graph, "t").await.unwrap();
    assert_eq!(view.status, Some(Status::Failed));
    let error = view.error.unwrap();
    assert_eq!(
        (error.code.as_str(), error.message.as_str()),
        ("RAG0816", "node `pick`: nobody was there")
    );
    assert_eq!(view.hint.as_deref(), Some("come in the morning"));
    let checkpoints = view.checkpoint;
    // An update leaves it as it is, and a retry that helps takes it away.
    let edit = Edit::new(Desk::update().topic("chairs"));
    let view = runner.update(&graph, "t", [edit]).await.unwrap();
    assert!(view.error.is_some() && view.hint.is_some());
    assert_eq!(view.checkpoint, checkpoints + 1);
    runner.retry(&graph, "t").await.unwrap();
    let view = runner.state(&graph, "t").await.unwrap();
    assert_eq!(view.status, Some(Status::Completed));
    assert_eq!((view.error, view.hint), (None, None));
}

#[tokio::test]
async fn who_looks_later_is_told_of_a_limit_too() {
    let bench = Bench::new();
    let graph = looping(&bench.world, 2);
    let runner = bench.runner();
    runner.run(&graph, "t", Desk::update()).await.unwrap();
    let view = runner.state(&graph, "t").await.unwrap();
    assert_eq!(view.error.unwrap().code, "RAG0702");
    assert!(view.hint.unwrap().contains("recursion_limit"));
}

#[tokio::test]
async fn an_unknown_thread_is_not_changed_and_not_made() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), bench.desk());
    let edit = || [Edit::new(Desk::update().topic("lamps"))];
    bench
        .refuses("RAG0401", runner.update(&graph, "t", edit()))
        .await;
    bench
        .refuses("RAG0401", runner.rewind(&graph, "t", 1))
        .await;
    bench
        .refuses("RAG0401", runner.rewind_and_repeat(&graph, "t", 1))
        .await;
    bench.refuses("RAG0401", runner.retry(&graph, "t")).await;
    bench.refuses("RAG0401", runner.cancel("t")).await;
    bench
        .refuses("RAG0401", runner.state_at(&graph, "t", 1))
        .await;
    let threads = bench.journal.threads(ThreadQuery::all()).await.unwrap();
    assert!(threads.is_empty(), "{threads:?}");
}

#[tokio::test]
async fn the_pages_of_a_history_are_the_whole_of_it() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), looping(&bench.world, 9));
    runner.run(&graph, "t", Desk::update()).await.unwrap();
    let whole = runner.history("t", 1_000).await.unwrap();
    let numbers = |page: &[Moment]| page.iter().map(|m| m.checkpoint).collect::<Vec<_>>();
    assert_eq!(numbers(&whole), (1..=10).collect::<Vec<_>>());
    for limit in [1, 3, 4, 100] {
        let mut pages = runner.history("t", limit).await.unwrap();
        while let Some(first) = pages.first().filter(|first| first.checkpoint > 1) {
            let before = first.checkpoint;
            let page = runner.history_before("t", limit, before).await.unwrap();
            assert_eq!(page.len(), limit.min(usize::try_from(before).unwrap() - 1));
            pages.splice(0..0, page);
        }
        assert_eq!(numbers(&pages), numbers(&whole), "{limit}");
    }
    let none = runner.history_before("t", 9, 1).await.unwrap();
    assert!(none.is_empty(), "{none:?}");
}
