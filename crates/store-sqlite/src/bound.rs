//! A statement of which most values are the same from one use to the next.

use std::array;

use rusqlite::{
    CachedStatement, ToSql,
    types::{ToSqlOutput, Value, ValueRef},
};

/// A statement that remembers the values of its first `KEPT` parameters. Binding one
/// takes as long as SQLite needs to store it, so those that did not change are left.
pub(crate) struct Bound<'c, const KEPT: usize> {
    statement: CachedStatement<'c>,
    last: [Value; KEPT],
}

impl<'c, const KEPT: usize> Bound<'c, KEPT> {
    /// Takes a statement without values: all its parameters are `NULL`.
    pub(crate) fn new(statement: CachedStatement<'c>) -> Self {
        Self {
            statement,
            last: array::from_fn(|_| Value::Null),
        }
    }

    /// Executes it with `kept` in the first parameters and `fresh` in those behind.
    pub(crate) fn execute(
        &mut self,
        kept: [&dyn ToSql; KEPT],
        fresh: &[&dyn ToSql],
    ) -> rusqlite::Result<usize> {
        for (index, (value, last)) in (1..).zip(kept.iter().zip(&mut self.last)) {
            let value = value.to_sql()?;
            let value = borrowed(&value)?;
            if value != ValueRef::from(&*last) {
                let bound = ToSqlOutput::Borrowed(value);
                self.statement.raw_bind_parameter(index, bound)?;
                *last = Value::try_from(value)?;
            }
        }
        for (index, value) in (KEPT + 1..).zip(fresh) {
            self.statement.raw_bind_parameter(index, value)?;
        }
        self.statement.raw_execute()
    }
}

fn borrowed<'v>(value: &'v ToSqlOutput<'_>) -> rusqlite::Result<ValueRef<'v>> {
    match value {
        ToSqlOutput::Borrowed(value) => Ok(*value),
        ToSqlOutput::Owned(value) => Ok(value.into()),
        _ => Err(rusqlite::Error::ToSqlConversionFailure(
            "a value that is neither there nor borrowed cannot be kept".into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn what_changes_is_bound_again_and_what_stays_is_left() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t(a TEXT, b INTEGER, c BLOB, d TEXT)")
            .unwrap();
        let insert = "INSERT INTO t VALUES(?1, ?2, ?3, ?4)";
        let rows = [
            (Some("x"), Some(1_u64), None, "p"),
            (Some("x"), Some(1), Some(&b"z"[..]), "q"),
            (None, Some(2), Some(b"z"), "q"),
            (Some("y"), None, None, "r"),
        ];
        let mut bound = Bound::<3>::new(connection.prepare_cached(insert).unwrap());
        for (a, b, c, d) in &rows {
            assert_eq!(bound.execute([a, b, c], &[d]).unwrap(), 1);
        }
        drop(bound);
        // What is kept holds for one borrower: the next one begins without values.
        Bound::<0>::new(connection.prepare_cached(insert).unwrap())
            .execute([], &[])
            .unwrap();
        let all = "SELECT count(*), max(rowid) FILTER (WHERE a IS ?1 AND b IS ?2 AND c IS ?3 AND d IS ?4) FROM t";
        let mut find = connection.prepare(all).unwrap();
        for (place, (a, b, c, d)) in (1..).zip(rows) {
            let found: (i64, i64) = find
                .query_row((a, b, c, d), |row| Ok((row.get(0)?, row.get(1)?)))
                .unwrap();
            assert_eq!(found, (5, place));
        }
        let nothing = (None::<i64>, None::<i64>, None::<i64>, None::<i64>);
        let last: i64 = find.query_row(nothing, |row| row.get(1)).unwrap();
        assert_eq!(last, 5);
    }

    #[test]
    fn a_value_that_cannot_be_bound_is_not_taken_for_the_last_one() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t(a INTEGER UNIQUE)")
            .unwrap();
        let insert = connection
            .prepare_cached("INSERT INTO t VALUES(?1)")
            .unwrap();
        let mut bound = Bound::<1>::new(insert);
        bound.execute([&1], &[]).unwrap();
        bound.execute([&1], &[]).unwrap_err();
        bound.execute([&2], &[]).unwrap();
        let sum: i64 = connection
            .query_row("SELECT sum(a) FROM t", [], |row| row.get(0))
            .unwrap();
        assert_eq!(sum, 3);
    }
}
