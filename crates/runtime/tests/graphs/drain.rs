//! Runs that are told to stop at the next boundary.

use super::*;

const DURABILITIES: [Durability; 3] = [Durability::Sync, Durability::Async, Durability::Exit];

/// A bench, its runner with a way to drain it, and a node of each name that notes it.
struct Draining {
    bench: Bench,
    watch: Watch,
}

impl Draining {
    fn new(durability: Durability) -> Self {
        let watch = Watch {
            durability,
            ..Watch::default()
        };
        Self {
            bench: Bench::new(),
            watch,
        }
    }

    /// A graph of `nodes`, one after the other; the last of `drains` that runs asks
    /// for the drain.
    fn chain(
        &self,
        name: &str,
        nodes: &[&'static str],
        drains: &'static str,
    ) -> GraphBuilder<Desk> {
        let mut graph = GraphBuilder::<Desk>::typed(name).start([nodes[0]]);
        for node in nodes {
            let (node, world, drain) = (*node, self.bench.world.clone(), self.watch.drain.clone());
            graph = graph.function(node, move |_, _| {
                world.change(node);
                if node == drains {
                    drain.cancel();
                }
                async move { note(node) }
            });
        }
        let ends: Vec<&str> = nodes.iter().copied().chain([END]).collect();
        graph.sequence(ends)
    }

    /// Runs `graph` until it is drained; what is recorded then.
    async fn drained(&self, graph: &Graph<Desk>) -> rustagents_runtime::GraphView<Desk> {
        let runner = self.bench.runner().watched(self.watch.clone());
        let error = runner.run(graph, "t", Desk::update()).await.unwrap_err();
        assert!(
            matches!(error, GraphRunError::Halt(Halt::Drained)),
            "{error}"
        );
        assert_eq!(error.hint().as_deref(), Some("resume the thread to go on"));
        let view = runner.state(graph, "t").await.unwrap();
        assert_eq!(view.status, None, "it is not over");
        view
    }

    /// Goes on to the end. Nothing ran twice, in whatever attempt.
    async fn goes_on(&self, graph: &Graph<Desk>, notes: &[&str]) {
        let watch = Watch {
            durability: self.watch.durability,
            ..Watch::default()
        };
        let runner = self.bench.runner().watched(watch);
        let run = runner.resume(graph, "t", ()).await.unwrap();
        assert!(matches!(run.outcome, Outcome::Completed));
        assert_eq!(run.state.notes, notes);
        assert_eq!(self.bench.world.changes(), notes);
        self.bench.is_whole().await;
    }
}

#[tokio::test]
async fn a_drained_run_ends_its_step_and_goes_on_later() {
    for durability in DURABILITIES {
        let draining = Draining::new(durability);
        let graph = draining
            .chain("g", &["a", "b", "c"], "a")
            .compile()
            .unwrap();
        let view = draining.drained(&graph).await;
        assert_eq!(view.state.notes, ["a"], "{durability:?}");
        assert_eq!(view.next[0].as_str(), "b");
        draining.goes_on(&graph, &["a", "b", "c"]).await;
    }
}

#[tokio::test]
async fn a_drain_in_the_last_step_ends_the_run_as_usual() {
    for durability in DURABILITIES {
        let draining = Draining::new(durability);
        let graph = draining.chain("g", &["a", "b"], "b").compile().unwrap();
        let runner = draining.bench.runner().watched(draining.watch.clone());
        let run = runner.run(&graph, "t", Desk::update()).await.unwrap();
        assert!(matches!(run.outcome, Outcome::Completed), "{durability:?}");
        assert_eq!(run.state.notes, ["a", "b"]);
        draining.bench.is_whole().await;
    }
}

#[tokio::test]
async fn a_drain_before_the_first_step_keeps_the_input() {
    for durability in DURABILITIES {
        let draining = Draining::new(durability);
        let graph = draining.chain("g", &["a"], "").compile().unwrap();
        draining.watch.drain.cancel();
        let view = draining.drained(&graph).await;
        assert_eq!((view.checkpoint, view.next.len()), (1, 1), "{durability:?}");
        draining.goes_on(&graph, &["a"]).await;
    }
}

/// `first`, then a child of `one` and `two`, then `last`.
fn around(draining: &Draining, drains: &'static str) -> Graph<Desk> {
    let child = draining.chain("child", &["one", "two"], drains);
    let (world, after) = (draining.bench.world.clone(), draining.bench.world.clone());
    GraphBuilder::<Desk>::typed("around")
        .function("first", move |_, _| {
            world.change("first");
            async { note("first") }
        })
        .subgraph("sub", child.compile().unwrap())
        .function("last", move |_, _| {
            after.change("last");
            async { note("last") }
        })
        .start(["first"])
        .sequence(["first", "sub", "last", END])
        .compile()
        .unwrap()
}

const ALL: [&str; 4] = ["first", "one", "two", "last"];

#[tokio::test]
async fn a_drain_stops_a_child_between_its_steps() {
    for durability in DURABILITIES {
        let draining = Draining::new(durability);
        let graph = around(&draining, "one");
        let view = draining.drained(&graph).await;
        assert_eq!(view.state.notes, ["first"], "{durability:?}");
        assert_eq!(view.next[0].as_str(), "sub");
        assert_eq!(draining.bench.world.changes(), ["first", "one"]);
        draining.goes_on(&graph, &ALL).await;
    }
}

#[tokio::test]
async fn a_drain_in_the_last_step_of_a_child_stops_the_graph_around_it() {
    for durability in DURABILITIES {
        let draining = Draining::new(durability);
        let graph = around(&draining, "two");
        let view = draining.drained(&graph).await;
        assert_eq!(view.state.notes, ["first", "one", "two"], "{durability:?}");
        assert_eq!(view.next[0].as_str(), "last");
        draining.goes_on(&graph, &ALL).await;
    }
}

#[tokio::test]
async fn a_drain_inside_a_child_lets_the_siblings_of_its_node_end() {
    for durability in DURABILITIES {
        let draining = Draining::new(durability);
        let child = draining.chain("child", &["one", "two"], "one");
        let (world, drain) = (draining.bench.world.clone(), draining.watch.drain.clone());
        let graph = GraphBuilder::<Desk>::typed("around")
            .subgraph("sub", child.compile().unwrap())
            .function("beside", move |_, _| {
                let (world, drain) = (world.clone(), drain.clone());
                async move {
                    drain.cancelled().await;
                    world.change("beside");
                    note("beside")
                }
            })
            .start(["sub", "beside"])
            .finish("sub")
            .finish("beside")
            .compile()
            .unwrap();
        let view = draining.drained(&graph).await;
        assert!(view.state.notes.is_empty(), "{durability:?}");
        let runner = draining.bench.runner();
        let run = runner.resume(&graph, "t", ()).await.unwrap();
        assert_eq!(run.state.notes, ["one", "two", "beside"], "in task order");
        assert_eq!(draining.bench.world.changes(), ["one", "beside", "two"]);
        draining.bench.is_whole().await;
    }
}
