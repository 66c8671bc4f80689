//! `rag doctor`: it says what is missing, and leaves everything as it is.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::bench::{Desk, REFUND, Said};

const KEY: &str = "sk-very-secret-0123456789";

/// What is wanted of a model's configuration: one model behind HTTP.
fn config(desk: &Desk, url: &str) {
    let model = format!("[models]\ndefault = \"openai-compatible:tiny@{url}\"\n");
    desk.write("rustagents.toml", model);
}

/// A server that answers every request with the same bytes, or never.
fn serve(answer: Option<String>) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (heads, seen) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A test that is over listens no more.
            let _ = heads.send(exchange(stream, answer.as_deref()));
        }
    });
    (url, seen)
}

fn exchange(mut stream: TcpStream, answer: Option<&str>) -> String {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
    match answer {
        Some(answer) => stream.write_all(answer.as_bytes()).unwrap(),
        None => drop(reader.read_to_end(&mut Vec::new())),
    }
    head
}

fn document(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

/// `rag doctor --json` with a key, which must not be in what it says.
fn doctor(desk: &Desk, options: &[&str]) -> Said {
    let mut command = desk.command(&[&["doctor", "--json"], options].concat());
    command
        .env("OPENAI_API_KEY", KEY)
        .env_remove("OPENAI_BASE_URL");
    let said = Said::of(command.output().unwrap());
    assert!(!format!("{said:?}").contains("very-secret"), "{said:?}");
    let object = said.json();
    assert_eq!(object["schema"], "rag.doctor/1");
    assert_eq!(said.stderr, "");
    let checks = object["checks"].as_array().unwrap();
    let broken = checks.iter().any(|check| check["status"] == "error");
    assert_eq!(object["ok"], !broken, "{object}");
    assert_eq!(said.status, Some(i32::from(broken)), "{said:?}");
    for check in checks {
        let hinted = check["hint"].is_string();
        assert_eq!(hinted, check["status"] != "ok", "{check}");
    }
    said
}

/// Status, message and hint of the one check of that name.
fn check(said: &Said, name: &str) -> (String, String, String) {
    let object = said.json();
    let checks = object["checks"].as_array().unwrap();
    let mut found = checks.iter().filter(|check| check["name"] == name);
    let check = found
        .next()
        .unwrap_or_else(|| panic!("no `{name}` in {object}"));
    assert!(found.next().is_none(), "`{name}` twice in {object}");
    let text = |field: &str| check[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("message"), text("hint"))
}

fn assert_check(said: &Said, name: &str, status: &str, words: &str) {
    let (found, message, hint) = check(said, name);
    assert_eq!(found, status, "{name}: {message} ({hint})");
    assert!(message.contains(words), "no `{words}` in {name}: {message}");
}

// The whole.

#[test]
fn all_is_well_with_the_example_and_nothing_is_written() {
    let desk = Desk::new();
    let before = desk.files();
    let said = doctor(&desk, &[]);
    let object = said.json();
    let names: Vec<_> = object["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["name"].as_str().unwrap())
        .collect();
    let expected = [
        "rag",
        "configuration",
        "model default",
        "data orders",
        "tool lookup_order",
        "tool refund",
        "tool open_claim",
        "store",
        "store folder",
    ];
    assert_eq!(names, expected);
    assert_eq!(object["ok"], true);
    let version = format!("version {}", env!("CARGO_PKG_VERSION"));
    let first = json!({"name": "rag", "status": "ok", "message": version, "hint": null});
    assert_eq!(object["checks"][0], first);
    assert_check(
        &said,
        "configuration",
        "ok",
        "1 model, 1 data source, 3 tools",
    );
    assert_check(
        &said,
        "store",
        "ok",
        "is not there yet; the first run makes it",
    );
    assert!(desk.files() == before);
    assert!(!desk.path().join(".rustagents").exists());
}

#[test]
fn a_person_reads_a_line_for_each_check_and_a_summary() {
    let desk = Desk::new();
    fs::remove_file(desk.path().join("script.toml")).unwrap();
    let said = desk.rag(&["doctor"]);
    assert_eq!(said.status, Some(1), "{said:?}");
    assert_eq!(said.stderr, "9 checks: 1 error, 0 warnings\n");
    let lines: Vec<_> = said.stdout.lines().collect();
    assert!(lines[0].starts_with("ok       rag "), "{said:?}");
    assert!(lines[2].starts_with("error    model default "), "{said:?}");
    assert!(lines[2].contains("script.toml` cannot be read"), "{said:?}");
    assert_eq!(lines[3], "  hint:  see `rag explain RAG0002`");
    assert_eq!(desk.rag(&["doctor", "--quiet"]).stderr, "");
}

#[test]
fn a_folder_without_a_configuration_is_a_warning() {
    let desk = Desk::new();
    fs::remove_file(desk.path().join("rustagents.toml")).unwrap();
    let said = doctor(&desk, &[]);
    assert_check(&said, "configuration", "warning", "no `rustagents.toml`");
    assert!(check(&said, "configuration").2.contains("rag new"));
}

// Configuration, data and tools.

#[test]
fn a_broken_configuration_has_a_place_and_hides_nothing_else() {
    for (text, words) in [
        ("[models\n", "rustagents.toml:1:"),
        ("[model]\n", "rustagents.toml:1:2"),
    ] {
        let desk = Desk::new();
        desk.write("rustagents.toml", text);
        let said = doctor(&desk, &[]);
        assert_check(&said, "configuration", "error", words);
        assert_check(&said, "store", "ok", "");
    }
    let said = doctor(&Desk::new(), &["--config", "no.toml"]);
    assert_check(&said, "configuration", "error", "no.toml");
}

#[test]
fn each_declaration_that_does_not_work_is_named_with_its_place() {
    let desk = Desk::new();
    desk.edit(
        "rustagents.toml",
        "FROM orders WHERE id = :order",
        "FROM order WHERE id = :order",
    );
    let said = doctor(&desk, &[]);
    assert_check(&said, "data orders", "ok", "the seed works");
    assert_check(&said, "tool lookup_order", "error", "rustagents.toml:12:");
    assert_check(&said, "tool refund", "ok", "");
}

#[test]
fn the_tools_of_a_seed_that_fails_point_at_it() {
    let desk = Desk::new();
    desk.edit("orders.sql", "CREATE TABLE", "CREATE TABEL");
    let said = doctor(&desk, &[]);
    assert_check(&said, "data orders", "error", "orders.sql");
    for tool in ["tool lookup_order", "tool refund", "tool open_claim"] {
        assert_check(
            &said,
            tool,
            "error",
            "its data source `orders` does not work",
        );
    }
}

#[test]
fn each_model_is_looked_at_for_itself() {
    let desk = Desk::new();
    desk.write("broken.toml", "rule = [{}]");
    let models = r#"[models]
good = "scripted:script.toml"
lost = "scripted:nowhere.toml"
bad = "scripted:broken.toml"
odd = "gopher:tiny"
"#;
    desk.write("rustagents.toml", models);
    let said = doctor(&desk, &[]);
    assert_check(&said, "model good", "ok", "script.toml` can be read");
    assert_check(&said, "model lost", "error", "nowhere.toml` cannot be read");
    assert_check(&said, "model bad", "error", "broken.toml");
    assert_check(&said, "model odd", "error", "`gopher:tiny` is not a model");
    assert!(check(&said, "model odd").1.contains("rustagents.toml:5:7"));
}

// Models behind HTTP.

#[test]
fn a_server_that_has_the_model_is_reachable_and_gets_the_key() {
    let desk = Desk::new();
    let (url, seen) = serve(Some(document(
        "200 OK",
        "application/json",
        r#"{"data":[{"id":"tiny"}]}"#,
    )));
    config(&desk, &url);
    let said = doctor(&desk, &[]);
    assert_check(&said, "model default key", "ok", "`OPENAI_API_KEY` is set");
    let words = format!("`{url}` answers, and has `tiny`");
    assert_check(&said, "model default", "ok", &words);
    let head = seen.recv().unwrap();
    assert!(head.starts_with("GET /v1/models "), "{head}");
    assert!(head.contains(KEY), "the server gets the key");
    assert!(seen.try_recv().is_err(), "it is asked once");
}

#[test]
fn a_model_that_is_not_listed_is_a_warning_with_those_that_are() {
    let desk = Desk::new();
    for (body, words) in [
        (r#"{"data":[{"id":"a"},{"id":"b"}]}"#, "it lists `a`, `b`"),
        (r#"{"data":[]}"#, "it lists no models"),
    ] {
        let (url, _seen) = serve(Some(document("200 OK", "application/json", body)));
        config(&desk, &url);
        let said = doctor(&desk, &[]);
        assert_check(&said, "model default", "warning", "does not list `tiny`");
        assert!(check(&said, "model default").2.contains(words), "{said:?}");
    }
}

#[test]
fn a_refused_key_is_an_error_that_does_not_show_it() {
    let desk = Desk::new();
    let body = format!(r#"{{"error":{{"message":"bad key {KEY}"}}}}"#);
    for status in ["401 Unauthorized", "403 Forbidden"] {
        let (url, _seen) = serve(Some(document(status, "application/json", &body)));
        config(&desk, &url);
        let said = doctor(&desk, &[]);
        let words = "refuses the key in `OPENAI_API_KEY`: status 40";
        assert_check(&said, "model default", "error", words);
    }
}

#[test]
fn a_server_that_wants_a_key_is_told_apart_from_one_that_refuses_it() {
    let desk = Desk::new();
    let (url, _seen) = serve(Some(document(
        "401 Unauthorized",
        "text/plain",
        "who are you",
    )));
    config(&desk, &url);
    let mut command = desk.command(&["doctor", "--json"]);
    let said = Said::of(command.env_remove("OPENAI_API_KEY").output().unwrap());
    assert_check(&said, "model default key", "ok", "is not set");
    assert_check(
        &said,
        "model default",
        "error",
        "wants a key: status 401: who are you",
    );
}

#[test]
fn a_server_that_stands_in_for_the_vendors_own_may_need_no_key() {
    let desk = Desk::new();
    desk.write("rustagents.toml", "[models]\ndefault = \"openai:tiny\"\n");
    let body = r#"{"data":[{"id":"tiny"}]}"#;
    let (url, _seen) = serve(Some(document("200 OK", "application/json", body)));
    let mut command = desk.command(&["doctor", "--json"]);
    command
        .env_remove("OPENAI_API_KEY")
        .env("OPENAI_BASE_URL", &url);
    let said = Said::of(command.output().unwrap());
    assert_check(
        &said,
        "model default key",
        "ok",
        "`OPENAI_API_KEY` is not set",
    );
    let words = format!("`{url}` answers, and has `tiny`");
    assert_check(&said, "model default", "ok", &words);
}

#[test]
fn a_page_instead_of_a_list_is_told_plainly() {
    let desk = Desk::new();
    let page = "<html><head><title>It works!</title></head></html>";
    let (url, _seen) = serve(Some(document("200 OK", "text/html", page)));
    config(&desk, &url);
    let said = doctor(&desk, &[]);
    let words = "answers, and lists no models: status 200: It works!";
    assert_check(&said, "model default", "warning", words);
    assert!(check(&said, "model default").2.contains("`/v1`"));
}

#[test]
fn a_server_that_does_not_work_is_told_plainly() {
    let desk = Desk::new();
    let body = r#"{"error":{"message":"Loading model"}}"#;
    let (url, _seen) = serve(Some(document(
        "503 Service Unavailable",
        "application/json",
        body,
    )));
    config(&desk, &url);
    let said = doctor(&desk, &[]);
    let words = "answers, and does not work: status 503: Loading model";
    assert_check(&said, "model default", "error", words);
}

#[test]
fn a_refused_connection_is_not_reachable() {
    let desk = Desk::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    config(
        &desk,
        &format!("http://{}/v1", listener.local_addr().unwrap()),
    );
    drop(listener);
    let said = doctor(&desk, &[]);
    assert_check(
        &said,
        "model default",
        "error",
        "is not reachable: cannot connect",
    );
}

#[test]
fn slow_servers_are_waited_for_side_by_side_and_not_for_long() {
    let desk = Desk::new();
    let (url, _seen) = serve(None);
    let models = (0..8).map(|number| format!("m{number} = \"openai-compatible:tiny@{url}\""));
    let models = models.collect::<Vec<_>>().join("\n");
    desk.write("rustagents.toml", format!("[models]\n{models}\n"));
    let begun = Instant::now();
    let said = doctor(&desk, &[]);
    // One after the other they would take 24 seconds.
    assert!(begun.elapsed() < Duration::from_secs(20));
    for number in 0..8 {
        let name = format!("model m{number}");
        assert_check(
            &said,
            &name,
            "error",
            "is not reachable: no answer after 3s",
        );
    }
}

#[test]
fn the_user_of_an_address_is_never_shown() {
    let desk = Desk::new();
    let models = r#"[models]
a = "openai-compatible:tiny@http://name:hunter2pass@127.0.0.1/v1"
b = "gopher:tiny@http://name:hunter2pass@127.0.0.1/v1"
c = "openai-compatible:tiny@ftp://name:hunter2/p@ass@127.0.0.1/v1"
"#;
    desk.write("rustagents.toml", models);
    let said = doctor(
        &desk,
        &["--store", "postgres://name:hunter2pass@127.0.0.1/db"],
    );
    assert!(!said.stdout.contains("hunter2"), "{said:?}");
    for name in ["model a", "model b", "model c", "store"] {
        assert_eq!(check(&said, name).0, "error", "{said:?}");
    }
    let words = "`postgres://***@127.0.0.1/db` is not a store's address";
    assert_check(&said, "store", "error", words);
}

// The store.

#[test]
fn a_store_is_told_with_its_threads_and_stays_as_it_is() {
    let desk = Desk::new();
    desk.run_refund();
    for name in ["one", "two"] {
        let said = desk.rag(&["run", ".", "--thread", name, "--input", "hello"]);
        assert_eq!(said.status, Some(0), "{said:?}");
    }
    let before = desk.files();
    let said = doctor(&desk, &[]);
    assert_check(
        &said,
        "store",
        "ok",
        "has tables of version 5, and no damage",
    );
    assert_check(
        &said,
        "store folder",
        "ok",
        "`.rustagents` can be written to",
    );
    assert_check(
        &said,
        "threads",
        "ok",
        "3 threads: 2 completed, 1 suspended",
    );
    assert_check(&said, "data orders", "ok", "orders.db` is there");
    assert!(desk.files() == before);
    let said = doctor(&desk, &["--store", "memory:"]);
    assert_check(&said, "store", "ok", "in memory");
}

#[test]
fn a_thread_that_cannot_be_read_is_named_and_the_others_are_read() {
    let desk = Desk::new();
    desk.run_refund();
    for name in ["a", "z"] {
        desk.rag(&["run", ".", "--thread", name, "--input", REFUND]);
    }
    let journal = rusqlite::Connection::open(desk.path().join(".rustagents/journal.db")).unwrap();
    let damage = "UPDATE records SET sum = NULL, body = CAST('{' AS BLOB) WHERE kind = 'run.opened'
        AND chain IN (SELECT c.id FROM chains c JOIN threads t ON t.id = c.thread
                       WHERE t.name = 'demo')";
    assert_eq!(journal.execute(damage, []).unwrap(), 1);
    journal.close().unwrap();
    let before = desk.files();
    let said = doctor(&desk, &[]);
    assert_check(&said, "store", "ok", "no damage");
    assert_check(
        &said,
        "threads",
        "error",
        "3 threads: 2 suspended, 1 cannot be read",
    );
    assert_check(&said, "thread demo", "error", "(run.opened) cannot be read");
    assert!(desk.files() == before);
}

#[test]
fn a_file_of_something_else_is_no_store() {
    let desk = Desk::new();
    desk.write(
        "note.txt",
        "a note that is longer than a database's header ".repeat(9),
    );
    let other = rusqlite::Connection::open(desk.path().join("other.db")).unwrap();
    other.execute_batch("CREATE TABLE t(x)").unwrap();
    other.close().unwrap();
    let before = desk.files();
    for (file, words) in [
        ("note.txt", "not an SQLite database"),
        ("other.db", "belongs to another program"),
    ] {
        let said = doctor(&desk, &["--store", &format!("sqlite:{file}")]);
        assert_check(&said, "store", "error", words);
    }
    let below = doctor(&desk, &["--store", "sqlite:note.txt/journal.db"]);
    assert_check(&below, "store", "error", "journal.db");
    assert_check(&below, "store folder", "error", "cannot be written to");
    assert!(desk.files() == before);
}

#[test]
fn a_damaged_store_is_an_error() {
    let desk = Desk::new();
    desk.run_refund();
    let file = desk.path().join(".rustagents/journal.db");
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    damaged[4096..].fill(0xa5);
    fs::write(&file, damaged).unwrap();
    let said = doctor(&desk, &[]);
    assert_eq!(check(&said, "store").0, "error", "{said:?}");
    assert_eq!(check(&said, "threads").0, "error", "{said:?}");

    let mut newer = whole;
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(&file, newer).unwrap();
    let said = doctor(&desk, &[]);
    assert_check(&said, "store", "error", "format 99");
}

#[test]
fn an_unfinished_run_is_no_error() {
    let mut desk = Desk::new();
    desk.set_fault(Some("after:2".into()));
    desk.rag(&["run", ".", "--thread", "demo", "--input", "hello"]);
    desk.set_fault(None);
    let said = doctor(&desk, &[]);
    assert_check(&said, "threads", "ok", "1 thread: 1 unfinished");
    let object: Value = said.json();
    assert_eq!(object["ok"], true);
}
