//! A thread's log as it was read back: what resume and inspection look at.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    ids::{Branch, FactKey, MessageId, Namespace, ThreadId},
    journal::{Chain, Journal, JournalError, Place, Record, Select, Seq},
    message::Message,
};

/// How many records or messages are read at a time.
const PAGE: usize = 1_000;

/// All records and messages of one thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadLog {
    records: Vec<Record>,
    chains: BTreeMap<Branch, BTreeMap<Namespace, Vec<usize>>>,
    facts: BTreeMap<Branch, BTreeMap<FactKey, usize>>,
    messages: HashMap<MessageId, Arc<Message>>,
    last_call: u64,
    last_message: u64,
}

impl ThreadLog {
    /// Reads a thread. A thread that does not exist has no records.
    ///
    /// # Errors
    /// Whatever the journal says; an unknown thread is not an error.
    pub async fn load(journal: &dyn Journal, thread: &ThreadId) -> Result<Self, JournalError> {
        let mut log = Self::default();
        loop {
            let page = journal
                .read(thread, Select::all().after(log.last_seq()).limit(PAGE))
                .await?;
            let last = page.len() < PAGE;
            for record in page {
                log.push(record);
            }
            if last {
                break;
            }
        }
        let mut after = 0;
        loop {
            let page = journal.messages(thread, after, PAGE).await?;
            let last = page.len() < PAGE;
            for (place, message) in page {
                after = place;
                log.add_message(message);
            }
            if last {
                return Ok(log);
            }
        }
    }

    fn push(&mut self, record: Record) {
        let index = self.records.len();
        let Chain { branch, namespace } = record.chain.clone();
        match &record.place {
            Place::Commit => {
                let chains = self.chains.entry(branch).or_default();
                chains.entry(namespace).or_default().push(index);
            }
            Place::Fact(key) => {
                let facts = self.facts.entry(branch).or_default();
                facts.insert(key.clone(), index);
            }
        }
        self.records.push(record);
    }

    fn add_message(&mut self, message: Arc<Message>) {
        self.last_message = self.last_message.max(message.id.number());
        let calls = message.calls().iter().map(|call| call.id.number());
        self.last_call = calls.fold(self.last_call, u64::max);
        self.messages.insert(message.id.clone(), message);
    }

    /// Whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// All records, in order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The place of the last record; 0 if there is none.
    pub fn last_seq(&self) -> Seq {
        self.records.last().map_or(0, |record| record.seq)
    }

    /// The commits of a chain, in order.
    pub fn commits<'a>(
        &'a self,
        branch: &Branch,
        namespace: &Namespace,
    ) -> impl DoubleEndedIterator<Item = &'a Record> + use<'a> {
        let chains = self.chains.get(branch);
        let indices = chains.and_then(|chains| chains.get(namespace));
        let indices = indices.map_or(&[][..], Vec::as_slice);
        indices.iter().filter_map(|index| self.records.get(*index))
    }

    /// The fact with this key.
    pub fn fact(&self, branch: &Branch, key: &FactKey) -> Option<&Record> {
        let index = self.facts.get(branch)?.get(key)?;
        self.records.get(*index)
    }

    /// A message of the thread.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`]: a record names a message that is not there.
    pub fn message(&self, id: &MessageId) -> Result<Arc<Message>, JournalError> {
        self.messages
            .get(id)
            .cloned()
            .ok_or_else(|| JournalError::Corrupt {
                place: format!("message {id}"),
                reason: "a record names it, and it is missing".into(),
            })
    }

    /// The number of the last call that was minted.
    pub fn last_call(&self) -> u64 {
        self.last_call
    }

    /// The number of the last message that was written.
    pub fn last_message(&self) -> u64 {
        self.last_message
    }
}
