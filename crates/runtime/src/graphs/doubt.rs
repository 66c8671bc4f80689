//! Effects that must be neither forgotten nor repeated.

use std::collections::BTreeMap;

use rustagents_agent::call::IntentBody;
use rustagents_core::{
    ask::Ask,
    ids::{Branch, FactKey, Namespace},
    journal::{JournalError, Record, kind},
};

use crate::view::ThreadView;

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
