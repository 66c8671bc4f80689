//! Effects that must not be forgotten or repeated, and the tasks that they are of.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt,
};

use rustagents_agent::call::{CallRecords, IntentBody};
use rustagents_core::{
    ask::Ask,
    ids::{Branch, CallId, FactKey, Namespace},
    journal::{JournalError, Record, kind},
    log::ThreadLog,
};
use rustagents_graph::record::{Checkpoint, Pending, Task};

use crate::view::ThreadView;

/// Tasks that are left to do.
pub(crate) struct Tasks<'a>(HashSet<&'a str>);

impl<'a> Tasks<'a> {
    pub(crate) fn of(pending: &'a Pending) -> Self {
        pending.next.iter().chain(&pending.deferred).collect()
    }

    /// Whether `name` is that of one of them, or of something inside one.
    pub(crate) fn hold(&self, name: &str) -> bool {
        around(name).any(|name| self.0.contains(name))
    }
}

impl<'a> FromIterator<&'a str> for Tasks<'a> {
    fn from_iter<I: IntoIterator<Item = &'a str>>(tasks: I) -> Self {
        Self(tasks.into_iter().collect())
    }
}

impl<'a> FromIterator<&'a Task> for Tasks<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Task>>(tasks: I) -> Self {
        let tasks = tasks.into_iter();
        Self(tasks.map(|task| task.task.as_str()).collect())
    }
}

/// The names of all that `name` is inside of, from the outermost to itself.
pub(crate) fn around(name: &str) -> impl Iterator<Item = &str> {
    let ends = name.match_indices('/').map(|(end, _)| end);
    let ends = ends.chain(std::iter::once(name.len()));
    ends.filter_map(|end| name.get(..end))
}

/// A step or call that may have taken effect, and where.
pub(crate) struct Doubted {
    pub(crate) call: CallId,
    /// Of a call.
    pub(crate) tool: Option<String>,
    pub(crate) namespace: Namespace,
}

impl Doubted {
    /// The call with its tool; that of a step is `step`.
    pub(crate) fn into_call(self) -> (CallId, String) {
        (self.call, self.tool.unwrap_or_else(|| "step".into()))
    }
}

impl fmt::Display for Doubted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tool {
            Some(tool) => write!(f, "call `{}` ({tool})", self.call),
            None => write!(f, "step `{}`", self.call),
        }
    }
}

/// The steps and calls of the run that were started and must not run twice, and of
/// which neither a record nor a person says how they ended. Those of tasks that are
/// over are not among them: what became of them was for their node to say.
pub(crate) fn doubted(view: &ThreadView) -> Result<Vec<Doubted>, JournalError> {
    let mut doubted = steps(view);
    for (intent, namespace) in calls(view)? {
        doubted.push(Doubted {
            call: intent.call,
            tool: Some(intent.tool),
            namespace,
        });
    }
    let live = Live::of(view)?;
    doubted.retain(|doubted| live.holds(&doubted.namespace));
    Ok(doubted)
}

/// The tasks of a run that are not over.
struct Live<'a> {
    tasks: Option<Tasks<'a>>,
    /// Tasks of graphs inside the graph.
    done: HashSet<Namespace>,
    log: &'a ThreadLog,
}

impl<'a> Live<'a> {
    fn of(view: &'a ThreadView) -> Result<Self, JournalError> {
        let of_run = view.log().records().iter().filter(|r| r.run == view.run);
        let inner = of_run.filter(|r| r.is(kind::CHECKPOINT) && !r.chain.namespace.is_root());
        let mut done = HashSet::new();
        for record in inner {
            let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT)?;
            let tasks = checkpoint.done.iter();
            done.extend(tasks.map(|task| record.chain.namespace.child(task)));
        }
        Ok(Self {
            tasks: view.left().map(Tasks::of),
            done,
            log: view.log(),
        })
    }

    fn holds(&self, namespace: &Namespace) -> bool {
        let name = namespace.as_str();
        let is_left = self.tasks.as_ref().is_none_or(|tasks| tasks.hold(name));
        is_left && !around(name).any(|name| self.is_done(name))
    }

    fn is_done(&self, name: &str) -> bool {
        let write = FactKey::from(format_args!("write/{name}"));
        self.done.contains(name) || self.log.fact(&Branch::main(), &write).is_some()
    }
}

fn steps(view: &ThreadView) -> Vec<Doubted> {
    let is_told = |key: FactKey| view.log().fact(&Branch::main(), &key).is_some();
    let mut last = BTreeMap::new();
    let of_run = view.log().records().iter().filter(|r| r.run == view.run);
    for record in of_run.filter(|record| record.is(kind::STEP_INTENT)) {
        let step = step_of(record).unwrap_or_default();
        let (start, _) = last.entry(step).or_insert((0_u32, record));
        *start += 1;
    }
    let asks: BTreeSet<_> = view.pending().map(|ask| ask.id.as_str()).collect();
    let is_open = |(step, (start, _)): &(&str, (u32, &Record))| {
        let asked = format!("{step}/doubt/");
        let mut asks = asks.range(&*asked..);
        let is_asked = asks.next().is_some_and(|ask| ask.starts_with(&asked));
        let is_settled = is_told(format_args!("step/{step}/result").into())
            || is_told(format_args!("step/{step}/released/{start}").into())
            || is_told(Ask::answer_key(
                &format_args!("{step}/doubt/{start}").into(),
            ));
        is_asked || !is_settled
    };
    let open = last.into_iter().filter(is_open);
    let doubted = open.map(|(step, (_, record))| Doubted {
        call: CallId::from(step),
        tool: None,
        namespace: record.chain.namespace.clone(),
    });
    doubted.collect()
}

fn calls(view: &ThreadView) -> Result<Vec<(IntentBody, Namespace)>, JournalError> {
    let of_run = view.log().records().iter().filter(|r| r.run == view.run);
    let mut last = BTreeMap::new();
    for record in of_run.filter(|record| record.is(kind::INTENT)) {
        let intent: IntentBody = record.decode(kind::INTENT)?;
        let namespace = record.chain.namespace.clone();
        last.insert(intent.call.clone(), (intent, namespace));
    }
    let mut doubted = Vec::new();
    for (intent, namespace) in last.into_values() {
        let fact = |key: &FactKey| view.log().fact(&Branch::main(), key);
        if CallRecords::gather(&intent.call, fact)?.is_in_doubt() {
            doubted.push((intent, namespace));
        }
    }
    Ok(doubted)
}

/// What the record of an intent is about, for people; `None` for other records.
pub(crate) fn effect(record: &Record) -> Result<Option<String>, JournalError> {
    if record.is(kind::STEP_INTENT) {
        return Ok(step_of(record).map(|step| format!("step `{step}`")));
    }
    if record.is(kind::INTENT) {
        let intent: IntentBody = record.decode(kind::INTENT)?;
        return Ok(Some(format!("call `{}` ({})", intent.call, intent.tool)));
    }
    Ok(None)
}

/// The step of an intent, by the key of its record.
fn step_of(record: &Record) -> Option<&str> {
    let key = record.key()?.as_str().strip_prefix("step/")?;
    key.rsplit_once("/intent/").map(|(step, _)| step)
}
