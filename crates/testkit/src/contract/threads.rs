//! What a backend promises about whole threads: reading parts of them, watching,
//! taking over, copying, moving, compacting and removing.

use std::{future::Future, sync::Arc, time::Duration};

use rustagents_core::{
    digest::Digest,
    encode::MAX_READ_DEPTH,
    ids::{Branch, FactKey, MessageId, RunId},
    journal::{
        Author, Batch, Claim, Compaction, Content, Entry, Family, Journal, JournalError, Kind,
        Owner, Select, Seq, ThreadImage, ThreadQuery, kind,
    },
    message::Message,
};

use super::{batch, chain, claim, commit, count, fact, thread};

/// How long a watcher may take to hear of a write.
const HEARD: Duration = Duration::from_secs(10);

pub(super) async fn suite<J: Journal + 'static, F: Future<Output = J>>(
    fresh: &mut impl FnMut() -> F,
) {
    a_thread_that_was_only_claimed_is_a_thread(fresh().await).await;
    parts_of_a_thread_are_read_alone(fresh().await).await;
    a_watcher_hears_of_writes(Arc::new(fresh().await)).await;
    a_taken_thread_fences_its_driver(fresh().await).await;
    a_late_driver_may_say_how_its_effect_ended(fresh().await).await;
    a_late_driver_may_write_nothing_else(fresh().await).await;
    a_copy_goes_its_own_way(fresh().await).await;
    a_copy_stops_where_it_is_told(fresh().await).await;
    a_thread_moves_whole(fresh().await, fresh().await).await;
    an_image_out_of_order_is_refused(fresh().await).await;
    an_image_out_of_bounds_is_refused(fresh().await).await;
    an_image_that_no_reader_takes_is_refused(fresh().await).await;
    a_compaction_removes_what_nobody_mentions(fresh().await).await;
    a_refused_compaction_changes_nothing(fresh().await).await;
    a_removed_thread_is_gone(fresh().await).await;
    a_removed_threads_name_comes_back_above_its_epochs(fresh().await).await;
    shared_contents_outlive_one_of_their_threads(fresh().await).await;
    an_installed_thread_shares_the_contents_of_the_family_that_it_joins(fresh().await).await;
    an_image_of_a_family_that_has_not_all_is_refused(fresh().await).await;
}

fn names(message: u64, digest: Digest) -> String {
    format!(r#"{{"message":"m-{message}","content":"{digest}"}}"#)
}

fn content(bytes: &[u8]) -> Content {
    Content {
        digest: Digest::of(bytes),
        bytes: bytes.to_vec(),
    }
}

/// Two commits on the root, each with a message and a content that it names, and
/// a fact in between.
async fn filled(journal: &dyn Journal, name: &str) -> Claim {
    let claim = claim(journal, name).await;
    let blobs = [content(b"first"), content(b"second")];
    let mut write = batch(
        name,
        &claim,
        vec![(chain(""), None)],
        vec![
            commit("", &names(1, blobs[0].digest)),
            fact("k", "{}"),
            commit("", &names(2, blobs[1].digest)),
        ],
    );
    write.messages = (1..=2)
        .map(|number| Arc::new(Message::user(MessageId::numbered(number), "hello")))
        .collect();
    write.contents = blobs.to_vec();
    journal.append(write).await.expect("appended");
    claim
}

async fn seqs(journal: &dyn Journal, select: Select) -> Vec<Seq> {
    let records = journal.read(&thread("t"), select).await.expect("readable");
    records.iter().map(|record| record.seq).collect()
}

async fn message_ids(journal: &dyn Journal, name: &str) -> Vec<String> {
    let messages = journal.messages(&thread(name), 0, 10).await;
    let messages = messages.expect("readable");
    let ids = messages.iter().map(|(_, message)| message.id.to_string());
    ids.collect()
}

async fn has(journal: &dyn Journal, name: &str, bytes: &[u8]) -> bool {
    let content = journal.content(&thread(name), Digest::of(bytes)).await;
    let content = content.expect("readable");
    content.is_some_and(|stored| stored == bytes)
}

/// As a process leaves it that is killed behind its claim.
async fn a_thread_that_was_only_claimed_is_a_thread(journal: impl Journal) {
    for name in ["a", "b", "c"] {
        drop(claim(&journal, name).await);
    }
    let page = ThreadQuery {
        updated_since_ms: 1,
        ..ThreadQuery::all().after(Some(thread("a"))).limit(1)
    };
    let rows = journal.threads(page).await.expect("readable");
    let [row] = rows.as_slice() else {
        panic!("a page has as many as it may: {rows:?}");
    };
    assert_eq!(
        (row.thread.as_str(), row.epoch, row.last_seq),
        ("b", 1, 0),
        "it is listed"
    );
    assert!(row.updated_at_ms >= 1, "a claim counts as a write");
    let owner = journal.owner(&thread("b")).await.expect("readable");
    assert_eq!(owner, None, "nobody drives it");
    let copied = journal.copy(&thread("b"), &thread("copy"), None).await;
    copied.expect("it can be copied");
    let held = claim(&journal, "b").await;
    assert_eq!(held.epoch, 2);
    let removed = journal.remove(&thread("b"), held.epoch).await;
    removed.expect("it can be removed");
    let rows = journal.threads(ThreadQuery::all()).await.expect("readable");
    let names: Vec<_> = rows.iter().map(|row| row.thread.as_str()).collect();
    assert_eq!(names, ["a", "c", "copy"]);
}

async fn parts_of_a_thread_are_read_alone(journal: impl Journal) {
    let claim = claim(&journal, "t").await;
    let other = Entry {
        kind: kind::TRANSITION,
        ..commit("x:1.0", "{}")
    };
    let heads = vec![(chain(""), None), (chain("x:1.0"), None)];
    let entries = vec![commit("", "1"), other, fact("k", "2"), commit("", "3")];
    let write = batch("t", &claim, heads, entries);
    journal.append(write).await.expect("appended");
    let all = Select::all();
    assert_eq!(seqs(&journal, all.clone()).await, [1, 2, 3, 4]);
    assert_eq!(seqs(&journal, all.clone().after(1).before(4)).await, [2, 3]);
    let newest = all.clone().newest_first().limit(2);
    assert_eq!(seqs(&journal, newest.clone()).await, [4, 3]);
    assert_eq!(seqs(&journal, newest.before(3)).await, [2, 1]);
    let root = all.clone().on(chain(""));
    assert_eq!(seqs(&journal, root.clone()).await, [1, 3, 4]);
    let checkpoints = root.of(kind::CHECKPOINT);
    assert_eq!(seqs(&journal, checkpoints.clone()).await, [1, 4]);
    let both = checkpoints.of(kind::RESULT).newest_first().limit(2);
    assert_eq!(seqs(&journal, both).await, [4, 3]);
    let mut elsewhere = chain("");
    elsewhere.branch = Branch::from("other");
    assert!(seqs(&journal, all.clone().on(elsewhere)).await.is_empty());
    assert!(seqs(&journal, all.limit(0)).await.is_empty());
}

async fn a_watcher_hears_of_writes<J: Journal + 'static>(journal: Arc<J>) {
    let hear = |after| {
        let journal = Arc::clone(&journal);
        tokio::spawn(async move {
            let name = thread("t");
            tokio::time::timeout(HEARD, journal.changed(&name, after)).await
        })
    };
    let early = hear(0);
    let claim = claim(&*journal, "t").await;
    let write = |key: &str| journal.append(batch("t", &claim, vec![], vec![fact(key, "1")]));
    write("a").await.expect("appended");
    let heard = |heard: Result<Result<_, _>, _>| {
        let heard: Result<Result<Seq, JournalError>, _> = heard.expect("not panicked");
        heard.expect("heard in time").expect("readable")
    };
    assert_eq!(heard(early.await), 1, "before the thread was made");
    assert_eq!(heard(hear(0).await), 1, "what is there already");
    let next = hear(1);
    tokio::task::yield_now().await;
    assert!(!next.is_finished(), "nothing stands after 1");
    write("b").await.expect("appended");
    assert_eq!(heard(next.await), 2);
}

async fn a_taken_thread_fences_its_driver(journal: impl Journal) {
    let old = claim(&journal, "t").await;
    let owner = Owner {
        process: 8,
        since_ms: 2,
    };
    let new = journal.take_over(&thread("t"), owner.clone()).await;
    let new = new.expect("taken over");
    assert_eq!(new.epoch, 2);
    let write = |claim: &Claim| journal.append(batch("t", claim, vec![], vec![fact("k", "1")]));
    let error = write(&old).await.expect_err("the claim is lost");
    assert!(matches!(error, JournalError::Fenced { .. }), "{error:?}");
    drop(old);
    let driver = journal.owner(&thread("t")).await.expect("readable");
    assert_eq!(driver, Some(owner), "the displaced one lets nothing go");
    write(&new).await.expect("appended");
    drop(new);
    assert_eq!(journal.owner(&thread("t")).await.expect("readable"), None);
    assert_eq!(claim(&journal, "t").await.epoch, 3);
    let fresh = journal.take_over(&thread("u"), Owner::default()).await;
    assert_eq!(fresh.expect("nobody drives it").epoch, 1);
}

/// The intent to call something, or to make a step.
fn intent(key: &str, kind: Kind) -> Entry {
    Entry {
        kind,
        ..fact(key, "1")
    }
}

/// A thread that was taken from its driver, who had recorded two intents; the present
/// one has recorded another.
async fn taken_over(journal: &dyn Journal) -> (Claim, Claim) {
    let old = claim(journal, "t").await;
    let intents = vec![
        intent("call/c-1/intent/1", kind::INTENT),
        intent("step/pay:1.0/charge#1/intent/2", kind::STEP_INTENT),
    ];
    let intents = batch("t", &old, vec![], intents);
    journal.append(intents).await.expect("appended");
    let new = journal.take_over(&thread("t"), Owner::default()).await;
    let new = new.expect("taken over");
    let theirs = vec![intent("call/c-2/intent/1", kind::INTENT)];
    let theirs = batch("t", &new, vec![], theirs);
    journal.append(theirs).await.expect("appended");
    (old, new)
}

fn late(claim: &Claim, intent: &str, entries: Vec<Entry>) -> Batch {
    Batch {
        author: Author::Late {
            epoch: claim.epoch,
            intent: FactKey::from(intent),
        },
        ..batch("t", claim, vec![], entries)
    }
}

async fn a_late_driver_may_say_how_its_effect_ended(journal: impl Journal) {
    let (old, new) = taken_over(&journal).await;
    let result = "call/c-1/result";
    let mut write = late(
        &old,
        "call/c-1/intent/1",
        vec![fact(result, r#"["late/c-1"]"#)],
    );
    let message = Message::user(MessageId::from("late/c-1"), "done");
    write.messages = vec![Arc::new(message)];
    write.contents = vec![content(b"all of it")];
    let placed = journal.append(write.clone()).await;
    assert_eq!(placed.expect("it is its own"), [4]);
    let records = journal.read(&thread("t"), Select::all()).await;
    let records = records.expect("readable");
    let found = records.last().expect("it is there");
    assert_eq!(found.key(), Some(&FactKey::from(result)));
    assert_eq!(found.epoch, new.epoch, "written under the present claim");
    assert_eq!(message_ids(&journal, "t").await, ["late/c-1"]);
    assert!(has(&journal, "t", b"all of it").await);
    let error = journal.append(write).await;
    let error = error.expect_err("it is settled");
    assert!(
        matches!(error, JournalError::AlreadyRecorded { .. }),
        "{error:?}"
    );
    let released = Entry {
        kind: kind::STEP_RELEASED,
        ..fact("step/pay:1.0/charge#1/released/2", "1")
    };
    let write = late(&old, "step/pay:1.0/charge#1/intent/2", vec![released]);
    journal.append(write).await.expect("it did nothing");
    let theirs = batch("t", &new, vec![], vec![fact("call/c-2/result", "1")]);
    journal.append(theirs).await.expect("the driver goes on");
}

async fn a_late_driver_may_write_nothing_else(journal: impl Journal) {
    let (old, _new) = taken_over(&journal).await;
    let own = "call/c-1/intent/1";
    let result = || fact("call/c-1/result", "1");
    for (intent, entry, why) in [
        (
            "call/c-9/intent/1",
            fact("call/c-9/result", "1"),
            "no intent",
        ),
        (
            "call/c-2/intent/1",
            fact("call/c-2/result", "1"),
            "another's",
        ),
    ] {
        let error = journal.append(late(&old, intent, vec![entry])).await;
        let error = error.expect_err(why);
        assert!(
            matches!(error, JournalError::Fenced { .. }),
            "{why}: {error:?}"
        );
    }
    let elsewhere = Entry {
        chain: chain("pay:1.0"),
        ..result()
    };
    for (entries, why) in [
        (vec![], "it writes something"),
        (vec![commit("", "1")], "only a driver commits"),
        (vec![fact("call/c-2/result", "1")], "another call's result"),
        (vec![fact("call/c-1/started/1", "1")], "no end"),
        (vec![fact("answer/c-1", "1")], "an answer"),
        (vec![intent("call/c-1/intent/2", kind::INTENT)], "an intent"),
        (
            vec![intent("call/c-1/result", kind::ANSWER)],
            "no result's kind",
        ),
        (
            vec![intent("call/c-1/result", kind::STEP_RESULT)],
            "a step's kind",
        ),
        (vec![result(), fact("call/c-1/released/1", "1")], "two ends"),
        (vec![elsewhere], "another chain"),
        (
            vec![Entry {
                run: RunId::from("other"),
                ..result()
            }],
            "another run",
        ),
    ] {
        let error = journal.append(late(&old, own, entries)).await;
        refused(error, why);
    }
    for (numbers, why) in [
        (&["m-7"][..], "the driver's numbers"),
        (&["late/c-1", "late/c-2"], "one message"),
    ] {
        let mut write = late(&old, own, vec![result()]);
        let messages = numbers.iter().map(|id| {
            let message = Message::user(MessageId::from(*id), "done");
            Arc::new(message)
        });
        write.messages = messages.collect();
        refused(journal.append(write).await, why);
    }
    assert_eq!(count(&journal, "t").await, 3, "nothing was written");
}

fn refused(written: Result<Vec<Seq>, JournalError>, why: &str) {
    let error = written.expect_err(why);
    assert!(
        matches!(
            error,
            JournalError::Malformed { .. } | JournalError::Fenced { .. }
        ),
        "{why}: {error:?}"
    );
}

async fn a_copy_goes_its_own_way(journal: impl Journal) {
    let held = filled(&journal, "t").await;
    let (from, to) = (thread("t"), thread("u"));
    journal.copy(&from, &to, None).await.expect("copied");
    let records = journal.read(&from, Select::all()).await.expect("readable");
    let copied = journal.read(&to, Select::all()).await.expect("readable");
    assert_eq!(records, copied);
    assert_eq!(message_ids(&journal, "u").await, ["m-1", "m-2"]);
    assert!(has(&journal, "u", b"second").await);
    assert_eq!(journal.owner(&to).await.expect("readable"), None);
    let driver = claim(&journal, "u").await;
    assert_eq!(driver.epoch, 2, "its epochs follow those of its records");
    for (name, claim, text) in [("t", &held, "here"), ("u", &driver, "there")] {
        let heads = vec![(chain(""), Some(3))];
        let mut write = batch(name, claim, heads, vec![commit("", r#"["m-3"]"#)]);
        write.messages = vec![Arc::new(Message::user(MessageId::numbered(3), text))];
        journal.append(write).await.expect("each has its own head");
    }
    let there = journal.messages(&to, 0, 10).await.expect("readable");
    let there = there.last().map(|(_, message)| message.text());
    assert_eq!(there.as_deref(), Some("there"), "and its own messages");
    let error = journal.copy(&from, &to, None).await;
    let error = error.expect_err("the name is taken");
    assert!(
        matches!(error, JournalError::ThreadExists { .. }),
        "{error:?}"
    );
    let error = journal.copy(&thread("nobody"), &thread("v"), None).await;
    let error = error.expect_err("there is nothing to copy");
    assert!(
        matches!(error, JournalError::UnknownThread { .. }),
        "{error:?}"
    );
}

async fn a_copy_stops_where_it_is_told(journal: impl Journal) {
    drop(filled(&journal, "t").await);
    let to = thread("u");
    let copied = journal.copy(&thread("t"), &to, Some(1)).await;
    copied.expect("copied");
    assert_eq!(count(&journal, "u").await, 1);
    let driver = claim(&journal, "u").await;
    let write = batch(
        "u",
        &driver,
        vec![(chain(""), Some(1))],
        vec![commit("", "{}"), fact("k", "{}")],
    );
    let placed = journal.append(write).await;
    assert_eq!(placed.expect("head and keys are those of the copy"), [2, 3]);
}

pub(super) async fn image(journal: &dyn Journal, name: &str) -> ThreadImage {
    let name = thread(name);
    let rows = journal.threads(ThreadQuery::all()).await.expect("readable");
    let row = rows.into_iter().find(|row| row.thread == name);
    let messages = journal.messages(&name, 0, 1_000).await.expect("readable");
    let mut contents = Vec::new();
    for bytes in [&b"first"[..], b"second"] {
        let stored = journal.content(&name, Digest::of(bytes)).await;
        contents.extend(stored.expect("readable").map(|bytes| content(&bytes)));
    }
    ThreadImage {
        epoch: row.expect("listed").epoch,
        records: journal.read(&name, Select::all()).await.expect("readable"),
        messages: messages.into_iter().map(|(_, message)| message).collect(),
        contents,
        family: None,
        thread: name,
    }
}

async fn a_thread_moves_whole(journal: impl Journal, elsewhere: impl Journal) {
    drop(filled(&journal, "t").await);
    let whole = image(&journal, "t").await;
    elsewhere.install(whole.clone()).await.expect("installed");
    assert_eq!(image(&elsewhere, "t").await, whole);
    let driver = claim(&elsewhere, "t").await;
    assert_eq!(driver.epoch, 2);
    let heads = vec![(chain(""), Some(3))];
    let write = batch("t", &driver, heads, vec![commit("", "{}")]);
    assert_eq!(elsewhere.append(write).await.expect("it goes on"), [4]);
    let error = elsewhere.install(whole.clone()).await;
    let error = error.expect_err("the name is taken");
    assert!(
        matches!(error, JournalError::ThreadExists { .. }),
        "{error:?}"
    );
    let renamed = ThreadImage {
        thread: thread("u"),
        ..whole
    };
    elsewhere.install(renamed).await.expect("installed");
    assert_eq!(count(&elsewhere, "u").await, 3);
}

async fn an_image_out_of_order_is_refused(journal: impl Journal) {
    drop(filled(&journal, "t").await);
    let whole = image(&journal, "t").await;
    let mut disordered = ThreadImage {
        thread: thread("u"),
        ..whole.clone()
    };
    disordered.records.swap(0, 1);
    let mut twice = ThreadImage {
        thread: thread("u"),
        ..whole
    };
    let again = twice.records.get(1).cloned().map(|record| {
        let seq = 4;
        rustagents_core::journal::Record { seq, ..record }
    });
    twice.records.extend(again);
    for image in [disordered, twice] {
        let error = journal.install(image).await.expect_err("it is broken");
        assert!(matches!(error, JournalError::Malformed { .. }), "{error:?}");
        assert_eq!(count(&journal, "u").await, 0, "nothing is left of it");
        let rows = journal.threads(ThreadQuery::all()).await.expect("readable");
        assert_eq!(rows.len(), 1, "nothing is left of it");
    }
}

async fn an_image_that_no_reader_takes_is_refused(journal: impl Journal) {
    drop(filled(&journal, "t").await);
    let nested = |depth: u8| {
        let depth = usize::from(depth);
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    };
    let mut deep = ThreadImage {
        thread: thread("u"),
        ..image(&journal, "t").await
    };
    deep.records.last_mut().expect("three").body = nested(MAX_READ_DEPTH + 1);
    let error = journal.install(deep.clone()).await;
    let error = error.expect_err("nobody can read it");
    assert!(matches!(error, JournalError::TooDeep { .. }), "{error:?}");
    let rows = journal.threads(ThreadQuery::all()).await.expect("readable");
    assert_eq!(rows.len(), 1, "nothing is left of it");
    deep.records.last_mut().expect("three").body = nested(MAX_READ_DEPTH);
    journal.install(deep).await.expect("it can be read");
}

async fn an_image_out_of_bounds_is_refused(journal: impl Journal) {
    drop(filled(&journal, "t").await);
    let whole = ThreadImage {
        thread: thread("u"),
        ..image(&journal, "t").await
    };
    let damages: [fn(&mut ThreadImage); 6] = [
        |image| image.records.last_mut().expect("three").seq = u64::from(u32::MAX),
        |image| image.records.last_mut().expect("three").seq = u64::MAX,
        |image| image.records.last_mut().expect("three").at_ms = u64::MAX,
        |image| image.epoch = u64::MAX,
        |image| image.contents.last_mut().expect("two").bytes.push(b'x'),
        |image| {
            let id = MessageId::numbered(u64::MAX);
            image.messages.push(Arc::new(Message::user(id, "hello")));
        },
    ];
    for damage in damages {
        let mut image = whole.clone();
        damage(&mut image);
        let error = journal
            .install(image)
            .await
            .expect_err("it is out of bounds");
        assert!(matches!(error, JournalError::Malformed { .. }), "{error:?}");
    }
    let mut wrong = batch(
        "t",
        &claim(&journal, "t").await,
        vec![],
        vec![fact("l", "1")],
    );
    wrong.contents = vec![Content {
        digest: Digest::of(b"x"),
        bytes: b"y".to_vec(),
    }];
    let error = journal
        .append(wrong)
        .await
        .expect_err("the digest is wrong");
    assert!(matches!(error, JournalError::Malformed { .. }), "{error:?}");
    journal
        .install(whole)
        .await
        .expect("nothing was left behind");
}

fn compaction(claim: &Claim, drop: Vec<std::ops::RangeInclusive<Seq>>) -> Compaction {
    let heads = vec![(chain(""), Some(3))];
    let body = names(2, Digest::of(b"second"));
    let batch = batch("t", claim, heads, vec![commit("", &body)]);
    Compaction { batch, drop }
}

async fn a_compaction_removes_what_nobody_mentions(journal: impl Journal) {
    let held = filled(&journal, "t").await;
    let placed = journal.compact(compaction(&held, vec![1..=2, 9..=20]));
    assert_eq!(placed.await.expect("compacted"), [4]);
    assert_eq!(seqs(&journal, Select::all()).await, [3, 4]);
    assert_eq!(message_ids(&journal, "t").await, ["m-2"]);
    assert!(!has(&journal, "t", b"first").await);
    assert!(has(&journal, "t", b"second").await);
    let heads = vec![(chain(""), Some(4))];
    let entries = vec![commit("", "{}"), fact("k", "2")];
    let write = batch("t", &held, heads, entries);
    assert_eq!(
        journal.append(write).await.expect("a dropped key is free"),
        [5, 6],
        "places go on"
    );
    drop(held);
    let copied = journal.copy(&thread("t"), &thread("u"), None).await;
    copied.expect("a thread with gaps can be copied");
    assert_eq!(count(&journal, "u").await, 4);
}

async fn a_refused_compaction_changes_nothing(journal: impl Journal) {
    let held = filled(&journal, "t").await;
    let stale = Claim::new(held.epoch + 1, ());
    journal
        .compact(compaction(&stale, vec![1..=2]))
        .await
        .expect_err("it is another's epoch");
    let mut headless = compaction(&held, vec![1..=2]);
    headless.batch.heads = vec![(chain(""), Some(1))];
    journal.compact(headless).await.expect_err("the head is 3");
    assert_eq!(seqs(&journal, Select::all()).await, [1, 2, 3]);
    assert_eq!(message_ids(&journal, "t").await, ["m-1", "m-2"]);
    assert!(has(&journal, "t", b"first").await);
}

async fn a_removed_thread_is_gone(journal: impl Journal) {
    let held = filled(&journal, "t").await;
    let error = journal.remove(&thread("t"), held.epoch + 1).await;
    let error = error.expect_err("it is another's epoch");
    assert!(matches!(error, JournalError::Fenced { .. }), "{error:?}");
    let removed = journal.remove(&thread("t"), held.epoch).await;
    removed.expect("removed");
    let error = journal.remove(&thread("t"), held.epoch).await;
    let error = error.expect_err("it is gone");
    assert!(
        matches!(error, JournalError::UnknownThread { .. }),
        "{error:?}"
    );
    assert_eq!(count(&journal, "t").await, 0);
    assert_eq!(message_ids(&journal, "t").await, Vec::<String>::new());
    assert!(!has(&journal, "t", b"first").await);
    let rows = journal.threads(ThreadQuery::all()).await.expect("readable");
    assert_eq!(rows, []);
    let stale = batch("t", &held, vec![], vec![fact("late", "1")]);
    drop(held);
    let again = claim(&journal, "t").await;
    assert!(again.epoch > 1, "an epoch is never used twice");
    let error = journal.append(stale).await.expect_err("it is another's");
    assert!(matches!(error, JournalError::Fenced { .. }), "{error:?}");
    let write = batch("t", &again, vec![], vec![fact("k", "1")]);
    assert_eq!(journal.append(write).await.expect("appended"), [1]);
}

async fn a_removed_threads_name_comes_back_above_its_epochs(journal: impl Journal) {
    drop(filled(&journal, "t").await);
    let whole = image(&journal, "t").await;
    for name in ["u", "v", "w"] {
        drop(claim(&journal, name).await);
        drop(claim(&journal, name).await);
        let held = claim(&journal, name).await;
        let removed = journal.remove(&thread(name), held.epoch).await;
        removed.expect("removed");
    }
    let copied = journal.copy(&thread("t"), &thread("u"), None).await;
    copied.expect("copied");
    let renamed = ThreadImage {
        thread: thread("v"),
        ..whole
    };
    journal.install(renamed).await.expect("installed");
    let joined = joining(&journal, "t", "w").await;
    journal.install(joined).await.expect("installed");
    for name in ["u", "v", "w"] {
        let epoch = claim(&journal, name).await.epoch;
        assert!(epoch > 3, "`{name}`: an epoch is never used twice: {epoch}");
    }
}

async fn shared_contents_outlive_one_of_their_threads(journal: impl Journal) {
    let held = filled(&journal, "t").await;
    let copied = journal.copy(&thread("t"), &thread("u"), Some(1)).await;
    copied.expect("copied");
    let removed = journal.remove(&thread("t"), held.epoch).await;
    removed.expect("removed");
    assert!(has(&journal, "u", b"first").await, "the copy mentions it");
    assert!(!has(&journal, "u", b"second").await, "nobody mentions it");
}

/// An image of `from` under another name, in its family: what it has of contents is
/// left there.
async fn joining(journal: &dyn Journal, from: &str, to: &str) -> ThreadImage {
    let mut image = image(journal, from).await;
    let contents = std::mem::take(&mut image.contents).into_iter();
    ThreadImage {
        thread: thread(to),
        family: Some(Family {
            of: thread(from),
            shared: contents.map(|content| content.digest).collect(),
        }),
        ..image
    }
}

async fn an_installed_thread_shares_the_contents_of_the_family_that_it_joins(
    journal: impl Journal,
) {
    let held = filled(&journal, "t").await;
    let mut joined = joining(&journal, "t", "u").await;
    let third = content(b"third");
    joined.contents.push(third.clone());
    let heads = vec![(chain(""), Some(3))];
    let more = names(2, third.digest);
    journal.install(joined).await.expect("installed");
    assert_eq!(
        journal.read(&thread("u"), Select::all()).await.ok(),
        journal.read(&thread("t"), Select::all()).await.ok(),
    );
    // Its image had neither of them, so each is there once.
    assert!(has(&journal, "u", b"first").await && has(&journal, "u", b"second").await);
    assert!(has(&journal, "t", b"third").await, "they are one family");
    let driver = claim(&journal, "u").await;
    let write = batch("u", &driver, heads, vec![commit("", &more)]);
    assert_eq!(journal.append(write).await.expect("it goes on"), [4]);
    // One more of the family, which mentions the first content alone, to look by.
    let copied = journal.copy(&thread("t"), &thread("w"), Some(1)).await;
    copied.expect("copied");
    let removed = journal.remove(&thread("t"), held.epoch).await;
    removed.expect("removed");
    for kept in [&b"first"[..], b"second", b"third"] {
        assert!(has(&journal, "u", kept).await, "it mentions {kept:?}");
        assert!(has(&journal, "w", kept).await);
    }
    let placed = journal.compact(Compaction {
        batch: batch("u", &driver, vec![], vec![fact("l", "{}")]),
        drop: vec![1..=3],
    });
    placed.await.expect("compacted");
    assert!(!has(&journal, "w", b"second").await, "nobody mentions it");
    assert!(has(&journal, "w", b"first").await, "another one does");
    let removed = journal.remove(&thread("u"), driver.epoch).await;
    removed.expect("removed");
    assert!(!has(&journal, "w", b"third").await, "nobody mentions it");
    assert!(has(&journal, "w", b"first").await);
}

async fn an_image_of_a_family_that_has_not_all_is_refused(journal: impl Journal) {
    drop(filled(&journal, "t").await);
    let whole = joining(&journal, "t", "u").await;
    // As when the source is compacted between the look and the write.
    let held = claim(&journal, "t").await;
    let placed = journal.compact(compaction(&held, vec![1..=2]));
    placed.await.expect("compacted");
    let error = journal.install(whole.clone()).await;
    let error = error.expect_err("one of them is gone");
    let is_named = matches!(
        &error,
        JournalError::ContentGone { digest, .. } if *digest == Digest::of(b"first")
    );
    assert!(is_named, "{error:?}");
    let rows = journal.threads(ThreadQuery::all()).await.expect("readable");
    assert_eq!(rows.len(), 1, "nothing is left of it");
    let removed = journal.remove(&thread("t"), held.epoch).await;
    removed.expect("removed");
    let error = journal.install(whole.clone()).await;
    let error = error.expect_err("there is no such family");
    let is_unknown =
        matches!(&error, JournalError::UnknownThread { thread } if thread.as_str() == "t");
    assert!(is_unknown, "{error:?}");
    assert_eq!(count(&journal, "u").await, 0, "nothing is left of it");
    drop(filled(&journal, "t").await);
    journal.install(whole.clone()).await.expect("all is there");
    let error = journal.install(whole).await;
    let error = error.expect_err("the name is taken");
    assert!(
        matches!(error, JournalError::ThreadExists { .. }),
        "{error:?}"
    );
}
