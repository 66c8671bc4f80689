//! The file journal does what the in-memory journal does, whatever is asked of it.

use std::sync::Arc;

use rustagents_core::{
    code::Coded as _,
    digest::Digest,
    ids::MessageId,
    journal::{
        Author, Batch, Compaction, Content, Journal, JournalError, Owner, PlacedMessage, Record,
        Select, ThreadImage, ThreadQuery, kind,
    },
    message::Message,
};
use rustagents_store::MemoryJournal;
use rustagents_store_file::FileJournal;

use crate::support::{commit, fact, quick_folder, root, thread};

const THREADS: [&str; 3] = ["a", "b", "c"];
const MOVES: usize = 40;
const RUNS: u64 = 40;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn thread(&mut self) -> &'static str {
        THREADS[usize::try_from(self.roll(3)).unwrap()]
    }
}

/// Something that is asked of both journals. Epochs are counted back from the
/// journal's own.
#[derive(Clone, Debug)]
enum Move {
    Claim(&'static str, bool),
    Append(Batch, u64),
    Compact(Compaction, u64),
    Copy(&'static str, &'static str, Option<u64>),
    Install(&'static str, &'static str),
    Remove(&'static str, u64),
}

fn batch(dice: &mut Dice, head: Option<u64>, at: usize) -> Batch {
    let name = thread(dice.thread());
    let number = dice.roll(6);
    let bytes = dice.roll(4).to_string().into_bytes();
    let digest = Digest::of(&bytes);
    let body = format!("[\"m-{number}\",\"{digest}\"]");
    let head = if dice.roll(8) == 0 { Some(99) } else { head };
    let mut batch = match dice.roll(3) {
        0 if dice.roll(2) == 0 => {
            let mut intent = fact(&name, 0, &format!("k{number}/intent/1"), &body);
            intent.entries[0].kind = kind::INTENT;
            intent
        }
        0 => fact(&name, 0, &format!("k{}", dice.roll(9)), &body),
        _ => commit(&name, 0, head, &body),
    };
    match dice.roll(6) {
        0 => batch.author = Author::Outside,
        1 => {
            let intent = format!("k{number}/intent/1").as_str().into();
            if dice.roll(4) > 0 {
                batch = fact(&name, 0, &format!("k{number}/result"), &body);
            }
            batch.author = Author::Late { epoch: 1, intent };
        }
        _ => {}
    }
    if dice.roll(2) == 0 {
        let text = if dice.roll(9) == 0 { "other" } else { "hello" };
        let message = Message::user(MessageId::numbered(number), text);
        batch.messages = vec![Arc::new(message)];
        batch.contents = vec![Content { digest, bytes }];
    }
    batch.at_ms = at as u64;
    batch
}

fn next(dice: &mut Dice, head: impl Fn(&str) -> Option<u64>, at: usize) -> Move {
    let stale = u64::from(dice.roll(8) == 0);
    let mut batch = batch(dice, None, at);
    for (_, expected) in &mut batch.heads {
        if dice.roll(8) > 0 {
            *expected = head(batch.thread.as_str());
        }
    }
    match dice.roll(12) {
        0 | 1 => Move::Claim(dice.thread(), dice.roll(2) == 0),
        2 => {
            let from = dice.roll(20);
            let drop = vec![from..=from + dice.roll(6)];
            Move::Compact(Compaction { batch, drop }, stale)
        }
        3 => {
            let upto = (dice.roll(2) == 0).then(|| dice.roll(9));
            Move::Copy(dice.thread(), dice.thread(), upto)
        }
        4 => Move::Install(dice.thread(), dice.thread()),
        5 => Move::Remove(dice.thread(), stale),
        _ => Move::Append(batch, stale),
    }
}

async fn epoch(journal: &dyn Journal, name: &str) -> u64 {
    let rows = journal.threads(ThreadQuery::all()).await.unwrap();
    let row = rows.iter().find(|row| row.thread.as_str() == name);
    row.map_or(0, |row| row.epoch)
}

async fn image(journal: &dyn Journal, from: &str, to: &str) -> ThreadImage {
    let name = thread(from);
    let messages = journal.messages(&name, 0, 99).await.unwrap();
    ThreadImage {
        thread: thread(to),
        epoch: epoch(journal, from).await,
        records: journal.read(&name, Select::all()).await.unwrap(),
        messages: messages.into_iter().map(|(_, message)| message).collect(),
        contents: vec![],
    }
}

async fn go(journal: &dyn Journal, asked: Move) -> Result<Vec<u64>, JournalError> {
    let with_epoch = async |mut batch: Batch, stale: u64| {
        match &mut batch.author {
            Author::Driver(own) => *own = epoch(journal, batch.thread.as_str()).await + stale,
            Author::Late { epoch, intent } => {
                let all = journal.read(&batch.thread, Select::all()).await.unwrap();
                let recorded = all.iter().find(|record| record.key() == Some(intent));
                // No journal comes to an epoch that high.
                *epoch = recorded.map_or(999, |record| record.epoch + 999 * stale);
            }
            Author::Outside => {}
        }
        batch
    };
    match asked {
        Move::Claim(name, false) => journal
            .claim(&thread(name), Owner::default())
            .await
            .map(drop)?,
        Move::Claim(name, true) => {
            let claim = journal.take_over(&thread(name), Owner::default()).await;
            claim.map(drop)?;
        }
        Move::Append(batch, stale) => return journal.append(with_epoch(batch, stale).await).await,
        Move::Compact(Compaction { batch, drop }, stale) => {
            let batch = with_epoch(batch, stale).await;
            return journal.compact(Compaction { batch, drop }).await;
        }
        Move::Copy(from, to, upto) => journal.copy(&thread(from), &thread(to), upto).await?,
        Move::Install(from, to) => journal.install(image(journal, from, to).await).await?,
        Move::Remove(name, stale) => {
            let epoch = epoch(journal, name).await + stale;
            journal.remove(&thread(name), epoch).await?;
        }
    }
    Ok(vec![])
}

type Seen = (String, u64, u64, Vec<Record>, Vec<PlacedMessage>, Vec<bool>);

/// What stands in a journal, the epochs left aside.
async fn see(journal: &dyn Journal) -> Vec<Seen> {
    let mut seen = Vec::new();
    for row in journal.threads(ThreadQuery::all()).await.unwrap() {
        let mut records = journal.read(&row.thread, Select::all()).await.unwrap();
        for record in &mut records {
            record.epoch = 0;
        }
        let messages = journal.messages(&row.thread, 0, 99).await.unwrap();
        let mut contents = Vec::new();
        for number in 0..4 {
            let digest = Digest::of(number.to_string().as_bytes());
            let content = journal.content(&row.thread, digest).await.unwrap();
            contents.push(content.is_some());
        }
        let name = row.thread.to_string();
        let times = (row.last_seq, row.updated_at_ms);
        seen.push((name, times.0, times.1, records, messages, contents));
    }
    seen
}

#[tokio::test]
async fn it_does_what_the_memory_does() {
    let mut done = 0;
    for run in 0..RUNS {
        let folder = quick_folder();
        let memory = MemoryJournal::new();
        let first = FileJournal::open(folder.path()).unwrap();
        let second = FileJournal::open(folder.path()).unwrap();
        let mut dice = Dice(run);
        for at in 0..MOVES {
            let seen = see(&memory).await;
            let head = |name: &str| {
                let seen = seen.iter().find(|seen| seen.0 == name)?;
                let commits = seen.3.iter().filter(|r| r.key().is_none());
                let ours = commits.filter(|record| record.chain == root());
                ours.map(|record| record.seq).next_back()
            };
            let asked = next(&mut dice, head, at);
            let handle = if dice.roll(2) == 0 { &first } else { &second };
            let expected = go(&memory, asked.clone()).await;
            let found = go(handle, asked.clone()).await;
            let place = format!("run {run}, move {at}: {asked:?}: {expected:?}, {found:?}");
            match (&expected, &found) {
                (Ok(expected), Ok(found)) => assert_eq!(expected, found, "{place}"),
                (Err(expected), Err(found)) => assert_eq!(expected.code(), found.code(), "{place}"),
                _ => panic!("{place}"),
            }
            done += usize::from(found.is_ok());
            let expected = see(&memory).await;
            assert_eq!(see(&first).await, expected, "{place}");
            assert_eq!(see(&second).await, expected, "{place}");
            if dice.roll(10) == 0 {
                let fresh = FileJournal::open(folder.path()).unwrap();
                assert_eq!(see(&fresh).await, expected, "{place}");
            }
        }
    }
    assert!(done > MOVES * 10, "most is refused: {done}");
}
