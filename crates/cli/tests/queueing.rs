//! `rag run --on-busy`: inputs that wait for their thread.

use std::process::Child;

use serde_json::Value;

use crate::{
    bench::{Desk, REFUND, Said, approvals},
    processes::{inside_the_tool_on, slow_desk},
};

const STORES: [&[&str]; 2] = [&[], &["--store", "file:threads"]];

fn arguments<'a>(busy: &'a str, input: &'a str, store: &[&'a str]) -> Vec<&'a str> {
    let run = ["run", ".", "--thread", "demo", "--json", "--on-busy", busy];
    [&run[..], &["--input", input], store].concat()
}

/// What `rag threads show` tells.
fn shown(desk: &Desk, store: &[&str]) -> Value {
    let show = [&["threads", "show", "demo", "--json"], store].concat();
    desk.rag(&show).json()
}

fn waiting(desk: &Desk, store: &[&str]) -> Vec<String> {
    let shown = shown(desk, store);
    let queue = shown["queue"].as_array().unwrap();
    let inputs = queue.iter().map(|item| item["input"].as_str().unwrap());
    inputs.map(str::to_owned).collect()
}

fn opened(desk: &Desk) -> Vec<String> {
    desk.journal("SELECT count(*) FROM records WHERE kind = 'run.opened'")
}

/// Starts a process whose input waits, and waits until it is recorded.
fn queued(desk: &Desk, busy: &str, input: &str, store: &[&str]) -> Child {
    let before = waiting(desk, store).len();
    let child = desk.spawn(&arguments(busy, input, store));
    while waiting(desk, store).len() == before {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child
}

#[test]
fn an_input_waits_for_the_process_that_drives_the_thread() {
    for store in STORES {
        let desk = slow_desk("3s");
        let driver = inside_the_tool_on(&desk, store);
        desk.edit("rustagents.toml", "4000000000", "10");
        let first = queued(&desk, "enqueue", "one", store);
        let second = queued(&desk, "enqueue", "two", store);
        assert_eq!(waiting(&desk, store), ["one", "two"]);
        driver.wait_with_output().unwrap();
        for child in [first, second] {
            let said = Said::of(child.wait_with_output().unwrap());
            assert_eq!(said.status, Some(0), "{said:?}");
            assert_eq!(said.json()["status"], "completed");
        }
        assert_eq!(waiting(&desk, store), [""; 0]);
        let stats = ["threads", "stats", "demo", "--json"];
        let stats = desk.rag(&[&stats[..], store].concat()).json();
        assert_eq!(stats["kinds"]["run.opened"], 3);
        assert_eq!(stats["kinds"]["inbox.taken"], 2);
        let whole = desk.rag(&[&["doctor", "--full"], store].concat());
        assert_eq!(whole.status, Some(0), "{whole:?}");
    }
}

#[test]
fn an_input_behind_questions_is_told_and_the_last_resume_goes_on_with_it() {
    let desk = Desk::new();
    let first = desk.run_refund();
    let said = desk.rag(&arguments("enqueue", "Please refund B-2002", &[]));
    assert_eq!(said.status, Some(3), "{said:?}");
    assert_eq!(said.interrupts(), first.interrupts());
    let queue = shown(&desk, &[])["queue"].clone();
    assert_eq!(said.json()["queued"], queue[0]["id"]);
    assert!(said.json()["queued"].is_string(), "{said:?}");
    assert!(
        first.json().get("queued").is_none(),
        "nothing waits behind it"
    );
    assert_eq!(opened(&desk), ["1"]);
    let mut told = arguments("enqueue", "Thanks", &[]);
    told.retain(|word| *word != "--json");
    let told = desk.rag(&told);
    assert_eq!(told.status, Some(3), "{told:?}");
    assert!(told.stderr.contains("in the queue"), "{told:?}");
    let show = desk.rag(&["threads", "show", "demo"]);
    let lines = show
        .stdout
        .lines()
        .filter(|line| line.starts_with("queued"));
    assert_eq!(lines.count(), 2, "{show:?}");
    let done = desk.resume(&approvals(&first));
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(done.json()["status"], "completed");
    let inputs = "SELECT json_extract(body, '$.queued') IS NOT NULL FROM records \
                  WHERE kind = 'run.opened' ORDER BY id";
    assert_eq!(desk.journal(inputs), ["0", "1", "1"]);
    assert_eq!(waiting(&desk, &[]), [""; 0]);
}

#[test]
fn an_interrupt_gives_up_what_waits_and_goes_before_the_queue() {
    let desk = Desk::new();
    desk.run_refund();
    desk.rag(&arguments("enqueue", "Thanks", &[]));
    let said = desk.rag(&arguments("interrupt", "Please refund B-2002", &[]));
    assert_eq!(said.status, Some(0), "{said:?}");
    assert!(said.json()["output"].as_str().unwrap().contains("B-2002"));
    assert_eq!(waiting(&desk, &[]), ["Thanks"]);
    assert_ne!(desk.order("A-1042", "status").as_deref(), Some("refunded"));
    // A thread that is over goes on with what waits.
    let rest = desk.resume(&[]);
    assert_eq!(rest.status, Some(0), "{rest:?}");
    assert_eq!(waiting(&desk, &[]), [""; 0]);
    assert_eq!(opened(&desk), ["3"]);
}

#[test]
fn an_interrupt_stops_a_run_that_another_process_drives() {
    let desk = slow_desk("10m");
    let driver = inside_the_tool_on(&desk, &[]);
    desk.edit("rustagents.toml", "4000000000", "10");
    let said = desk.rag(&arguments("interrupt", "quick", &[]));
    assert_eq!(said.status, Some(0), "{said:?}");
    let driver = Said::of(driver.wait_with_output().unwrap());
    assert_eq!(driver.json()["status"], "cancelled");
}

#[test]
fn a_rollback_leaves_nothing_of_the_given_up_input_in_the_conversation() {
    let desk = Desk::new();
    let said = desk.rag(&arguments("rollback", "Please refund B-2002", &[]));
    assert_eq!(said.status, Some(0), "nothing to roll back: {said:?}");
    let messages = |desk: &Desk| {
        let state = desk.rag(&["threads", "show", "demo", "--state", "--json"]);
        state.json()["state"]["messages"].clone()
    };
    let before = messages(&desk);
    desk.run_refund();
    let said = desk.rag(&arguments("rollback", "Thanks", &[]));
    assert_eq!(said.status, Some(0), "{said:?}");
    let after = messages(&desk);
    let kept = before.as_array().unwrap();
    assert_eq!(after.as_array().unwrap()[..kept.len()], kept[..]);
    assert!(!after.to_string().contains(REFUND), "{after}");
    let whole = desk.rag(&["doctor", "--full"]);
    assert_eq!(whole.status, Some(0), "{whole:?}");
}

#[test]
fn the_first_input_of_a_thread_is_rolled_back_too() {
    for store in STORES {
        let desk = Desk::new();
        let rag = |arguments: &[&str]| desk.rag(&[arguments, store].concat());
        let first = rag(&["run", ".", "--thread", "demo", "--input", REFUND]);
        assert_eq!(first.status, Some(3), "{first:?}");
        let said = desk.rag(&arguments("rollback", "Thanks", store));
        assert_eq!(said.status, Some(0), "{said:?}");
        let state = rag(&["threads", "show", "demo", "--state", "--json"]).json();
        assert!(!state.to_string().contains(REFUND), "{state}");
        let history = rag(&["threads", "history", "demo"]);
        assert!(history.stdout.contains("back to @0"), "{history:?}");
        let whole = rag(&["doctor", "--full"]);
        assert_eq!(whole.status, Some(0), "{whole:?}");
    }
}

#[test]
fn an_input_behind_a_run_that_crashed_is_named_beside_the_error() {
    let desk = slow_desk("10m");
    let mut driver = inside_the_tool_on(&desk, &[]);
    driver.kill().unwrap();
    driver.wait().unwrap();
    let said = desk.rag(&arguments("enqueue", "later", &[]));
    assert_eq!(said.status, Some(2), "{said:?}");
    let told = said.json();
    assert_eq!(told["error"]["code"], "RAG0408", "{told}");
    assert_eq!(told["queued"], shown(&desk, &[])["queue"][0]["id"]);
    assert!(told["queued"].is_string(), "{told}");
}

#[test]
fn who_waits_may_leave_and_the_input_stays() {
    let desk = slow_desk("10m");
    let mut driver = inside_the_tool_on(&desk, &[]);
    let child = queued(&desk, "enqueue", "later", &[]);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.status, Some(130), "{said:?}");
    assert_eq!(said.json()["schema"], "rag.queued/1");
    assert_eq!(waiting(&desk, &[]), ["later"]);
    driver.kill().unwrap();
    driver.wait().unwrap();
    let cancelled = desk.rag(&["cancel", "demo"]);
    assert!(cancelled.stderr.contains("1 input"), "{cancelled:?}");
    let id = shown(&desk, &[])["queue"][0]["id"].clone();
    let withdraw = ["cancel", "demo", "--queued", id.as_str().unwrap()];
    assert_eq!(desk.rag(&withdraw).status, Some(0));
    assert_eq!(desk.rag(&withdraw).status, Some(2));
    assert_eq!(waiting(&desk, &[]), [""; 0]);
    assert_eq!(opened(&desk), ["1"]);
}

#[test]
fn a_plan_that_is_gone_stops_the_queue_and_says_how_to_go_on() {
    let desk = Desk::new();
    let first = desk.run_refund();
    std::fs::copy(
        desk.path().join("support.rag"),
        desk.path().join("other.rag"),
    )
    .unwrap();
    let enqueue = [
        "run",
        "other.rag",
        "--thread",
        "demo",
        "--on-busy",
        "enqueue",
    ];
    let said = desk.rag(&[&enqueue[..], &["--input", "Thanks"]].concat());
    assert_eq!(said.status, Some(3), "{said:?}");
    std::fs::remove_file(desk.path().join("other.rag")).unwrap();
    let mut resume = vec!["resume".to_owned(), "demo".to_owned()];
    resume.extend(approvals(&first));
    let resume: Vec<_> = resume.iter().map(String::as_str).collect();
    let done = desk.rag(&resume);
    assert_eq!(done.status, Some(0), "its own run is told: {done:?}");
    assert!(done.stdout.contains("129"), "{done:?}");
    let id = shown(&desk, &[])["queue"][0]["id"].clone();
    let way = format!("rag cancel demo --queued {}", id.as_str().unwrap());
    assert!(done.stderr.contains(&way), "{done:?}");
}

/// A run that waits, and an input behind it, up to the end, with a process that is
/// killed at a write of the enqueueing or of the resume.
fn played(fault: &str, in_the_resume: bool) -> (bool, Desk) {
    let mut desk = Desk::new();
    let first = desk.run_refund();
    let enqueue = arguments("enqueue", "Please refund B-2002", &[]);
    desk.set_fault((!in_the_resume).then(|| fault.to_owned()));
    let mut killed = desk.rag(&enqueue).status.is_none();
    desk.set_fault(None);
    if waiting(&desk, &[]).is_empty() {
        desk.rag(&enqueue);
    }
    desk.set_fault(in_the_resume.then(|| fault.to_owned()));
    let mut said = desk.resume(&approvals(&first));
    killed |= said.status.is_none();
    desk.set_fault(None);
    for _ in 0..10 {
        if said.status == Some(0) {
            return (killed, desk);
        }
        let options = match said.status {
            Some(3) => settle(&desk, &said),
            _ => Vec::new(),
        };
        said = desk.resume(&options);
    }
    panic!("no end after ten processes: {said:?}");
}

/// What a person says to what is asked.
fn settle(desk: &Desk, said: &Said) -> Vec<String> {
    let asks = said.interrupts();
    let Some(ask) = asks.iter().find(|ask| ask["kind"] == "in_doubt") else {
        return approvals(said);
    };
    let call = ask["call"].as_str().unwrap();
    let (column, value) = match ask["tool"].as_str() {
        Some("refund") => ("status", "refunded"),
        _ => ("claim", "open"),
    };
    if desk.order("A-1042", column).as_deref() == Some(value) {
        let row = r#"{"rows":[{"id":"A-1042","status":"refunded","paid_cents":12900}]}"#;
        return vec!["--done".into(), format!("{call}={row}")];
    }
    vec!["--repeat".into(), call.into()]
}

#[test]
fn an_input_is_opened_once_wherever_a_process_is_killed() {
    for in_the_resume in [false, true] {
        let mut write = 0;
        loop {
            write += 1;
            let (mut killed, sides) = (false, ["before", "after"]);
            for side in sides {
                let fault = format!("{side}:{write}");
                let (was_killed, desk) = played(&fault, in_the_resume);
                killed |= was_killed;
                assert_eq!(opened(&desk), ["2"], "{fault} {in_the_resume}");
                assert_eq!(waiting(&desk, &[]), [""; 0], "{fault}");
                let taken = "SELECT count(*) FROM records WHERE kind = 'inbox.taken'";
                assert_eq!(desk.journal(taken), ["1"], "{fault}");
                assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));
            }
            if !killed {
                break;
            }
        }
        let least = if in_the_resume { 10 } else { 1 };
        assert!(write > least, "{write} writes");
    }
}
