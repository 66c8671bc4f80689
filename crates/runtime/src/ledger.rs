//! What a run consumed, counted from its records.

use std::collections::BTreeMap;

use rustagents_agent::{
    call::{End, ResultBody},
    transition::ModelCall,
};
use rustagents_core::{
    budget::Spent,
    ids::RunId,
    journal::{JournalError, Record, kind},
    log::ThreadLog,
    tool::EffectClass,
};
use rustagents_graph::record::{Checkpoint, Source};

/// Counts what `run` consumed in the attempts that are in `log`.
pub(crate) fn spent(log: &ThreadLog, run: &RunId) -> Result<Spent, JournalError> {
    let mut spent = Spent::default();
    let mut attempts: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    for record in log.records().iter().filter(|record| record.run == *run) {
        count(&mut spent, record)?;
        // A person's answer is no driven time: it stands between two attempts. Nor is
        // what somebody did to the run between them, under a claim of his own, or
        // what others asked of it.
        if !record.is(kind::ANSWER) && !record.is(kind::CANCEL) {
            let span = attempts
                .entry((record.attempt, record.epoch))
                .or_insert((record.at_ms, record.at_ms));
            span.1 = span.1.max(record.at_ms);
        }
    }
    spent.driven_ms = attempts
        .values()
        .map(|(first, last)| last.saturating_sub(*first))
        .sum();
    Ok(spent)
}

fn count(spent: &mut Spent, record: &Record) -> Result<(), JournalError> {
    let key = record.key().map_or("", |key| key.as_str());
    if record.is(kind::CHECKPOINT) {
        let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
        spent.steps += u64::from(checkpoint.source == Source::Step);
    } else if record.is(kind::INTENT) {
        spent.tool_calls += 1;
    } else if record.is(kind::RESULT) && key.starts_with("model/") {
        let call: ModelCall = record.decode(kind::RESULT)?;
        spent.model_calls += u64::from(call.tries);
        spent.usage += call.usage.unwrap_or_default();
    } else if record.is(kind::RESULT) && key.ends_with("/result") {
        let result: ResultBody = record.decode(kind::RESULT)?;
        let ran = matches!(result.end, End::Done | End::Failed);
        // A call that changes something was counted at its intent.
        spent.tool_calls += u64::from(ran && record.effect != Some(EffectClass::Once));
    }
    Ok(())
}
