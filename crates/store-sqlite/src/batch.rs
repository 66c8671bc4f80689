//! One batch, or one claim, inside the writer's transaction.

use std::{
    collections::BTreeMap,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, OptionalExtension, Row, params};
use rustagents_core::{
    digest::Digest,
    ids::ThreadId,
    journal::{Author, Batch, Chain, Entry, Epoch, FORMAT, JournalError, Owner, Place, Seq},
    message::Message,
};

use crate::{reader, schema};

/// Bodies longer than this are stored by content.
const INLINE_BYTES: usize = 16 << 10;

const _: () = assert!(FORMAT == 1, "a new format needs a migration");

/// Counts the thread's epoch up, making the thread if it is new.
pub(crate) fn claim(
    path: &Path,
    connection: &Connection,
    thread: &ThreadId,
    owner: &Owner,
) -> Result<Epoch, JournalError> {
    let owner = serde_json::to_string(owner).map_err(|error| JournalError::Encode {
        reason: error.to_string(),
    })?;
    let claimed = connection
        .prepare_cached(
            "INSERT INTO threads(name, family, epoch, owner, last_seq, created_at, updated_at)
             VALUES(?1, 0, 1, ?2, 0, ?3, ?3)
             ON CONFLICT(name) DO UPDATE SET epoch = epoch + 1, owner = ?2, updated_at = ?3
             RETURNING epoch",
        )
        .and_then(|mut claim| {
            claim.query_row(params![thread.as_str(), owner, now_ms()], |r| r.get(0))
        });
    let epoch = claimed.map_err(|error| schema::failed(path, &error))?;
    connection
        .execute(
            "UPDATE threads SET family = id WHERE name = ?1 AND family = 0",
            [thread.as_str()],
        )
        .map_err(|error| schema::failed(path, &error))?;
    Ok(epoch)
}

/// The store's clock, for the rows that people list; nothing is ordered by it.
fn now_ms() -> i64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

struct ThreadRow {
    id: i64,
    family: i64,
    epoch: Epoch,
    last_seq: Seq,
}

impl ThreadRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            family: row.get(1)?,
            epoch: row.get(2)?,
            last_seq: row.get(3)?,
        })
    }
}

/// Writes a batch; the caller undoes it if this fails.
pub(crate) fn append(
    path: &Path,
    connection: &Connection,
    batch: &Batch,
) -> Result<Vec<Seq>, JournalError> {
    batch.check()?;
    let fail = |error: rusqlite::Error| schema::failed(path, &error);
    let thread = connection
        .prepare_cached("SELECT id, family, epoch, last_seq FROM threads WHERE name = ?1")
        .and_then(|mut find| {
            find.query_row([batch.thread.as_str()], ThreadRow::read)
                .optional()
        })
        .map_err(fail)?
        .ok_or_else(|| JournalError::UnknownThread {
            thread: batch.thread.clone(),
        })?;
    check_epoch(batch, &thread)?;
    let mut target = Target {
        path,
        connection,
        thread,
        batch,
        chains: BTreeMap::new(),
    };
    target.check_heads()?;
    target.write().map_err(|error| match error {
        Failure::Sqlite(error) => fail(error),
        Failure::Journal(error) => error,
    })
}

fn check_epoch(batch: &Batch, thread: &ThreadRow) -> Result<(), JournalError> {
    match batch.author {
        Author::Driver(own) if own != thread.epoch => {
            let current = thread.epoch;
            Err(JournalError::Fenced {
                thread: batch.thread.clone(),
                own,
                current,
            })
        }
        _ => Ok(()),
    }
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

struct Target<'a> {
    path: &'a Path,
    connection: &'a Connection,
    thread: ThreadRow,
    batch: &'a Batch,
    chains: BTreeMap<&'a Chain, ChainRow>,
}

#[derive(Clone, Copy)]
struct ChainRow {
    id: i64,
    head: Option<Seq>,
}

impl<'a> Target<'a> {
    fn check_heads(&mut self) -> Result<(), JournalError> {
        for (chain, expected) in &self.batch.heads {
            let found = self
                .chain(chain)
                .map_err(|error| schema::failed(self.path, &error))?
                .head;
            if found != *expected {
                return Err(JournalError::HeadMoved {
                    thread: self.batch.thread.clone(),
                    chain: chain.clone(),
                    expected: *expected,
                    found,
                });
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Result<Vec<Seq>, Failure> {
        for content in &self.batch.contents {
            self.content(content.digest, &content.bytes)?;
        }
        for message in &self.batch.messages {
            self.message(message)?;
        }
        let batch = self.batch;
        let seqs = batch
            .entries
            .iter()
            .map(|entry| self.entry(entry))
            .collect::<Result<_, _>>()?;
        self.close()?;
        Ok(seqs)
    }

    fn close(&self) -> rusqlite::Result<()> {
        for row in self.chains.values() {
            self.connection
                .prepare_cached("UPDATE chains SET head = ?2 WHERE id = ?1")?
                .execute(params![row.id, row.head])?;
        }
        self.connection
            .prepare_cached("UPDATE threads SET last_seq = ?2, updated_at = ?3 WHERE id = ?1")?
            .execute(params![
                self.thread.id,
                self.thread.last_seq,
                self.batch.at_ms
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
        self.connection
            .prepare_cached(
                "INSERT OR IGNORE INTO chains(thread, branch, namespace) VALUES(?1, ?2, ?3)",
            )?
            .execute(key)?;
        let row = self
            .connection
            .prepare_cached(
                "SELECT id, head FROM chains WHERE thread = ?1 AND branch = ?2 AND namespace = ?3",
            )?
            .query_row(key, |row| {
                Ok(ChainRow {
                    id: row.get(0)?,
                    head: row.get(1)?,
                })
            })?;
        self.chains.insert(chain, row);
        Ok(row)
    }

    fn entry(&mut self, entry: &'a Entry) -> Result<Seq, Failure> {
        let seq = self.thread.last_seq + 1;
        let chain = self.chain(&entry.chain)?;
        let key = match &entry.place {
            Place::Commit => None,
            Place::Fact(key) => Some(key.as_str()),
        };
        if let Some(existing) = self.existing(entry)? {
            return Err(self.taken(existing));
        }
        let (body, content) = self.body(entry.body.as_bytes())?;
        self.connection
            .prepare_cached(
                "INSERT INTO records(thread, seq, chain, parent, branch, key, kind, version, run,
                                     attempt, epoch, at, effect, digest, body, content)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            )?
            .execute(params![
                self.thread.id,
                seq,
                chain.id,
                if key.is_none() { chain.head } else { None },
                entry.chain.branch.as_str(),
                key,
                entry.kind.name,
                entry.kind.version,
                entry.run.as_str(),
                entry.attempt,
                self.thread.epoch,
                self.batch.at_ms,
                entry.effect.map(rustagents_core::tool::EffectClass::as_str),
                entry.digest.as_ref().map(|digest| &digest.as_bytes()[..]),
                body,
                content.as_ref().map(|digest| &digest.as_bytes()[..]),
            ])?;
        self.thread.last_seq = seq;
        if key.is_none()
            && let Some(row) = self.chains.get_mut(&entry.chain)
        {
            row.head = Some(seq);
        }
        Ok(seq)
    }

    /// The place of a fact that has the entry's key already.
    fn existing(&self, entry: &Entry) -> rusqlite::Result<Option<Seq>> {
        let Place::Fact(key) = &entry.place else {
            return Ok(None);
        };
        self.connection
            .prepare_cached(
                "SELECT seq FROM records WHERE thread = ?1 AND branch = ?2 AND key = ?3",
            )?
            .query_row(
                params![self.thread.id, entry.chain.branch.as_str(), key.as_str()],
                |r| r.get(0),
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

    fn message(&self, message: &Message) -> Result<(), Failure> {
        let body = serde_json::to_vec(message).map_err(|error| {
            Failure::Journal(JournalError::Encode {
                reason: error.to_string(),
            })
        })?;
        let (inline, content) = self.body(&body)?;
        let inserted = self
            .connection
            .prepare_cached(
                "INSERT OR IGNORE INTO messages(family, name, body, content) VALUES(?1, ?2, ?3, ?4)",
            )?
            .execute(params![
                self.thread.family,
                message.id.as_str(),
                inline,
                content.as_ref().map(|digest| &digest.as_bytes()[..]),
            ])?;
        if inserted == 0 && !self.same_message(message, &body)? {
            return Err(Failure::Journal(JournalError::Malformed {
                rule: "a message never changes",
            }));
        }
        Ok(())
    }

    fn same_message(&self, message: &Message, body: &[u8]) -> rusqlite::Result<bool> {
        let stored: Vec<u8> = self
            .connection
            .prepare_cached(
                "SELECT coalesce(m.body, c.bytes) FROM messages m
                 LEFT JOIN contents c ON c.family = m.family AND c.digest = m.content
                 WHERE m.family = ?1 AND m.name = ?2",
            )?
            .query_row(params![self.thread.family, message.id.as_str()], |row| {
                row.get(0)
            })?;
        Ok(stored == body)
    }
}
