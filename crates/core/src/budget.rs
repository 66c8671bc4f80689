//! The budget of a run and all its children: never unlimited.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    code::{Code, Coded},
    message::Usage,
};

/// What a run may consume at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Supersteps, with those of graphs inside, per run.
    pub steps: u64,
    /// Model calls; each try counts.
    pub model_calls: u64,
    /// Tool calls; each try counts.
    pub tool_calls: u64,
    /// Driven time; waiting for people does not count.
    pub driven: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 50,
            model_calls: 100,
            tool_calls: 200,
            driven: Duration::from_mins(10),
        }
    }
}

/// How large the graphs of a run may grow, whatever is left of its budget. Beyond it, a
/// task or a step fails, with a code. It is no part of what is recorded: each attempt
/// has that of who drives it.
///
/// ```
/// use rustagents_core::budget::Bounds;
///
/// let bounds = Bounds::default().max_depth(12);
/// assert_eq!((bounds.depth(), bounds.tasks(), bounds.steps()), (12, 10_000, 10_000));
/// assert_eq!(Bounds::default().max_depth(1_000).depth(), Bounds::MOST.depth());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    depth: usize,
    tasks: usize,
    steps: u32,
}

impl Bounds {
    /// The largest that there are.
    pub const MOST: Self = Self {
        depth: 16,
        tasks: 100_000,
        steps: 100_000,
    };

    /// The same, with graphs at most `graphs` deep in each other: 8 unless set, and
    /// at most 16.
    #[must_use]
    pub fn max_depth(self, graphs: usize) -> Self {
        let depth = graphs.min(Self::MOST.depth);
        Self { depth, ..self }
    }

    /// The same, with at most `tasks` in a superstep, those of deferred nodes among
    /// them: 10,000 unless set, and at most 100,000.
    #[must_use]
    pub fn max_tasks(self, tasks: usize) -> Self {
        let tasks = tasks.min(Self::MOST.tasks);
        Self { tasks, ..self }
    }

    /// The same, with at most `steps` of one task in an attempt, found ones and what
    /// it spawned among them: 10,000 unless set, and at most 100,000.
    #[must_use]
    pub fn max_task_steps(self, steps: u32) -> Self {
        let steps = steps.min(Self::MOST.steps);
        Self { steps, ..self }
    }

    /// How deep graphs may lie in each other.
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// How many tasks a superstep may have.
    pub const fn tasks(&self) -> usize {
        self.tasks
    }

    /// How many steps a task may make in an attempt.
    pub const fn steps(&self) -> u32 {
        self.steps
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            depth: 8,
            tasks: 10_000,
            steps: 10_000,
        }
    }
}

/// What can run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Resource {
    /// Supersteps.
    Steps,
    /// Model calls.
    ModelCalls,
    /// Tool calls.
    ToolCalls,
    /// Driven time, in milliseconds.
    DrivenTime,
}

impl Resource {
    const fn noun(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::ModelCalls => "model calls",
            Self::ToolCalls => "tool calls",
            Self::DrivenTime => "milliseconds of driven time",
        }
    }
}

/// A limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run may take {limit} {}, and all are used", resource.noun())]
pub struct BudgetExceeded {
    /// What ran out.
    pub resource: Resource,
    /// How much there was.
    pub limit: u64,
}

impl Coded for BudgetExceeded {
    fn code(&self) -> Code {
        Code::BudgetExceeded
    }

    fn hint(&self) -> Option<String> {
        Some("raise the limit if the work is as long as that".into())
    }
}

/// What a run consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Supersteps.
    pub steps: u64,
    /// Model calls.
    pub model_calls: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Driven time of earlier attempts, in milliseconds.
    pub driven_ms: u64,
    /// What the model calls consumed.
    pub usage: Usage,
}

/// The shared counter of a run tree. Cheap to clone; all clones count together.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Counters>);

#[derive(Debug)]
struct Counters {
    limits: Limits,
    steps: AtomicU64,
    model_calls: AtomicU64,
    tool_calls: AtomicU64,
    driven_before_ms: u64,
    usage: Mutex<Usage>,
}

impl Budget {
    /// A budget of which `spent` is already used.
    pub fn resumed(limits: Limits, spent: Spent) -> Self {
        Self(Arc::new(Counters {
            limits,
            steps: spent.steps.into(),
            model_calls: spent.model_calls.into(),
            tool_calls: spent.tool_calls.into(),
            driven_before_ms: spent.driven_ms,
            usage: Mutex::new(spent.usage),
        }))
    }

    /// Begins a superstep: of the run's graph, or of one inside it.
    ///
    /// # Errors
    /// [`BudgetExceeded`] when none is left.
    pub fn begin_step(&self) -> Result<StepBegun<'_>, BudgetExceeded> {
        self.take(Resource::Steps)?;
        Ok(StepBegun(self))
    }

    /// Goes on with a superstep that an earlier attempt began, whatever is left.
    pub fn continue_step(&self) -> StepBegun<'_> {
        self.0.steps.fetch_add(1, Ordering::Relaxed);
        StepBegun(self)
    }

    /// Takes one of `resource`.
    ///
    /// # Errors
    /// [`BudgetExceeded`] when none is left; nothing is taken then.
    pub fn take(&self, resource: Resource) -> Result<(), BudgetExceeded> {
        let (counter, limit) = match resource {
            Resource::Steps => (&self.0.steps, self.0.limits.steps),
            Resource::ModelCalls => (&self.0.model_calls, self.0.limits.model_calls),
            Resource::ToolCalls => (&self.0.tool_calls, self.0.limits.tool_calls),
            Resource::DrivenTime => return Ok(()),
        };
        let taken = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            (used < limit).then_some(used + 1)
        });
        taken
            .map(drop)
            .map_err(|_| BudgetExceeded { resource, limit })
    }

    /// How much driven time is left after `attempt` has driven for so long.
    ///
    /// # Errors
    /// [`BudgetExceeded`] when none is left.
    pub fn time_left(&self, attempt: Duration) -> Result<Duration, BudgetExceeded> {
        let used = Duration::from_millis(self.0.driven_before_ms) + attempt;
        match self.0.limits.driven.checked_sub(used) {
            Some(left) if !left.is_zero() => Ok(left),
            _ => Err(self.out_of_time()),
        }
    }

    /// What is said once all driven time is used.
    pub fn out_of_time(&self) -> BudgetExceeded {
        BudgetExceeded {
            resource: Resource::DrivenTime,
            limit: u64::try_from(self.0.limits.driven.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Notes what a recorded model call consumed.
    pub fn consumed(&self, usage: Usage) {
        *self.usage() += usage;
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.0.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is used so far.
    pub fn spent(&self) -> Spent {
        Spent {
            steps: self.0.steps.load(Ordering::Relaxed),
            model_calls: self.0.model_calls.load(Ordering::Relaxed),
            tool_calls: self.0.tool_calls.load(Ordering::Relaxed),
            driven_ms: self.0.driven_before_ms,
            usage: *self.usage(),
        }
    }
}

/// A superstep that was begun. It counts while it is at work, and for good once it is
/// [recorded](Self::recorded): so the count is that of the records.
#[derive(Debug)]
#[must_use = "a superstep that is dropped does not count"]
pub struct StepBegun<'b>(&'b Budget);

impl StepBegun<'_> {
    /// The step is done, and on record.
    pub fn recorded(self) {
        std::mem::forget(self);
    }
}

impl Drop for StepBegun<'_> {
    fn drop(&mut self) {
        self.0.0.steps.fetch_sub(1, Ordering::Relaxed);
    }
}
