//! The journal: the durable log of each thread, and the contract of its backends.
//!
//! Two kinds of record. A *commit* extends a chain and names the head that it
//! extends. A *fact* moves no head; it hangs on a task, a call or an ask under a
//! key that is unique in its branch: the first wins. A [`Batch`] is atomic and
//! may mix both. [`Seq`], given by the backend when it commits, is the only
//! order within a thread.
//!
//! A backend passes the contract suite of `rustagents-testkit`.

mod answer;
mod image;
mod late;
pub mod mention;
mod select;

use std::{borrow::Cow, collections::BTreeSet, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    BoxFuture,
    code::{Class, Code, Coded},
    digest::Digest,
    ids::{AskId, Branch, FactKey, Namespace, RunId, ThreadId},
    message::Message,
    tool::EffectClass,
};

pub use image::{Compaction, Family, MAX_SEQ, ThreadImage};
pub use select::{Select, ThreadQuery, ThreadRow};

/// The version of the journal format that this build writes.
pub const FORMAT: u32 = 1;

/// The most bytes of bodies, messages and contents in one batch.
pub const MAX_BATCH_BYTES: usize = 8 << 20;

/// The place of a record in its thread, from 1. Places are given without gaps; only a
/// compaction leaves some.
pub type Seq = u64;

/// How often a thread was claimed. A driver's writes carry the epoch of its claim.
pub type Epoch = u64;

/// The stable name and version of a persisted record body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The name, never reused for anything else.
    pub name: &'static str,
    /// The version of the body.
    pub version: u16,
}

impl Kind {
    /// The kind in an earlier version, for a body that needs nothing of the later ones.
    #[must_use]
    pub const fn at(self, version: u16) -> Self {
        Self { version, ..self }
    }
}

/// The record kinds of format 1. A reader meets unknown kinds with a typed error
/// only where it needs them.
pub mod kind {
    use super::Kind;

    /// A run was opened on an input.
    pub const RUN_OPENED: Kind = Kind {
        name: "run.opened",
        version: 1,
    };
    /// A driver began a try at the open run.
    pub const RUN_ATTEMPT: Kind = Kind {
        name: "run.attempt",
        version: 1,
    };
    /// The run waits for people.
    pub const RUN_SUSPENDED: Kind = Kind {
        name: "run.suspended",
        version: 1,
    };
    /// The run ended.
    pub const RUN_CLOSED: Kind = Kind {
        name: "run.closed",
        version: 1,
    };
    /// A superstep is done. Written as version 1 where it names neither migrations nor
    /// calls whose state is kept.
    pub const CHECKPOINT: Kind = Kind {
        name: "graph.checkpoint",
        version: 2,
    };
    /// The whole state of a chain at one of its checkpoints. Written as version 1
    /// where it names neither migrations nor calls whose state is kept.
    pub const SNAPSHOT: Kind = Kind {
        name: "graph.snapshot",
        version: 2,
    };
    /// A finished task's write, kept while its siblings work.
    pub const TASK_WRITE: Kind = Kind {
        name: "graph.write",
        version: 1,
    };
    /// A try of a task failed, and another one follows.
    pub const FAILED_TRY: Kind = Kind {
        name: "graph.try",
        version: 1,
    };
    /// An agent moved to another phase.
    pub const TRANSITION: Kind = Kind {
        name: "agent.transition",
        version: 1,
    };
    /// An effect is about to start.
    pub const INTENT: Kind = Kind {
        name: "effect.intent",
        version: 1,
    };
    /// An effect started something that may outlive its process.
    pub const STARTED: Kind = Kind {
        name: "effect.started",
        version: 1,
    };
    /// An effect ended. Written as version 2 where it is a model call that tells of the
    /// messages that its agent was given, and as version 1 otherwise.
    pub const RESULT: Kind = Kind {
        name: "effect.result",
        version: 2,
    };
    /// A step inside a task that must not run twice is about to start.
    pub const STEP_INTENT: Kind = Kind {
        name: "step.intent",
        version: 1,
    };
    /// A step inside a task that must not run twice provably did nothing.
    pub const STEP_RELEASED: Kind = Kind {
        name: "step.released",
        version: 1,
    };
    /// A step inside a task has its result.
    pub const STEP_RESULT: Kind = Kind {
        name: "step.result",
        version: 1,
    };
    /// A question to a person. Since version 2 it may be about a step.
    pub const ASK: Kind = Kind {
        name: "ask.raised",
        version: 2,
    };
    /// A person's answer. Since version 2 it may say that there is none.
    pub const ANSWER: Kind = Kind {
        name: "ask.answered",
        version: 2,
    };
    /// Somebody asks the run's driver to give the run up.
    pub const CANCEL: Kind = Kind {
        name: "run.cancel",
        version: 1,
    };
    /// An input that waits until its thread takes it.
    pub const ITEM: Kind = Kind {
        name: "inbox.item",
        version: 1,
    };
    /// An input that waited is taken, or withdrawn.
    pub const TAKEN: Kind = Kind {
        name: "inbox.taken",
        version: 1,
    };

    /// All of them.
    pub const ALL: [Kind; 20] = [
        RUN_OPENED,
        RUN_ATTEMPT,
        RUN_SUSPENDED,
        RUN_CLOSED,
        CHECKPOINT,
        SNAPSHOT,
        TASK_WRITE,
        FAILED_TRY,
        TRANSITION,
        INTENT,
        STARTED,
        RESULT,
        STEP_INTENT,
        STEP_RELEASED,
        STEP_RESULT,
        ASK,
        ANSWER,
        CANCEL,
        ITEM,
        TAKEN,
    ];
}

/// A chain of commits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chain {
    /// The branch of the thread.
    pub branch: Branch,
    /// Where in the run tree.
    pub namespace: Namespace,
}

/// Whether an entry extends its chain, or hangs on it under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// It extends the chain.
    Commit,
    /// It moves no head. The key is unique in the branch.
    Fact(FactKey),
}

/// A record before the backend placed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its chain.
    pub chain: Chain,
    /// Commit or fact.
    pub place: Place,
    /// The stable kind.
    pub kind: Kind,
    /// The run that it belongs to.
    pub run: RunId,
    /// The attempt that wrote it.
    pub attempt: u32,
    /// For effects: the class.
    pub effect: Option<EffectClass>,
    /// For effects and asks: the digest of the canonical input.
    pub digest: Option<Digest>,
    /// UTF-8 JSON.
    pub body: String,
}

/// Bytes that are stored once in a thread family, by their digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The digest of the bytes.
    pub digest: Digest,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Who writes a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// The claimed driver of this epoch.
    Driver(Epoch),
    /// A driver that lost its claim while an effect was in flight, and now knows
    /// how the effect ended. It writes one fact, the end of the intent that it names
    /// and that is its own, on the chain of that; with its message, whose id has no
    /// number, and its content. Nothing else.
    Late {
        /// The epoch of the claim that it lost.
        epoch: Epoch,
        /// The key of the intent that it recorded under that claim.
        intent: FactKey,
    },
    /// Somebody else: facts only, such as a person's answer. An answer is to a question
    /// of its own run.
    Outside,
}

/// What is written together: all of it or nothing.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The thread, which was claimed at least once.
    pub thread: ThreadId,
    /// Who writes.
    pub author: Author,
    /// The head that each chain with commits must have now.
    pub heads: Vec<(Chain, Option<Seq>)>,
    /// The records, in order.
    pub entries: Vec<Entry>,
    /// New messages. One that is there already must be the same.
    pub messages: Vec<Arc<Message>>,
    /// New contents. One that is there already is not written again.
    pub contents: Vec<Content>,
    /// The writer's clock, for people.
    pub at_ms: u64,
}

impl Batch {
    /// Checks what needs no look at the store.
    ///
    /// # Errors
    /// [`JournalError::Malformed`] or [`JournalError::TooLarge`].
    pub fn check(&self) -> Result<(), JournalError> {
        let commits = |chain: &Chain| {
            self.entries
                .iter()
                .any(|entry| entry.place == Place::Commit && entry.chain == *chain)
        };
        let headless = self.entries.iter().any(|entry| {
            entry.place == Place::Commit
                && !self.heads.iter().any(|(chain, _)| *chain == entry.chain)
        });
        if headless || self.heads.iter().any(|(chain, _)| !commits(chain)) {
            return Err(JournalError::Malformed {
                rule: "each chain with commits names its head once",
            });
        }
        if !matches!(self.author, Author::Driver(_)) && !self.heads.is_empty() {
            return Err(JournalError::Malformed {
                rule: "only a driver commits",
            });
        }
        self.check_late()?;
        if self.at_ms > image::MAX_NUMBER {
            return Err(JournalError::Malformed {
                rule: "times are numbers up to 2^53",
            });
        }
        image::check_digests(&self.contents)?;
        if self.names_a_key_twice() {
            return Err(JournalError::Malformed {
                rule: "a batch names a key once",
            });
        }
        check_bytes(self.bytes())
    }
}

/// Says whether so many bytes fit into one batch.
pub(crate) fn check_bytes(bytes: usize) -> Result<(), JournalError> {
    if bytes <= MAX_BATCH_BYTES {
        return Ok(());
    }
    Err(JournalError::TooLarge {
        what: "batch",
        bytes,
        limit: MAX_BATCH_BYTES,
    })
}

/// The bytes of bodies, messages and contents.
pub(crate) fn bytes_of(
    bodies: impl Iterator<Item = usize>,
    messages: &[Arc<Message>],
    contents: &[Content],
) -> usize {
    let contents = contents.iter().map(|content| content.bytes.len());
    let messages = messages.iter().map(|message| message.text_bytes());
    bodies.sum::<usize>() + contents.sum::<usize>() + messages.sum::<usize>()
}

impl Batch {
    /// The bytes of its bodies, messages and contents.
    pub fn bytes(&self) -> usize {
        let bodies = self.entries.iter().map(|entry| entry.body.len());
        bytes_of(bodies, &self.messages, &self.contents)
    }

    /// Adds what `later` writes, but not its heads.
    pub(crate) fn extend(&mut self, later: Self) {
        self.entries.extend(later.entries);
        self.messages.extend(later.messages);
        self.contents.extend(later.contents);
        self.at_ms = later.at_ms;
    }

    fn names_a_key_twice(&self) -> bool {
        let facts = || {
            self.entries.iter().filter_map(|entry| match &entry.place {
                Place::Fact(key) => Some((&entry.chain.branch, key)),
                Place::Commit => None,
            })
        };
        // Nearly every batch has a handful of facts; a set would cost more.
        if self.entries.len() <= 16 {
            return facts()
                .enumerate()
                .any(|(at, fact)| facts().take(at).any(|other| other == fact));
        }
        let mut keys = BTreeSet::new();
        !facts().all(|fact| keys.insert(fact))
    }
}

/// A record as the backend placed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its place in the thread.
    pub seq: Seq,
    /// Its chain.
    pub chain: Chain,
    /// Commit or fact.
    pub place: Place,
    /// The stable kind's name.
    pub kind: Cow<'static, str>,
    /// The version of the body.
    pub version: u16,
    /// The run that it belongs to.
    pub run: RunId,
    /// The attempt that wrote it.
    pub attempt: u32,
    /// The epoch of its driver; the thread's epoch for outsiders.
    pub epoch: Epoch,
    /// The writer's clock.
    pub at_ms: u64,
    /// For effects: the class.
    pub effect: Option<EffectClass>,
    /// For effects and asks: the digest of the canonical input.
    pub digest: Option<Digest>,
    /// UTF-8 JSON.
    pub body: String,
}

impl Record {
    /// Whether this is a record of `kind`, in any version.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind == kind.name
    }

    /// Decodes the body as version `kind.version` of `kind`.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`], or [`JournalError::Newer`] for a later version.
    pub fn decode<T: serde::de::DeserializeOwned>(&self, kind: Kind) -> Result<T, JournalError> {
        if self.version > kind.version {
            return Err(JournalError::Newer {
                what: self.kind.clone().into_owned(),
                found: self.version.into(),
                supported: kind.version.into(),
            });
        }
        serde_json::from_str(&self.body).map_err(|error| JournalError::Corrupt {
            place: format!("record {} ({})", self.seq, self.kind),
            reason: error.to_string(),
        })
    }

    /// The key of a fact.
    pub fn key(&self) -> Option<&FactKey> {
        match &self.place {
            Place::Fact(key) => Some(key),
            Place::Commit => None,
        }
    }
}

/// Who drives a thread, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The process.
    pub process: u32,
    /// When it claimed the thread, in milliseconds since the Unix epoch.
    pub since_ms: u64,
}

/// The right to drive a thread. Dropping it lets the thread go.
pub struct Claim {
    /// The epoch that each write must carry.
    pub epoch: Epoch,
    _guard: Box<dyn Send + Sync>,
}

impl Claim {
    /// A claim that lasts as long as `guard`.
    pub fn new(epoch: Epoch, guard: impl Send + Sync + 'static) -> Self {
        Self {
            epoch,
            _guard: Box::new(guard),
        }
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim")
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

/// A message with its place among the thread family's messages.
pub type PlacedMessage = (u64, Arc<Message>);

/// A durable log of threads.
///
/// Cancellation: a write that was handed over runs to its end, whoever waits for
/// it: [`append`](Journal::append), [`copy`](Journal::copy),
/// [`install`](Journal::install), [`compact`](Journal::compact) and
/// [`remove`](Journal::remove). Each is atomic. Reads may be dropped at any time, and
/// so may [`discard`](Journal::discard): the thread is gone then, or it is there.
pub trait Journal: Send + Sync {
    /// Claims a thread, making it if it is new, and durably counts its epoch up.
    ///
    /// A living owner is waited for, one second at the most.
    fn claim<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>>;

    /// Claims a thread whoever drives it. The driver that was there is fenced: it
    /// can write nothing more, but as [`Author::Late`].
    fn take_over<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<Claim, JournalError>>;

    /// Who drives the thread right now.
    fn owner<'a>(
        &'a self,
        thread: &'a ThreadId,
    ) -> BoxFuture<'a, Result<Option<Owner>, JournalError>>;

    /// Writes a batch durably and says where its entries came to stand.
    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<Vec<Seq>, JournalError>>;

    /// The records of a thread that `select` asks for; none of an unknown thread.
    fn read<'a>(
        &'a self,
        thread: &'a ThreadId,
        select: Select,
    ) -> BoxFuture<'a, Result<Vec<Record>, JournalError>>;

    /// Waits until the thread has a record after the place `after`, and says where
    /// its last one stands. The thread may still have to be made.
    fn changed<'a>(
        &'a self,
        thread: &'a ThreadId,
        after: Seq,
    ) -> BoxFuture<'a, Result<Seq, JournalError>>;

    /// Up to `limit` messages of the thread after place `after`, in order.
    fn messages<'a>(
        &'a self,
        thread: &'a ThreadId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<PlacedMessage>, JournalError>>;

    /// The threads that `query` asks for, by name.
    fn threads(&self, query: ThreadQuery) -> BoxFuture<'_, Result<Vec<ThreadRow>, JournalError>>;

    /// A content of the thread's family.
    fn content<'a>(
        &'a self,
        thread: &'a ThreadId,
        digest: Digest,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, JournalError>>;

    /// Makes the thread `to` of the records of `from`: all of them, or those up to
    /// the place `upto`. Both are one family then, and share their contents. The
    /// copy has all messages, and no owner. Its epoch is the same, or a higher one
    /// where threads were removed: see [`remove`](Journal::remove).
    ///
    /// [`JournalError::UnknownThread`] and [`JournalError::ThreadExists`] refuse it.
    fn copy<'a>(
        &'a self,
        from: &'a ThreadId,
        to: &'a ThreadId,
        upto: Option<Seq>,
    ) -> BoxFuture<'a, Result<(), JournalError>>;

    /// Makes a thread that looks like `image`, in a family of its own or in the one that
    /// it [joins](ThreadImage::family). Its epoch may be higher, as that of a
    /// [`copy`](Journal::copy).
    ///
    /// [`JournalError::ThreadExists`] refuses it, and [`JournalError::Malformed`]
    /// an image whose records are not in order. [`JournalError::UnknownThread`] refuses
    /// one whose family is gone, and [`JournalError::ContentGone`] one whose family has
    /// not all that is to be shared: what is there stays there then, until nobody
    /// mentions it.
    fn install(&self, image: ThreadImage) -> BoxFuture<'_, Result<(), JournalError>>;

    /// Writes the batch, takes the records out, and then removes the messages and
    /// contents that no record of the thread, or of its family, mentions any more.
    fn compact(&self, compaction: Compaction) -> BoxFuture<'_, Result<Vec<Seq>, JournalError>>;

    /// Removes a thread, by its driver of this epoch. A thread that is made under
    /// the same name later has higher epochs from the first moment, however it is
    /// made, so that nothing written to the old one can reach it. A backend remembers
    /// the highest epoch of each name, or that of all removed threads.
    fn remove<'a>(
        &'a self,
        thread: &'a ThreadId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), JournalError>>;

    /// Removes a thread that nobody drives, unread: also one that is damaged so that
    /// it cannot be claimed.
    fn discard<'a>(
        &'a self,
        thread: &'a ThreadId,
        owner: Owner,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(async move {
            let claim = self.claim(thread, owner).await?;
            self.remove(thread, claim.epoch).await
        })
    }
}

/// Why the journal did not do what was asked. Nothing was written then.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Another process, or another run in this one, drives the thread.
    #[error("thread `{thread}` is driven by process {}", owner.process)]
    Busy {
        /// The thread.
        thread: ThreadId,
        /// Who drives it.
        owner: Owner,
    },
    /// A later claim took the thread over.
    #[error("thread `{thread}` was taken over: it is at epoch {current}, this driver's is {own}")]
    Fenced {
        /// The thread.
        thread: ThreadId,
        /// The writer's epoch.
        own: Epoch,
        /// The thread's epoch.
        current: Epoch,
    },
    /// The chain does not end where the writer thought.
    #[error("chain `{}` of thread `{thread}` ends at {found:?}, not at {expected:?}", chain.namespace)]
    HeadMoved {
        /// The thread.
        thread: ThreadId,
        /// The chain.
        chain: Chain,
        /// Where the writer thought that it ends.
        expected: Option<Seq>,
        /// Where it ends.
        found: Option<Seq>,
    },
    /// The fact's key is taken.
    #[error("`{}` is already recorded", existing.key().map_or("", FactKey::as_str))]
    AlreadyRecorded {
        /// The fact that was first.
        existing: Box<Record>,
    },
    /// There is no such thread.
    #[error("there is no thread `{thread}`")]
    UnknownThread {
        /// The thread.
        thread: ThreadId,
    },
    /// The run of an answer has no such question in this thread: it is another thread
    /// by now, say.
    #[error("thread `{thread}` has no question `{ask}` of the run that was answered")]
    QuestionGone {
        /// The thread.
        thread: ThreadId,
        /// The question.
        ask: AskId,
    },
    /// There is a thread of that name already.
    #[error("there is a thread `{thread}` already")]
    ThreadExists {
        /// The thread.
        thread: ThreadId,
    },
    /// The thread's family has no such content, or not any more.
    #[error("the family of thread `{thread}` has no content {digest}")]
    ContentGone {
        /// The thread.
        thread: ThreadId,
        /// The content.
        digest: Digest,
    },
    /// Something is over a limit.
    #[error("a {what} of {bytes} bytes is over the limit of {limit}")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A body has more lists and objects around one another than may be.
    #[error("a record would be nested deeper than {limit}")]
    TooDeep {
        /// How many there may be.
        limit: u8,
    },
    /// The batch breaks a rule of the contract.
    #[error("the batch breaks a rule: {rule}")]
    Malformed {
        /// The rule.
        rule: &'static str,
    },
    /// A write that was not waited for failed, and so did all behind it.
    #[error(
        "{error}; {} is durable",
        checkpoint.map_or_else(
            || "nothing of this attempt".to_owned(),
            |checkpoint| format!("what was recorded up to checkpoint {checkpoint}"),
        )
    )]
    Behind {
        /// The last checkpoint of the attempt that is durable.
        checkpoint: Option<u64>,
        /// Why the write failed.
        #[source]
        error: Box<JournalError>,
    },
    /// A body cannot be encoded.
    #[error("a record cannot be encoded: {reason}")]
    Encode {
        /// What the encoder says.
        reason: String,
    },
    /// Something stored cannot be read.
    #[error("{place} cannot be read: {reason}")]
    Corrupt {
        /// Where.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// Something was written by a newer version.
    #[error("{what} has format {found}, this program reads up to {supported}")]
    Newer {
        /// What it is.
        what: String,
        /// Its version.
        found: u32,
        /// The newest version that is understood.
        supported: u32,
    },
    /// The file is something else.
    #[error("`{path}` is not a RustAgents store: {reason}")]
    Foreign {
        /// The file.
        path: String,
        /// What shows it.
        reason: String,
    },
    /// The backend cannot work.
    #[error("the store `{store}` cannot be used: {reason}")]
    Unavailable {
        /// The store.
        store: String,
        /// What the backend says.
        reason: String,
    },
}

impl Coded for JournalError {
    fn code(&self) -> Code {
        match self {
            Self::Busy { .. } => Code::Busy,
            Self::Fenced { .. } => Code::Fenced,
            Self::HeadMoved { .. } => Code::HeadMoved,
            Self::AlreadyRecorded { .. } => Code::AlreadyRecorded,
            Self::UnknownThread { .. } => Code::UnknownThread,
            Self::QuestionGone { .. } => Code::UnknownAsk,
            Self::ThreadExists { .. } => Code::ThreadExists,
            Self::ContentGone { .. } => Code::ContentGone,
            Self::Behind { error, .. } => error.code(),
            Self::TooLarge { .. } | Self::TooDeep { .. } => Code::TooLarge,
            Self::Malformed { .. } | Self::Encode { .. } => Code::Internal,
            Self::Corrupt { .. } => Code::StoreCorrupt,
            Self::Newer { .. } => Code::StoreNewer,
            Self::Foreign { .. } => Code::StoreForeign,
            Self::Unavailable { .. } => Code::StoreUnavailable,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Busy { .. } => Some("try again when it is done".into()),
            Self::Fenced { .. } => Some(
                "nothing more of this run was recorded here; its present driver goes on with it"
                    .into(),
            ),
            Self::QuestionGone { .. } => Some(
                "nothing was recorded; resume the thread without answers, and see what is asked"
                    .into(),
            ),
            Self::ThreadExists { .. } => Some("choose another name, or delete that one".into()),
            Self::ContentGone { .. } => Some("read the thread again, and try again".into()),
            Self::Behind { error, .. } => error.hint(),
            Self::Newer { .. } => {
                Some("use the version of `rag` that wrote it, or a newer one".into())
            }
            Self::TooDeep { .. } => Some("nest values less deep, 64 at most".into()),
            Self::Foreign { .. } => Some("name another place with `--store`".into()),
            _ => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Busy { .. }
            | Self::HeadMoved { .. }
            | Self::ContentGone { .. }
            | Self::Unavailable { .. } => Class::Retryable,
            Self::Behind { error, .. } => error.class(),
            Self::Malformed { .. } | Self::Encode { .. } => Class::Bug,
            _ => Class::Caller,
        }
    }
}
