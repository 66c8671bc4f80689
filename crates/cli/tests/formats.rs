//! Whatever was ever written is read, whole, and goes on: a fixture of each format that a
//! store ever had, in `spec`. They are copied before they are opened.

use std::{
    collections::BTreeSet,
    fs,
    future::Future,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustagents_core::{
    code::Coded as _,
    event_journal::{EventJournal, EventQuery, PlacedEvent},
    ids::{Branch, FactKey, Namespace, RunId, ThreadId},
    journal::{
        Author, Batch, Chain, Entry, Journal, Kind, Owner, Place, Record, Select, ThreadQuery, kind,
    },
    store::{Address, Item, NamespacePath, PutOptions, Reading, SearchQuery, Store},
};
use rustagents_runtime::{
    ThreadView,
    host::SystemClock,
    threads::{check::check, transfer},
};
use rustagents_store::MemoryJournal;
use rustagents_store_file::{FileEvents, FileJournal, FileStore};
use rustagents_store_sqlite::{SqliteEvents, SqliteJournal, SqliteStore};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bench::{Desk, approvals};

/// The threads of the SQLite stores, with what their exports end in.
const SQLITE: [(u32, &str, &str); 10] = [
    (
        1,
        "ticket-7",
        "fef0652488475cc5c16991b0c0329607366413bc56f83b4b748d949740bf9543",
    ),
    (
        1,
        "ticket-8",
        "acb1453d77667e572438064813fa75abafb3a225d713215b749ddea07b063130",
    ),
    (
        2,
        "ticket-7",
        "fef0652488475cc5c16991b0c0329607366413bc56f83b4b748d949740bf9543",
    ),
    (
        2,
        "ticket-8",
        "acb1453d77667e572438064813fa75abafb3a225d713215b749ddea07b063130",
    ),
    (
        3,
        "ticket-7",
        "fc49566c2892bb5527d542784fc6aa9c1e45e6e2b55d10cafda8978e92eedc6a",
    ),
    (
        3,
        "ticket-8",
        "85d1cd4c26c498629f3f62150d69febacd28c933e7540dba6352091cc93de8d0",
    ),
    (
        4,
        "ticket-7",
        "68c4ae0127577f8a5ff513109d32a99abac51061ea6753822aa3aad86d5677b8",
    ),
    (
        4,
        "ticket-8",
        "2a6ff57cdf4c31ddd10e4300adb9b696448e7323ef246f2a0ed645bc79b560ac",
    ),
    (
        5,
        "ticket-7",
        "80334a061c0aca0152be606289f37263c3c42d9c2296ffb14cf825042a2c44ea",
    ),
    (
        5,
        "ticket-8",
        "38bbe3e7cb1d069f006f7b31082babcc99750e9b136e5ac5dcbf92f9e9787219",
    ),
];

/// The threads of the folder, whose exports are fixtures themselves.
const THREADS: [&str; 5] = ["copy-8", "gone", "queue-7", "ticket-7", "ticket-8"];

/// Those of the folder whose logs have long messages in parts.
const LONG: [&str; 2] = ["page", "page-copy"];

fn spec(path: &str) -> PathBuf {
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec");
    spec.join(path)
}

fn text(path: &str) -> String {
    fs::read_to_string(spec(path)).unwrap()
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(work)
}

/// A database as its fixture says.
fn database(fixture: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fixture.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    let sql = format!("BEGIN; {} COMMIT;", text(fixture));
    database.execute_batch(&sql).unwrap();
    (folder, path)
}

/// A folder as its fixture says.
fn folder(fixture: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fixture");
    copy(&spec(fixture), &path);
    (folder, path)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn lines<T: DeserializeOwned>(text: &str) -> Vec<T> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

async fn export(journal: &dyn Journal, thread: &ThreadId) -> String {
    let image = transfer::image(journal, thread).await.unwrap();
    let mut bytes = Vec::new();
    transfer::write(&image, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

async fn records(journal: &dyn Journal, thread: &ThreadId) -> Vec<Record> {
    journal.read(thread, Select::all()).await.unwrap()
}

/// A commit and a fact behind what is there, of a kind that nobody needs.
fn note(thread: &ThreadId, epoch: u64) -> Batch {
    let chain = Chain {
        branch: Branch::main(),
        namespace: Namespace::from("note"),
    };
    let entry = |place| Entry {
        chain: chain.clone(),
        place,
        kind: Kind {
            name: "note",
            version: 1,
        },
        run: RunId::from(""),
        attempt: 1,
        effect: None,
        digest: None,
        body: "{}".into(),
    };
    Batch {
        thread: thread.clone(),
        author: Author::Driver(epoch),
        heads: vec![(chain.clone(), None)],
        entries: vec![
            entry(Place::Commit),
            entry(Place::Fact(FactKey::from("note"))),
        ],
        messages: vec![],
        contents: vec![],
        at_ms: 1_795_999_999_999,
    }
}

/// A thread that was read goes on: it is claimed, and written to.
async fn goes_on(journal: &dyn Journal, thread: &ThreadId) {
    let before = records(journal, thread).await;
    let rows = journal.threads(ThreadQuery::all()).await.unwrap();
    let row = rows.iter().find(|row| row.thread == *thread).unwrap();
    assert_eq!(row.last_seq, before.last().unwrap().seq, "{thread:?}");
    assert_eq!(journal.owner(thread).await.unwrap(), None, "{thread:?}");
    let claim = journal.claim(thread, Owner::default()).await.unwrap();
    assert_eq!(claim.epoch, row.epoch + 1, "{thread:?}");
    let stale = journal.append(note(thread, row.epoch)).await;
    assert_eq!(stale.unwrap_err().code().to_string(), "RAG0306");
    let placed = journal.append(note(thread, claim.epoch)).await.unwrap();
    assert_eq!(placed, [row.last_seq + 1, row.last_seq + 2], "{thread:?}");
    let again = journal.append(note(thread, claim.epoch)).await;
    again.unwrap_err();
    let after = records(journal, thread).await;
    assert_eq!(after[..before.len()], before, "{thread:?}");
    assert_eq!(after.len(), before.len() + 2, "{thread:?}");
    assert_eq!(check(journal, thread).await.unwrap(), [], "{thread:?}");
}

/// How a thread stands: what it waits for, of the last run.
async fn waits(journal: &dyn Journal, thread: &ThreadId) -> usize {
    let view = ThreadView::load(journal, thread).await.unwrap().unwrap();
    view.pending().count()
}

/// Reads a thread, goes on with it, and opens the store anew.
async fn is_whole<J: Journal>(open: impl Fn() -> J, thread: &str, told: impl Fn(&str)) {
    let journal = open();
    let name = ThreadId::new(thread).unwrap();
    assert_eq!(check(&journal, &name).await.unwrap(), [], "{thread}");
    told(&export(&journal, &name).await);
    let expected = if thread.ends_with('7') { 2 } else { 0 };
    assert_eq!(waits(&journal, &name).await, expected, "{thread}");
    goes_on(&journal, &name).await;
    let written = records(&journal, &name).await;
    drop(journal);
    let journal = open();
    assert_eq!(records(&journal, &name).await, written, "{thread}");
    assert_eq!(waits(&journal, &name).await, expected, "{thread}");
}

#[test]
fn the_threads_of_every_sqlite_journal_are_read_and_go_on() {
    for (version, thread, digest) in SQLITE {
        let (_folder, path) = database(&format!("journal/sqlite-{version}.sql"));
        let open = || SqliteJournal::open(&path).unwrap();
        block_on(is_whole(open, thread, |export| {
            let end: Value = serde_json::from_str(export.lines().last().unwrap()).unwrap();
            assert_eq!(end["end"]["digest"], digest, "{version}: {thread}");
        }));
    }
}

#[test]
fn the_threads_of_every_file_journal_are_read_and_go_on() {
    for (fixture, threads) in [("journal/file-1", &THREADS[..]), ("journal/file-2", &LONG)] {
        let (_folder, path) = folder(fixture);
        let open = || FileJournal::open(&path).unwrap();
        for thread in threads {
            block_on(is_whole(open, thread, |export| {
                assert_eq!(export, text(&format!("journal/export-1/{thread}.jsonl")));
            }));
        }
        let rows = block_on(async { open().threads(ThreadQuery::all()).await.unwrap() });
        let names: Vec<_> = rows.iter().map(|row| row.thread.as_str()).collect();
        assert_eq!(names, threads, "{fixture}");
    }
}

#[test]
fn a_removed_thread_of_a_file_journal_is_remembered() {
    let (_folder, path) = folder("journal/file-1");
    block_on(async {
        let journal = FileJournal::open(&path).unwrap();
        let gone = ThreadId::new("gone").unwrap();
        let rows = journal.threads(ThreadQuery::all()).await.unwrap();
        let row = rows.iter().find(|row| row.thread == gone).unwrap();
        assert!(row.epoch > 1, "the one before it was at 1");
        let claim = journal.claim(&gone, Owner::default()).await.unwrap();
        journal.remove(&gone, claim.epoch).await.unwrap();
        let again = journal.claim(&gone, Owner::default()).await.unwrap();
        assert_eq!(again.epoch, claim.epoch + 1);
    });
}

#[test]
fn a_run_that_a_file_journal_suspended_goes_on_with_the_plan_that_it_keeps() {
    let desk = Desk::new();
    copy(&spec("journal/file-1"), &desk.path().join("kept"));
    let options = [
        "--pin",
        "--config",
        "rustagents.toml",
        "--store",
        "file:kept",
    ];
    let resume =
        |more: &[&str]| desk.rag(&[&["resume", "ticket-7", "--json"], &options[..], more].concat());
    let waiting = resume(&[]);
    assert_eq!(waiting.status, Some(3), "{waiting:?}");
    let approvals = approvals(&waiting);
    let approvals: Vec<_> = approvals.iter().map(String::as_str).collect();
    let done = resume(&approvals);
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(
        done.json()["usage"]["model_calls"],
        8,
        "nothing is asked again"
    );
    let checked = desk.rag(&["doctor", "--full", "--store", "file:kept"]);
    assert_eq!(checked.status, Some(0), "{checked:?}");
}

#[test]
fn every_export_is_imported_to_every_store_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let journals: [Arc<dyn Journal>; 3] = [
        Arc::new(MemoryJournal::new()),
        Arc::new(FileJournal::open(folder.path().join("journal")).unwrap()),
        Arc::new(SqliteJournal::open(folder.path().join("journal.db")).unwrap()),
    ];
    for exported in exports() {
        for journal in &journals {
            let image = transfer::read(&mut exported.as_bytes()).unwrap();
            let name = image.thread.clone();
            block_on(async {
                journal.install(image).await.unwrap();
                assert_eq!(check(&**journal, &name).await.unwrap(), [], "{name}");
                assert_eq!(export(&**journal, &name).await, exported);
                goes_on(&**journal, &name).await;
            });
        }
    }
}

/// The exports that are fixtures.
fn exports() -> Vec<String> {
    let folders = ["journal/export-1", "journal/kinds"];
    let files = folders.map(|folder| fs::read_dir(spec(folder)).unwrap());
    let mut files: Vec<_> = files
        .into_iter()
        .flatten()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect()
}

#[test]
fn every_kind_of_record_is_in_a_fixture_in_each_of_its_versions() {
    let mut held = BTreeSet::new();
    for exported in exports() {
        let image = transfer::read(&mut exported.as_bytes()).unwrap();
        let records = image.records.into_iter();
        held.extend(records.map(|record| (record.kind.into_owned(), record.version)));
    }
    let versions = |kind: Kind| (1..=kind.version).map(move |version| (kind.name, version));
    let missing: Vec<_> = kind::ALL
        .into_iter()
        .flat_map(versions)
        .filter(|(name, version)| !held.contains(&((*name).to_owned(), *version)))
        .map(|(name, version)| format!("`{name}` in version {version}"))
        .collect();
    assert!(
        missing.is_empty(),
        "no fixture holds {}: add an export to `spec/journal/kinds` that does",
        missing.join(", ")
    );
}

/// A thread of `spec/journal/kinds` that waits, brought to a desk, is answered and goes on
/// with the plan that it keeps, in each store that `rag` has.
fn is_resumed(thread: &str, answer: &[&str], prepare: impl Fn(&Desk)) {
    for store in ["sqlite:kept.db", "file:kept"] {
        let desk = Desk::new();
        prepare(&desk);
        let export = spec(&format!("journal/kinds/{thread}.jsonl"));
        let export = export.to_str().unwrap();
        let rag = |arguments: &[&str]| desk.rag(&[arguments, &["--store", store]].concat());
        let imported = rag(&["threads", "import", export]);
        assert_eq!(imported.status, Some(0), "{imported:?}");
        let resume = [
            "resume",
            thread,
            "--json",
            "--pin",
            "--config",
            "rustagents.toml",
        ];
        let waiting = rag(&resume);
        assert_eq!(waiting.status, Some(3), "{waiting:?}");
        let done = rag(&[&resume, answer].concat());
        assert_eq!(done.status, Some(0), "{done:?}");
        let checked = rag(&["doctor", "--full"]);
        assert_eq!(checked.status, Some(0), "{checked:?}");
    }
}

#[test]
fn a_run_with_questions_and_answers_of_the_first_version_goes_on() {
    is_resumed("asked-9", &["--approve", "c-7@0963f092"], |_| {});
}

#[test]
fn a_run_with_a_call_in_doubt_goes_on() {
    let answer = ["--done", "c-3={\"status\":0}"];
    is_resumed("work-9", &answer, |desk| {
        desk.write(
            "script.toml",
            "rule = [{ text = \"{{ result | tojson }}\" }]",
        );
        let tool = |name: &str, effect: &str| {
            format!(
                "[tools.{name}]\nkind = \"command\"\neffect = \"{effect}\"\n\
                 description = \"Some work.\"\napproval = \"allow\"\n\
                 arguments = {{ type = \"object\" }}\ncommand = [\"false\"]\n"
            )
        };
        let models = "[models]\ndefault = \"scripted:script.toml\"\n";
        let tools = [tool("look", "repeatable"), tool("work", "once")].concat();
        desk.write("rustagents.toml", format!("{models}{tools}"));
    });
}

/// All events that are kept, page by page.
async fn events(journal: &dyn EventJournal) -> Vec<PlacedEvent> {
    let (mut events, mut query) = (Vec::new(), EventQuery::from(1).limit(7));
    loop {
        let page = journal.read(query.clone()).await.unwrap();
        let Some(last) = page.events.last() else {
            return events;
        };
        query = query.on_from(last.offset + 1);
        events.extend(page.events);
    }
}

/// Reads an event journal, and goes on with it.
async fn keeps<E: EventJournal>(open: impl Fn() -> E, expected: Vec<PlacedEvent>, next: u64) {
    let journal = open();
    assert_eq!(events(&journal).await, expected);
    let event = expected.last().unwrap().event.clone();
    let offsets = journal.append(vec![event.clone(); 2]).await.unwrap();
    assert_eq!(offsets, [next, next + 1]);
    let thread = event.thread.clone();
    drop(journal);
    let journal = open();
    let all = events(&journal).await;
    assert_eq!(
        (&all[..expected.len()], all.len()),
        (&expected[..], expected.len() + 2)
    );
    let own = all.iter().filter(|placed| placed.event.thread == thread);
    let removed = journal.remove_thread(thread.clone()).await.unwrap();
    assert_eq!(removed, own.count() as u64);
    let left = events(&journal).await;
    assert!(left.iter().all(|placed| placed.event.thread != thread));
    assert_eq!(left.len() as u64, all.len() as u64 - removed);
}

#[test]
fn every_event_journal_is_read_and_goes_on() {
    let (_folder, path) = database("events/sqlite-1.sql");
    let expected = lines(&text("events/sqlite-1.jsonl"));
    block_on(keeps(|| SqliteEvents::new(&path), expected, 102));
    for format in [1, 2] {
        let fixture = format!("events/file-{format}");
        let (_folder, path) = folder(&fixture);
        let written = text(&format!("{fixture}/00000000000000000001.jsonl"));
        let expected: Vec<_> = lines::<Option<_>>(&written).into_iter().flatten().collect();
        assert_eq!(expected.len(), if format == 1 { 101 } else { 65 });
        block_on(keeps(|| FileEvents::new(&path), expected, 102));
    }
}

/// Reads an application store, and goes on with it.
async fn remembers<S: Store>(open: impl Fn() -> S, expected: Vec<Item>) {
    let all = async |store: &S| {
        let query = SearchQuery::under(NamespacePath::default());
        store.search(query).await.unwrap().items
    };
    let store = open();
    assert_eq!(all(&store).await, expected);
    for item in &expected {
        let found = store.get(&item.address, Reading::Plain).await.unwrap();
        assert_eq!(found.as_ref(), Some(item));
        let options = PutOptions::default();
        let version = store.put(item.address.clone(), json!("new"), options).await;
        assert_eq!(version.unwrap(), item.version + 1);
    }
    // Its name was used before, and no version is used twice.
    let gone = Address::new(["users"], "gone").unwrap();
    let version = store
        .put(gone.clone(), json!(1), PutOptions::default())
        .await;
    assert!(version.unwrap() > 1);
    drop(store);
    let store = open();
    let items = all(&store).await;
    assert_eq!(items.len(), expected.len() + 1);
    for (item, before) in items
        .iter()
        .filter(|item| item.address != gone)
        .zip(&expected)
    {
        assert_eq!(
            (&item.address, &item.value),
            (&before.address, &json!("new"))
        );
        assert_eq!(item.created_at_ms, before.created_at_ms);
    }
}

#[test]
fn every_application_store_is_read_and_goes_on() {
    let clock = Arc::new(SystemClock::new());
    let (_folder, path) = database("store/sqlite-1.sql");
    let open = || SqliteStore::new(&path, clock.clone());
    block_on(remembers(open, lines(&text("store/sqlite-1.jsonl"))));
    let (_folder, path) = folder("store/file-1");
    let open = || FileStore::new(&path, clock.clone());
    block_on(remembers(open, lines(&text("store/file-1.jsonl"))));
}

/// The fixtures of a store: `NAME-1` and so on, up to the format that a new one has.
fn has_fixtures(name: &str, end: &str, newest: &Value) {
    let newest = newest.as_u64().unwrap();
    assert!(newest > 0, "{name}");
    for format in 1..=newest {
        let path = spec(&format!("{name}-{format}{end}"));
        assert!(path.exists(), "there is no fixture `{}`", path.display());
    }
    let later = spec(&format!("{name}-{}{end}", newest + 1));
    assert!(
        !later.exists(),
        "`{}` is of a format to come",
        later.display()
    );
}

fn database_version(path: &Path) -> Value {
    let database = rusqlite::Connection::open(path).unwrap();
    let version = database.query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0));
    version.unwrap().into()
}

fn first_line(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

#[test]
fn each_format_has_a_fixture_and_so_must_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let (root, name) = (folder.path().join("kept"), ThreadId::new("t").unwrap());
    let clock = Arc::new(SystemClock::new());
    let event = lines::<PlacedEvent>(&text("events/sqlite-1.jsonl"))
        .remove(0)
        .event;
    let database = |name: &str| folder.path().join(name);
    block_on(async {
        let file = FileJournal::open(&root).unwrap();
        let sqlite = SqliteJournal::open(database("journal.db")).unwrap();
        for journal in [&file as &dyn Journal, &sqlite] {
            let claim = journal.claim(&name, Owner::default()).await.unwrap();
            journal.append(note(&name, claim.epoch)).await.unwrap();
        }
        let stores: [&dyn Store; 2] = [
            &FileStore::new(root.join("store"), clock.clone()),
            &SqliteStore::new(database("store.db"), clock),
        ];
        for store in stores {
            let address = Address::new(["a"], "k").unwrap();
            let put = store.put(address, json!(1), PutOptions::default()).await;
            put.unwrap();
        }
        let journals: [&dyn EventJournal; 2] = [
            &FileEvents::new(root.join("events")),
            &SqliteEvents::new(database("events.db")),
        ];
        for journal in journals {
            journal.append(vec![event.clone()]).await.unwrap();
            // A folder has its newest format from the first removal on.
            journal.remove_thread(event.thread.clone()).await.unwrap();
        }
        let exported = export(&sqlite, &name).await;
        let header: Value = serde_json::from_str(exported.lines().next().unwrap()).unwrap();
        let schema = header["schema"].as_str().unwrap();
        let version: u64 = schema.strip_prefix("rag.export/").unwrap().parse().unwrap();
        has_fixtures("journal/export", "", &version.into());
    });
    has_fixtures(
        "journal/sqlite",
        ".sql",
        &database_version(&database("journal.db")),
    );
    has_fixtures(
        "events/sqlite",
        ".sql",
        &database_version(&database("events.db")),
    );
    has_fixtures(
        "store/sqlite",
        ".sql",
        &database_version(&database("store.db")),
    );
    let log = first_line(&root.join("threads/t-t/log.jsonl"));
    has_fixtures("journal/file", "", &log["log"]["format"]);
    has_fixtures(
        "journal/file",
        "",
        &first_line(&root.join("format"))["format"],
    );
    has_fixtures(
        "events/file",
        "",
        &first_line(&root.join("events/events.json"))["format"],
    );
    has_fixtures(
        "store/file",
        "",
        &first_line(&root.join("store/items.log"))["format"],
    );
}
