//! What a driver may still write that lost its claim while an effect was in flight.

use super::{Author, Batch, Entry, Epoch, JournalError, Kind, Place, Record, kind};
use crate::ids::FactKey;

/// What each kind of intent may end in, in any version.
const ENDS: [(Kind, &[Kind]); 2] = [
    (kind::INTENT, &[kind::RESULT]),
    (kind::STEP_INTENT, &[kind::STEP_RESULT, kind::STEP_RELEASED]),
];

fn has(kinds: &[Kind], kind: Kind) -> bool {
    kinds.iter().any(|one| one.name == kind.name)
}

impl Batch {
    /// Checks of a late driver's batch what needs no look at the store: it is one
    /// fact that ends the intent, with its message and content.
    pub(super) fn check_late(&self) -> Result<(), JournalError> {
        let Author::Late { intent, .. } = &self.author else {
            return Ok(());
        };
        let malformed = |rule| Err(JournalError::Malformed { rule });
        let [entry] = self.entries.as_slice() else {
            return malformed("a late driver writes one fact");
        };
        let ends = entry.key().is_some_and(|key| is_end(key, intent));
        if !ends || !ENDS.iter().any(|(_, ends)| has(ends, entry.kind)) {
            return malformed("a late driver says how its intent ended");
        }
        let messages = self.messages.as_slice();
        if messages.len() > 1 || self.contents.len() > 1 {
            return malformed("an effect ends in one message, and one content");
        }
        // The thread's driver numbers its own, and would come to the same number.
        if messages.iter().any(|message| message.id.number() > 0) {
            return malformed("a late driver's message has no number");
        }
        Ok(())
    }

    /// Whether a late driver may write this batch to a thread at the epoch `current`;
    /// `found` is the fact under the key of the intent that it names, in the branch of
    /// its entry. The batch was [checked](Batch::check).
    ///
    /// # Errors
    /// [`JournalError::Fenced`]: it has no such intent; [`JournalError::Malformed`].
    pub fn check_intent(&self, found: Option<&Record>, current: Epoch) -> Result<(), JournalError> {
        let (Author::Late { epoch, .. }, [entry]) = (&self.author, self.entries.as_slice()) else {
            return Ok(());
        };
        let is_own = |intent: &&Record| {
            intent.epoch == *epoch
                && intent.chain == entry.chain
                && intent.run == entry.run
                && ENDS
                    .iter()
                    .any(|(kind, ends)| intent.is(*kind) && has(ends, entry.kind))
        };
        if found.as_ref().is_some_and(is_own) {
            return Ok(());
        }
        if *epoch == current {
            return Err(JournalError::Malformed {
                rule: "a late driver has an intent of its own",
            });
        }
        Err(JournalError::Fenced {
            thread: self.thread.clone(),
            own: *epoch,
            current,
        })
    }
}

impl Entry {
    fn key(&self) -> Option<&FactKey> {
        match &self.place {
            Place::Commit => None,
            Place::Fact(key) => Some(key),
        }
    }
}

/// Whether `key` is that of an end of `intent`: `X/intent/N` ends under `X/result` or
/// `X/released/N`.
fn is_end(key: &FactKey, intent: &FactKey) -> bool {
    let Some((effect, number)) = intent.as_str().rsplit_once("/intent/") else {
        return false;
    };
    let end = key.as_str().strip_prefix(effect);
    end.is_some_and(|end| end == "/result" || end.strip_prefix("/released/") == Some(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intent_ends_in_its_own_result() {
        let is_end = |key: &str, intent: &str| is_end(&key.into(), &intent.into());
        assert!(is_end("call/c-1/result", "call/c-1/intent/2"));
        assert!(is_end("call/c-1/released/2", "call/c-1/intent/2"));
        assert!(is_end(
            "step/pay:1.0/a#1/result",
            "step/pay:1.0/a#1/intent/1"
        ));
        for (key, intent) in [
            ("call/c-1/released/1", "call/c-1/intent/2"),
            ("call/c-2/result", "call/c-1/intent/1"),
            ("call/c-11/result", "call/c-1/intent/1"),
            ("call/c-1/intent/3", "call/c-1/intent/2"),
            ("call/c-1/result", "call/c-1/started/1"),
            ("answer/c-1", "call/c-1/intent/1"),
            ("/result", "intent"),
        ] {
            assert!(!is_end(key, intent), "{key} {intent}");
        }
    }
}
