//! The hand-off between callers and the writer, in thousands of the orders in which
//! threads may run: it is compiled here a second time, with the scheduler's locks.

use std::{
    collections::VecDeque,
    future::Future,
    sync::Mutex as Plain,
    task::{Context, Poll},
};

use futures::task::noop_waker_ref;
use shuttle::{
    future::block_on,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// The scheduler's parts, in place of those in `src/sync.rs`.
mod sync {
    pub(crate) use shuttle::sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    };

    /// Looks a few times, and gives up as if time was over.
    pub(crate) fn spin(mut until: impl FnMut() -> bool) -> bool {
        (0..2).any(|_| {
            shuttle::thread::yield_now();
            until()
        })
    }

    /// A clock that says anything.
    pub(crate) struct Watch;

    #[expect(clippy::unused_self, reason = "the other clock needs it")]
    impl Watch {
        pub(crate) fn start() -> Self {
            Self
        }

        pub(crate) fn is_short(&self) -> bool {
            use shuttle::rand::Rng as _;
            shuttle::rand::thread_rng().r#gen()
        }
    }
}

#[path = "../src/handoff.rs"]
mod handoff;

use handoff::{Receiver, Reply, Sender, queue};

/// How many orders each test tries.
const ORDERS: usize = 500;

/// How many steps of threads that the scheduler puts at other places.
const CHANGES: usize = 3;

/// Tries many orders: such as come by chance, and such as have few but mean changes.
fn in_many_orders(test: impl Fn() + Send + Sync + Copy + 'static) {
    shuttle::check_random(test, ORDERS);
    shuttle::check_pct(test, ORDERS, CHANGES);
}

struct Job {
    number: usize,
    reply: Reply<usize>,
}

/// What the thread that does the jobs did.
#[derive(Clone, Default)]
struct Done(Arc<Plain<Vec<usize>>>);

impl Done {
    fn note(&self, number: usize) {
        self.0.lock().unwrap().push(number);
    }

    fn sorted(&self) -> Vec<usize> {
        let mut numbers = self.0.lock().unwrap().clone();
        numbers.sort_unstable();
        numbers
    }
}

/// Does jobs until none will come; the outcome is ten times the job's number.
fn do_all(mut jobs: Receiver<Job>, most: usize, done: &Done) {
    let (mut group, mut has_group) = (VecDeque::new(), false);
    while jobs.take(&mut group) {
        let least = if has_group { most } else { 1 };
        assert!((least..=most).contains(&group.len()));
        has_group = jobs.has_group();
        for job in group.drain(..) {
            done.note(job.number);
            job.reply.tell(job.number * 10);
        }
    }
}

async fn call(jobs: &Sender<Job>, number: usize) -> Option<usize> {
    let (reply, outcome) = jobs.place();
    jobs.send(Job { number, reply }).await.ok()?;
    outcome.await
}

/// Polls until it is `Ready` or was looked at so often, and then drops it.
async fn cancelled<T>(work: impl Future<Output = T>, looks: usize) -> Option<T> {
    let mut work = std::pin::pin!(work);
    for _ in 0..looks {
        let mut context = Context::from_waker(noop_waker_ref());
        if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
            return Some(done);
        }
        shuttle::future::yield_now().await;
    }
    None
}

/// Callers that make `calls` each, in a queue with `room` of which half is taken at once;
/// then the handle goes.
fn callers(count: usize, calls: usize, room: usize, spins: bool) {
    let group = room.div_ceil(2);
    let (jobs, receiver) = queue(room, group, spins);
    let (jobs, done) = (Arc::new(jobs), Done::default());
    let desk = {
        let done = done.clone();
        thread::spawn(move || do_all(receiver, group, &done))
    };
    let callers: Vec<_> = (0..count)
        .map(|caller| {
            let jobs = Arc::clone(&jobs);
            thread::spawn(move || {
                for number in (0..calls).map(|call| caller * calls + call) {
                    let told = block_on(call(&jobs, number));
                    assert_eq!(told, Some(number * 10));
                }
            })
        })
        .collect();
    for caller in callers {
        caller.join().unwrap();
    }
    drop(jobs);
    desk.join().unwrap();
    assert_eq!(done.sorted(), (0..count * calls).collect::<Vec<_>>());
}

#[test]
fn a_lone_caller_hears_of_each_job_once() {
    in_many_orders(|| callers(1, 3, 4, true));
    in_many_orders(|| callers(1, 3, 4, false));
}

#[test]
fn callers_side_by_side_hear_of_each_job_once() {
    in_many_orders(|| callers(3, 2, 4, true));
    in_many_orders(|| callers(3, 2, 4, false));
}

#[test]
fn a_full_queue_keeps_nobody_outside() {
    in_many_orders(|| callers(4, 1, 1, true));
    in_many_orders(|| callers(3, 2, 1, false));
}

#[test]
fn tasks_of_one_thread_come_in_as_there_is_room() {
    in_many_orders(|| {
        let (jobs, receiver) = queue(2, 1, true);
        let done = Done::default();
        let desk = {
            let done = done.clone();
            thread::spawn(move || do_all(receiver, 1, &done))
        };
        let told = block_on(futures::future::join_all(
            (0..5).map(|number| call(&jobs, number)),
        ));
        assert_eq!(told, [0, 10, 20, 30, 40].map(Some));
        drop(jobs);
        desk.join().unwrap();
    });
}

#[test]
fn who_goes_away_leaves_the_others_their_place() {
    in_many_orders(|| {
        let (jobs, receiver) = queue(1, 1, true);
        let (jobs, done) = (Arc::new(jobs), Done::default());
        let desk = {
            let done = done.clone();
            thread::spawn(move || do_all(receiver, 1, &done))
        };
        let impatient: Vec<_> = (1..=3)
            .map(|looks| {
                let jobs = Arc::clone(&jobs);
                thread::spawn(move || {
                    let told = block_on(cancelled(call(&jobs, looks), looks));
                    assert!(told.is_none_or(|told| told == Some(looks * 10)));
                })
            })
            .collect();
        assert_eq!(block_on(call(&jobs, 0)), Some(0));
        for caller in impatient {
            caller.join().unwrap();
        }
        drop(jobs);
        desk.join().unwrap();
        let mut numbers = done.sorted();
        numbers.dedup();
        assert_eq!(numbers, done.sorted(), "a job was done twice");
    });
}

#[test]
fn what_was_handed_over_is_done_though_nobody_waits_and_the_handle_goes() {
    in_many_orders(|| {
        let (jobs, receiver) = queue(3, 2, true);
        let done = Done::default();
        let desk = {
            let done = done.clone();
            thread::spawn(move || do_all(receiver, 2, &done))
        };
        for number in 0..3 {
            let (reply, outcome) = jobs.place();
            assert!(block_on(jobs.send(Job { number, reply })).is_ok());
            drop(outcome);
        }
        drop(jobs);
        desk.join().unwrap();
        assert_eq!(done.sorted(), [0, 1, 2]);
    });
}

#[test]
fn when_the_thread_ends_all_callers_hear_of_it() {
    in_many_orders(|| {
        let (jobs, mut receiver) = queue(1, 1, true);
        let jobs = Arc::new(jobs);
        let gone = Arc::new(AtomicUsize::new(0));
        let callers: Vec<_> = (0..3)
            .map(|number| {
                let (jobs, gone) = (Arc::clone(&jobs), Arc::clone(&gone));
                thread::spawn(move || match block_on(call(&jobs, number)) {
                    Some(told) => assert_eq!(told, number * 10),
                    None => drop(gone.fetch_add(1, Ordering::SeqCst)),
                })
            })
            .collect();
        let mut group = VecDeque::new();
        assert!(receiver.take(&mut group));
        for job in group.drain(..) {
            job.reply.tell(job.number * 10);
        }
        drop(receiver);
        for caller in callers {
            caller.join().unwrap();
        }
        assert_eq!(gone.load(Ordering::SeqCst), 2);
    });
}
