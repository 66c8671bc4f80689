//! How a node is run: deferred, tried again, timed, in a group, handled.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use rustagents_core::{code::Class, ids::NodeName};
use serde_json::Value;

use crate::node::NodeFailure;

/// How a node is run. What is not said is as the graph's defaults say.
#[derive(Clone, Debug, Default)]
pub struct NodeSpec {
    pub(crate) is_deferred: bool,
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) timeout: Option<Timeout>,
    pub(crate) on_error: Option<NodeName>,
    pub(crate) group: Option<String>,
    pub(crate) is_optional: bool,
    pub(crate) asks: AsksAround,
    pub(crate) keeps_state: bool,
    pub(crate) metadata: BTreeMap<String, Value>,
}

impl NodeSpec {
    /// As the graph's defaults say.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs when nothing else is left to do. No graph's defaults can say it: were all
    /// nodes deferred, none would be.
    #[must_use]
    pub fn deferred(mut self) -> Self {
        self.is_deferred = true;
        self
    }

    /// Tries again after a failure.
    #[must_use]
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = Some(policy);
        self
    }

    /// Fails a try that takes too long.
    #[must_use]
    pub fn timeout(mut self, timeout: Timeout) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Runs `node` in the next step once the last try failed, and sends it a
    /// [`Failure`](crate::Failure); the step itself goes on. What the node sends there
    /// itself is no failure, and has to be among its commands as all that it sends.
    #[must_use]
    pub fn on_error(mut self, node: impl Into<NodeName>) -> Self {
        self.on_error = Some(node.into());
        self
    }

    /// Runs at most as many tasks at the same time as the group allows.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Its failure fails nothing: it then writes nothing, and goes on as if it had
    /// ended well. A node with routes or commands cannot be optional, and the
    /// defaults of a graph with such a node cannot say it.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }

    /// Asks a person before each of its tasks; any answer lets it run. Where the graph's
    /// defaults say it, all nodes do.
    #[must_use]
    pub fn ask_before(mut self) -> Self {
        self.asks.before = true;
        self
    }

    /// Asks a person after each of its tasks; any answer lets the graph go on. Where the
    /// graph's defaults say it, all nodes do.
    #[must_use]
    pub fn ask_after(mut self) -> Self {
        self.asks.after = true;
        self
    }

    /// Keeps the state of the graph inside by thread: a task of the node begins where
    /// the last one ended whose step was taken, in this run or an earlier one. Of a
    /// graph on the state of the one around it, the channels of its own are kept;
    /// of one behind an adapter all are, and the input is written on top.
    ///
    /// The node must hold a graph, as [`subgraph`](crate::GraphBuilder::subgraph) and
    /// [`adapted`](crate::GraphBuilder::adapted) declare it. Two tasks of it in one
    /// superstep are refused, since neither could begin where the other ended. No graph's
    /// defaults can say it.
    #[must_use]
    pub fn keep_state(mut self) -> Self {
        self.keeps_state = true;
        self
    }

    /// Says something of the node to whoever looks at the graph's shape: an owner, a
    /// link. It means nothing to the graph. What the defaults say of another key is
    /// kept.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// With what is not said here as `defaults` say, the error handler left out: whether
    /// that is for a node, the graph knows. What [is no default](Self::not_a_default) is
    /// left out, too.
    pub(crate) fn or(mut self, defaults: &Self) -> Self {
        self.retry = self.retry.or_else(|| defaults.retry.clone());
        self.timeout = self.timeout.or(defaults.timeout);
        self.group = self.group.or_else(|| defaults.group.clone());
        self.is_optional |= defaults.is_optional;
        self.asks.before |= defaults.asks.before;
        self.asks.after |= defaults.asks.after;
        for (key, value) in &defaults.metadata {
            let entry = self.metadata.entry(key.clone());
            entry.or_insert_with(|| value.clone());
        }
        self
    }

    /// What each node has to say for itself, of what is said here.
    pub(crate) fn not_a_default(&self) -> impl Iterator<Item = &'static str> {
        let said = [
            (self.is_deferred, "deferred"),
            (self.keeps_state, "keep_state"),
        ];
        said.into_iter()
            .filter(|(is_said, _)| *is_said)
            .map(|(_, name)| name)
    }

    /// Whether a task of it is anything but run once.
    pub(crate) fn is_plain(&self) -> bool {
        self.retry.is_none()
            && self.timeout.is_none()
            && self.on_error.is_none()
            && self.group.is_none()
            && !(self.is_optional || self.asks.before || self.asks.after)
    }
}

/// At which ends of a task a person is asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AsksAround {
    pub(crate) before: bool,
    pub(crate) after: bool,
}

/// How often and when a failed task is tried again.
///
/// The pause after the n-th failure is `initial × factorⁿ⁻¹`, at most `cap`, and
/// spread by a tenth either way so that tasks that failed together do not come
/// back together; the spread is made of the task's id and the try, so that it is
/// the same each time.
#[derive(Clone)]
pub struct RetryPolicy {
    pub(crate) tries: u32,
    pub(crate) initial: Duration,
    pub(crate) factor: f64,
    pub(crate) cap: Duration,
    pub(crate) decides: Arc<dyn Fn(&NodeFailure) -> bool + Send + Sync>,
}

impl fmt::Debug for RetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryPolicy")
            .field("tries", &self.tries)
            .field("initial", &self.initial)
            .field("factor", &self.factor)
            .field("cap", &self.cap)
            .finish_non_exhaustive()
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            tries: 3,
            initial: Duration::from_millis(500),
            factor: 2.0,
            cap: Duration::from_secs(128),
            decides: Arc::new(|failure| failure.class != Class::Caller),
        }
    }
}

impl RetryPolicy {
    /// Three tries in all, after half a second and then a whole one, for every
    /// failure but that of a caller.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many tries there are in all, from 1.
    #[must_use]
    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = tries;
        self
    }

    /// The first pause, and by what each next one is longer.
    #[must_use]
    pub fn pause(mut self, initial: Duration, factor: f64) -> Self {
        self.initial = initial;
        self.factor = factor;
        self
    }

    /// The longest pause.
    #[must_use]
    pub fn cap(mut self, cap: Duration) -> Self {
        self.cap = cap;
        self
    }

    /// Which failures are worth another try.
    #[must_use]
    pub fn when(mut self, decides: impl Fn(&NodeFailure) -> bool + Send + Sync + 'static) -> Self {
        self.decides = Arc::new(decides);
        self
    }

    /// Whether there is another try after `failure` of try `number`.
    pub(crate) fn goes_on(&self, number: u32, failure: &NodeFailure) -> bool {
        number < self.tries && (self.decides)(failure)
    }

    /// The pause after try `number`; `seed` spreads it.
    pub(crate) fn pause_after(&self, number: u32, seed: u64) -> Duration {
        let exponent = i32::try_from(number.saturating_sub(1)).unwrap_or(i32::MAX);
        let cap = self.cap.as_secs_f64();
        let plain = self.initial.as_secs_f64() * self.factor.max(1.0).powi(exponent);
        let plain = if plain.is_finite() {
            plain.min(cap)
        } else {
            cap
        };
        let spread = 0.9 + 0.2 * f64::from(u32::try_from(seed % 1_000).unwrap_or(0)) / 1_000.0;
        Duration::from_secs_f64((plain * spread).min(cap))
    }
}

/// How long a try may take. A node that took too long is dropped where it is, once
/// its steps in flight have ended, and the `once` effects in graphs and agents inside
/// it; an agent or a graph inside is not tried again after that in the same attempt at
/// the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeout {
    pub(crate) run: Option<Duration>,
    pub(crate) idle: Option<Duration>,
}

impl Timeout {
    /// From its begin to its end.
    pub fn run(limit: Duration) -> Self {
        Self {
            run: Some(limit),
            idle: None,
        }
    }

    /// Between two signs of life: a heartbeat, what the task
    /// [tells](crate::TaskContext::tell), or a step that ends. Those of what runs inside
    /// count for the node around it, however deep it is: of an agent, each part of an
    /// answer as it comes, each answer, and each call that begins or ends; of a graph,
    /// each task that begins or ends, each superstep, and the signs of its tasks.
    pub fn idle(limit: Duration) -> Self {
        Self {
            run: None,
            idle: Some(limit),
        }
    }

    /// Both limits.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            run: self.run.or(other.run),
            idle: self.idle.or(other.idle),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_cap_and_there_are_three_tries() {
        let policy = RetryPolicy::new();
        let pause = |number| policy.pause_after(number, 500).as_millis();
        assert_eq!([1, 2, 3, 4].map(pause), [500, 1_000, 2_000, 4_000]);
        assert_eq!([9, 10, 1_000, u32::MAX].map(pause), [128_000; 4]);
        for seed in [0, 999] {
            assert_eq!(policy.pause_after(20, seed).max(policy.cap), policy.cap);
        }
        let failed = |class| NodeFailure {
            code: rustagents_core::code::Code::NodeFailed,
            message: "no luck".into(),
            hint: None,
            class,
        };
        let tries = (1..9).filter(|number| policy.goes_on(*number, &failed(Class::Retryable)));
        assert_eq!(tries.count(), 2, "after the first and the second");
        assert!(!policy.goes_on(1, &failed(Class::Caller)));
    }
}
