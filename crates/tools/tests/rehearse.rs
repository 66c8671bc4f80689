//! A seed and the statements on it are checked before anything is written.

use std::{fs, path::Path};

use rustagents_core::{Code, Coded};
use rustagents_tools::{
    DeclarationError,
    sql::{DataError, Declaration, Rehearsal, SqlTool},
};

use crate::shop::{SEED, Shop};

fn rehearse(rehearsal: &Rehearsal, declaration: Declaration) -> Result<(), DeclarationError> {
    SqlTool::new(declaration).unwrap().rehearse(rehearsal)
}

/// The names of everything in `folder`.
fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn statements_that_fit_the_seed_pass_and_nothing_is_written() {
    let shop = Shop::new();
    let rehearsal = shop.database.rehearse().unwrap();
    for sql in [
        "SELECT id, item FROM orders WHERE id = :order",
        "WITH paid AS (SELECT * FROM orders) SELECT count(*) AS n FROM paid",
    ] {
        assert_eq!(rehearse(&rehearsal, shop.reads(sql)), Ok(()), "{sql}");
    }
    for sql in [
        "UPDATE orders SET status = 'refunded' WHERE id = :order RETURNING id",
        "INSERT INTO parts (item) VALUES (:a)",
        "DELETE FROM orders",
    ] {
        assert_eq!(rehearse(&rehearsal, shop.writes(sql)), Ok(()), "{sql}");
    }
    assert_eq!(names(shop.folder.path()), ["orders.sql"]);
}

#[test]
fn statements_that_no_call_could_run_are_refused() {
    let shop = Shop::new();
    let rehearsal = shop.database.rehearse().unwrap();
    for (sql, reason) in [
        (
            "UPDATE orders SETT status = 'x'",
            "near \"SETT\": syntax error",
        ),
        ("SELECT 1 FROM ordres", "no such table: ordres"),
        ("SELECT 1 FROM \"a\nb\"", "no such table: a b"),
        ("SELECT staus FROM orders", "no such column: staus"),
        ("UPDATE orders SET staus = 'paid'", "no such column: staus"),
        (
            "INSERT INTO parts VALUES (1)",
            "table parts has 2 columns but 1 values were supplied",
        ),
        ("SELECT unheard(1)", "no such function: unheard"),
        (
            "SELECT load_extension(:a)",
            "not authorized to use function: load_extension",
        ),
        ("SELECT id FROM", "incomplete input"),
    ] {
        let error = rehearse(&rehearsal, shop.writes(sql)).unwrap_err();
        let reason = reason.to_owned();
        assert_eq!(error, DeclarationError::Sql { reason }, "{sql}");
        assert_eq!(error.code(), Code::ToolDeclaration);
    }
    assert_eq!(names(shop.folder.path()), ["orders.sql"]);
}

#[test]
fn a_tool_that_reads_may_not_write() {
    let shop = Shop::new();
    let rehearsal = shop.database.rehearse().unwrap();
    let error = rehearse(&rehearsal, shop.reads("DELETE FROM orders")).unwrap_err();
    assert_eq!(error, DeclarationError::Writes);
    assert_eq!(error.code(), Code::ToolDeclaration);
}

#[test]
fn two_columns_of_one_name_are_found() {
    let shop = Shop::new();
    let rehearsal = shop.database.rehearse().unwrap();
    let error = rehearse(&rehearsal, shop.reads("SELECT id, item AS id FROM orders"));
    let name = "id".to_owned();
    assert_eq!(error, Err(DeclarationError::DuplicateColumn { name }));
}

#[test]
fn a_statement_is_prepared_and_not_run() {
    let shop = Shop::new();
    let rehearsal = shop.database.rehearse().unwrap();
    for _ in 0..2 {
        let clash = "INSERT INTO orders (id) VALUES ('A-1042')";
        assert_eq!(rehearse(&rehearsal, shop.writes(clash)), Ok(()));
    }
}

#[test]
fn a_broken_seed_fails_as_it_does_when_it_is_used() {
    for seed in [
        "CREATE TABLE a (x);\n\nCREATE TABL b (x);\n",
        "CREATE TABLE a (x UNIQUE); INSERT INTO a VALUES (1), (1);",
        "BEGIN; CREATE TABLE a (x PRIMARY KEY);
         CREATE TABLE b (x REFERENCES a DEFERRABLE INITIALLY DEFERRED);
         INSERT INTO b VALUES (1);",
        "CREATE TABLE a (x); INSERT INTO b VALUES (1);",
    ] {
        let shop = Shop::seeded(seed);
        let error = shop.database.rehearse().unwrap_err();
        assert!(matches!(error, DataError::Seed { .. }), "{error:?}");
        assert_eq!(names(shop.folder.path()), ["orders.sql"], "{seed}");
        let used = shop.database.ensure().unwrap_err();
        assert_eq!(error.to_string(), used.to_string(), "{seed}");
    }
    let shop = Shop::seeded("CREATE TABLE a (x);\n\nCREATE TABL b (x);\n");
    let error = shop.database.rehearse().unwrap_err();
    assert!(
        matches!(&error, DataError::Seed { line: Some(3), reason, .. }
            if reason == "near \"TABL\": syntax error"),
        "{error:?}"
    );
}

#[test]
fn an_unreadable_seed_cannot_be_rehearsed() {
    let shop = Shop::seeded(b"\xff");
    let error = shop.database.rehearse().unwrap_err();
    assert!(matches!(error, DataError::SeedNotUtf8 { .. }), "{error:?}");
    fs::remove_file(shop.database.seed()).unwrap();
    let error = shop.database.rehearse().unwrap_err();
    assert!(
        matches!(error, DataError::SeedUnreadable { .. }),
        "{error:?}"
    );
}

#[test]
fn a_seed_may_set_what_it_likes_on_its_own_connection() {
    for settings in [
        "PRAGMA journal_mode = WAL;",
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;",
        "PRAGMA locking_mode = EXCLUSIVE;",
        "PRAGMA journal_mode = DELETE;",
        "PRAGMA journal_mode = PERSIST;",
        "PRAGMA journal_mode = OFF;",
        "PRAGMA temp_store = FILE; CREATE TEMP TABLE scratch (x);",
        "PRAGMA page_size = 512; PRAGMA auto_vacuum = FULL; VACUUM;",
        "ATTACH ':memory:' AS other; CREATE TABLE other.scratch (x);",
        "BEGIN;",
    ] {
        let shop = Shop::seeded(format!("{settings} {SEED}"));
        let rehearsal = shop.database.rehearse().unwrap();
        let found = rehearse(&rehearsal, shop.reads("SELECT id FROM orders"));
        assert_eq!(found, Ok(()), "{settings}");
        let found = rehearse(&rehearsal, shop.writes("SELECT x FROM scratch"));
        assert!(found.is_err(), "{settings}: a call would not see it");
        assert_eq!(names(shop.folder.path()), ["orders.sql"], "{settings}");
        shop.database.ensure().unwrap();
    }
}

#[test]
fn a_seed_that_reaches_for_a_file_is_not_judged() {
    for reach in [
        "ATTACH '{}' AS other",
        "ATTACH 'file:{}?vfs=unix' AS other",
        "ATTACH '{}' || '' AS other",
        "VACUUM INTO '{}'",
        "VACUUM INTO 'file:{}?vfs=unix'",
    ] {
        let shop = Shop::new();
        let file = shop.folder.path().join("other.db");
        let reach = reach.replace("{}", &file.display().to_string());
        let seed = format!("{SEED} {reach}; CREATE TABLE more (x);");
        fs::write(shop.database.seed(), seed).unwrap();

        let rehearsal = shop.database.rehearse().unwrap();
        let found = rehearse(&rehearsal, shop.reads("SELECT x FROM more"));
        assert_eq!(found, Ok(()), "{reach}");
        assert_eq!(names(shop.folder.path()), ["orders.sql"], "{reach}");
    }
}

#[test]
fn a_seed_that_has_no_room_is_not_judged() {
    // Its own limit stands in for the one of a database in memory.
    let shop = Shop::seeded("PRAGMA max_page_count = 2; CREATE TABLE a (x); CREATE TABLE b (x);");
    let rehearsal = shop.database.rehearse().unwrap();
    let found = rehearse(&rehearsal, shop.reads("SELECT x FROM b"));
    assert_eq!(found, Ok(()));
}

#[test]
fn the_database_that_is_there_does_not_matter() {
    let shop = Shop::new();
    shop.outside().execute("DROP TABLE orders", []).unwrap();
    let rehearsal = shop.database.rehearse().unwrap();
    let found = rehearse(&rehearsal, shop.reads("SELECT id FROM orders"));
    assert_eq!(found, Ok(()));
    assert_eq!(shop.data_files(), ["orders.db"]);
}

#[test]
fn rehearsals_do_not_see_each_other() {
    let (shop, other) = (Shop::new(), Shop::seeded("CREATE TABLE orders (x);"));
    let rehearsals = (
        shop.database.rehearse().unwrap(),
        other.database.rehearse().unwrap(),
    );
    let reads = |sql| shop.reads(sql);
    assert!(rehearse(&rehearsals.0, reads("SELECT id FROM orders")).is_ok());
    assert!(rehearse(&rehearsals.1, reads("SELECT id FROM orders")).is_err());
    assert!(rehearse(&rehearsals.1, reads("SELECT x FROM orders")).is_ok());
}
