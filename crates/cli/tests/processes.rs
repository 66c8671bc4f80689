//! Two processes and one thread; signals.

use std::{
    process::Child,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::bench::{Desk, Said};

const SLOW: &str = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 4000000000) SELECT max(x) AS x FROM n";

/// A desk whose agent sits inside a long tool call.
pub(crate) fn slow_desk(timeout: &str) -> Desk {
    let desk = Desk::new();
    desk.write(
        "support.rag",
        r#"graph slow {
  channel messages messages
  start wait
  node wait { kind agent  model "default"  prompt "Wait."  tools ["slow"]  next END }
}"#,
    );
    desk.write(
        "script.toml",
        r#"rule = [{ last = "user", call = "slow", arguments = "{}" }, { text = "done" }]"#,
    );
    desk.write(
        "rustagents.toml",
        format!(
            r#"[models]
default = "scripted:script.toml"
[data.orders]
seed = "orders.sql"
[tools.slow]
kind = "sql"
data = "orders"
description = "Count for a long time."
arguments = {{ type = "object", additionalProperties = false }}
sql = "{SLOW}"
timeout = "{timeout}"
"#
        ),
    );
    desk
}

/// Starts a run and waits until it is inside the tool.
pub(crate) fn inside_the_tool(desk: &Desk) -> Child {
    inside_the_tool_on(desk, &[])
}

/// The same with more options, such as another store.
pub(crate) fn inside_the_tool_on(desk: &Desk, options: &[&str]) -> Child {
    let mut arguments = vec!["run", ".", "--thread", "demo", "--input", "go", "--json"];
    arguments.extend(options);
    let child = desk.spawn(&arguments);
    let began = Instant::now();
    // The seeded data appears when the tool begins its work.
    while !desk.path().join(".rustagents/data/orders.db").exists() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "the tool never began"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn records(desk: &Desk) -> Vec<String> {
    desk.journal("SELECT count(*), (SELECT max(epoch) FROM threads) FROM records")
}

#[test]
fn a_second_process_is_kept_out_until_the_first_is_gone() {
    let desk = slow_desk("10m");
    let mut first = inside_the_tool(&desk);
    let before = records(&desk);
    for arguments in [
        &["resume", "demo", "--json"][..],
        &[
            "run", ".", "--thread", "demo", "--input", "me too", "--json",
        ],
        &["resume", "demo", "--json", "--approve", "c-1"],
    ] {
        let said = desk.rag(arguments);
        assert_eq!(
            (said.status, said.code()),
            (Some(5), "RAG0305".into()),
            "{said:?}"
        );
        let message = said.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(&first.id().to_string()), "{message}");
    }
    assert_eq!(
        records(&desk),
        before,
        "a process that is kept out writes nothing"
    );
    assert!(first.try_wait().unwrap().is_none(), "the first still works");

    first.kill().unwrap();
    first.wait().unwrap();
    // A faster statement is a compatible change: the pending call still fits.
    desk.edit("rustagents.toml", "4000000000", "10");
    let said = desk.rag(&["resume", "demo"]);
    assert_eq!(
        (said.status, said.stdout.trim()),
        (Some(0), "done"),
        "{said:?}"
    );
}

#[test]
fn a_new_input_does_not_replace_a_run_that_crashed() {
    let desk = slow_desk("10m");
    let mut first = inside_the_tool(&desk);
    first.kill().unwrap();
    first.wait().unwrap();
    let before = records(&desk);
    let said = desk.rag(&["run", ".", "--thread", "demo", "--input", "again", "--json"]);
    assert_eq!(
        (said.status, said.code()),
        (Some(2), "RAG0408".into()),
        "{said:?}"
    );
    let hint = said.json()["error"]["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("resume demo"), "{hint}");
    assert_eq!(records(&desk), before);
}

#[test]
fn other_threads_of_the_store_are_not_kept_out() {
    let desk = slow_desk("10m");
    let mut first = inside_the_tool(&desk);
    desk.edit("rustagents.toml", "4000000000", "10");
    let said = desk.rag(&["run", ".", "--thread", "other", "--input", "go"]);
    assert_eq!(said.status, Some(0), "{said:?}");
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn ctrl_c_stops_at_once_and_the_thread_can_be_resumed() {
    let desk = slow_desk("10m");
    let first = inside_the_tool(&desk);
    signal(&first, Signal::INT);
    let said = Said::of(first.wait_with_output().unwrap());
    assert_eq!(said.status, Some(130), "{said:?}");
    assert_eq!(said.json()["status"], "unfinished");
    let shown = desk.rag(&["threads", "show", "demo", "--json"]);
    assert_eq!(shown.json()["status"], "unfinished");
    desk.edit("rustagents.toml", "4000000000", "10");
    let said = desk.rag(&["resume", "demo"]);
    assert_eq!(
        (said.status, said.stdout.trim()),
        (Some(0), "done"),
        "{said:?}"
    );
}

#[test]
fn sigterm_stops_at_the_next_boundary_and_keeps_what_is_done() {
    let desk = slow_desk("1s");
    let first = inside_the_tool(&desk);
    signal(&first, Signal::TERM);
    let said = Said::of(first.wait_with_output().unwrap());
    assert_eq!(said.status, Some(143), "{said:?}");
    let results = "SELECT count(*) FROM records WHERE key LIKE 'call/%/result'";
    assert_eq!(
        desk.journal(results),
        ["1"],
        "the call that ran was finished and recorded"
    );
    let said = desk.rag(&["resume", "demo"]);
    assert_eq!(
        (said.status, said.stdout.trim()),
        (Some(0), "done"),
        "{said:?}"
    );
    assert_eq!(desk.journal(results), ["1"]);
}

#[test]
fn sigterm_does_not_wait_for_the_limit_of_a_call_that_is_made_again() {
    let desk = slow_desk("10m");
    let first = inside_the_tool(&desk);
    signal(&first, Signal::TERM);
    let said = Said::of(first.wait_with_output().unwrap());
    assert_eq!(said.status, Some(143), "{said:?}");
    assert_eq!(said.json()["status"], "unfinished");
    let shown = desk.rag(&["threads", "show", "demo", "--json"]);
    assert_eq!(shown.json()["status"], "unfinished");
    let results = "SELECT count(*) FROM records WHERE key LIKE 'call/%/result'";
    assert_eq!(desk.journal(results), ["0"]);
    desk.edit("rustagents.toml", "4000000000", "10");
    let said = desk.rag(&["resume", "demo"]);
    assert_eq!(
        (said.status, said.stdout.trim()),
        (Some(0), "done"),
        "{said:?}"
    );
}

#[test]
fn a_store_that_is_removed_under_a_run_is_told_and_not_made_again() {
    for (store, place) in [
        ("sqlite:kept/journal.db", "kept/journal.db"),
        ("file:kept/threads", "kept/threads"),
    ] {
        let desk = slow_desk("1s");
        let driver = inside_the_tool_on(&desk, &["--store", store]);
        std::fs::remove_dir_all(desk.path().join("kept")).unwrap();
        let said = Said::of(driver.wait_with_output().unwrap());
        assert_eq!(said.status, Some(1), "{said:?}");
        let error = said.json()["error"].clone();
        assert_eq!(error["code"], "RAG0301", "{said:?}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("removed or moved while"), "{message}");
        assert!(!desk.path().join(place).exists());
    }
}
