//! A thread's log as it was read back: what resume and inspection look at.

mod kept;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde::Deserialize;

use crate::{
    ids::{Branch, FactKey, MessageId, Namespace, ThreadId},
    journal::{Chain, Journal, JournalError, Kind, Place, Record, Select, Seq, kind},
    message::Message,
};

/// How many records or messages are read at a time.
const PAGE: usize = 1_000;

/// Records and messages of one thread: all of them, or those that going on needs.
#[derive(Clone, Debug, Default)]
pub struct ThreadLog {
    records: Vec<Record>,
    chains: BTreeMap<Branch, BTreeMap<Namespace, Vec<usize>>>,
    facts: BTreeMap<Branch, BTreeMap<FactKey, usize>>,
    messages: HashMap<MessageId, Arc<Message>>,
    last_call: u64,
    last_message: u64,
}

/// What a snapshot says of its place and of what was counted by then.
#[derive(Deserialize)]
struct SnapshotMark {
    checkpoint: u64,
    at: Option<Seq>,
    messages: u64,
    calls: u64,
    #[serde(default)]
    kept: BTreeMap<String, Namespace>,
}

impl ThreadLog {
    /// Reads what going on with a thread needs: the records since its last run was
    /// opened, and before them the last snapshot of the state and the checkpoints
    /// that it does not cover; and the calls of graphs inside that it goes on from,
    /// where their state is kept; and all messages of the thread. So loading costs the
    /// records of what is alive, however many there are, and every message that was not
    /// pruned. A thread that does not exist has no records.
    ///
    /// # Errors
    /// Whatever the journal says; an unknown thread is not an error.
    pub async fn load(
        journal: &dyn Journal,
        thread: &ThreadId,
        branch: &Branch,
    ) -> Result<Self, JournalError> {
        let root = Chain {
            branch: branch.clone(),
            namespace: Namespace::root(),
        };
        let opened = newest(journal, thread, &root, kind::RUN_OPENED).await?;
        let opened = opened.map(|record| record.seq);
        let (covered, snapshot) = match newest(journal, thread, &root, kind::SNAPSHOT).await? {
            Some(record) => {
                let mark: SnapshotMark = record.decode(kind::SNAPSHOT)?;
                (mark.at.unwrap_or(record.seq.saturating_sub(1)), Some(mark))
            }
            None => (1, None),
        };
        let mut records = Vec::new();
        let mut after = covered.saturating_sub(1);
        if let Some(opened) = opened {
            if opened > covered {
                let state = Select::all().on(root);
                let state = state.of(kind::CHECKPOINT).of(kind::SNAPSHOT);
                let state = state.after(after).before(opened);
                records = read_all(journal, thread, state).await?;
            }
            after = opened.saturating_sub(1);
        }
        let lately = read_all(journal, thread, Select::all().after(after));
        records.append(&mut lately.await?);
        let part = kept::Part {
            branch,
            records: &records,
            after,
        };
        let kept = kept::read(journal, thread, &part, snapshot).await?;
        if !kept.is_empty() {
            records.extend(kept);
            records.sort_by_key(|record| record.seq);
        }
        let mut log = Self::default();
        log.push_all(records)?;
        log.read_messages(journal, thread).await?;
        Ok(log)
    }

    /// Reads a thread whole.
    ///
    /// # Errors
    /// Whatever the journal says; an unknown thread is not an error.
    pub async fn load_whole(
        journal: &dyn Journal,
        thread: &ThreadId,
    ) -> Result<Self, JournalError> {
        let mut log = Self::default();
        log.push_all(read_all(journal, thread, Select::all()).await?)?;
        log.read_messages(journal, thread).await?;
        Ok(log)
    }

    fn push_all(&mut self, records: Vec<Record>) -> Result<(), JournalError> {
        self.records.reserve(records.len());
        records.into_iter().try_for_each(|record| self.push(record))
    }

    async fn read_messages(
        &mut self,
        journal: &dyn Journal,
        thread: &ThreadId,
    ) -> Result<(), JournalError> {
        let mut after = 0;
        loop {
            let page = journal.messages(thread, after, PAGE).await?;
            let last = page.len() < PAGE;
            for (place, message) in page {
                after = place;
                self.add_message(message);
            }
            if last {
                return Ok(());
            }
        }
    }

    fn push(&mut self, record: Record) -> Result<(), JournalError> {
        if record.is(kind::SNAPSHOT) {
            let mark: SnapshotMark = record.decode(kind::SNAPSHOT)?;
            self.last_message = self.last_message.max(mark.messages);
            self.last_call = self.last_call.max(mark.calls);
        }
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
        Ok(())
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

    /// The records that were read, in order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The place of the last record; 0 if there is none.
    pub fn last_seq(&self) -> Seq {
        self.records.last().map_or(0, |record| record.seq)
    }

    /// The same log as it was before the record at `seq`. The messages and the counts
    /// stay, since nothing that is left names a later one.
    #[must_use]
    pub fn before(&self, seq: Seq) -> Self {
        let end = self.records.partition_point(|record| record.seq < seq);
        let mut chains = self.chains.clone();
        for chains in chains.values_mut() {
            chains.retain(|_, places| {
                places.retain(|place| *place < end);
                !places.is_empty()
            });
        }
        let mut facts = self.facts.clone();
        for facts in facts.values_mut() {
            facts.retain(|_, place| *place < end);
        }
        Self {
            records: self.records.iter().take(end).cloned().collect(),
            chains,
            facts,
            messages: self.messages.clone(),
            last_call: self.last_call,
            last_message: self.last_message,
        }
    }

    /// The names of the chains right inside `namespace`, in the order of their names.
    pub fn chains_in<'a>(
        &'a self,
        branch: &Branch,
        namespace: &Namespace,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        let inside = if namespace.is_root() {
            String::new()
        } else {
            format!("{namespace}/")
        };
        let chains = self.chains.get(branch).into_iter();
        let from = Namespace::from(inside.as_str());
        let chains = chains.flat_map(move |chains| chains.range(from.clone()..));
        let names = chains.map_while(move |(chain, _)| chain.as_str().strip_prefix(&*inside));
        names.filter(|name| !name.is_empty() && !name.contains('/'))
    }

    /// Whether `namespace`, or a chain inside it, has a commit, or a fact is about
    /// something there: the keys of such facts have the namespace behind their kind.
    pub fn knows_of(&self, branch: &Branch, namespace: &Namespace) -> bool {
        let is_there = |name: &str| {
            let inside = name.strip_prefix(namespace.as_str());
            inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut chains = self.chains.get(branch).into_iter().flatten();
        let mut facts = self.facts.get(branch).into_iter().flatten();
        let about = |key: &str| key.split_once('/').is_some_and(|(_, name)| is_there(name));
        chains.any(|(chain, _)| is_there(chain.as_str()))
            || facts.any(|(key, _)| about(key.as_str()))
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

    /// All facts of a branch, in no order.
    pub fn facts(&self, branch: &Branch) -> impl Iterator<Item = &Record> {
        let indices = self
            .facts
            .get(branch)
            .into_iter()
            .flat_map(|facts| facts.values());
        indices.filter_map(|index| self.records.get(*index))
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

/// The newest record of a kind on a chain.
async fn newest(
    journal: &dyn Journal,
    thread: &ThreadId,
    chain: &Chain,
    kind: Kind,
) -> Result<Option<Record>, JournalError> {
    let select = Select::all().on(chain.clone()).of(kind);
    let select = select.newest_first().limit(1);
    Ok(journal.read(thread, select).await?.pop())
}

/// What `select` asks for, page by page.
async fn read_all(
    journal: &dyn Journal,
    thread: &ThreadId,
    select: Select,
) -> Result<Vec<Record>, JournalError> {
    let mut after = select.after;
    let mut records = Vec::new();
    loop {
        let page = select.clone().after(after).limit(PAGE);
        let mut page = journal.read(thread, page).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map_or(after, |record| record.seq);
        records.append(&mut page);
        if is_last {
            return Ok(records);
        }
    }
}
