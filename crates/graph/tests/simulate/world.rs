//! What outlives every crash: what was done, what is on record, and what is to go
//! wrong next.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustagents_core::{
    clock::Clock,
    ids::TaskId,
    journal::{Batch, Entry, Place, kind},
};
use rustagents_testkit::simulate::{Dice, StormyJournal, VirtualClock};
use serde::{Deserialize, de::IgnoredAny};

use super::plan::{NodePlan, Work};

/// How a failure is marked that the simulation made.
pub(super) const CHAOS: &str = "chaos";

/// What stands in channels that no record keeps.
pub(super) const UNKEPT: &str = "for nobody's records";

/// What a checkpoint says of what was done.
#[derive(Deserialize)]
struct Taken {
    #[serde(default)]
    base: Option<IgnoredAny>,
    #[serde(default)]
    done: Vec<TaskId>,
}

/// Shared by all attempts at a run.
pub(super) struct World {
    pub(super) clock: VirtualClock,
    held: Mutex<Held>,
}

struct Held {
    dice: Dice,
    /// Nothing goes wrong any more.
    calm: bool,
    /// The process that is at work.
    process: Option<Arc<StormyJournal>>,
    /// How often a task, or a step of it, was made to fail.
    failed: BTreeMap<String, u32>,
    ledger: Ledger,
}

/// What was done, against what is on record.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    /// The tasks whose writes are on record.
    finished: BTreeSet<String>,
    /// How often each task was among those that a checkpoint says are done.
    pub(super) taken: BTreeMap<String, u32>,
    /// The steps whose results are.
    results: BTreeSet<String>,
    /// The payments of which a person told the result.
    told: BTreeSet<String>,
    /// The questions with a time that were answered, as the journal took it.
    answered: BTreeSet<String>,
    /// Those of which the journal said that it was too late.
    expired: BTreeSet<String>,
    /// Those of which a node was told so.
    given_up: BTreeSet<String>,
    /// The tasks of which a try failed.
    failed: BTreeSet<String>,
    /// A process or its journal died.
    struck: bool,
    /// The tasks that were begun, and how often.
    pub(super) begun: BTreeMap<String, u32>,
    /// The steps that were done, and how often.
    pub(super) steps: BTreeMap<String, u32>,
    /// The steps that must not be done twice, and how often they were.
    pub(super) payments: BTreeMap<String, u32>,
    /// What should not have happened.
    pub(super) violations: Vec<String>,
    /// Everything, in order.
    pub(super) trace: Vec<String>,
}

impl Ledger {
    fn durable(&mut self, batch: &Batch) {
        for entry in &batch.entries {
            self.entry(entry);
        }
    }

    fn entry(&mut self, entry: &Entry) {
        if entry.body.contains(UNKEPT) {
            let what = format!("a {} has what no record keeps", entry.kind.name);
            self.violations.push(what);
        }
        if entry.kind.name == kind::CHECKPOINT.name {
            let checkpoint: Taken = serde_json::from_str(&entry.body).unwrap();
            if checkpoint.base.is_some() {
                self.trace.push("a call goes on from another".into());
            }
            for task in &checkpoint.done {
                let path = entry.chain.namespace.child(task).to_string();
                *self.taken.entry(path.clone()).or_default() += 1;
                self.finished.insert(path);
            }
        }
        if entry.kind.name == kind::SNAPSHOT.name {
            self.trace.push("snapshot".into());
        }
        let Place::Fact(key) = &entry.place else {
            return;
        };
        if entry.kind == kind::TASK_WRITE {
            let path = key.as_str().strip_prefix("write/").unwrap();
            self.finished.insert(path.to_owned());
        } else if entry.kind == kind::STEP_RESULT {
            self.results.insert(key.as_str().to_owned());
        }
    }

    /// The steps whose results are on record, payments too, once for each result.
    fn with_results(&self) -> impl Iterator<Item = &str> {
        let keys = self
            .results
            .iter()
            .filter_map(|key| key.strip_prefix("step/"));
        keys.filter_map(|key| Some(key.rsplit_once("/result")?.0))
    }

    /// How many results of each step are on record that may be made again: one for each
    /// try that made it.
    pub(super) fn recorded(&self) -> BTreeMap<String, u32> {
        let mut recorded = BTreeMap::new();
        let steps = self.with_results();
        for step in steps.filter(|step| self.steps.contains_key(*step)) {
            *recorded.entry(step.to_owned()).or_default() += 1;
        }
        recorded
    }

    /// How often the end of a payment is known, by its record or by a person.
    pub(super) fn ends(&self, payment: &str) -> u32 {
        let is_of = |step: &&str| step.rsplit_once('#').is_some_and(|(of, _)| of == payment);
        let recorded = self.with_results().filter(is_of).count();
        u32::try_from(recorded).unwrap() + u32::from(self.told.contains(payment))
    }

    fn begin(&mut self, task: &str) {
        self.begin_again(task);
        *self.begun.entry(task.to_owned()).or_default() += 1;
    }

    fn begin_again(&mut self, task: &str) {
        let around = task.match_indices('/').filter_map(|(at, _)| task.get(..at));
        for path in around.chain([task]) {
            if self.finished.contains(path) {
                let what = format!("{task} began though the write of {path} is on record");
                self.violations.push(what);
            }
        }
        self.trace.push(format!("begin {task}"));
    }

    fn done(&mut self, step: &str, tries: u32) {
        let key = match tries {
            1 => format!("step/{step}/result"),
            tries => format!("step/{step}/result/{tries}"),
        };
        if self.results.contains(&key) {
            self.violations.push(format!("{key} was made again"));
        }
        let times = self.steps.entry(step.to_owned()).or_default();
        *times += 1;
        if *times > 1 {
            self.excuse(step, "was made again");
        }
        self.trace.push(format!("step {step} in try {tries}"));
    }

    /// What became of `step` is only right after a crash, or a failure of its task.
    fn excuse(&mut self, step: &str, what: &str) {
        let (task, _) = step.rsplit_once('/').unwrap();
        if !self.struck && !self.failed.contains(task) {
            let what = format!("{step} {what} without a crash or a failure");
            self.violations.push(what);
        }
    }

    fn paid(&mut self, step: &str) {
        let times = self.payments.entry(step.to_owned()).or_default();
        *times += 1;
        if *times > 1 {
            self.violations.push(format!("{step} was paid twice"));
        }
        self.trace.push(format!("payment {step}"));
    }
}

impl World {
    pub(super) fn new(dice: Dice, calm: bool) -> Arc<Self> {
        Arc::new(Self {
            clock: VirtualClock::new(),
            held: Mutex::new(Held {
                dice,
                calm,
                process: None,
                failed: BTreeMap::new(),
                ledger: Ledger::default(),
            }),
        })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn ledger(&self) -> Ledger {
        self.held().ledger.clone()
    }

    pub(super) fn note(&self, what: String) {
        self.held().ledger.trace.push(what);
    }

    pub(super) fn durable(&self, batch: &Batch) {
        self.held().ledger.durable(batch);
    }

    pub(super) fn begin_process(&self, process: Arc<StormyJournal>, calm: bool) {
        let mut held = self.held();
        held.process = Some(process);
        held.calm = calm;
    }

    /// The attempt is over; its process is let go, which knows this world.
    pub(super) fn end_process(&self) {
        self.held().process = None;
    }

    pub(super) fn strike(&self) {
        self.held().ledger.struck = true;
    }

    pub(super) fn fail(&self, task: &TaskId, message: &str) {
        let mut held = self.held();
        held.ledger.failed.insert(task.to_string());
        held.ledger.trace.push(format!("{task} failed: {message}"));
    }

    /// Somebody asks what became of `step`.
    pub(super) fn doubt(&self, step: &str) {
        self.held().ledger.excuse(step, "came in doubt");
    }

    /// Whether a payment was made, as a person finds out who then says so.
    pub(super) fn look_up(&self, payment: &str) -> bool {
        let ledger = &mut self.held().ledger;
        let is_paid = ledger.payments.contains_key(payment);
        if is_paid {
            ledger.told.insert(payment.to_owned());
        }
        is_paid
    }

    /// The journal took an answer to a question that has a time, or said that it has
    /// expired.
    pub(super) fn replied(&self, question: String, in_time: bool) {
        let ledger = &mut self.held().ledger;
        let replies = if in_time {
            &mut ledger.answered
        } else {
            ledger.trace.push(format!("too late for {question}"));
            &mut ledger.expired
        };
        replies.insert(question);
    }

    /// A node was given an answer to a question that has a time.
    pub(super) fn got_answer(&self, question: &str) {
        let ledger = &mut self.held().ledger;
        let told_otherwise = ledger.given_up.contains(question) && !ledger.struck;
        if ledger.expired.contains(question) || told_otherwise {
            let what = format!("{question} has expired, and was answered all the same");
            ledger.violations.push(what);
        }
    }

    /// A node was told that nobody answered a question in time.
    pub(super) fn got_none(&self, question: &str) {
        let ledger = &mut self.held().ledger;
        ledger.trace.push(format!("nobody answered {question}"));
        ledger.given_up.insert(question.to_owned());
        if ledger.answered.contains(question) {
            let what = format!("{question} was answered, and its node was told otherwise");
            ledger.violations.push(what);
        }
    }

    /// A node was given the result of a payment.
    pub(super) fn given(&self, payment: &str) {
        let ledger = &mut self.held().ledger;
        let steps = format!("step/{payment}#");
        let mut results = ledger.results.range(steps.clone()..);
        let is_recorded = results.next().is_some_and(|key| key.starts_with(&steps));
        if !is_recorded && !ledger.told.contains(payment) {
            let what = format!("the result of {payment} is used and not on record");
            ledger.violations.push(what);
        }
    }

    /// Never ends for a process that is gone, which just does not know it yet.
    async fn alive(&self) {
        let process = self.held().process.clone();
        if process.is_some_and(|process| process.is_gone()) {
            std::future::pending::<()>().await;
        }
    }

    /// Takes as long as the seed says.
    pub(super) async fn wait(&self) {
        let pause = {
            let mut held = self.held();
            match (held.calm, held.dice.below(20)) {
                (true, _) | (false, 0..6) => 0,
                (false, 6) => 500,
                (false, _) => 1 + held.dice.below(20),
            }
        };
        if pause > 0 {
            self.clock.sleep(Duration::from_millis(pause)).await;
        }
        self.alive().await;
    }

    pub(super) async fn begin(&self, task: &str) {
        self.alive().await;
        self.held().ledger.begin(task);
    }

    /// A task that need not begin, since its output may be there.
    pub(super) async fn begin_again(&self, task: &str) {
        self.alive().await;
        self.held().ledger.begin_again(task);
    }

    pub(super) async fn done(&self, step: &str, tries: u32) {
        self.alive().await;
        self.held().ledger.done(step, tries);
    }

    pub(super) async fn paid(&self, step: &str) {
        self.alive().await;
        self.held().ledger.paid(step);
    }

    /// Whether something fails in `task` now, which must not change what it comes to.
    pub(super) fn fails(&self, task: &str, node: &NodePlan) -> bool {
        let bound = bound(node);
        let mut held = self.held();
        if held.calm || !held.dice.chance(5) {
            return false;
        }
        let failed = held.failed.entry(task.to_owned()).or_default();
        if *failed >= bound {
            return false;
        }
        *failed += 1;
        held.ledger.failed.insert(task.to_owned());
        held.ledger.trace.push(format!("failure in {task}"));
        true
    }

    /// One of several ways in which something fails.
    pub(super) fn any(&self, ways: u64) -> u64 {
        self.held().dice.below(ways)
    }
}

/// How often a task may fail before that changes the end.
fn bound(node: &NodePlan) -> u32 {
    let policy = &node.policy;
    match &node.work {
        Work::Script(script) if script.fails => 0,
        _ if policy.fragile || policy.optional || policy.on_error.is_some() => {
            policy.tries.unwrap_or(1) - 1
        }
        _ => u32::MAX,
    }
}
