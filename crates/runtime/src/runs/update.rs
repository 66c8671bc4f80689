//! Changing the state of a thread from outside.

use std::sync::Arc;

use rustagents_core::{
    ask::Ask,
    budget::{Budget, Spent},
    ids::{AskId, NodeName, RunId, ThreadId},
    journal::{Claim, kind},
    message::Message,
    scope::{RunShared, Scope, Write},
};
use rustagents_graph::{END, Edit, NodeOutput, Position, Reducer, Update, Writes};
use serde_json::Value;

use super::{RunError, Runtime, Watch, check_values, refuse_doubt};
use crate::{
    doubt::{self, Doubted, Tasks},
    program::Program,
    record::RunSuspended,
    view::{Phase, ThreadView},
};

/// What is changed in a thread.
#[derive(Clone, Debug)]
pub struct UpdateState {
    /// The thread.
    pub thread: ThreadId,
    /// The changes; each becomes a checkpoint, all of them or none.
    pub edits: Vec<StateEdit>,
}

/// One change.
#[derive(Clone, Debug, Default)]
pub struct StateEdit {
    /// Values for channels. A text for a messages channel becomes the user's message.
    pub set: Vec<(String, Value)>,
    /// The node that counts as having written them: its pending tasks are done, and
    /// what follows it is pending. As [`END`], nothing is pending any more.
    pub as_node: Option<String>,
    /// The route that the node takes, where it has routes.
    pub route: Option<String>,
}

/// What an update came to.
#[derive(Clone, Debug)]
pub struct Updated {
    /// The thread.
    pub thread: ThreadId,
    /// The run whose checkpoints were added.
    pub run: RunId,
    /// Their numbers.
    pub checkpoints: Vec<u64>,
    /// The channels that were written, each once, by name.
    pub changed: Vec<String>,
    /// The nodes that are pending.
    pub next: Vec<NodeName>,
    /// The questions that are pending.
    pub asks: Vec<Ask>,
    /// Whether the run is over.
    pub is_closed: bool,
}

impl Runtime {
    /// Changes the state of a thread; how its last run stands stays as it is, unless
    /// an edit acts as a node. Tasks and questions keep their ids, but for those of
    /// such a node, which are void.
    ///
    /// # Errors
    /// [`RunError`], and nothing is written: an edit does not fit the graph, acts as
    /// a node of a run that is over ([`RunError::Stands`]), or in the place of a call
    /// in doubt ([`RunError::InDoubt`]); somebody drives the thread.
    pub async fn update_state(
        &self,
        program: &Program,
        update: UpdateState,
    ) -> Result<Updated, RunError> {
        let thread = &update.thread;
        self.wait_until_free(thread).await?;
        let view = self.known(thread).await?;
        self.updated(program, &view, &Claim::new(0, ()), &update)?;
        let claim = self.claim(thread).await?;
        let view = self.known(thread).await?;
        let (scope, at, write) = self.updated(program, &view, &claim, &update)?;
        scope.append(write).await?;
        let count = u64::try_from(update.edits.len()).unwrap_or(u64::MAX);
        let view = self.known(thread).await?;
        Ok(Updated {
            thread: update.thread,
            run: view.run.clone(),
            checkpoints: (at.checkpoint.saturating_sub(count) + 1..=at.checkpoint).collect(),
            changed: changed(&update.edits),
            next: at.tasks().iter().map(|task| task.node.clone()).collect(),
            asks: view.pending().cloned().collect(),
            is_closed: matches!(view.phase, Phase::Closed(_)),
        })
    }

    /// What is to be written, by whom, and where the graph stands then.
    fn updated(
        &self,
        program: &Program,
        view: &ThreadView,
        claim: &Claim,
        update: &UpdateState,
    ) -> Result<(Scope, Position, Write), RunError> {
        let scope = Scope::root(RunShared {
            run: view.run.clone(),
            attempt: view.attempts,
            log: view.log().clone(),
            budget: Budget::resumed(view.limits, Spent::default()),
            ..self.shared(view.thread.clone(), claim, Watch::default())
        });
        let at = program.graph().position(&scope)?;
        let acts = update.edits.iter().any(|edit| edit.as_node.is_some());
        if acts {
            refuse_acting(view, &at, &update.edits)?;
        }
        let edits = update.edits.iter();
        let edits = edits.map(|edit| self::edit(program, &scope, edit));
        let edits = edits.collect::<Result<Vec<_>, _>>()?;
        let mut write = Write::new();
        let at = program.graph().update(&scope, at, edits, &mut write)?;
        if !write.is_empty() {
            stands_as_before(view, acts, &mut write);
        }
        Ok((scope, at, write))
    }
}

/// The channels that `edits` write, each once.
fn changed(edits: &[StateEdit]) -> Vec<String> {
    let channels = edits.iter().flat_map(|edit| &edit.set);
    let mut changed: Vec<_> = channels.map(|(channel, _)| channel.clone()).collect();
    changed.sort();
    changed.dedup();
    changed
}

/// Refuses to act as a node where nothing would follow, or where it would make a
/// call in doubt be forgotten.
fn refuse_acting(view: &ThreadView, at: &Position, edits: &[StateEdit]) -> Result<(), RunError> {
    if let Phase::Closed(closed) = &view.phase {
        let thread = &view.thread;
        return Err(RunError::Stands {
            stands: format!(
                "is {}, so no update can act as a node of it",
                closed.status.as_str()
            ),
            thread: thread.clone(),
            hint: format!(
                "go back with `rag threads rewind {thread}@CHECKPOINT`, or reopen a run that \
                 failed with `rag threads retry {thread}`"
            ),
        });
    }
    let acts_as = |node: &NodeName| {
        let mut actors = edits.iter().filter_map(|edit| edit.as_node.as_deref());
        actors.any(|actor| actor == END || actor == node.as_str())
    };
    let tasks = at.pending.next.iter().chain(&at.pending.deferred);
    let replaced: Tasks<'_> = tasks.filter(|task| acts_as(&task.node)).collect();
    let doubted = doubt::doubted(view)?.into_iter();
    let lost = doubted.filter(|doubted| replaced.hold(doubted.namespace.as_str()));
    refuse_doubt(view, lost.map(Doubted::into_call).collect())
}

fn edit(
    program: &Program,
    scope: &Scope,
    edit: &StateEdit,
) -> Result<Edit<rustagents_graph::State>, RunError> {
    let is_said = |channel: &str| {
        let mut specs = program.graph().channels().iter();
        specs.any(|spec| spec.name == *channel && spec.reducer == Reducer::Messages)
    };
    let (said, set): (Vec<_>, Vec<_>) = edit
        .set
        .iter()
        .cloned()
        .partition(|(channel, value)| value.is_string() && is_said(channel));
    check_values(program, &set)?;
    let mut writes = Writes::new();
    for (channel, value) in set {
        writes.push(channel, Update::Value(value));
    }
    for (channel, text) in said {
        let text = text.as_str().unwrap_or_default();
        let message = Arc::new(Message::user(scope.mint_message(), text));
        writes.push(channel, Update::Messages(vec![message]));
    }
    let mut output = NodeOutput::of(writes);
    output.route.clone_from(&edit.route);
    Ok(match &edit.as_node {
        Some(node) => Edit::as_node(node.as_str(), output),
        None => Edit::new(output.update),
    })
}

/// Says once more how the run stands, behind the checkpoints: the last record says it.
fn stands_as_before(view: &ThreadView, acts: bool, write: &mut Write) {
    match &view.phase {
        Phase::Closed(closed) => {
            write.commit(kind::RUN_CLOSED, closed);
        }
        Phase::Suspended if !acts => {
            let asks: Vec<AskId> = view.pending().map(|ask| ask.id.clone()).collect();
            write.commit(kind::RUN_SUSPENDED, &RunSuspended { asks });
        }
        _ => {}
    }
}
