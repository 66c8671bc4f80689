//! Going on although what is pending does not fit the plan any more, as a person says.

use std::{collections::BTreeMap, sync::Arc};

use rustagents_agent::unfit::Unfit;
use rustagents_core::{
    ask::{Answer, Ask, Subject},
    budget::{Budget, Spent},
    code::Code,
    event::{Event, RunEnd},
    ids::{CallId, TaskId},
    journal::{Claim, kind},
    scope::{Halt, RunShared, Scope, Write},
};
use rustagents_graph::{
    Position,
    record::{Task, TaskWrite},
};

use super::{Another, Resume, RunError, Runtime, Watch, difference, started};
use crate::{
    answers::{AnswerError, Answers, Decision},
    doubt::{self, Doubted, Tasks},
    inbox, ledger,
    program::Program,
    record::{Forced, GoneWithout, RunClosed},
    report::Report,
    view::{Phase, ThreadView},
};

/// What a forced resume writes with its attempt, and tells.
pub(super) struct Forcing {
    pub(super) forced: Vec<Forced>,
    pub(super) write: Write,
    answers: Answers,
    /// Whether nothing is left to do.
    ends: bool,
}

impl Runtime {
    /// As [`resume`](Self::resume), but goes on without what no longer fits `program`:
    ///
    /// - A pending task whose node is gone is dropped, and its questions are void.
    /// - A pending call whose tool is gone, has another effect class or takes other
    ///   arguments gets a result that says that it was not run.
    ///
    /// What was dropped and settled is recorded with the attempt, and told as
    /// [`Event::Forced`]. If nothing is left to do then, the run ends as failed. Where
    /// all fits, it is a resume like any other.
    ///
    /// A call that changes something and may have taken effect is no less in doubt:
    /// `resume` must say what became of it, by [`Decision::Done`] or
    /// [`Decision::NotDone`], also if nobody was asked yet.
    ///
    /// # Errors
    /// [`RunError`], and nothing is written. [`RunError::ForcedDoubt`] names what may
    /// have taken effect. A question whose answers changed, or whose node does
    /// something else now, is refused as by `resume`.
    pub async fn resume_forced(
        &self,
        program: &Program,
        resume: Resume,
        watch: Watch,
    ) -> Result<Report, RunError> {
        let thread = resume.thread.clone();
        self.wait_until_free(&thread).await?;
        let view = self.known(&thread).await?;
        if self.forcing(program, &view, &resume.decisions)?.is_none() {
            return self.resume(program, resume, watch).await;
        }
        let claim = self.claim(&thread).await?;
        let view = self.known(&thread).await?;
        let Some(forcing) = self.forcing(program, &view, &resume.decisions)? else {
            drop(claim);
            return self.resume(program, resume, watch).await;
        };
        let another = Another {
            answers: &forcing.answers,
            limits: view.limits,
            retries: false,
            forcing: Some(&forcing),
        };
        if forcing.ends {
            return self
                .end_forced(program, &view, &claim, another, watch)
                .await;
        }
        self.go_on(program, &view, &claim, another, watch).await
    }

    /// Records an attempt that has nothing to do, and the end of the run.
    async fn end_forced(
        &self,
        program: &Program,
        view: &ThreadView,
        claim: &Claim,
        another: Another<'_>,
        watch: Watch,
    ) -> Result<Report, RunError> {
        let (keeping, watch) = self.kept(&view.thread, &view.run, watch);
        let scope = self.attempt(program, view, claim, another, watch).await?;
        let told = async {
            started(&scope);
            tell(&scope, another.forcing);
            let message = Some(NOTHING_LEFT.to_owned());
            scope.emit(|| Event::RunEnded {
                how: RunEnd::Failed,
                message,
            });
            Ok::<_, RunError>(())
        };
        keeping.through(Box::pin(told)).await?;
        let report = self.known(&view.thread).await?.report();
        Ok(report.missing(keeping.lost()))
    }

    /// What is to be forced; `None` if everything fits, or nothing is to be done.
    fn forcing(
        &self,
        program: &Program,
        view: &ThreadView,
        decisions: &[Decision],
    ) -> Result<Option<Forcing>, RunError> {
        if matches!(view.phase, Phase::Closed(_)) || inbox::is_asked(view)? {
            return Ok(None);
        }
        let scope = Scope::root(RunShared {
            run: view.run.clone(),
            attempt: view.attempts,
            log: view.log().clone(),
            budget: Budget::resumed(view.limits, Spent::default()),
            ..self.shared(view.thread.clone(), &Claim::new(0, ()), Watch::default())
        });
        let at = program.graph().position(&scope)?;
        let gone = Gone::of(program, &scope, &at)?;
        if gone.is_empty() {
            return Ok(None);
        }
        let answers = gone.decided(view, decisions)?;
        gone.check_rest(program, view, &answers)?;
        let mut write = Write::new();
        gone.settle(&scope, &answers, &mut write);
        let mut ends = false;
        if gone.drops() {
            let is_dropped = |task: &Task| gone.dropped.contains_key(&task.task);
            let at = program
                .graph()
                .drop_tasks(&scope, at, is_dropped, &mut write)?;
            ends = at.pending.next.is_empty();
        }
        if ends {
            let spent = ledger::spent(view.log(), &view.run)?;
            let closed = RunClosed::failed(Code::Incompatible, NOTHING_LEFT, spent);
            write.commit(kind::RUN_CLOSED, &closed);
        }
        Ok(Some(Forcing {
            forced: gone.forced(),
            write,
            answers,
            ends,
        }))
    }
}

const NOTHING_LEFT: &str = "nothing that was pending fits the plan any more";

/// Tells those who watch what was forced.
pub(super) fn tell(scope: &Scope, forcing: Option<&Forcing>) {
    for forced in forcing.iter().flat_map(|forcing| &forcing.forced) {
        scope.emit(|| Event::Forced {
            what: forced.what.to_string(),
            why: forced.why.clone(),
        });
    }
}

/// Refuses what is pending in the tasks of `at` and does not fit the plan.
pub(super) fn check(program: &Program, scope: &Scope, at: &Position) -> Result<(), RunError> {
    let gone = Gone::of(program, scope, at)?;
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
    /// Calls of dropped tasks, and of others those that do not fit.
    calls: Vec<GoneCall>,
}

impl Gone {
    fn of(program: &Program, scope: &Scope, at: &Position) -> Result<Self, RunError> {
        let joins = program.graph().lost_joins(&at.pending);
        let mut gone = Self {
            joins: joins.into_iter().map(str::to_owned).collect(),
            ..Self::default()
        };
        for task in at.pending.next.iter().chain(&at.pending.deferred) {
            gone.look_at(program, scope, task)?;
        }
        Ok(gone)
    }

    fn look_at(&mut self, program: &Program, scope: &Scope, task: &Task) -> Result<(), RunError> {
        let chain = scope.child(&task.task);
        let agent = program.agent(task.node.as_str());
        let has_node = program.graph().has_node(&task.node);
        let is_dropped = !has_node || (agent.is_none() && was_agent(&chain));
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

    fn is_empty(&self) -> bool {
        self.calls.is_empty() && !self.drops()
    }

    /// Whether tasks or joins are dropped.
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
                Some(Answer::Repeat) => {
                    return Err(RunError::Answer(AnswerError::Kind {
                        name: gone.call.call().to_string(),
                        takes: "`--done` or `--not-done`: it cannot be made again",
                    }));
                }
                Some(_) => {}
            }
        }
        open.extend(self.others_in_doubt(view)?);
        if open.is_empty() {
            return Ok(answers);
        }
        Err(RunError::ForcedDoubt {
            report: Box::new(asking.report()),
            calls: open,
        })
    }

    /// What else of dropped tasks may have taken effect.
    fn others_in_doubt(&self, view: &ThreadView) -> Result<Vec<(CallId, String)>, RunError> {
        let dropped: Tasks<'_> = self.dropped.keys().map(TaskId::as_str).collect();
        let is_asked = |call: &CallId| self.calls.iter().any(|gone| gone.call.call() == call);
        let doubted = doubt::doubted(view)?.into_iter();
        let others = doubted
            .filter(|doubted| dropped.hold(doubted.namespace.as_str()) && !is_asked(&doubted.call));
        Ok(others.map(Doubted::into_call).collect())
    }

    /// Refuses what is pending besides and does not fit, and answers to what is gone.
    fn check_rest(
        &self,
        program: &Program,
        view: &ThreadView,
        answers: &Answers,
    ) -> Result<(), RunError> {
        for ask in view.pending() {
            let difference = match self.gone_of(ask) {
                // A doubt is decided; anything else has nobody to hear the answer.
                Some(why) if !is_doubt(ask) && answers.of(&ask.id).is_some() => Some(why),
                Some(_) => None,
                None => difference(program, ask),
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
    fn gone_of(&self, ask: &Ask) -> Option<String> {
        if let Some(subject) = ask.call() {
            let mut calls = self.calls.iter();
            let gone = calls.find(|gone| *gone.call.call() == subject.call)?;
            return Some(gone.call.why().to_owned());
        }
        let asks = |(task, _): &(&TaskId, &String)| {
            let within = ask.id.as_str().strip_prefix(task.as_str());
            within.is_some_and(|rest| rest.starts_with('/'))
        };
        let (_, why) = self.dropped.iter().find(asks)?;
        Some(why.clone())
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
        let tasks = self.dropped.iter().map(|(task, why)| Forced {
            what: GoneWithout::Task(task.clone()),
            why: why.clone(),
        });
        let joins = self.joins.iter().map(|join| Forced {
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

fn is_doubt(ask: &Ask) -> bool {
    matches!(ask.subject, Subject::InDoubt(_))
}
