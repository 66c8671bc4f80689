//! Small batches, for tests of a journal.

use rustagents_core::{
    ids::{Branch, FactKey, Namespace, RunId, ThreadId},
    journal::{Author, Batch, Chain, Entry, Epoch, Place, Seq, kind},
};

/// A thread's name.
pub fn thread(name: &str) -> ThreadId {
    ThreadId::new(name).expect("a valid name")
}

/// The root chain of the main branch.
pub fn root() -> Chain {
    Chain {
        branch: Branch::main(),
        namespace: Namespace::root(),
    }
}

/// An entry on the root chain.
pub fn entry(place: Place, body: &str) -> Entry {
    Entry {
        chain: root(),
        place,
        kind: kind::RESULT,
        run: RunId::from("r"),
        attempt: 1,
        effect: None,
        digest: None,
        body: body.to_owned(),
    }
}

/// What the driver of `epoch` writes: entries and nothing else, on no head.
pub fn batch(thread: &ThreadId, epoch: Epoch, entries: Vec<Entry>) -> Batch {
    Batch {
        thread: thread.clone(),
        author: Author::Driver(epoch),
        heads: vec![],
        entries,
        messages: vec![],
        contents: vec![],
        at_ms: 1,
    }
}

/// One fact.
pub fn fact(thread: &ThreadId, epoch: Epoch, key: &str, body: &str) -> Batch {
    let entry = entry(Place::Fact(FactKey::from(key)), body);
    batch(thread, epoch, vec![entry])
}

/// One commit behind `head`.
pub fn commit(thread: &ThreadId, epoch: Epoch, head: Option<Seq>, body: &str) -> Batch {
    Batch {
        heads: vec![(root(), head)],
        ..batch(thread, epoch, vec![entry(Place::Commit, body)])
    }
}
