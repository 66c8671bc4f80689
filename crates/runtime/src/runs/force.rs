//! Going on although what is pending does not fit the plan any more, as a person says.

use rustagents_agent::Agent;
use rustagents_core::{
    ask::Ask,
    budget::{Budget, Spent},
    event::{Event, RunEnd},
    ids::NodeName,
    journal::Claim,
    scope::{RunShared, Scope},
};
use rustagents_graph::record::Pending;

use super::{Another, Resume, RunError, Runtime, Watch, difference, started};
use crate::{
    answers::Decision,
    gone::{self, Fits, Forcing},
    inbox,
    program::Program,
    report::Report,
    view::{Phase, ThreadView},
};

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
            gone::tell(&scope, another.forcing);
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
        Forcing::of((program.graph(), program), view, &scope, decisions)
    }
}

const NOTHING_LEFT: &str = "nothing that was pending fits the plan any more";

impl Fits for Program {
    fn has_node(&self, node: &NodeName) -> bool {
        self.graph().has_node(node)
    }

    fn lost_joins<'p>(&self, pending: &'p Pending) -> Vec<&'p str> {
        self.graph().lost_joins(pending)
    }

    fn agent(&self, node: &NodeName) -> Option<&Agent> {
        Self::agent(self, node.as_str())
    }

    fn knows_all_agents(&self) -> bool {
        true
    }

    fn difference(&self, ask: &Ask) -> Option<String> {
        difference(self, ask)
    }

    fn nothing_left(&self) -> &'static str {
        NOTHING_LEFT
    }
}
