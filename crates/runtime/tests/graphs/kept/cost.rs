//! What a call costs, however many there were.

use std::collections::BTreeSet;

use rustagents_core::{ids::Branch, journal::Record};
use rustagents_testkit::hooked::HookedJournal;

use super::*;

/// A child that keeps a value of so many bytes, which each call replaces.
fn constant(kind: Kind, bytes: usize) -> Graph {
    let child = GraphBuilder::new("child")
        .channel("topic", Reducer::Overwrite)
        .channel("log", Reducer::Append)
        .channel("memory", Reducer::Overwrite)
        .channel("calls", Reducer::Counter)
        .function("remember", move |_, _| async move {
            Ok(NodeOutput::new()
                .write("memory", Update::Value(json!("x".repeat(bytes))))
                .write("calls", Update::Value(json!(1))))
        })
        .start(["remember"])
        .finish("remember")
        .compile()
        .unwrap();
    held(builder(), kind, child)
        .spec("sub", NodeSpec::new().keep_state())
        .start(["sub"])
        .finish("sub")
        .compile()
        .unwrap()
}

/// What a load of the thread reads, and how often it looks.
async fn loaded(journal: &Arc<dyn Journal>) -> (Vec<Record>, usize) {
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&looks);
    let hooked = HookedJournal::new(Arc::clone(journal)).before_read(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(())))
    });
    let thread = ThreadId::new("t").unwrap();
    let log = ThreadLog::load(&hooked, &thread, &Branch::main()).await;
    let log = log.unwrap();
    // Those of the graph around grow as in any thread, until it gets a snapshot.
    let inner = log.records().iter();
    let inner = inner.filter(|record| !record.chain.namespace.is_root());
    (inner.cloned().collect(), looks.load(Ordering::Relaxed))
}

fn bytes(records: &[Record]) -> usize {
    records.iter().map(|record| record.body.len()).sum()
}

async fn whole(bench: &Bench) -> Vec<Record> {
    let thread = ThreadId::new("t").unwrap();
    let log = ThreadLog::load_whole(&*bench.journal, &thread).await;
    log.unwrap().records().to_vec()
}

#[tokio::test]
async fn a_call_costs_the_same_after_ten_calls_and_after_a_hundred() {
    for kind in KINDS {
        let bench = Bench::new();
        let graph = constant(kind, 50);
        let (mut most_read, mut most_looks) = ([0; 2], [0; 2]);
        let mut most_written = [0; 2];
        for call in 0..117 {
            let before = whole(&bench).await.len();
            let run = bench.runner().run(&graph, "t", input("a", 1)).await;
            assert!(matches!(run.unwrap().outcome, Outcome::Completed));
            let records = whole(&bench).await;
            let (read, looks) = loaded(&bench.journal).await;
            // All that begins with a snapshot, once each way.
            let late = match call {
                0..17 => 0,
                100..117 => 1,
                _ => continue,
            };
            most_read[late] = most_read[late].max(read.len());
            most_looks[late] = most_looks[late].max(looks);
            most_written[late] = most_written[late].max(bytes(&records[before..]));
        }
        assert!(most_read[1] <= most_read[0], "{kind:?} {most_read:?}");
        assert!(most_looks[1] <= most_looks[0], "{kind:?} {most_looks:?}");
        let [early, late] = most_written;
        assert!(late <= early + 100, "{kind:?} {most_written:?}");
        let inside = bench
            .runner()
            .state_inside(&graph, "t", None)
            .await
            .unwrap();
        assert_eq!(inside.kept[0].state["calls"], json!(117));
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn calls_that_outgrow_what_is_kept_begin_with_all_of_it() {
    for kind in KINDS {
        let bench = Bench::new();
        let graph = constant(kind, 60_000);
        for _ in 0..12 {
            bench
                .runner()
                .run(&graph, "t", input("a", 1))
                .await
                .unwrap();
            let (read, _) = loaded(&bench.journal).await;
            assert!(bytes(&read) < 6 * 60_000, "{kind:?}");
        }
        let inside = bench
            .runner()
            .state_inside(&graph, "t", None)
            .await
            .unwrap();
        assert_eq!(inside.kept[0].state["calls"], json!(12));
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn no_call_goes_on_from_more_than_sixteen_others() {
    for kind in KINDS {
        for (runs, times) in [(40, 1), (8, 7)] {
            let story = Story::new(kind);
            for topic in 0..runs {
                story.say(&topic.to_string(), times).await;
                let (read, _) = loaded(&story.bench.journal).await;
                let chains: BTreeSet<_> = read.iter().map(|record| &record.chain).collect();
                // Those of the last run are all there.
                let most = 17 + usize::try_from(times).unwrap();
                assert!(chains.len() <= most, "{} chains", chains.len());
            }
            let calls = usize::try_from(runs * times).unwrap();
            assert_eq!(story.memory().await.len(), calls);
            story.bench.is_whole().await;
        }
    }
}
