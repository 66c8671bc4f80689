//! Taking records out of a thread, and what the rest of it mentions.

use std::collections::BTreeSet;

use foldhash::HashSet;
use rustagents_core::{
    digest::Digest,
    journal::{Compaction, JournalError, Record, mention},
};

use super::Thread;

impl Thread {
    /// Takes records out, and the messages that no record mentions any more.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`] if a body that stays is no JSON; the thread is
    /// not to be used any more then.
    pub fn compact(&mut self, compaction: &Compaction) -> Result<(), JournalError> {
        let records = std::mem::take(&mut self.records);
        let (last_seq, updated) = (self.last_seq, self.updated_at_ms);
        self.heads.clear();
        self.facts.clear();
        for record in records {
            if !compaction.drops(record.seq) {
                self.index(record);
            }
        }
        (self.last_seq, self.updated_at_ms) = (last_seq, updated);
        let mut mentioned = HashSet::default();
        for record in self.records.iter() {
            mention_strings(record, &mut |text| {
                if let Some((id, _)) = self.message_ids.get_key_value(text) {
                    mentioned.insert(id.clone());
                }
            })?;
        }
        self.messages
            .retain(|(_, message)| mentioned.contains(&message.id));
        self.message_ids.retain(|id, _| mentioned.contains(id));
        Ok(())
    }

    /// Adds the digests that the thread mentions.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`] if a body is no JSON.
    pub fn mentioned(&self, digests: &mut BTreeSet<Digest>) -> Result<(), JournalError> {
        for record in self.records.iter() {
            mention_strings(record, &mut |text| {
                mention::digests(text, &mut |digest| {
                    digests.insert(digest);
                });
            })?;
        }
        for (_, message) in &self.messages {
            mention::digests(&message.text(), &mut |digest| {
                digests.insert(digest);
            });
        }
        Ok(())
    }
}

fn mention_strings(record: &Record, each: &mut dyn FnMut(&str)) -> Result<(), JournalError> {
    mention::strings(&record.body, each).map_err(|error| JournalError::Corrupt {
        place: format!("record {} ({})", record.seq, record.kind),
        reason: error.to_string(),
    })
}
