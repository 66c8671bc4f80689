//! What a test needs to drive a machine on a journal.

use std::sync::Arc;

use rustagents_core::{
    CancellationToken,
    ask::{Answer, Ask},
    budget::{Bounds, Budget, Limits, Spent},
    event::Events,
    ids::{AskId, Branch, Namespace, RunId, ThreadId},
    journal::{Author, Batch, Chain, Claim, Entry, Journal, JournalError, Place, kind},
    log::ThreadLog,
    recorder::Durability,
    scope::{RunShared, Without},
    store::GivenStore,
};

use crate::clock::TestClock;

/// What a claimed run shares, with the default budget and nobody listening; set
/// the fields that a test is about over it.
pub fn shared(
    journal: Arc<dyn Journal>,
    thread: ThreadId,
    claim: &Claim,
    log: ThreadLog,
) -> RunShared {
    RunShared {
        journal,
        thread,
        branch: Branch::main(),
        epoch: claim.epoch,
        run: RunId::from("r"),
        attempt: 1,
        retried: 0,
        input: None,
        log,
        budget: Budget::resumed(Limits::default(), Spent::default()),
        bounds: Bounds::default(),
        without: Without::default(),
        events: Events::default(),
        clock: Arc::new(TestClock::new()),
        durability: Durability::Sync,
        cancel: CancellationToken::new(),
        drain: CancellationToken::new(),
        store: GivenStore::default(),
    }
}

/// Writes a person's answer, from outside any driver.
///
/// # Errors
/// Whatever the journal says.
pub async fn answer(
    journal: &dyn Journal,
    thread: ThreadId,
    ask: &AskId,
    answer: &Answer,
) -> Result<(), JournalError> {
    let entry = Entry {
        chain: Chain {
            branch: Branch::main(),
            namespace: Namespace::root(),
        },
        place: Place::Fact(Ask::answer_key(ask)),
        kind: kind::ANSWER,
        run: RunId::from("r"),
        attempt: 1,
        effect: None,
        digest: None,
        body: serde_json::to_string(answer).expect("an answer serialises"),
    };
    let batch = Batch {
        thread,
        author: Author::Outside,
        heads: vec![],
        entries: vec![entry],
        messages: vec![],
        contents: vec![],
        at_ms: 0,
    };
    journal.append(batch).await.map(drop)
}
