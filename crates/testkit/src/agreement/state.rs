//! What can be seen of a journal.

use std::sync::Arc;

use rustagents_core::{
    ids::ThreadId,
    journal::{Content, Epoch, Journal, Record, Select, Seq, ThreadQuery, ThreadRow},
    message::Message,
};

use super::step::{Step, content};

/// Everything that can be seen of a store, but for the clocks of whole threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State(Vec<Seen>);

/// What can be seen of a thread.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) thread: ThreadId,
    pub(super) epoch: Epoch,
    pub(super) last_seq: Seq,
    pub(super) records: Vec<Record>,
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) contents: Vec<Content>,
}

impl State {
    /// Looks at everything.
    pub(super) async fn of(journal: &dyn Journal) -> Self {
        let rows = journal.threads(ThreadQuery::all()).await.expect("readable");
        let mut seen = Vec::new();
        for ThreadRow {
            thread,
            epoch,
            last_seq,
            ..
        } in rows
        {
            let messages = journal.messages(&thread, 0, 100).await.expect("readable");
            let mut contents = Vec::new();
            for number in 0..4 {
                let content = content(number);
                let stored = journal.content(&thread, content.digest).await;
                let stored = stored.expect("readable");
                contents.extend(stored.map(|bytes| Content { bytes, ..content }));
            }
            seen.push(Seen {
                records: journal
                    .read(&thread, Select::all())
                    .await
                    .expect("readable"),
                messages: messages.into_iter().map(|(_, message)| message).collect(),
                thread,
                epoch,
                last_seq,
                contents,
            });
        }
        Self(seen)
    }

    /// Checks that another state shows the same, whatever its epochs are.
    pub(super) fn is_shown_by(&self, found: &Self, step: &Step) {
        let (expected, found) = (self.without_epochs(), found.without_epochs());
        assert!(
            found == expected,
            "{step:?}: {}",
            expected.difference(&found)
        );
    }

    fn without_epochs(&self) -> Self {
        let mut state = self.clone();
        for seen in &mut state.0 {
            seen.epoch = 0;
            for record in &mut seen.records {
                record.epoch = 0;
            }
        }
        state
    }

    /// Where another state differs, in few words.
    fn difference(&self, found: &Self) -> String {
        let mut pairs = self.0.iter().zip(&found.0);
        match pairs.find(|(expected, found)| expected != found) {
            Some((expected, found)) => format!("{}, not {}", expected.told(), found.told()),
            None => format!("{} threads, not {}", self.0.len(), found.0.len()),
        }
    }

    pub(super) fn of_thread(&self, thread: &ThreadId) -> Option<&Seen> {
        self.0.iter().find(|seen| seen.thread == *thread)
    }

    pub(super) fn threads(&self) -> impl Iterator<Item = &Seen> {
        self.0.iter()
    }
}

impl Seen {
    fn told(&self) -> String {
        let Self {
            thread, last_seq, ..
        } = self;
        let (records, messages) = (self.records.len(), self.messages.len());
        let contents = self.contents.len();
        format!(
            "{thread:?} at place {last_seq} with {records} records, {messages} messages and \
             {contents} contents"
        )
    }

    /// The record at a place.
    pub(super) fn record(&self, seq: Seq) -> Option<&Record> {
        self.records.iter().find(|record| record.seq == seq)
    }
}
