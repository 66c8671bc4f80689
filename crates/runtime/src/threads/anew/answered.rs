//! Which questions stay with their answers: those whose node went on with the answer.

use std::collections::{BTreeMap, BTreeSet};

use rustagents_core::{
    ask::{Ask, Subject},
    ids::{AskId, Branch, FactKey},
    journal::{JournalError, Record, Seq, kind},
};
use rustagents_graph::record::Checkpoint;

use super::{commits, names::Names};
use crate::doubt::around;

/// The questions that are gone, and those that stay.
pub(super) struct Answered {
    /// Questions of what is left to do that nobody answered, or whose answer was not
    /// made use of.
    gone: BTreeSet<FactKey>,
}

impl Answered {
    pub(super) fn of(records: &[Record], names: &Names) -> Result<Self, JournalError> {
        let went_on = WentOn::of(records, names)?;
        let answers: BTreeMap<_, _> = facts(records, "answer/").collect();
        let mut gone = BTreeSet::new();
        for (id, record) in facts(records, "ask/") {
            let is_gone = if names.of_call(id).is_some() {
                true
            } else if names.inside(id).is_some() {
                let ask: Ask = record.decode(kind::ASK)?;
                let answer = answers.get(id);
                !answer.is_some_and(|answer| went_on.since(&ask, answer))
            } else {
                false
            };
            if is_gone {
                let id = AskId::from(id);
                gone.extend([Ask::fact_key(&id), Ask::answer_key(&id)]);
            }
        }
        Ok(Self { gone })
    }

    pub(super) fn drops(&self, record: &Record) -> bool {
        record.chain.branch == Branch::main()
            && record.key().is_some_and(|key| self.gone.contains(key))
    }
}

/// The facts whose keys begin with `of`, each with the rest of its key.
fn facts<'r>(
    records: &'r [Record],
    of: &'static str,
) -> impl Iterator<Item = (&'r str, &'r Record)> {
    let own = records
        .iter()
        .filter(|record| record.chain.branch == Branch::main());
    own.filter_map(move |record| Some((record.key()?.as_str().strip_prefix(of)?, record)))
}

/// When each task, and what is inside it, last did something.
struct WentOn {
    last: BTreeMap<String, Seq>,
    /// Where attempts began.
    begun: Vec<Seq>,
}

impl WentOn {
    fn of(records: &[Record], names: &Names) -> Result<Self, JournalError> {
        let attempts = commits(records).filter(|record| record.is(kind::RUN_ATTEMPT));
        let mut went_on = Self {
            last: BTreeMap::new(),
            begun: attempts.map(|record| record.seq).collect(),
        };
        for record in records {
            if record.chain.branch != Branch::main() || record.is(kind::ANSWER) {
                continue;
            }
            let namespace = &record.chain.namespace;
            went_on.note(namespace.as_str(), record.seq, names);
            let key = record.key().and_then(|key| key.as_str().split_once('/'));
            if let Some((_, name)) = key {
                went_on.note(name, record.seq, names);
            }
            if record.is(kind::CHECKPOINT) && !namespace.is_root() {
                let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
                for task in &checkpoint.done {
                    went_on.note(namespace.child(task).as_str(), record.seq, names);
                }
            }
        }
        Ok(went_on)
    }

    fn note(&mut self, name: &str, seq: Seq, names: &Names) {
        if names.inside(name).is_some() {
            for name in around(name) {
                self.last.insert(name.to_owned(), seq);
            }
        }
    }

    /// Whether the node that asked did something since it had the answer: in an attempt
    /// that began behind it, or at once where it recorded the answer itself.
    fn since(&self, ask: &Ask, answer: &Record) -> bool {
        let Some(asker) = asker(ask) else {
            return false;
        };
        let had = if answer.chain.namespace.is_root() {
            let mut begun = self.begun.iter();
            begun.find(|seq| **seq > answer.seq)
        } else {
            Some(&answer.seq)
        };
        let last = self.last.get(asker);
        had.zip(last).is_some_and(|(had, last)| last > had)
    }
}

/// The namespace of the node that asks.
fn asker(ask: &Ask) -> Option<&str> {
    let id = ask.id.as_str();
    match &ask.subject {
        Subject::StepInDoubt(subject) => {
            let step = format!("/{}/doubt/", subject.step);
            id.rfind(&step).and_then(|at| id.get(..at))
        }
        _ => id.rsplit_once('/').map(|(namespace, _)| namespace),
    }
}
