//! Whether an async worker goes on while a call of a store waits for something: a lock
//! that another process holds, a disk that is slow.

use std::{
    fs::{self, OpenOptions},
    future::Future,
    path::Path,
    pin::pin,
    process::Command,
    sync::mpsc as channel,
    thread as threads,
    time::Duration,
};

use futures::{
    FutureExt,
    future::{Either, select},
};
use rustagents_core::{
    BoxFuture,
    digest::Digest,
    event_journal::{EventJournal, EventQuery, Retention, RunEvent},
    ids::ThreadId,
    journal::{Compaction, Content, Epoch, Journal, Owner, Select, ThreadImage, ThreadQuery, kind},
    store::{Address, NamespacePath, NamespaceQuery, PutOptions, Reading, SearchQuery, Store},
};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::mpsc,
};

use crate::batch::{commit, thread};

/// How often two other tasks answer each other while a call waits.
const TURNS: u32 = 100;

/// How long a worker is left alone with a pipe that it waits for.
const HOPELESS: Duration = Duration::from_secs(5);

/// A call, by its name; it says whether it did what was asked.
pub type Call<'a> = (&'static str, BoxFuture<'a, Result<(), String>>);

fn call<'a, T, E: std::fmt::Display>(
    name: &'static str,
    work: impl Future<Output = Result<T, E>> + Send + 'a,
) -> Call<'a> {
    let done = work.map(|done| done.map(drop).map_err(|error| error.to_string()));
    (name, done.boxed())
}

/// Makes the call while something is in its way, which `release` takes out of it after
/// two other tasks of the same thread have answered each other many times. The call must
/// have waited until then, and succeed.
///
/// # Panics
/// If the call kept the thread for itself, did not wait, or failed.
pub async fn others_go_on(call: Call<'_>, release: impl FnOnce()) {
    others_go_on_once(call, std::future::ready(()), release).await;
}

/// As [`others_go_on`], where the call comes to what is in its way once `there` is ready.
///
/// # Panics
/// As [`others_go_on`].
pub async fn others_go_on_once(
    (name, work): Call<'_>,
    there: impl Future<Output = ()>,
    release: impl FnOnce(),
) {
    let flavor = Handle::current().runtime_flavor();
    assert_eq!(flavor, RuntimeFlavor::CurrentThread, "one thread for all");
    let mut work = pin!(work);
    let others = pin!(async {
        there.await;
        answer_each_other().await;
    });
    match select(work.as_mut(), others).await {
        // A call that blocks the thread ends with an error, since nobody lets it go on.
        Either::Left((ended, _)) => panic!("`{name}` did not leave the others a turn: {ended:?}"),
        Either::Right(((), _)) => {}
    }
    release();
    work.await
        .unwrap_or_else(|error| panic!("`{name}`: {error}"));
}

async fn answer_each_other() {
    let (to_echo, mut asked) = mpsc::channel(1);
    let (to_us, mut answered) = mpsc::channel(1);
    let echo = tokio::spawn(async move {
        while let Some(number) = asked.recv().await {
            if to_us.send(number).await.is_err() {
                return;
            }
        }
    });
    for turn in 0..TURNS {
        to_echo.send(turn).await.expect("somebody who answers");
        assert_eq!(answered.recv().await, Some(turn));
    }
    drop(to_echo);
    echo.await.expect("it ends");
}

/// A pipe in the place of a file: whoever opens it to read waits, as on a disk that does
/// not answer, until somebody writes.
#[derive(Debug)]
pub struct Pipe(channel::Sender<()>);

impl Pipe {
    /// Puts a pipe in the place of the file at `path`.
    pub fn at(path: &Path) -> Self {
        fs::remove_file(path).expect("a file");
        let made = Command::new("mkfifo").arg(path).status();
        assert!(made.is_ok_and(|made| made.success()), "no pipe");
        let (opens, opened) = channel::channel();
        let path = path.to_owned();
        threads::spawn(move || {
            // Who waits for it on the thread that should open it is let go on in the end.
            let _ = opened.recv_timeout(HOPELESS);
            let file = OpenOptions::new().write(true).open(path);
            drop(file.expect("somebody who reads"));
        });
        Self(opens)
    }

    /// Lets the reader go on, once there is one.
    pub fn open(self) {
        self.0.send(()).expect("it listens");
    }
}

/// The calls that look at a thread which has a record.
pub fn journal_reads<'a>(journal: &'a dyn Journal, name: &'a ThreadId) -> Vec<Call<'a>> {
    vec![
        call("read", journal.read(name, Select::all())),
        call("messages", journal.messages(name, 0, 9)),
        call("content", journal.content(name, Digest::of(b"content"))),
        call("threads", journal.threads(ThreadQuery::all())),
        call("owner", journal.owner(name)),
        call("changed", journal.changed(name, 0)),
    ]
}

/// The calls that write to a thread of this epoch without records, one after the other.
/// The last one removes it. With `elsewhere`, those that make other threads are among
/// them.
pub fn journal_writes<'a>(
    journal: &'a dyn Journal,
    name: &'a ThreadId,
    epoch: Epoch,
    elsewhere: Option<&'a [ThreadId; 2]>,
) -> Vec<Call<'a>> {
    let mut write = commit(name, epoch, None, "{}");
    write.contents = vec![Content {
        digest: Digest::of(b"content"),
        bytes: b"content".to_vec(),
    }];
    let compaction = Compaction {
        batch: commit(name, epoch, Some(1), "{}"),
        drop: vec![1..=1],
    };
    let mut calls = vec![
        call("append", journal.append(write)),
        call("compact", journal.compact(compaction)),
    ];
    if let Some([copy, installed]) = elsewhere {
        let image = ThreadImage {
            thread: installed.clone(),
            epoch: 1,
            records: vec![],
            messages: vec![],
            contents: vec![],
            family: None,
        };
        calls.push(call("copy", journal.copy(name, copy, None)));
        calls.push(call("install", journal.install(image)));
        calls.push(call("discard", journal.discard(copy, Owner::default())));
        calls.push(call("claim", journal.claim(installed, Owner::default())));
    }
    calls.push(call("take_over", journal.take_over(name, Owner::default())));
    calls.push(call("remove", journal.remove(name, epoch + 1)));
    calls
}

fn address() -> Address {
    Address::new(["a"], "k").expect("a valid address")
}

/// The calls that look at an application store.
pub fn store_reads(store: &dyn Store) -> Vec<Call<'_>> {
    let root = NamespacePath::default;
    vec![
        call("get", async { store.get(&address(), Reading::Plain).await }),
        call("search", store.search(SearchQuery::under(root()))),
        call(
            "namespaces",
            store.namespaces(NamespaceQuery::under(root())),
        ),
    ]
}

/// The calls that write to an application store.
pub fn store_writes(store: &dyn Store) -> Vec<Call<'_>> {
    let put = store.put(address(), serde_json::json!(1), PutOptions::default());
    vec![
        call("put", put),
        call("get anew", async {
            store.get(&address(), Reading::Refresh).await
        }),
        call("sweep", store.sweep(9)),
    ]
}

fn event() -> RunEvent {
    RunEvent {
        thread: thread("t"),
        run: "r".into(),
        root_run: "r".into(),
        kind: kind::RUN_OPENED.name.into(),
        namespace: "".into(),
        at_ms: 1,
        payload: serde_json::json!({}),
    }
}

/// The calls that look at an event journal with an event.
pub fn event_reads(journal: &dyn EventJournal) -> Vec<Call<'_>> {
    vec![
        call("read", journal.read(EventQuery::from(1))),
        call("changed", journal.changed(0)),
    ]
}

/// The calls that write to an event journal.
pub fn event_writes(journal: &dyn EventJournal) -> Vec<Call<'_>> {
    vec![
        call("append", journal.append(vec![event()])),
        call("drop", journal.drop_events(Retention::KeepLast(1))),
        call("remove", journal.remove_thread(thread("t"))),
    ]
}
