//! Who drives a thread: a lock on the claim file of the thread's generation, and
//! an epoch in its log.
//!
//! A take-over does not wait for the lock: it takes that of the next generation,
//! and the log says that this one counts from now on. Whoever then gets a lock of
//! an earlier generation sees in the log that it is worth nothing.

use std::{fs::File, path::PathBuf};

use rustagents_core::{
    ids::ThreadId,
    journal::{Claim, Epoch, JournalError, Owner},
};
use rustagents_store::{
    Thread,
    locks::{self, Holder, Taken},
};

use crate::{
    contents,
    disk::refused,
    line::{self, Line},
    store::{Place, Store, removed},
    write::{Whole, Writing},
};

/// What came of one try to claim a thread.
#[derive(Debug)]
pub(crate) enum Tried {
    Claimed(Claim),
    /// It is driven by this one.
    Busy(Owner),
}

impl Store {
    /// Claims a thread, if nobody drives it or `displaces` says to do it anyway.
    pub(crate) fn try_claim(
        &self,
        thread: &ThreadId,
        owner: &Owner,
        displaces: bool,
    ) -> Result<Tried, JournalError> {
        self.make()?;
        self.disk.make_folder(&self.claims())?;
        let (generation, last) = self.driver(thread)?;
        match self.take(thread, generation, owner)? {
            Taken::Held(file) => self.count(thread, owner, file, (generation, generation)),
            Taken::Busy(holder) if !displaces => Ok(Tried::Busy(holder.unwrap_or(last))),
            Taken::Busy(_) => match self.take(thread, generation + 1, owner)? {
                Taken::Held(file) => self.count(thread, owner, file, (generation, generation + 1)),
                // Another is just taking it over.
                Taken::Busy(holder) => Ok(Tried::Busy(holder.unwrap_or(last))),
            },
        }
    }

    /// Takes all locks that anybody ever took to drive the thread, and gives the
    /// highest generation of them. One that is held says that somebody who drives the
    /// thread, or did, is still there.
    pub(crate) fn claim_all(
        &self,
        thread: &ThreadId,
        owner: &Owner,
        place: &Place,
    ) -> Result<(Vec<File>, u64), JournalError> {
        let (mut held, mut highest) = (Vec::new(), 0);
        for name in contents::names(&self.claims())? {
            let number = name.strip_prefix(&place.name);
            let number = number.and_then(|rest| rest.strip_prefix('.')?.parse().ok());
            let Some(generation) = number else {
                continue;
            };
            match self.take(thread, generation, owner)? {
                Taken::Held(file) => held.push(file),
                Taken::Busy(holder) => {
                    let (thread, owner) = (thread.clone(), holder.unwrap_or_default());
                    return Err(JournalError::Busy { thread, owner });
                }
            }
            highest = highest.max(generation);
        }
        Ok((held, highest))
    }

    /// Who drives the thread right now.
    pub(crate) fn owner(&self, thread: &ThreadId) -> Result<Option<Owner>, JournalError> {
        let (generation, last) = self.driver(thread)?;
        let path = self.claim_file(thread, generation);
        let holder = locks::holder(&path).map_err(|e| refused(&path, &e))?;
        Ok(match holder {
            Holder::Nobody => None,
            Holder::Somebody(owner) => Some(owner.unwrap_or(last)),
        })
    }

    /// The generation that counts, and the last driver that the log knows.
    fn driver(&self, thread: &ThreadId) -> Result<(u64, Owner), JournalError> {
        let seen = self.look(thread, |state| (state.generation, state.owner.clone()))?;
        match seen {
            Some(seen) => Ok(seen),
            None => Ok((removed(&self.place(thread))?.generation, Owner::default())),
        }
    }

    /// Counts the epoch up, if the generation is still the one that was looked at.
    fn count(
        &self,
        thread: &ThreadId,
        owner: &Owner,
        file: File,
        (seen, next): (u64, u64),
    ) -> Result<Tried, JournalError> {
        let epoch = self.write(thread, true, |writing| {
            let found = match writing.state() {
                Some(state) => state.generation,
                None => writing.removed()?.generation,
            };
            if found != seen {
                return Ok(None);
            }
            writing.claim(next, owner.clone()).map(Some)
        })?;
        Ok(match epoch {
            Some(epoch) => Tried::Claimed(Claim::new(epoch, file)),
            None => Tried::Busy(Owner::default()),
        })
    }

    fn take(
        &self,
        thread: &ThreadId,
        generation: u64,
        owner: &Owner,
    ) -> Result<Taken, JournalError> {
        let path = self.claim_file(thread, generation);
        locks::try_take(&path, owner).map_err(|e| refused(&path, &e))
    }

    fn claims(&self) -> PathBuf {
        self.root.join("claims")
    }

    fn claim_file(&self, thread: &ThreadId, generation: u64) -> PathBuf {
        let name = self.place(thread).name;
        self.claims().join(format!("{name}.{generation}"))
    }
}

impl Writing<'_> {
    /// Records a claim, making the thread if it is new.
    fn claim(&mut self, generation: u64, owner: Owner) -> Result<Epoch, JournalError> {
        if let Some(state) = self.state() {
            let epoch = state.thread.epoch + 1;
            self.append(Line::Claim(line::Claim {
                epoch,
                generation,
                owner,
            }))?;
            return Ok(epoch);
        }
        let removed = self.removed()?;
        let epoch = removed.epoch + 1;
        let whole = Whole {
            thread: Thread::at(removed.epoch),
            family: self.new_family(&removed),
            generation,
            owner: Owner::default(),
        };
        let claim = line::Claim {
            epoch,
            generation,
            owner,
        };
        self.create(whole, Some(claim))?;
        Ok(epoch)
    }
}
