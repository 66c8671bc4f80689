//! Reading: a small pool of connections that never write.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::{Connection, OptionalExtension, Row, params};
use rustagents_core::{
    digest::Digest,
    ids::{Branch, FactKey, Namespace, RunId, ThreadId},
    journal::{
        Chain, JournalError, Place, PlacedMessage, Record, Select, Seq, ThreadQuery, ThreadRow,
    },
    message::Message,
    tool::EffectClass,
};

use rustagents_store::parts::Recipe;

use crate::{
    bodies::Columns,
    database,
    file::StoreFile,
    opened::Opened,
    placed::{self, Placed},
    schema::{self, Header},
    spans::{self, LAST_PLACE, PLACE, Rows, Standing},
    threads::Lock,
};

/// How many connections are kept for reuse.
const POOL: usize = 4;

/// What reads the records above place `?2` and below `?3` of threads `t`.
fn records_sql(of: &str) -> String {
    let rows = Rows::Records.between("?2", "?3");
    format!(
        "SELECT {PLACE}, c.branch, c.namespace, r.key, r.kind, r.version, r.run, r.attempt,
                r.epoch, r.at, r.effect, r.digest, coalesce(r.body, b.bytes), r.sum, r.parts, t.family,
                r.content, {}
           FROM threads t
           {rows}
           CROSS JOIN chains c ON c.id = r.chain
           LEFT JOIN contents b ON b.family = t.family AND b.digest = r.content
          WHERE {of}",
        Standing::COLUMNS
    )
}

#[derive(Clone, Debug)]
pub(crate) struct Readers {
    file: Arc<StoreFile>,
    idle: Arc<Mutex<Vec<Opened>>>,
}

impl Readers {
    pub(crate) fn new(file: Arc<StoreFile>) -> Self {
        Self {
            file,
            idle: Arc::default(),
        }
    }

    /// Reads on a thread that may block. A store that does not exist yet reads
    /// as `T::default()`.
    pub(crate) async fn read<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Path, &Connection) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let readers = self.clone();
        tokio::task::spawn_blocking(move || readers.read_now(work))
            .await
            .map_err(|error| schema::unavailable(self.file.path(), &error))?
    }

    /// As [`Readers::read`], on this thread.
    pub(crate) fn read_now<T: Default>(
        &self,
        work: impl FnOnce(&Path, &Connection) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let path = self.file.path();
        if let Err(gone) = self.file.check() {
            self.close_all();
            return Err(gone);
        }
        let idle = self.pool().pop();
        let connection = match idle {
            Some(connection) => connection,
            None if schema::inspect(path)? == Header::Absent => return Ok(T::default()),
            None => self.file.open(schema::open_reader)?,
        };
        let result = work(path, &connection);
        let mut pool = self.pool();
        if pool.len() < POOL {
            pool.push(connection);
        }
        result
    }

    fn close_all(&self) {
        let idle = std::mem::take(&mut *self.pool());
        for connection in idle {
            self.file.close(connection);
        }
    }

    fn pool(&self) -> std::sync::MutexGuard<'_, Vec<Opened>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The records that `select` asks for.
pub(crate) fn records(
    path: &Path,
    connection: &Connection,
    thread: &ThreadId,
    select: &Select,
) -> Result<Vec<Record>, JournalError> {
    let read = || records_now(path, connection, thread, select);
    let found = read()?;
    if !found.is_empty() || !takes_all(select) {
        return Ok(found);
    }
    let look = || {
        let (after, before) = (place(select.after), end_of(select));
        spans::next_place(Rows::Records, connection, thread.as_str(), after, before)
    };
    nothing(path, connection, look, read, |seq| corrupt(seq, MISSING))
}

/// Whether what is asked for is all that stands between two places.
fn takes_all(select: &Select) -> bool {
    select.kinds.is_empty() && select.chain.is_none() && select.limit > 0
}

fn end_of(select: &Select) -> i64 {
    select.before.map_or(place(LAST_PLACE) + 1, place)
}

/// What there is where `read` found nothing. If a span says otherwise, by `look`, the row
/// was written since, or it is missing: two looks at one state tell.
fn nothing<T>(
    path: &Path,
    connection: &Connection,
    look: impl Fn() -> rusqlite::Result<Option<u64>>,
    read: impl Fn() -> Result<Vec<T>, JournalError>,
    missing: impl Fn(u64) -> JournalError,
) -> Result<Vec<T>, JournalError> {
    let fail = |error: rusqlite::Error| schema::failed(path, &error);
    if look().map_err(fail)?.is_none() {
        return Ok(Vec::new());
    }
    let _state = connection.unchecked_transaction().map_err(fail)?;
    let found = read()?;
    match look().map_err(fail)? {
        Some(place) if found.is_empty() => Err(missing(place)),
        _ => Ok(found),
    }
}

fn records_now(
    path: &Path,
    connection: &Connection,
    thread: &ThreadId,
    select: &Select,
) -> Result<Vec<Record>, JournalError> {
    let fail = |error: rusqlite::Error| schema::failed(path, &error);
    let order = if select.newest_first { "DESC" } else { "ASC" };
    let kinds = if select.kinds.is_empty() {
        ""
    } else {
        "AND r.kind IN (SELECT value FROM json_each(?4))"
    };
    let chain = if select.chain.is_none() {
        ""
    } else {
        "AND c.branch = ?5 AND c.namespace = ?6"
    };
    let sql = format!(
        "{} {kinds} {chain} ORDER BY s.start {order}, r.id {order} LIMIT ?7",
        records_sql("t.name = ?1")
    );
    let mut statement = connection.prepare_cached(&sql).map_err(fail)?;
    let on = select.chain.as_ref();
    let mut rows = statement
        .query(params![
            thread.as_str(),
            place(select.after),
            end_of(select),
            serde_json::to_string(&select.kinds).unwrap_or_default(),
            on.map(|chain| chain.branch.as_str()),
            on.map(|chain| chain.namespace.as_str()),
            count(select.limit),
        ])
        .map_err(fail)?;
    let (mut records, mut standings) = (Vec::new(), Vec::new());
    let takes_all = takes_all(select);
    while let Some(row) = rows.next().map_err(fail)? {
        let record = decode(path, connection, row)?;
        if takes_all {
            standings.push(Standing::read(row, record.seq, STANDING).map_err(fail)?);
        }
        records.push(record);
    }
    let is_cut = records.len() >= select.limit;
    if select.newest_first {
        standings.reverse();
    }
    let (is_begun, is_ended) = if select.newest_first {
        (!is_cut, true)
    } else {
        (true, !is_cut)
    };
    match spans::gap(&standings, select.after, select.before, is_begun, is_ended) {
        Some(seq) => Err(corrupt(seq, MISSING)),
        None => Ok(records),
    }
}

/// A place, of which the last one stands for all later.
fn place(place: u64) -> i64 {
    whole(place.min(LAST_PLACE))
}

/// SQLite's numbers end where those of `i64` do.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The place of a thread's last record; 0 if there is none.
pub(crate) fn last_seq(
    path: &Path,
    connection: &Connection,
    thread: &ThreadId,
) -> Result<Seq, JournalError> {
    connection
        .prepare_cached(&format!(
            "SELECT max(t.last_seq, {}) FROM threads t WHERE t.name = ?1",
            Rows::Records.last_place()
        ))
        .and_then(|mut find| {
            find.query_row([thread.as_str()], |row| row.get(0))
                .optional()
        })
        .map(Option::unwrap_or_default)
        .map_err(|error| schema::failed(path, &error))
}

/// Which of a thread's lock files counts, or would if the thread were made.
pub(crate) fn lock(
    path: &Path,
    connection: &Connection,
    thread: &ThreadId,
) -> Result<Lock, JournalError> {
    connection
        .prepare_cached(
            "SELECT coalesce((SELECT lock FROM threads WHERE name = ?1), lock) FROM removed",
        )
        .and_then(|mut find| {
            find.query_row([thread.as_str()], |row| row.get(0))
                .optional()
        })
        .map(Option::unwrap_or_default)
        .map_err(|error| schema::failed(path, &error))
}

/// One record by its place.
pub(crate) fn record(
    path: &Path,
    connection: &Connection,
    thread: i64,
    seq: Seq,
) -> Result<Record, JournalError> {
    let fail = |error: rusqlite::Error| schema::failed(path, &error);
    let sql = records_sql("t.id = ?1");
    let mut statement = connection.prepare_cached(&sql).map_err(fail)?;
    let mut rows = statement
        .query(params![thread, place(seq) - 1, place(seq) + 1])
        .map_err(fail)?;
    match rows.next().map_err(fail)? {
        Some(row) => decode(path, connection, row),
        None => Err(corrupt(seq, "it is missing")),
    }
}

fn decode(path: &Path, connection: &Connection, row: &Row<'_>) -> Result<Record, JournalError> {
    let seq: Seq = row.get(0).map_err(|error| schema::failed(path, &error))?;
    let read = columns(connection, row, seq).and_then(|record| Ok((record, row.get(SUM)?)));
    let (record, sum): (Record, Option<u32>) = read.map_err(|error| match error {
        rusqlite::Error::InvalidColumnType(_, column, found) => {
            corrupt(seq, &format!("its column `{column}` holds a {found}"))
        }
        error => unreadable(path, format!("record {seq}"), &error),
    })?;
    if sum.is_some_and(|sum| sum != Placed::record(&record).sum()) {
        return Err(corrupt(seq, OTHER_SUM));
    }
    Ok(record)
}

/// Why something in a row was not read: it is damaged, or the store does not work now.
fn unreadable(path: &Path, place: String, error: &rusqlite::Error) -> JournalError {
    // What SQLite says of its pages is of the store, and not of the row.
    if error.sqlite_error_code().is_some() || !database::is_damage(error) {
        return schema::failed(path, error);
    }
    let reason = error.to_string();
    JournalError::Corrupt { place, reason }
}

/// The column of a record's sum.
const SUM: usize = 13;

/// Those of its body.
const BODY: Columns = Columns {
    body: 12,
    parts: 14,
    family: 15,
};

/// The first column of where a record, or a message, stands.
const STANDING: usize = 17;
const STANDING_OF_MESSAGE: usize = 7;

/// What is wrong with a place in a span that has no row.
const MISSING: &str = "it is missing";

/// The content of a record's body, and of a message's, in rows of earlier versions.
const CONTENT: usize = 16;
const CONTENT_OF_MESSAGE: usize = 6;

/// What is wrong with a row that has another sum than its own.
const OTHER_SUM: &str = "it is not what was written: its sum is another one";

fn columns(connection: &Connection, row: &Row<'_>, seq: Seq) -> rusqlite::Result<Record> {
    let text = |index| row.get::<_, String>(index);
    let bad = |index, reason: &str| {
        rusqlite::Error::FromSqlConversionFailure(index, rusqlite::types::Type::Blob, reason.into())
    };
    let body = BODY.read(connection, row)?;
    let body = String::from_utf8(body).map_err(|_| bad(12, "the body is not UTF-8"))?;
    let digest = row.get::<_, Option<Vec<u8>>>(11)?;
    let effect = row.get::<_, Option<String>>(10)?;
    Ok(Record {
        seq,
        chain: Chain {
            branch: Branch::from(text(1)?),
            namespace: Namespace::from(text(2)?),
        },
        place: row
            .get::<_, Option<String>>(3)?
            .map_or(Place::Commit, |key| Place::Fact(FactKey::from(key))),
        kind: text(4)?.into(),
        version: row.get(5)?,
        run: RunId::from(text(6)?),
        attempt: row.get(7)?,
        epoch: row.get(8)?,
        at_ms: row.get(9)?,
        effect: effect
            .map(|name| class(&name).ok_or_else(|| bad(10, "unknown effect class")))
            .transpose()?,
        digest: digest
            .map(|bytes| Digest::from_bytes(&bytes).ok_or_else(|| bad(11, "not a digest")))
            .transpose()?,
        body,
    })
}

fn class(name: &str) -> Option<EffectClass> {
    [
        EffectClass::Repeatable,
        EffectClass::Idempotent,
        EffectClass::Once,
    ]
    .into_iter()
    .find(|class| class.as_str() == name)
}

fn corrupt(seq: Seq, reason: &str) -> JournalError {
    JournalError::Corrupt {
        place: format!("record {seq}"),
        reason: reason.to_owned(),
    }
}

/// Up to `limit` messages of the thread after place `after`.
pub(crate) fn messages(
    path: &Path,
    connection: &Connection,
    thread: &ThreadId,
    after: u64,
    limit: usize,
) -> Result<Vec<PlacedMessage>, JournalError> {
    let read = || messages_now(path, connection, thread, after, limit);
    let found = read()?;
    if !found.is_empty() || limit == 0 {
        return Ok(found);
    }
    let look = || {
        let (after, end) = (place(after), place(LAST_PLACE) + 1);
        spans::next_place(Rows::Messages, connection, thread.as_str(), after, end)
    };
    nothing(path, connection, look, read, missing_message)
}

fn missing_message(place: u64) -> JournalError {
    JournalError::Corrupt {
        place: format!("message at place {place}"),
        reason: MISSING.to_owned(),
    }
}

fn messages_now(
    path: &Path,
    connection: &Connection,
    thread: &ThreadId,
    after: u64,
    limit: usize,
) -> Result<Vec<PlacedMessage>, JournalError> {
    let fail = |error: rusqlite::Error| schema::failed(path, &error);
    let new = Rows::Messages.between("?2", &format!("{LAST_PLACE} + 1"));
    let all = messages_sql(&new, "t.name = ?1");
    let mut statement = connection
        .prepare_cached(&format!("{all} ORDER BY s.start, r.id LIMIT ?3"))
        .map_err(fail)?;
    let mut rows = statement
        .query(params![thread.as_str(), place(after), count(limit)])
        .map_err(fail)?;
    let (mut messages, mut standings) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next().map_err(fail)? {
        let (place, name): (u64, String) = row
            .get(0)
            .and_then(|place| Ok((place, row.get(1)?)))
            .map_err(fail)?;
        let message = said(path, connection, row, &name)?;
        let message = serde_json::from_slice::<Message>(&message);
        let message = message.map_err(|error| JournalError::Corrupt {
            place: format!("message {name}"),
            reason: error.to_string(),
        })?;
        standings.push(Standing::read(row, place, STANDING_OF_MESSAGE).map_err(fail)?);
        messages.push((place, Arc::new(message)));
    }
    let is_ended = messages.len() < limit;
    match spans::gap(&standings, after, None, true, is_ended) {
        Some(place) => Err(missing_message(place)),
        None => Ok(messages),
    }
}

/// What reads the messages of threads `t`: place, name, body, sum, parts and family, and
/// the content of a body in rows of earlier versions.
fn messages_sql(rows: &str, of: &str) -> String {
    format!(
        "SELECT {PLACE}, r.name, coalesce(r.body, c.bytes), r.sum, r.parts, t.family, r.content,
                {}
           FROM threads t
           {rows}
           LEFT JOIN contents c ON c.family = t.family AND c.digest = r.content
          WHERE {of}",
        Standing::COLUMNS
    )
}

/// Where a row of [`messages_sql`] has the body.
const SAID: Columns = Columns {
    body: 2,
    parts: 4,
    family: 5,
};

/// The body of the message in a row, which has its sum.
fn said(
    path: &Path,
    connection: &Connection,
    row: &Row<'_>,
    name: &str,
) -> Result<Vec<u8>, JournalError> {
    let place = || format!("message {name}");
    let read = SAID
        .read(connection, row)
        .and_then(|body| Ok((body, row.get(3)?)));
    let read = read.map_err(|error| unreadable(path, place(), &error));
    let (body, sum): (Vec<u8>, Option<u32>) = read?;
    if sum.is_some_and(|sum| sum != placed::message_sum(name, &body)) {
        return Err(JournalError::Corrupt {
            place: place(),
            reason: OTHER_SUM.to_owned(),
        });
    }
    Ok(body)
}

/// Takes a body, and the contents that it is made of.
type EachBody<'a> = dyn FnMut(&str, &[Digest]) -> Result<(), JournalError> + 'a;

/// Shows `each` the bodies of a thread's records, or of its messages, and the contents
/// that they are made of. All that is shown has its sum, and where a row is missing, that
/// is an error.
pub(crate) fn bodies(
    path: &Path,
    connection: &Connection,
    rows: Rows,
    thread: i64,
    each: &mut EachBody<'_>,
) -> Result<(), JournalError> {
    let fail = |error: rusqlite::Error| schema::failed(path, &error);
    let (sql, columns, content, standing) = match rows {
        Rows::Records => (records_sql("t.id = ?1"), BODY, CONTENT, STANDING),
        Rows::Messages => {
            let all = messages_sql(&rows.between("?2", "?3"), "t.id = ?1");
            (all, SAID, CONTENT_OF_MESSAGE, STANDING_OF_MESSAGE)
        }
    };
    let sql = format!("{sql} ORDER BY s.start, r.id");
    let mut statement = connection.prepare_cached(&sql).map_err(fail)?;
    let mut standings = Vec::new();
    let mut found = statement
        .query(params![thread, 0, place(LAST_PLACE) + 1])
        .map_err(fail)?;
    while let Some(row) = found.next().map_err(fail)? {
        let body = match rows {
            Rows::Records => decode(path, connection, row)?.body,
            Rows::Messages => {
                let name: String = row.get(1).map_err(fail)?;
                let body = said(path, connection, row, &name)?;
                String::from_utf8(body).map_err(|error| JournalError::Corrupt {
                    place: format!("message {name}"),
                    reason: error.to_string(),
                })?
            }
        };
        let recipe = columns.recipe(row).map_err(fail)?;
        let content: Option<Vec<u8>> = row.get(content).map_err(fail)?;
        let content = content.and_then(|bytes| Digest::from_bytes(&bytes));
        let parts = recipe.iter().flat_map(Recipe::contents);
        let contents: Vec<_> = parts.chain(content).collect();
        each(&body, &contents)?;
        let place = row.get(0).map_err(fail)?;
        standings.push(Standing::read(row, place, standing).map_err(fail)?);
    }
    match spans::gap(&standings, 0, None, true, true) {
        Some(place) => Err(match rows {
            Rows::Records => corrupt(place, MISSING),
            Rows::Messages => missing_message(place),
        }),
        None => Ok(()),
    }
}

/// The threads that `query` asks for.
pub(crate) fn threads(
    path: &Path,
    connection: &Connection,
    query: &ThreadQuery,
) -> Result<Vec<ThreadRow>, JournalError> {
    let fail = |error: rusqlite::Error| schema::failed(path, &error);
    let mut statement = connection
        .prepare_cached(&format!(
            "SELECT name, epoch, last_seq, updated_at
               FROM (SELECT t.name, t.epoch,
                            max(t.last_seq, coalesce({PLACE}, 0)) AS last_seq,
                            iif({PLACE} > t.last_seq, r.at, t.updated_at)
                              AS updated_at
                       FROM threads t
                       LEFT JOIN record_spans s
                         ON s.start = (SELECT max(start) FROM record_spans
                                        WHERE start > t.id << 32 AND start < (t.id + 1) << 32)
                       LEFT JOIN records r
                         ON s.id IS NOT NULL
                        AND r.id = coalesce(s.last, (SELECT max(id) FROM records))
                      WHERE (?1 IS NULL OR t.name > ?1) AND t.name >= ?2
                        AND substr(CAST(t.name AS BLOB), 1, length(CAST(?2 AS BLOB)))
                            = CAST(?2 AS BLOB))
              WHERE updated_at >= ?3
              ORDER BY name LIMIT ?4"
        ))
        .map_err(fail)?;
    let after = query.after.as_ref().map(ThreadId::as_str);
    let mut rows = statement
        .query(params![
            after,
            query.prefix,
            whole(query.updated_since_ms),
            count(query.limit)
        ])
        .map_err(fail)?;
    let mut threads = Vec::new();
    while let Some(row) = rows.next().map_err(fail)? {
        let name: String = row.get(0).map_err(fail)?;
        let thread = ThreadId::new(&name).map_err(|error| JournalError::Corrupt {
            place: format!("thread {name:?}"),
            reason: error.to_string(),
        })?;
        let (epoch, last_seq, updated_at_ms) = row
            .get(1)
            .and_then(|epoch| Ok((epoch, row.get(2)?, row.get(3)?)))
            .map_err(fail)?;
        threads.push(ThreadRow {
            thread,
            epoch,
            last_seq,
            updated_at_ms,
        });
    }
    Ok(threads)
}

/// A content of the thread's family.
pub(crate) fn content(
    path: &Path,
    connection: &Connection,
    thread: &ThreadId,
    digest: Digest,
) -> Result<Option<Vec<u8>>, JournalError> {
    let bytes: Option<Vec<u8>> = connection
        .prepare_cached(
            "SELECT bytes FROM contents
              WHERE family = (SELECT family FROM threads WHERE name = ?1) AND digest = ?2",
        )
        .and_then(|mut find| {
            find.query_row(params![thread.as_str(), &digest.as_bytes()[..]], |row| {
                row.get(0)
            })
            .optional()
        })
        .map_err(|error| schema::failed(path, &error))?;
    if bytes
        .as_ref()
        .is_some_and(|bytes| Digest::of(bytes) != digest)
    {
        return Err(JournalError::Corrupt {
            place: format!("content {}", digest.short()),
            reason: "it has other bytes than its digest says".to_owned(),
        });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How SQLite goes about a statement.
    fn plan(sql: &str) -> Vec<String> {
        let connection = Connection::open_in_memory().unwrap();
        let tables = include_str!("tables.sql");
        connection.execute_batch(tables).unwrap();
        let sql = format!("EXPLAIN QUERY PLAN {sql}");
        let mut explain = connection.prepare(&sql).unwrap();
        let values = vec![None::<i64>; explain.parameter_count()];
        let values = rusqlite::params_from_iter(values);
        let steps = explain.query_map(values, |row| row.get(3)).unwrap();
        steps.map(Result::unwrap).collect()
    }

    #[test]
    fn the_rows_of_a_thread_are_found_by_their_spans_and_come_in_order() {
        let (records, last) = (records_sql("t.name = 'x'"), Rows::Records.last_place());
        let messages = Rows::Messages.all();
        for sql in [
            format!("{records} ORDER BY s.start, r.id LIMIT 9"),
            format!("{records} AND c.branch = 'main' ORDER BY s.start DESC, r.id DESC"),
            format!(
                "SELECT r.name FROM threads t {messages} WHERE t.name = 'x' ORDER BY s.start, r.id"
            ),
            format!("SELECT {last} FROM threads t WHERE t.name = 'x'"),
        ] {
            let plan = plan(&sql);
            let dear = ["AUTOMATIC", "TEMP B-TREE", "SCAN"];
            let is_dear = |step: &&String| dear.iter().any(|word| step.contains(word));
            assert_eq!(plan.iter().find(is_dear), None, "{plan:?}");
        }
    }
}
