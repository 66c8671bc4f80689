//! What is left to do in a fork, under names of its own.
//!
//! A person who answers a question of a thread answers for that thread alone. So what a
//! fork has left to do begins with new names, and with nothing that was granted to the
//! source and not yet made use of:
//!
//! - Each pending task moves to places of its step that no task had, and all that is
//!   recorded of it moves along: what it did stays done.
//! - Each call of such a task that has no result gets the next number of the thread.
//!   What says that it was begun goes with it, so that a call in doubt stays in doubt.
//! - Questions are gone, and so are their answers, unless the node went on with an
//!   answer: what it did since rests on it. The run does not wait any more: who resumes
//!   it is asked anew.
//!
//! It is done to the image of the fork before that is installed. So the fork is a log as
//! any other, and no reader needs to know that it is one.

mod answered;
mod names;

use std::collections::{BTreeMap, BTreeSet};

use rustagents_agent::{call::result_key, transition::Transition};
use rustagents_core::{
    ids::{Branch, CallId, FactKey, MessageId, TaskId},
    journal::{JournalError, Place, Record, Seq, ThreadImage, kind},
};
use rustagents_graph::record::{Checkpoint, Pending, Snapshot};

use self::{answered::Answered, names::Names};
use crate::{
    doubt::Tasks,
    record::RunClosed,
    view::{Phase, phase, tells},
};

/// The thread of `image`, with names of its own for what is left to do. One whose last
/// run is over stays as it is.
///
/// # Errors
/// [`JournalError`]: a record cannot be read.
pub(super) fn anew(mut image: ThreadImage) -> Result<ThreadImage, JournalError> {
    let Some(left) = left(&image.records)? else {
        return Ok(image);
    };
    let names = Names {
        calls: open_calls(&image, &left)?,
        tasks: moved(&image.records, &left)?,
    };
    let answered = Answered::of(&image.records, &names)?;
    let wait = last_wait(&image.records);
    let mut records = Vec::with_capacity(image.records.len());
    for record in image.records {
        if !(wait.contains(&record.seq) || answered.drops(&record)) {
            records.push(names.record(record)?);
        }
    }
    image.records = records;
    for message in &mut image.messages {
        names.message(message);
    }
    Ok(image)
}

fn is_root(record: &Record) -> bool {
    record.chain.branch == Branch::main() && record.chain.namespace.is_root()
}

/// The commits of the runs themselves.
fn commits(records: &[Record]) -> impl DoubleEndedIterator<Item = &Record> {
    let on_root = records.iter().filter(|record| is_root(record));
    on_root.filter(|record| record.place == Place::Commit)
}

/// What the last run has left to do; `None` where it is over for good, or has nothing.
fn left(records: &[Record]) -> Result<Option<Pending>, JournalError> {
    if let Phase::Closed(RunClosed { status, .. }) = phase(commits(records))?
        && !status.is_retried()
    {
        return Ok(None);
    }
    let mut checkpoints = commits(records).filter(|record| record.is(kind::CHECKPOINT));
    let Some(last) = checkpoints.next_back() else {
        return Ok(None);
    };
    let checkpoint: Checkpoint = last.decode(kind::CHECKPOINT)?;
    let left = checkpoint.pending;
    Ok((!left.next.is_empty() || !left.deferred.is_empty()).then_some(left))
}

/// The names that the tasks which are left get: behind all places that were given. A
/// task that the source names later has the number of a later checkpoint.
fn moved(records: &[Record], left: &Pending) -> Result<BTreeMap<TaskId, TaskId>, JournalError> {
    let mut places = 0;
    for record in commits(records).filter(|record| record.is(kind::CHECKPOINT)) {
        let Checkpoint { pending, .. } = record.decode(kind::CHECKPOINT)?;
        let named = pending.next.iter().chain(&pending.deferred);
        places = named.fold(places, |most, task| most.max(task.task.place() + 1));
    }
    let tasks = left.next.iter().chain(&left.deferred);
    let moved = tasks.map(|task| (task.task.clone(), task.task.moved(places)));
    Ok(moved.collect())
}

/// The calls that tasks which are left have to make or to settle yet, each with the next
/// number of the thread.
fn open_calls(
    image: &ThreadImage,
    left: &Pending,
) -> Result<BTreeMap<CallId, CallId>, JournalError> {
    let tasks = Tasks::of(left);
    let own = |record: &&Record| {
        record.chain.branch == Branch::main() && tasks.hold(record.chain.namespace.as_str())
    };
    let mut acted: BTreeSet<MessageId> = BTreeSet::new();
    for record in image.records.iter().filter(own) {
        if record.is(kind::TRANSITION)
            && let Transition::Acting { message, .. } = record.decode(kind::TRANSITION)?
        {
            acted.insert(message);
        }
    }
    let ended: BTreeSet<&FactKey> = image.records.iter().filter_map(Record::key).collect();
    let mut last = last_call(image)?;
    let mut calls = BTreeMap::new();
    let messages = image.messages.iter();
    for message in messages.filter(|message| acted.contains(&message.id)) {
        let open = message.calls().iter();
        for call in open.filter(|call| !ended.contains(&result_key(&call.id))) {
            last += 1;
            calls.insert(call.id.clone(), CallId::numbered(last));
        }
    }
    Ok(calls)
}

/// The number of the last call that the thread gave.
fn last_call(image: &ThreadImage) -> Result<u64, JournalError> {
    let calls = image.messages.iter().flat_map(|message| message.calls());
    let mut last = calls.map(|call| call.id.number()).max().unwrap_or_default();
    for record in image.records.iter().filter(|r| r.is(kind::SNAPSHOT)) {
        last = last.max(record.decode::<Snapshot>(kind::SNAPSHOT)?.calls);
    }
    Ok(last)
}

/// Where the run says that it waits, if that is the last that it says.
fn last_wait(records: &[Record]) -> BTreeSet<Seq> {
    let told = commits(records).rev().filter(|record| tells(record));
    let waits = told.take_while(|record| record.is(kind::RUN_SUSPENDED));
    waits.map(|record| record.seq).collect()
}
