//! Whether the file is what it should be, as SQLite itself says.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode};
use rustagents_core::journal::JournalError;

use crate::{
    schema,
    spans::{self, Rows},
};

/// How many problems SQLite looks for before it gives up.
const MAX_PROBLEMS: u32 = 3;

/// How many steps of SQLite's machine lie between two looks at the clock.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// What there is to say about a store in which SQLite found no mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The version of the tables.
    pub version: u32,
    /// Whether all of the file was looked at, and not only what time allowed.
    pub is_complete: bool,
}

/// Looks on a connection of its own, since its clock ends whatever runs on it.
pub(crate) fn check(path: &Path, patience: Duration) -> Result<Health, JournalError> {
    let fail = |error: rusqlite::Error| schema::failed(path, &error);
    let mut connection = schema::open_reader(path)?;
    let version = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(fail)?;
    let end = Instant::now() + patience;
    connection
        .progress_handler(STEPS_BETWEEN_LOOKS, Some(move || Instant::now() >= end))
        .map_err(fail)?;
    let is_complete = match problems(&connection) {
        Ok(problems) if problems.is_empty() => true,
        Ok(problems) => {
            return Err(JournalError::Corrupt {
                place: format!("store `{}`", path.display()),
                reason: problems.join("; "),
            });
        }
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => false,
        Err(error) => return Err(fail(error)),
    };
    Ok(Health {
        version,
        is_complete,
    })
}

fn problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut check = connection.prepare(&format!("PRAGMA integrity_check({MAX_PROBLEMS})"))?;
    let lines = check.query_map([], |row| row.get::<_, String>(0))?;
    let mut problems: Vec<_> = lines.collect::<rusqlite::Result<_>>()?;
    problems.retain(|line| line != "ok");
    if problems.is_empty() {
        let mut check = connection.prepare("PRAGMA foreign_key_check")?;
        let rows = check.query_map([], |row| {
            let (table, row, target): (String, Option<i64>, String) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let row = row.unwrap_or_default();
            Ok(format!(
                "row {row} of `{table}` names a row of `{target}` that is missing"
            ))
        })?;
        for row in rows.take(MAX_PROBLEMS as usize) {
            problems.push(row?);
        }
    }
    if problems.is_empty() {
        for rows in [Rows::Records, Rows::Messages] {
            problems.extend(spans::problem(rows, connection)?);
        }
    }
    Ok(problems)
}
