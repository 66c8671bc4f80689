//! What of a run nobody would hear any more, and what must not be forgotten.

use std::collections::BTreeMap;

use rustagents_agent::call::IntentBody;
use rustagents_core::{
    ask::Ask,
    ids::{Branch, FactKey, Namespace},
    journal::{JournalError, Record, kind},
};
use rustagents_graph::record::{Checkpoint, Pending};

use crate::view::ThreadView;

/// The view without questions of tasks that are not pending any more.
pub(super) fn without_void(mut view: ThreadView) -> Result<ThreadView, JournalError> {
    let Some(pending) = pending(&view)? else {
        return Ok(view);
    };
    let asks = std::mem::take(&mut view.asks).into_iter();
    let heard = asks.filter(|(ask, answer)| {
        let record = view.log().fact(&Branch::main(), &ask.key());
        let namespace = record.map(|record| &record.chain.namespace);
        let asker = match namespace {
            Some(namespace) if !namespace.is_root() => namespace.as_str(),
            _ => ask.id.as_str(),
        };
        answer.is_some() || has_task(&pending, asker)
    });
    view.asks = heard.collect();
    Ok(view)
}

/// What is left to do in the run.
fn pending(view: &ThreadView) -> Result<Option<Pending>, JournalError> {
    let mut commits = view.log().commits(&Branch::main(), &Namespace::root());
    let last = commits.rfind(|record| record.is(kind::CHECKPOINT));
    let last = last.map(|record| record.decode::<Checkpoint>(kind::CHECKPOINT));
    Ok(last.transpose()?.map(|checkpoint| checkpoint.pending))
}

/// Whether `name` is that of a pending task, or of something inside one.
fn has_task(pending: &Pending, name: &str) -> bool {
    let mut tasks = pending.next.iter().chain(&pending.deferred);
    tasks.any(|task| is_inside(name, task.task.as_str()))
}

/// Whether `name` is that of `task`, or of something inside it.
pub(super) fn is_inside(name: &str, task: &str) -> bool {
    let rest = name.strip_prefix(task);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// An effect that may have happened, and where.
pub(super) struct Doubted {
    pub(super) effect: String,
    pub(super) namespace: Namespace,
}

/// The steps and calls of the run that were started and must not run twice, and of
/// which neither a record nor a person says how they ended.
pub(super) fn doubted(view: &ThreadView) -> Result<Vec<Doubted>, JournalError> {
    let is_told = |key: FactKey| view.log().fact(&Branch::main(), &key).is_some();
    let mut last = BTreeMap::new();
    let of_run = view.log().records().iter().filter(|r| r.run == view.run);
    for record in of_run.filter(|record| record.is(kind::STEP_INTENT)) {
        let step = step_of(record).unwrap_or_default();
        let (start, _) = last.entry(step).or_insert((0_u32, record));
        *start += 1;
    }
    let mut doubted = Vec::new();
    for (step, (start, record)) in last {
        let asked = format!("{step}/doubt/");
        let mut pending = view.pending();
        let is_asked = pending.any(|ask| ask.id.as_str().starts_with(&asked));
        let settled = is_told(format_args!("step/{step}/result").into())
            || is_told(format_args!("step/{step}/released/{start}").into())
            || is_told(Ask::answer_key(
                &format_args!("{step}/doubt/{start}").into(),
            ));
        if is_asked || !settled {
            doubted.push(Doubted {
                effect: format!("step `{step}`"),
                namespace: record.chain.namespace.clone(),
            });
        }
    }
    for intent in view.in_doubt()? {
        let mut records = view.log().records().iter();
        let started = records.rfind(|record| {
            record.is(kind::INTENT)
                && call_of(record).is_ok_and(|call| call == intent.call.as_str())
        });
        doubted.extend(started.map(|record| Doubted {
            effect: format!("call `{}` ({})", intent.call, intent.tool),
            namespace: record.chain.namespace.clone(),
        }));
    }
    Ok(doubted)
}

/// What the record of an intent is about, for people; `None` for other records.
pub(super) fn effect(record: &Record) -> Result<Option<String>, JournalError> {
    if record.is(kind::STEP_INTENT) {
        return Ok(step_of(record).map(|step| format!("step `{step}`")));
    }
    if record.is(kind::INTENT) {
        let intent: IntentBody = record.decode(kind::INTENT)?;
        return Ok(Some(format!("call `{}` ({})", intent.call, intent.tool)));
    }
    Ok(None)
}

fn call_of(record: &Record) -> Result<String, JournalError> {
    let intent: IntentBody = record.decode(kind::INTENT)?;
    Ok(intent.call.to_string())
}

/// The step of an intent, by the key of its record.
fn step_of(record: &Record) -> Option<&str> {
    let key = record.key()?.as_str().strip_prefix("step/")?;
    key.rsplit_once("/intent/").map(|(step, _)| step)
}
