//! The table in memory, and how far of the log it is.

use std::path::PathBuf;

use rustagents_core::store::StoreError;

use super::log::{Access, Log, Place};
use crate::items::table::{Change, Table};

/// A log that is shorter is left as it is.
const LEAST_TO_REWRITE: u64 = 1 << 20;

/// A log is rewritten when it is as many times longer than what it holds.
const WASTE: u64 = 4;

/// What a line of a rewritten log holds at the most, in bytes of values.
const LINE_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Replica {
    folder: PathBuf,
    table: Table,
    /// How far of which log the table is; `None` if it is of none.
    place: Option<Place>,
}

impl Replica {
    pub(super) fn of(folder: PathBuf) -> Self {
        Self {
            folder,
            table: Table::default(),
            place: None,
        }
    }

    /// The table as it stands in the log now.
    pub(super) fn read(&mut self) -> Result<&Table, StoreError> {
        self.catch_up(&mut Log::open(&self.folder, Access::Read)?)?;
        Ok(&self.table)
    }

    /// Makes what `plan` says durable, then applies it.
    pub(super) fn change<T>(
        &mut self,
        now_ms: u64,
        plan: impl FnOnce(&Table) -> Result<(Change, T), StoreError>,
    ) -> Result<T, StoreError> {
        let mut log = Log::open(&self.folder, Access::Write)?;
        self.catch_up(&mut log)?;
        let (change, answer) = plan(&self.table)?;
        if change.is_empty() {
            return Ok(answer);
        }
        let mut place = match self.place {
            Some(place) => place,
            None => log.start(now_ms, std::iter::empty())?,
        };
        if let Err(error) = log.append(&mut place, &change) {
            // What the disk has is open: it is read anew.
            self.forget();
            return Err(error);
        }
        self.table.apply(change);
        self.place = Some(place);
        self.rewrite_if_wasteful(&mut log, place, now_ms);
        Ok(answer)
    }

    fn catch_up(&mut self, log: &mut Log) -> Result<(), StoreError> {
        let Some(start) = log.first_place()? else {
            self.forget();
            return Ok(());
        };
        let mut place = match self.place {
            Some(place) if place.is_of(&start) && log.reaches(&place)? => place,
            _ => {
                self.forget();
                start
            }
        };
        let read = log.read_from(&mut place, |change| self.table.apply(change));
        self.place = Some(place);
        read.inspect_err(|_| self.forget())
    }

    fn forget(&mut self) {
        self.table = Table::default();
        self.place = None;
    }

    /// What was asked is done already, so a failure here is tried again later.
    fn rewrite_if_wasteful(&mut self, log: &mut Log, place: Place, now_ms: u64) {
        let held = u64::try_from(self.table.bytes()).unwrap_or(u64::MAX);
        if place.end() < LEAST_TO_REWRITE || place.end() / WASTE < held {
            return;
        }
        let generation = now_ms.max(place.generation().saturating_add(1));
        if let Ok(place) = log.start(generation, lines(&self.table)) {
            self.place = Some(place);
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
