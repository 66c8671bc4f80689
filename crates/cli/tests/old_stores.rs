//! What earlier versions wrote is found again, and goes on.

use std::{fs, path::Path};

use crate::bench::{Desk, approvals};

/// The versions of tables before the present one.
const VERSIONS: [u32; 4] = [1, 2, 3, 4];

/// A store as an earlier version left it, made on the desk.
fn old_store(version: u32, desk: &Desk) {
    let fixture = format!("../../spec/journal/sqlite-{version}.sql");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture);
    let folder = desk.path().canonicalize().unwrap();
    let sql = fs::read_to_string(fixture).unwrap();
    let sql = sql.replace("@DESK@", folder.to_str().unwrap());
    let sql = format!("BEGIN; {sql} COMMIT;");
    fs::create_dir_all(folder.join(".rustagents")).unwrap();
    let store = rusqlite::Connection::open(folder.join(".rustagents/journal.db")).unwrap();
    store.execute_batch(&sql).unwrap();
}

#[test]
fn the_threads_of_an_older_store_are_listed_and_their_tables_brought_up_to_date() {
    VERSIONS.into_iter().for_each(listed_and_brought_up_to_date);
}

fn listed_and_brought_up_to_date(version: u32) {
    let desk = Desk::new();
    old_store(version, &desk);
    let listed = desk.rag(&["threads"]);
    assert_eq!(listed.status, Some(0), "{listed:?}");
    let lines: Vec<_> = listed.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("ticket-7  suspended"), "{lines:?}");
    assert!(lines[1].starts_with("ticket-8  completed"), "{lines:?}");
    assert_eq!(desk.journal("PRAGMA user_version"), ["5"]);
    let checked = desk.rag(&["doctor"]);
    assert_eq!(checked.status, Some(0), "{checked:?}");
}

#[test]
fn a_run_that_an_older_version_suspended_goes_on() {
    VERSIONS.into_iter().for_each(goes_on);
}

fn goes_on(version: u32) {
    let desk = Desk::new();
    old_store(version, &desk);
    let waiting = desk.rag(&["resume", "ticket-7", "--json"]);
    assert_eq!(waiting.status, Some(3), "{waiting:?}");
    let mut arguments = vec!["resume".to_owned(), "ticket-7".into(), "--json".into()];
    arguments.extend(approvals(&waiting));
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let done = desk.rag(&arguments);
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(
        done.json()["usage"]["model_calls"],
        8,
        "what was recorded is not asked again"
    );
    let again = desk.rag(&[
        "run",
        ".",
        "--thread",
        "ticket-8",
        "--input",
        "Please refund B-2002",
    ]);
    assert_eq!(again.status, Some(0), "{again:?}");
}
