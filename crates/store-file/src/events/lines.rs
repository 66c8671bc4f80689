//! Files of lines, each named by the place of its first event. A line is an event, or
//! `null` and spaces where one was removed.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use rustagents_core::{
    event_journal::{Offset, PlacedEvent},
    ids::ThreadId,
    store::StoreError,
};
use serde::Deserialize;

use crate::items::{refused, unavailable};

/// The longest line: a payload and names, with room for what they are wrapped in.
const MAX_LINE: u64 = 2 << 20;

/// How much of a file is whole lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The place of its first event.
    pub(super) start: Offset,
    /// The place of the event after its last one.
    pub(super) next: Offset,
    /// Where the whole lines end.
    pub(super) end: u64,
}

impl Extent {
    pub(super) fn empty(start: Offset) -> Self {
        Self {
            start,
            next: start,
            end: 0,
        }
    }
}

pub(super) fn path(folder: &Path, start: Offset) -> PathBuf {
    folder.join(format!("{start:020}.jsonl"))
}

/// The places at which files begin, in order.
pub(super) fn starts(folder: &Path) -> Result<Vec<Offset>, StoreError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unavailable(folder, &error)),
    };
    let mut starts = Vec::new();
    for entry in entries {
        let name = entry
            .map_err(|error| unavailable(folder, &error))?
            .file_name();
        let start = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        starts.extend(start.and_then(|start| start.parse::<Offset>().ok()));
    }
    starts.sort_unstable();
    Ok(starts)
}

/// Goes on from `known` to the end of the whole lines.
pub(super) fn measure(path: &Path, file: &mut File, known: Extent) -> Result<Extent, StoreError> {
    let fail = |error: std::io::Error| refused(path, &error);
    let mut extent = known;
    file.seek(SeekFrom::Start(extent.end)).map_err(fail)?;
    let mut reader = BufReader::new(file);
    let mut passed = extent.end;
    loop {
        let bytes = reader.fill_buf().map_err(fail)?;
        if bytes.is_empty() {
            return Ok(extent);
        }
        for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            extent.next += 1;
            extent.end = passed.saturating_add(length(at)).saturating_add(1);
        }
        let count = bytes.len();
        passed = passed.saturating_add(length(count));
        reader.consume(count);
    }
}

/// Hands over each event of a file from the place `from` on, with the bytes of its
/// line, until `take` has enough.
pub(super) fn read(
    path: &Path,
    extent: Extent,
    from: Offset,
    mut take: impl FnMut(PlacedEvent, usize) -> bool,
) -> Result<bool, StoreError> {
    let fail = |error: std::io::Error| refused(path, &error);
    let mut reader = BufReader::new(File::open(path).map_err(fail)?.take(extent.end));
    for offset in extent.start..extent.next {
        if offset < from {
            reader.skip_until(b'\n').map_err(fail)?;
            continue;
        }
        let mut line = Vec::new();
        let mut limited = (&mut reader).take(MAX_LINE);
        limited.read_until(b'\n', &mut line).map_err(fail)?;
        let corrupt = |reason: String| corrupt(path, offset, reason);
        let placed: Result<Option<PlacedEvent>, _> = serde_json::from_slice(&line);
        let Some(placed) = placed.map_err(|error| corrupt(error.to_string()))? else {
            continue;
        };
        if placed.offset != offset {
            return Err(corrupt(format!("it says that it is {}", placed.offset)));
        }
        if !take(placed, line.len()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whose event a line is.
#[derive(Deserialize)]
struct Whose {
    thread: ThreadId,
}

/// The whole lines of a file with those of a thread's events emptied, and how many of
/// these stand at `first` or later; `None` if there are none at all.
pub(super) fn without(
    path: &Path,
    extent: Extent,
    thread: &ThreadId,
    first: Offset,
) -> Result<Option<(Vec<u8>, u64)>, StoreError> {
    let fail = |error: std::io::Error| refused(path, &error);
    let (mut bytes, mut emptied, mut count) = (Vec::new(), false, 0);
    let mut file = File::open(path).map_err(fail)?.take(extent.end);
    file.read_to_end(&mut bytes).map_err(fail)?;
    let lines = bytes.split_inclusive_mut(|byte| *byte == b'\n');
    for (line, offset) in lines.zip(extent.start..) {
        let whose: Result<Option<Whose>, _> = serde_json::from_slice(line);
        let whose = whose.map_err(|error| corrupt(path, offset, error.to_string()))?;
        if whose.is_some_and(|whose| whose.thread == *thread) {
            empty(line);
            emptied = true;
            count += u64::from(offset >= first);
        }
    }
    Ok(emptied.then_some((bytes, count)))
}

/// Writes `null` and spaces over what stands before the end of a line.
fn empty(line: &mut [u8]) {
    let null = b"null".iter().copied().chain(std::iter::repeat(b' '));
    let text = line.iter_mut().take_while(|byte| **byte != b'\n');
    for (byte, new) in text.zip(null) {
        *byte = new;
    }
}

fn corrupt(path: &Path, offset: Offset, reason: String) -> StoreError {
    StoreError::Corrupt {
        place: format!("event {offset} in `{}`", path.display()),
        reason,
    }
}

pub(super) fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
