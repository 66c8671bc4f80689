//! What a backend promises about large values: they are read as they were written,
//! whoever shares them, and as long as anybody has them.

use std::{future::Future, sync::Arc};

use rustagents_core::{
    ids::MessageId,
    journal::{Compaction, Family, Journal, PlacedMessage, Record, Select, ThreadImage},
    message::Message,
};

use super::{batch, chain, claim, commit, fact, thread};

pub(super) async fn suite<J: Journal + 'static, F: Future<Output = J>>(
    fresh: &mut impl FnMut() -> F,
) {
    large_values_are_read_as_they_were_written(fresh().await).await;
    large_values_outlive_the_thread_that_brought_them(fresh().await).await;
}

/// A value of about 60 KB, with what needs care in JSON.
fn value(of: char) -> String {
    let text: String = [of, 'é', '\u{0}', '"', '\\', '{', ']', '\u{1f980}']
        .iter()
        .collect();
    serde_json::to_string(&text.repeat(2_000)).expect("a text")
}

/// Bodies that hold large values: alone, several, twice, and many small ones.
fn bodies() -> Vec<String> {
    let (a, b) = (value('a'), value('b'));
    let many: Vec<_> = (0..9_000).map(|number| number.to_string()).collect();
    let wide: Vec<_> = (0..40)
        .map(|number| format!("\"{number}{}\"", "w".repeat(1_000)))
        .collect();
    vec![
        format!(r#"{{"checkpoint":1,"deltas":[["doc",{{"set":{a}}}]]}}"#),
        format!(r#"{{"a":{a},"b":[{b},{{"again":{a}}}],"c":null}}"#),
        a,
        format!("[{}]", many.join(",")),
        format!(r#"{{"list":[{}],"b":{b}}}"#, wide.join(",")),
    ]
}

/// A thread of these bodies, half of them facts, and a message for each.
async fn filled(journal: &dyn Journal, name: &str) -> u64 {
    let claim = claim(journal, name).await;
    let mut head = None;
    for (number, body) in (1..).zip(bodies()) {
        let (heads, entry) = if number % 2 == 1 {
            (vec![(chain(""), head)], commit("", &body))
        } else {
            (vec![], fact(&format!("k-{number}"), &body))
        };
        let mut write = batch(name, &claim, heads, vec![entry]);
        let text = if number == 1 { "short".into() } else { body };
        write.messages = vec![Arc::new(Message::user(MessageId::numbered(number), text))];
        let written = journal.append(write).await.expect("written");
        if number % 2 == 1 {
            head = written.first().copied();
        }
    }
    claim.epoch
}

async fn told(journal: &dyn Journal, name: &str) -> (Vec<Record>, Vec<PlacedMessage>) {
    let name = thread(name);
    let records = journal.read(&name, Select::all()).await.expect("readable");
    let messages = journal.messages(&name, 0, 100).await.expect("readable");
    (records, messages)
}

async fn large_values_are_read_as_they_were_written(journal: impl Journal) {
    filled(&journal, "t").await;
    let (records, messages) = told(&journal, "t").await;
    let read: Vec<_> = records.iter().map(|record| record.body.clone()).collect();
    assert_eq!(read, bodies());
    for ((_, message), body) in messages.iter().zip(bodies()).skip(1) {
        assert_eq!(message.text(), body);
    }
    // A message that is there already may come again, and no other one of its id.
    let held = claim(&journal, "t").await;
    let mut again = batch("t", &held, vec![], vec![fact("again", "{}")]);
    again.messages = messages
        .iter()
        .map(|(_, message)| message.clone())
        .collect();
    journal.append(again.clone()).await.expect("the same");
    again.entries = vec![fact("other", "{}")];
    let other = Message::user(MessageId::numbered(2), value('x'));
    again.messages = vec![Arc::new(other)];
    journal.append(again).await.expect_err("it changed");
}

async fn large_values_outlive_the_thread_that_brought_them(journal: impl Journal) {
    let epoch = filled(&journal, "t").await;
    let whole = told(&journal, "t").await;
    let copied = journal.copy(&thread("t"), &thread("copy"), None).await;
    copied.expect("copied");
    // As a fork that is written whole, in the family.
    let image = ThreadImage {
        thread: thread("joined"),
        epoch,
        records: whole.0.clone(),
        messages: whole.1.iter().map(|(_, message)| message.clone()).collect(),
        contents: vec![],
        family: Some(Family {
            of: thread("t"),
            shared: vec![],
        }),
    };
    journal.install(image.clone()).await.expect("joined");
    let elsewhere = ThreadImage {
        thread: thread("alone"),
        family: None,
        ..image
    };
    journal.install(elsewhere).await.expect("installed");
    let held = claim(&journal, "t").await;
    let removed = journal.remove(&thread("t"), held.epoch).await;
    removed.expect("removed");
    for name in ["copy", "joined", "alone"] {
        assert_eq!(told(&journal, name).await.0, whole.0, "{name}");
    }
    // The first record goes; what others have of its values stays.
    let held = claim(&journal, "copy").await;
    let compacted = journal.compact(Compaction {
        batch: batch("copy", &held, vec![], vec![fact("kept", "{}")]),
        drop: vec![1..=1],
    });
    compacted.await.expect("compacted");
    let left = told(&journal, "copy").await.0;
    assert_eq!(left[..4], whole.0[1..]);
    let removed = journal.remove(&thread("copy"), held.epoch).await;
    removed.expect("removed");
    for name in ["joined", "alone"] {
        assert_eq!(told(&journal, name).await, whole, "{name}");
    }
}
