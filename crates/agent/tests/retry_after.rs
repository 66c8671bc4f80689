//! When a model call is made again, in virtual time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt, stream, stream::BoxStream};
use rustagents_agent::Agent;
use rustagents_core::{
    budget::Resource,
    model::{Model, ModelDelta, ModelError, ModelRequest, Rejection, RetryAfter, StreamItem},
    scope::Halt,
};
use tokio::time::Instant;

use crate::bench::{Bench, said};

/// A model that fails in these ways, one after the other, and then answers.
struct Flaky {
    failures: Vec<ModelError>,
    asked: AtomicUsize,
}

impl Model for Flaky {
    fn id(&self) -> &'static str {
        "flaky"
    }

    fn stream<'a>(&'a self, _: ModelRequest<'a>) -> BoxStream<'a, StreamItem> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        let item = match self.failures.get(number) {
            Some(error) => Err(error.clone()),
            None => Ok(ModelDelta::Text("ok".into())),
        };
        stream::iter([item]).boxed()
    }
}

fn flaky(failures: Vec<ModelError>) -> (Agent, Arc<Flaky>) {
    let asked = AtomicUsize::new(0);
    let model = Arc::new(Flaky { failures, asked });
    let agent = Agent::builder("clerk").model(model.clone());
    (agent.build().unwrap(), model)
}

fn busy(retry_after: RetryAfter) -> ModelError {
    ModelError::Unavailable {
        model: "m".into(),
        reason: "status 429 Too Many Requests".into(),
        retry_after,
    }
}

/// How long an agent takes whose model fails once with `error`.
async fn pause(error: ModelError) -> Duration {
    let (agent, model) = flaky(vec![error]);
    let bench = Bench::new();
    let start = Instant::now();
    assert_eq!(said(&bench.attempt(&agent).await.unwrap()), "ok");
    assert_eq!(model.asked.load(Ordering::SeqCst), 2);
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_provider_is_asked_again_when_it_said_and_never_later_than_a_minute() {
    let seconds = |seconds| busy(RetryAfter::In(Duration::from_secs(seconds)));
    assert_eq!(pause(seconds(7)).await, Duration::from_secs(7));
    assert_eq!(pause(seconds(3_600)).await, Duration::from_mins(1));
    assert_eq!(pause(seconds(u64::MAX)).await, Duration::from_mins(1));
    let backoff = pause(ModelError::Transport {
        model: "m".into(),
        reason: "reset".into(),
    });
    let backoff = backoff.await;
    assert_eq!(pause(seconds(0)).await, backoff, "never at once");
}

#[tokio::test(start_paused = true)]
async fn a_date_is_read_on_the_clock_of_the_run() {
    // The clock of these tests starts a second after the epoch.
    let waited = pause(busy(RetryAfter::At(31_000))).await;
    assert!(waited <= Duration::from_secs(30), "{waited:?}");
    assert!(waited > Duration::from_secs(29), "{waited:?}");
    let over = pause(busy(RetryAfter::At(10))).await;
    assert!(over < Duration::from_secs(1), "{over:?}");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_provider_ends_with_the_runs_time() {
    let (agent, model) = flaky(vec![busy(RetryAfter::In(Duration::from_secs(50)))]);
    let mut bench = Bench::new();
    bench.limits.driven = Duration::from_secs(20);
    let start = Instant::now();
    let halt = bench.attempt(&agent).await.unwrap_err();
    let Halt::Budget(exceeded) = halt else {
        panic!("{halt:?}")
    };
    assert_eq!(exceeded.resource, Resource::DrivenTime);
    assert_eq!(start.elapsed(), Duration::from_secs(20));
    assert_eq!(model.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_provider_ends_when_the_run_is_told_to_stop() {
    for drain in [false, true] {
        let (agent, model) = flaky(vec![busy(RetryAfter::In(Duration::from_secs(50)))]);
        let bench = Bench::new();
        let token = if drain { &bench.drain } else { &bench.cancel };
        let start = Instant::now();
        let stop = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            token.cancel();
        };
        let (halt, ()) = futures::join!(bench.attempt(&agent), stop);
        let halt = halt.unwrap_err();
        assert_eq!(matches!(halt, Halt::Drained), drain, "{halt:?}");
        assert_eq!(start.elapsed(), Duration::from_secs(5));
        // Nothing is lost: the next attempt asks again.
        let next = Bench::on(bench.journal);
        assert_eq!(said(&next.attempt(&agent).await.unwrap()), "ok");
        assert_eq!(model.asked.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_provider_refuses_is_made_once() {
    let rejected = ModelError::Rejected {
        model: "m".into(),
        reason: "status 401 Unauthorized: who are you".into(),
        because: Rejection::NoKey,
    };
    let (agent, model) = flaky(vec![rejected]);
    let end = Bench::new().attempt(&agent).await.unwrap();
    assert_eq!(
        said(&end),
        "failed: step 1: model `m`: status 401 Unauthorized: who are you"
    );
    assert_eq!(model.asked.load(Ordering::SeqCst), 1);
}
