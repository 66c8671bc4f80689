//! Events as rows.

use std::borrow::Cow;

use rusqlite::{Connection, Row, ToSql, params, params_from_iter, types::Type};
use rustagents_core::{
    event_journal::{EventPage, EventQuery, EventScan, Offset, PlacedEvent, Retention, RunEvent},
    ids::{Namespace, RunId, ThreadId},
    store::query::MAX_SCAN,
};

use crate::{connections::Failure, database::Kind};

/// The letters `RAGE`.
const APPLICATION_ID: u32 = 0x5241_4745;

/// The greatest number that a column has.
const LATEST: u64 = i64::MAX.unsigned_abs();

/// Databases of events. A step never changes once it was released.
pub(super) const KIND: Kind = Kind {
    application_id: APPLICATION_ID,
    steps: &["
CREATE TABLE events(
  place INTEGER PRIMARY KEY,        -- the offset
  thread TEXT NOT NULL,
  run TEXT NOT NULL,
  root_run TEXT NOT NULL,
  kind TEXT NOT NULL,
  namespace TEXT NOT NULL,
  at INTEGER NOT NULL,              -- milliseconds since the Unix epoch
  payload TEXT NOT NULL             -- JSON
) STRICT;
CREATE INDEX events_thread ON events(thread);
CREATE INDEX events_run ON events(run);
CREATE INDEX events_root_run ON events(root_run);

CREATE TABLE ends(
  first INTEGER NOT NULL,           -- the place of the first event that is kept
  next INTEGER NOT NULL             -- the place of the next one to come
) STRICT;
INSERT INTO ends(first, next) VALUES(1, 1);
"],
};

/// Where a journal begins and ends.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) first: Offset,
    pub(super) next: Offset,
}

pub(super) fn ends(connection: &Connection) -> Result<Ends, Failure> {
    let mut statement = connection.prepare_cached("SELECT first, next FROM ends")?;
    Ok(statement.query_row([], |row| {
        Ok(Ends {
            first: row.get(0)?,
            next: row.get(1)?,
        })
    })?)
}

fn set_ends(connection: &Connection, ends: Ends) -> Result<(), Failure> {
    connection
        .prepare_cached("UPDATE ends SET first = ?1, next = ?2")?
        .execute([ends.first, ends.next])?;
    Ok(())
}

pub(super) fn append(
    connection: &Connection,
    events: &[RunEvent],
    texts: &[Box<str>],
) -> Result<Vec<Offset>, Failure> {
    let mut ends = ends(connection)?;
    let first = ends.next;
    let mut insert = connection.prepare_cached(
        "INSERT INTO events(place, thread, run, root_run, kind, namespace, at, payload)
         VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for (event, text) in events.iter().zip(texts) {
        insert.execute(params![
            ends.next,
            event.thread.as_str(),
            event.run.as_str(),
            event.root_run.as_str(),
            event.kind,
            event.namespace.as_str(),
            event.at_ms,
            text,
        ])?;
        ends.next += 1;
    }
    set_ends(connection, ends)?;
    Ok((first..ends.next).collect())
}

pub(super) fn read(connection: &Connection, query: &EventQuery) -> Result<EventPage, Failure> {
    let ends = ends(connection)?;
    let from = query.from.max(ends.first);
    // SQLite has no numbers for places this far away.
    if from >= ends.next {
        return Ok(EventScan::new(query.clone())?.finish(ends.first, 0));
    }
    // Without an index to go by, a page does not look further than that.
    let is_indexed = query.thread.is_some() || query.run.is_some() || query.root_run.is_some();
    let scanned = u64::try_from(MAX_SCAN).unwrap_or(u64::MAX);
    let end = if is_indexed {
        ends.next
    } else {
        ends.next.min(from.saturating_add(scanned))
    };
    let texts = [
        ("thread", query.thread.as_ref().map(ThreadId::as_str)),
        ("run", query.run.as_ref().map(RunId::as_str)),
        ("root_run", query.root_run.as_ref().map(RunId::as_str)),
        ("kind", query.kind.as_deref()),
        ("namespace", query.namespace.as_ref().map(Namespace::as_str)),
    ];
    let mut sql = "SELECT place, thread, run, root_run, kind, namespace, at, payload FROM events \
                   WHERE place >= ? AND place < ?"
        .to_owned();
    let mut values: Vec<&dyn ToSql> = vec![&from, &end];
    for (column, text) in &texts {
        if let Some(text) = text {
            sql = format!("{sql} AND {column} = ?");
            values.push(text);
        }
    }
    let mut statement = connection.prepare_cached(&format!("{sql} ORDER BY place"))?;
    let mut scan = EventScan::new(query.clone())?;
    let mut rows = statement.query(params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        if scan.is_full() {
            return Ok(scan.finish(ends.first, 0));
        }
        let (placed, bytes) = placed(row)?;
        scan.offer(Cow::Owned(placed), bytes);
    }
    Ok(scan.finish(ends.first, end.saturating_sub(1)))
}

fn placed(row: &Row<'_>) -> rusqlite::Result<(PlacedEvent, usize)> {
    let unreadable = |column, error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error)
    };
    let text = row.get_ref(7)?.as_str()?;
    let thread = ThreadId::new(row.get_ref(1)?.as_str()?);
    let event = RunEvent {
        thread: thread.map_err(|error| unreadable(1, error.into()))?,
        run: RunId::from(row.get_ref(2)?.as_str()?),
        root_run: RunId::from(row.get_ref(3)?.as_str()?),
        kind: row.get(4)?,
        namespace: Namespace::from(row.get_ref(5)?.as_str()?),
        at_ms: row.get(6)?,
        payload: serde_json::from_str(text).map_err(|error| unreadable(7, error.into()))?,
    };
    let offset = row.get(0)?;
    Ok((PlacedEvent { offset, event }, text.len()))
}

pub(super) fn drop_events(connection: &Connection, retention: Retention) -> Result<u64, Failure> {
    let ends = ends(connection)?;
    let first = match retention {
        Retention::Before(offset) => offset,
        Retention::OlderThan { at_ms } => connection
            .prepare_cached("SELECT place FROM events WHERE at >= ?1 ORDER BY place LIMIT 1")?
            .query_map([at_ms.min(LATEST)], |row| row.get(0))?
            .next()
            .unwrap_or(Ok(ends.next))?,
        Retention::KeepLast(count) => ends.next.saturating_sub(count),
        _ => ends.first,
    };
    let first = first.clamp(ends.first, ends.next);
    if first > ends.first {
        connection
            .prepare_cached("DELETE FROM events WHERE place < ?1")?
            .execute([first])?;
        set_ends(connection, Ends { first, ..ends })?;
    }
    Ok(first - ends.first)
}

pub(super) fn remove_thread(connection: &Connection, thread: &ThreadId) -> Result<u64, Failure> {
    let removed = connection
        .prepare_cached("DELETE FROM events WHERE thread = ?1")?
        .execute([thread.as_str()])?;
    Ok(u64::try_from(removed).unwrap_or(u64::MAX))
}
