//! Writing a log: one line at its end, or all of it anew.

use std::{
    fs::{File, OpenOptions},
    sync::Arc,
};

use rustagents_core::{
    ids::ThreadId,
    journal::{Content, JournalError, Owner},
};
use rustagents_store::{Thread, locks::Patience};

use crate::{
    apart::Apart,
    cache::Slot,
    disk::{present, refused},
    format::FORMAT,
    line::{Claim, Head, Line, Marks, Row, Said, Sum},
    lock,
    log::State,
    store::{Place, Removed, Store, removed},
};

/// A thread that this process alone may write to, for the moment.
#[derive(Debug)]
pub(crate) struct Writing<'a> {
    store: &'a Store,
    thread: &'a ThreadId,
    pub(crate) place: &'a Place,
    state: &'a mut Option<State>,
    file: Option<File>,
}

/// A thread whose log is written whole.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) thread: Thread,
    pub(crate) family: String,
    pub(crate) generation: u64,
    pub(crate) owner: Owner,
}

/// What is written to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal<'a> {
    pub(crate) thread: &'a ThreadId,
    pub(crate) place: &'a Place,
    /// How long another process is waited for.
    pub(crate) patience: Patience,
    /// Whether it may have to be made.
    pub(crate) makes: bool,
}

impl Store {
    /// Writes to a thread, alone. With `makes`, its folder is made.
    pub(crate) fn write<T>(
        &self,
        thread: &ThreadId,
        makes: bool,
        work: impl FnOnce(&mut Writing<'_>) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let (place, patience) = (self.place(thread), self.patience());
        if makes {
            self.make()?;
            self.disk.make_folder(&place.folder)?;
        }
        let slot = self.cache.slot(&place.name);
        let mut state = slot.state();
        let goal = Goal {
            thread,
            place: &place,
            patience,
            makes,
        };
        self.write_held(&slot, &mut state, goal, work)
    }

    /// Writes to a thread that nobody else in this process works on now.
    pub(crate) fn write_held<T>(
        &self,
        slot: &Slot,
        state: &mut Option<State>,
        goal: Goal<'_>,
        work: impl FnOnce(&mut Writing<'_>) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        // A log whose lock file was lost is written to like another one.
        let Goal { thread, place, .. } = goal;
        let held = if goal.makes || place.log.exists() {
            Some(lock::make(&place.lock, goal.patience)?)
        } else {
            None
        };
        let written = match held {
            Some(_held) => {
                Writing::open(self, thread, place, state).and_then(|mut writing| work(&mut writing))
            }
            None => Err(unknown(thread)),
        };
        self.cache.settle(slot, state.as_ref());
        if written.is_ok() {
            self.written.notify_waiters();
        }
        written
    }
}

impl<'a> Writing<'a> {
    /// Reads what the log gained, and cuts what a crash left of a line.
    fn open(
        store: &'a Store,
        thread: &'a ThreadId,
        place: &'a Place,
        state: &'a mut Option<State>,
    ) -> Result<Self, JournalError> {
        let known = state.take();
        let mut options = OpenOptions::new();
        let opened = options.read(true).write(true).open(&place.log);
        let mut file = present(&place.log, opened)?;
        if let Some(file) = &mut file {
            let mut current = known.unwrap_or_else(|| State::new(thread.clone()));
            let look = current.catch_up(file, &place.log)?;
            let cut = if look.torn {
                store.disk.cut(&place.log, file, current.end)
            } else if look.gained {
                // Its writer may have been killed before it was durable.
                store.disk.sync(&place.log, file)
            } else {
                Ok(())
            };
            cut.map_err(|e| refused(&place.log, &e))?;
            *state = Some(current);
        }
        Ok(Self {
            store,
            thread,
            place,
            state,
            file,
        })
    }

    /// The thread as it stands, if there is one.
    pub(crate) fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    /// The thread as it stands.
    pub(crate) fn known(&self) -> Result<&State, JournalError> {
        self.state().ok_or_else(|| unknown(self.thread))
    }

    /// What stays of a removed thread of this name.
    pub(crate) fn removed(&self) -> Result<Removed, JournalError> {
        removed(self.place)
    }

    /// Writes one line and waits for the disk; then the thread takes it in. After
    /// an error, what the log holds is read again before anything relies on it.
    pub(crate) fn append(&mut self, line: Line) -> Result<(), JournalError> {
        let mut state = self.take_known()?;
        let (bytes, sum) = match self.encode(&mut state, &line) {
            Ok(encoded) => encoded,
            Err(error) => {
                self.put_back(state);
                return Err(error);
            }
        };
        self.write_line(&state, &bytes)?;
        state.apply(line)?;
        state.wrote(bytes.len(), sum);
        self.put_back(state);
        Ok(())
    }

    /// As [`Writing::append`], of a line that the thread took in already.
    pub(crate) fn append_taken(
        &mut self,
        mut state: State,
        line: &Line,
    ) -> Result<(), JournalError> {
        let (bytes, sum) = self.encode(&mut state, line)?;
        self.write_line(&state, &bytes)?;
        state.wrote(bytes.len(), sum);
        self.put_back(state);
        Ok(())
    }

    /// The thread as it stands. Who does not put it back lets it be read again.
    pub(crate) fn take_known(&mut self) -> Result<State, JournalError> {
        let state = self.state.take();
        state.ok_or_else(|| unknown(self.thread))
    }

    pub(crate) fn put_back(&mut self, state: State) {
        *self.state = Some(state);
    }

    /// The bytes of the line, and its sum. What is long in it is stored as contents.
    fn encode(&self, state: &mut State, line: &Line) -> Result<(Vec<u8>, Sum), JournalError> {
        let apart = if state.has_parts() {
            line.apart()?
        } else {
            None
        };
        let Some(Apart { line, contents }) = apart else {
            return line.encode(state.sum);
        };
        let encoded = line.encode(state.sum)?;
        self.store_contents(&state.family, &contents)?;
        state.has_apart(&contents);
        Ok(encoded)
    }

    /// Contents that a line will mention.
    pub(crate) fn store_contents(
        &self,
        family: &str,
        contents: &[Content],
    ) -> Result<(), JournalError> {
        self.store
            .store_contents(family, &self.place.name, contents)
    }

    fn write_line(&mut self, state: &State, bytes: &[u8]) -> Result<(), JournalError> {
        let mut file = self.file.take().ok_or_else(|| unknown(self.thread))?;
        let (disk, log) = (&self.store.disk, &self.place.log);
        if let Err(error) = disk.append(log, &mut file, state.end, bytes) {
            // If this fails too, a part is cut by the next who writes; a whole
            // line, which nobody was told of, may stay.
            let _ = disk.cut(log, &file, state.end);
            return Err(refused(log, &error));
        }
        self.file = Some(file);
        Ok(())
    }

    /// Writes the log anew, and moves it to the place of the one that is there.
    pub(crate) fn replace(
        &mut self,
        whole: Whole,
        claim: Option<Claim>,
    ) -> Result<(), JournalError> {
        self.file = None;
        *self.state = None;
        let mut state = State::new(self.thread.clone());
        let (disk, this) = (&self.store.disk, &*self);
        let draft = this.place.folder.join("log.new");
        disk.replace(&draft, &this.place.log, |draft| {
            let mut put = |line: Line| {
                let (bytes, sum) = this.encode(&mut state, &line)?;
                draft.write(&bytes)?;
                state.apply(line)?;
                state.wrote(bytes.len(), sum);
                Ok(())
            };
            whole.lines(this.thread.clone(), &mut put)?;
            claim.map_or(Ok(()), |claim| put(Line::Claim(claim)))
        })?;
        *self.state = Some(state);
        Ok(())
    }

    /// Makes the thread's folder durable, whoever made it.
    pub(crate) fn sync_above(&self) -> Result<(), JournalError> {
        let disk = &self.store.disk;
        disk.sync_folder(&self.store.root)?;
        disk.sync_folder(&self.store.threads())
    }

    /// Removes the log; what stays of it must stand there already.
    pub(crate) fn unlink(&mut self) -> Result<(), JournalError> {
        self.file = None;
        *self.state = None;
        let disk = &self.store.disk;
        disk.remove(&self.place.log)?;
        disk.sync_folder(&self.place.folder)
    }
}

impl Whole {
    /// Puts each line of the log.
    fn lines(
        self,
        name: ThreadId,
        put: &mut dyn FnMut(Line) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        put(Line::Log(Head {
            format: FORMAT,
            thread: name,
            family: self.family,
        }))?;
        for (place, message) in self.thread.messages(0, usize::MAX) {
            put(Line::Message(*place, Said::Whole(Arc::clone(message))))?;
        }
        for record in self.thread.records() {
            put(Line::Record(Row::from(record.clone())))?;
        }
        let marks = self.thread.marks();
        put(Line::Marks(Marks {
            epoch: marks.epoch,
            generation: self.generation,
            owner: self.owner,
            last_seq: marks.last_seq,
            last_place: marks.last_place,
            updated_at: marks.updated_at_ms,
        }))
    }
}

/// The error for a thread that is not there.
pub(crate) fn unknown(thread: &ThreadId) -> JournalError {
    JournalError::UnknownThread {
        thread: thread.clone(),
    }
}
