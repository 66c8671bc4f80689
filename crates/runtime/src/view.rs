//! A thread as its log tells it.

use std::collections::{BTreeSet, HashMap, HashSet};

use rustagents_agent::call::CallRecords;
use rustagents_core::{
    ask::{Answer, Ask, Subject},
    budget::Limits,
    digest::Digest,
    ids::{AskId, Branch, CallId, FactKey, Namespace, RunId, ThreadId},
    journal::{Journal, JournalError, Kind, Record, Seq, kind},
    log::ThreadLog,
    tool::Trace,
};
use rustagents_graph::record::{Checkpoint, Pending};
use serde_json::Value;

use crate::{
    doubt::{self, Doubted, Tasks},
    record::{RunAttempt, RunClosed, RunOpened, RunSuspended},
    report::{Report, Status},
    runs::RunError,
    threads::find,
};

/// The kinds that say how a run stands; others on its chain do not.
const TELLING: [Kind; 5] = [
    kind::RUN_OPENED,
    kind::RUN_ATTEMPT,
    kind::RUN_SUSPENDED,
    kind::RUN_CLOSED,
    kind::CHECKPOINT,
];

/// A thread's last run.
#[derive(Clone, Debug)]
pub struct ThreadView {
    /// The thread.
    pub thread: ThreadId,
    /// The run.
    pub run: RunId,
    /// What opened it.
    pub opened: RunOpened,
    /// The definition that its last attempt executed.
    pub definition: Digest,
    /// What it may consume.
    pub limits: Limits,
    /// The attempts so far.
    pub attempts: u32,
    /// The attempt that last reopened it after it had ended; 0 where none did.
    pub(crate) retried: u32,
    /// How it stands.
    pub phase: Phase,
    /// The questions of the run, each with its answer. Those without one are void
    /// once the run ended, until it waits for them again, and once their task is
    /// no longer pending.
    pub asks: Vec<(Ask, Option<Answer>)>,
    left: Option<Pending>,
    waited_for: Vec<AskId>,
    log: ThreadLog,
}

/// How a run stands, by its log alone.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// It ended.
    Closed(RunClosed),
    /// It waits for people.
    Suspended,
    /// It is being driven, or its driver is gone.
    Open,
}

/// What makes a question void that nobody answered.
struct Asked<'a> {
    /// Where the run was last closed; 0: nowhere. Likewise below.
    closed: Seq,
    suspended: Seq,
    /// What it waited for when it was last suspended.
    waited_for: HashSet<&'a AskId>,
    /// What is left to do, where that is known.
    tasks: Option<Tasks<'a>>,
}

impl Asked<'_> {
    /// Whether an answer would still be heard.
    fn is_open(&self, record: &Record, ask: &Ask) -> bool {
        let waits = self.suspended > self.closed && self.waited_for.contains(&ask.id);
        (waits || record.seq > self.closed) && self.has_task(&record.chain.namespace, ask)
    }

    /// Whether the task that asks is pending. A question stands on its task's chain,
    /// or on that of the run and begins with the task.
    fn has_task(&self, namespace: &Namespace, ask: &Ask) -> bool {
        let asker = if namespace.is_root() {
            ask.id.as_str()
        } else {
            namespace.as_str()
        };
        self.tasks.as_ref().is_none_or(|tasks| tasks.hold(asker))
    }
}

/// Whether a question has no more to decide: the call was settled without it, or the
/// driver of an effect in doubt was late, but told how the effect ended.
fn is_settled(log: &ThreadLog, ask: &Ask) -> bool {
    let what = match &ask.subject {
        Subject::Approval(call) => {
            let result = FactKey::from(format_args!("call/{}/result", call.call));
            return log.fact(&Branch::main(), &result).is_some();
        }
        Subject::InDoubt(_) => "call",
        Subject::StepInDoubt(_) => "step",
        _ => return false,
    };
    let Some((effect, number)) = ask.id.as_str().rsplit_once("/doubt/") else {
        return false;
    };
    // A question that is asked again has a number more.
    let number = number.split('/').next().unwrap_or_default();
    let ends = [
        format!("{what}/{effect}/result"),
        format!("{what}/{effect}/released/{number}"),
    ];
    let mut ends = ends.iter().map(|key| FactKey::from(key.as_str()));
    ends.any(|key| log.fact(&Branch::main(), &key).is_some())
}

/// Whether a commit of the root chain says how its run stands.
pub(crate) fn tells(record: &Record) -> bool {
    TELLING.iter().any(|kind| record.is(*kind))
}

/// How the last run stands, by the commits of the root chain.
pub(crate) fn phase<'r>(
    mut commits: impl DoubleEndedIterator<Item = &'r Record>,
) -> Result<Phase, JournalError> {
    Ok(match commits.rfind(|record| tells(record)) {
        Some(last) if last.is(kind::RUN_CLOSED) => Phase::Closed(last.decode(kind::RUN_CLOSED)?),
        Some(last) if last.is(kind::RUN_SUSPENDED) => Phase::Suspended,
        _ => Phase::Open,
    })
}

impl ThreadView {
    /// Reads a thread; `None` if no run was ever opened on it.
    ///
    /// # Errors
    /// Whatever the journal says.
    pub async fn load(
        journal: &dyn Journal,
        thread: &ThreadId,
    ) -> Result<Option<Self>, JournalError> {
        Self::of(
            thread,
            ThreadLog::load(journal, thread, &Branch::main()).await?,
        )
    }

    /// Reads a thread on which a run was opened.
    ///
    /// # Errors
    /// [`RunError::UnknownThread`], and whatever the journal says.
    pub async fn known(journal: &dyn Journal, thread: &ThreadId) -> Result<Self, RunError> {
        match Self::load(journal, thread).await? {
            Some(view) => Ok(view),
            None => Err(RunError::UnknownThread {
                thread: thread.clone(),
                is_empty: find(journal, thread).await?.is_some(),
            }),
        }
    }

    pub(crate) fn of(thread: &ThreadId, log: ThreadLog) -> Result<Option<Self>, JournalError> {
        let (branch, root) = (Branch::main(), Namespace::root());
        let Some(opening) = log
            .commits(&branch, &root)
            .rfind(|r| r.is(kind::RUN_OPENED))
        else {
            return Ok(None);
        };
        let (run, opened) = (
            opening.run.clone(),
            opening.decode::<RunOpened>(kind::RUN_OPENED)?,
        );
        let of_run = |record: &&Record| record.run == run;
        let attempts = log
            .records()
            .iter()
            .filter(of_run)
            .map(|record| record.attempt)
            .max();
        let (mut definition, mut limits, mut retried) = (opened.definition, opened.limits, 0);
        let begun = log
            .commits(&branch, &root)
            .filter(|record| record.run == run);
        for record in begun.filter(|record| record.is(kind::RUN_ATTEMPT)) {
            let attempt: RunAttempt = record.decode(kind::RUN_ATTEMPT)?;
            definition = attempt.definition.unwrap_or(definition);
            limits = attempt.limits.unwrap_or(limits);
            if attempt.retries {
                retried = attempt.attempt;
            }
        }
        let last = |kind| {
            let mut commits = log.commits(&branch, &root);
            commits.rfind(|record| record.is(kind) && record.run == run)
        };
        let waited_for = match last(kind::RUN_SUSPENDED) {
            Some(record) => record.decode::<RunSuspended>(kind::RUN_SUSPENDED)?.asks,
            None => Vec::new(),
        };
        let left = match last(kind::CHECKPOINT) {
            Some(record) => Some(record.decode::<Checkpoint>(kind::CHECKPOINT)?.pending),
            None => None,
        };
        let asked = Asked {
            closed: last(kind::RUN_CLOSED).map_or(0, |record| record.seq),
            suspended: last(kind::RUN_SUSPENDED).map_or(0, |record| record.seq),
            waited_for: waited_for.iter().collect(),
            tasks: left.as_ref().map(Tasks::of),
        };
        let mut asks = Vec::new();
        let raised = log.records().iter().filter(of_run);
        for record in raised.filter(|record| record.is(kind::ASK)) {
            let ask: Ask = record.decode(kind::ASK)?;
            let answer = log.fact(&branch, &Ask::answer_key(&ask.id));
            let answer = answer.map(|record| record.decode(kind::ANSWER));
            let answer: Option<Answer> = answer.transpose()?;
            if answer.is_some() || (asked.is_open(record, &ask) && !is_settled(&log, &ask)) {
                asks.push((ask, answer));
            }
        }
        let phase = phase(log.commits(&branch, &root))?;
        let (thread, attempts) = (thread.clone(), attempts.unwrap_or(1));
        Ok(Some(Self {
            thread,
            run,
            opened,
            definition,
            limits,
            attempts,
            retried,
            phase,
            asks,
            left,
            waited_for,
            log,
        }))
    }

    /// The questions that nobody has answered, in the order in which the run
    /// last waited for them.
    pub fn pending(&self) -> impl Iterator<Item = &Ask> {
        let open = self.asks.iter().filter(|(_, answer)| answer.is_none());
        let mut open: Vec<_> = open.map(|(ask, _)| ask).collect();
        let waited_for = self.waited_for.iter().enumerate();
        // The first place counts, should one be named twice.
        let places: HashMap<_, _> = waited_for.rev().map(|(place, id)| (id, place)).collect();
        open.sort_by_key(|ask| places.get(&ask.id).copied().unwrap_or(usize::MAX));
        open.into_iter()
    }

    /// Whether something of the run may be done again: it is not over, or a retry
    /// reopens it.
    pub(crate) fn goes_on(&self) -> bool {
        match &self.phase {
            Phase::Closed(closed) => closed.status.is_retried(),
            _ => true,
        }
    }

    /// Whether tasks are left that may still be done.
    pub(crate) fn has_tasks(&self) -> bool {
        let has_some = |left: &Pending| !left.next.is_empty() || !left.deferred.is_empty();
        self.goes_on() && self.left.as_ref().is_some_and(has_some)
    }

    /// Whether the time of a pending question is over at `now_ms`, in milliseconds
    /// since the Unix epoch: its task finds that out once it runs again.
    pub fn is_due(&self, now_ms: u64) -> bool {
        self.pending().any(|ask| match ask.subject {
            Subject::Interrupt { until_ms, .. } => until_ms.is_some_and(|until| until <= now_ms),
            _ => false,
        })
    }

    /// Whether nothing can be done before somebody answers, or before a question
    /// [`is_due`](Self::is_due).
    pub fn waits(&self) -> bool {
        let records = self.log.records().iter().rev();
        let mut since = records.take_while(|record| !record.is(kind::RUN_SUSPENDED));
        self.phase == Phase::Suspended
            && self.pending().next().is_some()
            && !since.any(|record| record.is(kind::ANSWER))
    }

    /// Whether somebody [asked](crate::Runtime::request_cancel) for the end of the run,
    /// and it did not end since: a resume closes it.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`]: a record cannot be read.
    pub fn is_cancel_requested(&self) -> Result<bool, JournalError> {
        crate::inbox::is_asked(self)
    }

    /// The steps and calls of the run that were started and may have taken effect:
    /// nothing says how their last try ended, no person did, and their task is not
    /// over. Each with its tool, or `step`.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`]: a record cannot be read.
    pub fn in_doubt(&self) -> Result<Vec<(CallId, String)>, JournalError> {
        let doubted = doubt::doubted(self)?.into_iter();
        Ok(doubted.map(Doubted::into_call).collect())
    }

    /// What is left to do, where that is known.
    pub(crate) fn left(&self) -> Option<&Pending> {
        self.left.as_ref()
    }

    /// What calls of the run started that may still be at work: nothing says how
    /// they ended. Each with the call's own words about it.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`]: a record cannot be read.
    pub fn started(&self) -> Result<Vec<(CallId, Value)>, JournalError> {
        let mut calls = BTreeSet::new();
        let of_run = self.log.records().iter().filter(|r| r.run == self.run);
        for record in of_run.filter(|record| record.is(kind::STARTED)) {
            calls.extend(Trace::call_of(&record.place));
        }
        let mut started = Vec::new();
        for call in calls {
            let fact = |key: &FactKey| self.log.fact(&Branch::main(), key);
            let records = CallRecords::gather(&call, fact)?;
            if let Some(trace) = records.open_trace() {
                started.push((call, trace.clone()));
            }
        }
        Ok(started)
    }

    /// The log behind the view.
    pub fn log(&self) -> &ThreadLog {
        &self.log
    }

    /// What a run that is not being driven came to.
    pub fn report(&self) -> Report {
        let (thread, run) = (self.thread.clone(), self.run.clone());
        if let Phase::Closed(closed) = &self.phase {
            return Report {
                has_plan: self.opened.target.has_plan(),
                ..Report::of_closed(thread, run, closed.clone())
            };
        }
        let spent = crate::ledger::spent(&self.log, &self.run).unwrap_or_default();
        Report {
            thread,
            run,
            status: Status::Suspended,
            output: None,
            is_closed: false,
            has_plan: self.opened.target.has_plan(),
            asks: self.pending().cloned().collect(),
            error: None,
            hint: None,
            steps: spent.steps,
            spent,
            events_lost: None,
        }
    }
}
