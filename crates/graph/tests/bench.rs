//! The one place where these tests touch the API.

use std::sync::{Arc, Mutex};

use rustagents_core::{
    CancellationToken,
    ask::{Answer, Ask},
    budget::{Budget, Limits, Spent},
    event::Event,
    ids::{AskId, Branch, FactKey, ThreadId},
    journal::{Claim, Journal, JournalError, Kind, Owner, kind},
    log::ThreadLog,
    message::Message,
    scope::{Halt, RunShared, Scope, Write},
};
use rustagents_graph::{Frame, Graph, GraphEnd, GraphState, Outcome, Update, Writes};
use rustagents_store::MemoryJournal;
use rustagents_testkit::{drive, events::EventLog};

#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) limits: Limits,
    pub(crate) cancel: CancellationToken,
    events: Arc<Mutex<EventLog>>,
}

struct Closing;

impl<S: GraphState> Frame<S> for Closing {
    fn close(&self, end: &GraphEnd<S>, write: &mut Write) {
        let kind = match end.outcome {
            Outcome::Suspended(_) => kind::RUN_SUSPENDED,
            _ => kind::RUN_CLOSED,
        };
        write.commit(kind, &end.steps);
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::on(Arc::new(MemoryJournal::new()))
    }

    pub(crate) fn on(journal: Arc<dyn Journal>) -> Self {
        let (limits, cancel) = (Limits::default(), CancellationToken::new());
        Self {
            journal,
            limits,
            cancel,
            events: Arc::default(),
        }
    }

    pub(crate) fn thread() -> ThreadId {
        ThreadId::new("t").unwrap()
    }

    async fn scope(&self, claim: &Claim) -> Result<Scope, JournalError> {
        let log = ThreadLog::load(&*self.journal, &Self::thread(), &Branch::main()).await?;
        let events = EventLog::new();
        *self.events.lock().unwrap() = events.clone();
        Ok(Scope::root(RunShared {
            budget: Budget::resumed(self.limits, Spent::default()),
            events: events.bus(),
            cancel: self.cancel.clone(),
            ..drive::shared(self.journal.clone(), Self::thread(), claim, log)
        }))
    }

    /// One driver's try: opens the run if it is new, then drives it.
    pub(crate) async fn attempt(&self, graph: &Graph) -> Result<GraphEnd, Halt> {
        let says_hello = graph.channels().iter().any(|spec| spec.name == "messages");
        let input = |scope: &Scope| {
            let mut input = Writes::new();
            if says_hello {
                let message = Message::user(scope.mint_message(), "hello");
                input.push("messages", Update::Messages(vec![message.into()]));
            }
            input
        };
        self.attempt_on(graph, input).await
    }

    /// As [`attempt`](Self::attempt), on any state and with any input.
    pub(crate) async fn attempt_on<S: GraphState>(
        &self,
        graph: &Graph<S>,
        input: impl FnOnce(&Scope) -> S::Update,
    ) -> Result<GraphEnd<S>, Halt> {
        let claim = self
            .journal
            .claim(&Self::thread(), Owner::default())
            .await?;
        let scope = self.scope(&claim).await?;
        let mut at = graph.restore(&scope)?;
        if at.checkpoint == 0 {
            at = graph
                .open(&scope, at, input(&scope), Write::new())
                .await
                .map_err(|error| match error {
                    rustagents_graph::graph::OpenError::Halt(halt) => halt,
                    other => panic!("{other}"),
                })?;
        }
        graph.drive(&scope, at, &Closing).await
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().events()
    }

    pub(crate) async fn answer(&self, id: &AskId, value: serde_json::Value) {
        self.try_answer(id, value).await.unwrap();
    }

    pub(crate) async fn try_answer(
        &self,
        id: &AskId,
        value: serde_json::Value,
    ) -> Result<(), JournalError> {
        drive::answer(&*self.journal, Self::thread(), id, &Answer::Value { value }).await
    }

    pub(crate) async fn count(&self, kind: Kind) -> usize {
        let log = self.log().await;
        log.records()
            .iter()
            .filter(|record| record.is(kind))
            .count()
    }

    pub(crate) async fn log(&self) -> ThreadLog {
        ThreadLog::load_whole(&*self.journal, &Self::thread())
            .await
            .unwrap()
    }

    pub(crate) async fn has_fact(&self, key: &str) -> bool {
        let log = self.log().await;
        log.fact(&Branch::main(), &FactKey::from(key)).is_some()
    }
}

pub(crate) fn asks<S: GraphState>(end: &GraphEnd<S>) -> Vec<Ask> {
    match &end.outcome {
        Outcome::Suspended(asks) => asks.clone(),
        other => panic!("expected questions, found {other:?}"),
    }
}

pub(crate) fn failure<S: GraphState>(end: &GraphEnd<S>) -> String {
    match &end.outcome {
        Outcome::Failed { node, failure } => {
            format!("{node} {}: {}", failure.code, failure.message)
        }
        other => panic!("expected a failure, found {other:?}"),
    }
}
