//! One operation, and what is asked for in it.

use std::{fmt, sync::Arc};

use rustagents_core::{
    code::{Code, Coded},
    digest::Digest,
    ids::{Branch, FactKey, MessageId, Namespace, RunId, ThreadId},
    journal::{
        Author, Batch, Chain, Claim, Compaction, Content, Entry, Epoch, Family, Journal,
        JournalError, Owner, Place, Seq, ThreadImage, kind,
    },
    message::Message,
};

use super::{Side, state::State};

const THREADS: [&str; 3] = ["t", "T", "\u{e4}/.."];
const NAMESPACES: [&str; 3] = ["", "a:1.0", "a:1.0/b:2.0"];

/// An epoch that no thread comes to.
const NEVER: Epoch = 1 << 40;

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

pub(super) fn content(number: u8) -> Content {
    let length = if number.is_multiple_of(2) { 10 } else { 20_000 };
    let bytes = vec![number % 4; length];
    Content {
        digest: Digest::of(&bytes),
        bytes,
    }
}

/// What came of a step.
pub(super) enum Did {
    /// The thread is at this epoch now.
    Claimed(Epoch),
    /// Records came to stand at these places.
    Placed(Vec<Seq>),
    /// The other thread was made of this one.
    Made,
    /// The thread is gone.
    Removed,
    /// Nothing was written.
    Nothing,
}

pub(super) struct Step {
    operation: u8,
    pub(super) thread: ThreadId,
    pub(super) other: ThreadId,
    first: u8,
    second: u8,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            operation,
            thread,
            other,
            first,
            second,
        } = self;
        write!(
            f,
            "operation {operation} of {first} and {second} on {thread:?} ({other:?})"
        )
    }
}

impl Step {
    pub(super) fn new(operation: u8, names: u8, first: u8, second: u8) -> Self {
        Self {
            operation,
            thread: thread(names),
            other: thread(names / 3),
            first,
            second,
        }
    }

    pub(super) async fn perform(
        &self,
        journal: &dyn Journal,
        side: &mut Side,
    ) -> Result<Did, JournalError> {
        let owner = Owner::default();
        let is_held = side.claims.contains_key(&self.thread);
        match self.operation {
            0 | 1 if is_held => Ok(Did::Nothing),
            0 | 1 => Ok(self.hold(side, journal.claim(&self.thread, owner).await?)),
            2 => Ok(self.hold(side, journal.take_over(&self.thread, owner).await?)),
            3 => {
                side.claims.remove(&self.thread);
                Ok(Did::Nothing)
            }
            4 => self.copy(journal).await,
            5 => self.install(journal, &side.state).await,
            6 => {
                let epoch = self.epoch(&side.state);
                journal.remove(&self.thread, epoch).await?;
                side.claims.remove(&self.thread);
                Ok(Did::Removed)
            }
            7 => {
                let start = u64::from(self.first % 8);
                let range = start..=start + u64::from(self.second % 4);
                let compaction = Compaction {
                    batch: self.batch(&side.state),
                    drop: vec![range, 1..=u64::from(self.first % 3)],
                };
                journal.compact(compaction).await.map(Did::Placed)
            }
            8 if !is_held => {
                journal.discard(&self.thread, owner).await?;
                Ok(Did::Removed)
            }
            _ => {
                let placed = journal.append(self.batch(&side.state)).await;
                placed.map(Did::Placed)
            }
        }
    }

    fn hold(&self, side: &mut Side, claim: Claim) -> Did {
        let epoch = claim.epoch;
        side.claims.insert(self.thread.clone(), claim);
        Did::Claimed(epoch)
    }

    async fn copy(&self, journal: &dyn Journal) -> Result<Did, JournalError> {
        let upto = self.first.is_multiple_of(2);
        let upto = upto.then(|| u64::from(self.second % 8));
        journal.copy(&self.thread, &self.other, upto).await?;
        Ok(Did::Made)
    }

    async fn install(&self, journal: &dyn Journal, state: &State) -> Result<Did, JournalError> {
        let Some(seen) = state.of_thread(&self.thread) else {
            return Ok(Did::Nothing);
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
            family: None,
        };
        let image = self.joined(image);
        journal.install(image).await.map(|()| Did::Made)
    }

    /// The image, or in two of three cases one that joins the family of its source: its
    /// contents stay there, and now and then one is asked for that may not be there.
    fn joined(&self, mut image: ThreadImage) -> ThreadImage {
        let asked = match self.first % 3 {
            0 => return image,
            1 => None,
            _ => Some(content(self.second).digest),
        };
        let contents = std::mem::take(&mut image.contents).into_iter();
        let shared = contents.map(|content| content.digest);
        image.family = Some(Family {
            of: self.thread.clone(),
            shared: shared.chain(asked).collect(),
        });
        image
    }

    /// What can be compared of what came of it.
    pub(super) fn told(&self, did: Result<Did, JournalError>) -> Result<Vec<Seq>, Code> {
        let appends = self.operation >= 7;
        match did {
            Ok(Did::Placed(seqs)) => Ok(seqs),
            Ok(_) => Ok(vec![]),
            // Which of the two it is says whether the epoch of a late driver happens to
            // be the thread's.
            Err(JournalError::Malformed { .. }) if appends && self.is_late() => Err(Code::Fenced),
            Err(error) => Err(error.code()),
        }
    }

    /// The thread's epoch, or now and then another one.
    fn epoch(&self, state: &State) -> Epoch {
        let epoch = state.of_thread(&self.thread).map_or(1, |seen| seen.epoch);
        match self.second % 8 {
            0 => epoch + 1,
            1 => epoch.saturating_sub(1),
            _ => epoch,
        }
    }

    fn is_late(&self) -> bool {
        self.first % 8 == 1
    }

    fn author(&self, state: &State) -> Author {
        match self.first % 8 {
            0 => Author::Outside,
            1 => self.late(state),
            _ => Author::Driver(self.epoch(state)),
        }
    }

    /// The driver that recorded an intent, if it is there, or now and then another one.
    fn late(&self, state: &State) -> Author {
        let intent = FactKey::from(format!("k{}/intent/1", self.second % 5));
        let records = state.of_thread(&self.thread).map(|seen| &seen.records);
        let mut records = records.into_iter().flatten();
        let branch = Self::chain(self.first).branch;
        let own =
            records.find(|record| record.chain.branch == branch && record.key() == Some(&intent));
        let epoch = match own {
            Some(own) if !self.second.is_multiple_of(8) => own.epoch,
            _ => NEVER,
        };
        Author::Late { epoch, intent }
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
    fn head(&self, state: &State, chain: &Chain) -> Option<Seq> {
        if self.second % 16 == 9 {
            return Some(u64::from(self.first % 4));
        }
        let records = &state.of_thread(&self.thread)?.records;
        let mut commits = records.iter().rev();
        commits
            .find(|record| record.place == Place::Commit && record.chain == *chain)
            .map(|record| record.seq)
    }

    /// A batch of one to three entries, some with messages and contents.
    fn batch(&self, state: &State) -> Batch {
        let mut batch = Batch {
            thread: self.thread.clone(),
            author: self.author(state),
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
                    batch.heads.push((chain.clone(), self.head(state, &chain)));
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
