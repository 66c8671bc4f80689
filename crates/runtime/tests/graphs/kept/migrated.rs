//! What was kept by an older program.

use rustagents_graph::Migration;

use super::*;

/// A child that remembers its topics in `channel`.
fn remembering(channel: &'static str) -> GraphBuilder {
    GraphBuilder::new("child")
        .channel("topic", Reducer::Overwrite)
        .channel("log", Reducer::Append)
        .channel(channel, Reducer::Append)
        .channel("calls", Reducer::Counter)
        .function("remember", move |state: Arc<State>, _| async move {
            let topic = topic(&state);
            Ok(NodeOutput::new()
                .write(channel, Update::Value(topic.clone()))
                .write("log", Update::Value(topic))
                .write("calls", Update::Value(json!(1))))
        })
        .start(["remember"])
        .finish("remember")
}

fn around(kind: Kind, child: GraphBuilder) -> Graph {
    held(builder(), kind, child.compile().unwrap())
        .spec("sub", NodeSpec::new().keep_state())
        .start(["sub"])
        .finish("sub")
        .compile()
        .unwrap()
}

fn old(kind: Kind) -> Graph {
    around(kind, remembering("memory"))
}

fn new(kind: Kind) -> Graph {
    let rename = Migration::rename_channel("notes", "memory", "notes");
    around(kind, remembering("notes").with_migration(rename))
}

async fn say(bench: &Bench, graph: &Graph, topic: &str) {
    let run = bench.runner().run(graph, "t", input(topic, 1)).await;
    let outcome = run.unwrap().outcome;
    assert!(matches!(outcome, Outcome::Completed), "{outcome:?}");
}

/// What the child of the new program remembers, at a checkpoint or now.
async fn notes(bench: &Bench, graph: &Graph, at: Option<u64>) -> Vec<String> {
    let inside = bench.runner().state_inside(graph, "t", at).await.unwrap();
    let kept = &inside.kept[0].state;
    let notes = words(&kept["notes"]);
    assert_eq!(kept["calls"], json!(notes.len()));
    notes
}

#[tokio::test]
async fn a_call_goes_on_from_one_of_before_its_migration() {
    for kind in KINDS {
        let bench = Bench::new();
        for topic in ["a", "b"] {
            say(&bench, &old(kind), topic).await;
        }
        let before = bench.records().await;
        let new = new(kind);
        assert_eq!(notes(&bench, &new, None).await, ["a", "b"]);
        assert_eq!(bench.records().await, before, "a look writes nothing");
        for topic in ["c", "d"] {
            say(&bench, &new, topic).await;
        }
        assert_eq!(notes(&bench, &new, None).await, ["a", "b", "c", "d"]);
        assert_eq!(notes(&bench, &new, Some(2)).await, ["a"]);
        let name = ThreadId::new("t").unwrap();
        assert_eq!(check(&*bench.journal, &name).await.unwrap(), []);
        bench.runner().rewind(&new, "t", 2).await.unwrap();
        say(&bench, &new, "e").await;
        assert_eq!(notes(&bench, &new, None).await, ["a", "e"]);
        assert_eq!(check(&*bench.journal, &name).await.unwrap(), []);
    }
}

#[tokio::test]
async fn what_is_kept_by_a_newer_program_is_refused_before_anything_is_called() {
    for kind in KINDS {
        let bench = Bench::new();
        say(&bench, &new(kind), "a").await;
        let look = bench.runner().state_inside(&old(kind), "t", None).await;
        assert_eq!(look.unwrap_err().code().as_str(), "RAG0817");
        let run = bench.runner().run(&old(kind), "t", input("b", 1)).await;
        assert_eq!(run.unwrap_err().code().as_str(), "RAG0817");
        assert_eq!(notes(&bench, &new(kind), None).await, ["a"]);
    }
}

#[tokio::test]
async fn a_crash_at_any_write_of_a_migrating_call_leads_to_the_same_memory() {
    for kind in KINDS {
        for write in 1.. {
            let inner: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
            let bench = Bench::on(Arc::clone(&inner));
            say(&bench, &old(kind), "a").await;
            let fault = FaultPoint {
                write,
                side: Side::After,
            };
            let journal = Arc::new(FaultJournal::new(inner, fault, || {}));
            let mut dying = Bench::on(journal);
            dying.ids = Arc::clone(&bench.ids);
            let new = new(kind);
            let run = dying.runner().run(&new, "t", input("b", 1)).await;
            if run.is_ok() {
                assert!(write > 3, "nothing was tried");
                break;
            }
            match bench.runner().resume(&new, "t", ()).await {
                Ok(run) => assert!(matches!(run.outcome, Outcome::Completed), "write {write}"),
                // It died before the run was there, or behind its end.
                Err(error) => assert_eq!(error.code().as_str(), "RAG0416", "write {write}"),
            }
            say(&bench, &new, "c").await;
            let notes = notes(&bench, &new, None).await;
            let whole = [vec!["a", "b", "c"], vec!["a", "c"]];
            assert!(
                whole.iter().any(|whole| notes == *whole),
                "write {write}: {notes:?}"
            );
            let name = ThreadId::new("t").unwrap();
            assert_eq!(check(&*bench.journal, &name).await.unwrap(), []);
        }
    }
}
