//! The rows of a thread that is written to.

use std::{collections::BTreeMap, path::Path};

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};
use rustagents_core::{
    digest::Digest,
    ids::{Branch, FactKey, ThreadId},
    journal::{Chain, Entry, Epoch, JournalError, Place, Record, Seq},
    message::Message,
    tool::EffectClass,
};

use crate::schema;

/// Bodies longer than this are stored by content.
const INLINE_BYTES: usize = 16 << 10;

/// The number of a row that stands at `place` of a thread: the thread's number,
/// and the place in the lower 32 bits.
pub(crate) fn row_number(thread: i64, place: u64) -> i64 {
    (thread << 32) | i64::try_from(place & 0xFFFF_FFFF).unwrap_or_default()
}

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

/// A record with its place, as it goes into its row.
pub(crate) struct Placed<'a> {
    pub(crate) seq: Seq,
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
    pub(crate) fn entry(entry: &'a Entry, seq: Seq, epoch: Epoch, at_ms: u64) -> Self {
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

    pub(crate) fn record(record: &'a Record) -> Self {
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

/// A thread that is written to.
pub(crate) struct Target<'a> {
    pub(crate) path: &'a Path,
    pub(crate) connection: &'a Connection,
    pub(crate) row: ThreadRow,
    /// The chains that were looked at; `None` for one that is not there yet.
    chains: BTreeMap<&'a Chain, Option<ChainRow>>,
}

#[derive(Clone, Copy)]
struct ChainRow {
    id: i64,
    head: Option<Seq>,
    /// Whether its head is another one than the stored.
    is_moved: bool,
}

impl<'a> Target<'a> {
    pub(crate) fn new(path: &'a Path, connection: &'a Connection, row: ThreadRow) -> Self {
        Self {
            path,
            connection,
            row,
            chains: BTreeMap::new(),
        }
    }

    pub(crate) fn failed(&self, error: &rusqlite::Error) -> JournalError {
        schema::failed(self.path, error)
    }

    fn prepare(&self, sql: &str) -> rusqlite::Result<CachedStatement<'a>> {
        self.connection.prepare_cached(sql)
    }

    /// Where a chain ends.
    pub(crate) fn head(&mut self, chain: &'a Chain) -> rusqlite::Result<Option<Seq>> {
        Ok(self.known_chain(chain)?.and_then(|row| row.head))
    }

    fn known_chain(&mut self, chain: &'a Chain) -> rusqlite::Result<Option<ChainRow>> {
        if let Some(known) = self.chains.get(chain) {
            return Ok(*known);
        }
        let key = params![self.row.id, chain.branch.as_str(), chain.namespace.as_str()];
        let row = self
            .prepare(
                "SELECT id, head FROM chains WHERE thread = ?1 AND branch = ?2 AND namespace = ?3",
            )?
            .query_row(key, |row| {
                Ok(ChainRow {
                    id: row.get(0)?,
                    head: row.get(1)?,
                    is_moved: false,
                })
            })
            .optional()?;
        self.chains.insert(chain, row);
        Ok(row)
    }

    fn chain(&mut self, chain: &'a Chain) -> rusqlite::Result<ChainRow> {
        if let Some(known) = self.known_chain(chain)? {
            return Ok(known);
        }
        let key = params![self.row.id, chain.branch.as_str(), chain.namespace.as_str()];
        let id = self
            .prepare(
                "INSERT INTO chains(thread, branch, namespace) VALUES(?1, ?2, ?3) RETURNING id",
            )?
            .query_row(key, |row| row.get(0))?;
        let row = ChainRow {
            id,
            head: None,
            is_moved: false,
        };
        self.chains.insert(chain, Some(row));
        Ok(row)
    }

    /// The place of the fact with this key.
    pub(crate) fn fact(&self, branch: &Branch, key: &FactKey) -> rusqlite::Result<Option<Seq>> {
        self.prepare(
            "SELECT id & 4294967295 FROM records WHERE thread = ?1 AND branch = ?2 AND key = ?3",
        )?
        .query_row(params![self.row.id, branch.as_str(), key.as_str()], |row| {
            row.get(0)
        })
        .optional()
    }

    /// Inserts a record at its place.
    pub(crate) fn insert(&mut self, record: &Placed<'a>) -> rusqlite::Result<()> {
        let chain = self.chain(record.chain)?;
        let key = record.key();
        let (body, content) = self.body(record.body.as_bytes())?;
        self.prepare(
            "INSERT INTO records(id, thread, chain, parent, branch, key, kind, version, run,
                                 attempt, epoch, at, effect, digest, body, content)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        )?
        .execute(params![
            row_number(self.row.id, record.seq),
            key.map(|_| self.row.id),
            chain.id,
            if key.is_none() { chain.head } else { None },
            key.map(|_| record.chain.branch.as_str()),
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
        self.row.last_seq = record.seq;
        if key.is_none()
            && let Some(Some(row)) = self.chains.get_mut(record.chain)
        {
            row.head = Some(record.seq);
            row.is_moved = true;
        }
        Ok(())
    }

    /// The stored body of the message of that id.
    pub(crate) fn message(&self, message: &Message) -> rusqlite::Result<Option<Vec<u8>>> {
        self.prepare(
            "SELECT coalesce(m.body, c.bytes) FROM messages m
             LEFT JOIN contents c ON c.family = ?3 AND c.digest = m.content
             WHERE m.thread = ?1 AND m.name = ?2",
        )?
        .query_row(
            params![self.row.id, message.id.as_str(), self.row.family],
            |row| row.get(0),
        )
        .optional()
    }

    /// Inserts a message, if none has its name.
    pub(crate) fn insert_message(&mut self, name: &str, body: &[u8]) -> rusqlite::Result<()> {
        let (inline, content) = self.body(body)?;
        let place = self.row.last_place + 1;
        let inserted = self
            .prepare(
                "INSERT OR IGNORE INTO messages(id, thread, name, body, content)
                 VALUES(?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                row_number(self.row.id, place),
                self.row.id,
                name,
                inline,
                content.as_ref().map(|digest| &digest.as_bytes()[..]),
            ])?;
        if inserted == 1 {
            self.row.last_place = place;
        }
        Ok(())
    }

    /// The body inline, or the digest under which it is stored.
    fn body<'b>(&self, body: &'b [u8]) -> rusqlite::Result<(Option<&'b [u8]>, Option<Digest>)> {
        if body.len() <= INLINE_BYTES {
            return Ok((Some(body), None));
        }
        let digest = Digest::of(body);
        self.insert_content(digest, body)?;
        Ok((None, Some(digest)))
    }

    /// Inserts a content, if the family has none of its digest.
    pub(crate) fn insert_content(&self, digest: Digest, bytes: &[u8]) -> rusqlite::Result<()> {
        self.prepare("INSERT OR IGNORE INTO contents(family, digest, bytes) VALUES(?1, ?2, ?3)")?
            .execute(params![self.row.family, &digest.as_bytes()[..], bytes])
            .map(drop)
    }

    /// Writes what the inserts changed of the thread's own rows.
    pub(crate) fn close(&self, at_ms: u64) -> rusqlite::Result<()> {
        for row in self.chains.values().flatten().filter(|row| row.is_moved) {
            self.prepare("UPDATE chains SET head = ?2 WHERE id = ?1")?
                .execute(params![row.id, row.head])?;
        }
        self.prepare(
            "UPDATE threads SET last_seq = ?2, last_place = ?3, updated_at = ?4 WHERE id = ?1",
        )?
        .execute(params![
            self.row.id,
            self.row.last_seq,
            self.row.last_place,
            at_ms
        ])
        .map(drop)
    }
}
