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
//! A place minus the number of its row is the same all over a span. What is taken out
//! of a thread leaves holes in it.

use rusqlite::{Connection, OptionalExtension, params};

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

/// Ends the spans of a thread, all closed, with their last rows, after some were taken
/// out; spans without rows go.
pub(crate) fn trim(rows: Rows, connection: &Connection, thread: i64) -> rusqlite::Result<()> {
    let (table, spans) = (rows.table(), rows.spans());
    for sql in [
        format!(
            "UPDATE {spans} SET last = (SELECT max(r.id) FROM {table} r
                                         WHERE r.id BETWEEN {spans}.id AND {spans}.last)
              WHERE start BETWEEN ?1 AND ?2"
        ),
        format!("DELETE FROM {spans} WHERE start BETWEEN ?1 AND ?2 AND last IS NULL"),
    ] {
        connection.execute(&sql, [start(thread, 0), start(thread, LAST_PLACE)])?;
    }
    Ok(())
}

/// Makes one span for a new thread, of rows that were just written behind all others:
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
    connection.execute(&sql, [start(thread, 1), id]).map(drop)
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
                  CROSS JOIN {table} r ON r.id BETWEEN s.id AND coalesce(s.last, {LAST}))"
    );
    let (there, held): (i64, i64) =
        connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let problem = format!("`{spans}` hold {held} rows of the {there} of `{table}`");
    Ok((there != held).then_some(problem))
}
