//! Whole threads: copying, installing, compacting and removing them.
//!
//! Each writes a log whole under another name and moves it into place, or removes
//! one: a crash leaves the old log or the new one. Contents are collected after.

use std::fs::File;

use rustagents_core::{
    ids::ThreadId,
    journal::{Compaction, Epoch, JournalError, Owner, Seq, ThreadImage},
};
use rustagents_store::Thread;

use crate::{
    apart,
    disk::{present, unavailable},
    line::Claim,
    lock,
    log::State,
    store::{Place, Removed, Store, removed},
    write::{Whole, Writing, unknown},
};

impl Store {
    pub(crate) fn copy(
        &self,
        from: &ThreadId,
        to: &ThreadId,
        upto: Option<Seq>,
    ) -> Result<(), JournalError> {
        // Before the copy stands there, nothing says that it needs the contents.
        let _families = self.families_if_made()?;
        let seen = self.look(from, |state| {
            let copy = state.thread.copy(upto)?;
            Ok((copy, state.family.clone()))
        })?;
        let (thread, family) = seen.ok_or_else(|| unknown(from))??;
        self.write(to, true, |writing| {
            writing.free(to)?;
            let removed = writing.removed()?;
            writing.create(whole(thread, family, &removed), None)
        })
    }

    pub(crate) fn install(&self, mut image: ThreadImage) -> Result<(), JournalError> {
        image.check()?;
        let contents = std::mem::take(&mut image.contents);
        let name = image.thread.clone();
        if self.look(&name, |_| ())?.is_some() {
            return Err(exists(&name));
        }
        let family = image.family.take();
        let joined = family.map(|family| self.join(&family)).transpose()?;
        let (families, joined) = joined.unzip();
        let is_long = apart::have_long(image.records.iter(), image.messages.iter());
        // A broken image makes nothing, not even a folder.
        let thread = Thread::of(image)?;
        self.make()?;
        self.disk.make_folder(&self.threads())?;
        let _families = match families {
            Some(kept_out) => kept_out,
            None => self.families_for(&contents, is_long)?,
        };
        self.write(&name, true, |writing| {
            writing.free(&name)?;
            let removed = writing.removed()?;
            let family = joined.unwrap_or_else(|| writing.new_family(&removed));
            self.store_contents(&family, &writing.place.name, &contents)?;
            writing.create(whole(thread, family, &removed), None)
        })
    }

    pub(crate) fn compact(&self, mut compaction: Compaction) -> Result<Vec<Seq>, JournalError> {
        compaction.batch.check()?;
        let contents = std::mem::take(&mut compaction.batch.contents);
        // What stays is written anew, and may be in parts.
        let families = self.families_for(&contents, true)?;
        let name = compaction.batch.thread.clone();
        let (seqs, family) = self.write(&name, false, |writing| {
            let state = writing.known()?;
            state.thread.check(&compaction.batch)?;
            let mut thread = state.thread.clone();
            let seqs = thread.write(compaction.batch.clone());
            thread.compact(&compaction)?;
            let whole = Whole {
                thread,
                family: state.family.clone(),
                generation: state.generation,
                owner: state.owner.clone(),
            };
            let family = whole.family.clone();
            self.store_contents(&family, &writing.place.name, &contents)?;
            writing.replace(whole, None)?;
            Ok((seqs, family))
        })?;
        // Nothing is undone any more, whatever becomes of the collection.
        drop(families);
        self.collect(&family);
        Ok(seqs)
    }

    pub(crate) fn remove(&self, thread: &ThreadId, epoch: Epoch) -> Result<(), JournalError> {
        let family = self.write(thread, false, |writing| {
            let state = writing.known()?;
            state.thread.check_epoch(thread, epoch)?;
            let family = state.family.clone();
            // Its driver may still hold the lock of this generation.
            let generation = state.generation + 1;
            let times = writing.removed()?.times + 1;
            self.keep(
                writing.place,
                &Removed {
                    epoch,
                    generation,
                    times,
                },
            )?;
            writing.unlink()?;
            Ok(family)
        })?;
        self.collect(&family);
        Ok(())
    }

    /// Removes a thread that nobody drives and whose log is damaged. Its
    /// contents stay until they are collected.
    pub(crate) fn discard(&self, thread: &ThreadId, owner: &Owner) -> Result<(), JournalError> {
        let (place, patience) = (self.place(thread), self.patience());
        let slot = self.cache.slot(&place.name);
        let mut state = slot.state();
        let held = lock::make(&place.lock, patience)?;
        *state = None;
        let file = present(&place.log, File::open(&place.log))?;
        let mut file = file.ok_or_else(|| unknown(thread))?;
        let mut seen = State::new(thread.clone());
        // Up to the damage. Nobody is left who could write under a later epoch.
        let _ = seen.catch_up(&mut file, &place.log);
        let (_claims, generation) = self.claim_all(thread, owner, &place)?;
        let before = removed(&place).unwrap_or_default();
        let keeps = Removed {
            epoch: seen.thread.epoch.max(before.epoch),
            generation: generation.max(seen.generation).max(before.generation) + 1,
            times: before.times + 1,
        };
        self.keep(&place, &keeps)?;
        self.disk.remove(&place.log)?;
        self.disk.sync_folder(&place.folder)?;
        drop(held);
        Ok(())
    }

    /// Writes down what stays of a thread that will be removed.
    fn keep(&self, place: &Place, removed: &Removed) -> Result<(), JournalError> {
        let path = &place.removed;
        let text = serde_json::to_vec(removed).map_err(|e| unavailable(path, &e))?;
        let draft = path.with_extension("new");
        self.disk.replace(&draft, path, |draft| draft.write(&text))
    }
}

impl Writing<'_> {
    fn free(&self, thread: &ThreadId) -> Result<(), JournalError> {
        self.state().map_or(Ok(()), |_| Err(exists(thread)))
    }

    /// Makes a thread that is not there.
    pub(crate) fn create(
        &mut self,
        whole: Whole,
        claim: Option<Claim>,
    ) -> Result<(), JournalError> {
        self.sync_above()?;
        self.replace(whole, claim)
    }

    /// The family of a thread that shares its contents with no other.
    pub(crate) fn new_family(&self, removed: &Removed) -> String {
        // A copy of a thread that was removed may still be of that one's family.
        format!("{}.{}", self.place.name, removed.times)
    }
}

/// A thread that nobody drives, after those of its name that were removed.
fn whole(mut thread: Thread, family: String, removed: &Removed) -> Whole {
    thread.rise_above(removed.epoch);
    Whole {
        thread,
        family,
        generation: removed.generation,
        owner: Owner::default(),
    }
}

fn exists(thread: &ThreadId) -> JournalError {
    JournalError::ThreadExists {
        thread: thread.clone(),
    }
}
