//! The table in memory, and how far of the log it is.

use std::path::PathBuf;

use rustagents_core::store::StoreError;
use rustagents_store::items::table::{Change, Table};

use super::log::{Log, Place, store_error};
use crate::{disk::Disk, lock::FolderLock};

/// A log that is shorter is left as it is.
const LEAST_TO_REWRITE: u64 = 64 << 10;

/// A log is rewritten when it is as many times longer than what it holds.
const WASTE: u64 = 4;

/// What a line of a rewritten log holds at the most, in bytes of values.
const LINE_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Replica {
    folder: FolderLock,
    disk: Disk,
    table: Table,
    /// How far of which log the table is; `None` if it is of none.
    place: Option<Place>,
    /// How far of which log it ever was. No log ends before that, and none that takes
    /// its place is older.
    seen: Option<Place>,
    /// Whether all of that log up to there is durable, and its name. Who wrote it
    /// may not have lived to wait for that.
    is_settled: bool,
}

impl Replica {
    pub(super) fn of(folder: PathBuf, disk: Disk) -> Self {
        Self {
            folder: FolderLock::of(folder),
            disk,
            table: Table::default(),
            place: None,
            seen: None,
            is_settled: false,
        }
    }

    /// The table as it stands in the log now.
    pub(super) fn read(&mut self) -> Result<&Table, StoreError> {
        self.catch_up(&mut Log::to_read(&self.folder, &self.disk)?)?;
        Ok(&self.table)
    }

    /// Makes what `plan` says durable, then applies it.
    pub(super) fn change<T>(
        &mut self,
        now_ms: u64,
        plan: impl FnOnce(&Table) -> Result<(Change, T), StoreError>,
    ) -> Result<T, StoreError> {
        let mut log = Log::to_write(&self.folder, &self.disk)?;
        self.catch_up(&mut log)?;
        let (change, answer) = plan(&self.table)?;
        if !self.is_settled && self.place.is_some() {
            log.settle()?;
            self.is_settled = true;
        }
        if change.is_empty() {
            return Ok(answer);
        }
        let mut place = match self.place {
            Some(place) => place,
            None => log.start(now_ms, std::iter::empty())?,
        };
        self.is_settled = true;
        if let Err(error) = log.append(&mut place, &change) {
            // What the disk has is open: it is read anew.
            self.forget();
            return Err(error);
        }
        self.table.apply(change);
        self.stands_at(place);
        self.rewrite_if_wasteful(&mut log, place, now_ms);
        Ok(answer)
    }

    fn catch_up(&mut self, log: &mut Log) -> Result<(), StoreError> {
        let Some(start) = log.first_place()? else {
            self.forget();
            return match self.seen {
                Some(_) => Err(store_error(self.folder.mark().gone())),
                None => Ok(()),
            };
        };
        if let Some(seen) = &self.seen
            && (start.is_before(seen) || start.is_of(seen) && !log.reaches(seen)?)
        {
            self.forget();
            return Err(store_error(self.folder.mark().replaced()));
        }
        let mut place = match self.place {
            Some(place) if place.is_of(&start) => place,
            _ => {
                self.forget();
                start
            }
        };
        let read = log.read_from(&mut place, |change| {
            self.is_settled = false;
            self.table.apply(change);
        });
        self.stands_at(place);
        read.inspect_err(|_| self.forget())
    }

    fn stands_at(&mut self, place: Place) {
        self.place = Some(place);
        self.seen = Some(place);
    }

    fn forget(&mut self) {
        self.table = Table::default();
        self.place = None;
        self.is_settled = false;
    }

    /// What was asked is done already, so a failure here is tried again later.
    fn rewrite_if_wasteful(&mut self, log: &mut Log, place: Place, now_ms: u64) {
        let held = u64::try_from(self.table.bytes()).unwrap_or(u64::MAX);
        if place.end() < LEAST_TO_REWRITE || place.end() / WASTE < held {
            return;
        }
        let generation = now_ms.max(place.generation().saturating_add(1));
        if let Ok(place) = log.start(generation, lines(&self.table)) {
            self.stands_at(place);
        }
    }
}

/// The whole table as changes of a moderate size.
fn lines(table: &Table) -> impl Iterator<Item = Change> {
    let mut all = table.all().cloned().peekable();
    std::iter::from_fn(move || {
        let mut change = Change {
            floor: table.floor(),
            ..Change::default()
        };
        let mut bytes = 0;
        while bytes < LINE_BYTES
            && let Some(held) = all.next()
        {
            bytes += held.bytes;
            change.put.push(held);
        }
        (!change.is_empty()).then_some(change)
    })
}
