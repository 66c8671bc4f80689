//! Graphs on a state of one's own type, end to end.

use std::{collections::BTreeSet, sync::Arc};

use rustagents_core::{
    ids::MessageId,
    journal::{JournalError, kind},
    message::Message,
    scope::Halt,
};
use rustagents_graph::{
    END, Graph, GraphBuilder, GraphEnd, GraphState, Messages, NodeOutput, Outcome, TaskContext,
    record::Snapshot,
    state::field::{Arrivals, Distinct},
};
use rustagents_store::{
    MemoryJournal,
    fault::{FaultJournal, FaultPoint, Side},
};
use serde_json::{Value, json};

use crate::bench::{Bench, failure};

#[derive(Clone, Debug, GraphState)]
#[state(
    input(title, messages),
    output(notes, count),
    derive(PartialEq),
    schema
)]
struct Work {
    title: String,
    #[channel(append)]
    notes: Vec<String>,
    #[channel(counter)]
    count: u64,
    #[channel(messages)]
    messages: Messages,
}

/// A node that notes its name, and counts itself.
macro_rules! noting {
    ($name:expr) => {
        |_: Arc<Work>, _: TaskContext| async {
            let update = Work::update().notes($name).count(1);
            Ok(update.into())
        }
    };
}

fn diamond() -> GraphBuilder<Work> {
    GraphBuilder::<Work>::typed("diamond")
        .function("a", noting!("a"))
        .function("b", noting!("b"))
        .function("c", noting!("c"))
        .function("d", noting!("d"))
        .start(["a"])
        .edge("a", "b")
        .edge("a", "c")
        .edge("b", "d")
        .edge("c", "d")
        .finish("d")
}

#[tokio::test]
async fn tasks_of_a_step_append_and_count() {
    let graph = diamond().compile().unwrap();
    let bench = Bench::new();
    let end = bench
        .attempt_on(&graph, |_| Work::update().title("all of it"))
        .await
        .unwrap();
    assert_eq!(end.state.title, "all of it");
    assert_eq!(end.state.notes, ["a", "b", "c", "d"]);
    assert_eq!((end.state.count, end.steps), (4, 3));
}

#[tokio::test]
async fn two_writers_of_a_field_are_refused_with_channel_and_tasks() {
    let graph = GraphBuilder::<Work>::typed("g")
        .function("b", |_, _| async { Ok(Work::update().title("b").into()) })
        .function("c", |_, _| async { Ok(Work::update().title("c").into()) })
        .start(["b", "c"])
        .finish("b")
        .finish("c")
        .compile()
        .unwrap();
    let bench = Bench::new();
    let end = bench.attempt_on(&graph, |_| Work::update()).await.unwrap();
    assert_eq!(
        failure(&end),
        "c RAG0801: tasks b:1.0 and c:1.1 both wrote channel `title` in one step"
    );
    assert_eq!(end.state.title, "");
}

#[tokio::test]
async fn a_replacement_wins_over_what_others_add() {
    let graph = GraphBuilder::<Work>::typed("g")
        .function("b", |_, _| async {
            let update = Work::update().replace_notes(["only"]).replace_count(7);
            Ok(update.into())
        })
        .function("c", noting!("c"))
        .start(["b", "c"])
        .finish("b")
        .finish("c")
        .compile()
        .unwrap();
    let input = |_: &_| Work::update().extend_notes(["x", "y"]).count(5);
    let end = Bench::new().attempt_on(&graph, input).await.unwrap();
    assert_eq!(end.state.notes, ["only"]);
    assert_eq!(end.state.count, 7);
}

#[tokio::test]
async fn messages_are_added_swapped_and_taken_out() {
    let graph = GraphBuilder::<Work>::typed("g")
        .function("say", |state: Arc<Work>, context: TaskContext| async move {
            let mint = || context.scope().mint_message();
            let first = state.messages[0].id.clone();
            let update = Work::update()
                .messages(Message::assistant(mint(), "hi", vec![]))
                .messages([
                    Message::user(mint(), "how are you?"),
                    Message::user(mint(), "well?"),
                ])
                .swap_messages(first, Message::user(mint(), "good morning"));
            Ok(update.into())
        })
        .function("shorten", |state: Arc<Work>, _| async move {
            let last = state.messages.last().map(|message| message.id.clone());
            Ok(Work::update().remove_messages(last).into())
        })
        .start(["say"])
        .sequence(["say", "shorten", END])
        .compile()
        .unwrap();
    let bench = Bench::new();
    for _ in 0..2 {
        let end = bench
            .attempt_on(&graph, |scope| {
                let hello = Message::user(scope.mint_message(), "hello");
                WorkInput {
                    title: "talk".into(),
                    messages: [hello].into_iter().collect(),
                }
                .into()
            })
            .await
            .unwrap();
        let texts: Vec<_> = end.state.messages.iter().map(|m| m.text()).collect();
        assert_eq!(texts, ["good morning", "hi", "how are you?"]);
        assert_eq!(end.state.title, "talk");
    }
}

/// A graph whose one node changes a conversation of `hello` and `well?`.
fn talking(
    change: impl Fn(&[Arc<Message>], Message) -> WorkUpdate + Clone + Send + Sync + 'static,
) -> Graph<Work> {
    GraphBuilder::<Work>::typed("g")
        .function("change", move |state: Arc<Work>, context: TaskContext| {
            let change = change.clone();
            async move {
                let new = Message::user(context.scope().mint_message(), "new");
                Ok(change(&state.messages, new).into())
            }
        })
        .start(["change"])
        .finish("change")
        .compile()
        .unwrap()
}

async fn talked(bench: &Bench, graph: &Graph<Work>) -> GraphEnd<Work> {
    let input = |scope: &rustagents_core::scope::Scope| {
        let message = |text| Message::user(scope.mint_message(), text);
        Work::update().messages([message("hello"), message("well?")])
    };
    bench.attempt_on(graph, input).await.unwrap()
}

fn texts(end: &GraphEnd<Work>) -> Vec<String> {
    end.state.messages.iter().map(|m| m.text()).collect()
}

#[tokio::test]
async fn a_conversation_is_cleared_before_what_comes_after() {
    let cleared = talking(|_, new| Work::update().clear_messages().messages(new));
    let bench = Bench::new();
    assert_eq!(texts(&talked(&bench, &cleared).await), ["new"]);
    assert_eq!(texts(&talked(&bench, &cleared).await), ["new"], "reloaded");
    let before = talking(|_, new| Work::update().messages(new).clear_messages());
    assert_eq!(texts(&talked(&Bench::new(), &before).await), [""; 0]);
    let gone = talking(|all, _| {
        Work::update()
            .clear_messages()
            .remove_messages([all[0].id.clone()])
    });
    let end = talked(&Bench::new(), &gone).await;
    let told = failure(&end);
    assert!(told.ends_with("to take out"), "{told}");
}

#[tokio::test]
async fn a_message_that_is_not_there_is_not_taken_out_or_swapped() {
    let unknown = || MessageId::numbered(99);
    let removing = talking(move |_, _| Work::update().remove_messages([unknown()]));
    let swapping = talking(move |_, new| Work::update().swap_messages(unknown(), new));
    for graph in [removing, swapping] {
        let end = talked(&Bench::new(), &graph).await;
        let expected = format!(
            "change RAG0411: node `change` wrote channel `messages`: there is no message `{}` to take out",
            unknown()
        );
        assert_eq!(failure(&end), expected);
        assert_eq!(texts(&end), ["hello", "well?"], "nothing of it was taken");
    }
    let twice = talking(|all, _| {
        let first = all[0].id.clone();
        Work::update().remove_messages([first.clone(), first])
    });
    let end = talked(&Bench::new(), &twice).await;
    assert!(failure(&end).ends_with("to take out"), "{}", failure(&end));
    let there = talking(|all, _| {
        let second = Message::clone(&all[1]);
        Work::update().swap_messages(all[0].id.clone(), second)
    });
    let end = talked(&Bench::new(), &there).await;
    assert!(
        failure(&end).ends_with("is there already"),
        "{}",
        failure(&end)
    );
    assert_eq!(texts(&end), ["hello", "well?"]);
}

#[tokio::test]
async fn an_output_has_the_fields_that_it_names() {
    let graph = diamond().compile().unwrap();
    let end = Bench::new()
        .attempt_on(&graph, |_| Work::update())
        .await
        .unwrap();
    let output = WorkOutput::from(&*end.state);
    let expected = WorkOutput {
        notes: ["a", "b", "c", "d"].map(String::from).into(),
        count: 4,
    };
    assert_eq!(output, expected);
}

#[test]
fn a_schema_describes_the_state_as_json() {
    let schema = Work::schema();
    let state = Work::empty(&[]).to_json();
    let names = |value: &Value| {
        let keys = value.as_object().unwrap().keys();
        keys.cloned().collect::<BTreeSet<_>>()
    };
    assert_eq!(names(&schema["properties"]), names(&state));
    assert_eq!(
        schema["required"],
        json!(["title", "notes", "count", "messages"])
    );
    assert_eq!(schema["title"], "Work");
    assert_eq!(
        schema["properties"]["notes"],
        json!({ "type": "array", "items": { "type": "string" } })
    );
    assert_eq!(schema["properties"]["messages"]["type"], "array");
}

/// A graph of two tasks a step, a question and messages.
fn asking() -> Graph<Work> {
    GraphBuilder::<Work>::typed("g")
        .function("a", noting!("a"))
        .function("ask", |_, context: TaskContext| async move {
            let answer = context.ask("?").await?;
            let answer = answer.as_str().unwrap_or_default().to_owned();
            let id = context.scope().mint_message();
            let said = Message::user(id, answer.as_str());
            Ok(Work::update().notes(answer).messages(said).into())
        })
        .function("b", noting!("b"))
        .function("c", noting!("c"))
        .start(["a"])
        .edge("a", "ask")
        .edge("a", "b")
        .edge("ask", "c")
        .edge("b", "c")
        .finish("c")
        .compile()
        .unwrap()
}

async fn drive(bench: &Bench, graph: &Graph<Work>) -> Option<GraphEnd<Work>> {
    for _ in 0..9 {
        let input = |_: &_| Work::update().title("t");
        let end = bench.attempt_on(graph, input).await.ok()?;
        let Outcome::Suspended(asks) = &end.outcome else {
            return Some(end);
        };
        for ask in asks {
            bench.try_answer(&ask.id, json!("yes")).await.ok()?;
        }
    }
    panic!("no end after nine attempts");
}

#[tokio::test]
async fn a_crash_at_any_write_leads_to_the_same_typed_state() {
    let never = FaultPoint {
        write: u64::MAX,
        side: Side::Before,
    };
    let inner = Arc::new(MemoryJournal::new());
    let journal = Arc::new(FaultJournal::new(inner, never, || {}));
    let bench = Bench::on(journal.clone());
    let expected = drive(&bench, &asking()).await.unwrap().state.to_json();
    assert_eq!(expected["notes"], json!(["a", "yes", "b", "c"]));
    assert_eq!(
        (&expected["count"], &expected["title"]),
        (&json!(3), &json!("t"))
    );
    assert!(journal.writes() > 5);
    for write in 1..=journal.writes() {
        for side in [Side::Before, Side::After] {
            let inner = Arc::new(MemoryJournal::new());
            let fault = FaultJournal::new(inner.clone(), FaultPoint { write, side }, || {});
            let crashed = drive(&Bench::on(Arc::new(fault)), &asking()).await;
            assert!(crashed.is_none());
            let end = drive(&Bench::on(inner), &asking()).await.unwrap();
            let state = end.state.to_json();
            assert_eq!(
                without_ids(state),
                without_ids(expected.clone()),
                "write {write} {side:?}"
            );
        }
    }
}

/// A message that was minted again has another id.
fn without_ids(mut state: Value) -> Value {
    for message in state["messages"].as_array_mut().unwrap() {
        message.as_object_mut().unwrap().remove("id");
    }
    state
}

/// Each type is the state of a graph whose one node goes round, up to `limit`
/// steps of the run.
fn rounds<S, R>(limit: u64, node: impl Fn(Arc<S>) -> R + Send + Sync + 'static) -> Graph<S>
where
    S: GraphState,
    R: Into<NodeOutput<S>>,
{
    GraphBuilder::<S>::typed("rounds")
        .function("w", move |state, _| {
            let output = node(state).into();
            async move { Ok(output) }
        })
        .start(["w"])
        .edge("w", "w")
        .recursion_limit(limit)
        .compile()
        .unwrap()
}

async fn drive_rounds<S: GraphState>(bench: &mut Bench, graph: &Graph<S>) -> Result<S, Halt> {
    bench.limits.steps = 10_000;
    let end = bench.attempt_on(graph, |_| S::Update::default()).await?;
    Ok((*end.state).clone())
}

async fn snapshots(bench: &Bench) -> Vec<Snapshot> {
    let log = bench.log().await;
    let records = log.records().iter().filter(|r| r.is(kind::SNAPSHOT));
    records.map(|r| r.decode(kind::SNAPSHOT).unwrap()).collect()
}

#[derive(Clone, Debug, PartialEq, GraphState)]
struct Full {
    text: String,
    #[channel(counter)]
    count: i64,
    #[channel(union)]
    tags: BTreeSet<String>,
    #[channel(union, rename = "order")]
    sequence: Distinct<u64>,
    #[channel(min)]
    least: Option<i64>,
    #[channel(append)]
    notes: Vec<(u64, String)>,
    #[channel(topic)]
    news: Vec<i64>,
    #[channel(ephemeral)]
    last: Option<i64>,
    #[channel(untracked)]
    cache: i64,
    #[channel(reduce = longest, takes = str_like::Text)]
    longest: String,
}

mod str_like {
    /// What the reducer of one's own takes.
    #[derive(serde::Serialize, serde::Deserialize)]
    pub(super) struct Text(pub(super) String);
}

#[allow(
    clippy::ptr_arg,
    clippy::unnecessary_wraps,
    reason = "the form of a reducer"
)]
fn longest(current: &String, write: str_like::Text) -> Result<String, String> {
    let is_longer = write.0.len() > current.len();
    Ok(if is_longer { write.0 } else { current.clone() })
}

/// Writes every channel in some of the rounds.
fn fill(state: &Full) -> FullUpdate {
    let round = state.count;
    let number = u64::try_from(round).unwrap();
    let update = Full::update()
        .text(format!("{round:01000}"))
        .count(1)
        .tags(format!("t{}", round % 5))
        .sequence(number % 7)
        .least(-round)
        .cache(round)
        .longest(str_like::Text(
            "x".repeat(usize::try_from(round % 11).unwrap()),
        ));
    match round % 3 {
        0 => update
            .notes((number, "third".to_owned()))
            .news(round)
            .last(round),
        _ => update,
    }
}

#[tokio::test]
async fn a_snapshot_and_what_comes_after_it_make_the_same_state() {
    let graph = |limit| rounds(limit, |state: Arc<Full>| fill(&state));
    let mut bench = Bench::new();
    let state = drive_rounds(&mut bench, &graph(200)).await.unwrap();
    assert!(!snapshots(&bench).await.is_empty());
    let restored = drive_rounds(&mut bench, &graph(200)).await.unwrap();
    let untracked = |state: &Full| Full {
        cache: 0,
        ..state.clone()
    };
    assert_eq!(untracked(&restored), untracked(&state));
    assert_eq!((state.cache, restored.cache), (199, 0), "never recorded");
    assert_eq!((state.count, state.least), (200, Some(-199)));
    assert_eq!(state.tags.len(), 5);
    assert_eq!(&state.sequence[..], [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(state.notes.len(), 67);
    assert_eq!(
        (state.news.len(), state.last),
        (0, None),
        "of the step before the last"
    );
    assert_eq!(state.longest, "x".repeat(10));
    let further = drive_rounds(&mut bench, &graph(300)).await.unwrap();
    assert_eq!(further.count, 300);
}

/// As [`Full`], without most of it.
#[derive(Clone, Debug, GraphState)]
struct Less {
    text: String,
    #[channel(counter)]
    count: i64,
}

/// As [`Full`], with more.
#[derive(Clone, Debug, GraphState)]
struct More {
    #[channel(counter)]
    count: i64,
    #[channel(append)]
    notes: Vec<(u64, String)>,
    added: Option<String>,
}

#[tokio::test]
async fn what_the_type_does_not_have_is_carried_through_a_snapshot() {
    let mut bench = Bench::new();
    let full = |limit| rounds(limit, |state: Arc<Full>| fill(&state));
    let before = drive_rounds(&mut bench, &full(10)).await.unwrap();
    assert_eq!(snapshots(&bench).await.len(), 0);
    let less = rounds(150, |state: Arc<Less>| {
        Less::update()
            .text(format!("{:01000}", state.count))
            .count(1)
    });
    let between = drive_rounds(&mut bench, &less).await.unwrap();
    assert_eq!((between.count, between.text.len()), (150, 1_000));
    let snapshot = snapshots(&bench).await.pop().unwrap();
    assert!(snapshot.state.iter().any(|(channel, _)| channel == "notes"));
    let after = drive_rounds(&mut bench, &full(150)).await.unwrap();
    assert_eq!((after.count, &after.notes), (150, &before.notes));
    assert_eq!((after.tags, after.sequence), (before.tags, before.sequence));
    assert_eq!((after.least, after.longest), (before.least, before.longest));
}

#[tokio::test]
async fn a_field_that_was_added_is_empty_at_first() {
    let mut bench = Bench::new();
    let full = rounds(10, |state: Arc<Full>| fill(&state));
    drive_rounds(&mut bench, &full).await.unwrap();
    let more = |limit| {
        rounds(limit, |_: Arc<More>| {
            More::update().added(Some("new".into()))
        })
    };
    let state = drive_rounds(&mut bench, &more(10)).await.unwrap();
    assert_eq!((state.count, state.notes.len(), state.added), (10, 4, None));
    let state = drive_rounds(&mut bench, &more(11)).await.unwrap();
    assert_eq!(state.added.as_deref(), Some("new"));
}

/// As [`Full`], with another type for one field.
#[derive(Clone, Debug, GraphState)]
struct Other {
    #[channel(append)]
    notes: Vec<u64>,
}

#[tokio::test]
async fn a_record_that_does_not_fit_its_field_is_an_error_and_changes_nothing() {
    let mut bench = Bench::new();
    let full = rounds(4, |state: Arc<Full>| fill(&state));
    let before = drive_rounds(&mut bench, &full).await.unwrap();
    let recorded = bench.log().await.records().len();
    let other = rounds(9, |_: Arc<Other>| Other::update().notes(1));
    let halt = drive_rounds(&mut bench, &other).await.unwrap_err();
    assert_eq!(
        bench.log().await.records().len(),
        recorded,
        "nothing is written"
    );
    assert!(
        matches!(halt, Halt::Journal(JournalError::Corrupt { .. })),
        "{halt:?}"
    );
    assert_eq!(
        halt.to_string(),
        "channel `notes` cannot be read: a recorded change is no `u64`: \
         invalid type: sequence, expected u64"
    );
    let after = drive_rounds(&mut bench, &full).await.unwrap();
    assert_eq!(after.notes, before.notes);
}

#[tokio::test]
async fn an_update_that_has_no_json_form_is_refused() {
    #[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
    struct Table(std::collections::BTreeMap<(u8, u8), u8>);

    #[derive(Clone, Debug, GraphState)]
    struct Tables {
        table: Table,
    }

    let graph = rounds(1, |_: Arc<Tables>| {
        Tables::update().table(Table([((1, 2), 3)].into_iter().collect()))
    });
    let input = |_: &_| Tables::update();
    let end = Bench::new().attempt_on(&graph, input).await.unwrap();
    assert_eq!(
        failure(&end),
        "w RAG0411: node `w`: what was written to channel `table` has no JSON form: \
         key must be a string"
    );
    assert!(end.state.table.0.is_empty());
}

#[derive(Clone, Debug, GraphState)]
#[state(update = Change)]
struct Doors {
    #[channel(barrier("left", "right"))]
    r#gate: Arrivals,
    #[channel(append)]
    r#type: Vec<u8>,
    #[channel(append)]
    seen: Vec<bool>,
}

#[tokio::test]
async fn a_barrier_lets_through_in_the_step_after_the_last_one_arrived() {
    let look = |state: Arc<Doors>, context: TaskContext| {
        let name = context.node().to_string();
        let is_complete = state.gate.is_complete();
        async move {
            let update: Change = Doors::update().seen(is_complete).extend_type([1]);
            Ok(if name == "look" {
                update
            } else {
                update.gate(name)
            }
            .into())
        }
    };
    let graph = GraphBuilder::<Doors>::typed("g")
        .function("left", look)
        .function("right", look)
        .function("look", look)
        .start(["left"])
        .edge("left", "right")
        .branch(
            "right",
            |state: &Doors| state.gate.is_complete(),
            [(true, "look"), (false, END)],
        )
        .edge("look", END)
        .compile()
        .unwrap();
    let input = |_: &_| Doors::update();
    let end = Bench::new().attempt_on(&graph, input).await.unwrap();
    assert_eq!(end.state.seen, [false, false, true]);
    assert_eq!(end.state.r#type, [1, 1, 1]);
    assert_eq!(end.state.gate.names().len(), 0);
    let stranger = rounds(1, |_: Arc<Doors>| Doors::update().gate("middle"));
    let end = Bench::new().attempt_on(&stranger, input).await.unwrap();
    assert_eq!(
        failure(&end),
        "w RAG0411: node `w`: channel `gate` takes the names `left`, `right`: nobody waits for `middle`"
    );
}

#[test]
fn messages_from_outside_stand_once() {
    let message = |number| Message::user(MessageId::numbered(number), "x");
    let messages: Messages = [message(1), message(2), message(1)].into_iter().collect();
    assert_eq!(messages.len(), 2);
}

/// The crate under another name, and types by other names.
mod elsewhere {
    pub(crate) use rustagents_graph as engine;
}

type Names = Vec<String>;

/// What only this module knows.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Private(u8);

#[derive(Clone, Debug, PartialEq, elsewhere::engine::GraphState)]
#[state(crate = elsewhere::engine, input(private, names, best, order))]
pub(crate) struct Renamed {
    private: Private,
    #[channel(append)]
    names: Names,
    #[channel(max)]
    best: Option<f64>,
    #[channel(union)]
    order: Distinct<u8>,
}

#[tokio::test]
async fn an_input_is_written_as_a_node_writes_and_a_node_takes_a_route() {
    let graph = GraphBuilder::<Renamed>::typed("g")
        .function("name", |_, _| async {
            let update = Renamed::update().names("second").best(1.0);
            Ok(NodeOutput::from(update).route("on"))
        })
        .start(["name"])
        .route("name", "on", [END])
        .compile()
        .unwrap();
    let input = RenamedInput {
        private: Private(7),
        names: vec!["first".into()],
        best: Some(2.5),
        order: [3, 1, 3].into_iter().collect(),
    };
    let end = Bench::new()
        .attempt_on(&graph, |_| input.into())
        .await
        .unwrap();
    let expected = Renamed {
        private: Private(7),
        names: vec!["first".into(), "second".into()],
        best: Some(2.5),
        order: [3, 1].into_iter().collect(),
    };
    assert_eq!(*end.state, expected);
}
