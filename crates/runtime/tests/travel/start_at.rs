//! A new input on the state of an earlier checkpoint.

use rustagents_core::code::Coded;
use rustagents_runtime::{
    Report, RunError, Start, Status, Watch,
    threads::{Rewind, Rewound},
};
use serde_json::{Value, json};

use crate::{
    bench::Bench,
    threads::{MIXED, WORD, name},
};

impl Bench {
    async fn branch(
        &self,
        to: u64,
        repeats: bool,
        set: Vec<(String, Value)>,
    ) -> Result<(Option<Rewound>, Report), RunError> {
        let from = Rewind {
            thread: name("t"),
            checkpoint: to,
            target: None,
            repeats,
        };
        let start = Start {
            thread: None,
            set,
            ..self.request()
        };
        let program = self.program(WORD);
        let runtime = self.live();
        let done = runtime.start_at(&program, start, from, Watch::default());
        done.await
    }

    async fn notes(&self, checkpoint: Option<u64>) -> (Value, usize) {
        let program = self.program(WORD);
        let state = self.live().state(&program, &name("t"), checkpoint).await;
        let state = state.unwrap().state;
        let says = state["messages"].as_array().map_or(0, Vec::len);
        (state["note"].clone(), says)
    }
}

/// A run that pays twice, with the checkpoints 1 to 3, and one that says a word.
async fn two_runs() -> Bench {
    let bench = Bench::new();
    bench.paid("t", json!("first")).await;
    bench.say("t", WORD, json!("second")).await;
    assert_eq!(bench.checkpoints("t").await, [1, 2, 3, 4, 5]);
    bench
}

#[tokio::test]
async fn an_input_goes_on_from_the_end_of_an_earlier_run() {
    let bench = two_runs().await;
    let before = bench.all("t").await;
    let then = bench.notes(Some(3)).await;
    let (rewound, report) = bench.branch(3, false, Vec::new()).await.unwrap();
    let rewound = rewound.unwrap();
    assert_eq!((rewound.from, rewound.next.len()), (3, 0));
    assert_eq!(report.status, Status::Completed);
    let now = bench.notes(None).await;
    assert_eq!(now, (json!("first"), then.1 + 2), "an input and an answer");
    let all = bench.all("t").await;
    assert_eq!(all[..before.len()], before[..], "nothing old changed");
    bench.is_whole("t").await;
}

#[tokio::test]
async fn what_was_pending_in_the_middle_of_a_run_does_not_run() {
    let bench = two_runs().await;
    let changes = bench.world.changes().len();
    // Both clerks are about to begin, and are not even in the plan.
    let set = vec![("note".to_owned(), json!("third"))];
    let (rewound, report) = bench.branch(1, true, set).await.unwrap();
    let rewound = rewound.unwrap();
    assert!(rewound.next.is_empty());
    assert_eq!(rewound.repeats.len(), 2, "they may pay once more");
    assert_eq!((report.status, report.steps), (Status::Completed, 1));
    assert_eq!(bench.notes(None).await.0, json!("third"));
    assert_eq!(bench.world.changes().len(), changes);
    bench.is_whole("t").await;
}

#[tokio::test]
async fn where_the_thread_stands_already_an_input_is_an_input() {
    let bench = two_runs().await;
    let last = *bench.checkpoints("t").await.last().unwrap();
    let (rewound, report) = bench.branch(last, false, Vec::new()).await.unwrap();
    assert!(rewound.is_none());
    assert_eq!(report.status, Status::Completed);
    assert_eq!(bench.notes(None).await.0, json!("second"));
}

#[tokio::test]
async fn a_run_that_waits_is_given_up_for_it() {
    let bench = Bench::new();
    let waits = bench.say("t", MIXED, json!("first")).await;
    assert_eq!(waits.status, Status::Suspended);
    let (rewound, report) = bench.branch(1, true, Vec::new()).await.unwrap();
    assert_eq!(rewound.unwrap().cancelled, Some(waits.run));
    assert_eq!(report.status, Status::Completed);
    assert_eq!(bench.world.changes().len(), 0);
    bench.is_whole("t").await;
}

#[tokio::test]
async fn what_is_refused_has_written_nothing() {
    let bench = two_runs().await;
    let records = bench.records().await;
    for (to, repeats, set, code) in [
        (1, false, Vec::new(), "RAG0412"),
        (99, true, Vec::new(), "RAG0414"),
        (3, true, vec![("nobody".to_owned(), json!(1))], "RAG0411"),
    ] {
        let error = bench.branch(to, repeats, set).await.unwrap_err();
        assert_eq!(error.code().as_str(), code, "{error}");
    }
    assert_eq!(bench.records().await, records);
}
