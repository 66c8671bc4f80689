//! A crash tears the write-ahead log: at any place, and whatever stands after it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
    time::Duration,
};

use rustagents_core::{
    digest::Digest,
    ids::{FactKey, MessageId},
    journal::{
        Batch, Compaction, Content, Family, Journal, Owner, Place, PlacedMessage, Record, Select,
        ThreadImage, ThreadQuery, ThreadRow,
    },
    message::Message,
};
use rustagents_store_sqlite::{SqliteJournal, Synchronous};

use crate::support::{batch, commit, entry, fact, quick_folder, thread};

/// How far apart the cuts are: a sector of a disk.
const SECTOR: usize = 512;

/// What stands in a thread: its row, records, messages, and those of the known
/// contents that it has.
type Seen = (ThreadRow, Vec<Record>, Vec<PlacedMessage>, Vec<u64>);

/// Everything that stands in a store.
type Picture = Vec<Seen>;

/// Contents of 20 KiB: each takes several pages.
static CONTENTS: LazyLock<Vec<Content>> = LazyLock::new(|| {
    let contents = (1..=4).map(|number| {
        let bytes = number.to_string().repeat(20 << 10).into_bytes();
        let digest = Digest::of(&bytes);
        Content { digest, bytes }
    });
    contents.collect()
});

async fn look(journal: &SqliteJournal) -> Picture {
    let mut picture = Vec::new();
    for row in journal.threads(ThreadQuery::all()).await.unwrap() {
        let name = row.thread.clone();
        let records = journal.read(&name, Select::all()).await.unwrap();
        let messages = journal.messages(&name, 0, 999).await.unwrap();
        let mut contents = Vec::new();
        for (number, known) in (1..).zip(&*CONTENTS) {
            if let Some(bytes) = journal.content(&name, known.digest).await.unwrap() {
                assert!(bytes == known.bytes, "content {number} is another");
                contents.push(number);
            }
        }
        picture.push((row, records, messages, contents));
    }
    picture
}

/// A commit with a message and a content of its own.
fn full(name: &str, epoch: u64, head: Option<u64>, number: u8) -> Batch {
    let content = CONTENTS[usize::from(number) - 1].clone();
    let body = format!("[\"m-{number}\",\"{}\"]", content.digest);
    let mut batch = commit(&thread(name), epoch, head, &body);
    let message = Message::user(MessageId::numbered(number.into()), "hello");
    batch.messages = vec![Arc::new(message)];
    batch.contents = vec![content];
    batch
}

/// A commit with a body that takes several pages.
fn long(name: &str, epoch: u64, head: Option<u64>) -> Batch {
    let body = format!("[\"{}\"]", "long".repeat(5 << 10));
    commit(&thread(name), epoch, head, &body)
}

/// Many facts and messages at once.
fn wide(name: &str, epoch: u64) -> Batch {
    let facts = (0..30).map(|number| {
        let key = FactKey::from(format!("wide/{number}"));
        entry(Place::Fact(key), &format!("[\"m-{}\"]", 100 + number % 5))
    });
    let mut batch = batch(&thread(name), epoch, facts.collect());
    batch.messages = (100..105)
        .map(|number| Arc::new(Message::user(MessageId::numbered(number), "wide")))
        .collect();
    batch
}

/// One call of the scenario.
async fn call(journal: &SqliteJournal, at: usize) {
    let (t, u) = (thread("t"), thread("u"));
    match at {
        0 => drop(journal.claim(&t, Owner::default()).await.unwrap()),
        1 => drop(journal.append(full("t", 1, None, 1)).await.unwrap()),
        2 => drop(journal.append(fact(&t, 1, "k", "1")).await.unwrap()),
        3 => drop(journal.append(long("t", 1, Some(1))).await.unwrap()),
        4 => drop(journal.append(wide("t", 1)).await.unwrap()),
        5 => drop(journal.append(full("t", 1, Some(3), 2)).await.unwrap()),
        6 => drop(journal.claim(&u, Owner::default()).await.unwrap()),
        7 => drop(journal.append(full("u", 1, None, 3)).await.unwrap()),
        8 => journal.copy(&t, &thread("copy"), Some(20)).await.unwrap(),
        9 => {
            let batch = full("t", 1, Some(34), 4);
            let drop = vec![1..=10, 34..=34];
            journal.compact(Compaction { batch, drop }).await.unwrap();
        }
        10 => journal.remove(&u, 1).await.unwrap(),
        11 => drop(journal.take_over(&t, Owner::default()).await.unwrap()),
        12 => journal.install(image()).await.unwrap(),
        13 => journal.install(joined()).await.unwrap(),
        _ => drop(journal.append(fact(&t, 2, "last", "1")).await.unwrap()),
    }
}

const CALLS: usize = 15;

fn image() -> ThreadImage {
    ThreadImage {
        thread: thread("moved"),
        epoch: 4,
        records: vec![],
        messages: vec![Arc::new(Message::user(MessageId::numbered(1), "moved"))],
        contents: vec![CONTENTS[0].clone()],
        family: None,
    }
}

/// A thread of the family of `t`, which shares a content with it.
fn joined() -> ThreadImage {
    ThreadImage {
        thread: thread("joined"),
        contents: vec![CONTENTS[2].clone()],
        family: Some(Family {
            of: thread("t"),
            shared: vec![CONTENTS[3].digest],
        }),
        ..image()
    }
}

/// A store as a crash finds it, and how it stood after each acknowledged call.
struct Story {
    store: Vec<u8>,
    log: Vec<u8>,
    /// How long the log was then, and what stood in the store.
    stages: Vec<(usize, Picture)>,
}

fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

async fn play() -> Story {
    let folder = quick_folder();
    let path = folder.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    let mut stages = vec![(0, Picture::new())];
    for at in 0..CALLS {
        call(&journal, at).await;
        let length = fs::metadata(log_of(&path)).unwrap().len();
        stages.push((usize::try_from(length).unwrap(), look(&journal).await));
    }
    // The journal is still open, so that the log was not merged into the store.
    let log = fs::read(log_of(&path)).unwrap();
    assert!(log.len() < 1_000 * 4_096, "the log would be merged");
    assert!(stages.is_sorted_by(|one, other| one.0 < other.0 && one.1 != other.1));
    assert_eq!(stages.last().unwrap().0, log.len());
    Story {
        store: fs::read(&path).unwrap(),
        log,
        stages,
    }
}

/// What a crash leaves of the log from some place on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tail {
    Missing,
    Zeros,
    Random,
    /// Only one byte is wrong; what follows is as it was written.
    Flipped,
}

impl Tail {
    fn stride(self) -> usize {
        match self {
            Self::Missing => SECTOR,
            // Pages are eight sectors and a header, so that each place in one is met.
            _ => 5 * SECTOR,
        }
    }

    fn tear(self, log: &[u8], noise: &[u8], at: usize) -> Vec<u8> {
        let (kept, lost) = log.split_at(at);
        let mut torn = kept.to_vec();
        match self {
            Self::Missing => {}
            Self::Zeros => torn.resize(log.len(), 0),
            Self::Random => torn.extend(&noise[at..]),
            Self::Flipped => {
                torn.extend(lost);
                if let Some(byte) = torn.get_mut(at) {
                    *byte = !*byte;
                }
            }
        }
        torn
    }
}

/// Bytes without a pattern, always the same ones.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(step).take(length).collect()
}

/// Tears the log everywhere, and looks what is left.
async fn tear_everywhere(tail: Tail) {
    let story = play().await;
    let folder = quick_folder();
    let ends = story.stages.iter().map(|(length, _)| *length);
    let mut cuts: Vec<_> = ends
        .chain((0..story.log.len()).step_by(tail.stride()))
        .collect();
    cuts.sort_unstable();
    let noise = noise(story.log.len());
    for cut in cuts {
        let place = format!("{tail:?} at {cut} of {}", story.log.len());
        let path = folder.path().join("journal.db");
        fs::write(&path, &story.store).unwrap();
        let torn = tail.tear(&story.log, &noise, cut);
        fs::write(log_of(&path), &torn).unwrap();
        let journal = SqliteJournal::open_with(&path, Synchronous::Normal).unwrap();
        // The zeros of a page's end are as good as those that were lost.
        let is_same = |(torn, written): (&u8, &u8)| torn == written;
        let kept = torn
            .iter()
            .zip(&story.log)
            .take_while(|pair| is_same(*pair));
        let kept = kept.count();
        let whole = story.stages.iter().rfind(|(length, _)| *length <= kept);
        let expected = &whole.unwrap().1;
        let seen = look(&journal).await;
        assert!(seen == *expected, "{place}: {seen:#?}");
        if !cut.is_multiple_of(SECTOR) || cut.is_multiple_of(15 * SECTOR) {
            go_on(&journal, &path, expected, &place).await;
        }
        drop(journal);
        for entry in fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::remove_file(path).unwrap();
            }
        }
    }
}

/// The store takes a claim and a record, which another crash does not undo; nor
/// does it bring back what the first one tore.
async fn go_on(journal: &SqliteJournal, path: &Path, before: &Picture, place: &str) {
    let name = thread("t");
    let old = before.iter().find(|seen| seen.0.thread == name);
    let claim = journal.claim(&name, Owner::default()).await.unwrap();
    assert_eq!(
        claim.epoch,
        old.map_or(0, |seen| seen.0.epoch) + 1,
        "{place}"
    );
    let write = fact(&name, claim.epoch, "next", "1");
    let seq = journal.append(write).await.unwrap()[0];
    assert_eq!(seq, old.map_or(0, |seen| seen.0.last_seq) + 1, "{place}");
    drop(claim);
    let expected = look(journal).await;
    let others = |picture: &Picture| {
        let others = picture.iter().filter(|seen| seen.0.thread != name);
        others.cloned().collect::<Vec<_>>()
    };
    assert!(others(&expected) == others(before), "{place}");
    let again = path.with_file_name("again.db");
    fs::copy(path, &again).unwrap();
    fs::copy(log_of(path), log_of(&again)).unwrap();
    let journal = SqliteJournal::open(&again).unwrap();
    assert!(look(&journal).await == expected, "{place}: after a crash");
    let health = journal.check(Duration::from_mins(1)).await.unwrap();
    assert!(health.unwrap().is_complete, "{place}");
}

#[tokio::test]
async fn a_log_that_ends_anywhere_has_each_call_whole_or_not_at_all() {
    tear_everywhere(Tail::Missing).await;
}

#[tokio::test]
async fn so_has_one_that_goes_on_with_zeros() {
    tear_everywhere(Tail::Zeros).await;
}

#[tokio::test]
async fn so_has_one_that_goes_on_with_anything() {
    tear_everywhere(Tail::Random).await;
}

#[tokio::test]
async fn so_has_one_with_a_wrong_byte() {
    tear_everywhere(Tail::Flipped).await;
}
