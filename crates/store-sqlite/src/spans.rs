//! Where a thread's rows stand.
//!
//! Records and messages stand in the order in which they were written, whoever's they
//! are, so that a group of batches fills pages one after the other. A span says which
//! of them, one behind the other, are a thread's: from the one numbered `id` up to the
//! one numbered `last`. Its own number, `start`, is made of the thread's and of the place
//! of its first row. The span of who wrote last is open: it has no `last`, and holds all
//! rows from `id` on. So a thread that writes alone makes one span and leaves it as it
//! is, and only where threads take turns does each batch add one.
//!
//! A place minus the number of its row is the same all over a span, and each number in it
//! is that of a row: where some are taken out of a thread, its spans are split. So who
//! reads rows without a choice among them sees if one is missing.

use rusqlite::{Connection, OptionalExtension, Row, params};

/// One of the two tables whose rows threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    Records,
    Messages,
}

impl Rows {
    pub(crate) fn table(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Messages => "messages",
        }
    }

    fn spans(self) -> &'static str {
        match self {
            Self::Records => "record_spans",
            Self::Messages => "message_spans",
        }
    }

    /// Joins the spans `s` and the rows `r` of thread `t` whose places, [`PLACE`], are
    /// above `after` and below `before`. They come in the order of `s.start, r.id`.
    pub(crate) fn between(self, after: &str, before: &str) -> String {
        let (table, spans) = (self.table(), self.spans());
        let zero = "(t.id << 32)";
        let before_it = format!("s.id - (s.start - {zero})");
        format!(
            "CROSS JOIN {spans} s
                ON s.start < {zero} + {before}
               AND s.start >= coalesce((SELECT max(start) FROM {spans}
                                         WHERE start > {zero} AND start <= {zero} + {after} + 1),
                                       {zero})
             CROSS JOIN {table} r
                ON r.id BETWEEN max(s.id, {before_it} + {after} + 1)
                            AND min(coalesce(s.last, {LAST}), {before_it} + {before} - 1)"
        )
    }

    /// As [`Rows::between`], for all rows of the thread.
    pub(crate) fn all(self) -> String {
        self.between("0", &format!("{LAST_PLACE} + 1"))
    }

    /// The place of the last row of thread `t`; 0 if there is none.
    pub(crate) fn last_place(self) -> String {
        let (table, spans) = (self.table(), self.spans());
        format!(
            "coalesce((SELECT (l.start & {LAST_PLACE}) - l.id
                              + coalesce(l.last, (SELECT max(id) FROM {table}))
                         FROM {spans} l WHERE l.start > t.id << 32 AND l.start < (t.id + 1) << 32
                        ORDER BY l.start DESC LIMIT 1), 0)"
        )
    }
}

/// The place of the row `r` of the span `s`.
pub(crate) const PLACE: &str = "(s.start & 4294967295) + r.id - s.id";

/// The highest place there is: places have 32 bits.
pub(crate) const LAST_PLACE: u64 = 0xFFFF_FFFF;

/// Above the number of each row.
const LAST: i64 = i64::MAX;

/// The number of a span that begins at `place` of a thread: the thread's, and the place
/// in the lower 32 bits.
fn start(thread: i64, place: u64) -> i64 {
    (thread << 32) | i64::try_from(place & LAST_PLACE).unwrap_or_default()
}

/// Where the next row goes, in both tables.
#[derive(Debug)]
pub(crate) struct Tails {
    records: Tail,
    messages: Tail,
}

impl Default for Tails {
    fn default() -> Self {
        let tail = |rows| Tail { rows, end: None };
        Self {
            records: tail(Rows::Records),
            messages: tail(Rows::Messages),
        }
    }
}

impl Tails {
    pub(crate) fn of(&mut self, rows: Rows) -> &mut Tail {
        match rows {
            Rows::Records => &mut self.records,
            Rows::Messages => &mut self.messages,
        }
    }

    /// Writes the new spans down, so that their rows can be found.
    pub(crate) fn store(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.records.store(connection)?;
        self.messages.store(connection)
    }

    /// Closes the open spans: whoever writes next, by whatever way, begins another.
    pub(crate) fn close(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        for tail in [&mut self.records, &mut self.messages] {
            tail.end(connection)?.close();
        }
        self.store(connection)
    }
}

/// Where the next row of a table goes.
#[derive(Debug)]
pub(crate) struct Tail {
    rows: Rows,
    /// `None` until it is looked at.
    end: Option<End>,
}

#[derive(Debug)]
struct End {
    /// The number of the next row.
    next: i64,
    open: Option<Span>,
    /// What was closed since the spans were written down.
    closed: Vec<Span>,
}

#[derive(Debug)]
struct Span {
    start: i64,
    id: i64,
    last: Option<i64>,
    is_stored: bool,
}

impl Tail {
    /// The number of the row that goes to `place` of `thread`. It counts as written
    /// only after [`Tail::advance`].
    pub(crate) fn next(
        &mut self,
        connection: &Connection,
        thread: i64,
        place: u64,
    ) -> rusqlite::Result<i64> {
        let start = start(thread, place);
        let end = self.end(connection)?;
        let open = end.open.as_ref();
        let goes_on = open.is_some_and(|span| span.start + (end.next - span.id) == start);
        if !goes_on {
            end.close();
            end.open = Some(Span {
                start,
                id: end.next,
                last: None,
                is_stored: false,
            });
        }
        Ok(end.next)
    }

    /// The row was written.
    pub(crate) fn advance(&mut self) {
        if let Some(end) = &mut self.end {
            end.next += 1;
        }
    }

    fn store(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let Some(end) = &mut self.end else {
            return Ok(());
        };
        let open = end.open.as_mut().filter(|span| span.id < end.next);
        let open = open.filter(|span| !span.is_stored);
        if end.closed.is_empty() && open.is_none() {
            return Ok(());
        }
        let spans = self.rows.spans();
        let mut insert = connection.prepare_cached(&format!(
            "INSERT INTO {spans}(start, id, last) VALUES(?1, ?2, ?3)"
        ))?;
        let mut update = connection.prepare_cached(&format!(
            "UPDATE {spans} SET id = ?2, last = ?3 WHERE start = ?1"
        ))?;
        for span in end.closed.iter_mut().chain(open) {
            let store = if span.is_stored {
                &mut update
            } else {
                &mut insert
            };
            store.execute(params![span.start, span.id, span.last])?;
            span.is_stored = true;
        }
        end.closed.clear();
        Ok(())
    }

    fn end(&mut self, connection: &Connection) -> rusqlite::Result<&mut End> {
        match &mut self.end {
            Some(end) => Ok(end),
            none => Ok(none.insert(End::look(self.rows, connection)?)),
        }
    }
}

impl End {
    /// Finds the last row of a table, and the span that it is in, if that is open.
    fn look(rows: Rows, connection: &Connection) -> rusqlite::Result<Self> {
        let last = match rows {
            Rows::Records => {
                "SELECT r.id, c.thread FROM records r JOIN chains c ON c.id = r.chain
                  ORDER BY r.id DESC LIMIT 1"
            }
            Rows::Messages => "SELECT id, thread FROM messages ORDER BY id DESC LIMIT 1",
        };
        let last: Option<(i64, i64)> = connection
            .prepare_cached(last)?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let (id, thread) = last.unwrap_or_default();
        let span = format!(
            "SELECT start, id, last FROM {} WHERE start BETWEEN ?1 AND ?2
              ORDER BY start DESC LIMIT 1",
            rows.spans()
        );
        let span = connection
            .prepare_cached(&span)?
            .query_row([start(thread, 0), start(thread, LAST_PLACE)], |row| {
                Ok(Span {
                    start: row.get(0)?,
                    id: row.get(1)?,
                    last: row.get(2)?,
                    is_stored: true,
                })
            })
            .optional()?;
        Ok(Self {
            next: id + 1,
            open: span.filter(|span| span.last.is_none()),
            closed: Vec::new(),
        })
    }

    fn close(&mut self) {
        let last = self.next - 1;
        if let Some(mut span) = self.open.take()
            && span.id <= last
        {
            span.last = Some(last);
            self.closed.push(span);
        }
    }
}

/// Splits the spans of a thread, all closed, where rows were taken out; those without
/// rows go.
pub(crate) fn split(rows: Rows, connection: &Connection, thread: i64) -> rusqlite::Result<()> {
    let (table, spans) = (rows.table(), rows.spans());
    let ends = [start(thread, 0), start(thread, LAST_PLACE)];
    let whole: Vec<Span> = connection
        .prepare_cached(&format!(
            "SELECT start + min(id) - first, min(id), max(id)
               FROM (SELECT s.start, s.id AS first, r.id,
                            r.id - row_number() OVER (PARTITION BY s.start ORDER BY r.id) AS run
                       FROM {spans} s CROSS JOIN {table} r ON r.id BETWEEN s.id AND s.last
                      WHERE s.start BETWEEN ?1 AND ?2)
              GROUP BY start, run"
        ))?
        .query_map(ends, |row| {
            Ok(Span {
                start: row.get(0)?,
                id: row.get(1)?,
                last: row.get(2)?,
                is_stored: false,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    remove(rows, connection, thread)?;
    let mut insert = connection.prepare_cached(&format!(
        "INSERT INTO {spans}(start, id, last) VALUES(?1, ?2, ?3)"
    ))?;
    for span in whole {
        insert.execute(params![span.start, span.id, span.last])?;
    }
    Ok(())
}

/// The first place above `after`, and below `before`, that a span of the thread says to
/// have a row.
pub(crate) fn next_place(
    rows: Rows,
    connection: &Connection,
    thread: &str,
    after: i64,
    before: i64,
) -> rusqlite::Result<Option<u64>> {
    let (table, spans) = (rows.table(), rows.spans());
    let sql = format!(
        "SELECT max(?2 + 1, s.start & {LAST_PLACE})
           FROM threads t CROSS JOIN {spans} s
             ON s.start < (t.id << 32) + ?3
            AND s.start >= coalesce((SELECT max(start) FROM {spans}
                                      WHERE start > t.id << 32 AND start <= (t.id << 32) + ?2 + 1),
                                    t.id << 32)
          WHERE t.name = ?1
            AND (s.start & {LAST_PLACE}) - s.id
                + coalesce(s.last, (SELECT max(id) FROM {table})) > ?2
          ORDER BY s.start LIMIT 1"
    );
    connection
        .prepare_cached(&sql)?
        .query_row(params![thread, after, before], |row| row.get(0))
        .optional()
}

/// Where a row that was read stands in its span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) place: u64,
    id: i64,
    start: i64,
    first: i64,
    last: Option<i64>,
}

impl Standing {
    /// What reads it, of the row `r` of the span `s`.
    pub(crate) const COLUMNS: &str = "s.start, s.id, s.last, r.id";

    /// From those columns, of which `first` is the first.
    pub(crate) fn read(row: &Row<'_>, place: u64, first: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            place,
            start: row.get(first)?,
            first: row.get(first + 1)?,
            last: row.get(first + 2)?,
            id: row.get(first + 3)?,
        })
    }

    /// Whether `next` is the row behind this one.
    fn is_before(&self, next: &Self) -> bool {
        if self.start == next.start {
            return next.id == self.id + 1;
        }
        self.last == Some(self.id) && next.id == next.first
    }
}

/// The place at which a row is missing, if one is: `rows` are all of a thread above the
/// place `after`, in order, and below the place `before`, if it is given. Those at one of
/// the ends may be left out, where `is_begun` or `is_ended` says so.
pub(crate) fn gap(
    rows: &[Standing],
    after: u64,
    before: Option<u64>,
    is_begun: bool,
    is_ended: bool,
) -> Option<u64> {
    let (first, last) = (rows.first()?, rows.last()?);
    if is_begun && first.id != first.first && first.place != after + 1 {
        return Some(first.place.saturating_sub(1));
    }
    for (row, next) in rows.iter().zip(rows.iter().skip(1)) {
        if !row.is_before(next) {
            return Some(row.place + 1);
        }
    }
    let is_last = last.last.is_none_or(|end| end == last.id);
    let is_cut = before.is_some_and(|before| last.place + 1 >= before);
    (is_ended && !is_last && !is_cut).then_some(last.place + 1)
}

/// Makes the spans of a new thread, of rows that were just written behind all others:
/// the one at place 1 would have the number `id`.
pub(crate) fn cover(
    rows: Rows,
    connection: &Connection,
    thread: i64,
    id: i64,
) -> rusqlite::Result<()> {
    let (table, spans) = (rows.table(), rows.spans());
    let sql = format!(
        "INSERT INTO {spans}(start, id, last)
         SELECT ?1, ?2, max(id) FROM {table} HAVING max(id) >= ?2"
    );
    connection.execute(&sql, [start(thread, 1), id])?;
    split(rows, connection, thread)
}

/// Forgets the spans of a thread that goes, with its rows.
pub(crate) fn remove(rows: Rows, connection: &Connection, thread: i64) -> rusqlite::Result<()> {
    let sql = format!("DELETE FROM {} WHERE start BETWEEN ?1 AND ?2", rows.spans());
    let ends = [start(thread, 0), start(thread, LAST_PLACE)];
    connection.execute(&sql, ends).map(drop)
}

/// The number that a row behind all others gets.
pub(crate) fn behind_all(rows: Rows, connection: &Connection) -> rusqlite::Result<i64> {
    let sql = format!("SELECT 1 + coalesce(max(id), 0) FROM {}", rows.table());
    connection.query_row(&sql, [], |row| row.get(0))
}

/// What is wrong with the spans of a table, if something is: its rows are to be in one
/// span each.
pub(crate) fn problem(rows: Rows, connection: &Connection) -> rusqlite::Result<Option<String>> {
    let (table, spans) = (rows.table(), rows.spans());
    let sql = format!(
        "SELECT (SELECT count(*) FROM {table}),
                (SELECT count(*) FROM {spans} s
                  CROSS JOIN {table} r ON r.id BETWEEN s.id AND coalesce(s.last, {LAST})),
                (SELECT coalesce(sum(coalesce(last, (SELECT max(id) FROM {table})) - id + 1), 0)
                   FROM {spans})"
    );
    let (there, held, told): (i64, i64, i64) =
        connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let problem =
        format!("`{spans}` tell of {told} rows, and hold {held} of the {there} of `{table}`");
    Ok((there != held || held != told).then_some(problem))
}
