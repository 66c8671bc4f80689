//! One task from its begin to its end: asked for, tried again, timed.

use std::{sync::Arc, time::Duration};

use futures::future::{Either, select};
use rustagents_core::{
    ask::{Ask, Subject},
    code::{Class, Code},
    event::Event,
    ids::AskId,
    journal::kind,
    scope::{Halt, Moment, Scope},
};
use serde::{Deserialize, Serialize};

use super::Driver;
use crate::{
    cache::{keepable, kept_output},
    effect::Asked,
    graph::{CompiledNode, Position},
    kept::CallBefore,
    node::{Holds, NodeError, NodeFailure, NodeOutput, TaskContext},
    policy::{NodeSpec, Timeout},
    record::{FailedTry, Task, TaskWrite},
    state::GraphState,
    task::{TaskEnd, TaskFuture},
    way_out::WayOut,
};

/// What the ids of the questions before and after a task end with.
const BEFORE: &str = "before";
const AFTER: &str = "after";

/// A task of the step, with its node.
pub(super) struct Activation<'t, S: GraphState> {
    /// Its place in the step.
    pub(super) index: usize,
    pub(super) task: &'t Task,
    pub(super) node: &'t CompiledNode<S>,
}

/// A task that is over, for now.
pub(super) struct Activated<'t, S: GraphState> {
    pub(super) what: Activation<'t, S>,
    pub(super) took: Duration,
    pub(super) end: TaskEnd<S>,
}

/// How a task failed, as its error handler is sent it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The node.
    pub node: String,
    /// The task.
    pub task: String,
    /// The stable code.
    pub code: String,
    /// One line.
    pub message: String,
    /// How often it was tried.
    pub tries: u32,
}

/// What came of all tries at a task.
struct Tried<S: GraphState> {
    end: TaskEnd<S>,
    /// Whether it is what the node gave back, and not what follows its failure.
    is_own: bool,
}

impl<S: GraphState> Tried<S> {
    fn own(end: TaskEnd<S>) -> Self {
        Self { end, is_own: true }
    }
}

impl<S: GraphState> Driver<'_, S> {
    pub(super) async fn activate<'t>(
        &self,
        at: &Position<S>,
        what: Activation<'t, S>,
    ) -> Activated<'t, S> {
        let began = self.watch();
        let Activation { task, node, .. } = what;
        let end = if node.is_plain() {
            self.started(task);
            self.run_once(at, node, task).await
        } else {
            self.guarded(at, node, task).await
        };
        Activated {
            what,
            took: self.watch().saturating_sub(began),
            end,
        }
    }

    fn started(&self, task: &Task) {
        self.scope.emit(|| Event::NodeStarted {
            node: task.node.clone(),
            task: self.told(task),
        });
    }

    /// A task of a node that has more to it than to be run once.
    async fn guarded(&self, at: &Position<S>, node: &CompiledNode<S>, task: &Task) -> TaskEnd<S> {
        if let Some(ask) = self.ask_before(node, task) {
            return TaskEnd::Suspended(Asked::of(ask));
        }
        let cached = node.cache.as_ref().and_then(|rule| {
            let argument = task.argument.as_ref();
            let key = rule.key(&self.graph.name, &task.node, &at.state, argument)?;
            Some((rule, key))
        });
        let now = self.scope.run().clock.now_ms();
        if let Some((rule, key)) = &cached
            && let Ok(Some(write)) = rule.cache.get(*key, now).await
        {
            self.scope.emit(|| Event::NodeCached {
                node: task.node.clone(),
                task: self.told(task),
            });
            return TaskEnd::Done(kept_output(write));
        }
        self.started(task);
        let Tried { end, is_own } = self.tried(at, node, task).await;
        match (end, cached) {
            (TaskEnd::Done(mut output), Some((rule, key))) if is_own => {
                output.settle();
                if let Some(write) = keepable_here(at, node, &output) {
                    rule.keep(key, write, now).await;
                }
                TaskEnd::Done(output)
            }
            (end, _) => end,
        }
    }

    /// A task, as often as its node is tried.
    async fn tried(&self, at: &Position<S>, node: &CompiledNode<S>, task: &Task) -> Tried<S> {
        let mut number = self.failed_tries(task);
        let mut renewed: Option<Scope> = None;
        loop {
            number += 1;
            let scope = renewed.as_ref().unwrap_or(self.scope);
            let holds = self.holds(at, node);
            let context = match node.spec.timeout {
                Some(_) => TaskContext::limited(scope, task, number, holds),
                None => TaskContext::new(scope, task, number, holds),
            };
            let ended = self.attempt(at, node, &context).await;
            let TaskEnd::Failed(NodeError::Failed(failure)) = ended else {
                return Tried::own(ended);
            };
            let retry = node.spec.retry.as_ref();
            let retry = retry.filter(|_| may_retry(node, &context, &failure));
            let Some(retry) = retry.filter(|retry| retry.goes_on(number, &failure)) else {
                return Tried {
                    end: self.given_up(&node.spec, task, number, failure),
                    is_own: false,
                };
            };
            let noted = match self.note_try(task, number, &failure).await {
                Ok(moment) => moment,
                Err(halt) => return Tried::own(TaskEnd::Failed(halt.into())),
            };
            let pause = retry.pause_after(number, seed(task, number));
            let sleep = self.scope.run().clock.sleep(pause);
            if let Err(halt) = self.unless_cancelled(sleep).await {
                return Tried::own(TaskEnd::Failed(halt.into()));
            }
            // Chains inside the task go on from what the failed try committed.
            renewed = match self.scope.renewed_after(&noted).await {
                Ok(scope) => Some(scope),
                Err(error) => return Tried::own(TaskEnd::Failed(Halt::from(error).into())),
            };
        }
    }

    /// What comes of the last failure: the error handler's task, nothing at all, or
    /// the failure of the step.
    fn given_up(
        &self,
        spec: &NodeSpec,
        task: &Task,
        tries: u32,
        failure: NodeFailure,
    ) -> TaskEnd<S> {
        if spec.on_error.is_none() && !spec.is_optional {
            return TaskEnd::Failed(NodeError::Failed(failure));
        }
        self.scope.emit(|| Event::NodeFailed {
            node: task.node.clone(),
            task: self.told(task),
            message: failure.message.clone(),
        });
        let output = NodeOutput::default();
        let Some(handler) = &spec.on_error else {
            return TaskEnd::Done(output);
        };
        let sent = Failure {
            node: task.node.to_string(),
            task: task.task.to_string(),
            code: failure.code.to_string(),
            message: failure.message,
            tries,
        };
        match serde_json::to_value(&sent) {
            Ok(sent) => TaskEnd::Done(output.handled_by(handler, sent)),
            Err(error) => TaskEnd::Failed(NodeError::failed(error.to_string())),
        }
    }

    /// What a node knows of the graph that it holds, if it does.
    fn holds(&self, at: &Position<S>, node: &CompiledNode<S>) -> Option<Box<Holds>> {
        node.node.graph()?;
        Some(Box::new(Holds {
            call: call_before(at, node),
            out: WayOut::of(node, self.out.as_ref()),
        }))
    }

    /// Runs a plain node.
    fn run_once<'t>(
        &self,
        at: &Position<S>,
        node: &'t CompiledNode<S>,
        task: &Task,
    ) -> TaskFuture<'t, S> {
        let context = TaskContext::new(self.scope, task, 1, self.holds(at, node));
        TaskFuture::new(&*node.node, Arc::clone(&at.state), context)
    }

    /// Runs the node once, within its time.
    async fn attempt(
        &self,
        at: &Position<S>,
        node: &CompiledNode<S>,
        context: &TaskContext,
    ) -> TaskEnd<S> {
        let mut run = TaskFuture::new(&*node.node, Arc::clone(&at.state), context.clone());
        let Some(timeout) = node.spec.timeout else {
            return run.await;
        };
        let failure = match select(&mut run, Box::pin(self.too_long(timeout, context))).await {
            Either::Left((ended, _)) => return ended,
            Either::Right((failure, _)) => failure,
        };
        if let Some(halt) = run.cut().await {
            return TaskEnd::Failed(halt.into());
        }
        context.unless_in_doubt(TaskEnd::Failed(NodeError::Failed(failure)))
    }

    /// Completes when a try took too long.
    async fn too_long(&self, timeout: Timeout, context: &TaskContext) -> NodeFailure {
        let clock = &self.scope.run().clock;
        let began = clock.elapsed();
        loop {
            let now = clock.elapsed();
            let run = timeout.run.map(|limit| (began + limit, limit, "took"));
            let alive = context.scope().last_sign_of_life().max(began);
            let idle = timeout
                .idle
                .map(|limit| (alive + limit, limit, "was idle for"));
            let Some((ends, limit, what)) = run.into_iter().chain(idle).min() else {
                return std::future::pending().await;
            };
            if ends <= now {
                return NodeFailure {
                    code: Code::NodeTimeout,
                    class: Class::Retryable,
                    message: format!("the node {what} more than {} ms", limit.as_millis()),
                    hint: None,
                };
            }
            clock.sleep(ends.saturating_sub(now)).await;
        }
    }

    /// Waits, unless the run is cancelled meanwhile.
    async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Halt> {
        let cancel = &self.scope.run().cancel;
        match select(Box::pin(work), Box::pin(cancel.cancelled())).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right(_) => Err(Halt::Cancelled),
        }
    }

    /// How many tries of a task failed before this attempt at the run, each of
    /// which is followed by another one.
    fn failed_tries(&self, task: &Task) -> u32 {
        let namespace = self.scope.namespace();
        let known = |number: u32| {
            let key = FailedTry::key(namespace, &task.task, number);
            self.scope.fact(&key).is_some()
        };
        let mut failed = 0;
        while known(failed + 1) {
            failed += 1;
        }
        failed
    }

    /// Records that a try failed and that there will be another one; says since when
    /// that is found.
    async fn note_try(
        &self,
        task: &Task,
        number: u32,
        failure: &NodeFailure,
    ) -> Result<Moment, Halt> {
        self.scope.emit(|| Event::NodeRetried {
            node: task.node.clone(),
            task: self.told(task),
            tries: number,
            message: failure.message.clone(),
        });
        let mut fact = self.scope.write();
        let key = FailedTry::key(self.scope.namespace(), &task.task, number);
        let failed = FailedTry {
            number,
            message: failure.message.clone(),
        };
        fact.fact(key, kind::FAILED_TRY, &failed);
        self.scope.append(fact).await?;
        Ok(self.scope.moment().await?)
    }

    /// The question before a task, where it is to be asked and nobody has answered.
    fn ask_before(&self, node: &CompiledNode<S>, task: &Task) -> Option<Ask> {
        node.spec.asks.before.then_some(())?;
        self.unanswered(task, BEFORE, format!("run `{}`?", task.node))
    }

    /// The question after a task, where nobody has answered it.
    pub(super) fn question_after(&self, task: &Task) -> Option<Ask> {
        self.unanswered(task, AFTER, format!("go on after `{}`?", task.node))
    }

    fn question_id(&self, task: &Task, when: &str) -> AskId {
        let namespace = self.scope.namespace().child(&task.task);
        AskId::from(format_args!("{namespace}/{when}"))
    }

    fn unanswered(&self, task: &Task, when: &str, prompt: String) -> Option<Ask> {
        let id = self.question_id(task, when);
        if self.scope.fact(&Ask::answer_key(&id)).is_some() {
            return None;
        }
        Some(Ask {
            id,
            node: task.node.clone(),
            prompt,
            subject: Subject::Interrupt {
                options: Vec::new(),
                until_ms: None,
            },
        })
    }

    /// The time, where somebody hears how long a task took.
    fn watch(&self) -> Duration {
        let run = self.scope.run();
        if run.events.are_heard() {
            run.clock.elapsed()
        } else {
            Duration::ZERO
        }
    }
}

/// What a task knows of the last call of its node, where that keeps the state of its
/// graph.
fn call_before<S: GraphState>(at: &Position<S>, node: &CompiledNode<S>) -> Option<CallBefore> {
    let keeps = node.spec.keeps_state;
    keeps.then(|| CallBefore(at.kept.last(&node.name)))
}

/// What of an output may be another task's, if the graph takes it at all.
fn keepable_here<S: GraphState>(
    at: &Position<S>,
    node: &CompiledNode<S>,
    output: &NodeOutput<S>,
) -> Option<TaskWrite> {
    let write = keepable(output)?;
    let mut writes = write.writes.iter();
    let fits = writes.all(|(channel, written)| at.state.check(channel, written).is_ok());
    (fits && node.check_way(&write).is_ok()).then_some(write)
}

/// Whether there may be another try in this attempt. Where a time-out cut a chain of
/// its own, there may not: what was on its way there may still arrive.
fn may_retry<S: GraphState>(
    node: &CompiledNode<S>,
    context: &TaskContext,
    failure: &NodeFailure,
) -> bool {
    let cuts = node.node.stops_itself() || context.has_cut_graph();
    failure.code != Code::NodeTimeout || !cuts
}

/// The same for the same try of the same task.
fn seed(task: &Task, number: u32) -> u64 {
    let text = format!("{}#{number}", task.task);
    let bytes = text.bytes();
    // FNV-1a, <http://www.isthe.com/chongo/tech/comp/fnv/>.
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
