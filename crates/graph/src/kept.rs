//! The state of a graph inside another one, kept from call to call of its node.
//!
//! Each call is a chain of its own, as for any graph inside. A checkpoint of the graph
//! around names the chain of the last call whose step was taken, and the first
//! checkpoint of the next call names that as its base: the state that it begins with
//! is that of the base. So a call records what it changes, and what a checkpoint names
//! goes with it wherever the thread goes.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use rustagents_core::{
    ids::{Namespace, NodeName},
    journal::{JournalError, Record, kind},
    scope::{Halt, Scope},
};

use crate::{
    graph::{Graph, Position},
    record::{Base, Checkpoint, Snapshot},
    snapshot::Growth,
    state::{ChannelName, Delta, GraphState, State},
};

/// What the nodes of a graph keep: the last calls that were taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    /// The chain of each, as records have it.
    pub(crate) chains: BTreeMap<NodeName, Namespace>,
    /// How each ended, where this attempt made it.
    memories: BTreeMap<NodeName, Memory>,
}

impl Kept {
    /// As records say.
    pub(crate) fn of(chains: BTreeMap<NodeName, Namespace>) -> Self {
        Self {
            chains,
            memories: BTreeMap::new(),
        }
    }

    /// Takes a call, in the place of the one before.
    pub(crate) fn take(&mut self, node: NodeName, taken: Taken) {
        match taken.memory {
            Some(memory) => self.memories.insert(node.clone(), memory),
            None => self.memories.remove(&node),
        };
        self.chains.insert(node, taken.chain);
    }

    /// The last call of `node`.
    pub(crate) fn last(&self, node: &NodeName) -> Option<Taken> {
        let chain = self.chains.get(node)?.clone();
        let memory = self.memories.get(node).cloned();
        Some(Taken { chain, memory })
    }
}

/// A call whose step was taken.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub(crate) chain: Namespace,
    pub(crate) memory: Option<Memory>,
}

/// The call before one whose state is kept, if there was one.
#[derive(Clone, Debug)]
pub(crate) struct CallBefore(pub(crate) Option<Taken>);

/// How a call ended, so that the next one of the same attempt need not read it.
#[derive(Clone)]
pub(crate) struct Memory(Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}

struct Remembered<S: GraphState> {
    state: Arc<S>,
    carried: State,
    growth: Growth,
    kept: Kept,
    checkpoint: u64,
}

impl Memory {
    /// Of a call that ended at `at`, where its state is kept.
    pub(crate) fn of<S: GraphState>(at: &Position<S>) -> Option<Self> {
        at.keeps.as_ref()?;
        Some(Self(Arc::new(Remembered {
            state: Arc::clone(&at.state),
            carried: at.carried.clone(),
            growth: at.growth,
            kept: at.kept.clone(),
            checkpoint: at.checkpoint,
        })))
    }
}

/// The channels of the graph around, where the state is shared with it. What they
/// hold is not the child's to keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around(Option<Arc<BTreeSet<ChannelName>>>);

impl Around {
    pub(crate) fn of(channels: BTreeSet<ChannelName>) -> Self {
        Self(Some(Arc::new(channels)))
    }

    pub(crate) fn is_own(&self, channel: &str) -> bool {
        let around = self.0.as_ref();
        !around.is_some_and(|around| around.contains(channel))
    }

    pub(crate) fn retain_own(&self, deltas: &mut Vec<(ChannelName, Delta)>) {
        deltas.retain(|(channel, _)| self.is_own(channel));
    }
}

/// What a position knows where the state is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keeps {
    /// The call before, until the first checkpoint says so.
    pub(crate) base: Option<Base>,
    /// What that left went through migrations since, and its records say otherwise.
    is_migrated: bool,
    pub(crate) around: Around,
}

/// How the records of a call begin.
#[derive(Debug)]
pub(crate) enum Beginning {
    /// They go on from the call before.
    On(Base),
    /// They have all that was kept.
    Whole(Vec<(ChannelName, Delta)>),
}

impl<S: GraphState> Position<S> {
    /// The same, for a call whose state is kept: where it has not begun, with what is
    /// left of the call before.
    pub(crate) fn keeping(
        mut self,
        graph: &Graph<S>,
        before: Option<&Taken>,
        around: &Around,
        scope: &Scope,
    ) -> Result<Self, Halt> {
        let mut keeps = Keeps {
            base: None,
            is_migrated: false,
            around: around.clone(),
        };
        if self.checkpoint == 0
            && let Some(before) = before
        {
            let base;
            (self, base) = self.go_on_from(graph, before, around, scope)?;
            keeps.is_migrated = std::mem::take(&mut self.owes) > 0;
            keeps.base = Some(base);
        }
        self.keeps = Some(keeps);
        Ok(self)
    }

    /// How its records begin, where it goes on from a call before it.
    pub(crate) fn begins(&mut self) -> Option<Beginning> {
        let keeps = self.keeps.as_mut()?;
        let base = keeps.base.take()?;
        let around = keeps.around.clone();
        let mut growth = self.growth;
        let whole = || own_deltas(&self.state, &self.carried, &around);
        if keeps.is_migrated {
            self.growth = Growth::default();
            return Some(Beginning::Whole(whole()));
        }
        let whole = growth.begins_anew(whole);
        self.growth = growth;
        Some(whole.map_or(Beginning::On(base), Beginning::Whole))
    }

    fn go_on_from(
        mut self,
        graph: &Graph<S>,
        before: &Taken,
        around: &Around,
        scope: &Scope,
    ) -> Result<(Self, Base), Halt> {
        let chain = before.chain.clone();
        let memory = before.memory.as_ref();
        let memory = memory.and_then(|memory| memory.0.downcast_ref());
        let checkpoint = if let Some(memory) = memory {
            self.remember(memory, around, scope)?
        } else {
            let checkpoint;
            (self, checkpoint) = graph.left_by(self, &chain, around, scope)?;
            checkpoint
        };
        self.growth.goes_on();
        Ok((self, Base { chain, checkpoint }))
    }

    fn remember(
        &mut self,
        memory: &Remembered<S>,
        around: &Around,
        scope: &Scope,
    ) -> Result<u64, JournalError> {
        // Not the state itself: what is on no record lasts no longer than its call.
        let deltas = own_deltas(&memory.state, &memory.carried, around);
        self.apply(&deltas, &mut |id| scope.message(id))?;
        self.growth = memory.growth;
        self.kept = memory.kept.clone();
        Ok(memory.checkpoint)
    }

    /// Takes on what the call on `chain` ended with, and says at which checkpoint it
    /// did.
    pub(crate) fn read_back(
        &mut self,
        chain: &Namespace,
        around: &Around,
        scope: &Scope,
    ) -> Result<u64, JournalError> {
        self.take_calls(Call::walk(chain, scope)?, around, scope)
    }

    fn take_calls(
        &mut self,
        calls: Vec<Call>,
        around: &Around,
        scope: &Scope,
    ) -> Result<u64, JournalError> {
        let last = calls.first().map_or(0, |call| call.last);
        let bases = calls.len().saturating_sub(1);
        for call in calls.into_iter().rev() {
            self.take_call(call, around, scope)?;
        }
        self.growth.rests_on(bases);
        Ok(last)
    }

    fn take_call(
        &mut self,
        call: Call,
        around: &Around,
        scope: &Scope,
    ) -> Result<(), JournalError> {
        if let Some((snapshot, bytes)) = call.snapshot {
            self.take_changes(snapshot.state, snapshot.kept, around, scope)?;
            self.growth = Growth::after_snapshot(bytes);
        }
        for (checkpoint, bytes) in call.checkpoints {
            self.take_changes(checkpoint.deltas, checkpoint.kept, around, scope)?;
            self.growth.add(bytes);
        }
        Ok(())
    }

    fn take_changes(
        &mut self,
        mut deltas: Vec<(ChannelName, Delta)>,
        kept: BTreeMap<NodeName, Namespace>,
        around: &Around,
        scope: &Scope,
    ) -> Result<(), JournalError> {
        around.retain_own(&mut deltas);
        self.kept = Kept::of(kept);
        self.apply(&deltas, &mut |id| scope.log().message(id))
    }
}

impl<S: GraphState> Graph<S> {
    /// `at` with what the call on `chain` ended with, after all migrations, and the
    /// number of the checkpoint at which it did.
    pub(crate) fn left_by(
        &self,
        mut at: Position<S>,
        chain: &Namespace,
        around: &Around,
        scope: &Scope,
    ) -> Result<(Position<S>, u64), Halt> {
        let calls = Call::walk(chain, scope)?;
        let recorded = calls.first().map(|call| &*call.migrations);
        let owed = self.owed(recorded.unwrap_or_default())?;
        if owed.is_empty() {
            let last = at.take_calls(calls, around, scope)?;
            return Ok((at, last));
        }
        let mut left = Position::new(State::default());
        let last = left.take_calls(calls, around, scope)?;
        let find = &mut |id: &_| scope.log().message(id);
        let mut at = self.migrated(at, &left.state.deltas(), owed, find)?;
        at.kept = left.kept;
        Ok((at, last))
    }
}

/// The changes that make of nothing what a child has for itself.
fn own_deltas<S: GraphState>(
    state: &Arc<S>,
    carried: &State,
    around: &Around,
) -> Vec<(ChannelName, Delta)> {
    let is_own = |channel: &str| around.is_own(channel);
    let mut deltas = state.deltas_of(&is_own);
    deltas.extend(carried.deltas_of(&is_own));
    deltas
}

/// The records of a call from its last snapshot on, each with its bytes.
struct Call {
    snapshot: Option<(Snapshot, usize)>,
    checkpoints: Vec<(Checkpoint, usize)>,
    /// The number of its last checkpoint.
    last: u64,
    /// The migrations that its state went through.
    migrations: Vec<String>,
}

impl Call {
    /// The call on `chain`, and those that it goes on from, the last one first.
    fn walk(chain: &Namespace, scope: &Scope) -> Result<Vec<Self>, JournalError> {
        let mut calls = vec![Self::read(chain, scope)?];
        let mut seen = BTreeSet::from([chain.clone()]);
        while let Some(base) = calls.last().and_then(Self::base).cloned() {
            let call = Self::read(&base.chain, scope)?;
            if call.last != base.checkpoint || !seen.insert(base.chain.clone()) {
                return Err(broken(
                    &base.chain,
                    "it does not end where a later call begins",
                ));
            }
            calls.push(call);
        }
        Ok(calls)
    }

    fn read(chain: &Namespace, scope: &Scope) -> Result<Self, JournalError> {
        let commits = || scope.log().commits(&scope.run().branch, chain);
        let newest = commits().rfind(|record| record.is(kind::SNAPSHOT));
        let snapshot = match newest {
            Some(record) => Some((
                record.decode::<Snapshot>(kind::SNAPSHOT)?,
                record.body.len(),
            )),
            None => None,
        };
        let mut last = snapshot.as_ref().map_or(0, |(whole, _)| whole.checkpoint);
        let mut migrations = Vec::new();
        if let Some((whole, _)) = &snapshot {
            migrations.clone_from(&whole.migrations);
        }
        let mut checkpoints = Vec::new();
        let is_checkpoint = |record: &&Record| record.is(kind::CHECKPOINT);
        for record in commits().filter(is_checkpoint) {
            let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
            if checkpoint.checkpoint <= last {
                continue;
            }
            if checkpoint.checkpoint != last + 1 {
                return Err(broken(chain, "checkpoints of it are missing"));
            }
            last = checkpoint.checkpoint;
            if !checkpoint.migrations.is_empty() {
                migrations.clone_from(&checkpoint.migrations);
            }
            checkpoints.push((checkpoint, record.body.len()));
        }
        if last == 0 {
            return Err(broken(
                chain,
                "a later call goes on from it, and it is missing",
            ));
        }
        Ok(Self {
            snapshot,
            checkpoints,
            last,
            migrations,
        })
    }

    /// The call that it goes on from, where no snapshot makes up for it.
    fn base(&self) -> Option<&Base> {
        let first = self.checkpoints.first();
        let first = first.filter(|_| self.snapshot.is_none());
        first.and_then(|(first, _)| first.base.as_ref())
    }
}

fn broken(chain: &Namespace, reason: &str) -> JournalError {
    JournalError::Corrupt {
        place: format!("chain `{chain}`"),
        reason: reason.to_owned(),
    }
}
