//! The files of a journal, and where it begins and ends.

use std::{borrow::Cow, fs::File, path::PathBuf};

use rustagents_core::{
    event_journal::{EventPage, EventQuery, EventScan, Offset, PlacedEvent, Retention, RunEvent},
    ids::ThreadId,
    store::StoreError,
};
use serde::{Deserialize, Serialize};

use super::lines::{self, Extent};
use crate::{
    disk::{self, Disk},
    items::{refused, store_error, unavailable},
    lock::FolderLock,
};

/// What the head says that the folder is.
const STORE: &str = "rustagents.events";

/// The version of files in which each line is an event.
const FORMAT: u32 = 1;

/// The version of files with lines whose event was removed. A folder has it from its
/// first removal on.
const FORMAT_WITH_EMPTY: u32 = 2;

/// A file that is longer is followed by another one.
const FILE_BYTES: u64 = 8 << 20;

/// The file `events.json`.
#[derive(Serialize, Deserialize)]
struct Head {
    store: String,
    format: u32,
    /// The place of the first event that is kept.
    first: Offset,
}

/// Where the journal stands, under a lock.
struct Standing {
    /// Whether the head is there.
    is_made: bool,
    format: u32,
    first: Offset,
    starts: Vec<Offset>,
    /// The file that is written.
    last: Extent,
}

impl Standing {
    /// The files, in order.
    fn extents(&self) -> impl Iterator<Item = Extent> {
        let following = self.starts.iter().skip(1).map(Some).chain([None]);
        let files = self.starts.iter().zip(following);
        files.map(|(start, following)| {
            following.map_or(self.last, |next| Extent {
                start: *start,
                next: *next,
                end: u64::MAX,
            })
        })
    }

    /// The greatest place up to `first` at which a file begins.
    fn whole_files(&self, first: Offset) -> Offset {
        let starts = self.starts.iter().copied();
        starts.filter(|start| *start <= first).max().unwrap_or(0)
    }
}

#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    lock: FolderLock,
    disk: Disk,
    /// What was measured of the last file.
    known: Option<Extent>,
    /// The greatest place that the next event was ever to have.
    seen: Offset,
}

impl Folder {
    pub(super) fn at(path: PathBuf, disk: Disk) -> Self {
        Self {
            lock: FolderLock::of(path.clone()),
            path,
            disk,
            known: None,
            seen: 0,
        }
    }

    fn lock_shared(&self) -> Result<Option<File>, StoreError> {
        self.lock.share().map_err(store_error)
    }

    fn lock(&self) -> Result<File, StoreError> {
        self.lock.take(&self.disk).map_err(store_error)
    }

    fn standing(&mut self) -> Result<Standing, StoreError> {
        let head = self.head()?;
        let first = head.as_ref().map_or(1, |head| head.first);
        let starts = lines::starts(&self.path)?;
        let last = match starts.last() {
            Some(start) => self.measure(*start)?,
            None => Extent::empty(first),
        };
        // Places only grow, so what has less is not what was here.
        let next = last.next.max(first);
        if next < self.seen || (head.is_none() && self.seen > 0) {
            return Err(store_error(self.lock.mark().gone()));
        }
        if head.is_some() {
            self.seen = next;
        }
        Ok(Standing {
            is_made: head.is_some(),
            format: head.map_or(FORMAT, |head| head.format),
            first,
            starts,
            last,
        })
    }

    fn head(&self) -> Result<Option<Head>, StoreError> {
        let path = self.path.join("events.json");
        let read = disk::present(&path, std::fs::read(&path)).map_err(store_error)?;
        let Some(bytes) = read else {
            return Ok(None);
        };
        let head: Option<Head> = serde_json::from_slice(&bytes).ok();
        let Some(head) = head.filter(|head| head.store == STORE) else {
            return Err(StoreError::Foreign {
                path: path.display().to_string(),
                reason: "it is not the head of a journal".into(),
            });
        };
        if head.format > FORMAT_WITH_EMPTY {
            return Err(StoreError::Newer {
                what: format!("event journal `{}`", self.path.display()),
                found: head.format,
                supported: FORMAT_WITH_EMPTY,
            });
        }
        Ok(Some(head))
    }

    fn measure(&mut self, start: Offset) -> Result<Extent, StoreError> {
        let path = lines::path(&self.path, start);
        let fail = |error: std::io::Error| refused(&path, &error);
        let mut file = File::open(&path).map_err(fail)?;
        let length = file.metadata().map_err(fail)?.len();
        let known = self
            .known
            .filter(|known| known.start == start && known.end <= length)
            .unwrap_or(Extent::empty(start));
        let extent = lines::measure(&path, &mut file, known)?;
        self.known = Some(extent);
        Ok(extent)
    }

    /// The place of the last event; 0 if there never was one.
    pub(super) fn last(&mut self) -> Result<Offset, StoreError> {
        let _lock = self.lock_shared()?;
        let standing = self.standing()?;
        Ok(standing.last.next.max(standing.first) - 1)
    }

    pub(super) fn append(
        &mut self,
        events: Vec<RunEvent>,
        kept: u64,
    ) -> Result<Vec<Offset>, StoreError> {
        let _lock = self.lock()?;
        let mut standing = self.standing()?;
        if !standing.is_made {
            self.write_head(standing.format, standing.first)?;
        }
        self.rotate(&mut standing)?;
        let mut bytes = Vec::new();
        let mut next = standing.last.next;
        for event in events {
            let offset = next;
            serde_json::to_writer(&mut bytes, &PlacedEvent { offset, event })
                .map_err(|error| unavailable(&self.path, &error))?;
            bytes.push(b'\n');
            next += 1;
        }
        self.write(standing.last, &bytes)?;
        let offsets = (standing.last.next..next).collect();
        standing.last.next = next;
        standing.last.end += lines::length(bytes.len());
        self.known = Some(standing.last);
        self.seen = next;
        // The events are there already; what fails here is tried again later.
        let dropped = standing.whole_files(next.saturating_sub(kept));
        let _ = self.drop_before(&standing, dropped);
        Ok(offsets)
    }

    /// Goes on with another file, if the last one cannot take more.
    fn rotate(&self, standing: &mut Standing) -> Result<(), StoreError> {
        let last = standing.last;
        let is_there = !standing.starts.is_empty();
        if is_there && last.end <= FILE_BYTES && last.next >= standing.first {
            return Ok(());
        }
        if is_there {
            // Who wrote it may not have lived to wait for the disk.
            let path = lines::path(&self.path, last.start);
            File::open(&path)
                .and_then(|file| self.disk.sync(&path, &file))
                .map_err(|error| unavailable(&path, &error))?;
        }
        standing.last = Extent::empty(last.next.max(standing.first));
        standing.starts.push(standing.last.start);
        Ok(())
    }

    fn write(&mut self, extent: Extent, bytes: &[u8]) -> Result<(), StoreError> {
        let path = lines::path(&self.path, extent.start);
        let fail = |error: std::io::Error| refused(&path, &error);
        if extent.end == 0 {
            let draft = self.path.join("events.new");
            let made = self.disk.replace(&draft, &path, |draft| draft.write(bytes));
            return made.map_err(store_error);
        }
        let mut file = File::options()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(fail)?;
        if file.metadata().map_err(fail)?.len() > extent.end {
            self.disk.cut(&path, &file, extent.end).map_err(fail)?;
        }
        let written = self.disk.append(&path, &mut file, extent.end, bytes);
        written.map_err(|error| {
            // What the disk has is open: it is cut off, or measured anew.
            let _ = self.disk.cut(&path, &file, extent.end);
            self.known = None;
            fail(error)
        })
    }

    fn write_head(&self, format: u32, first: Offset) -> Result<(), StoreError> {
        let (path, draft) = (self.path.join("events.json"), self.path.join("events.new"));
        let head = Head {
            store: STORE.into(),
            format,
            first,
        };
        let text = serde_json::to_vec(&head).map_err(|error| unavailable(&path, &error))?;
        let written = self.disk.replace(&draft, &path, |draft| draft.write(&text));
        written.map_err(store_error)
    }

    pub(super) fn read(&mut self, query: EventQuery) -> Result<EventPage, StoreError> {
        let from = query.from;
        let mut scan = EventScan::new(query)?;
        let _lock = self.lock_shared()?;
        let standing = self.standing()?;
        self.each(&standing, from, |placed, bytes| {
            scan.offer(Cow::Owned(placed), bytes);
            !scan.is_full()
        })?;
        let looked = if scan.is_full() {
            0
        } else {
            standing.last.next - 1
        };
        Ok(scan.finish(standing.first, looked))
    }

    /// Hands over each event from the place `from` on, until `take` has enough.
    fn each(
        &self,
        standing: &Standing,
        from: Offset,
        mut take: impl FnMut(PlacedEvent, usize) -> bool,
    ) -> Result<(), StoreError> {
        let from = from.max(standing.first);
        for extent in standing.extents() {
            let path = lines::path(&self.path, extent.start);
            if extent.next > from && !lines::read(&path, extent, from, &mut take)? {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn drop_events(&mut self, retention: Retention) -> Result<u64, StoreError> {
        if self.last()? == 0 {
            return Ok(0);
        }
        let _lock = self.lock()?;
        let standing = self.standing()?;
        let next = standing.last.next.max(standing.first);
        let first = match retention {
            Retention::Before(offset) => offset,
            Retention::KeepLast(count) => next.saturating_sub(count),
            Retention::OlderThan { at_ms } => {
                let mut first = next;
                self.each(&standing, 0, |placed, _| {
                    let is_older = placed.event.at_ms < at_ms;
                    if !is_older {
                        first = placed.offset;
                    }
                    is_older
                })?;
                first
            }
            _ => standing.first,
        };
        self.drop_before(&standing, first.min(next))
    }

    /// Empties the lines of a thread's events, file by file. No line changes its
    /// length, so whoever measured a file knows it still.
    pub(super) fn remove_thread(&mut self, thread: &ThreadId) -> Result<u64, StoreError> {
        if self.last()? == 0 {
            return Ok(0);
        }
        let _lock = self.lock()?;
        let mut standing = self.standing()?;
        let mut removed = 0;
        let files: Vec<_> = standing.extents().collect();
        for extent in files {
            let path = lines::path(&self.path, extent.start);
            let without = lines::without(&path, extent, thread, standing.first)?;
            let Some((bytes, count)) = without else {
                continue;
            };
            if standing.format < FORMAT_WITH_EMPTY {
                standing.format = FORMAT_WITH_EMPTY;
                self.write_head(standing.format, standing.first)?;
            }
            let draft = self.path.join("events.new");
            let written = self
                .disk
                .replace(&draft, &path, |draft| draft.write(&bytes));
            written.map_err(store_error)?;
            removed += count;
        }
        Ok(removed)
    }

    /// The head is moved first: a file that a crash leaves behind is before it.
    fn drop_before(&mut self, standing: &Standing, first: Offset) -> Result<u64, StoreError> {
        if first <= standing.first {
            return Ok(0);
        }
        self.write_head(standing.format, first)?;
        let ends = standing.starts.iter().skip(1).copied();
        let ends = ends.chain([standing.last.next]);
        for (start, end) in standing.starts.iter().zip(ends) {
            if end <= first {
                let removed = self.disk.remove(&lines::path(&self.path, *start));
                removed.map_err(store_error)?;
            }
        }
        Ok(first - standing.first)
    }
}
