//! What every backend must pass: [`journal`] runs the whole suite for journals,
//! [`store::suite`] the one for application stores, [`events::suite`] the one for
//! event journals, and [`store_model`] compares
//! a store with a simple one in memory.
//!
//! Each case gets a fresh, empty backend and panics with the broken promise.

use std::{future::Future, sync::Arc};

pub mod events;
mod large;
mod removed;
pub mod store;
pub mod store_model;
mod threads;

use rustagents_core::{
    digest::Digest,
    ids::{Branch, FactKey, MessageId, Namespace, RunId, ThreadId},
    journal::{
        Author, Batch, Chain, Claim, Content, Entry, Journal, JournalError, Owner, Place, Select,
        Seq, ThreadQuery, ThreadRow, kind,
    },
    message::Message,
    tool::EffectClass,
};

/// Runs every case on a journal of its own, made by `fresh`.
///
/// # Panics
/// On the first broken promise.
pub async fn journal<J: Journal + 'static, F: Future<Output = J>>(mut fresh: impl FnMut() -> F) {
    reads_back_what_was_written(fresh().await).await;
    a_batch_is_whole_or_absent(fresh().await).await;
    heads_are_checked(fresh().await).await;
    the_first_fact_wins(fresh().await).await;
    keys_are_unique_per_branch_only(fresh().await).await;
    an_old_epoch_is_fenced(fresh().await).await;
    a_claimed_thread_is_busy(fresh().await).await;
    outsiders_write_facts_only(fresh().await).await;
    an_outsider_answers_questions_of_its_own_run(fresh().await).await;
    an_unknown_thread_reads_empty(fresh().await).await;
    messages_and_contents_are_written_once(fresh().await).await;
    large_and_odd_bodies_come_back(fresh().await).await;
    concurrent_facts_have_one_order(fresh().await).await;
    threads_are_listed_by_name_in_pages(fresh().await).await;
    large::suite(&mut fresh).await;
    threads::suite(&mut fresh).await;
    removed::suite(&mut fresh).await;
}

fn thread(name: &str) -> ThreadId {
    ThreadId::new(name).expect("a valid name")
}

fn chain(namespace: &str) -> Chain {
    Chain {
        branch: Branch::main(),
        namespace: Namespace::from(namespace),
    }
}

fn commit(namespace: &str, body: &str) -> Entry {
    Entry {
        chain: chain(namespace),
        place: Place::Commit,
        kind: kind::CHECKPOINT,
        run: RunId::from("run-1"),
        attempt: 1,
        effect: None,
        digest: None,
        body: body.to_owned(),
    }
}

fn fact(key: &str, body: &str) -> Entry {
    Entry {
        place: Place::Fact(FactKey::from(key)),
        kind: kind::RESULT,
        effect: Some(EffectClass::Once),
        digest: Some(Digest::of(body.as_bytes())),
        ..commit("", body)
    }
}

fn batch(
    name: &str,
    claim: &Claim,
    heads: Vec<(Chain, Option<Seq>)>,
    entries: Vec<Entry>,
) -> Batch {
    Batch {
        thread: thread(name),
        author: Author::Driver(claim.epoch),
        heads,
        entries,
        messages: Vec::new(),
        contents: Vec::new(),
        at_ms: 1_000,
    }
}

async fn claim(journal: &dyn Journal, name: &str) -> Claim {
    let owner = Owner {
        process: 7,
        since_ms: 1,
    };
    journal
        .claim(&thread(name), owner)
        .await
        .expect("the thread is free")
}

async fn count(journal: &dyn Journal, name: &str) -> usize {
    journal
        .read(&thread(name), Select::all())
        .await
        .expect("readable")
        .len()
}

async fn reads_back_what_was_written(journal: impl Journal) {
    let claim = claim(&journal, "t").await;
    let entries = vec![
        commit("", r#"{"a":1}"#),
        fact("k", r#"{"b":2}"#),
        commit("x:1.0", "{}"),
    ];
    let heads = vec![(chain(""), None), (chain("x:1.0"), None)];
    let seqs = journal
        .append(batch("t", &claim, heads, entries.clone()))
        .await
        .expect("appended");
    assert_eq!(seqs, [1, 2, 3], "places start at 1 and have no gaps");
    let records = journal
        .read(&thread("t"), Select::all())
        .await
        .expect("readable");
    for ((record, entry), seq) in records.iter().zip(&entries).zip(1..) {
        assert_eq!(
            (record.seq, &record.chain, &record.place),
            (seq, &entry.chain, &entry.place)
        );
        assert_eq!(
            (&*record.kind, record.version),
            (entry.kind.name, entry.kind.version)
        );
        assert_eq!((&record.run, record.attempt), (&entry.run, entry.attempt));
        assert_eq!((record.effect, record.digest), (entry.effect, entry.digest));
        assert_eq!(
            (&record.body, record.epoch, record.at_ms),
            (&entry.body, 1, 1_000)
        );
    }
    let page = journal
        .read(&thread("t"), Select::all().after(1).limit(1))
        .await
        .expect("readable");
    assert_eq!(
        page,
        records.get(1..2).expect("three records"),
        "pages start after a place"
    );
}

async fn a_batch_is_whole_or_absent(journal: impl Journal) {
    let claim = claim(&journal, "t").await;
    journal
        .append(batch("t", &claim, vec![], vec![fact("taken", "1")]))
        .await
        .expect("appended");
    let mut doomed = batch(
        "t",
        &claim,
        vec![(chain(""), None)],
        vec![commit("", "1"), fact("new", "2"), fact("taken", "3")],
    );
    doomed.messages = vec![Arc::new(Message::user(MessageId::numbered(1), "hello"))];
    doomed.contents = vec![Content {
        digest: Digest::of(b"x"),
        bytes: b"x".to_vec(),
    }];
    journal.append(doomed).await.expect_err("one key is taken");
    assert_eq!(
        count(&journal, "t").await,
        1,
        "nothing of a refused batch is written"
    );
    assert!(
        journal
            .messages(&thread("t"), 0, 10)
            .await
            .expect("readable")
            .is_empty()
    );
    assert!(
        journal
            .content(&thread("t"), Digest::of(b"x"))
            .await
            .expect("readable")
            .is_none()
    );
    let good = batch(
        "t",
        &claim,
        vec![(chain(""), None)],
        vec![commit("", "1"), fact("new", "2")],
    );
    assert_eq!(
        journal.append(good).await.expect("appended"),
        [2, 3],
        "no gap is left behind"
    );
}

async fn heads_are_checked(journal: impl Journal) {
    let claim = claim(&journal, "t").await;
    let write = |head, bodies: &[&str]| {
        let entries = bodies.iter().map(|body| commit("", body)).collect();
        journal.append(batch("t", &claim, vec![(chain(""), head)], entries))
    };
    write(None, &["1", "2"])
        .await
        .expect("a new chain has no head");
    let error = write(Some(1), &["3"]).await.expect_err("the head is 2");
    assert!(
        matches!(
            error,
            JournalError::HeadMoved {
                expected: Some(1),
                found: Some(2),
                ..
            }
        ),
        "{error:?}"
    );
    write(None, &["3"]).await.expect_err("the chain has a head");
    write(Some(2), &["3"]).await.expect("the head is 2");
    let headless = batch("t", &claim, vec![], vec![commit("", "4")]);
    let error = journal
        .append(headless)
        .await
        .expect_err("a commit names its head");
    assert!(matches!(error, JournalError::Malformed { .. }), "{error:?}");
    assert_eq!(count(&journal, "t").await, 3);
}

async fn the_first_fact_wins(journal: impl Journal) {
    let claim = claim(&journal, "t").await;
    journal
        .append(batch("t", &claim, vec![], vec![fact("k", "1")]))
        .await
        .expect("appended");
    let error = journal
        .append(batch("t", &claim, vec![], vec![fact("k", "2")]))
        .await;
    match error.expect_err("the key is taken") {
        JournalError::AlreadyRecorded { existing } => {
            assert_eq!((existing.seq, existing.body.as_str()), (1, "1"));
        }
        other => panic!("expected the fact that was first, found {other:?}"),
    }
    let twice = batch("t", &claim, vec![], vec![fact("l", "1"), fact("l", "1")]);
    let error = journal
        .append(twice)
        .await
        .expect_err("a batch names a key once");
    assert!(matches!(error, JournalError::Malformed { .. }), "{error:?}");
}

async fn keys_are_unique_per_branch_only(journal: impl Journal) {
    let claim = claim(&journal, "t").await;
    let mut other = fact("k", "2");
    other.chain.branch = Branch::from("other");
    journal
        .append(batch("t", &claim, vec![], vec![fact("k", "1"), other]))
        .await
        .expect("appended");
    let elsewhere = self::claim(&journal, "u").await;
    journal
        .append(batch("u", &elsewhere, vec![], vec![fact("k", "3")]))
        .await
        .expect("appended");
    assert_eq!(
        count(&journal, "u").await,
        1,
        "threads do not see each other"
    );
}

async fn an_old_epoch_is_fenced(journal: impl Journal) {
    let old = claim(&journal, "t").await;
    let stale = Claim::new(old.epoch, ());
    drop(old);
    let new = claim(&journal, "t").await;
    assert_eq!(new.epoch, 2, "each claim counts the epoch up");
    let error = journal
        .append(batch("t", &stale, vec![], vec![fact("k", "1")]))
        .await;
    let error = error.expect_err("the epoch is over");
    assert!(
        matches!(
            error,
            JournalError::Fenced {
                own: 1,
                current: 2,
                ..
            }
        ),
        "{error:?}"
    );
    journal
        .append(batch("t", &new, vec![], vec![fact("k", "1")]))
        .await
        .expect("appended");
}

async fn a_claimed_thread_is_busy(journal: impl Journal) {
    let name = thread("t");
    assert_eq!(journal.owner(&name).await.expect("readable"), None);
    let held = claim(&journal, "t").await;
    let owner = journal
        .owner(&name)
        .await
        .expect("readable")
        .expect("somebody drives it");
    assert_eq!(owner.process, 7);
    let error = journal
        .claim(&name, Owner::default())
        .await
        .expect_err("it is driven");
    assert!(matches!(error, JournalError::Busy { .. }), "{error:?}");
    let _other = claim(&journal, "u").await;
    drop(held);
    assert_eq!(journal.owner(&name).await.expect("readable"), None);
    assert_eq!(
        claim(&journal, "t").await.epoch,
        2,
        "a refused claim leaves no trace"
    );
}

async fn outsiders_write_facts_only(journal: impl Journal) {
    let held = claim(&journal, "t").await;
    let outside = |heads, entries| {
        let batch = batch("t", &held, heads, entries);
        journal.append(Batch {
            author: Author::Outside,
            ..batch
        })
    };
    outside(vec![], vec![fact("answer/c-1", "1")])
        .await
        .expect("a person may answer");
    outside(vec![(chain(""), None)], vec![commit("", "1")])
        .await
        .expect_err("only drivers commit");
    assert_eq!(count(&journal, "t").await, 1);
}

/// The thread may be another one by now, whose questions have the same names.
async fn an_outsider_answers_questions_of_its_own_run(journal: impl Journal) {
    let held = claim(&journal, "t").await;
    let asked = |key: &str, run: &str| Entry {
        kind: kind::ASK,
        run: RunId::from(run),
        ..fact(key, "{}")
    };
    let asks = vec![asked("ask/c-1", "new"), asked("ask/c-2", "old")];
    let written = journal.append(batch("t", &held, vec![], asks)).await;
    written.expect("a driver asks");
    let answer = |ask: &str, run: &str| Entry {
        kind: kind::ANSWER,
        run: RunId::from(run),
        ..fact(&format!("answer/{ask}"), "{}")
    };
    let outside = |entries| {
        let batch = batch("t", &held, vec![], entries);
        journal.append(Batch {
            author: Author::Outside,
            ..batch
        })
    };
    let elsewhere = Entry {
        chain: Chain {
            branch: Branch::from("other"),
            ..chain("")
        },
        ..answer("c-1", "new")
    };
    for entries in [
        vec![answer("c-1", "old")],
        vec![answer("c-3", "new")],
        vec![answer("c-2", "old"), answer("c-1", "old")],
        vec![elsewhere],
    ] {
        let error = outside(entries).await.expect_err("it is another's");
        assert!(
            matches!(error, JournalError::QuestionGone { .. }),
            "{error:?}"
        );
        assert_eq!(count(&journal, "t").await, 2, "nothing is written");
    }
    let both = vec![answer("c-1", "new"), answer("c-2", "old")];
    outside(both).await.expect("a person may answer");
    let error = outside(vec![answer("c-1", "new")]).await;
    let error = error.expect_err("the first one counts");
    assert!(
        matches!(error, JournalError::AlreadyRecorded { .. }),
        "{error:?}"
    );
}

async fn an_unknown_thread_reads_empty(journal: impl Journal) {
    let name = thread("nobody");
    assert_eq!(count(&journal, "nobody").await, 0);
    assert!(
        journal
            .messages(&name, 0, 10)
            .await
            .expect("readable")
            .is_empty()
    );
    assert_eq!(journal.owner(&name).await.expect("readable"), None);
    let _one = claim(&journal, "somebody").await;
    let stray = batch("nobody", &Claim::new(1, ()), vec![], vec![fact("k", "1")]);
    let error = journal
        .append(stray)
        .await
        .expect_err("a thread is made by a claim");
    assert!(
        matches!(error, JournalError::UnknownThread { .. }),
        "{error:?}"
    );
}

async fn messages_and_contents_are_written_once(journal: impl Journal) {
    let claim = claim(&journal, "t").await;
    let message = |text: &str| Arc::new(Message::user(MessageId::numbered(1), text));
    let content = || Content {
        digest: Digest::of(b"blob"),
        bytes: b"blob".to_vec(),
    };
    let write = |key: &str, text: &str| {
        let mut batch = batch("t", &claim, vec![], vec![fact(key, "1")]);
        batch.messages = vec![message(text)];
        batch.contents = vec![content()];
        journal.append(batch)
    };
    write("a", "hello").await.expect("appended");
    write("b", "hello")
        .await
        .expect("the same again is no conflict");
    write("c", "other")
        .await
        .expect_err("a message never changes");
    let messages = journal
        .messages(&thread("t"), 0, 10)
        .await
        .expect("readable");
    assert_eq!(messages.len(), 1);
    let (place, stored) = messages.first().expect("one message");
    assert_eq!(*stored, message("hello"));
    assert!(
        journal
            .messages(&thread("t"), *place, 10)
            .await
            .expect("readable")
            .is_empty()
    );
    let bytes = journal
        .content(&thread("t"), Digest::of(b"blob"))
        .await
        .expect("readable");
    assert_eq!(bytes.as_deref(), Some(&b"blob"[..]));
}

async fn large_and_odd_bodies_come_back(journal: impl Journal) {
    let claim = claim(&journal, "t").await;
    let bodies = [
        "\u{0}",
        "é\u{202e}\r\n",
        &"x".repeat(16 << 10),
        &"y".repeat((16 << 10) + 1),
        &"z".repeat(3 << 20),
    ];
    for (index, body) in bodies.iter().enumerate() {
        let key = format!("k{index}");
        journal
            .append(batch("t", &claim, vec![], vec![fact(&key, body)]))
            .await
            .expect("appended");
    }
    let mut large = batch("t", &claim, vec![], vec![fact("m", "1")]);
    large.messages = vec![Arc::new(Message::user(
        MessageId::numbered(1),
        "w".repeat(100_000),
    ))];
    journal.append(large.clone()).await.expect("appended");
    let records = journal
        .read(&thread("t"), Select::all())
        .await
        .expect("readable");
    for (record, body) in records.iter().zip(bodies) {
        assert!(
            record.body == *body,
            "a body of {} bytes came back changed",
            body.len()
        );
    }
    let messages = journal
        .messages(&thread("t"), 0, 10)
        .await
        .expect("readable");
    assert_eq!(
        messages
            .into_iter()
            .map(|(_, message)| message)
            .collect::<Vec<_>>(),
        large.messages
    );
    let over = batch("t", &claim, vec![], vec![fact("o", &"o".repeat(9 << 20))]);
    let error = journal.append(over).await.expect_err("a batch is bounded");
    assert!(matches!(error, JournalError::TooLarge { .. }), "{error:?}");
}

async fn threads_are_listed_by_name_in_pages(journal: impl Journal) {
    assert!(
        journal
            .threads(ThreadQuery::all())
            .await
            .expect("readable")
            .is_empty()
    );
    for name in ["b", "ä", "a", "B"] {
        let claim = claim(&journal, name).await;
        let write = batch(name, &claim, vec![], vec![fact("k", "1")]);
        journal.append(write).await.expect("appended");
    }
    let names = |rows: &[ThreadRow]| -> Vec<String> {
        rows.iter().map(|row| row.thread.to_string()).collect()
    };
    let all = journal.threads(ThreadQuery::all()).await.expect("readable");
    assert_eq!(
        names(&all),
        ["B", "a", "b", "ä"],
        "by the bytes of their names"
    );
    let first = all.first().expect("four threads");
    assert_eq!(
        (first.epoch, first.last_seq, first.updated_at_ms),
        (1, 1, 1_000)
    );
    let prefixed = ThreadQuery {
        prefix: "\u{e4}".into(),
        ..ThreadQuery::all()
    };
    let page = journal.threads(prefixed).await.expect("readable");
    assert_eq!(names(&page), ["\u{e4}"], "by the beginning of a name");
    let later = ThreadQuery {
        updated_since_ms: 1_001,
        ..ThreadQuery::all()
    };
    assert_eq!(
        journal.threads(later).await.expect("readable"),
        [],
        "by time"
    );
    let page = journal
        .threads(ThreadQuery::all().after(Some(thread("a"))).limit(1))
        .await
        .expect("readable");
    assert_eq!(names(&page), ["b"], "pages start after a name");
}

async fn concurrent_facts_have_one_order(journal: impl Journal) {
    let claim = claim(&journal, "t").await;
    let appends = (0..100).map(|index| {
        let entries = vec![
            fact(&format!("a{index}"), "1"),
            fact(&format!("b{index}"), "2"),
        ];
        journal.append(batch("t", &claim, vec![], entries))
    });
    let placed = futures::future::try_join_all(appends)
        .await
        .expect("appended");
    for pair in &placed {
        let [first, second] = pair.as_slice() else {
            panic!("two entries have two places")
        };
        assert_eq!(first + 1, *second, "a batch stands together");
    }
    let mut all: Vec<_> = placed.into_iter().flatten().collect();
    all.sort_unstable();
    assert_eq!(all, (1..=200).collect::<Vec<_>>());
}
