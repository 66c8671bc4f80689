//! Whether a backend does what a model does, operation by operation.
//!
//! A property test makes bytes; each few of them are an [`operation`](agree) on
//! three threads with few names, so that conflicts are frequent.

use std::{collections::BTreeMap, sync::Arc};

use rustagents_core::{
    code::{Code, Coded},
    digest::Digest,
    ids::{Branch, FactKey, MessageId, Namespace, RunId, ThreadId},
    journal::{
        Author, Batch, Chain, Claim, Compaction, Content, Entry, Epoch, Journal, JournalError,
        Owner, Place, Record, Select, Seq, ThreadImage, ThreadQuery, ThreadRow, kind,
    },
    message::Message,
};

/// How many bytes make an operation.
const WORD: usize = 4;

const THREADS: [&str; 3] = ["t", "T", "\u{e4}/.."];
const NAMESPACES: [&str; 3] = ["", "a:1.0", "a:1.0/b:2.0"];

/// Performs the operations that `bytes` stand for on `model` and on a backend
/// that `open` opens, now and again anew, and compares all that can be seen.
///
/// # Panics
/// Where the backend does something else.
pub async fn agree<J: Journal>(model: &dyn Journal, open: impl Fn() -> J, bytes: &[u8]) {
    let mut claims = Claims::default();
    let mut backend = open();
    for word in bytes.chunks_exact(WORD) {
        let [operation, name, first, second] = *word else {
            continue;
        };
        if operation % 16 == 15 {
            // As if the process had ended.
            claims.release_all();
            drop(backend);
            backend = open();
            continue;
        }
        let step = Step {
            operation: operation % 16,
            thread: thread(name),
            other: thread(name / 3),
            first,
            second,
            state: state(model).await,
        };
        let expected = step.perform(model, &mut claims, Side::Model).await;
        let found = step.perform(&backend, &mut claims, Side::Backend).await;
        assert_eq!(found, expected, "{step:?}");
        let (found, expected) = (state(&backend).await, state(model).await);
        assert!(
            found == expected,
            "{step:?}: {}",
            expected.difference(&found)
        );
    }
}

fn thread(number: u8) -> ThreadId {
    let name = THREADS
        .get(usize::from(number) % THREADS.len())
        .expect("in range");
    ThreadId::new(name).expect("a valid name")
}

fn message(number: u8, text: u8) -> Arc<Message> {
    let id = MessageId::numbered(u64::from(number % 4) + 1);
    let text = if text.is_multiple_of(8) {
        "other"
    } else {
        "hello"
    };
    Arc::new(Message::user(id, text))
}

fn content(number: u8) -> Content {
    let length = if number.is_multiple_of(2) { 10 } else { 20_000 };
    let bytes = vec![number % 4; length];
    Content {
        digest: Digest::of(&bytes),
        bytes,
    }
}

/// Everything that can be seen of a store, but for the clocks of whole threads.
#[derive(Clone, Debug, PartialEq)]
struct State(Vec<Seen>);

#[derive(Clone, Debug, PartialEq)]
struct Seen {
    thread: ThreadId,
    epoch: Epoch,
    last_seq: Seq,
    records: Vec<Record>,
    messages: Vec<Arc<Message>>,
    contents: Vec<Content>,
}

async fn state(journal: &dyn Journal) -> State {
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
    State(seen)
}

impl State {
    /// Where another state differs, in few words.
    fn difference(&self, found: &Self) -> String {
        let mut pairs = self.0.iter().zip(&found.0);
        let told = |seen: &Seen| {
            let Seen {
                thread,
                epoch,
                last_seq,
                ..
            } = seen;
            let (records, messages) = (seen.records.len(), seen.messages.len());
            let contents = seen.contents.len();
            format!(
                "{thread:?} at epoch {epoch} and place {last_seq} with {records} records, \
                 {messages} messages and {contents} contents"
            )
        };
        match pairs.find(|(expected, found)| expected != found) {
            Some((expected, found)) => format!("{}, not {}", told(expected), told(found)),
            None => format!("{} threads, not {}", self.0.len(), found.0.len()),
        }
    }

    fn of(&self, thread: &ThreadId) -> Option<&Seen> {
        self.0.iter().find(|seen| seen.thread == *thread)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Model,
    Backend,
}

/// The claims that are held on both sides.
#[derive(Default)]
struct Claims(BTreeMap<(Side, ThreadId), Claim>);

impl Claims {
    fn release_all(&mut self) {
        self.0.clear();
    }
}

struct Step {
    operation: u8,
    thread: ThreadId,
    other: ThreadId,
    first: u8,
    second: u8,
    /// What the model holds before.
    state: State,
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            operation,
            thread,
            other,
            first,
            second,
            ..
        } = self;
        write!(
            f,
            "operation {operation} of {first} and {second} on {thread:?} ({other:?})"
        )
    }
}

impl Step {
    async fn perform(
        &self,
        journal: &dyn Journal,
        claims: &mut Claims,
        side: Side,
    ) -> Result<Vec<u64>, Code> {
        let key = (side, self.thread.clone());
        let owner = Owner::default();
        let result = match self.operation {
            0 | 1 if claims.0.contains_key(&key) => Ok(vec![]),
            0 | 1 => match journal.claim(&self.thread, owner).await {
                Ok(claim) => Ok(vec![claims.hold(key, claim)]),
                Err(error) => Err(error),
            },
            2 => match journal.take_over(&self.thread, owner).await {
                Ok(claim) => Ok(vec![claims.hold(key, claim)]),
                Err(error) => Err(error),
            },
            3 => {
                claims.0.remove(&key);
                Ok(vec![])
            }
            4 => {
                let upto = self
                    .first
                    .is_multiple_of(2)
                    .then(|| u64::from(self.second % 8));
                let copied = journal.copy(&self.thread, &self.other, upto).await;
                copied.map(|()| vec![])
            }
            5 => self.install(journal).await,
            6 => {
                let removed = journal.remove(&self.thread, self.epoch()).await;
                if removed.is_ok() {
                    claims.0.remove(&key);
                }
                removed.map(|()| vec![])
            }
            7 => {
                let start = u64::from(self.first % 8);
                let range = start..=start + u64::from(self.second % 4);
                let compaction = Compaction {
                    batch: self.batch(),
                    drop: vec![range, 1..=u64::from(self.first % 3)],
                };
                journal.compact(compaction).await
            }
            _ => journal.append(self.batch()).await,
        };
        result.map_err(|error: JournalError| error.code())
    }

    async fn install(&self, journal: &dyn Journal) -> Result<Vec<u64>, JournalError> {
        let Some(seen) = self.state.of(&self.thread) else {
            return Ok(vec![]);
        };
        let mut records = seen.records.clone();
        if self.second.is_multiple_of(5) {
            records.reverse();
        }
        let image = ThreadImage {
            thread: self.other.clone(),
            epoch: seen.epoch,
            records,
            messages: seen.messages.clone(),
            contents: seen.contents.clone(),
        };
        journal.install(image).await.map(|()| vec![])
    }

    /// The thread's epoch, or now and then another one.
    fn epoch(&self) -> Epoch {
        let epoch = self.state.of(&self.thread).map_or(1, |seen| seen.epoch);
        match self.second % 8 {
            0 => epoch + 1,
            1 => epoch.saturating_sub(1),
            _ => epoch,
        }
    }

    fn author(&self) -> Author {
        match self.first % 8 {
            0 => Author::Outside,
            1 => Author::Late {
                epoch: self.epoch(),
                intent: FactKey::from(format!("k{}/intent/1", self.second % 5)),
            },
            _ => Author::Driver(self.epoch()),
        }
    }

    fn chain(number: u8) -> Chain {
        let namespace = NAMESPACES
            .get(usize::from(number) % NAMESPACES.len())
            .expect("in range");
        Chain {
            branch: if number.is_multiple_of(7) {
                Branch::from("other")
            } else {
                Branch::main()
            },
            namespace: Namespace::from(*namespace),
        }
    }

    /// Where the chain ends, or now and then something else.
    fn head(&self, chain: &Chain) -> Option<Seq> {
        if self.second % 16 == 9 {
            return Some(u64::from(self.first % 4));
        }
        let records = &self.state.of(&self.thread)?.records;
        let mut commits = records.iter().rev();
        commits
            .find(|record| record.place == Place::Commit && record.chain == *chain)
            .map(|record| record.seq)
    }

    /// A batch of one to three entries, some with messages and contents.
    fn batch(&self) -> Batch {
        let mut batch = Batch {
            thread: self.thread.clone(),
            author: self.author(),
            heads: vec![],
            entries: vec![],
            messages: vec![],
            contents: vec![],
            at_ms: u64::from(self.second),
        };
        for number in 0..=self.first % 3 {
            let shape = self
                .second
                .wrapping_mul(number + 3)
                .wrapping_add(self.operation);
            let chain = Self::chain(shape / 2);
            let place = if shape.is_multiple_of(2) {
                if batch.heads.iter().all(|(known, _)| *known != chain) {
                    batch.heads.push((chain.clone(), self.head(&chain)));
                }
                Place::Commit
            } else {
                let ends = ["", "/intent/1", "/result"];
                let end = ends.get(usize::from(shape / 2 % 3)).expect("in range");
                Place::Fact(FactKey::from(format!("k{}{end}", shape % 5)))
            };
            batch.entries.push(self.entry(chain, place, shape));
            if shape.is_multiple_of(3) {
                batch.messages.push(message(shape, self.first));
            }
            if shape.is_multiple_of(4) {
                batch.contents.push(content(shape));
            }
        }
        if matches!(batch.author, Author::Late { .. }) && !self.second.is_multiple_of(4) {
            self.only_ends_its_intent(&mut batch);
        }
        batch
    }

    /// What a late driver may write, if the intent is there, on this chain.
    fn only_ends_its_intent(&self, batch: &mut Batch) {
        let place = Place::Fact(FactKey::from(format!("k{}/result", self.second % 5)));
        let mut entry = self.entry(Self::chain(self.first), place, self.second);
        entry.kind = kind::RESULT;
        batch.entries = vec![entry];
        batch.heads.clear();
        batch.messages.clear();
        batch.contents.truncate(1);
    }

    /// An entry whose body mentions a message and a content.
    fn entry(&self, chain: Chain, place: Place, shape: u8) -> Entry {
        let (message, digest) = (shape % 4 + 1, content(shape).digest);
        let padding = if shape.is_multiple_of(11) { 17_000 } else { 3 };
        let padding = "\u{0}\u{e4}\"".repeat(padding);
        let body = serde_json::json!({
            "message": format!("m-{message}"),
            "nested": [format!("see {digest}.")],
            "padding": padding,
        });
        let is_intent = matches!(&place, Place::Fact(key) if key.as_str().ends_with("/intent/1"));
        Entry {
            chain,
            place,
            kind: if is_intent {
                kind::INTENT
            } else {
                kind::CHECKPOINT
            },
            run: RunId::from(format!("r{}", self.first % 2)),
            attempt: u32::from(self.second % 3),
            effect: None,
            digest: shape.is_multiple_of(2).then_some(digest),
            body: body.to_string(),
        }
    }
}

impl Claims {
    fn hold(&mut self, key: (Side, ThreadId), claim: Claim) -> Epoch {
        let epoch = claim.epoch;
        self.0.insert(key, claim);
        epoch
    }
}
