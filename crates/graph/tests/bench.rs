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
use rustagents_graph::{
    Edit, Frame, Graph, GraphEnd, GraphState, Outcome, Position, State, Update, Writes,
    graph::OpenError,
    record::{Checkpoint, Snapshot},
};
use rustagents_store::MemoryJournal;
use rustagents_testkit::{clock::ManualClock, drive, events::EventLog};

#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) limits: Limits,
    pub(crate) cancel: CancellationToken,
    /// Time of its own, where a test sets it.
    pub(crate) clock: Option<ManualClock>,
    pub(crate) durability: Durability,
    events: Arc<Mutex<EventLog>>,
}

pub(crate) struct Closing;

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
            clock: None,
            durability: Durability::Sync,
            events: Arc::default(),
        }
    }

    /// The same on time of its own, which moves when it is told to.
    pub(crate) fn on_a_clock(mut self) -> (Self, ManualClock) {
        let clock = ManualClock::new();
        self.clock = Some(clock.clone());
        (self, clock)
    }

    pub(crate) fn thread() -> ThreadId {
        ThreadId::new("t").unwrap()
    }

    async fn scope(&self, claim: &Claim) -> Result<Scope, JournalError> {
        let log = ThreadLog::load(&*self.journal, &Self::thread(), &Branch::main()).await?;
        let events = EventLog::new();
        *self.events.lock().unwrap() = events.clone();
        let mut shared = drive::shared(self.journal.clone(), Self::thread(), claim, log);
        if let Some(clock) = &self.clock {
            shared.clock = Arc::new(clock.clone());
        }
        Ok(Scope::root(RunShared {
            budget: Budget::resumed(self.limits, Spent::default()),
            events: events.bus(),
            cancel: self.cancel.clone(),
            durability: self.durability,
            ..shared
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
                    OpenError::Halt(halt) => halt,
                    other => panic!("{other}"),
                })?;
        }
        graph.drive(&scope, at, &Closing).await
    }

    /// Claims the thread, and does `work` where the graph stands.
    async fn at<T>(
        &self,
        graph: &Graph,
        work: impl AsyncFnOnce(&Scope, Position) -> Result<T, OpenError>,
    ) -> Result<T, OpenError> {
        let claim = self.journal.claim(&Self::thread(), Owner::default()).await;
        let claim = claim.map_err(Halt::from)?;
        let scope = self.scope(&claim).await.map_err(Halt::from)?;
        let at = graph.restore(&scope)?;
        work(&scope, at).await
    }

    /// Opens the run, and drives nothing.
    pub(crate) async fn open(&self, graph: &Graph) -> Position {
        let opening = async |scope: &Scope, at| {
            let input = Writes::new();
            graph.open(scope, at, input, Write::new()).await
        };
        self.at(graph, opening).await.unwrap()
    }

    /// Records a fact, as a driver would.
    pub(crate) async fn note(&self, key: &str, kind: Kind, body: &serde_json::Value) {
        let claim = self.journal.claim(&Self::thread(), Owner::default()).await;
        let scope = self.scope(&claim.unwrap()).await.unwrap();
        let mut write = Write::new();
        write.fact(FactKey::from(key), kind, body);
        scope.append(write).await.unwrap();
    }

    /// Where the graph stands.
    pub(crate) async fn at_rest(&self, graph: &Graph) -> Position {
        let at = self.at(graph, async |_, at| Ok(at)).await;
        at.unwrap()
    }

    pub(crate) async fn edit(
        &self,
        graph: &Graph,
        edits: Vec<Edit<State>>,
    ) -> Result<Position, OpenError> {
        self.at(graph, async |scope, at| {
            let mut write = Write::new();
            let at = graph.update(scope, at, edits, &mut write)?;
            scope.append(write).await.map_err(Halt::from)?;
            Ok(at)
        })
        .await
    }

    /// Where the graph stood at a checkpoint, from the whole log.
    pub(crate) async fn then(&self, graph: &Graph, number: u64) -> Position {
        let log = self.log().await;
        let mut state = graph.empty_state();
        for record in log.records() {
            if record.is(kind::SNAPSHOT) {
                let snapshot: Snapshot = record.decode(kind::SNAPSHOT).unwrap();
                state = graph.empty_state();
                for (channel, delta) in &snapshot.state {
                    state.change(channel, delta, |id| log.message(id)).unwrap();
                }
            }
            if !record.is(kind::CHECKPOINT) {
                continue;
            }
            let checkpoint: Checkpoint = record.decode(kind::CHECKPOINT).unwrap();
            for (channel, delta) in &checkpoint.deltas {
                state.change(channel, delta, |id| log.message(id)).unwrap();
            }
            if checkpoint.checkpoint == number {
                let find = &mut |id: &_| log.message(id);
                let snapshot = Snapshot {
                    checkpoint: number,
                    at: None,
                    messages: 0,
                    calls: 0,
                    state: state.deltas(),
                    kept: std::collections::BTreeMap::new(),
                    migrations: Vec::new(),
                };
                return graph.position_at(checkpoint, &snapshot, find).unwrap();
            }
        }
        panic!("there is no checkpoint {number}");
    }

    pub(crate) async fn rewind(&self, graph: &Graph, to: u64) -> Position {
        let then = self.then(graph, to).await;
        self.at(graph, async |scope, at| {
            let mut write = Write::new();
            let at = graph.rewind(scope, &at, then, &mut write)?;
            scope.append(write).await.map_err(Halt::from)?;
            Ok(at)
        })
        .await
        .unwrap()
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
