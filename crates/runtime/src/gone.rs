//! What is pending and no longer fits what a run is to go on with, and going on without
//! it, as a person says. Plans and graphs of one's own share it.

use std::{collections::BTreeMap, sync::Arc};

use rustagents_agent::{Agent, unfit::Unfit};
use rustagents_core::{
    ask::{Answer, Ask},
    code::Code,
    event::Event,
    ids::{Branch, CallId, Namespace, NodeName, RunId, TaskId},
    journal::kind,
    log::ThreadLog,
    scope::{Halt, Scope, Without, Write},
};
use rustagents_graph::{
    Graph, GraphState, Lost, Position,
    record::{Pending, Task, TaskWrite},
};

use crate::{
    answers::{AnswerError, Answers, Decision},
    doubt::{self, Tasks},
    ledger,
    record::{Forced, GoneWithout, RunAttempt, RunClosed},
    runs::RunError,
    view::ThreadView,
};

/// What pending things have to fit.
pub(crate) trait Fits {
    fn has_node(&self, node: &NodeName) -> bool;

    /// The joins that `pending` waits for and that are gone.
    fn lost_joins<'p>(&self, pending: &'p Pending) -> Vec<&'p str>;

    /// The agent of a node.
    fn agent(&self, node: &NodeName) -> Option<&Agent>;

    /// Whether a node of which no agent is known has none.
    fn knows_all_agents(&self) -> bool;

    /// What no longer fits a pending question.
    fn difference(&self, ask: &Ask) -> Option<String>;

    /// Said of a run of which nothing is left to do.
    fn nothing_left(&self) -> &'static str;
}

/// What a forced resume writes with its attempt, and tells.
pub(crate) struct Forcing {
    pub(crate) forced: Vec<Forced>,
    pub(crate) write: Write,
    pub(crate) answers: Answers,
    /// Whether nothing is left to do.
    pub(crate) ends: bool,
}

impl Forcing {
    /// What `view` has to go on without in `graph`, of which `fits` says what fits;
    /// `None` if everything does. Nothing is written.
    ///
    /// # Errors
    /// [`RunError`]: what is gone may have taken effect and `decisions` do not say what
    /// became of it, or something else does not fit.
    pub(crate) fn of<S: GraphState>(
        (graph, fits): (&Graph<S>, &dyn Fits),
        view: &ThreadView,
        scope: &Scope,
        decisions: &[Decision],
    ) -> Result<Option<Self>, RunError> {
        let at = graph.position(scope)?;
        let mut gone = Gone::of(fits, scope, &at.pending)?;
        gone.lost(graph.lost_inside(scope, &at)?);
        if gone.is_empty() {
            return Ok(None);
        }
        let answers = gone.decided(view, decisions)?;
        gone.check_rest(fits, view, &answers)?;
        let mut write = Write::new();
        gone.settle(scope, &answers, &mut write);
        let mut at = graph.migrate(scope, at, &mut write)?;
        if gone.drops() {
            let is_dropped = |task: &Task| gone.dropped.contains_key(&task.task);
            at = graph.drop_tasks(scope, at, is_dropped, &mut write)?;
        }
        gone.inside
            .keys()
            .for_each(|task| scope.run().without.add(task.as_str()));
        gone.inside_joins
            .iter()
            .for_each(|join| scope.run().without.add(join));
        graph.check_going_on(scope, &at)?;
        let ends = gone.drops() && at.pending.next.is_empty();
        if ends {
            let spent = ledger::spent(view.log(), &view.run)?;
            let closed = RunClosed::failed(Code::Incompatible, fits.nothing_left(), spent);
            write.commit(kind::RUN_CLOSED, &closed);
        }
        Ok(Some(Self {
            forced: gone.forced(),
            write,
            answers,
            ends,
        }))
    }
}

/// What graphs inside the graph of `run` go on without, as its attempts say.
pub(crate) fn without(log: &ThreadLog, run: &RunId) -> Without {
    let without = Without::default();
    let records = log.records().iter();
    let attempts = records.filter(|record| record.run == *run && record.is(kind::RUN_ATTEMPT));
    for attempt in attempts {
        // Who looks at a thread has read its attempts already.
        let attempt = attempt.decode::<RunAttempt>(kind::RUN_ATTEMPT);
        for forced in attempt.into_iter().flat_map(|attempt| attempt.forced) {
            match forced.what {
                GoneWithout::Task(task) => without.add(task.as_str()),
                GoneWithout::Join(join) => without.add(join),
                GoneWithout::Call(_) => {}
            }
        }
    }
    without
}

/// Tells those who watch what was forced.
pub(crate) fn tell(scope: &Scope, forcing: Option<&Forcing>) {
    for forced in forcing.iter().flat_map(|forcing| &forcing.forced) {
        scope.emit(|| Event::Forced {
            what: forced.what.to_string(),
            why: forced.why.clone(),
        });
    }
}

/// Refuses calls that are pending in the tasks of `at` and do not fit.
pub(crate) fn check<S: GraphState>(
    fits: &dyn Fits,
    scope: &Scope,
    at: &Position<S>,
) -> Result<(), RunError> {
    let gone = Gone::of(fits, scope, &at.pending)?;
    match gone.calls.first() {
        Some(gone) => Err(RunError::Halt(Halt::Incompatible {
            what: format!("call {}", gone.call.call()),
            difference: gone.call.why().to_owned(),
        })),
        None => Ok(()),
    }
}

/// A pending call, and the task that it is of.
struct GoneCall {
    task: Arc<Task>,
    call: Unfit,
}

/// What is pending and does not fit the plan.
#[derive(Default)]
struct Gone {
    /// Tasks without a node, each with the reason.
    dropped: BTreeMap<TaskId, String>,
    joins: Vec<String>,
    /// The same of graphs inside, which drop them when their tasks go on.
    inside: BTreeMap<TaskId, String>,
    inside_joins: Vec<String>,
    /// Calls of dropped tasks, and of others those that do not fit.
    calls: Vec<GoneCall>,
}

impl Gone {
    fn of(fits: &dyn Fits, scope: &Scope, pending: &Pending) -> Result<Self, RunError> {
        let joins = fits.lost_joins(pending);
        let mut gone = Self {
            joins: joins.into_iter().map(str::to_owned).collect(),
            ..Self::default()
        };
        for task in pending.next.iter().chain(&pending.deferred) {
            gone.look_at(fits, scope, task)?;
        }
        Ok(gone)
    }

    fn look_at(&mut self, fits: &dyn Fits, scope: &Scope, task: &Task) -> Result<(), RunError> {
        let chain = scope.child(&task.task);
        let agent = fits.agent(&task.node);
        let has_node = fits.has_node(&task.node);
        let lost_agent = || agent.is_none() && fits.knows_all_agents() && was_agent(&chain);
        let is_dropped = !has_node || lost_agent();
        if is_dropped {
            let what = if has_node { "agent" } else { "node" };
            let why = format!("there is no {what} `{}` any more", task.node);
            self.dropped.insert(task.task.clone(), why);
        }
        let write = TaskWrite::key(scope.namespace(), &task.task);
        let looks = is_dropped || agent.is_some();
        if !looks || scope.fact(&write).is_some() {
            return Ok(());
        }
        let shared = Arc::new(task.clone());
        let calls = Unfit::of(agent.filter(|_| !is_dropped), &chain)?.into_iter();
        self.calls.extend(calls.map(|call| GoneCall {
            task: Arc::clone(&shared),
            call,
        }));
        Ok(())
    }

    /// Adds what graphs inside go on without.
    fn lost(&mut self, lost: Lost) {
        for (task, node) in lost.tasks {
            let why = format!("there is no node `{node}` any more");
            self.inside.insert(task, why);
        }
        self.inside_joins = lost.joins;
    }

    fn is_empty(&self) -> bool {
        let inside = !self.inside.is_empty() || !self.inside_joins.is_empty();
        self.calls.is_empty() && !self.drops() && !inside
    }

    /// Whether tasks or joins are dropped right here.
    fn drops(&self) -> bool {
        !self.dropped.is_empty() || !self.joins.is_empty()
    }

    fn is_dropped(&self, call: &GoneCall) -> bool {
        self.dropped.contains_key(&call.task.task)
    }

    /// The questions about its calls that may have taken effect.
    fn doubts(&self) -> impl Iterator<Item = (&GoneCall, Ask)> {
        let calls = self.calls.iter();
        calls.filter_map(|gone| Some((gone, gone.call.doubt(&gone.task.node)?)))
    }

    /// What the decisions come to, which have to say what became of each doubt.
    fn decided(&self, view: &ThreadView, decisions: &[Decision]) -> Result<Answers, RunError> {
        let mut asking = view.clone();
        for (_, ask) in self.doubts() {
            if !asking.asks.iter().any(|(asked, _)| asked.id == ask.id) {
                asking.asks.push((ask, None));
            }
        }
        let answers = Answers::resolve(&asking, decisions)?;
        let mut open = Vec::new();
        for (gone, ask) in self.doubts() {
            match answers.of(&ask.id) {
                None => open.push((gone.call.call().clone(), gone.call.tool().to_owned())),
                Some(Answer::Repeat) => return Err(cannot_repeat(gone.call.call())),
                Some(_) => {}
            }
        }
        open.extend(self.others_in_doubt(view, &answers)?);
        if open.is_empty() {
            return Ok(answers);
        }
        Err(RunError::ForcedDoubt {
            report: Box::new(asking.report()),
            calls: open,
        })
    }

    /// What else of dropped tasks may have taken effect, and nobody says what became of
    /// it.
    fn others_in_doubt(
        &self,
        view: &ThreadView,
        answers: &Answers,
    ) -> Result<Vec<(CallId, String)>, RunError> {
        let dropped = self.dropped_tasks();
        let is_own = |call: &CallId| self.calls.iter().any(|gone| gone.call.call() == call);
        let mut others = Vec::new();
        for doubted in doubt::doubted(view)? {
            if !dropped.hold(doubted.namespace.as_str()) || is_own(&doubted.call) {
                continue;
            }
            let asked = format!("{}/doubt/", doubted.call);
            let mut asks = view.pending();
            let ask = asks.find(|ask| ask.id.as_str().starts_with(&asked));
            match ask.and_then(|ask| answers.of(&ask.id)) {
                Some(Answer::Repeat) => return Err(cannot_repeat(&doubted.call)),
                Some(_) => {}
                None => others.push(doubted.into_call()),
            }
        }
        Ok(others)
    }

    fn dropped_tasks(&self) -> Tasks<'_> {
        let tasks = self.dropped.keys().chain(self.inside.keys());
        tasks.map(TaskId::as_str).collect()
    }

    /// Refuses what is pending besides and does not fit, and answers to what is gone.
    fn check_rest(
        &self,
        fits: &dyn Fits,
        view: &ThreadView,
        answers: &Answers,
    ) -> Result<(), RunError> {
        for ask in view.pending() {
            let difference = match self.gone_of(view, ask) {
                // A doubt is decided; anything else has nobody to hear the answer.
                Some(why) if !ask.subject.is_in_doubt() && answers.of(&ask.id).is_some() => {
                    Some(why)
                }
                Some(_) => None,
                None => fits.difference(ask),
            };
            if let Some(difference) = difference {
                return Err(RunError::Halt(Halt::Incompatible {
                    what: ask.id.to_string(),
                    difference,
                }));
            }
        }
        Ok(())
    }

    /// Why a question is void, if it is.
    fn gone_of(&self, view: &ThreadView, ask: &Ask) -> Option<String> {
        if let Some(subject) = ask.call() {
            let mut calls = self.calls.iter();
            if let Some(gone) = calls.find(|gone| *gone.call.call() == subject.call) {
                return Some(gone.call.why().to_owned());
            }
        }
        // Questions about calls are named by the calls; their facts say whose they are.
        let fact = view.log().fact(&Branch::main(), &ask.key());
        let namespace = fact.map(|record| &record.chain.namespace);
        let namespace = namespace.filter(|namespace| !namespace.is_root());
        let asker = namespace.map_or(ask.id.as_str(), Namespace::as_str);
        let mut around = doubt::around(asker);
        let why = around.find_map(|task| {
            let task = TaskId::from(task);
            self.dropped.get(&task).or_else(|| self.inside.get(&task))
        });
        why.cloned()
    }

    /// Adds what becomes of the calls.
    fn settle(&self, scope: &Scope, answers: &Answers, write: &mut Write) {
        for gone in &self.calls {
            let doubt = gone.call.doubt(&gone.task.node);
            if let Some(ask) = &doubt {
                gone.call.write_doubt(ask, write);
            }
            if !self.is_dropped(gone) {
                let answer = doubt.and_then(|ask| answers.of(&ask.id));
                gone.call.settle(scope, answer, write);
            }
        }
    }

    /// What is recorded of it.
    fn forced(&self) -> Vec<Forced> {
        let tasks = self.dropped.iter().chain(&self.inside);
        let tasks = tasks.map(|(task, why)| Forced {
            what: GoneWithout::Task(task.clone()),
            why: why.clone(),
        });
        let joins = self.joins.iter().chain(&self.inside_joins);
        let joins = joins.map(|join| Forced {
            what: GoneWithout::Join(join.clone()),
            why: "there is no such join any more".into(),
        });
        let calls = self.calls.iter().filter(|gone| !self.is_dropped(gone));
        let calls = calls.map(|gone| Forced {
            what: GoneWithout::Call(gone.call.call().clone()),
            why: gone.call.why().to_owned(),
        });
        tasks.chain(joins).chain(calls).collect()
    }
}

/// Whether an agent worked on the task of `chain`.
fn was_agent(chain: &Scope) -> bool {
    chain.commits().any(|record| record.is(kind::TRANSITION))
}

fn cannot_repeat(call: &CallId) -> RunError {
    RunError::Answer(AnswerError::Kind {
        name: call.to_string(),
        takes: "`--done` or `--not-done`: it cannot be made again",
    })
}
