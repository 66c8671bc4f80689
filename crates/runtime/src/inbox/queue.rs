//! Inputs that wait until a thread takes them.
//!
//! An input is a fact from outside. The batch that opens its run holds another one,
//! which says that it was taken: so it is opened once, whatever dies when.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures::future::select;
use rustagents_core::{
    budget::Limits,
    ids::{FactKey, RunId, ThreadId},
    journal::{Epoch, Journal, JournalError, Record, Select, Seq, kind},
    recorder::Durability,
    scope::Write,
};
use rustagents_graph::record::Checkpoint;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Outside, root};
use crate::{
    program::Program,
    record::{RunClosed, RunOpened, Target},
    report::Report,
    runs::{RunError, Runtime, Start, Watch, check_input},
    threads::{self, Rewind, opened_at},
    view::{Phase, ThreadView},
};

/// How many records are read at a time.
const PAGE: usize = 1_000;

/// The most inputs that wait for one thread.
const MAX_WAITING: usize = 1_000;

/// Between two looks at a thread that is driven, at least and at the most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// What is done with the run that a new input finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBusy {
    /// It goes on, and the input waits behind those that wait already.
    Enqueue,
    /// It is given up, and the input is next.
    Interrupt,
    /// It is given up, the thread goes back to where it stood before its input, and
    /// the new input is next.
    Rollback,
}

/// The body of the record of an input that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemBody {
    /// Where the plan comes from.
    pub target: Target,
    /// What its run may consume.
    pub limits: Limits,
    /// The user's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Values for channels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(String, Value)>,
    /// Whether it goes before those that do not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ahead: bool,
    /// The run whose input it takes the place of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<RunId>,
}

/// The body of the record that takes an input out of the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenBody {
    /// The run that was opened on it; `None` where it was withdrawn.
    pub run: Option<RunId>,
}

/// An input that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedInput {
    /// Its name.
    pub id: String,
    /// When it was queued, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// What is recorded of it.
    pub body: ItemBody,
    seq: Seq,
}

/// What an input has come to that waited for its thread.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Turn {
    /// Nobody drives the thread, and its last run is over. This input is next; it may
    /// be another one.
    Ready(Box<QueuedInput>),
    /// Somebody else opened a run on it, which came to this.
    Taken(Box<Report>),
    /// Somebody withdrew it.
    Withdrawn,
    /// The last run of the thread waits for people.
    Waits(Box<Report>),
    /// The last run of the thread did not end, and nobody drives it.
    Unfinished {
        /// Whether a file holds its plan.
        has_plan: bool,
    },
}

/// The inputs that wait for a thread, in the order in which they are taken.
///
/// # Errors
/// Whatever the journal says; an unknown thread has none.
pub async fn queue(
    journal: &dyn Journal,
    thread: &ThreadId,
) -> Result<Vec<QueuedInput>, JournalError> {
    let (mut items, mut taken) = (BTreeMap::new(), BTreeSet::new());
    let mut after = none_up_to(journal, thread).await?;
    loop {
        let select = Select::all().on(root()).of(kind::ITEM).of(kind::TAKEN);
        let page = journal.read(thread, select.after(after).limit(PAGE));
        let page = page.await?;
        for record in &page {
            after = record.seq;
            let id = item_of(record);
            if record.is(kind::TAKEN) {
                taken.insert(id.to_owned());
            } else {
                items.insert(record.seq, queued(record, id)?);
            }
        }
        if page.len() < PAGE {
            break;
        }
    }
    let waits = |item: &QueuedInput| !taken.contains(&item.id);
    let mut items: Vec<_> = items.into_values().filter(waits).collect();
    items.sort_by_key(|item| (!item.body.ahead, item.seq));
    Ok(items)
}

/// The place up to which no input waits, as the opening of the last run says: so a look
/// costs what came since, however long the thread is.
async fn none_up_to(journal: &dyn Journal, thread: &ThreadId) -> Result<Seq, JournalError> {
    let last = Select::all().on(root()).of(kind::RUN_OPENED);
    let last = journal.read(thread, last.newest_first().limit(1)).await?;
    let opened = last.first();
    let opened = opened.map(|record| record.decode::<RunOpened>(kind::RUN_OPENED));
    Ok(opened.transpose()?.map_or(0, |opened| opened.queue_after))
}

/// What waits for a thread on which a run is about to be opened.
pub(crate) struct Waiting {
    items: Vec<QueuedInput>,
    /// The last place that was looked at for sure.
    last: Seq,
}

impl Waiting {
    /// What waits for a thread whose records up to `last` are there; nothing does before
    /// its first one.
    pub(crate) async fn look(
        journal: &dyn Journal,
        thread: &ThreadId,
        last: Seq,
    ) -> Result<Self, JournalError> {
        let items = match last {
            0 => Vec::new(),
            _ => queue(journal, thread).await?,
        };
        Ok(Self { items, last })
    }

    /// Takes `item` out, or nothing; `None` if another one is next.
    pub(crate) fn taking<'i>(&self, item: Option<&'i QueuedInput>) -> Option<Taking<'i>> {
        let is_it = |first: &QueuedInput| item.is_some_and(|item| item.id == first.id);
        if item.is_some() && !self.items.first().is_some_and(is_it) {
            return None;
        }
        let others = self.items.iter().filter(|other| !is_it(other));
        let before = others.map(|other| other.seq.saturating_sub(1)).min();
        let none_up_to = before.map_or(self.last, |before| before.min(self.last));
        Some(Taking { item, none_up_to })
    }
}

/// What opening a run does to the queue.
#[derive(Clone, Copy)]
pub(crate) struct Taking<'i> {
    /// The input that it takes, if it had waited.
    pub(crate) item: Option<&'i QueuedInput>,
    /// The place up to which none waits then.
    pub(crate) none_up_to: Seq,
}

fn queued(record: &Record, id: &str) -> Result<QueuedInput, JournalError> {
    Ok(QueuedInput {
        id: id.to_owned(),
        at_ms: record.at_ms,
        body: record.decode(kind::ITEM)?,
        seq: record.seq,
    })
}

/// The input that a record is about.
fn item_of(record: &Record) -> &str {
    let key = record.key().map_or("", FactKey::as_str);
    item_of_key(key).map_or("", |(id, _)| id)
}

/// The input that a fact's key is about, and whether the fact takes it out.
pub(crate) fn item_of_key(key: &str) -> Option<(&str, bool)> {
    let item = key.strip_prefix("inbox/")?;
    Some(match item.strip_suffix("/taken") {
        Some(item) => (item, true),
        None => (item, false),
    })
}

fn item_key(id: &str) -> FactKey {
    FactKey::from(format_args!("inbox/{id}"))
}

fn taken_key(id: &str) -> FactKey {
    FactKey::from(format_args!("inbox/{id}/taken"))
}

impl QueuedInput {
    /// What its run works on.
    fn start(&self, thread: &ThreadId) -> Start {
        Start {
            thread: Some(thread.clone()),
            target: self.body.target.clone(),
            input: self.body.input.clone(),
            set: self.body.set.clone(),
            limits: self.body.limits,
        }
    }

    /// Adds that `run` took it.
    pub(crate) fn take(&self, run: &RunId, write: &mut Write) {
        let run = Some(run.clone());
        write.fact(taken_key(&self.id), kind::TAKEN, &TakenBody { run });
    }
}

impl Runtime {
    /// Records an input for a thread that is busy. It waits there, whatever becomes of
    /// this process, until [`start_next`](Self::start_next) opens a run on it; `program`
    /// is what that run would execute, and only checks the input here.
    ///
    /// [`OnBusy::Interrupt`] and [`OnBusy::Rollback`] put it before all others, and
    /// nothing more: give the run up with [`cancel_within`](Self::cancel_within).
    ///
    /// # Errors
    /// [`RunError`], and nothing is written: the input does not fit, there is no such
    /// thread, too much waits already ([`RunError::Stands`]), or what the thread was to
    /// go back to was pruned.
    pub async fn enqueue(
        &self,
        program: &Program,
        start: Start,
        busy: OnBusy,
    ) -> Result<QueuedInput, RunError> {
        check_input(program, &start)?;
        let thread = match &start.thread {
            Some(thread) => thread.clone(),
            None => ThreadId::new("")?,
        };
        let waiting = queue(self.journal(), &thread).await?.len();
        if waiting >= MAX_WAITING {
            return Err(too_many(&thread, waiting));
        }
        let instead_of = match busy {
            OnBusy::Rollback => self.undone(&thread).await?,
            _ => None,
        };
        let body = ItemBody {
            target: start.target,
            limits: start.limits,
            input: start.input,
            set: start.set,
            ahead: busy != OnBusy::Enqueue,
            instead_of,
        };
        let id = self.fresh_run().to_string();
        let mut outside = Outside::about(&RunId::from(""), 1);
        outside.fact(item_key(&id), kind::ITEM, &body)?;
        let batch = outside.batch(self, &thread);
        let at_ms = batch.at_ms;
        let seqs = self.journal().append(batch).await?;
        Ok(QueuedInput {
            id,
            at_ms,
            body,
            seq: seqs.first().copied().unwrap_or(0),
        })
    }

    /// The run that a rollback gives up, and whose input it undoes; `None` where the
    /// last run of the thread is over.
    async fn undone(&self, thread: &ThreadId) -> Result<Option<RunId>, RunError> {
        let view = self.known(thread).await?;
        if matches!(view.phase, Phase::Closed(_)) {
            return Ok(None);
        }
        if let Some(before) = before(&view)? {
            opened_at(self.journal(), thread, before).await?;
        }
        Ok(Some(view.run))
    }

    /// Takes an input out of the queue, and opens no run on it. Says whether it was
    /// there still.
    ///
    /// # Errors
    /// Whatever the journal says.
    pub async fn withdraw(&self, thread: &ThreadId, id: &str) -> Result<bool, RunError> {
        let waiting = queue(self.journal(), thread).await?;
        if !waiting.iter().any(|item| item.id == id) {
            return Ok(false);
        }
        let mut outside = Outside::about(&RunId::from(""), 1);
        outside.fact(taken_key(id), kind::TAKEN, &TakenBody { run: None })?;
        let batch = outside.batch(self, thread);
        match self.journal().append(batch).await {
            Ok(_) => Ok(true),
            Err(JournalError::AlreadyRecorded { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a run on the input that is next, and drives it, as [`start`](Self::start)
    /// does. `None`: it is not next any more, and nothing is written. As for a resume,
    /// [`Durability::None`] counts as [`Durability::Exit`].
    ///
    /// ```
    /// # use rustagents_core::ids::ThreadId;
    /// # use rustagents_runtime::{Program, RunError, Runtime, Watch, inbox};
    /// # async fn work(
    /// #     runtime: Runtime, journal: &dyn rustagents_core::journal::Journal,
    /// #     program: Program, thread: ThreadId,
    /// # ) -> Result<(), RunError> {
    /// // All inputs of this thread are for one program.
    /// while let Some(next) = inbox::queue(journal, &thread).await?.first() {
    ///     let report = runtime.start_next(&program, &thread, next, Watch::default()).await?;
    ///     if report.is_some_and(|report| !report.is_closed) {
    ///         break; // It waits for people, and the others behind it.
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`start`](Self::start). An input that cannot be opened stays where it is
    /// until it is [withdrawn](Self::withdraw).
    pub async fn start_next(
        &self,
        program: &Program,
        thread: &ThreadId,
        item: &QueuedInput,
        watch: Watch,
    ) -> Result<Option<Report>, RunError> {
        let mut watch = watch;
        // That it is taken has to be recorded.
        if watch.durability == Durability::None {
            watch.durability = Durability::Exit;
        }
        if let Some(run) = &item.body.instead_of {
            self.wait_until_free(thread).await?;
            let waiting = queue(self.journal(), thread).await?;
            if waiting.first().is_none_or(|first| first.id != item.id) {
                return Ok(None);
            }
            self.go_back(program, thread, run).await?;
        }
        self.begin(program, item.start(thread), Some(item), watch)
            .await
    }

    /// Goes back to before the input of `run`, unless that was done.
    async fn go_back(
        &self,
        program: &Program,
        thread: &ThreadId,
        run: &RunId,
    ) -> Result<(), RunError> {
        let view = self.known(thread).await?;
        // Another run is the last one: the thread went back, and died before it went on.
        if view.run != *run {
            return Ok(());
        }
        let Some(checkpoint) = before(&view)? else {
            return self.rewind_whole(program, thread, run).await.map(drop);
        };
        let rewind = Rewind {
            thread: thread.clone(),
            checkpoint,
            target: None,
            repeats: true,
        };
        self.rewind_run(program, rewind, Some(run)).await.map(drop)
    }

    /// Waits until something can be done about an input of a thread: until its thread
    /// is free, or somebody else dealt with it.
    ///
    /// Cancellation: it stays in the queue.
    ///
    /// # Errors
    /// Whatever the journal says.
    pub async fn turn(&self, thread: &ThreadId, item: &QueuedInput) -> Result<Turn, RunError> {
        let (least, most) = PAUSE;
        let (mut after, mut pause) = (item.seq, least);
        loop {
            if let Some(turn) = self.turn_now(thread, item).await? {
                return Ok(turn);
            }
            // A driver at work changes the thread far more often.
            self.clock().sleep(least).await;
            let changed = self.journal().changed(thread, after);
            if let futures::future::Either::Left((last, _)) =
                select(changed, self.clock().sleep(pause)).await
            {
                after = last?;
            }
            pause = (pause * 2).min(most);
        }
    }

    async fn turn_now(
        &self,
        thread: &ThreadId,
        item: &QueuedInput,
    ) -> Result<Option<Turn>, RunError> {
        let epoch = self.epoch_at_rest(thread).await?;
        if let Some((since, taken)) = self.taken(thread, item).await? {
            let Some(run) = taken.run else {
                return Ok(Some(Turn::Withdrawn));
            };
            let report = self.report_of(thread, &run, since, epoch).await?;
            return Ok(report.map(|report| Turn::Taken(Box::new(report))));
        }
        if epoch.is_none() {
            return Ok(None);
        }
        let view = ThreadView::load(self.journal(), thread).await?;
        if self.epoch_at_rest(thread).await? != epoch {
            // What was read is of a driver that came, and may have gone, since.
            return Ok(None);
        }
        Ok(match view {
            Some(view) if view.phase == Phase::Suspended => {
                Some(Turn::Waits(Box::new(view.report())))
            }
            Some(view) if view.phase == Phase::Open => Some(Turn::Unfinished {
                has_plan: view.opened.target.has_plan(),
            }),
            _ => {
                let first = queue(self.journal(), thread).await?.into_iter().next();
                first.map(|first| Turn::Ready(Box::new(first)))
            }
        })
    }

    /// How often the thread was claimed, if nobody drives it now. Two looks that say the
    /// same say that nobody drove it between them.
    async fn epoch_at_rest(&self, thread: &ThreadId) -> Result<Option<Epoch>, JournalError> {
        if self.journal().owner(thread).await?.is_some() {
            return Ok(None);
        }
        let row = threads::find(self.journal(), thread).await?;
        Ok(Some(row.map_or(0, |row| row.epoch)))
    }

    /// What took the input out of the queue, and where that stands.
    async fn taken(
        &self,
        thread: &ThreadId,
        item: &QueuedInput,
    ) -> Result<Option<(Seq, TakenBody)>, JournalError> {
        let taken = Select::all().on(root()).of(kind::TAKEN).after(item.seq);
        let taken = self.journal().read(thread, taken).await?;
        let taken = taken.iter().find(|record| item_of(record) == item.id);
        let taken = taken.map(|record| Ok((record.seq, record.decode(kind::TAKEN)?)));
        taken.transpose()
    }

    /// How a run stands that others drive; `None` while they do. Nobody did at `epoch`.
    async fn report_of(
        &self,
        thread: &ThreadId,
        run: &RunId,
        since: Seq,
        epoch: Option<Epoch>,
    ) -> Result<Option<Report>, RunError> {
        let ends = Select::all().on(root()).of(kind::RUN_CLOSED).after(since);
        let ends = self.journal().read(thread, ends).await?;
        if let Some(end) = ends.iter().find(|record| record.run == *run) {
            let closed: RunClosed = end.decode(kind::RUN_CLOSED)?;
            return Ok(Some(Report::of_closed(thread.clone(), run.clone(), closed)));
        }
        if epoch.is_none() {
            return Ok(None);
        }
        let report = self.known(thread).await?.report();
        let rests = self.epoch_at_rest(thread).await? == epoch;
        Ok(rests.then_some(report))
    }
}

/// The checkpoint before the input of the last run; `None` where that is the first one
/// of the thread.
fn before(view: &ThreadView) -> Result<Option<u64>, JournalError> {
    let mut records = view.log().records().iter();
    let own = |record: &&Record| {
        record.run == view.run && record.is(kind::CHECKPOINT) && record.chain == root()
    };
    let first = match records.find(own) {
        Some(record) => record.decode::<Checkpoint>(kind::CHECKPOINT)?.checkpoint,
        None => 0,
    };
    Ok(first.checked_sub(1).filter(|before| *before > 0))
}

fn too_many(thread: &ThreadId, waiting: usize) -> RunError {
    RunError::Stands {
        thread: thread.clone(),
        stands: format!("has {waiting} inputs behind it, as many as may wait"),
        hint: "wait until some of them are done".into(),
    }
}
