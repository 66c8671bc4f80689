//! Values that are nested deep: what a reader would not take is never written.

use super::*;
use rustagents_graph::Edit;
use rustagents_runtime::threads::{Fork, Keep, fork, transfer::image};

#[derive(Clone, Debug, PartialEq, GraphState)]
struct Shelf {
    value: Value,
    #[channel(append)]
    items: Vec<Value>,
}

type Ended = Result<NodeOutput<Shelf>, NodeError>;

/// A number with so many lists around it.
fn deep(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]))
}

/// How a deep value comes to be recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Value,
    Item,
    Sent,
    Step,
    Once,
    Input,
    Answer,
    AnswerBeside,
    Done,
    Update,
}

impl Way {
    const ALL: [Self; 10] = [
        Self::Value,
        Self::Item,
        Self::Sent,
        Self::Step,
        Self::Once,
        Self::Input,
        Self::Answer,
        Self::AnswerBeside,
        Self::Done,
        Self::Update,
    ];

    /// Whether it is a node's doing, and so its failure.
    fn is_of_node(self) -> bool {
        matches!(
            self,
            Self::Value | Self::Item | Self::Sent | Self::Step | Self::Once
        )
    }
}

async fn give(way: Way, levels: usize, context: TaskContext) -> Ended {
    let value = deep(levels);
    match way {
        Way::Value => return then_last(Shelf::update().value(value).into()),
        Way::Item => return then_last(Shelf::update().items(value).into()),
        Way::Sent => return Ok(NodeOutput::default().send("last", value)),
        Way::Step => {
            let found = context.step("s", || async { Ok::<_, NodeError>(value) });
            found.await?;
        }
        Way::Once => {
            let done = |_: StepContext| async { Ok::<_, NodeError>(value) };
            context.step_once("s", done).await?;
        }
        Way::Answer | Way::AnswerBeside => {
            context.ask("?").await?;
        }
        Way::Done => {
            let lost = |_: StepContext| async { Err::<Value, _>("lost") };
            context.step_once("s", lost).await?;
        }
        Way::Input | Way::Update => {}
    }
    then_last(NodeOutput::default())
}

#[allow(clippy::unnecessary_wraps, reason = "nodes return it as it is")]
fn then_last(output: NodeOutput<Shelf>) -> Ended {
    Ok(output.send("last", json!(1)))
}

fn shelf(way: Way, levels: usize) -> Graph<Shelf> {
    GraphBuilder::<Shelf>::typed("shelf")
        .function("give", move |_, context: TaskContext| {
            give(way, levels, context)
        })
        .function("last", |_, context: TaskContext| async move {
            context.ask("end?").await?;
            Ok(NodeOutput::default())
        })
        .start(["give"])
        .commands("give", ["last"])
        .finish("last")
        .compile()
        .unwrap()
}

/// Records a value by `way` and says whether it was taken. If not, it is an error with
/// a code and nothing of it is written; either way the thread can be read.
async fn takes(way: Way, levels: usize) -> bool {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), shelf(way, levels));
    let given = if way == Way::Input {
        runner.run(&graph, "t", Shelf::update()).await.unwrap();
        runner.cancel("t").await.unwrap();
        Shelf::update().value(deep(levels))
    } else {
        Shelf::update()
    };
    let before = bench.records_if_any().await;
    let run = runner.run(&graph, "t", given).await;
    let taken = match (way, run) {
        (Way::Input, run) => bench.took(before, run).await,
        (_, Ok(run)) if way.is_of_node() => took_of_node(way, &run),
        (_, Ok(run)) => {
            let asked = run.asks()[0].id.to_string();
            let before = bench.records_if_any().await;
            match way {
                Way::Update => {
                    let edit = Edit::new(Shelf::update().value(deep(levels)));
                    bench
                        .took(before, runner.update(&graph, "t", [edit]).await)
                        .await
                }
                Way::AnswerBeside => {
                    let answers = [(asked, deep(levels))];
                    bench.took(before, runner.answer("t", answers).await).await
                }
                Way::Done => {
                    let (call, result) = (asked, deep(levels));
                    let decision = Decision::Done { call, result };
                    bench
                        .took(before, runner.resume(&graph, "t", decision).await)
                        .await
                }
                _ => {
                    let answers = [(asked, deep(levels))];
                    bench
                        .took(before, runner.resume(&graph, "t", answers).await)
                        .await
                }
            }
        }
        (_, Err(error)) => panic!("{way:?} {levels}: {error}"),
    };
    runner.state(&graph, "t").await.unwrap();
    bench.is_whole().await;
    taken
}

fn took_of_node(way: Way, run: &GraphRun<Shelf>) -> bool {
    match &run.outcome {
        Outcome::Suspended(asks) if asks[0].prompt == "end?" => true,
        // Nobody knows what a step did that must not run twice.
        Outcome::Suspended(asks) => {
            assert!(
                way == Way::Once && asks[0].subject.is_in_doubt(),
                "{asks:?}"
            );
            assert!(asks[0].prompt.contains("deeper than 96"), "{asks:?}");
            false
        }
        Outcome::Failed { node, failure } => {
            let code = if way == Way::Step {
                "RAG0810"
            } else {
                "RAG0309"
            };
            assert_eq!((node.as_str(), failure.code.as_str()), ("give", code));
            assert!(failure.message.contains("deeper than 96"), "{failure:?}");
            false
        }
        other => panic!("{way:?}: {other:?}"),
    }
}

impl Bench {
    async fn records_if_any(&self) -> usize {
        let thread = ThreadId::new("t").unwrap();
        let log = ThreadLog::load_whole(&*self.journal, &thread).await;
        log.map_or(0, |log| log.records().len())
    }

    async fn took<T>(&self, before: usize, call: Result<T, GraphRunError>) -> bool {
        let Err(error) = call else {
            return true;
        };
        assert_eq!(error.code().as_str(), "RAG0309", "{error}");
        assert_eq!(error.to_string(), "a record would be nested deeper than 96");
        assert_eq!(self.records().await, before, "{error}");
        false
    }
}

#[tokio::test]
async fn a_value_that_is_too_deep_is_refused_and_the_thread_stays_readable() {
    for way in Way::ALL {
        assert!(takes(way, 64).await, "{way:?}");
        let mut most = 64;
        while takes(way, most + 1).await {
            most += 1;
        }
        assert!((88..=96).contains(&most), "{way:?}: {most}");
        for levels in [most - 1, most, most + 1, 97, 122, 126, 127, 128, 200] {
            assert_eq!(takes(way, levels).await, levels <= most, "{way:?} {levels}");
        }
    }
}

#[tokio::test]
async fn what_a_sibling_wrote_is_kept_beside_what_is_too_deep() {
    let bench = Bench::new();
    let write = |levels| move |_, _| async move { Ok(Shelf::update().items(deep(levels)).into()) };
    let graph = |right| {
        GraphBuilder::<Shelf>::typed("shelf")
            .function("left", write(64))
            .function("right", write(right))
            .function("asks", |_, context: TaskContext| async move {
                context.ask("?").await?;
                Ok(NodeOutput::default())
            })
            .start(["left", "right", "asks"])
            .finish("left")
            .finish("right")
            .finish("asks")
            .compile()
            .unwrap()
    };
    let runner = bench.runner();
    let run = runner.run(&graph(120), "t", Shelf::update()).await.unwrap();
    let Outcome::Failed { node, failure } = &run.outcome else {
        panic!("{:?}", run.outcome);
    };
    assert_eq!((node.as_str(), failure.code.as_str()), ("right", "RAG0309"));
    assert_eq!(
        failure.hint.as_deref(),
        Some("nest values less deep, 64 at most")
    );
    let thread = ThreadId::new("t").unwrap();
    let log = ThreadLog::load_whole(&*bench.journal, &thread)
        .await
        .unwrap();
    let kept = log
        .records()
        .iter()
        .filter(|record| record.kind == kind::TASK_WRITE.name);
    assert_eq!(kept.count(), 1);
    let run = runner.retry(&graph(1), "t").await.unwrap();
    let asked = run.asks()[0].id.clone();
    let run = runner
        .resume(&graph(1), "t", [(asked, json!(1))])
        .await
        .unwrap();
    assert_eq!(run.state.items, [deep(64), deep(1)]);
    bench.is_whole().await;
}

/// A thread `old` as an older version left it: with a value as deep as a reader takes.
async fn left_by_an_older_version(bench: &Bench, graph: &Graph<Shelf>) -> ThreadId {
    let (runner, thread) = (bench.runner(), ThreadId::new("t").unwrap());
    runner.run(graph, "t", Shelf::update()).await.unwrap();
    let mut image = image(&*bench.journal, &thread).await.unwrap();
    image.thread = ThreadId::new("old").unwrap();
    let (now, then) = (deep(64).to_string(), deep(123).to_string());
    for record in &mut image.records {
        record.body = record.body.replace(&now, &then);
    }
    bench.journal.install(image).await.unwrap();
    ThreadId::new("old").unwrap()
}

#[tokio::test]
async fn a_thread_of_an_older_version_is_read_forked_pruned_and_gone_on_with() {
    let bench = Bench::new();
    let (runner, graph) = (bench.runner(), shelf(Way::Value, 64));
    let old = left_by_an_older_version(&bench, &graph).await;
    let value = async |thread: &str| {
        runner
            .state(&graph, thread)
            .await
            .unwrap()
            .state
            .value
            .clone()
    };
    assert_eq!(value("old").await, deep(123));
    let forked = Fork {
        from: old.clone(),
        to: ThreadId::new("forked").unwrap(),
        checkpoint: Some(2),
        repeats: false,
    };
    fork(&*bench.journal, &forked).await.unwrap();
    assert_eq!(value("forked").await, deep(123));
    let run = runner.resume(&graph, "old", ()).await.unwrap();
    let answers = [(run.asks()[0].id.clone(), json!(1))];
    runner.resume(&graph, "old", answers).await.unwrap();
    let clock = Arc::new(bench.clock.clone());
    let runtime = Runtime::new(Arc::clone(&bench.journal), clock, bench.ids.clone());
    runtime.prune(&old, Keep::Last(1)).await.unwrap();
    assert_eq!(value("old").await, deep(123));
    assert_eq!(check(&*bench.journal, &old).await.unwrap(), []);
}
