//! One batch inside the writer's transaction.

use std::{collections::BTreeMap, path::Path};

use rusqlite::{Connection, OptionalExtension, Row, params};
use rustagents_core::{
    digest::Digest,
    ids::{Branch, FactKey, ThreadId},
    journal::{Author, Batch, Chain, Entry, Epoch, JournalError, Place, Record, Seq, ThreadImage},
    message::Message,
    tool::EffectClass,
};

use crate::{reader, schema};

/// Bodies longer than this are stored by content.
const INLINE_BYTES: usize = 16 << 10;

pub(crate) struct ThreadRow {
    pub(crate) id: i64,
    pub(crate) family: i64,
    pub(crate) epoch: Epoch,
    pub(crate) last_seq: Seq,
    pub(crate) last_place: u64,
}

impl ThreadRow {
    /// Reads `id, family, epoch, last_seq, last_place`.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            family: row.get(1)?,
            epoch: row.get(2)?,
            last_seq: row.get(3)?,
            last_place: row.get(4)?,
        })
    }
}

/// The row of a thread, if there is one.
pub(crate) fn find(
    connection: &Connection,
    thread: &ThreadId,
) -> rusqlite::Result<Option<ThreadRow>> {
    connection
        .prepare_cached(
            "SELECT id, family, epoch, last_seq, last_place FROM threads WHERE name = ?1",
        )?
        .query_row([thread.as_str()], ThreadRow::read)
        .optional()
}

/// The row of a thread that has to be there.
pub(crate) fn known(
    path: &Path,
    connection: &Connection,
    thread: &ThreadId,
) -> Result<ThreadRow, JournalError> {
    find(connection, thread)
        .map_err(|error| schema::failed(path, &error))?
        .ok_or_else(|| JournalError::UnknownThread {
            thread: thread.clone(),
        })
}

/// Refuses who is not the driver of the thread's present epoch.
pub(crate) fn check_epoch(
    thread: &ThreadId,
    own: Epoch,
    row: &ThreadRow,
) -> Result<(), JournalError> {
    if own == row.epoch {
        return Ok(());
    }
    Err(JournalError::Fenced {
        thread: thread.clone(),
        own,
        current: row.epoch,
    })
}

/// Writes a batch; the caller undoes it if this fails.
pub(crate) fn append(
    path: &Path,
    connection: &Connection,
    batch: &Batch,
) -> Result<Vec<Seq>, JournalError> {
    batch.check()?;
    let row = known(path, connection, &batch.thread)?;
    let mut target = Target::new(path, connection, row);
    target.check_author(batch)?;
    target.check_heads(batch)?;
    target.write(batch).map_err(|error| target.told(error))
}

enum Failure {
    Sqlite(rusqlite::Error),
    Journal(JournalError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// A thread that is written to.
pub(crate) struct Target<'a> {
    path: &'a Path,
    connection: &'a Connection,
    thread: ThreadRow,
    chains: BTreeMap<&'a Chain, ChainRow>,
}

#[derive(Clone, Copy)]
struct ChainRow {
    id: i64,
    head: Option<Seq>,
}

/// A record with its place, as it goes into its row.
struct Placed<'a> {
    seq: Seq,
    chain: &'a Chain,
    place: &'a Place,
    kind: &'a str,
    version: u16,
    run: &'a str,
    attempt: u32,
    epoch: Epoch,
    at_ms: u64,
    effect: Option<EffectClass>,
    digest: Option<&'a Digest>,
    body: &'a str,
}

impl<'a> Placed<'a> {
    fn entry(entry: &'a Entry, seq: Seq, epoch: Epoch, at_ms: u64) -> Self {
        Self {
            seq,
            chain: &entry.chain,
            place: &entry.place,
            kind: entry.kind.name,
            version: entry.kind.version,
            run: entry.run.as_str(),
            attempt: entry.attempt,
            epoch,
            at_ms,
            effect: entry.effect,
            digest: entry.digest.as_ref(),
            body: &entry.body,
        }
    }

    fn record(record: &'a Record) -> Self {
        Self {
            seq: record.seq,
            chain: &record.chain,
            place: &record.place,
            kind: &record.kind,
            version: record.version,
            run: record.run.as_str(),
            attempt: record.attempt,
            epoch: record.epoch,
            at_ms: record.at_ms,
            effect: record.effect,
            digest: record.digest.as_ref(),
            body: &record.body,
        }
    }

    fn key(&self) -> Option<&'a FactKey> {
        match self.place {
            Place::Commit => None,
            Place::Fact(key) => Some(key),
        }
    }
}

impl<'a> Target<'a> {
    pub(crate) fn new(path: &'a Path, connection: &'a Connection, thread: ThreadRow) -> Self {
        Self {
            path,
            connection,
            thread,
            chains: BTreeMap::new(),
        }
    }

    fn told(&self, failure: Failure) -> JournalError {
        match failure {
            Failure::Sqlite(error) => schema::failed(self.path, &error),
            Failure::Journal(error) => error,
        }
    }

    fn check_author(&self, batch: &Batch) -> Result<(), JournalError> {
        match &batch.author {
            Author::Outside => Ok(()),
            Author::Driver(own) => check_epoch(&batch.thread, *own, &self.thread),
            Author::Late { epoch, intent } => {
                for entry in &batch.entries {
                    let written = self.written_at(&entry.chain.branch, intent);
                    let written = written.map_err(|e| schema::failed(self.path, &e))?;
                    if written != Some(*epoch) {
                        check_epoch(&batch.thread, *epoch, &self.thread)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// The epoch under which a fact was written.
    fn written_at(&self, branch: &Branch, key: &FactKey) -> rusqlite::Result<Option<Epoch>> {
        self.connection
            .prepare_cached(
                "SELECT epoch FROM records WHERE thread = ?1 AND branch = ?2 AND key = ?3",
            )?
            .query_row(
                params![self.thread.id, branch.as_str(), key.as_str()],
                |row| row.get(0),
            )
            .optional()
    }

    fn check_heads(&mut self, batch: &'a Batch) -> Result<(), JournalError> {
        for (chain, expected) in &batch.heads {
            let found = self
                .chain(chain)
                .map_err(|error| schema::failed(self.path, &error))?
                .head;
            if found != *expected {
                return Err(JournalError::HeadMoved {
                    thread: batch.thread.clone(),
                    chain: chain.clone(),
                    expected: *expected,
                    found,
                });
            }
        }
        Ok(())
    }

    fn write(&mut self, batch: &'a Batch) -> Result<Vec<Seq>, Failure> {
        for content in &batch.contents {
            self.content(content.digest, &content.bytes)?;
        }
        for message in &batch.messages {
            self.message(message)?;
        }
        let epoch = self.thread.epoch;
        let mut seqs = Vec::with_capacity(batch.entries.len());
        for entry in &batch.entries {
            let seq = self.thread.last_seq + 1;
            self.record(&Placed::entry(entry, seq, epoch, batch.at_ms))?;
            seqs.push(seq);
        }
        self.close(batch.at_ms)?;
        Ok(seqs)
    }

    /// Fills a new thread with what `image` shows.
    pub(crate) fn install(&mut self, image: &'a ThreadImage) -> Result<(), JournalError> {
        self.fill(image).map_err(|error| match self.told(error) {
            JournalError::AlreadyRecorded { .. } => JournalError::Malformed {
                rule: "a key is unique in its branch",
            },
            error => error,
        })
    }

    fn fill(&mut self, image: &'a ThreadImage) -> Result<(), Failure> {
        for content in &image.contents {
            self.content(content.digest, &content.bytes)?;
        }
        for message in &image.messages {
            self.message(message)?;
        }
        for record in &image.records {
            if record.seq <= self.thread.last_seq {
                return Err(Failure::Journal(JournalError::Malformed {
                    rule: "records are in the order of their places",
                }));
            }
            self.record(&Placed::record(record))?;
        }
        let at_ms = image.records.last().map_or(0, |record| record.at_ms);
        Ok(self.close(at_ms)?)
    }

    fn close(&self, at_ms: u64) -> rusqlite::Result<()> {
        for row in self.chains.values() {
            self.connection
                .prepare_cached("UPDATE chains SET head = ?2 WHERE id = ?1")?
                .execute(params![row.id, row.head])?;
        }
        self.connection
            .prepare_cached(
                "UPDATE threads SET last_seq = ?2, last_place = ?3, updated_at = ?4
                  WHERE id = ?1",
            )?
            .execute(params![
                self.thread.id,
                self.thread.last_seq,
                self.thread.last_place,
                at_ms
            ])?;
        Ok(())
    }

    fn chain(&mut self, chain: &'a Chain) -> rusqlite::Result<ChainRow> {
        if let Some(row) = self.chains.get(chain) {
            return Ok(*row);
        }
        let key = params![
            self.thread.id,
            chain.branch.as_str(),
            chain.namespace.as_str()
        ];
        let read = |row: &Row<'_>| {
            Ok(ChainRow {
                id: row.get(0)?,
                head: row.get(1)?,
            })
        };
        let known = self
            .connection
            .prepare_cached(
                "SELECT id, head FROM chains WHERE thread = ?1 AND branch = ?2 AND namespace = ?3",
            )?
            .query_row(key, read)
            .optional()?;
        let row = match known {
            Some(row) => row,
            None => self
                .connection
                .prepare_cached(
                    "INSERT INTO chains(thread, branch, namespace) VALUES(?1, ?2, ?3)
                     RETURNING id, head",
                )?
                .query_row(key, read)?,
        };
        self.chains.insert(chain, row);
        Ok(row)
    }

    fn record(&mut self, record: &Placed<'a>) -> Result<(), Failure> {
        let chain = self.chain(record.chain)?;
        let key = record.key();
        if let Some(key) = key
            && let Some(existing) = self.existing(&record.chain.branch, key)?
        {
            return Err(self.taken(existing));
        }
        let (body, content) = self.body(record.body.as_bytes())?;
        self.connection
            .prepare_cached(
                "INSERT INTO records(thread, seq, chain, parent, branch, key, kind, version, run,
                                     attempt, epoch, at, effect, digest, body, content)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            )?
            .execute(params![
                self.thread.id,
                record.seq,
                chain.id,
                if key.is_none() { chain.head } else { None },
                record.chain.branch.as_str(),
                key.map(FactKey::as_str),
                record.kind,
                record.version,
                record.run,
                record.attempt,
                record.epoch,
                record.at_ms,
                record.effect.map(EffectClass::as_str),
                record.digest.map(|digest| &digest.as_bytes()[..]),
                body,
                content.as_ref().map(|digest| &digest.as_bytes()[..]),
            ])?;
        self.thread.last_seq = record.seq;
        if key.is_none()
            && let Some(row) = self.chains.get_mut(record.chain)
        {
            row.head = Some(record.seq);
        }
        Ok(())
    }

    /// The place of the fact that has the key already.
    fn existing(&self, branch: &Branch, key: &FactKey) -> rusqlite::Result<Option<Seq>> {
        self.connection
            .prepare_cached(
                "SELECT seq FROM records WHERE thread = ?1 AND branch = ?2 AND key = ?3",
            )?
            .query_row(
                params![self.thread.id, branch.as_str(), key.as_str()],
                |row| row.get(0),
            )
            .optional()
    }

    fn taken(&self, seq: Seq) -> Failure {
        let existing = reader::record(self.path, self.connection, self.thread.id, seq);
        Failure::Journal(match existing {
            Ok(existing) => JournalError::AlreadyRecorded {
                existing: Box::new(existing),
            },
            Err(error) => error,
        })
    }

    /// The body inline, or the digest under which it is stored.
    fn body<'b>(&self, body: &'b [u8]) -> rusqlite::Result<(Option<&'b [u8]>, Option<Digest>)> {
        if body.len() <= INLINE_BYTES {
            return Ok((Some(body), None));
        }
        let digest = Digest::of(body);
        self.content(digest, body)?;
        Ok((None, Some(digest)))
    }

    fn content(&self, digest: Digest, bytes: &[u8]) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "INSERT OR IGNORE INTO contents(family, digest, bytes) VALUES(?1, ?2, ?3)",
            )?
            .execute(params![self.thread.family, &digest.as_bytes()[..], bytes])
            .map(drop)
    }

    fn message(&mut self, message: &Message) -> Result<(), Failure> {
        let body = serde_json::to_vec(message).map_err(|error| {
            Failure::Journal(JournalError::Encode {
                reason: error.to_string(),
            })
        })?;
        if let Some(stored) = self.stored(message)? {
            return if stored == body {
                Ok(())
            } else {
                Err(Failure::Journal(JournalError::Malformed {
                    rule: "a message never changes",
                }))
            };
        }
        let (inline, content) = self.body(&body)?;
        self.thread.last_place += 1;
        self.connection
            .prepare_cached(
                "INSERT INTO messages(thread, place, name, body, content)
                 VALUES(?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                self.thread.id,
                self.thread.last_place,
                message.id.as_str(),
                inline,
                content.as_ref().map(|digest| &digest.as_bytes()[..]),
            ])?;
        Ok(())
    }

    /// The body of the message of that id, if it is there.
    fn stored(&self, message: &Message) -> rusqlite::Result<Option<Vec<u8>>> {
        self.connection
            .prepare_cached(
                "SELECT coalesce(m.body, c.bytes) FROM messages m
                 LEFT JOIN contents c ON c.family = ?3 AND c.digest = m.content
                 WHERE m.thread = ?1 AND m.name = ?2",
            )?
            .query_row(
                params![self.thread.id, message.id.as_str(), self.thread.family],
                |row| row.get(0),
            )
            .optional()
    }
}
