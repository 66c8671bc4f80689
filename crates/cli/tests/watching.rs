//! Watching a run, and looking at threads.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;

use crate::bench::{Desk, REFUND, Said, approvals};

fn lines(stdout: &str) -> Vec<Value> {
    stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The first cells of the table in the page.
fn documented() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/events.md");
    let page = fs::read_to_string(path).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned())
        .collect()
}

#[test]
fn events_are_lines_as_they_happen_and_the_object_is_the_last() {
    let desk = Desk::new();
    let first = desk.rag(&[
        "run", ".", "--thread", "demo", "--input", REFUND, "--events",
    ]);
    assert_eq!((first.status, first.stderr.as_str()), (Some(3), ""));
    let mut seen = lines(&first.stdout);
    let last = seen.pop().unwrap();
    assert_eq!(
        (&last["schema"], &last["status"]),
        (&"rag.run/1".into(), &"suspended".into())
    );
    assert_eq!(last["interrupts"].as_array().unwrap().len(), 2);
    assert_eq!(seen[0]["event"], "run.started");
    assert_eq!(seen[0]["thread"], "demo");

    let waiting = desk.resume(&[]);
    let mut options = vec!["resume".to_owned(), "demo".into(), "--events".into()];
    options.extend(approvals(&waiting));
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    let second = desk.rag(&options);
    assert_eq!(second.status, Some(0));
    let mut more = lines(&second.stdout);
    assert_eq!(more.pop().unwrap()["status"], "completed");
    assert_eq!(more[0]["attempt"], 2);
    seen.extend(more);

    let names: BTreeSet<_> = seen
        .iter()
        .map(|event| event["event"].as_str().unwrap().to_owned())
        .collect();
    let documented = documented();
    assert!(
        names.is_subset(&documented),
        "{names:?} beside {documented:?}"
    );
    assert!(names.len() >= 12, "{names:?}");
    assert!(seen.iter().all(|event| event["schema"] == "rag.event/1"));
    let words = seen.iter().filter(|event| event["event"] == "text.delta");
    let said: String = words
        .filter(|event| event["task"] == "reply:3.0")
        .map(|event| event["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        said,
        "129.0 € are on their way. A claim with the carrier is open."
    );
}

#[test]
fn each_dispatched_call_has_one_end_and_each_started_node_too() {
    let desk = Desk::new();
    let said = desk.rag(&[
        "run", ".", "--thread", "demo", "--input", REFUND, "--events",
    ]);
    let events = lines(&said.stdout);
    let count = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert_eq!(count("tool.dispatched"), 2);
    assert_eq!(count("tool.completed"), 2);
    assert_eq!(
        count("node.started"),
        count("node.completed") + count("node.suspended")
    );
    let ends = count("step.completed") + count("step.suspended") + count("agent.completed");
    assert_eq!(count("step.started"), ends);
}

#[test]
fn threads_are_listed_shown_and_told_step_by_step_and_nothing_is_written() {
    let desk = Desk::new();
    let none = desk.rag(&["threads", "--json"]);
    assert_eq!(
        none.json(),
        serde_json::json!({ "schema": "rag.threads/1", "threads": [] })
    );
    assert!(!desk.path().join(".rustagents").exists());
    desk.run_refund();
    let done = desk.rag(&["run", ".", "--thread", "done", "--input", "hello", "--json"]);
    let before = desk.journal("SELECT count(*), max(epoch) FROM records");

    let list = desk.rag(&["threads", "list", "--json"]).json();
    let rows = list["threads"].as_array().unwrap();
    let row = |index: usize, field: &str| rows[index][field].clone();
    assert_eq!(
        (row(0, "thread"), row(0, "status")),
        ("demo".into(), "suspended".into())
    );
    assert_eq!((row(0, "pending"), row(1, "pending")), (2.into(), 0.into()));
    assert_eq!(
        (row(1, "thread"), row(1, "status")),
        ("done".into(), "completed".into())
    );
    assert!(row(0, "target").as_str().unwrap().ends_with("support.rag"));
    assert!(row(0, "updated_at").as_u64().unwrap() > 1_600_000_000_000);
    let page = desk
        .rag(&[
            "threads", "list", "--after", "demo", "--limit", "5", "--json",
        ])
        .json();
    assert_eq!(page["threads"].as_array().unwrap().len(), 1);

    let show = desk.rag(&["threads", "show", "demo", "--json"]).json();
    assert_eq!(
        (&show["schema"], &show["status"]),
        (&"rag.thread/1".into(), &"suspended".into())
    );
    assert_eq!(show["interrupts"].as_array().unwrap().len(), 2);
    let show = desk.rag(&["threads", "show", "done", "--json"]).json();
    assert_eq!(show["output"], done.json()["output"]);
    assert_eq!(show["usage"], done.json()["usage"]);

    let history = desk.rag(&["threads", "history", "done", "--json"]).json();
    let steps = history["checkpoints"].as_array().unwrap();
    let done: Vec<_> = steps.iter().map(|step| step["done"].clone()).collect();
    assert_eq!(
        done,
        [
            serde_json::json!([]),
            serde_json::json!(["triage"]),
            serde_json::json!(["reply"])
        ]
    );
    assert_eq!(steps[2]["checkpoint"], "done@3");
    assert_eq!(steps[1]["changed"], serde_json::json!(["topic"]));

    let person = desk.rag(&["threads"]);
    assert!(
        person.stdout.contains("demo  suspended"),
        "{}",
        person.stdout
    );
    assert!(
        person.stdout.contains("waits for 2 answers"),
        "{}",
        person.stdout
    );
    let person = desk.rag(&["threads", "show", "demo"]);
    assert!(
        person.stdout.contains("resume demo --approve"),
        "{}",
        person.stdout
    );
    let person = desk.rag(&["threads", "history", "demo"]);
    assert!(person.stdout.contains("triage"), "{}", person.stdout);
    assert_eq!(
        desk.journal("SELECT count(*), max(epoch) FROM records"),
        before
    );
}

#[test]
fn looking_at_a_thread_that_is_not_there_is_a_mistake() {
    let desk = Desk::new();
    for action in ["show", "history"] {
        let said = desk.rag(&["threads", action, "nobody", "--json"]);
        assert_eq!((said.status, said.code()), (Some(2), "RAG0401".into()));
    }
    assert!(!desk.path().join(".rustagents").exists());
}

#[test]
fn a_run_that_crashed_is_listed_as_unfinished() {
    let mut desk = Desk::new();
    desk.set_fault(Some("before:4".into()));
    assert_eq!(desk.run_refund().status, None);
    desk.set_fault(None);
    let list = desk.rag(&["threads", "--json"]).json();
    assert_eq!(list["threads"][0]["status"], "unfinished");
    let person = desk.rag(&["threads", "show", "demo"]);
    assert!(person.stdout.contains("resume demo"), "{}", person.stdout);
}

#[test]
fn a_pipe_gets_no_colours_however_a_thread_stands() {
    let desk = Desk::new();
    desk.run_refund();
    for color in ["auto", "never"] {
        let mut command = desk.command(&["threads", "show", "demo", "--color", color]);
        let said = Said::of(command.env_remove("NO_COLOR").output().unwrap());
        assert_eq!(said.status, Some(0), "{said:?}");
        assert!(said.stdout.contains("waits for 2 answers"), "{said:?}");
        assert!(!said.stdout.contains('\u{1b}'), "{said:?}");
    }
    let said = desk.rag(&["threads", "show", "demo", "--color", "always"]);
    assert!(said.stdout.contains('\u{1b}'), "{said:?}");
}
