//! The commands, one file each.

pub(crate) mod cancel;
pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod inbox;
mod keeping;
pub(crate) mod new;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod store;
pub(crate) mod threads;

use std::{process::ExitCode, sync::Arc};

use rustagents_core::{Code, canonical::Canonical, journal::Journal};
use rustagents_runtime::{
    Report, Runtime, Status, Watch,
    host::{SystemClock, UuidIds},
};
use serde_json::Value;

use crate::{
    arguments::{Common, Durable},
    failure::Failure,
    output::Output,
    signals::Signals,
};

fn runtime(journal: Arc<dyn Journal>) -> Runtime {
    Runtime::new(journal, Arc::new(SystemClock::new()), Arc::new(UuidIds))
}

fn watch(output: &Output, signals: &Signals, common: &Common, named: bool) -> Watch {
    Watch {
        events: output.progress(named),
        cancel: signals.cancel.clone(),
        drain: signals.drain.clone(),
        durability: common.durability.into(),
    }
}

/// Refuses to record nothing, where what follows is found in the record.
fn must_record(common: &Common, why: &str) -> Result<(), Failure> {
    if common.durability == Durable::None {
        let message = format!("`--durability none` records nothing, and {why}");
        return Err(Failure::new(Code::Usage, message).hint("leave it out, or use `exit`"));
    }
    Ok(())
}

/// Splits `NAME=JSON`.
fn named_json(given: &str, option: &str) -> Result<(String, Value), Failure> {
    let Some((name, json)) = given.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err(Failure::new(
            Code::Usage,
            format!("`{option} {given}` is not NAME=JSON"),
        ));
    };
    let value = Canonical::parse(json).map_err(|error| {
        Failure::new(Code::AnswerNotJson, format!("`{option} {name}`: {error}"))
            .hint("text is JSON in quotes: '\"yes\"'")
    })?;
    Ok((name.to_owned(), value.value().clone()))
}

/// Tells of a run that was driven.
fn driven(report: &Report, output: &Output, signals: &Signals) -> Result<ExitCode, Failure> {
    let code = finish(report, output, signals)?;
    output.spent(report);
    Ok(code)
}

fn finish(report: &Report, output: &Output, signals: &Signals) -> Result<ExitCode, Failure> {
    finish_with(report, None, output, signals)
}

/// The same, with the name of the input that waits behind the run.
fn finish_with(
    report: &Report,
    queued: Option<&str>,
    output: &Output,
    signals: &Signals,
) -> Result<ExitCode, Failure> {
    match output.report(report, queued) {
        // The terminal is gone, and what is said with it.
        Err(failure) if failure.code == Code::OutputFailed && signals.is_hung_up() => {}
        told => told?,
    }
    Ok(ExitCode::from(match report.status {
        Status::Completed => 0,
        Status::Suspended => 3,
        Status::BudgetExceeded => 4,
        Status::Cancelled if !report.is_closed => signals.status(),
        _ => 1,
    }))
}
