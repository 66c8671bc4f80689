//! Threads whose records do not fit the graph's state.

use super::*;
use rustagents_graph::Edit;

/// As [`Desk`], with another type for one field.
#[derive(Clone, Debug, GraphState)]
struct Numbered {
    topic: u64,
}

/// The nodes of [`desk`].
fn numbered() -> Graph<Numbered> {
    let nothing = |_: Arc<Numbered>, _| async { Ok(Numbered::update().into()) };
    GraphBuilder::<Numbered>::typed("desk")
        .function("left", nothing)
        .function("right", nothing)
        .function("sum", nothing)
        .start(["left", "right"])
        .join(["left", "right"], "sum")
        .finish("sum")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_thread_that_does_not_fit_the_state_is_refused_and_written_nothing_to() {
    let bench = Bench::new();
    let (runner, numbered) = (bench.runner(), numbered());
    bench.open().await;
    let edit = || [Edit::new(Numbered::update().topic(7))];
    let both = || [(LEFT, "a"), (RIGHT, "b")];
    let refused = "RAG0304";
    bench.refuses(refused, runner.state(&numbered, "t")).await;
    let resume = runner.resume(&numbered, "t", both());
    bench.refuses(refused, resume).await;
    let update = runner.update(&numbered, "t", edit());
    bench.refuses(refused, update).await;
    let rewind = runner.rewind(&numbered, "t", 1);
    bench.refuses(refused, rewind).await;

    let run = runner.resume(&bench.desk(), "t", both()).await.unwrap();
    assert_eq!(run.state.notes, ["left: a", "right: b", "2 notes"]);
    let again = runner.run(&numbered, "t", Numbered::update());
    bench.refuses(refused, again).await;
    let update = runner.update(&numbered, "t", edit());
    bench.refuses(refused, update).await;
    bench.is_whole().await;
}
