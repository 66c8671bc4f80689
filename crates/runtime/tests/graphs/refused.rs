//! A step that is refused, and what its tasks had done by then.

use super::*;
use rustagents_agent::{Agent, FailFast, ToolSet};
use rustagents_core::tool::{Approval, EffectClass, Tool};
use rustagents_runtime::AgentNode;
use rustagents_testkit::{
    model::{FakeModel, Reply},
    tool::FakeTool,
};

/// Why the step is refused.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Two tasks write one value.
    Conflict,
    /// A function of the state takes no route.
    Branch,
    /// A node names a route that it does not have.
    Route,
    /// Nothing: the program is mended.
    None,
}

/// A node that asks, and then makes a step of each kind.
async fn work(world: World, context: TaskContext, fault: Fault) -> Ended {
    context.ask("?").await?;
    let look = world.clone();
    let looks = move || async move {
        look.change("looked");
        Ok::<_, NodeError>(())
    };
    context.step("look", looks).await?;
    let pay = move |_: StepContext| async move {
        world.change("paid");
        Ok::<_, NodeError>(())
    };
    context.step_once("pay", pay).await?;
    let label = if fault == Fault::Route { "ghost" } else { "on" };
    let update = Desk::update().notes("works");
    // What the other one wrote is recorded: it was done while this one asked.
    let update = match fault {
        Fault::None => update,
        _ => update.topic("works"),
    };
    Ok(NodeOutput::of(update).route(label))
}

/// An agent that pays by a tool, with a model that has one turn for that, and one more.
fn agent(world: &World) -> (Agent, Arc<FakeModel>) {
    let pay = FakeTool::noting("pay", EffectClass::Once, world);
    let pay: Arc<dyn Tool> = Arc::new(pay.declare(|spec| spec.approval = Some(Approval::Allow)));
    let turns = [
        Reply::Calls(vec![("pay", "{}".to_owned())]),
        Reply::Text("done"),
    ];
    let model = Arc::new(FakeModel::new(turns));
    let agent = Agent::builder("clerk")
        .model(model.clone())
        .tools(ToolSet::new().offer(pay).build().unwrap())
        .policy(FailFast)
        .build()
        .unwrap();
    (agent, model)
}

/// `agent` outlives the fault: what it was asked once is asked once.
fn graph(world: &World, agent: &Agent, fault: Fault) -> Graph<Desk> {
    let own = world.clone();
    let clerk = AgentNode::new(
        agent.clone(),
        |desk: &Desk| desk.messages.to_vec(),
        move |said| {
            let update = Desk::update().notes(said.answer);
            match fault {
                Fault::Conflict => update.topic("clerk"),
                _ => update,
            }
        },
    );
    GraphBuilder::<Desk>::typed("g")
        .function("work", move |_, context| work(own.clone(), context, fault))
        .node("clerk", clerk)
        .function("last", |_, _| async { note("last") })
        .start(["work", "clerk"])
        .route("work", "on", ["last"])
        .branch(
            "clerk",
            move |_: &Desk| fault == Fault::Branch,
            [(false, "last")],
        )
        .finish("last")
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_refused_step_records_no_writes_and_what_its_tasks_did_is_not_done_again() {
    for fault in [Fault::Conflict, Fault::Branch, Fault::Route] {
        let bench = Bench::new();
        let runner = bench.runner();
        let (agent, model) = agent(&bench.world);
        let broken = graph(&bench.world, &agent, fault);
        let input = |scope: &rustagents_core::scope::Scope| {
            Desk::update().messages(Message::user(scope.mint_message(), "hello"))
        };
        let run = runner.run_with(&broken, "t", input).await.unwrap();
        let answer = [(run.asks()[0].id.clone(), true)];
        let run = runner.resume(&broken, "t", answer).await.unwrap();
        let Outcome::Failed { failure, .. } = &run.outcome else {
            panic!("{fault:?}: {:?}", run.outcome);
        };
        let code = if fault == Fault::Conflict {
            "RAG0801"
        } else {
            "RAG0802"
        };
        assert_eq!(failure.code.as_str(), code);
        let done = bench.world.changes();
        assert_eq!(done.len(), 3, "{fault:?}: {done:?}");

        // The thread is as it was before the step, and can be read.
        let view = runner.state(&broken, "t").await.unwrap();
        assert_eq!((view.checkpoint, view.state.topic.as_str()), (1, ""));
        assert_eq!(view.next.len(), 2);
        bench.is_whole().await;

        // Tried again, the step is refused again, and nothing else happens.
        let run = runner.retry(&broken, "t").await.unwrap();
        assert!(matches!(run.outcome, Outcome::Failed { .. }), "{fault:?}");
        assert_eq!(bench.world.changes(), done, "{fault:?}");

        let mended = graph(&bench.world, &agent, Fault::None);
        let run = runner.retry(&mended, "t").await.unwrap();
        assert!(
            matches!(run.outcome, Outcome::Completed),
            "{fault:?}: {:?}",
            run.outcome
        );
        assert_eq!(model.calls(), 2, "{fault:?}");
        assert_eq!(run.state.notes, ["works", "done", "last"]);
        assert_eq!(bench.world.changes(), done, "{fault:?}");
        bench.is_whole().await;
    }
}
