//! Writing batches. Those that wait for the same thread are written together, as one
//! line, and wait for the disk once: what a line holds is there whole or not at all, and
//! each batch in it as well.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustagents_core::{
    journal::{Batch, Content, JournalError, Place, Seq},
    message::Message,
};

use crate::{
    apart,
    disk::unavailable,
    line::{self, Line, Said},
    log::State,
    store::Store,
    write::{Goal, Writing},
};

/// How much is written as one line, beside what one batch alone may have.
const GROUP_BYTES: usize = 1 << 20;

/// What numbers and the names of fields of a record take, and more.
const ROW_BYTES: usize = 512;

type Written = Result<Vec<Seq>, JournalError>;

/// What became of a batch, for who waits for it.
type Outcome = Arc<Mutex<Option<Written>>>;

/// A batch that waits to be written.
#[derive(Debug)]
struct Job {
    batch: Batch,
    contents: Vec<Content>,
    outcome: Outcome,
}

impl Job {
    fn bytes(&self) -> usize {
        let entries = self.batch.entries.iter().map(|entry| {
            let (chain, run) = (&entry.chain, entry.run.as_str().len());
            let key = match &entry.place {
                Place::Fact(key) => key.as_str().len(),
                Place::Commit => 0,
            };
            let chain = chain.branch.as_str().len() + chain.namespace.as_str().len();
            ROW_BYTES + chain + run + key
        });
        self.batch.bytes() + entries.sum::<usize>()
    }

    fn tell(self, written: Written) {
        *locked(&self.outcome) = Some(written);
    }
}

/// The batches that wait for one thread, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Queue(Mutex<VecDeque<Job>>);

impl Queue {
    fn enter(&self, batch: Batch, contents: Vec<Content>) -> Outcome {
        let outcome = Outcome::default();
        locked(&self.0).push_back(Job {
            batch,
            contents,
            outcome: Arc::clone(&outcome),
        });
        outcome
    }

    fn leave(&self, outcome: &Outcome) {
        locked(&self.0).retain(|job| !Arc::ptr_eq(&job.outcome, outcome));
    }

    /// The first that wait, as many as go into one line.
    fn group(&self) -> Vec<Job> {
        let mut waiting = locked(&self.0);
        let (mut group, mut bytes) = (Vec::new(), 0_usize);
        while let Some(job) = waiting.front() {
            bytes = bytes.saturating_add(job.bytes());
            if bytes > GROUP_BYTES && !group.is_empty() {
                break;
            }
            group.extend(waiting.pop_front());
        }
        group
    }

    /// How many wait.
    #[cfg(debug_assertions)]
    pub(crate) fn len(&self) -> usize {
        locked(&self.0).len()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    pub(crate) fn append(&self, mut batch: Batch) -> Written {
        batch.check()?;
        let contents = std::mem::take(&mut batch.contents);
        // Until a log mentions them, whoever writes it.
        let _families = self.families_for(&contents, apart::has_long(&batch))?;
        let thread = batch.thread.clone();
        let (place, patience) = (self.place(&thread), self.patience());
        let slot = self.cache.slot(&place.name);
        let outcome = slot.waiting.enter(batch, contents);
        let decided = || locked(&outcome).take();
        let mut state = slot.state();
        // Who had the thread before may have written for this one, too.
        if let Some(written) = decided() {
            return written;
        }
        let goal = Goal {
            thread: &thread,
            place: &place,
            patience,
            makes: false,
        };
        let written = self.write_held(&slot, &mut state, goal, |writing| {
            while locked(&outcome).is_none() {
                let group = slot.waiting.group();
                if group.is_empty() {
                    break;
                }
                writing.append_group(group)?;
            }
            Ok(())
        });
        let decided = decided();
        if decided.is_none() {
            // As long as the thread is held, nobody else takes it from there.
            slot.waiting.leave(&outcome);
        }
        drop(state);
        match (decided, written) {
            (Some(written), _) => written,
            (None, Err(error)) => Err(error),
            (None, Ok(())) => Err(unavailable(&place.log, &"the write was never decided")),
        }
    }
}

fn said(messages: Vec<Arc<Message>>) -> Vec<Said> {
    messages.into_iter().map(Said::Whole).collect()
}

impl Writing<'_> {
    /// Writes a group, and tells each what became of its batch. An error is one of the
    /// disk: whatever the log holds then, it is read again.
    fn append_group(&mut self, mut group: Vec<Job>) -> Result<(), JournalError> {
        if group.len() > 1 {
            return self.append_together(group);
        }
        let Some(mut job) = group.pop() else {
            return Ok(());
        };
        let written = self.append_alone(&mut job);
        let is_lost = self.state().is_none();
        job.tell(written.clone());
        match written {
            Err(error) if is_lost => Err(error),
            _ => Ok(()),
        }
    }

    fn append_alone(&mut self, job: &mut Job) -> Written {
        let state = self.known()?;
        state.thread.check(&job.batch)?;
        let at = job.batch.at_ms;
        let records = state
            .thread
            .place(std::mem::take(&mut job.batch.entries), at);
        let seqs = records.iter().map(|record| record.seq).collect();
        let family = state.family.clone();
        self.store_contents(&family, &job.contents)?;
        self.append(Line::Batch(line::Batch {
            at,
            messages: said(std::mem::take(&mut job.batch.messages)),
            records: records.into_iter().map(Into::into).collect(),
        }))?;
        Ok(seqs)
    }

    /// Each batch is checked against the thread with those before it. If these cannot be
    /// written, that says nothing of it, and it is not written either.
    fn append_together(&mut self, group: Vec<Job>) -> Result<(), JournalError> {
        let mut state = self.take_known()?;
        let mut together = line::Batch {
            at: 0,
            messages: vec![],
            records: vec![],
        };
        let mut told = Vec::new();
        for job in group {
            let written = self.take_in(&mut state, &mut together, &job);
            told.push((job, written));
        }
        let first = told.iter().position(|(_, written)| written.is_ok());
        let stored = if first.is_some() {
            self.append_taken(state, &Line::Batch(together))
        } else {
            self.put_back(state);
            Ok(())
        };
        for (at, (job, written)) in told.into_iter().enumerate() {
            let relies_on_it = first.is_some_and(|first| at >= first);
            job.tell(match &stored {
                Err(error) if relies_on_it => Err(error.clone()),
                _ => written,
            });
        }
        stored
    }

    /// Takes a batch into the thread, and into the line that will be written.
    fn take_in(&self, state: &mut State, together: &mut line::Batch, job: &Job) -> Written {
        state.thread.check(&job.batch)?;
        self.store_contents(&state.family, &job.contents)?;
        let Batch {
            entries,
            messages,
            at_ms,
            ..
        } = &job.batch;
        let records = state.thread.place(entries.clone(), *at_ms);
        let seqs = records.iter().map(|record| record.seq).collect();
        together.at = *at_ms;
        together.messages.extend(said(messages.clone()));
        let rows = records.iter().cloned().map(Into::into);
        together.records.extend(rows);
        state.thread.extend(messages.clone(), records, *at_ms)?;
        Ok(seqs)
    }
}
