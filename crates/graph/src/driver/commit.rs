//! The end of a superstep: its writes become one checkpoint.

use std::sync::Arc;

use foldhash::HashMap;
use rustagents_core::{
    event::{Event, Interest},
    ids::{MessageId, NodeName},
    journal::MAX_BATCH_BYTES,
    message::Message,
    recorder::Durability,
    scope::{Halt, Write},
};

use super::{Driver, end, refused, superstep::Superstep, unrecorded};
use crate::{
    graph::{Frame, OpenError, Outcome, Position},
    kept::{Beginning, Taken},
    node::NodeError,
    record::{Body, Pending, Snapshot, Source, Task, TaskWrite, Unkept, forget},
    schedule::ScheduleError,
    state::{ChannelName, Delta, GraphState, Written},
};

/// Where a finished superstep led.
pub(super) enum Advanced {
    On,
    /// Its writes cannot be taken; nothing of them is recorded.
    Refused(NodeName, NodeError),
}

/// What moves a chain on.
pub(crate) struct Move<'t> {
    pub(crate) source: Source,
    /// The checkpoint that it goes back to, where it does.
    pub(crate) from: Option<u64>,
    /// How many supersteps are done then.
    pub(crate) step: u64,
    pub(crate) done: &'t [Task],
    /// The writes that the changes come of, where somebody wants them.
    pub(crate) writes: Vec<(ChannelName, Written)>,
    /// What is known of writes beside them whose values nobody knows any more.
    pub(crate) untracked: Vec<(ChannelName, Unkept)>,
    pub(crate) deltas: Vec<(ChannelName, Delta)>,
    /// The messages in them that are no rows yet.
    pub(crate) messages: Vec<Arc<Message>>,
    /// How the records of a call begin that goes on from another one.
    pub(crate) begins: Option<Beginning>,
    /// The calls of nodes that keep the state of their graph.
    pub(crate) taken: Vec<(NodeName, Taken)>,
}

/// What all tasks of a step write, in task order.
fn all_writes(writes: &[Option<TaskWrite>]) -> Vec<(ChannelName, Written)> {
    let writes = writes.iter().flatten();
    writes.flat_map(|write| write.writes.clone()).collect()
}

/// Whose failure it is that a step is not taken.
fn last_of(tasks: &[Task]) -> NodeName {
    let last = tasks.last().map(|task| task.node.clone());
    last.unwrap_or_else(|| NodeName::from(crate::START))
}

/// How many messages are compared one by one before a map pays.
const FEW: usize = 16;

/// Messages that are no rows yet.
struct Fresh<'m> {
    few: &'m [Arc<Message>],
    /// Most steps have none.
    many: Option<HashMap<&'m MessageId, &'m Arc<Message>>>,
}

impl<'m> Fresh<'m> {
    fn of(messages: &'m [Arc<Message>]) -> Self {
        let (few, rest) = messages.split_at(messages.len().min(FEW));
        let many = rest.iter().map(|message| (&message.id, message));
        Self {
            few,
            many: (!rest.is_empty()).then(|| many.collect()),
        }
    }

    fn find(&self, id: &MessageId) -> Option<Arc<Message>> {
        let few = self.few.iter().find(|message| message.id == *id);
        let many = || self.many.as_ref()?.get(id).copied();
        few.or_else(many).cloned()
    }
}

impl<S: GraphState> Driver<'_, S> {
    /// Commits the step, and what closes the run where nothing follows.
    pub(super) async fn advance(
        &self,
        at: &mut Position<S>,
        mut step: Superstep<'_, S>,
        frame: &dyn Frame<S>,
    ) -> Result<Advanced, Halt> {
        let tasks = std::mem::take(&mut at.pending.next);
        let last = || last_of(&tasks);
        let writes = match at.gained {
            Some(_) => all_writes(&step.writes),
            None => Vec::new(),
        };
        let untracked = match &mut at.gained {
            Some(_) => {
                let writes = step.writes.iter().flatten();
                writes.flat_map(|write| write.untracked.clone()).collect()
            }
            None => Vec::new(),
        };
        let reduced = self.graph.reduce(&at.state, &tasks, &mut step.writes);
        let deltas = match reduced {
            Ok(deltas) => deltas,
            Err(error) => return Ok(Advanced::Refused(last(), refused(&error))),
        };
        let moving = Move {
            source: Source::Step,
            from: None,
            step: at.step + 1,
            done: &tasks,
            writes,
            untracked,
            deltas,
            messages: step.take_messages(),
            begins: None,
            taken: self.taken(&mut step, &tasks),
        };
        let mut write = self.scope.write();
        let moved = self.moved(at, moving, &mut write, |state, before, number| {
            let planned = self.planned(number);
            self.graph.follow(state, step.done(), before, planned)
        });
        match moved {
            Ok(()) => {}
            Err(OpenError::Halt(halt)) => return Err(halt),
            Err(OpenError::Input(error)) => {
                self.go_back(at).await?;
                return Ok(Advanced::Refused(last(), refused(&error)));
            }
        }
        if at.pending.next.is_empty() {
            frame.close(&end(at, Outcome::Completed), &mut write);
        }
        match self.scope.append(write).await.map_err(unrecorded) {
            Ok(()) => {
                self.tell(at);
                Ok(Advanced::On)
            }
            Err(NodeError::Halt(halt)) => Err(halt),
            Err(error) => {
                self.go_back(at).await?;
                Ok(Advanced::Refused(last(), error))
            }
        }
    }

    /// The calls of the step whose state is kept.
    fn taken(&self, step: &mut Superstep<'_, S>, tasks: &[Task]) -> Vec<(NodeName, Taken)> {
        if self.graph.keeping.is_empty() {
            return Vec::new();
        }
        let mut memories = std::mem::take(&mut step.memories);
        let writes = tasks.iter().zip(&step.writes).enumerate();
        let keep = |write: &Option<TaskWrite>| write.as_ref().is_some_and(|write| write.keeps);
        let kept = writes.filter(|(_, (_, write))| keep(write));
        kept.map(|(place, (task, _))| {
            let taken = Taken {
                chain: self.scope.namespace().child(&task.task),
                memory: memories.remove(&place),
            };
            (task.node.clone(), taken)
        })
        .collect()
    }

    /// Goes back to where the records say that the graph stands, after writes that
    /// were not taken. Where nothing is recorded, it stays where it is.
    async fn go_back(&self, at: &mut Position<S>) -> Result<(), Halt> {
        let nothing = self.scope.run().durability == Durability::None;
        if nothing || at.gained.is_some() {
            return Ok(());
        }
        let scope = self.scope.renewed().await?;
        *at = Position::on(S::empty(&self.graph.channels), &scope, false)?;
        Ok(())
    }

    /// Moves `at` on, and adds to `write` the checkpoint that says so, after that of
    /// migrations that are on no record yet. The same
    /// `apply` that reads a log back; the state is changed in place, since no task
    /// holds it any more.
    ///
    /// # Errors
    /// [`OpenError::Input`]: `follow` found nothing that can be next; [`Halt`]: the
    /// step that is not over has something of the state before a migration.
    pub(crate) fn moved(
        &self,
        at: &mut Position<S>,
        moving: Move<'_>,
        write: &mut Write,
        follow: impl FnOnce(&S, Pending, u64) -> Result<Pending, ScheduleError>,
    ) -> Result<(), OpenError> {
        let Move {
            source,
            from,
            step,
            done,
            mut writes,
            mut untracked,
            mut deltas,
            messages,
            begins,
            taken,
        } = moving;
        self.migrate(at, write)?;
        let is_first = at.checkpoint == 0;
        let fresh = Fresh::of(&messages);
        let find = &mut |id: &_| fresh.find(id).map_or_else(|| self.scope.message(id), Ok);
        at.apply(&deltas, find).map_err(Halt::from)?;
        let number = at.checkpoint + 1;
        let before = std::mem::take(&mut at.pending);
        let pending = follow(&at.state, before, number)?;
        for (node, call) in taken {
            at.kept.take(node, call);
        }
        if let Some(gained) = &mut at.gained {
            gained.extend_from_slice(&writes);
            at.lost.extend_from_slice(&untracked);
        }
        if self.graph.has_untracked {
            untracked.extend(forget(&mut writes, |channel| {
                self.graph.is_tracked(channel)
            }));
            deltas.retain(|(channel, _)| self.graph.is_tracked(channel));
        }
        let base = match begins {
            None => None,
            Some(Beginning::On(base)) => Some(base),
            Some(Beginning::Whole(mut whole)) => {
                whole.append(&mut deltas);
                deltas = whole;
                None
            }
        };
        let body = Body {
            checkpoint: number,
            step,
            source,
            from,
            base: base.as_ref(),
            deltas: &deltas,
            writes: &writes,
            untracked: &untracked,
            done: done.iter().map(|task| &task.task),
            kept: &at.kept.chains,
            migrations: if is_first || source == Source::Fork {
                &at.migrations
            } else {
                &[]
            },
            pending: &pending,
        };
        for message in messages {
            write.message(message);
        }
        if self.scope.namespace().is_root() {
            write.reaches(number);
        }
        let bytes = write.commit(body.kind(), &body);
        at.checkpoint = number;
        at.step = step;
        at.pending = pending;
        self.snapshot(at, bytes, write);
        Ok(())
    }

    /// Tells those who watch of a checkpoint.
    fn tell(&self, at: &Position<S>) {
        self.scope.emit(|| Event::CheckpointSaved {
            namespace: self.scope.namespace().clone(),
            checkpoint: at.checkpoint,
            steps: at.step,
            is_durable: !self.scope.is_behind(),
        });
        self.scope
            .emit_to(Interest::Values, || Event::StateCommitted {
                namespace: self.scope.namespace().clone(),
                checkpoint: at.checkpoint,
                state: at.state.to_json(),
            });
    }

    /// Adds a snapshot of where a checkpoint of `bytes` led, if one is due.
    fn snapshot(&self, at: &mut Position<S>, bytes: usize, write: &mut Write) {
        let mut growth = at.growth;
        growth.add(bytes);
        if at.gained.is_some() {
            at.growth = growth;
            return;
        }
        let room = || MAX_BATCH_BYTES.saturating_sub(write.bytes());
        let due = growth.due(room, || self.whole(at));
        at.growth = growth;
        if let Some(snapshot) = due {
            // More may come to be written with it.
            write.spare_commit(snapshot.kind(), &snapshot);
        }
    }

    /// The state as a snapshot.
    pub(crate) fn whole(&self, at: &Position<S>) -> Snapshot {
        let (messages, calls) = self.scope.minted();
        Snapshot {
            checkpoint: at.checkpoint,
            at: None,
            messages,
            calls,
            state: at.deltas(),
            kept: at.kept.chains.clone(),
            migrations: at.migrations.clone(),
        }
    }
}
