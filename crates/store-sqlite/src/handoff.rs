//! How jobs get to the one thread that does them, and how their outcomes get back.
//!
//! A queue with limited room, and for each job a place for its outcome. Whoever is
//! alone spins for a moment before it sleeps, since waking a thread takes longer
//! than most jobs: the [`Receiver`] after a job, if the last one came soon; the
//! caller that waits for an [`Outcome`], if nobody else does, and the last jobs were
//! done soon. Both spin for 150 µs at the most, and less and less often where that does
//! not pay, as on a machine that has other work. A caller first lets the other tasks of
//! its thread go, which may have jobs of their own: then there are several, and none of
//! them spins.
//!
//! Everything that waits comes from `sync`, so that the tests can try the orders in
//! which threads may run.

use std::{
    collections::{BTreeMap, VecDeque},
    future::{Future, poll_fn},
    mem,
    pin::Pin,
    sync::PoisonError,
    task::{Context, Poll, Waker},
};

use super::sync::{
    self, Arc, AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, Watch,
};

/// The receiver is gone, and the job with it.
#[derive(Debug)]
pub(crate) struct Gone;

/// A queue in which `room` jobs may wait, of which `group` are taken at once at the most.
/// Those who have more wait outside.
pub(crate) fn queue<J>(room: usize, group: usize, spins: bool) -> (Sender<J>, Receiver<J>) {
    let shared = Arc::new(Shared {
        room,
        state: Mutex::new(State {
            jobs: VecDeque::with_capacity(room),
            outside: BTreeMap::new(),
            tickets: 0,
            is_closed: false,
            sleeps: false,
        }),
        filled: Condvar::new(),
        news: AtomicBool::new(false),
        pace: Arc::new(Pace {
            spins,
            is_swift: AtomicBool::new(true),
            luck: Luck::default(),
            untold: AtomicUsize::new(0),
        }),
    });
    let receiver = Receiver {
        shared: Arc::clone(&shared),
        group,
        works: None,
        is_hasty: true,
        luck: Luck::default(),
    };
    (Sender { shared }, receiver)
}

struct Shared<J> {
    room: usize,
    state: Mutex<State<J>>,
    /// Rings for a receiver that sleeps.
    filled: Condvar,
    /// Whether there is something in the state that the receiver did not see.
    news: AtomicBool,
    pace: Arc<Pace>,
}

struct State<J> {
    jobs: VecDeque<J>,
    /// Who waits for room, in the order in which they came.
    outside: BTreeMap<u64, Waker>,
    tickets: u64,
    is_closed: bool,
    /// Whether the receiver has to be woken.
    sleeps: bool,
}

/// What callers go by.
#[derive(Debug)]
struct Pace {
    spins: bool,
    /// Whether the last jobs were done soon.
    is_swift: AtomicBool,
    luck: Luck,
    /// How many outcomes are not told yet.
    untold: AtomicUsize,
}

/// Whether spinning paid so far. Each time that it did not, it is left out for twice
/// as long.
#[derive(Debug, Default)]
struct Luck {
    /// How often it is left out before the next try.
    left_out: AtomicUsize,
    /// How often it was, the last time.
    last: AtomicUsize,
}

impl Luck {
    /// The most times that it is left out.
    const LONGEST: usize = 255;

    /// Asked where somebody could spin.
    fn is_tried(&self) -> bool {
        // Who asks at the same time may count once for two, which does no harm.
        match self.left_out.load(Ordering::Relaxed) {
            0 => true,
            left => {
                self.left_out.store(left - 1, Ordering::Relaxed);
                false
            }
        }
    }

    fn note(&self, has_paid: bool) {
        let last = match self.last.load(Ordering::Relaxed) {
            _ if has_paid => 0,
            last => (last * 2 + 1).min(Self::LONGEST),
        };
        self.last.store(last, Ordering::Relaxed);
        self.left_out.store(last, Ordering::Relaxed);
    }
}

impl Pace {
    fn is_alone(&self) -> bool {
        self.untold.load(Ordering::Relaxed) == 1
    }
}

/// The callers' end. Dropping it ends the receiver after what it was handed.
pub(crate) struct Sender<J> {
    shared: Arc<Shared<J>>,
}

impl<J> Sender<J> {
    /// A place for the outcome of a job.
    pub(crate) fn place<T>(&self) -> (Reply<T>, Outcome<T>) {
        let shared = &self.shared;
        shared.pace.untold.fetch_add(1, Ordering::Relaxed);
        let place = Arc::new(Place {
            is_told: AtomicBool::new(false),
            answer: Mutex::new(Answer::Awaited(None)),
        });
        let reply = Reply {
            place: Arc::clone(&place),
            pace: Arc::clone(&shared.pace),
            told: None,
        };
        let outcome = Outcome {
            place,
            pace: Arc::clone(&shared.pace),
            patience: Patience::Fresh,
        };
        (reply, outcome)
    }

    /// Hands a job over as soon as there is room.
    pub(crate) async fn send(&self, job: J) -> Result<(), Gone> {
        let mut waits = Waits {
            shared: &self.shared,
            ticket: None,
        };
        let mut job = Some(job);
        poll_fn(move |context| waits.poll(&mut job, context)).await
    }
}

impl<J> Drop for Sender<J> {
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        state.is_closed = true;
        self.shared.tell_receiver(&mut state);
    }
}

impl<J> Shared<J> {
    fn tell_receiver(&self, state: &mut State<J>) {
        self.news.store(true, Ordering::Release);
        if mem::take(&mut state.sleeps) {
            self.filled.notify_one();
        }
    }
}

/// Somebody who has a job, and perhaps a ticket for room.
struct Waits<'a, J> {
    shared: &'a Shared<J>,
    ticket: Option<u64>,
}

impl<J> Waits<'_, J> {
    fn poll(&mut self, job: &mut Option<J>, context: &Context<'_>) -> Poll<Result<(), Gone>> {
        let mut state = lock(&self.shared.state);
        if state.is_closed {
            return Poll::Ready(Err(Gone));
        }
        if state.jobs.len() < self.shared.room {
            state.jobs.extend(job.take());
            self.shared.tell_receiver(&mut state);
            return Poll::Ready(Ok(()));
        }
        let ticket = *self.ticket.get_or_insert_with(|| {
            state.tickets += 1;
            state.tickets
        });
        state.outside.insert(ticket, context.waker().clone());
        Poll::Pending
    }
}

impl<J> Drop for Waits<'_, J> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            lock(&self.shared.state).outside.remove(&ticket);
        }
    }
}

/// The end of the thread that does the jobs. Dropping it drops those that wait.
pub(crate) struct Receiver<J> {
    shared: Arc<Shared<J>>,
    group: usize,
    /// Runs since jobs were taken.
    works: Option<Watch>,
    /// Whether the last jobs came soon after those before.
    is_hasty: bool,
    luck: Luck,
}

impl<J> Receiver<J> {
    /// Moves what is queued to `jobs`, which is empty, as many as one group has, and waits
    /// for a first one; `false` if none will come. To be called when the last ones are
    /// done.
    pub(crate) fn take(&mut self, jobs: &mut VecDeque<J>) -> bool {
        let shared = Arc::clone(&self.shared);
        if let Some(works) = self.works.take() {
            let is_swift = works.is_short();
            shared.pace.is_swift.store(is_swift, Ordering::Relaxed);
        }
        let waits = Watch::start();
        let mut may_spin = shared.pace.spins && self.is_hasty;
        loop {
            let mut state = lock(&shared.state);
            shared.news.store(false, Ordering::Relaxed);
            let (is_empty, is_closed) = (state.jobs.is_empty(), state.is_closed);
            if state.jobs.len() <= self.group {
                mem::swap(&mut state.jobs, jobs);
            } else {
                jobs.extend(state.jobs.drain(..self.group));
            }
            let room = shared.room.saturating_sub(state.jobs.len());
            let let_in = state.first_outside(room);
            if is_empty && !is_closed && let_in.is_empty() && !may_spin {
                state.sleeps = true;
                drop(shared.filled.wait(state));
                continue;
            }
            drop(state);
            let_in.into_iter().for_each(Waker::wake);
            if !is_empty {
                self.is_hasty = waits.is_short();
                self.works = Some(Watch::start());
                return true;
            }
            if is_closed {
                return false;
            }
            if mem::take(&mut may_spin) && self.luck.is_tried() {
                let came = sync::spin(|| shared.news.load(Ordering::Acquire));
                self.luck.note(came);
            }
        }
    }
}

impl<J> Receiver<J> {
    /// Whether another whole group waits already.
    pub(crate) fn has_group(&self) -> bool {
        lock(&self.shared.state).jobs.len() >= self.group
    }
}

impl<J> State<J> {
    /// Takes the tickets of those who come in next. Some may have gone away, so that
    /// the others have to be asked before the receiver sleeps.
    fn first_outside(&mut self, count: usize) -> Vec<Waker> {
        let mut wakers = Vec::new();
        while wakers.len() < count
            && let Some((_, waker)) = self.outside.pop_first()
        {
            wakers.push(waker);
        }
        wakers
    }
}

impl<J> Drop for Receiver<J> {
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        state.is_closed = true;
        let jobs = mem::take(&mut state.jobs);
        let outside = mem::take(&mut state.outside);
        drop(state);
        // Their callers hear of it.
        drop(jobs);
        outside.into_values().for_each(Waker::wake);
    }
}

/// Where an outcome is put.
struct Place<T> {
    is_told: AtomicBool,
    answer: Mutex<Answer<T>>,
}

enum Answer<T> {
    Awaited(Option<Waker>),
    Told(Option<T>),
}

/// The right to tell an outcome, once. Dropping it tells that there is none.
pub(crate) struct Reply<T> {
    place: Arc<Place<T>>,
    pace: Arc<Pace>,
    told: Option<T>,
}

impl<T> Reply<T> {
    pub(crate) fn tell(mut self, outcome: T) {
        self.told = Some(outcome);
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        // First this: whoever hears of the outcome may have the next job, and is
        // alone with that.
        self.pace.untold.fetch_sub(1, Ordering::Relaxed);
        let told = Answer::Told(self.told.take());
        let before = mem::replace(&mut *lock(&self.place.answer), told);
        self.place.is_told.store(true, Ordering::Release);
        if let Answer::Awaited(Some(waker)) = before {
            waker.wake();
        }
    }
}

/// The outcome of a job; `None` if the job is gone.
pub(crate) struct Outcome<T> {
    place: Arc<Place<T>>,
    pace: Arc<Pace>,
    patience: Patience,
}

/// What a caller did so far to wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    Fresh,
    LetOthersGo,
    Sleeps,
}

impl<T> Outcome<T> {
    fn may_spin(&self) -> bool {
        let pace = &self.pace;
        pace.spins && pace.is_swift.load(Ordering::Relaxed) && pace.is_alone()
    }

    fn is_told(&self) -> bool {
        self.place.is_told.load(Ordering::Acquire)
    }
}

impl<T> Future for Outcome<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let patience = mem::replace(&mut self.patience, Patience::Sleeps);
        if patience != Patience::Sleeps && !self.is_told() && self.may_spin() {
            if patience == Patience::Fresh && self.pace.luck.is_tried() {
                self.patience = Patience::LetOthersGo;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            if patience == Patience::LetOthersGo {
                let ended = sync::spin(|| self.is_told() || !self.pace.is_alone());
                self.pace.luck.note(ended);
            }
        }
        let mut answer = lock(&self.place.answer);
        match &mut *answer {
            Answer::Told(outcome) => Poll::Ready(outcome.take()),
            Answer::Awaited(Some(waker)) => {
                waker.clone_from(context.waker());
                Poll::Pending
            }
            Answer::Awaited(none) => {
                *none = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
