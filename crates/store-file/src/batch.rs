//! Writing a batch.

use rustagents_core::journal::{Batch, JournalError, Seq};

use crate::{
    line::{self, Line},
    store::Store,
};

impl Store {
    pub(crate) fn append(&self, mut batch: Batch) -> Result<Vec<Seq>, JournalError> {
        batch.check()?;
        let contents = std::mem::take(&mut batch.contents);
        let _families = self.families_for(&contents)?;
        let thread = batch.thread.clone();
        self.write(&thread, false, |writing| {
            let state = writing.known()?;
            state.thread.check(&batch)?;
            let records = state.thread.place(batch.entries, batch.at_ms);
            let seqs = records.iter().map(|record| record.seq).collect();
            let family = state.family.clone();
            self.store_contents(&family, &writing.place.name, &contents)?;
            writing.append(Line::Batch(line::Batch {
                at: batch.at_ms,
                messages: batch.messages,
                records: records.into_iter().map(Into::into).collect(),
            }))?;
            Ok(seqs)
        })
    }
}
