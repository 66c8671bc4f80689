//! The rows of a thread that is written to.

use std::{path::Path, sync::LazyLock};

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};
use rustagents_core::{
    digest::Digest,
    ids::{Branch, FactKey, Namespace, ThreadId},
    journal::{Chain, Epoch, JournalError, Seq},
    message::Message,
    tool::EffectClass,
};

use rustagents_store::parts::{INLINE_BYTES, Recipe};

use crate::{
    bodies::Columns,
    bound::Bound,
    chains::{ChainRow, Chains, NEW_CHAIN, new_chain},
    placed::{self, Placed},
    schema,
    spans::{PLACE, Rows, Tails},
};

/// A thread as it stands.
pub(crate) struct ThreadRow {
    pub(crate) id: i64,
    pub(crate) family: i64,
    pub(crate) epoch: Epoch,
    pub(crate) last_seq: Seq,
    pub(crate) last_place: u64,
    /// Whether what is stored of it is older than its records and messages.
    lags: bool,
}

impl ThreadRow {
    /// Reads a new thread: `id, family, epoch`.
    pub(crate) fn new(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            family: row.get(1)?,
            epoch: row.get(2)?,
            last_seq: 0,
            last_place: 0,
            lags: false,
        })
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (stored_seq, stored_place): (Seq, u64) = (row.get(3)?, row.get(4)?);
        let (last_seq, last_place) = (row.get(5)?, row.get(6)?);
        Ok(Self {
            last_seq: stored_seq.max(last_seq),
            last_place: stored_place.max(last_place),
            lags: last_seq > stored_seq || last_place > stored_place,
            ..Self::new(row)?
        })
    }

    /// Brings what is stored of the thread and of its chains up to its last record
    /// and message. A batch writes these alone, so as to touch fewer pages; each
    /// record is looked at once for this, however often it is done.
    pub(crate) fn settle(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if !std::mem::take(&mut self.lags) {
            return Ok(());
        }
        let lagging = Rows::Records.between("t.last_seq", "?2");
        let mut heads = connection.prepare_cached(&format!(
            "UPDATE chains SET head = h.head
               FROM (SELECT r.chain, max({PLACE}) AS head
                       FROM threads t {lagging}
                      WHERE t.id = ?1 AND r.key IS NULL GROUP BY r.chain) h
              WHERE h.chain = chains.id"
        ))?;
        heads.execute(params![self.id, self.last_seq + 1])?;
        let last = Rows::Records.between("max(t.last_seq, ?2 - 1)", "?2 + 1");
        let mut row = connection.prepare_cached(&format!(
            "UPDATE threads
                SET updated_at = coalesce((SELECT r.at FROM threads t {last} WHERE t.id = ?1),
                                          updated_at),
                    last_seq = ?2, last_place = ?3
              WHERE id = ?1"
        ))?;
        row.execute(params![self.id, self.last_seq, self.last_place])
            .map(drop)
    }
}

/// The row of a thread, if there is one.
pub(crate) fn find(
    connection: &Connection,
    thread: &ThreadId,
) -> rusqlite::Result<Option<ThreadRow>> {
    static SQL: LazyLock<String> = LazyLock::new(|| {
        let (record, message) = (Rows::Records.last_place(), Rows::Messages.last_place());
        format!(
            "SELECT t.id, t.family, t.epoch, t.last_seq, t.last_place, {record}, {message}
               FROM threads t WHERE t.name = ?1"
        )
    });
    connection
        .prepare_cached(&SQL)?
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

/// What is known of a thread that is written to.
pub(crate) struct Thread {
    pub(crate) row: ThreadRow,
    pub(crate) chains: Chains,
}

impl Thread {
    pub(crate) fn new(row: ThreadRow) -> Self {
        Self {
            row,
            chains: Chains::default(),
        }
    }

    /// A new thread, with the chain that its first record extends.
    pub(crate) fn begun(row: ThreadRow, connection: &Connection) -> rusqlite::Result<Self> {
        let root = Chain {
            branch: Branch::main(),
            namespace: Namespace::root(),
        };
        let mut insert = connection.prepare_cached(NEW_CHAIN)?;
        let chain = new_chain(&mut insert, row.id, &root)?;
        let mut thread = Self::new(row);
        thread.chains.set(&root, Some(chain));
        Ok(thread)
    }
}

/// A statement that is prepared at its first use.
type Slot<'c> = Option<CachedStatement<'c>>;

/// The statements that batches share, kept while a group of them is written.
#[derive(Default)]
pub(crate) struct Statements<'c> {
    chain: Slot<'c>,
    new_chain: Slot<'c>,
    fact: Slot<'c>,
    insert: Option<Bound<'c, 12>>,
    message: Slot<'c>,
    insert_message: Slot<'c>,
    insert_content: Slot<'c>,
}

impl<'c> Statements<'c> {
    /// What inserts a record.
    fn insert(&mut self, connection: &'c Connection) -> rusqlite::Result<&mut Bound<'c, 12>> {
        let sql = "INSERT INTO records(thread, parent, branch, kind, version, run, attempt, epoch,
                                       at, effect, digest, parts, id, chain, key, body, sum)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
        match &mut self.insert {
            Some(insert) => Ok(insert),
            none => Ok(none.insert(Bound::new(connection.prepare_cached(sql)?))),
        }
    }
}

fn prepared<'s, 'c>(
    slot: &'s mut Slot<'c>,
    connection: &'c Connection,
    sql: &str,
) -> rusqlite::Result<&'s mut CachedStatement<'c>> {
    match slot {
        Some(statement) => Ok(statement),
        None => Ok(slot.insert(connection.prepare_cached(sql)?)),
    }
}

/// A thread that is written to.
pub(crate) struct Target<'t, 'c> {
    pub(crate) path: &'t Path,
    pub(crate) connection: &'c Connection,
    pub(crate) thread: &'t mut Thread,
    pub(crate) tails: &'t mut Tails,
    pub(crate) statements: &'t mut Statements<'c>,
}

impl Target<'_, '_> {
    pub(crate) fn failed(&self, error: &rusqlite::Error) -> JournalError {
        schema::failed(self.path, error)
    }

    pub(crate) fn row(&self) -> &ThreadRow {
        &self.thread.row
    }

    /// Where a chain ends.
    pub(crate) fn head(&mut self, chain: &Chain) -> rusqlite::Result<Option<Seq>> {
        Ok(self.known_chain(chain)?.and_then(|row| row.head))
    }

    fn known_chain(&mut self, chain: &Chain) -> rusqlite::Result<Option<ChainRow>> {
        if let Some(known) = self.thread.chains.find(chain) {
            return Ok(*known);
        }
        let id = self.thread.row.id;
        let sql =
            "SELECT id, head FROM chains WHERE thread = ?1 AND branch = ?2 AND namespace = ?3";
        let row = prepared(&mut self.statements.chain, self.connection, sql)?
            .query_row(
                params![id, chain.branch.as_str(), chain.namespace.as_str()],
                |row| {
                    let (id, head) = (row.get(0)?, row.get(1)?);
                    Ok(ChainRow { id, head })
                },
            )
            .optional()?;
        self.thread.chains.set(chain, row);
        Ok(row)
    }

    fn chain(&mut self, chain: &Chain) -> rusqlite::Result<ChainRow> {
        if let Some(known) = self.known_chain(chain)? {
            return Ok(known);
        }
        let id = self.thread.row.id;
        let insert = prepared(&mut self.statements.new_chain, self.connection, NEW_CHAIN)?;
        let row = new_chain(insert, id, chain)?;
        self.thread.chains.set(chain, Some(row));
        Ok(row)
    }

    /// The place of the fact with this key.
    pub(crate) fn fact(&mut self, branch: &Branch, key: &FactKey) -> rusqlite::Result<Option<Seq>> {
        let sql = "SELECT id FROM records WHERE thread = ?1 AND branch = ?2 AND key = ?3";
        let thread = self.thread.row.id;
        let id: Option<i64> = prepared(&mut self.statements.fact, self.connection, sql)?
            .query_row(params![thread, branch.as_str(), key.as_str()], |row| {
                row.get(0)
            })
            .optional()?;
        id.map(|id| self.place_of(id)).transpose()
    }

    /// The place of one of the thread's records.
    fn place_of(&mut self, id: i64) -> rusqlite::Result<Seq> {
        self.tails.store(self.connection)?;
        self.connection
            .prepare_cached(
                "SELECT (start & 4294967295) + ?2 - id FROM record_spans
                  WHERE start > ?1 << 32 AND start < (?1 + 1) << 32 AND id <= ?2
                  ORDER BY start DESC LIMIT 1",
            )?
            .query_row([self.thread.row.id, id], |row| row.get(0))
    }

    /// Whether a record with this body is one row, and nothing else is written for it.
    pub(crate) fn inserts_alone(&mut self, chain: &Chain, body: &str) -> rusqlite::Result<bool> {
        Ok(body.len() <= INLINE_BYTES && self.known_chain(chain)?.is_some())
    }

    /// Inserts a record at its place.
    pub(crate) fn insert(&mut self, record: &Placed<'_>) -> rusqlite::Result<()> {
        let chain = self.chain(record.chain)?;
        let key = record.key();
        let (body, parts) = self.body(record.body)?;
        let thread = self.thread.row.id;
        let tail = self.tails.of(Rows::Records);
        let id = tail.next(self.connection, thread, record.seq)?;
        let parent = if key.is_none() { chain.head } else { None };
        let digest = |digest: &Digest| *digest.as_bytes();
        self.statements.insert(self.connection)?.execute(
            [
                &key.map(|_| thread),
                &parent,
                &key.map(|_| record.chain.branch.as_str()),
                &record.kind,
                &record.version,
                &record.run,
                &record.attempt,
                &record.epoch,
                &record.at_ms,
                &record.effect.map(EffectClass::as_str),
                &record.digest.map(digest),
                &parts,
            ],
            &[
                &id,
                &chain.id,
                &key.map(FactKey::as_str),
                &body,
                &record.sum(),
            ],
        )?;
        tail.advance();
        self.thread.row.last_seq = record.seq;
        self.thread.row.lags = true;
        if key.is_none() {
            let head = Some(record.seq);
            let row = ChainRow { head, ..chain };
            self.thread.chains.set(record.chain, Some(row));
        }
        Ok(())
    }

    /// The stored body of the message of that id.
    pub(crate) fn message(&mut self, message: &Message) -> rusqlite::Result<Option<Vec<u8>>> {
        const COLUMNS: Columns = Columns {
            body: 0,
            parts: 1,
            family: 2,
        };
        let sql = "SELECT coalesce(m.body, c.bytes), m.parts, ?3 FROM messages m
             LEFT JOIN contents c ON c.family = ?3 AND c.digest = m.content
             WHERE m.thread = ?1 AND m.name = ?2";
        let row = &self.thread.row;
        prepared(&mut self.statements.message, self.connection, sql)?
            .query_row(params![row.id, message.id.as_str(), row.family], |row| {
                COLUMNS.read(self.connection, row)
            })
            .optional()
    }

    /// Inserts a message, if none has its name.
    pub(crate) fn insert_message(&mut self, name: &str, body: &str) -> rusqlite::Result<()> {
        let (inline, parts) = self.body(body)?;
        let row = &mut self.thread.row;
        let place = row.last_place + 1;
        let tail = self.tails.of(Rows::Messages);
        let id = tail.next(self.connection, row.id, place)?;
        let sql = "INSERT OR IGNORE INTO messages(id, thread, name, body, parts, sum)
                   VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
        let inserted = prepared(&mut self.statements.insert_message, self.connection, sql)?
            .execute(params![
                id,
                row.id,
                name,
                inline,
                parts,
                placed::message_sum(name, body.as_bytes()),
            ])?;
        if inserted == 1 {
            tail.advance();
            row.last_place = place;
            row.lags = true;
        }
        Ok(())
    }

    /// The body inline, or its recipe. What is large in it is stored then.
    fn body<'b>(&mut self, body: &'b str) -> rusqlite::Result<(Option<&'b [u8]>, Option<String>)> {
        let Some((recipe, contents)) = Recipe::of(body) else {
            return Ok((Some(body.as_bytes()), None));
        };
        for content in contents {
            self.insert_content(content.digest, &content.bytes)?;
        }
        let recipe = serde_json::to_string(&recipe)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok((None, Some(recipe)))
    }

    /// Inserts a content, if the family has none of its digest. One that was damaged is
    /// written again: who relies on it now has the right bytes.
    pub(crate) fn insert_content(&mut self, digest: Digest, bytes: &[u8]) -> rusqlite::Result<()> {
        let sql = "INSERT INTO contents(family, digest, bytes) VALUES(?1, ?2, ?3)
                   ON CONFLICT DO UPDATE SET bytes = excluded.bytes
                   WHERE bytes IS NOT excluded.bytes";
        let family = self.thread.row.family;
        prepared(&mut self.statements.insert_content, self.connection, sql)?
            .execute(params![family, &digest.as_bytes()[..], bytes])
            .map(drop)
    }

    /// Says when the thread was written to, where no record does.
    pub(crate) fn touch(&mut self, at_ms: u64) -> rusqlite::Result<()> {
        self.tails.store(self.connection)?;
        let row = &mut self.thread.row;
        row.settle(self.connection)?;
        self.connection
            .prepare_cached("UPDATE threads SET updated_at = ?2 WHERE id = ?1")?
            .execute(params![row.id, at_ms])
            .map(drop)
    }
}
