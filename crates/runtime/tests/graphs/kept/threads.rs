//! What is done with threads in which a child is kept.

use std::io::BufReader;

use proptest::prelude::*;
use rustagents_core::ids::RunId;
use rustagents_runtime::threads::{
    Fork, Keep, fork,
    transfer::{image, read, write},
};

use rustagents_store_file::FileJournal;
use rustagents_store_sqlite::SqliteJournal;

use super::*;

fn name(name: &str) -> ThreadId {
    ThreadId::new(name).unwrap()
}

impl Story {
    fn runtime(&self) -> Runtime {
        let clock = Arc::new(self.bench.clock.clone());
        Runtime::new(
            Arc::clone(&self.bench.journal),
            clock,
            self.bench.ids.clone(),
        )
    }

    async fn prune(&self, keep: u64) {
        let pruned = self.runtime().prune(&name("t"), Keep::Last(keep)).await;
        pruned.unwrap();
    }

    async fn delete(&self, run: &RunId) {
        let deleted = self.runtime().delete_run(&name("t"), run).await;
        deleted.unwrap();
    }

    /// Another story with the same records.
    async fn twin(&self, kind: Kind) -> Self {
        let mut twin = Self::new(kind);
        twin.bench.ids = self.bench.ids.clone();
        let image = image(&*self.bench.journal, &name("t")).await.unwrap();
        let mut bytes = Vec::new();
        write(&image, &mut bytes).unwrap();
        let image = read(&mut BufReader::new(bytes.as_slice())).unwrap();
        twin.bench.journal.install(image).await.unwrap();
        twin
    }
}

#[tokio::test]
async fn going_back_takes_the_memory_back() {
    for kind in KINDS {
        let story = Story::new(kind);
        let then = story.say("a", 1).await.checkpoint;
        story.say("b", 2).await;
        let runner = story.runner();
        runner.rewind(&story.graph, "t", then).await.unwrap();
        assert_eq!(story.memory().await, ["a"]);
        story.agrees().await;
        story.say("c", 1).await;
        assert_eq!(story.memory().await, ["a", "c"]);
        // Into the middle of a run: the sibling and the call run anew.
        runner.rewind(&story.graph, "t", then + 2).await.unwrap();
        story.agrees().await;
        runner.resume(&story.graph, "t", ()).await.unwrap();
        assert_eq!(story.memory().await, ["a", "b", "b"], "{kind:?}");
        story.agrees().await;
    }
}

#[tokio::test]
async fn an_update_keeps_the_memory_and_one_that_acts_as_the_node_is_no_call() {
    for kind in KINDS {
        let story = Story::new(kind);
        story.say("a", 1).await;
        let edit = Edit::new(input("b", 1));
        let runner = story.runner();
        runner.update(&story.graph, "t", [edit]).await.unwrap();
        story.agrees().await;
        let asked = story.say("ask", 1).await;
        assert_eq!(asked.asks().len(), 1);
        let edit = Edit::as_node("sub", NodeOutput::new());
        runner.update(&story.graph, "t", [edit]).await.unwrap();
        let run = runner.resume(&story.graph, "t", ()).await.unwrap();
        assert!(matches!(run.outcome, Outcome::Completed), "{run:?}");
        story.say("c", 1).await;
        assert_eq!(story.memory().await, ["a", "c"], "{kind:?}");
        story.agrees().await;
    }
}

#[tokio::test]
async fn a_fork_has_the_memory_of_where_it_was_made() {
    for kind in KINDS {
        let story = Story::new(kind);
        story.say("a", 2).await;
        let then = story.say("b", 1).await.checkpoint;
        story.say("c", 2).await;
        for (to, checkpoint) in [("at", Some(then)), ("whole", None)] {
            let made = Fork {
                from: name("t"),
                to: name(to),
                checkpoint,
                repeats: false,
            };
            fork(&*story.bench.journal, &made).await.unwrap();
            story.agrees_in(to).await;
            let runner = story.runner();
            let run = runner.run(&story.graph, to, input("d", 1)).await.unwrap();
            assert!(matches!(run.outcome, Outcome::Completed));
            story.agrees_in(to).await;
        }
        assert_eq!(story.memory().await, ["a", "a", "b", "c", "c"]);
    }
}

#[tokio::test]
async fn deleting_the_last_run_takes_its_calls_along() {
    for kind in KINDS {
        let story = Story::new(kind);
        story.say("a", 1).await;
        let run = story.say("b", 2).await.run;
        story.delete(&run).await;
        story.agrees().await;
        assert_eq!(story.memory().await, ["a"]);
        story.say("c", 1).await;
        assert_eq!(story.memory().await, ["a", "c"]);
        story.agrees().await;
    }
}

#[tokio::test]
async fn deleting_an_earlier_run_leaves_what_later_calls_go_on_from() {
    for kind in KINDS {
        let story = Story::new(kind);
        let first = story.say("a", 2).await.run;
        let second = story.say("b", 2).await.run;
        story.say("c", 1).await;
        for run in [&first, &second] {
            let before = story.bench.records().await;
            story.delete(run).await;
            assert!(story.bench.records().await < before);
            story.agrees().await;
            assert_eq!(story.memory().await, ["a", "a", "b", "b", "c"], "{kind:?}");
        }
        story.say("d", 1).await;
        assert_eq!(story.memory().await.len(), 6);
        story.agrees().await;
    }
}

#[tokio::test]
async fn a_pruned_thread_remembers_what_its_twin_does() {
    for (kind, keep) in KINDS
        .into_iter()
        .flat_map(|kind| [1, 2, 5].map(|k| (kind, k)))
    {
        let story = Story::new(kind);
        for topic in ["a", "b", "c"] {
            story.say(topic, 2).await;
        }
        let twin = story.twin(kind).await;
        story.prune(keep).await;
        assert!(story.bench.records().await < twin.bench.records().await);
        story.agrees().await;
        for story in [&story, &twin] {
            story.say("d", 2).await;
            story.agrees().await;
        }
        assert_eq!(story.memory().await, twin.memory().await);
        let pruned = story.runner().state(&story.graph, "t").await.unwrap();
        let whole = twin.runner().state(&twin.graph, "t").await.unwrap();
        assert_eq!(pruned.state, whole.state);
    }
}

#[tokio::test]
async fn a_pruning_leaves_what_a_call_that_waits_goes_on_from() {
    for kind in KINDS {
        let story = Story::new(kind);
        story.say("a", 2).await;
        let run = story.say("ask", 1).await;
        let before = story.bench.records().await;
        story.prune(1).await;
        assert!(story.bench.records().await < before);
        story.agrees().await;
        let answer = [(run.asks()[0].id.clone(), json!(1))];
        let runner = story.runner();
        runner.resume(&story.graph, "t", answer).await.unwrap();
        assert_eq!(story.memory().await, ["a", "a", "ask"]);
        story.agrees().await;
    }
}

#[tokio::test]
async fn a_rewind_of_a_pruned_thread_and_a_fork_of_one_remember_the_same() {
    for kind in KINDS {
        let story = Story::new(kind);
        for topic in ["a", "b", "c"] {
            story.say(topic, 1).await;
        }
        story.prune(6).await;
        let moments = story.runner().history("t", 100).await.unwrap();
        let first = moments[0].checkpoint;
        let made = Fork {
            from: name("t"),
            to: name("f"),
            checkpoint: Some(first),
            repeats: false,
        };
        fork(&*story.bench.journal, &made).await.unwrap();
        story.agrees_in("f").await;
        let runner = story.runner();
        runner.rewind(&story.graph, "t", first).await.unwrap();
        for thread in ["t", "f"] {
            runner.resume(&story.graph, thread, ()).await.unwrap();
            story.agrees_in(thread).await;
        }
        let rewound = runner.state(&story.graph, "t").await.unwrap();
        let forked = runner.state(&story.graph, "f").await.unwrap();
        assert_eq!(rewound.state, forked.state);
    }
}

#[tokio::test]
async fn every_store_finds_the_calls() {
    let folder = tempfile::tempdir().unwrap();
    for kind in KINDS {
        let path = |store| folder.path().join(format!("{kind:?}.{store}"));
        let sqlite = SqliteJournal::open(path("db")).unwrap();
        let files = FileJournal::open(path("files")).unwrap();
        let (sqlite, files): (Arc<dyn Journal>, Arc<dyn Journal>) =
            (Arc::new(sqlite), Arc::new(files));
        let twin = Story::new(kind);
        let stories = [sqlite, files].map(|journal| Story::on(kind, journal));
        for story in stories.iter().chain([&twin]) {
            for topic in 0..20 {
                story.say(&topic.to_string(), 1).await;
            }
            story.prune(3).await;
            story.say("last", 1).await;
            story.agrees().await;
        }
        for story in &stories {
            assert_eq!(story.memory().await, twin.memory().await);
            assert_eq!(story.memory().await.len(), 21);
        }
    }
}

#[tokio::test]
async fn pruning_leaves_of_earlier_calls_no_more_than_is_needed() {
    let story = Story::new(Kind::Adapted);
    for topic in 0..60 {
        story.say(&topic.to_string(), 1).await;
    }
    story.prune(1).await;
    // The snapshot, the last checkpoint, what opens and closes its run, and at most
    // 17 calls of three checkpoints.
    assert!(story.bench.records().await <= 4 + 17 * 3);
    assert_eq!(story.memory().await.len(), 60);
    story.agrees().await;
}

#[tokio::test]
async fn a_call_that_is_missing_is_found_and_is_no_empty_memory() {
    for kind in KINDS {
        let story = Story::new(kind);
        story.say("a", 1).await;
        story.say("b", 1).await;
        let mut image = image(&*story.bench.journal, &name("t")).await.unwrap();
        let missing = |record: &rustagents_core::journal::Record| {
            record.chain.namespace.as_str() == "sub:2.0" && record.key().is_none()
        };
        image.records.retain(|record| !missing(record));
        let mut bytes = Vec::new();
        write(&image, &mut bytes).unwrap();
        let refused = read(&mut BufReader::new(bytes.as_slice())).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("chain `sub:2.0`: it is missing"),
            "{refused}"
        );
        let broken = Story::new(kind);
        broken.bench.journal.install(image).await.unwrap();
        let problems = check(&*broken.bench.journal, &name("t")).await.unwrap();
        assert!(!problems.is_empty());
        let run = broken.runner().run(&broken.graph, "t", input("c", 1)).await;
        assert_eq!(run.unwrap_err().code().as_str(), "RAG0304");
    }
}

/// What may be done with a thread.
#[derive(Clone, Debug)]
enum Deed {
    Say(u64),
    Break,
    BreakAndRetry,
    Ask,
    Back(usize),
    BackAndResume(usize),
    Update,
    Prune(u64),
    DeleteLast,
    DeleteFirst,
    Fork(usize),
    Move,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => (1..4_u64).prop_map(Deed::Say),
        1 => Just(Deed::Break),
        1 => Just(Deed::BreakAndRetry),
        1 => Just(Deed::Ask),
        1 => (0..9_usize).prop_map(Deed::Back),
        1 => (0..9_usize).prop_map(Deed::BackAndResume),
        1 => Just(Deed::Update),
        1 => (1..9_u64).prop_map(Deed::Prune),
        1 => Just(Deed::DeleteLast),
        1 => Just(Deed::DeleteFirst),
        1 => (0..9_usize).prop_map(Deed::Fork),
        1 => Just(Deed::Move),
    ]
}

impl Story {
    async fn does(&self, deed: Deed, topic: &str) {
        match deed {
            Deed::Say(times) => drop(self.say(topic, times).await),
            Deed::Break => drop(self.break_at(topic).await),
            Deed::BreakAndRetry => {
                self.break_at(topic).await;
                self.runner().retry(&self.graph, "t").await.unwrap();
            }
            Deed::Ask => {
                let run = self.say("ask", 1).await;
                let answer = [(run.asks()[0].id.clone(), json!(1))];
                let resumed = self.runner().resume(&self.graph, "t", answer).await;
                resumed.unwrap();
            }
            Deed::Back(place) => self.back(place).await,
            Deed::BackAndResume(place) => {
                self.back(place).await;
                // It may be over there.
                drop(self.runner().resume(&self.graph, "t", ()).await);
            }
            Deed::Update => {
                let edit = Edit::new(input(topic, 0));
                let updated = self.runner().update(&self.graph, "t", [edit]).await;
                updated.unwrap();
            }
            Deed::Prune(keep) => self.prune(keep).await,
            Deed::DeleteLast => self.delete_some(true).await,
            Deed::DeleteFirst => self.delete_some(false).await,
            Deed::Fork(place) => self.fork(place, topic).await,
            Deed::Move => {}
        }
    }

    /// Goes back so many checkpoints, and gives up what is left to do there.
    async fn back(&self, place: usize) {
        let runner = self.runner();
        let moments = runner.history("t", 1_000).await.unwrap();
        let Some(moment) = moments.iter().rev().nth(place) else {
            return;
        };
        // What made its state may have been taken out.
        let back = runner.rewind(&self.graph, "t", moment.checkpoint).await;
        drop(back);
    }

    /// Forks the thread so many checkpoints back.
    async fn fork(&self, place: usize, to: &str) {
        let moments = self.runner().history("t", 1_000).await.unwrap();
        let Some(moment) = moments.iter().rev().nth(place) else {
            return;
        };
        let made = Fork {
            from: name("t"),
            to: name(&format!("fork-{to}")),
            checkpoint: Some(moment.checkpoint),
            repeats: false,
        };
        fork(&*self.bench.journal, &made).await.unwrap();
        self.agrees_in(made.to.as_str()).await;
    }

    async fn delete_some(&self, is_last: bool) {
        let moments = self.runner().history("t", 1_000).await.unwrap();
        let some = if is_last {
            moments.last()
        } else {
            moments.first()
        };
        if let Some(moment) = some {
            let run = self.runtime().delete_run(&name("t"), &moment.run).await;
            drop(run);
        }
    }
}

async fn agrees_after(kind: Kind, deeds: Vec<Deed>) {
    let mut story = Story::new(kind);
    story.say("first", 1).await;
    for (number, deed) in deeds.into_iter().enumerate() {
        let moves = matches!(deed, Deed::Move);
        story.does(deed, &number.to_string()).await;
        if story.runner().state(&story.graph, "t").await.is_err() {
            // Its last run was deleted.
            return;
        }
        story.agrees().await;
        // Nothing is left to do, so that the next deed finds a thread that is over.
        story.runner().cancel("t").await.unwrap();
        if moves {
            story = story.twin(kind).await;
        }
    }
    story.say("last", 18).await;
    story.agrees().await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_memory_is_that_of_where_the_thread_stands(
        is_shared in any::<bool>(),
        deeds in prop::collection::vec(deed(), 1..12),
    ) {
        let kind = if is_shared { Kind::Shared } else { Kind::Adapted };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(agrees_after(kind, deeds));
    }
}
