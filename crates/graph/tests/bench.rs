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
    recorder::Durability,
    scope::{Halt, RunShared, Scope, Write},
};
use rustagents_graph::{Frame, Graph, GraphEnd, Outcome, Update};
use rustagents_store::MemoryJournal;
use rustagents_testkit::{clock::ManualClock, drive, events::EventLog};

#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) limits: Limits,
    pub(crate) cancel: CancellationToken,
    pub(crate) clock: ManualClock,
    pub(crate) durability: Durability,
    events: Arc<Mutex<EventLog>>,
}

struct Closing;

impl Frame for Closing {
    fn close(&self, end: &GraphEnd, write: &mut Write) {
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
            clock: ManualClock::new(),
            durability: Durability::Sync,
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
            clock: Arc::new(self.clock.clone()),
            durability: self.durability,
            ..drive::shared(self.journal.clone(), Self::thread(), claim, log)
        }))
    }

    /// One driver's try: opens the run if it is new, then drives it.
    pub(crate) async fn attempt(&self, graph: &Graph) -> Result<GraphEnd, Halt> {
        let claim = self
            .journal
            .claim(&Self::thread(), Owner::default())
            .await?;
        let scope = self.scope(&claim).await?;
        let mut at = graph.restore(&scope)?;
        if at.checkpoint == 0 {
            let mut input = Vec::new();
            if graph.channels().iter().any(|(name, _)| name == "messages") {
                let message = Message::user(scope.mint_message(), "hello");
                input.push(("messages".into(), Update::Messages(vec![message.into()])));
            }
            at =
                graph
                    .open(&scope, at, input, Write::new())
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

pub(crate) fn asks(end: &GraphEnd) -> Vec<Ask> {
    match &end.outcome {
        Outcome::Suspended(asks) => asks.clone(),
        other => panic!("expected questions, found {other:?}"),
    }
}

pub(crate) fn failure(end: &GraphEnd) -> String {
    match &end.outcome {
        Outcome::Failed { node, failure } => {
            format!("{node} {}: {}", failure.code, failure.message)
        }
        other => panic!("expected a failure, found {other:?}"),
    }
}
