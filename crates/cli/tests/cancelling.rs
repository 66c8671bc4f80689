//! `rag cancel`: what a run leaves behind that was given up.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{
    bench::{Desk, REFUND, Said, approvals},
    processes::{inside_the_tool, inside_the_tool_on, slow_desk},
};

fn cancel(desk: &Desk) -> Said {
    desk.rag(&["cancel", "demo", "--json"])
}

fn refunded(desk: &Desk) -> bool {
    desk.order("A-1042", "status").as_deref() != Some("paid")
}

#[test]
fn a_waiting_run_is_closed_and_its_questions_are_void() {
    let desk = Desk::new();
    let waiting = desk.run_refund();
    let said = cancel(&desk);
    assert_eq!(said.status, Some(0), "{said:?}");
    assert_eq!(said.json()["status"], "cancelled");
    assert_eq!(said.json()["interrupts"], json!([]));
    assert_eq!(said.json()["usage"], waiting.json()["usage"]);

    let late = desk.resume(&approvals(&waiting));
    assert_eq!((late.status, &*late.code()), (Some(2), "RAG0402"));
    let told = desk.resume(&[]);
    assert_eq!(told.status, Some(1), "it can not be resumed: {told:?}");
    assert_eq!(told.json()["status"], "cancelled");
    assert!(!refunded(&desk));
}

#[test]
fn a_cancelled_thread_takes_a_new_input() {
    let desk = Desk::new();
    desk.run_refund();
    cancel(&desk);
    let again = desk.run_refund();
    assert_eq!(again.status, Some(3), "{again:?}");
    let done = desk.resume(&approvals(&again));
    assert_eq!(done.status, Some(0), "{done:?}");
    assert!(refunded(&desk));
}

#[test]
fn a_run_that_ended_stays_as_it_is() {
    let desk = Desk::new();
    let waiting = desk.run_refund();
    desk.resume(&approvals(&waiting));
    let count = || desk.journal("SELECT count(*) FROM records");
    let before = count();
    let said = cancel(&desk);
    assert_eq!(said.status, Some(0), "{said:?}");
    assert_eq!(said.json()["status"], "completed");
    let told = desk.rag(&["cancel", "demo"]);
    assert_eq!(told.stderr, "thread demo had ended before: completed\n");
    assert_eq!(count(), before);
}

#[test]
fn a_run_without_a_driver_is_closed() {
    let mut desk = Desk::new();
    desk.set_fault(Some("before:4".into()));
    assert_eq!(desk.run_refund().status, None);
    desk.set_fault(None);
    let told = desk.rag(&["cancel", "demo"]);
    assert_eq!(
        (told.status, &*told.stderr),
        (Some(0), "thread demo is cancelled\n")
    );
    assert_eq!(desk.resume(&[]).status, Some(1));
}

#[test]
fn an_unknown_thread_is_a_mistake_and_makes_no_store() {
    let desk = Desk::new();
    let before = desk.files();
    let said = cancel(&desk);
    assert_eq!((said.status, &*said.code()), (Some(2), "RAG0401"));
    assert!(desk.files() == before);
}

/// The story up to the write at which the approved refund is cut off.
fn cut_off_at(write: usize) -> Desk {
    let mut desk = Desk::new();
    let waiting = desk.run_refund();
    desk.set_fault(Some(format!("before:{write}")));
    desk.resume(&approvals(&waiting));
    desk.set_fault(None);
    desk
}

#[test]
fn a_call_in_doubt_is_settled_before_its_run_is_given_up() {
    let doubted: Vec<_> = (1..12)
        .map(cut_off_at)
        .filter(|desk| cancel(desk).status == Some(3))
        .collect();
    assert!(!doubted.is_empty(), "no write leaves a call in doubt");
    for desk in doubted {
        let records = || desk.journal("SELECT count(*) FROM records WHERE kind = 'run.closed'");
        let said = cancel(&desk);
        assert_eq!(said.code(), "RAG0412", "{said:?}");
        let object = said.json();
        assert_eq!(
            (&object["status"], &object["thread"]),
            (&"suspended".into(), &"demo".into())
        );
        assert_eq!(records(), ["0"]);

        let asked = desk.resume(&[]);
        let ask = asked.interrupts().remove(0);
        assert_eq!(ask["kind"], "in_doubt", "{asked:?}");
        assert_eq!(cancel(&desk).code(), "RAG0412");
        assert_eq!(records(), ["0"]);
    }
}

/// The stores that two processes can share.
const STORES: [&[&str]; 2] = [&[], &["--store", "file:threads"]];

fn rag_on(desk: &Desk, store: &[&str], arguments: &[&str]) -> Said {
    desk.rag(&[arguments, store].concat())
}

/// How many records of `kind` the store has.
fn count(desk: &Desk, store: &[&str], kind: &str) -> Value {
    let stats = rag_on(desk, store, &["threads", "stats", "demo", "--json"]);
    stats.json()["kinds"][kind].clone()
}

#[test]
fn a_run_that_another_process_drives_is_closed_by_that_process() {
    for store in STORES {
        let desk = slow_desk("10m");
        let child = inside_the_tool_on(&desk, store);
        let asked = ["cancel", "demo", "--reason", "the customer called"];
        let said = rag_on(&desk, store, &asked);
        assert_eq!(
            (said.status, &*said.stderr),
            (Some(0), "thread demo is cancelled\n"),
            "{said:?}"
        );
        let driver = Said::of(child.wait_with_output().unwrap());
        assert_eq!(driver.status, Some(1), "{driver:?}");
        assert_eq!(driver.json()["status"], "cancelled");
        let again = rag_on(&desk, store, &["resume", "demo", "--json"]);
        assert_eq!(again.json()["status"], "cancelled", "it is over");
        assert_eq!(count(&desk, store, "run.closed"), 1);
    }
}

#[test]
fn a_request_that_the_driver_cannot_read_stands_and_the_next_resume_heeds_it() {
    for store in STORES {
        let desk = slow_desk("10m");
        let mut child = inside_the_tool_on(&desk, store);
        let pid = Pid::from_child(&child);
        kill_process(pid, Signal::STOP).unwrap();
        let said = rag_on(&desk, store, &["cancel", "demo", "--json", "--wait", "0"]);
        assert_eq!((said.status, &*said.code()), (Some(5), "RAG0305"));
        let hint = said.json()["error"]["hint"].as_str().unwrap().to_owned();
        assert!(hint.starts_with("the request stands"), "{hint}");
        child.kill().unwrap();
        child.wait().unwrap();
        // It asks for the plan, and yet nothing of it runs.
        let said = rag_on(&desk, store, &["resume", "demo", "--json"]);
        assert_eq!(said.status, Some(1), "{said:?}");
        assert_eq!(said.json()["status"], "cancelled");
        assert!(count(&desk, store, "run.attempt").is_null());
        desk.edit("rustagents.toml", "4000000000", "10");
        let new = ["run", ".", "--thread", "demo", "--input", "x"];
        let said = rag_on(&desk, store, &new);
        assert_eq!(said.status, Some(0), "it takes a new input: {said:?}");
    }
}

#[test]
fn a_driver_that_is_killed_is_not_waited_for() {
    let desk = slow_desk("10m");
    let mut child = inside_the_tool(&desk);
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    let other = desk.spawn(&["cancel", "demo", "--json"]);
    let asked = || desk.journal("SELECT count(*) FROM records WHERE kind = 'run.cancel'");
    while asked() == ["0"] {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let said = Said::of(other.wait_with_output().unwrap());
    assert_eq!(said.status, Some(0), "{said:?}");
    assert_eq!(said.json()["status"], "cancelled");
    assert!(!said.stdout.contains(REFUND));
}

#[test]
fn a_second_request_says_that_it_is_not_the_first() {
    let desk = slow_desk("10m");
    let mut child = inside_the_tool(&desk);
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    let ask = || desk.spawn(&["cancel", "demo", "--json", "--wait", "0"]);
    let first = ask();
    let process = first.id().to_string();
    assert_eq!(first.wait_with_output().unwrap().status.code(), Some(5));
    let said = Said::of(ask().wait_with_output().unwrap());
    assert_eq!(said.status, Some(5));
    let message = said.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains(&process), "{message}");
    let asked = || desk.journal("SELECT count(*) FROM records WHERE kind = 'run.cancel'");
    assert_eq!(asked(), ["1"]);
    child.kill().unwrap();
    child.wait().unwrap();
}
