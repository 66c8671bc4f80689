//! The calls of graphs inside whose state is kept: chains that later records need.

use std::collections::{BTreeMap, BTreeSet};

use rustagents_core::{
    ids::{Branch, Namespace},
    journal::{JournalError, Record, Seq, kind},
};
use rustagents_graph::record::Base;
use serde::Deserialize;

/// All chains of graphs inside, and who names them.
#[derive(Debug, Default)]
pub(super) struct Calls {
    chains: BTreeMap<Namespace, Call>,
    names: Vec<Names>,
}

/// A record of the root chain that names calls.
#[derive(Debug)]
struct Names {
    seq: Seq,
    checkpoint: u64,
    calls: Vec<Namespace>,
}

/// A graph inside on the chain of its task.
#[derive(Debug, Default)]
struct Call {
    /// The numbers and the places of its checkpoints.
    checkpoints: Vec<(u64, Seq)>,
    /// The number and the place of its last snapshot.
    snapshot: Option<(u64, Seq)>,
    base: Option<Base>,
    /// The last calls of its own nodes.
    kept: Vec<Namespace>,
}

/// What a checkpoint or a snapshot says of calls.
#[derive(Deserialize)]
struct Mark {
    checkpoint: u64,
    #[serde(default)]
    base: Option<Base>,
    #[serde(default)]
    kept: BTreeMap<String, Namespace>,
}

impl Calls {
    /// Takes the next record of a thread.
    ///
    /// # Errors
    /// [`JournalError`]: it cannot be read.
    pub(super) fn take(&mut self, record: &Record) -> Result<(), JournalError> {
        let is_snapshot = record.is(kind::SNAPSHOT);
        if record.chain.branch != Branch::main() || !(is_snapshot || record.is(kind::CHECKPOINT)) {
            return Ok(());
        }
        let as_kind = if is_snapshot {
            kind::SNAPSHOT
        } else {
            kind::CHECKPOINT
        };
        let mark: Mark = record.decode(as_kind)?;
        let calls: Vec<_> = mark.kept.into_values().collect();
        if !record.chain.namespace.is_root() {
            let namespace = record.chain.namespace.clone();
            let call = self.chains.entry(namespace).or_default();
            if is_snapshot {
                call.snapshot = Some((mark.checkpoint, record.seq));
            } else {
                call.checkpoints.push((mark.checkpoint, record.seq));
            }
            call.base = call.base.take().or(mark.base);
            call.kept = calls;
        } else if !calls.is_empty() {
            self.names.push(Names {
                seq: record.seq,
                checkpoint: mark.checkpoint,
                calls,
            });
        }
        Ok(())
    }

    /// The records that are needed for what the root chain names in records that stay,
    /// and at the checkpoint `number`.
    pub(super) fn needed(&self, number: u64, stays: impl Fn(Seq) -> bool) -> BTreeSet<Seq> {
        let names = self.names.iter();
        let names = names.filter(|names| names.checkpoint == number || stays(names.seq));
        let mut needed = BTreeSet::new();
        for (_, call) in self.reached(names.flat_map(|names| &names.calls)) {
            needed.extend(call.into_iter().flat_map(Call::needed));
        }
        needed
    }

    /// Those among `calls`, the ones before them and those inside them; `None` where
    /// there is no such chain.
    fn reached<'c>(
        &'c self,
        calls: impl Iterator<Item = &'c Namespace>,
    ) -> BTreeMap<&'c Namespace, Option<&'c Call>> {
        let mut open: Vec<_> = calls.map(|call| (call, true)).collect();
        // A call may be reached as one before another, and then as a last one.
        let mut seen = BTreeSet::new();
        let mut reached = BTreeMap::new();
        while let Some((name, is_last)) = open.pop() {
            if !seen.insert((name, is_last)) {
                continue;
            }
            let call = self.chains.get(name);
            reached.insert(name, call);
            let Some(call) = call else { continue };
            open.extend(call.base().map(|base| (&base.chain, false)));
            if is_last {
                open.extend(call.kept.iter().map(|call| (call, true)));
            }
        }
        reached
    }

    /// What is missing of that which the root chain names: where it is named, and what
    /// is wrong.
    pub(super) fn missing(&self) -> Vec<(String, String)> {
        let mut missing = Vec::new();
        let mut told = BTreeSet::new();
        for names in &self.names {
            for (name, call) in self.reached(names.calls.iter()) {
                let what = match call {
                    None => "it is missing",
                    Some(call) if !call.is_whole() => "checkpoints of it are missing",
                    Some(call) if !self.fits(call) => "the call before it does not end there",
                    Some(_) => continue,
                };
                if told.insert(name) {
                    let place = format!("record {}", names.seq);
                    missing.push((place, format!("it goes on from chain `{name}`: {what}")));
                }
            }
        }
        missing
    }

    /// Whether the call before `call` ends where that begins.
    fn fits(&self, call: &Call) -> bool {
        call.base().is_none_or(|base| {
            let before = self.chains.get(&base.chain);
            before.is_none_or(|before| before.last() == base.checkpoint)
        })
    }
}

impl Call {
    fn base(&self) -> Option<&Base> {
        self.base.as_ref().filter(|_| self.snapshot.is_none())
    }

    fn last(&self) -> u64 {
        let snapshot = self.snapshot.map(|(number, _)| number);
        let last = self.checkpoints.last().map(|(number, _)| *number);
        last.max(snapshot).unwrap_or_default()
    }

    /// The places that make its last state: from the last snapshot on.
    fn needed(&self) -> impl Iterator<Item = Seq> {
        let (number, place) = self.snapshot.unzip();
        let number = number.unwrap_or_default();
        let checkpoints = self.checkpoints.iter();
        let behind = checkpoints.filter(move |(checkpoint, _)| *checkpoint >= number);
        behind.map(|(_, seq)| *seq).chain(place)
    }

    /// Whether all checkpoints are there from its begin on, or from its last snapshot.
    fn is_whole(&self) -> bool {
        let mut last = self.snapshot.map_or(0, |(number, _)| number);
        self.checkpoints.iter().all(|(number, _)| {
            let follows = *number <= last || *number == last + 1;
            last = last.max(*number);
            follows
        }) && last > 0
    }
}
