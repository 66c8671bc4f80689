//! Steps that an earlier attempt began, and of which it left open how they ended.

use std::collections::BTreeMap;

use rustagents_core::{
    ask::Ask,
    ids::Namespace,
    journal::{Record, Seq, kind},
    scope::Halt,
    tool::EffectClass,
};
use serde_json::Value;

use super::{Step, name::StepId, plan::Settled, record::StepStart};
use crate::{
    node::TaskContext,
    record::{Checkpoint, TaskWrite},
};

impl TaskContext {
    /// The questions about steps that must not run twice, of the task and of what is not
    /// done inside it, which an earlier attempt began and nobody has settled. The node
    /// may fail before it makes them again.
    ///
    /// Looks through all facts of the thread: for a task that fails.
    pub(super) fn left_open(&self) -> Result<Vec<Ask>, Halt> {
        let mut last = BTreeMap::new();
        for record in self.scope().facts_inside(kind::STEP_INTENT) {
            let start: StepStart<'_> = record.decode(kind::STEP_INTENT)?;
            let step = (&record.chain.namespace, start.step.into_owned());
            let known = last.entry(step).or_insert((start.number, record));
            if known.0 < start.number {
                *known = (start.number, record);
            }
        }
        let mut open = Vec::new();
        for ((namespace, label), (number, record)) in last {
            if let Some(id) = StepId::recorded(namespace, &label)
                && !self.is_done(namespace, record.seq)?
            {
                open.extend(self.open(namespace, id, number, record)?);
            }
        }
        Ok(open)
    }

    /// Whether a task between this one and `inside`, or that one, is done, and so has
    /// answered for what it began at `began`.
    fn is_done(&self, inside: &Namespace, began: Seq) -> Result<bool, Halt> {
        let (scope, own) = (self.scope(), self.scope().namespace());
        let mut inner = inside.clone();
        while inner != *own
            && let Some((outer, task)) = inner.split()
        {
            if scope.fact(&TaskWrite::key(&outer, &task)).is_some() {
                return Ok(true);
            }
            let commits = scope.log().commits(&scope.run().branch, &outer);
            let later = commits.rev().take_while(|commit| commit.seq > began);
            for commit in later.filter(|commit| commit.is(kind::CHECKPOINT)) {
                let checkpoint: Checkpoint = commit.decode(kind::CHECKPOINT)?;
                if checkpoint.done.contains(&task) {
                    return Ok(true);
                }
            }
            inner = outer;
        }
        Ok(false)
    }

    /// The question about start `number` of a step, if nobody knows how it ended.
    fn open(
        &self,
        namespace: &Namespace,
        id: StepId,
        number: u32,
        intent: &Record,
    ) -> Result<Option<Ask>, Halt> {
        let ends = [id.result(EffectClass::Once, 1), id.released(number)];
        if ends.iter().any(|end| self.scope().fact(end).is_some()) {
            return Ok(None);
        }
        let step = Step {
            id,
            effect: EffectClass::Once,
            input: super::plan::input_of(intent),
        };
        let Settled::Open(ask) = self.settled::<Value>(&step, number)? else {
            return Ok(None);
        };
        let task = namespace.split().map(|(_, task)| task);
        let node = task.map_or_else(|| self.node().clone(), |task| task.node());
        Ok(Some(Ask { node, ..ask }))
    }
}
