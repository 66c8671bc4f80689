//! Updates between two steps, and what lasts for one.

use super::*;
use rustagents_graph::{Edit, Reducer, State, Update, Writes, state::field::Arrivals};
use rustagents_runtime::threads::{Fork, Keep, fork, whole_at};

#[derive(Clone, Debug, GraphState)]
struct Post {
    #[channel(append)]
    log: Vec<String>,
    #[channel(topic)]
    news: Vec<String>,
    #[channel(ephemeral)]
    flag: Option<String>,
    #[channel(barrier("a", "b"))]
    both: Arrivals,
    title: String,
}

fn told(news: &[String], flag: Option<&str>, is_complete: bool) -> String {
    format!("{} {} {is_complete}", news.join("+"), flag.unwrap_or("-"))
}

fn seen(post: &Post) -> String {
    told(&post.news, post.flag.as_deref(), post.both.is_complete())
}

const ASKED: &str = "q:2.0/1";

/// `p` writes what lasts for one step; `q` asks, and says what it sees, as `r` does
/// after it. `s` asks beside `q`.
fn posting() -> Graph<Post> {
    GraphBuilder::<Post>::typed("post")
        .function("p", |_, _| async {
            let update = Post::update().news("x").flag("y");
            Ok(update.both("a").both("b").into())
        })
        .function("q", |post: Arc<Post>, context: TaskContext| async move {
            context.ask("?").await?;
            Ok(Post::update().log(seen(&post)).into())
        })
        .function("s", |_, context: TaskContext| async move {
            context.ask("?").await?;
            Ok(Post::update().into())
        })
        .function("r", |post: Arc<Post>, _| async move {
            Ok(Post::update().log(seen(&post)).into())
        })
        .start(["p"])
        .edge("p", "q")
        .edge("p", "s")
        .edge("q", "r")
        .finish("s")
        .finish("r")
        .compile()
        .unwrap()
}

async fn opened() -> Bench {
    let bench = Bench::new();
    let run = bench.runner().run(&posting(), "t", Post::update()).await;
    assert_eq!(ids(run.unwrap().asks()), [ASKED, "s:2.1/1"]);
    bench
}

fn titled() -> [Edit<Post>; 1] {
    [Edit::new(Post::update().title("by hand"))]
}

/// Answers all that `thread` asks, and says what was seen.
async fn finished(bench: &Bench, thread: &str) -> Vec<String> {
    let (runner, graph) = (bench.runner(), posting());
    let mut run = runner.resume(&graph, thread, ()).await.unwrap();
    while !run.asks().is_empty() {
        let answers: Vec<_> = run.asks().iter().map(|ask| (ask.id.clone(), 1)).collect();
        run = runner.resume(&graph, thread, answers).await.unwrap();
    }
    assert!(matches!(run.outcome, Outcome::Completed));
    let thread = ThreadId::new(thread).unwrap();
    assert_eq!(check(&*bench.journal, &thread).await.unwrap(), []);
    run.state.log.clone()
}

#[tokio::test]
async fn what_lasts_for_one_step_outlasts_an_update() {
    let bench = opened().await;
    for number in 3..6 {
        let view = bench.runner().update(&posting(), "t", titled()).await;
        let view = view.unwrap();
        assert_eq!((view.checkpoint, &*seen(&view.state)), (number, "x y true"));
        let view = bench.runner().state(&posting(), "t").await.unwrap();
        assert_eq!(seen(&view.state), "x y true");
    }
    assert_eq!(finished(&bench, "t").await, ["x y true", " - false"]);
}

#[tokio::test]
async fn it_is_there_in_a_fork_at_the_update_after_a_pruning_and_without_the_type() {
    let bench = opened().await;
    let (runner, graph) = (bench.runner(), posting());
    runner.update(&graph, "t", titled()).await.unwrap();
    let thread = ThreadId::new("t").unwrap();
    let whole = whole_at(&*bench.journal, &thread, Some(3)).await.unwrap();
    assert_eq!(
        whole.state,
        json!({ "news": ["x"], "flag": "y", "both": ["a", "b"], "title": "by hand" })
    );
    runner.update(&graph, "t", titled()).await.unwrap();
    for (to, checkpoint) in [("at", Some(3)), ("whole", None)] {
        let made = Fork {
            from: thread.clone(),
            to: ThreadId::new(to).unwrap(),
            checkpoint,
            repeats: false,
        };
        fork(&*bench.journal, &made).await.unwrap();
        assert_eq!(finished(&bench, to).await, ["x y true", " - false"], "{to}");
    }
    assert_eq!(finished(&bench, "t").await, ["x y true", " - false"]);
    let clock = Arc::new(bench.clock.clone());
    let runtime = Runtime::new(Arc::clone(&bench.journal), clock, bench.ids.clone());
    let pruned = runtime.prune(&thread, Keep::Last(3)).await.unwrap();
    assert!(pruned.removed.records > 0);
    let made = Fork {
        from: thread,
        to: ThreadId::new("pruned").unwrap(),
        checkpoint: Some(4),
        repeats: false,
    };
    fork(&*bench.journal, &made).await.unwrap();
    assert_eq!(finished(&bench, "pruned").await, ["x y true", " - false"]);
}

#[tokio::test]
async fn what_an_update_writes_there_comes_to_what_is_left() {
    let cases = [
        (Post::update().news("z"), "x+z y true"),
        (Post::update().flag("z"), "x z true"),
        (Post::update().both("a"), "x y true"),
        (Post::update().clear_news().news("z"), "z y true"),
        (Post::update().replace_news(["z".to_owned()]), "z y true"),
        (Post::update().clear_flag(), "x - true"),
        (Post::update().clear_both().both("a"), "x y false"),
    ];
    for (update, expected) in cases {
        let bench = opened().await;
        let edits = [Edit::new(update)];
        let view = bench.runner().update(&posting(), "t", edits).await.unwrap();
        assert_eq!(seen(&view.state), expected);
        assert_eq!(finished(&bench, "t").await[0], expected);
    }
}

#[tokio::test]
async fn an_update_as_a_node_ends_the_step_where_nothing_of_it_is_left() {
    let bench = opened().await;
    let (runner, graph) = (bench.runner(), posting());
    let edit = Edit::as_node("s", Post::update().news("z").into());
    let view = runner.update(&graph, "t", [edit]).await.unwrap();
    assert_eq!(seen(&view.state), "x+z y true", "`q` is left");
    let edit = Edit::as_node("q", Post::update().news("w").into());
    let view = runner.update(&graph, "t", [edit]).await.unwrap();
    assert_eq!(seen(&view.state), "w - false");
    assert_eq!(finished(&bench, "t").await, ["w - false"]);
    let bench = opened().await;
    let edit = Edit::as_node(END, Post::update().into());
    let view = bench.runner().update(&graph, "t", [edit]).await.unwrap();
    assert_eq!(seen(&view.state), " - false");
}

/// In JSON: `p` writes what lasts for one step, `q` asks, and says what it sees.
fn json_posting() -> Graph {
    GraphBuilder::new("post")
        .channel("log", Reducer::Append)
        .channel("news", Reducer::Topic)
        .channel("flag", Reducer::Ephemeral)
        .channel("title", Reducer::Overwrite)
        .barrier("both", ["a", "b"])
        .function("p", |_, _| async {
            let mut writes = Writes::new();
            for (channel, value) in [("news", "x"), ("flag", "y"), ("both", "a"), ("both", "b")] {
                writes.push(channel, Update::Value(value.into()));
            }
            Ok(NodeOutput::of(writes))
        })
        .function("q", |state: Arc<State>, context: TaskContext| async move {
            context.ask("?").await?;
            let seen = json!([
                state.to_json()["news"],
                state.to_json()["flag"],
                state.is_complete("both")
            ]);
            Ok(NodeOutput::new().write("log", Update::Value(seen)))
        })
        .start(["p"])
        .edge("p", "q")
        .finish("q")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_state_in_json_keeps_it_too() {
    let cases = [
        ("title", "by hand", json!([["x"], "y", true])),
        ("news", "z", json!([["x", "z"], "y", true])),
        ("flag", "z", json!([["x"], "z", true])),
        ("both", "b", json!([["x"], "y", true])),
    ];
    for (channel, value, expected) in cases {
        let bench = Bench::new();
        let (runner, graph) = (bench.runner(), json_posting());
        runner.run(&graph, "t", Writes::new()).await.unwrap();
        let mut writes = Writes::new();
        writes.push(channel, Update::Value(value.into()));
        let edits = [Edit::new(writes)];
        let view = runner.update(&graph, "t", edits).await.unwrap();
        assert_eq!(view.state.list("both").len(), 2);
        let run = runner.resume(&graph, "t", [("q:2.0/1", 1)]).await.unwrap();
        assert_eq!(run.state.to_json()["log"], json!([expected]), "{channel}");
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn a_retry_after_an_update_sees_what_the_failed_try_saw() {
    let graph = GraphBuilder::<Post>::typed("post")
        .function("p", |_, _| async { Ok(Post::update().news("x").into()) })
        .function("q", |post: Arc<Post>, _| async move {
            if post.title.is_empty() {
                return Err(NodeError::failed("there is no title"));
            }
            Ok(Post::update().log(seen(&post)).into())
        })
        .start(["p"])
        .edge("p", "q")
        .finish("q")
        .compile()
        .unwrap();
    let bench = Bench::new();
    let runner = bench.runner();
    runner.run(&graph, "t", Post::update()).await.unwrap();
    runner.update(&graph, "t", titled()).await.unwrap();
    let run = runner.retry(&graph, "t").await.unwrap();
    assert_eq!(run.state.log, ["x - false"]);
    bench.is_whole().await;
}
