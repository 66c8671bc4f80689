//! The one place where these tests touch the API.

use std::sync::{Arc, Mutex};

use rustagents_agent::{Agent, AgentEnd, AgentInput, agent::AgentOutcome};
use rustagents_core::{
    CancellationToken,
    ask::{Answer, Ask},
    budget::{Budget, Limits, Spent},
    ids::{AskId, Branch, FactKey, MessageId, ThreadId},
    journal::{Entry, Journal, JournalError, Owner, Place, kind},
    log::ThreadLog,
    message::{Message, Usage},
    recorder::Durability,
    scope::{Halt, RunShared, Scope, Write},
};
use rustagents_store::MemoryJournal;
use rustagents_testkit::{batch, drive, events::EventLog};

/// A journal, and the knobs of the next attempt.
#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) limits: Limits,
    pub(crate) cancel: CancellationToken,
    pub(crate) drain: CancellationToken,
    pub(crate) events: Arc<Mutex<EventLog>>,
    pub(crate) durability: Durability,
    /// The attempt, and the last one that reopened the run.
    pub(crate) attempt: (u32, u32),
    /// How many messages stand before the request.
    pub(crate) history: u64,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::on(Arc::new(MemoryJournal::new()))
    }

    pub(crate) fn on(journal: Arc<dyn Journal>) -> Self {
        Self {
            journal,
            limits: Limits::default(),
            cancel: CancellationToken::new(),
            drain: CancellationToken::new(),
            events: Arc::default(),
            durability: Durability::Sync,
            attempt: (1, 0),
            history: 0,
        }
    }

    fn thread() -> ThreadId {
        ThreadId::new("t").unwrap()
    }

    /// One driver's try: claims the thread, reads it, drives the agent.
    pub(crate) async fn attempt(&self, agent: &Agent) -> Result<AgentEnd, Halt> {
        let thread = Self::thread();
        let claim = self.journal.claim(&thread, Owner::default()).await?;
        let log = ThreadLog::load_whole(&*self.journal, &thread).await?;
        let events = EventLog::new();
        *self.events.lock().unwrap() = events.clone();
        let input = FactKey::from("input");
        let fresh = log.fact(&Branch::main(), &input).is_none();
        let scope = Scope::root(RunShared {
            budget: Budget::resumed(self.limits, Spent::default()),
            events: events.bus(),
            cancel: self.cancel.clone(),
            drain: self.drain.clone(),
            durability: self.durability,
            attempt: self.attempt.0,
            retried: self.attempt.1,
            ..drive::shared(self.journal.clone(), thread, &claim, log)
        });
        let message = if fresh {
            let message = Arc::new(Message::user(scope.mint_message(), "Refund A-1042"));
            let mut write = Write::new();
            write.message(message.clone());
            write.fact(input, kind::RUN_OPENED, &());
            scope.append(write).await?;
            message
        } else {
            scope.run().log.message(&MessageId::numbered(1))?
        };
        let before = (0..self.history).map(|number| {
            let id = MessageId::numbered(1_000_000 + number);
            Arc::new(Message::user(id, "Said before"))
        });
        let input = AgentInput {
            messages: before.chain([message]).collect(),
            run_start: 0,
        };
        let end = agent.drive(&scope, input).await;
        drop(claim);
        events.check().expect("the events keep their rules");
        end
    }

    /// The events of the last attempt.
    pub(crate) fn events(&self) -> EventLog {
        self.events.lock().unwrap().clone()
    }

    /// What a person says, from outside.
    pub(crate) async fn answer(&self, ask: &AskId, answer: Answer) -> Result<(), JournalError> {
        drive::answer(&*self.journal, Self::thread(), ask, &answer).await
    }

    /// An answer to something that was not asked.
    pub(crate) async fn stray_answer(&self, ask: &AskId, answer: &Answer) {
        let thread = Self::thread();
        let claim = self.journal.claim(&thread, Owner::default()).await.unwrap();
        let place = Place::Fact(Ask::answer_key(ask));
        let entry = Entry {
            kind: kind::ANSWER,
            ..batch::entry(place, &serde_json::to_string(answer).unwrap())
        };
        let stray = batch::batch(&thread, claim.epoch, vec![entry]);
        self.journal.append(stray).await.unwrap();
    }

    pub(crate) async fn log(&self) -> ThreadLog {
        ThreadLog::load_whole(&*self.journal, &Self::thread())
            .await
            .unwrap()
    }

    /// How many records of a kind there are.
    pub(crate) async fn count(&self, kind: rustagents_core::journal::Kind) -> usize {
        self.log()
            .await
            .records()
            .iter()
            .filter(|record| record.is(kind))
            .count()
    }
}

/// What an undisturbed and a disturbed run must have in common.
#[derive(Debug, PartialEq)]
pub(crate) struct Projection {
    pub(crate) outcome: String,
    pub(crate) history: Vec<String>,
    pub(crate) results: Vec<String>,
    pub(crate) usage: Usage,
}

pub(crate) async fn project(bench: &Bench, end: &AgentEnd) -> Projection {
    let strip = |value: serde_json::Value| {
        let mut text = value.to_string();
        for digit in 0..10 {
            text = text
                .replace(&format!("m-{digit}"), "m")
                .replace(&format!("c-{digit}"), "c");
        }
        text
    };
    let history = end
        .messages
        .iter()
        .map(|m| strip(serde_json::to_value(m).unwrap()))
        .collect();
    let log = bench.log().await;
    let results = log
        .records()
        .iter()
        .filter(|record| record.is(kind::RESULT));
    let results = results
        .filter(|record| !record.key().unwrap().as_str().contains("/released/"))
        .map(|record| format!("{:?} {:?}", record.effect, record.digest))
        .collect();
    Projection {
        outcome: said(end),
        history,
        results,
        usage: end.usage,
    }
}

pub(crate) fn said(end: &AgentEnd) -> String {
    match &end.outcome {
        AgentOutcome::Completed(answer) => answer.value().to_owned(),
        AgentOutcome::Suspended(asks) => {
            let ids: Vec<_> = asks.iter().map(|ask| ask.id.as_str()).collect();
            format!("suspended: {}", ids.join(" "))
        }
        AgentOutcome::Interrupted(reason) => format!("interrupted: {reason}"),
        AgentOutcome::Failed(error) => format!("failed: {error}"),
        other => format!("{other:?}"),
    }
}

pub(crate) fn asks(end: &AgentEnd) -> Vec<Ask> {
    match &end.outcome {
        AgentOutcome::Suspended(asks) => asks.clone(),
        other => panic!("expected questions, found {other:?}"),
    }
}

pub(crate) fn approve(ask: &Ask) -> Answer {
    Answer::Approve {
        hash: ask.call().unwrap().hash,
    }
}
