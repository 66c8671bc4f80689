//! What is marked secret is in no file, event or error.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use rustagents_agent::{Agent, ToolSet, TypedTool};
use rustagents_core::{
    code::Coded,
    event::Events,
    ids::ThreadId,
    journal::{Journal, kind},
    log::ThreadLog,
    message::{Message, MessageBody},
    secret::Secret,
    tool::{EffectClass, ToolContext, ToolError},
};
use rustagents_graph::{
    Edit, Graph, GraphBuilder, GraphState, Messages, NodeError, NodeOutput, Outcome, StepOptions,
    TaskContext,
};
use rustagents_runtime::{AgentNode, GraphRunner, Watch, public_event};
use rustagents_store_file::FileJournal;
use rustagents_testkit::model::{FakeModel, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const VALUE: &str = "hunter2-made-up";

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Account {
    name: String,
    #[serde(skip_deserializing)]
    #[schemars(with = "String")]
    key: Secret<String>,
}

impl PartialEq for Account {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

fn account() -> Account {
    Account {
        name: "desk".into(),
        key: Secret::new(VALUE.into()),
    }
}

#[derive(Clone, Debug, PartialEq, GraphState)]
struct Desk {
    account: Account,
    #[channel(append)]
    accounts: Vec<Account>,
    #[channel(messages)]
    messages: Messages,
}

struct Bench {
    folder: tempfile::TempDir,
    journal: Arc<dyn Journal>,
    heard: Arc<Mutex<String>>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = FileJournal::open(folder.path().join("store")).unwrap();
        Self {
            journal: Arc::new(journal),
            folder,
            heard: Arc::default(),
        }
    }

    fn runner(&self) -> GraphRunner {
        let heard = Arc::clone(&self.heard);
        let events = Events::listen(move |event| {
            let (_, line) = public_event::line(event);
            let mut heard = heard.lock().unwrap();
            writeln!(heard, "{event:?} {line}").unwrap();
        });
        GraphRunner::new(Arc::clone(&self.journal)).watched(Watch {
            events,
            ..Watch::default()
        })
    }

    async fn log(&self) -> ThreadLog {
        let thread = ThreadId::new("t").unwrap();
        ThreadLog::load_whole(&*self.journal, &thread)
            .await
            .unwrap()
    }

    /// Says that the secret is nowhere, and that this would be found.
    fn is_clean(&self, is_written: bool) {
        let heard = self.heard.lock().unwrap();
        assert!(!heard.contains(VALUE), "{heard}");
        assert!(!holds(self.folder.path(), VALUE));
        assert_eq!(holds(self.folder.path(), "graph:own"), is_written);
    }
}

/// Whether a file of the folder holds `text`.
fn holds(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return holds(&path, text);
        }
        let bytes = fs::read(path).unwrap();
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    })
}

fn one<F>(work: impl Fn(TaskContext) -> F + Send + Sync + 'static) -> Graph<Desk>
where
    F: Future<Output = Result<NodeOutput<Desk>, NodeError>> + Send + 'static,
{
    GraphBuilder::<Desk>::typed("own")
        .function("work", move |_: Arc<Desk>, context| work(context))
        .start(["work"])
        .finish("work")
        .compile()
        .unwrap()
}

/// The message of a run that failed.
fn failure(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed { failure, .. } => failure.message.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_secret_that_a_node_writes_fails_it_and_names_the_channel() {
    let one_value = || Desk::update().account(account());
    let one_item = || Desk::update().accounts(account());
    for (write, channel) in [
        (one_value as fn() -> DeskUpdate, "account"),
        (one_item as fn() -> DeskUpdate, "accounts"),
    ] {
        let bench = Bench::new();
        let graph = one(move |_| async move { Ok(write().into()) });
        let run = bench
            .runner()
            .run(&graph, "t", Desk::update())
            .await
            .unwrap();
        let message = failure(&run.outcome);
        assert!(message.contains(&format!("`{channel}`")), "{message}");
        assert!(message.contains("secret"), "{message}");
        assert!(!message.contains(VALUE), "{message}");
        assert_eq!(run.state.account, Account::default());
        bench.is_clean(true);
    }
}

#[tokio::test]
async fn a_secret_in_an_input_is_refused_before_anything_is_written() {
    let bench = Bench::new();
    let graph = one(|_| async { Ok(NodeOutput::default()) });
    let input = Desk::update().account(account());
    let error = bench.runner().run(&graph, "t", input).await.unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(
        shown.contains("account") && !shown.contains(VALUE),
        "{shown}"
    );
    assert_eq!(error.code().as_str(), "RAG0411");
    assert!(bench.log().await.is_empty());
    bench.is_clean(false);
}

#[tokio::test]
async fn a_secret_in_an_update_is_refused_before_anything_is_written() {
    let bench = Bench::new();
    let graph = one(|_| async { Ok(NodeOutput::default()) });
    let runner = bench.runner();
    runner.run(&graph, "t", Desk::update()).await.unwrap();
    let before = bench.log().await.last_seq();
    let edit = Edit::new(Desk::update().account(account()));
    let error = runner.update(&graph, "t", vec![edit]).await.unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(
        shown.contains("account") && !shown.contains(VALUE),
        "{shown}"
    );
    assert_eq!(bench.log().await.last_seq(), before);
    bench.is_clean(true);
}

/// Runs a graph of which the step `step` would record a secret.
async fn is_refused(bench: &Bench, graph: &Graph<Desk>, step: &str) {
    let run = bench.runner().run(graph, "t", Desk::update()).await;
    let run = run.unwrap();
    let message = failure(&run.outcome);
    assert!(
        message.contains(step) && message.contains("secret"),
        "{message}"
    );
    bench.is_clean(true);
}

#[tokio::test]
async fn a_secret_is_no_input_of_a_step() {
    let bench = Bench::new();
    let graph = one(|context| async move {
        let options = StepOptions::new("log in").input(&account());
        let work = |_| async { Ok::<_, NodeError>(1) };
        context.step_with(options, work).await?;
        Ok(NodeOutput::default())
    });
    is_refused(&bench, &graph, "log in").await;
}

#[tokio::test]
async fn a_step_that_gives_a_secret_back_is_not_recorded_as_done() {
    let bench = Bench::new();
    let graph = one(|context| async move {
        let work = || async { Ok::<_, NodeError>(account()) };
        context.step("log in", work).await?;
        Ok(NodeOutput::default())
    });
    is_refused(&bench, &graph, "log in").await;

    // What must not happen twice has happened: it is in doubt, not forgotten.
    let bench = Bench::new();
    let graph = one(|context| async move {
        let work = |_| async { Ok::<_, NodeError>(account()) };
        context.step_once("sign up", work).await?;
        Ok(NodeOutput::default())
    });
    let runner = bench.runner();
    let run = runner.run(&graph, "t", Desk::update()).await.unwrap();
    let prompt = &run.asks()[0].prompt;
    assert!(
        prompt.contains("sign up") && prompt.contains("secret"),
        "{prompt}"
    );
    bench.is_clean(true);
}

struct SignUp;

impl TypedTool for SignUp {
    const NAME: &'static str = "sign_up";
    const DESCRIPTION: &'static str = "Make an account.";
    const EFFECT: EffectClass = EffectClass::Idempotent;
    type Args = Nothing;
    type Output = Account;

    async fn run(&self, _: Nothing, _: ToolContext) -> Result<Account, ToolError> {
        Ok(account())
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[tokio::test]
async fn the_result_of_a_tool_is_recorded_without_its_secret() {
    let bench = Bench::new();
    let calls = Reply::Calls(vec![("sign_up", "{}".to_owned())]);
    let agent = Agent::builder("clerk")
        .model(Arc::new(FakeModel::new([calls, Reply::Text("done")])))
        .tools(ToolSet::new().register(SignUp).build().unwrap())
        .build()
        .unwrap();
    let node = AgentNode::new(
        agent,
        |desk: &Desk| desk.messages.to_vec(),
        |_| Desk::update(),
    );
    let graph = GraphBuilder::<Desk>::typed("own")
        .node("clerk", node)
        .start(["clerk"])
        .finish("clerk")
        .compile()
        .unwrap();
    let input = |scope: &rustagents_core::scope::Scope| {
        Desk::update().messages(Message::user(scope.mint_message(), "hello"))
    };
    let run = bench.runner().run_with(&graph, "t", input).await.unwrap();
    assert!(
        matches!(run.outcome, Outcome::Completed),
        "{:?}",
        run.outcome
    );
    let log = bench.log().await;
    assert!(log.records().iter().any(|record| record.is(kind::RESULT)));
    let ids = (1..=log.last_message()).map(rustagents_core::ids::MessageId::numbered);
    let mut messages = ids.map(|id| log.message(&id).unwrap());
    let result = messages.find(|message| matches!(message.body, MessageBody::Tool { .. }));
    assert_eq!(result.unwrap().text(), r#"{"key":"***","name":"desk"}"#);
    bench.is_clean(true);
}
