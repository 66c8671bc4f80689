//! Reading a log: what it gained since the last look, and what is torn.
//!
//! A crash in the middle of a write leaves a part of the last line, or a gap of
//! zeros in it. Readers pass over it, and the next writer cuts it off. Any other
//! damage is an error, and nothing after it counts.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use rustagents_core::{
    digest::Digest,
    ids::ThreadId,
    journal::{Content, JournalError, Owner},
};
use rustagents_store::thread::{Marks, Thread};

use crate::{
    contents,
    disk::{corrupt, refused},
    format::{FORMAT, WITH_PARTS},
    line::{self, Line, MAX_LINE_BYTES, SUM_BYTES, Said, Sum},
};

/// A thread as its log tells it, up to a place in the log.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) name: ThreadId,
    pub(crate) thread: Thread,
    pub(crate) family: String,
    /// Which of the thread's claim files counts.
    pub(crate) generation: u64,
    /// The last driver.
    pub(crate) owner: Owner,
    /// Where the last whole line ends.
    pub(crate) end: u64,
    /// The sum of the last whole line.
    pub(crate) sum: Sum,
    /// The contents that the log has bodies and messages in.
    pub(crate) parts: BTreeSet<Digest>,
    /// The bytes of these bodies and messages.
    pub(crate) apart: u64,
    format: u32,
    lines: u64,
    /// Whether bodies are left where they are, since only the rows matter.
    is_outline: bool,
}

/// What a look at a log met.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    /// Whether there were new lines.
    pub(crate) gained: bool,
    /// Whether something torn stands after the last whole line.
    pub(crate) torn: bool,
}

impl State {
    pub(crate) fn new(name: ThreadId) -> Self {
        Self {
            name,
            thread: Thread::default(),
            family: String::new(),
            generation: 0,
            owner: Owner::default(),
            end: 0,
            sum: Sum::START,
            parts: BTreeSet::new(),
            apart: 0,
            format: FORMAT,
            lines: 0,
            is_outline: false,
        }
    }

    /// One in which bodies that are in parts are empty, and such messages missing. It
    /// says how a thread stands, and needs no contents, which may go meanwhile.
    pub(crate) fn outline(name: ThreadId) -> Self {
        Self {
            is_outline: true,
            ..Self::new(name)
        }
    }

    /// Whether its lines may be in parts.
    pub(crate) fn has_parts(&self) -> bool {
        self.format >= WITH_PARTS
    }

    /// Reads what the log gained. After an error, it stands where the damage is.
    pub(crate) fn catch_up(&mut self, file: &mut File, path: &Path) -> Result<Look, JournalError> {
        let is_same = self.is_of(file).map_err(|e| refused(path, &e))?;
        if !is_same {
            // Written anew, or what it ended in was cut: it is read from the start.
            *self = Self {
                is_outline: self.is_outline,
                ..Self::new(self.name.clone())
            };
        }
        let sought = file.seek(SeekFrom::Start(self.end));
        sought.map_err(|e| refused(path, &e))?;
        let mut reader = BufReader::with_capacity(64 << 10, file);
        let mut look = Look::default();
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let read = read_line(&mut reader, &mut bytes);
            let length = read.map_err(|e| refused(path, &e))?;
            if length == 0 {
                break;
            }
            let Some(sum) = line::open(&mut bytes, self.sum) else {
                let rest = reader.fill_buf().map_err(|e| refused(path, &e))?;
                if rest.is_empty() && !line::is_more_than_one(&bytes) {
                    look.torn = true;
                    break;
                }
                return Err(self.damaged(path, "its sum is wrong"));
            };
            self.take_in(&bytes, path)?;
            self.end += length;
            self.sum = sum;
            self.lines += 1;
            look.gained = true;
        }
        if self.lines == 0 {
            return Err(corrupt(path, "it has no whole line"));
        }
        Ok(look)
    }

    /// Whether the file begins with the lines that were read: their sums are
    /// chained, so the last one stands for all.
    fn is_of(&self, file: &mut File) -> std::io::Result<bool> {
        let mut bytes = [0; SUM_BYTES];
        let Some(at) = self.end.checked_sub(SUM_BYTES as u64) else {
            return Ok(true);
        };
        if file.metadata()?.len() < self.end {
            return Ok(false);
        }
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut bytes)?;
        Ok(self.sum.ends(&bytes))
    }

    fn take_in(&mut self, fields: &[u8], path: &Path) -> Result<(), JournalError> {
        let line = serde_json::from_slice(fields);
        let mut line: Line = line.map_err(|error| self.damaged(path, &error.to_string()))?;
        if self.is_outline {
            line.leave_messages_in_parts();
        } else {
            self.put_together(&mut line, path)
                .map_err(|error| match error {
                    JournalError::Corrupt { place, reason } => {
                        self.damaged(path, &format!("{place}: {reason}"))
                    }
                    other => other,
                })?;
        }
        match self.apply(line) {
            Err(JournalError::Malformed { rule }) => Err(self.damaged(path, rule)),
            applied => applied,
        }
    }

    fn put_together(&mut self, line: &mut Line, path: &Path) -> Result<(), JournalError> {
        let folder = contents::folder_beside(path, &self.family);
        let (parts, apart) = (&mut self.parts, &mut self.apart);
        line.put_together(&mut |digest| {
            let bytes = contents::read(&folder, digest)?;
            let missing = || corrupt(&folder.join(digest.to_string()), "it is missing");
            let bytes = bytes.ok_or_else(missing)?;
            *apart += bytes.len() as u64;
            parts.insert(digest);
            Ok(bytes)
        })
    }

    /// Notes the contents of a line that this process wrote.
    pub(crate) fn has_apart(&mut self, contents: &[Content]) {
        for content in contents {
            self.apart += content.bytes.len() as u64;
            self.parts.insert(content.digest);
        }
    }

    /// Takes a line in, live and when the log is read back.
    pub(crate) fn apply(&mut self, line: Line) -> Result<(), JournalError> {
        if matches!(line, Line::Log(_)) != (self.end == 0) {
            return Err(JournalError::Malformed {
                rule: "the first line, and no other, says whose log it is",
            });
        }
        match line {
            Line::Log(head) => self.begin(head),
            Line::Batch(batch) => {
                let records = batch.records.into_iter().map(Into::into).collect();
                let messages = batch.messages.into_iter().map(Said::message);
                let messages = messages.collect::<Result<_, _>>()?;
                self.thread.extend(messages, records, batch.at)
            }
            Line::Claim(claim) if claim.epoch <= self.thread.epoch => {
                Err(JournalError::Malformed {
                    rule: "epochs rise",
                })
            }
            Line::Claim(claim) => {
                self.thread.claimed(claim.epoch, claim.owner.since_ms);
                (self.generation, self.owner) = (claim.generation, claim.owner);
                Ok(())
            }
            Line::Message(_, Said::Parts { .. }) if self.is_outline => Ok(()),
            Line::Message(place, said) => self.thread.put_message(place, said.message()?),
            Line::Record(row) => self.thread.put(row.into()),
            Line::Marks(marks) => {
                (self.generation, self.owner) = (marks.generation, marks.owner);
                self.thread.restore(&Marks {
                    epoch: marks.epoch,
                    last_seq: marks.last_seq,
                    last_place: marks.last_place,
                    updated_at_ms: marks.updated_at,
                })
            }
        }
    }

    fn begin(&mut self, head: line::Head) -> Result<(), JournalError> {
        if head.format > FORMAT {
            return Err(JournalError::Newer {
                what: format!("log of thread `{}`", head.thread),
                found: head.format,
                supported: FORMAT,
            });
        }
        if head.thread != self.name {
            return Err(JournalError::Malformed {
                rule: "a log stands in the folder of its thread",
            });
        }
        (self.family, self.format) = (head.family, head.format);
        Ok(())
    }

    /// Counts a line that was written, and taken in, by this process.
    pub(crate) fn wrote(&mut self, length: usize, sum: Sum) {
        self.end += length as u64;
        self.sum = sum;
        self.lines += 1;
    }

    fn damaged(&self, path: &Path, reason: &str) -> JournalError {
        JournalError::Corrupt {
            place: format!("line {} of `{}`", self.lines + 1, path.display()),
            reason: reason.to_owned(),
        }
    }
}

/// Reads up to the end of a line, or of the file, or one byte more than a line
/// may have.
fn read_line(reader: &mut impl BufRead, bytes: &mut Vec<u8>) -> std::io::Result<u64> {
    let limit = MAX_LINE_BYTES as u64 + 1;
    let length = reader.take(limit).read_until(b'\n', bytes)?;
    Ok(length as u64)
}

/// Whose log it is, by its first line.
pub(crate) fn head(file: &File, path: &Path) -> Result<line::Head, JournalError> {
    let mut bytes = Vec::new();
    let mut reader = BufReader::with_capacity(1 << 10, file);
    read_line(&mut reader, &mut bytes).map_err(|e| refused(path, &e))?;
    let line = line::open(&mut bytes, Sum::START).and_then(|_| serde_json::from_slice(&bytes).ok());
    match line {
        Some(Line::Log(head)) => Ok(head),
        _ => Err(corrupt(path, "its first line does not say whose log it is")),
    }
}
