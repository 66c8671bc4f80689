//! Threads that an older program wrote, in one with other types.

mod history;
mod inside;
mod names;
mod refused;

use super::*;
use rustagents_core::journal::Record;
use rustagents_graph::{Edit, Migration, record::Checkpoint};
use rustagents_runtime::threads::{Fork, fork, whole_at};
use serde::{Deserialize, Serialize};

/// The state of the program of before.
#[derive(Clone, Debug, PartialEq, GraphState)]
struct Old {
    /// Euros, as text.
    price: String,
    #[channel(append)]
    log: Vec<String>,
    #[channel(messages)]
    chat: Messages,
    #[channel(counter)]
    hits: u64,
    big: String,
}

/// The state of the program of now.
#[derive(Clone, Debug, PartialEq, GraphState)]
struct New {
    cents: u64,
    #[channel(append)]
    log: Vec<Entry>,
    #[channel(messages)]
    messages: Messages,
    #[channel(counter)]
    hits: u64,
    big: String,
    added: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    text: String,
}

fn entry(text: impl Into<String>) -> Entry {
    Entry { text: text.into() }
}

/// Logs the price; asks about it if it is odd.
fn old() -> Graph<Old> {
    GraphBuilder::<Old>::typed("shop")
        .function("add", |shop: Arc<Old>, context: TaskContext| async move {
            let said = Message::user(context.scope().mint_message(), shop.price.clone());
            let update = Old::update().log(format!("{} euros", shop.price));
            Ok(update.chat(said).hits(1).into())
        })
        .function("ask", |shop: Arc<Old>, context: TaskContext| async move {
            let answer = context.ask(format!("{}?", shop.price)).await?;
            Ok(Old::update().log(answer.as_str().unwrap_or("?")).into())
        })
        .start(["add"])
        .branch(
            "add",
            |shop: &Old| shop.price.ends_with(['1', '3', '5', '7', '9']),
            [(true, "ask"), (false, END)],
        )
        .finish("ask")
        .compile()
        .unwrap()
}

fn migrations() -> Vec<Migration> {
    vec![
        Migration::rename_channel("messages", "chat", "messages"),
        Migration::change_channel("cents", "price", |euros| {
            let euros: u64 = euros.as_str().unwrap_or_default().parse().unwrap_or(0);
            Ok(json!(euros * 100))
        }),
        Migration::rename_channel("price", "price", "cents"),
        Migration::new("entries", |state| {
            for item in state
                .get_mut("log")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                *item = json!({ "text": *item });
            }
            Ok(())
        })
        .touching(["log"]),
        Migration::rename_node("question", "ask", "question"),
    ]
}

const NAMES: [&str; 5] = ["messages", "cents", "price", "entries", "question"];

fn new() -> Graph<New> {
    migrating(migrations())
}

/// The same shop with other types, and another name for a node.
fn migrating(migrations: Vec<Migration>) -> Graph<New> {
    let graph = GraphBuilder::<New>::typed("shop")
        .function("add", |shop: Arc<New>, _| async move {
            let update = New::update().log(entry(format!("{} cents", shop.cents)));
            Ok(update.hits(1).into())
        })
        .function(
            "question",
            |shop: Arc<New>, context: TaskContext| async move {
                let answer = context.ask(format!("{}?", shop.cents)).await?;
                let update = New::update().added(Some("asked".to_owned()));
                Ok(update.log(entry(answer.as_str().unwrap_or("?"))).into())
            },
        )
        .start(["add"])
        .branch(
            "add",
            |shop: &New| shop.cents / 100 % 2 == 1,
            [(true, "question"), (false, END)],
        )
        .finish("question");
    let graph = migrations
        .into_iter()
        .fold(graph, GraphBuilder::with_migration);
    graph.compile().unwrap()
}

/// What the state of `old` is in the program of now.
fn mapped(old: &Old) -> New {
    New {
        cents: old.price.parse::<u64>().unwrap_or(0) * 100,
        log: old.log.iter().map(entry).collect(),
        messages: old.chat.clone(),
        hits: old.hits,
        big: old.big.clone(),
        added: None,
    }
}

const ASKED: &str = "ask:2.0/1";

impl Bench {
    fn runtime(&self) -> Runtime {
        let clock = Arc::new(self.clock.clone());
        Runtime::new(Arc::clone(&self.journal), clock, self.ids.clone())
    }

    async fn sell(&self, price: u64) -> GraphRun<Old> {
        let input = Old::update().price(price.to_string());
        self.runner().run(&old(), "t", input).await.unwrap()
    }

    async fn was(&self) -> Arc<Old> {
        self.runner().state(&old(), "t").await.unwrap().state
    }

    async fn seen(&self) -> Arc<New> {
        self.runner().state(&new(), "t").await.unwrap().state
    }

    async fn log_of(&self) -> Vec<Record> {
        let thread = ThreadId::new("t").unwrap();
        let log = ThreadLog::load_whole(&*self.journal, &thread).await;
        log.unwrap().records().to_vec()
    }

    /// The kinds of the records behind the first `known`, and the migrations that
    /// each says.
    async fn since(&self, known: usize) -> Vec<String> {
        let told = |record: &Record| {
            let body: Value = serde_json::from_str(&record.body).unwrap();
            let source = body["source"].as_str().unwrap_or_default();
            let told = format!("{} {source}", record.kind);
            match body["migrations"].as_array() {
                Some(names) => format!("{told} {} v{}", names.len(), record.version),
                None => format!("{told} v{}", record.version),
            }
        };
        self.log_of().await.iter().skip(known).map(told).collect()
    }
}

#[tokio::test]
async fn a_resume_brings_the_state_along_and_the_question_stays() {
    let bench = Bench::new();
    let run = bench.sell(7).await;
    assert_eq!(ids(run.asks()), [ASKED]);
    let (before, was) = (bench.records().await, bench.was().await);
    let seen = bench.seen().await;
    assert_eq!(*seen, mapped(&was));
    let waits = bench.runner().resume(&new(), "t", ()).await.unwrap();
    assert_eq!(ids(waits.asks()), [ASKED]);
    assert_eq!(bench.records().await, before, "looking writes nothing");
    let run = bench
        .runner()
        .resume(&new(), "t", [(ASKED, "yes")])
        .await
        .unwrap();
    assert!(matches!(run.outcome, Outcome::Completed));
    let mut expected = mapped(&was);
    expected.log.push(entry("yes"));
    expected.added = Some("asked".into());
    assert_eq!(*run.state, expected);
    assert_eq!(
        bench.since(before).await,
        [
            "ask.answered  v2",
            "run.attempt  v1",
            "graph.checkpoint migration 5 v2",
            "graph.snapshot  5 v2",
            "graph.checkpoint step v1",
            "run.closed  v1"
        ]
    );
    bench.is_whole().await;
}

#[tokio::test]
async fn the_record_of_a_migration_names_all_and_keeps_what_is_left_to_do() {
    let bench = Bench::new();
    bench.sell(7).await;
    let before = bench.records().await;
    bench
        .runner()
        .resume(&new(), "t", [(ASKED, "yes")])
        .await
        .unwrap();
    let log = bench.log_of().await;
    let record = log[before..]
        .iter()
        .find(|record| record.is(kind::CHECKPOINT))
        .unwrap();
    let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT).unwrap();
    assert_eq!(checkpoint.migrations, NAMES);
    assert!(checkpoint.deltas.is_empty());
    let [task] = &*checkpoint.pending.next else {
        panic!("{checkpoint:?}");
    };
    assert_eq!(
        (task.task.as_str(), task.node.as_str()),
        ("ask:2.0", "question")
    );
    let run = bench.runner().state(&new(), "t").await.unwrap();
    assert_eq!(run.checkpoint, 4);
}

#[tokio::test]
async fn a_new_input_migrates_the_thread_once() {
    let bench = Bench::new();
    bench.sell(2).await;
    let (before, was) = (bench.records().await, bench.was().await);
    let input = || New::update().cents(400);
    bench.runner().run(&new(), "t", input()).await.unwrap();
    assert_eq!(
        bench.since(before).await,
        [
            "run.opened  v1",
            "graph.checkpoint migration 5 v2",
            "graph.snapshot  5 v2",
            "graph.checkpoint input v1",
            "graph.checkpoint step v1",
            "run.closed  v1"
        ]
    );
    let run = bench.runner().run(&new(), "t", input()).await.unwrap();
    let mut expected = mapped(&was);
    expected.cents = 400;
    expected.hits += 2;
    expected
        .log
        .extend([entry("400 cents"), entry("400 cents")]);
    assert_eq!(*run.state, expected);
    let again = bench.since(before + 6).await;
    assert_eq!(again.len(), 4, "{again:?}");
    bench.is_whole().await;
}

#[tokio::test]
async fn an_update_migrates_and_stands_as_before() {
    let bench = Bench::new();
    bench.sell(7).await;
    let (before, was) = (bench.records().await, bench.was().await);
    let none = bench.runner().update(&new(), "t", []).await.unwrap();
    assert_eq!((none.checkpoint, bench.records().await), (2, before));
    let edit = Edit::new(New::update().cents(9));
    let view = bench.runner().update(&new(), "t", [edit]).await.unwrap();
    assert_eq!((view.status, view.checkpoint), (Some(Status::Suspended), 4));
    assert_eq!(ids(&view.asks), [ASKED]);
    let expected = New {
        cents: 9,
        ..mapped(&was)
    };
    assert_eq!(*view.state, expected);
    bench.is_whole().await;
    let edit = Edit::as_node(
        "question",
        New::update().added(Some("by hand".to_owned())).into(),
    );
    bench.runner().update(&new(), "t", [edit]).await.unwrap();
    let run = bench.runner().resume(&new(), "t", ()).await.unwrap();
    assert_eq!(run.state.added.as_deref(), Some("by hand"));
    bench.is_whole().await;
}

#[tokio::test]
async fn an_update_as_a_node_migrates_with_its_own_checkpoint() {
    let bench = Bench::new();
    bench.sell(7).await;
    let edit = Edit::as_node(
        "question",
        New::update().added(Some("by hand".to_owned())).into(),
    );
    let view = bench.runner().update(&new(), "t", [edit]).await.unwrap();
    assert_eq!(view.checkpoint, 4);
    let done = bench.runner().history("t", 1).await.unwrap();
    assert_eq!(done[0].done[0].as_str(), "question");
    bench.is_whole().await;
}

#[tokio::test]
async fn going_back_behind_the_migration_migrates_the_state_of_then() {
    let bench = Bench::new();
    let runner = bench.runner();
    bench.sell(7).await;
    let then = mapped(&*bench.was().await);
    runner.resume(&new(), "t", [(ASKED, "yes")]).await.unwrap();
    assert_eq!(*runner.state_at(&new(), "t", 2).await.unwrap(), then);
    let view = runner.rewind(&new(), "t", 2).await.unwrap();
    assert_eq!((&*view.state, view.checkpoint), (&then, 5));
    assert_eq!(view.next[0].as_str(), "question");
    let run = runner.resume(&new(), "t", ()).await.unwrap();
    assert_eq!(ids(run.asks()), ["question:5.0/1"]);
    let run = runner
        .resume(&new(), "t", [("question:5.0/1", "no")])
        .await
        .unwrap();
    assert_eq!(run.state.log.last(), Some(&entry("no")));
    assert_eq!(
        *runner.state_at(&new(), "t", 2).await.unwrap(),
        then,
        "still"
    );
    bench.is_whole().await;
    // Back to the checkpoint of the migration itself.
    let view = runner.rewind(&new(), "t", 3).await.unwrap();
    assert_eq!(*view.state, then);
    bench.is_whole().await;
}

#[tokio::test]
async fn a_retry_migrates_a_run_that_failed() {
    let bench = Bench::new();
    let failing = GraphBuilder::<Old>::typed("shop")
        .function("add", |_, _| async { Err(NodeError::failed("not yet")) })
        .start(["add"])
        .finish("add")
        .compile()
        .unwrap();
    let input = Old::update().price("2");
    let run = bench.runner().run(&failing, "t", input).await.unwrap();
    assert!(matches!(run.outcome, Outcome::Failed { .. }));
    let run = bench.runner().retry(&new(), "t").await.unwrap();
    assert_eq!(run.state.log, [entry("200 cents")]);
    bench.is_whole().await;
}

#[tokio::test]
async fn a_new_thread_has_been_through_all() {
    let bench = Bench::new();
    let input = New::update().cents(200);
    bench.runner().run(&new(), "t", input).await.unwrap();
    let told = bench.since(0).await;
    assert_eq!(told[1], "graph.checkpoint input 5 v2");
    assert_eq!(told[2], "graph.checkpoint step v1");
    let mut more = migrations();
    more.push(Migration::change_channel("double", "cents", |cents| {
        Ok(json!(cents.as_u64().unwrap_or(0) * 2))
    }));
    let view = bench.runner().state(&migrating(more), "t").await.unwrap();
    assert_eq!(view.state.cents, 400, "only the new one is done");
}

#[tokio::test]
async fn without_migrations_nothing_of_them_is_recorded() {
    let bench = Bench::new();
    bench.sell(7).await;
    for record in bench.log_of().await {
        assert!(!record.body.contains("migrations"), "{}", record.body);
        let is_graph = record.is(kind::CHECKPOINT) || record.is(kind::SNAPSHOT);
        assert!(!is_graph || record.version == 1);
    }
}

#[tokio::test]
async fn who_reads_without_the_program_sees_what_is_recorded() {
    let bench = Bench::new();
    let thread = ThreadId::new("t").unwrap();
    bench.sell(7).await;
    bench
        .runner()
        .resume(&new(), "t", [(ASKED, "yes")])
        .await
        .unwrap();
    let at = async |number| {
        whole_at(&*bench.journal, &thread, number)
            .await
            .unwrap()
            .state
    };
    assert_eq!(at(Some(2)).await["price"], json!("7"));
    assert_eq!(at(Some(2)).await.get("cents"), None);
    assert_eq!(at(Some(3)).await["cents"], json!(700));
    assert_eq!(
        at(None).await["log"],
        json!([{"text": "7 euros"}, {"text": "yes"}])
    );
}

#[tokio::test]
async fn a_fork_before_the_migration_goes_on_in_the_program_of_before() {
    let bench = Bench::new();
    let runner = bench.runner();
    bench.sell(7).await;
    runner.resume(&new(), "t", [(ASKED, "yes")]).await.unwrap();
    for (number, name) in [(2, "before"), (3, "at"), (4, "behind")] {
        let copy = Fork {
            from: ThreadId::new("t").unwrap(),
            to: ThreadId::new(name).unwrap(),
            checkpoint: Some(number),
            repeats: false,
        };
        fork(&*bench.journal, &copy).await.unwrap();
        let is_old = runner.state(&old(), name).await.is_ok();
        assert_eq!(is_old, number == 2);
        let view = runner.state(&new(), name).await.unwrap();
        assert_eq!(view.state.cents, 700, "{name}");
    }
    let run = runner.resume(&old(), "before", ()).await.unwrap();
    assert_eq!(ids(run.asks()), ["ask:2.1/1"], "questions are asked anew");
    let answers = [("ask:2.1/1", "no")];
    let run = runner.resume(&old(), "before", answers).await.unwrap();
    assert_eq!(run.state.log, ["7 euros", "no"]);
    // The answer came in the batch of the migration, and the node did not go on with it.
    let run = runner.resume(&new(), "at", ()).await.unwrap();
    let asked = run.asks()[0].id.clone();
    let run = runner.resume(&new(), "at", [(asked, "no")]).await.unwrap();
    assert_eq!(run.state.log, [entry("7 euros"), entry("no")]);
}

#[tokio::test]
async fn a_fork_at_the_migration_of_a_run_that_is_over_is_over() {
    let bench = Bench::new();
    let runner = bench.runner();
    bench.sell(2).await;
    let before = bench.records().await;
    let edit = Edit::new(New::update().cents(9));
    runner.update(&new(), "t", [edit]).await.unwrap();
    assert_eq!(
        bench.since(before).await,
        [
            "graph.checkpoint migration 5 v2",
            "graph.snapshot  5 v2",
            "run.closed  v1",
            "graph.checkpoint update v1",
            "run.closed  v1"
        ]
    );
    bench.is_whole().await;
    let copy = Fork {
        from: ThreadId::new("t").unwrap(),
        to: ThreadId::new("copy").unwrap(),
        checkpoint: Some(3),
        repeats: false,
    };
    fork(&*bench.journal, &copy).await.unwrap();
    let view = runner.state(&new(), "copy").await.unwrap();
    assert_eq!(
        (view.status, view.state.cents),
        (Some(Status::Completed), 200)
    );
}

#[tokio::test]
async fn a_thread_whose_migrated_run_is_deleted_is_of_the_program_of_before_again() {
    let bench = Bench::new();
    let runner = bench.runner();
    let first = bench.sell(2).await;
    let was = bench.was().await;
    let run = runner
        .run(&new(), "t", New::update().cents(400))
        .await
        .unwrap();
    let thread = ThreadId::new("t").unwrap();
    bench.runtime().delete_run(&thread, &run.run).await.unwrap();
    assert_eq!(bench.was().await, was);
    assert_eq!(*bench.seen().await, mapped(&was));
    bench.is_whole().await;
    runner
        .run(&new(), "t", New::update().cents(400))
        .await
        .unwrap();
    let now = bench.seen().await;
    bench
        .runtime()
        .delete_run(&thread, &first.run)
        .await
        .unwrap();
    assert_eq!(bench.seen().await, now);
    bench.is_whole().await;
}

/// Answers what waits in the program of now, and gives it one more input.
async fn story(bench: &Bench) -> Option<Arc<New>> {
    let runner = bench.runner();
    let view = runner.state(&new(), "t").await.ok()?;
    if view.status != Some(Status::Completed) {
        let answers: Vec<_> = view
            .asks
            .iter()
            .map(|ask| (ask.id.clone(), "yes"))
            .collect();
        runner.resume(&new(), "t", answers).await.ok()?;
    }
    if view.state.cents != 200 {
        let edit = Edit::new(New::update().big("x"));
        runner.update(&new(), "t", [edit]).await.ok()?;
        let input = New::update().cents(200);
        runner.run(&new(), "t", input).await.ok()?;
    }
    Some(runner.state(&new(), "t").await.ok()?.state)
}

/// A thread of before, which another bench can go on with.
async fn sold(price: u64) -> (Arc<MemoryJournal>, Bench, New) {
    let inner = Arc::new(MemoryJournal::new());
    let bench = Bench::on(inner.clone());
    bench.sell(price).await;
    let was = mapped(&*bench.was().await);
    (inner, bench, was)
}

/// The same thread on a journal that dies there.
fn dying(
    inner: &Arc<MemoryJournal>,
    bench: &Bench,
    point: FaultPoint,
) -> (Arc<FaultJournal>, Bench) {
    let journal = Arc::new(FaultJournal::new(inner.clone(), point, || {}));
    let dying = Bench {
        ids: Arc::clone(&bench.ids),
        ..Bench::on(journal.clone())
    };
    (journal, dying)
}

const NEVER: FaultPoint = FaultPoint {
    write: u64::MAX,
    side: Side::Before,
};

#[tokio::test]
async fn a_crash_at_any_write_of_a_migration_leads_to_the_same_end() {
    let (inner, bench, was) = sold(7).await;
    let (journal, bench) = dying(&inner, &bench, NEVER);
    let expected = story(&bench).await.unwrap();
    let said = [was.log[0].clone(), entry("yes"), entry("200 cents")];
    assert_eq!(expected.log, said);
    assert!(journal.writes() > 6);
    for write in 1..=journal.writes() {
        for side in [Side::Before, Side::After] {
            let (inner, bench, was) = sold(7).await;
            let point = FaultPoint { write, side };
            let (_, died) = dying(&inner, &bench, point);
            assert!(story(&died).await.is_none(), "{point:?}");
            assert!(bench.seen().await.log.starts_with(&was.log), "{point:?}");
            assert_eq!(story(&bench).await, Some(expected.clone()), "{point:?}");
            let told = bench.since(0).await;
            let migrated = told.iter().filter(|told| told.contains("migration "));
            assert_eq!(migrated.count(), 1, "{point:?}: {told:?}");
            bench.is_whole().await;
        }
    }
}

#[tokio::test]
async fn a_crash_at_any_write_of_an_input_migrates_once() {
    let input = || New::update().cents(400);
    let (inner, bench, _) = sold(2).await;
    let (journal, bench) = dying(&inner, &bench, NEVER);
    bench.runner().run(&new(), "t", input()).await.unwrap();
    for write in 1..=journal.writes() {
        for side in [Side::Before, Side::After] {
            let (inner, bench, was) = sold(2).await;
            let (_, died) = dying(&inner, &bench, FaultPoint { write, side });
            died.runner().run(&new(), "t", input()).await.unwrap_err();
            if bench.seen().await.cents != 400 {
                assert_eq!(*bench.seen().await, was);
                bench.was().await;
                bench.runner().run(&new(), "t", input()).await.unwrap();
            } else if bench
                .runner()
                .state(&new(), "t")
                .await
                .unwrap()
                .status
                .is_none()
            {
                bench.runner().resume(&new(), "t", ()).await.unwrap();
            }
            let mut expected = was;
            expected.cents = 400;
            expected.hits += 1;
            expected.log.push(entry("400 cents"));
            assert_eq!(*bench.seen().await, expected, "{write} {side:?}");
            bench.is_whole().await;
        }
    }
}
