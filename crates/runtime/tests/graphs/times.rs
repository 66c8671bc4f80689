//! Date-times with a named zone, in a state and on the ways through it: none of them is
//! read as anything but what it was written as.

use super::*;
use rustagents_runtime::threads::{
    Keep,
    transfer::{export, read},
};
use rustagents_store_file::FileJournal;
use rustagents_store_sqlite::SqliteJournal;
use serde::{Deserialize, Serialize, de::Error};

/// In the hour that the clocks of Berlin left out that night.
const GAP: &str = "2026-03-29T02:30:00+01:00[Europe/Berlin]";

/// Texts of RFC 9557: both of an hour that was twice, fractions, a calendar, UTC, and a
/// zone whose offset is critical.
const TEXTS: [&str; 6] = [
    GAP,
    "2026-10-25T02:30:00+02:00[Europe/Berlin]",
    "2026-10-25T02:30:00+01:00[Europe/Berlin]",
    "2026-03-29T02:30:00.000000001+01:00[Europe/Berlin][u-ca=gregory]",
    "2026-03-29T01:30:00Z[UTC]",
    "-009999-01-01T00:00:00-00:44:30[!Africa/Monrovia]",
];

/// A date-time that insists on the name of its zone, as text.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
struct Zoned(String);

impl<'de> Deserialize<'de> for Zoned {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.ends_with(']') && text.contains('[') {
            return Ok(Self(text));
        }
        Err(D::Error::custom(format!("`{text}` has no zone")))
    }
}

/// The same as an object, with a number that no `f64` holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Parts {
    date: String,
    time: String,
    offset_seconds: i32,
    zone: String,
    epoch_nanoseconds: i64,
}

fn parts() -> Parts {
    Parts {
        date: "2026-03-29".into(),
        time: "02:30:00".into(),
        offset_seconds: 3_600,
        zone: "Europe/Berlin".into(),
        epoch_nanoseconds: 1_774_747_800_000_000_001,
    }
}

#[derive(Clone, Debug, PartialEq, GraphState)]
struct Diary {
    at: Option<Zoned>,
    parts: Option<Parts>,
    #[channel(append)]
    texts: Vec<Zoned>,
    /// What came back from steps, answers and sends.
    #[channel(append)]
    ways: Vec<Value>,
}

fn whole() -> Diary {
    let texts = TEXTS.map(|text| Zoned(text.to_owned()));
    let both = || [json!(GAP), json!(parts())];
    Diary {
        at: Some(Zoned(GAP.into())),
        parts: Some(parts()),
        texts: texts.into(),
        ways: [both(), both(), both()].concat(),
    }
}

/// Writes them, takes them from steps, from an answer, and from what is sent.
fn diary() -> Graph<Diary> {
    GraphBuilder::<Diary>::typed("diary")
        .function("write", |_, context: TaskContext| async move {
            let text = context.step("text", || async { Ok::<_, NodeError>(Zoned(GAP.into())) });
            let text = text.await?;
            let object = context.step("object", || async { Ok::<_, NodeError>(parts()) });
            let object = object.await?;
            let answer = context.ask("when?").await?;
            let update = TEXTS.iter().fold(Diary::update(), |update, text| {
                update.texts(Zoned((*text).to_owned()))
            });
            let update = update.at(Some(text.clone())).parts(Some(object.clone()));
            let update = update.ways(json!(text)).ways(json!(object));
            let ways = [&answer["text"], &answer["object"]];
            let update = ways
                .into_iter()
                .fold(update, |update, way| update.ways(way.clone()));
            Ok(NodeOutput::of(update).send_each("read", [json!(text), json!(object)]))
        })
        .function("read", |_, context: TaskContext| async move {
            let sent: Value = context.argument()?;
            Ok(Diary::update().ways(sent).into())
        })
        .commands("write", ["read"])
        .start(["write"])
        .finish("read")
        .compile()
        .unwrap()
}

/// The state as whoever comes later reads it, and the records that it is made of.
async fn check_read(what: &str, journal: Arc<dyn Journal>) {
    let graph = diary();
    let reader = GraphRunner::new(Arc::clone(&journal));
    let view = reader.state(&graph, "t").await.unwrap();
    assert_eq!(*view.state, whole(), "{what}");
    let thread = ThreadId::new("t").unwrap();
    let log = ThreadLog::load_whole(&*journal, &thread).await.unwrap();
    let bodies: Vec<_> = log.records().iter().map(|record| &*record.body).collect();
    for text in TEXTS {
        let recorded = format!("\"{text}\"");
        let has = bodies.iter().any(|body| body.contains(&recorded));
        assert!(has, "{what}: {text} is recorded as it is");
    }
    assert_eq!(check(&*journal, &thread).await.unwrap(), [], "{what}");
}

async fn exported(journal: &dyn Journal) -> Vec<u8> {
    let thread = ThreadId::new("t").unwrap();
    let (lines, _) = export(journal, &thread, || Ok(Vec::new())).await.unwrap();
    lines
}

#[tokio::test]
async fn a_date_time_with_a_named_zone_is_recorded_snapshotted_and_exported_as_it_is() {
    let graph = diary();
    let journal = Arc::new(MemoryJournal::new());
    let runner = GraphRunner::new(journal.clone());
    let waits = runner.run(&graph, "t", Diary::update()).await.unwrap();
    let ask = waits.asks()[0].id.to_string();
    let answer = json!({ "text": GAP, "object": parts() });
    // Its steps are found again on record.
    let resumed = GraphRunner::new(journal.clone());
    let done = resumed.resume(&graph, "t", [(ask, answer)]).await.unwrap();
    assert!(
        matches!(done.outcome, Outcome::Completed),
        "{:?}",
        done.outcome
    );
    assert_eq!(*done.state, whole());
    check_read("recorded", journal.clone()).await;

    let runtime = Runtime::new(
        journal.clone(),
        Arc::new(ManualClock::new()),
        Arc::new(CountingIds::default()),
    );
    let thread = ThreadId::new("t").unwrap();
    runtime.prune(&thread, Keep::Last(1)).await.unwrap();
    let log = ThreadLog::load_whole(&*journal, &thread).await.unwrap();
    let mut records = log.records().iter();
    assert!(records.any(|record| record.is(kind::SNAPSHOT)));
    check_read("a snapshot", journal.clone()).await;

    let folder = tempfile::tempdir().unwrap();
    let lines = exported(&*journal).await;
    let stores: [(&str, Arc<dyn Journal>); 3] = [
        ("memory", Arc::new(MemoryJournal::new())),
        (
            "sqlite",
            Arc::new(SqliteJournal::open(folder.path().join("j.db")).unwrap()),
        ),
        (
            "files",
            Arc::new(FileJournal::open(folder.path().join("j")).unwrap()),
        ),
    ];
    for (what, store) in stores {
        store.install(read(&mut &lines[..]).unwrap()).await.unwrap();
        check_read(what, Arc::clone(&store)).await;
        assert_eq!(exported(&*store).await, lines, "{what}");
    }
}

#[tokio::test]
async fn a_state_without_a_type_keeps_date_times_as_they_are() {
    let written = json!({ "text": GAP, "object": parts() });
    let graph = GraphBuilder::new("diary")
        .channel("at", rustagents_graph::Reducer::Overwrite)
        .function("keep", |_, _| async { Ok(NodeOutput::new()) })
        .start(["keep"])
        .finish("keep")
        .compile()
        .unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let runner = GraphRunner::new(journal.clone());
    let mut input = rustagents_graph::Writes::new();
    input.push("at", rustagents_graph::Update::Value(written.clone()));
    runner.run(&graph, "t", input).await.unwrap();
    let back = Arc::new(MemoryJournal::new());
    let lines = exported(&*journal).await;
    back.install(read(&mut &lines[..]).unwrap()).await.unwrap();
    for journal in [journal, back] {
        let view = GraphRunner::new(journal).state(&graph, "t").await.unwrap();
        assert_eq!(view.state.value("at").cloned(), Some(written.clone()));
    }
}
