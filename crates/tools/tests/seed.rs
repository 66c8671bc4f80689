//! A database is made from its seed once, whole, and at the first use.

use std::{fs, path::Path, sync::Barrier, thread};

use rustagents_core::{Code, Coded, tool::ToolErrorKind};
use rustagents_tools::sql::{DataError, Database};
use serde_json::json;

use crate::shop::{ENDLESS, SEED, Shop, call, not_executed, open};

#[tokio::test]
async fn the_first_call_makes_the_database() {
    let shop = Shop::new();
    shop.database.check_seed().unwrap();
    assert!(
        !shop.folder.path().join(".rustagents").exists(),
        "checking writes nothing"
    );

    let found = call(shop.reads("SELECT count(*) AS n FROM orders"), json!({}))
        .await
        .unwrap();
    assert_eq!(found, json!({"rows": [{"n": 3}]}));
    let file = shop.folder.path().join(".rustagents/data/orders.db");
    assert_eq!(shop.database.file(), file);
    assert!(file.is_file());
}

#[test]
fn a_made_database_is_one_file_and_stays() {
    let shop = Shop::new();
    shop.database.ensure().unwrap();
    assert_eq!(shop.data_files(), ["orders.db"]);

    shop.outside().execute("DELETE FROM orders", []).unwrap();
    fs::remove_file(shop.database.seed()).unwrap();
    shop.database.ensure().unwrap();
    assert_eq!(shop.text("SELECT count(*) FROM orders"), "Integer(0)");
}

#[test]
fn many_at_once_make_one_whole_database() {
    const THREADS: usize = 8;
    let shop = Shop::seeded(format!(
        "{SEED} WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 2000)
         INSERT INTO parts(item) SELECT 'part ' || x FROM c;"
    ));
    let start = Barrier::new(THREADS);
    let counts: Vec<i64> = thread::scope(|scope| {
        let work = || {
            let database = open(shop.folder.path());
            start.wait();
            database.ensure().unwrap();
            let connection = rusqlite::Connection::open(database.file()).unwrap();
            // A database that replaced another one would lose this row.
            connection
                .execute("INSERT INTO parts(item) VALUES (hex(randomblob(8)))", [])
                .unwrap();
            connection
                .query_row("SELECT count(*) FROM orders", [], |row| row.get(0))
                .unwrap()
        };
        let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect()
    });
    assert_eq!(counts, [3; THREADS]);
    assert_eq!(
        shop.text("SELECT count(*) FROM parts"),
        format!("Integer({})", 2000 + THREADS)
    );
    assert_eq!(shop.text("PRAGMA integrity_check"), "ok");
    assert_eq!(shop.data_files(), ["orders.db"], "no draft is left behind");
}

/// Set where this binary is the child: the folder with the data to make.
#[cfg(unix)]
const CHILD: &str = "RUSTAGENTS_TEST_SEEDS";

/// In a child of the next test: makes a database, which takes for ever.
#[cfg(unix)]
#[test]
fn the_child_seeds() {
    if let Some(folder) = std::env::var_os(CHILD) {
        open(Path::new(&folder)).ensure().unwrap();
    }
}

/// A process that is at an endless seed, until it is dropped.
#[cfg(unix)]
struct Seeding {
    child: std::process::Child,
    /// The folder in which it works.
    draft: String,
}

#[cfg(unix)]
impl Seeding {
    /// Starts one, and waits until it is at work.
    fn new(shop: &Shop, known: &[String]) -> Self {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "seed::the_child_seeds"])
            .env(CHILD, shop.folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let draft = String::new();
        let mut seeding = Self { child, draft };
        let begun = |name: &String| {
            let folder = shop.folder.path().join(".rustagents/data").join(name);
            !known.contains(name) && folder.join("draft.db").exists()
        };
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while seeding.draft.is_empty() {
            assert!(std::time::Instant::now() < deadline, "no child seeds");
            thread::sleep(std::time::Duration::from_millis(5));
            let found = shop.data_files().into_iter().find(begun);
            seeding.draft = found.unwrap_or_default();
        }
        seeding
    }
}

#[cfg(unix)]
impl Drop for Seeding {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[cfg(unix)]
#[test]
fn what_a_killed_process_left_is_swept_and_what_a_living_one_holds_is_not() {
    let shop = Shop::seeded(ENDLESS);
    let data = shop.folder.path().join(".rustagents/data");
    fs::create_dir_all(&data).unwrap();
    let first = Seeding::new(&shop, &[]);
    let killed = vec![first.draft.clone()];
    drop(first);
    assert_eq!(shop.data_files(), killed, "a killed process leaves it");

    // The second one removes it before it makes its own.
    let second = Seeding::new(&shop, &killed);
    assert_eq!(shop.data_files(), [second.draft.as_str()]);
    // A folder without a lock is left behind as well; what is no folder is not ours.
    fs::create_dir(data.join(".seed-before")).unwrap();
    fs::write(data.join(".seed-file"), "").unwrap();
    fs::write(shop.database.seed(), SEED).unwrap();
    shop.database.ensure().unwrap();
    let mut expected = [second.draft.as_str(), ".seed-file", "orders.db"];
    expected.sort_unstable();
    assert_eq!(shop.data_files(), expected);

    drop(second);
    fs::remove_file(shop.database.file()).unwrap();
    shop.database.ensure().unwrap();
    assert_eq!(shop.data_files(), [".seed-file", "orders.db"]);
}

#[tokio::test]
async fn a_seed_that_fails_leaves_nothing_and_says_where() {
    let shop = Shop::seeded("CREATE TABLE a (x);\n\nCREATE TABL b (x);\n");
    let error = shop.database.ensure().unwrap_err();
    assert_eq!(error.code(), Code::DataSource);
    let seed = shop.database.seed().display();
    let expected = format!("the seed `{seed}` fails on line 3: near \"TABL\": syntax error");
    assert_eq!(error.to_string(), expected);
    assert!(shop.data_files().is_empty());

    let result = call(shop.reads("SELECT 1"), json!({})).await;
    assert_eq!(not_executed(result, ToolErrorKind::Unavailable), expected);
    fs::write(shop.database.seed(), SEED).unwrap();
    call(shop.reads("SELECT 1 FROM orders"), json!({}))
        .await
        .unwrap();
}

#[test]
fn a_seed_that_breaks_a_constraint_leaves_nothing() {
    let shop = Shop::seeded("CREATE TABLE a (x UNIQUE); INSERT INTO a VALUES (1), (1);");
    let error = shop.database.ensure().unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("fails: UNIQUE constraint failed: a.x"),
        "{error}"
    );
    assert!(shop.data_files().is_empty());
}

#[test]
fn a_seed_may_open_its_own_transaction() {
    for seed in [
        "BEGIN; CREATE TABLE orders (x); COMMIT;",
        "BEGIN; CREATE TABLE orders (x);",
    ] {
        let shop = Shop::seeded(seed);
        assert_eq!(
            shop.text("SELECT count(*) FROM orders"),
            "Integer(0)",
            "{seed}"
        );
    }
}

#[test]
fn an_unreadable_seed_is_found_by_checking() {
    let shop = Shop::seeded(b"CREATE TABLE \xff (x)");
    assert!(matches!(
        shop.database.check_seed(),
        Err(DataError::SeedNotUtf8 { .. })
    ));
    fs::remove_file(shop.database.seed()).unwrap();
    let error = shop.database.check_seed().unwrap_err();
    assert!(
        matches!(error, DataError::SeedUnreadable { .. }),
        "{error:?}"
    );
    assert_eq!(error.code(), Code::DataSource);
    assert!(shop.database.ensure().is_err());
}

#[test]
fn a_name_is_no_path() {
    let error = Database::new(Path::new("/shop"), "../x", Path::new("x.sql")).unwrap_err();
    assert_eq!(error.to_string(), "`../x` cannot name a data source");
}

#[test]
fn what_is_left_of_another_database_is_not_replayed() {
    let shop = Shop::new();
    let connection = shop.outside();
    connection.execute("DELETE FROM orders", []).unwrap();
    let wal = shop.database.file().with_file_name("orders.db-wal");
    let left = fs::read(&wal).unwrap();
    drop(connection);
    fs::remove_file(shop.database.file()).unwrap();
    fs::write(&wal, left).unwrap();

    let error = shop.database.ensure().unwrap_err();
    assert!(matches!(error, DataError::Leftover { .. }), "{error:?}");
    fs::remove_file(wal).unwrap();
    assert_eq!(shop.text("SELECT count(*) FROM orders"), "Integer(3)");
}

#[tokio::test]
async fn a_reader_finishes_what_a_killed_writer_committed() {
    let shop = Shop::new();
    let writer = shop.outside();
    writer
        .execute("UPDATE orders SET status = 'refunded'", [])
        .unwrap();
    // A copy of the files while they are open is what a killed process leaves.
    let copy = Shop::new();
    let data = copy.folder.path().join(".rustagents/data");
    fs::create_dir_all(&data).unwrap();
    for name in ["orders.db", "orders.db-wal"] {
        fs::copy(shop.database.file().with_file_name(name), data.join(name)).unwrap();
    }
    let found = call(copy.reads("SELECT DISTINCT status FROM orders"), json!({}))
        .await
        .unwrap();
    assert_eq!(found, json!({"rows": [{"status": "refunded"}]}));
}
