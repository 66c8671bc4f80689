//! The time of a task: what is in flight and in doubt inside it when that is over.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures::task::AtomicWaker;

use crate::{
    ask::Ask,
    ids::{AskId, Namespace},
};

/// The time of one task, which may lie in that of another one.
#[derive(Debug, Default)]
pub(crate) struct Limit {
    around: Option<Arc<Self>>,
    /// It is of something that the task around it has at work beside its node.
    is_beside: bool,
    is_over: AtomicBool,
    /// When it last gave a sign of life, in nanoseconds of the run's clock.
    alive: AtomicU64,
    unsettled: AtomicUsize,
    /// How much of that is beside the node.
    beside: AtomicUsize,
    waker: AtomicWaker,
    doubts: Mutex<Doubts>,
}

#[derive(Debug, Default)]
struct Doubts {
    asks: Vec<(Namespace, Ask)>,
    /// The questions among them that somebody was told of.
    told: Vec<AskId>,
}

/// An effect that must not be dropped in the middle, from before it begins until its
/// end is recorded. Dropping it says that it is.
#[derive(Debug)]
#[must_use = "the effect is waited for as long as this is kept"]
pub struct Unsettled(Option<Arc<Limit>>);

impl Limit {
    pub(crate) fn inside(around: Option<&Arc<Self>>) -> Arc<Self> {
        Arc::new(Self {
            around: around.cloned(),
            ..Self::default()
        })
    }

    pub(crate) fn beside(around: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self {
            around: Some(Arc::clone(around)),
            is_beside: true,
            ..Self::default()
        })
    }

    pub(crate) fn around(&self) -> Option<&Arc<Self>> {
        self.around.as_ref()
    }

    /// This one and all around it.
    fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |limit| limit.around.as_deref())
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    pub(crate) fn is_over(&self) -> bool {
        let mut all = self.all();
        all.any(|limit| limit.is_over.load(Ordering::Acquire))
    }

    /// Notes a sign of life at `now`, for this one and all around it.
    pub(crate) fn note_alive(&self, now: Duration) {
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        for limit in self.all() {
            limit.alive.fetch_max(now, Ordering::Relaxed);
        }
    }

    pub(crate) fn last_alive(&self) -> Duration {
        Duration::from_nanos(self.alive.load(Ordering::Relaxed))
    }

    pub(crate) fn poll_settled(&self, cx: &Context<'_>) -> Poll<()> {
        self.waker.register(cx.waker());
        match self.unsettled.load(Ordering::SeqCst) {
            0 => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }

    pub(crate) fn is_node_settled(&self) -> bool {
        let beside = self.beside.load(Ordering::SeqCst);
        self.unsettled.load(Ordering::SeqCst) <= beside
    }

    /// Counts for this one and all around it.
    fn count(&self, change: impl Fn(&AtomicUsize) -> usize) {
        let mut is_beside = false;
        for limit in self.all() {
            change(&limit.unsettled);
            if is_beside {
                change(&limit.beside);
            }
            is_beside = limit.is_beside;
            limit.waker.wake();
        }
    }

    fn doubts(&self) -> MutexGuard<'_, Doubts> {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note_doubt(&self, namespace: &Namespace, ask: &Ask) {
        for limit in self.all() {
            let mut doubts = limit.doubts();
            if doubts.asks.iter().all(|(_, other)| other.id != ask.id) {
                doubts.asks.push((namespace.clone(), ask.clone()));
            }
        }
    }

    pub(crate) fn note_told(&self, asks: &[Ask]) {
        for limit in self.all() {
            let mut doubts = limit.doubts();
            doubts.told.extend(asks.iter().map(|ask| ask.id.clone()));
        }
    }

    pub(crate) fn forget_doubts(&self, namespace: &Namespace) {
        for limit in self.all() {
            let mut doubts = limit.doubts();
            doubts.asks.retain(|(asker, _)| !asker.is_in(namespace));
        }
    }

    /// The questions, and which of them somebody was told of.
    pub(crate) fn in_doubt(&self) -> (Vec<Ask>, Vec<AskId>) {
        let doubts = self.doubts();
        let asks: Vec<_> = doubts.asks.iter().map(|(_, ask)| ask.clone()).collect();
        let told = doubts.told.iter();
        let told = told.filter(|told| asks.iter().any(|ask| ask.id == **told));
        let told = told.cloned().collect();
        (asks, told)
    }
}

impl Unsettled {
    pub(crate) fn of(limit: Option<&Arc<Limit>>) -> Self {
        if let Some(limit) = limit {
            limit.count(|counter| counter.fetch_add(1, Ordering::SeqCst));
        }
        Self(limit.cloned())
    }
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        if let Some(limit) = &self.0 {
            limit.count(|counter| counter.fetch_sub(1, Ordering::SeqCst));
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, future::poll_fn};

    use super::*;
    use crate::{ask::Subject, ids::NodeName};

    fn ask(id: &str) -> Ask {
        Ask {
            id: AskId::from(id),
            node: NodeName::from("n"),
            prompt: "?".into(),
            subject: Subject::Interrupt {
                options: Vec::new(),
                until_ms: None,
            },
        }
    }

    fn ids(limit: &Limit) -> Vec<String> {
        let (asks, _) = limit.in_doubt();
        asks.iter().map(|ask| ask.id.to_string()).collect()
    }

    #[test]
    fn what_is_inside_counts_for_all_around_and_is_over_with_them() {
        let outer = Limit::inside(None);
        let inner = Limit::inside(Some(&outer));
        let is_settled = |limit: &Limit| {
            let settled = poll_fn(|cx| limit.poll_settled(cx)).now_or_never();
            settled.is_some()
        };
        let effect = Unsettled::of(Some(&inner));
        assert!(!is_settled(&inner) && !is_settled(&outer));
        let own = Unsettled::of(inner.around());
        drop(effect);
        assert!(is_settled(&inner) && !is_settled(&outer));
        drop(own);
        assert!(is_settled(&outer));
        let beside = Limit::beside(&outer);
        let effect = Unsettled::of(Some(&Limit::inside(Some(&beside))));
        assert!(!is_settled(&outer) && outer.is_node_settled());
        assert!(!beside.is_node_settled());
        drop(effect);
        assert!(is_settled(&outer));
        inner.end();
        assert!(inner.is_over() && !outer.is_over());
        let other = Limit::inside(Some(&outer));
        outer.end();
        assert!(other.is_over());
    }

    #[test]
    fn a_sign_of_life_counts_for_all_around_and_for_none_inside() {
        let outer = Limit::inside(None);
        let beside = Limit::beside(&outer);
        let inner = Limit::inside(Some(&beside));
        let all = || [&outer, &beside, &inner].map(|limit| limit.last_alive().as_secs());
        beside.note_alive(Duration::from_secs(7));
        assert_eq!(all(), [7, 7, 0]);
        inner.note_alive(Duration::from_secs(5));
        assert_eq!(all(), [7, 7, 5], "none is taken back");
    }

    #[test]
    fn doubts_are_kept_until_the_task_around_them_is_done() {
        let outer = Limit::inside(None);
        let inner = Limit::inside(Some(&outer));
        for (namespace, id) in [("a:1.0", "1"), ("a:1.0/b:1.0", "2"), ("a:1.01", "3")] {
            inner.note_doubt(&Namespace::from(namespace), &ask(id));
        }
        inner.note_doubt(&Namespace::from("a:1.0"), &ask("1"));
        inner.note_told(&[ask("2"), ask("4")]);
        assert_eq!(ids(&outer), ["1", "2", "3"]);
        assert_eq!(outer.in_doubt().1, [AskId::from("2")]);
        outer.forget_doubts(&Namespace::from("a:1.0"));
        assert_eq!(ids(&outer), ["3"]);
    }
}
