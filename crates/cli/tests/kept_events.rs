//! Events that are kept, and `rag events`.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{
    bench::{Desk, REFUND, Said, approvals},
    processes::slow_desk,
};

/// Both kinds of stores that keep something.
const STORES: [&str; 2] = ["sqlite:kept/desk.db", "file:kept/desk"];

fn lines(stdout: &str) -> Vec<Value> {
    let lines = stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The events among lines, as they were told: without their place, and without the
/// object at the end.
fn told(lines: Vec<Value>) -> Vec<Value> {
    let events = lines.into_iter().filter(|line| line["event"].is_string());
    let events = events.map(|mut event| {
        let fields = event.as_object_mut().unwrap();
        for place in ["offset", "run", "at"] {
            fields.remove(place);
        }
        event
    });
    events.collect()
}

fn without_text(lines: Vec<Value>) -> Vec<Value> {
    let mut events = told(lines);
    events.retain(|event| event["event"] != "text.delta");
    events
}

fn run(desk: &Desk, options: &[&str]) -> Said {
    let mut arguments = vec!["run", ".", "--thread", "demo", "--input", REFUND];
    arguments.extend(options);
    desk.rag(&arguments)
}

fn kept(desk: &Desk, options: &[&str]) -> Vec<Value> {
    let mut arguments = vec!["events", "demo", "--events"];
    arguments.extend(options);
    let said = desk.rag(&arguments);
    assert_eq!((said.status, &*said.stderr), (Some(0), ""), "{said:?}");
    lines(&said.stdout)
}

fn kinds(events: &[Value]) -> Vec<&str> {
    let events = events.iter();
    events
        .map(|event| event["event"].as_str().unwrap())
        .collect()
}

fn mistake(said: &Said, code: &str) {
    assert_eq!((said.status, said.code().as_str()), (Some(2), code));
}

#[test]
fn what_was_told_is_kept_beside_the_journal_and_printed_again() {
    for store in STORES {
        let desk = Desk::new();
        let of = ["--store", store];
        let first = run(&desk, &[&of[..], &["--events", "--keep-events"]].concat());
        assert_eq!(first.status, Some(3), "{first:?}");
        let mut heard = lines(&first.stdout);
        let waiting = desk.rag(&[&["resume", "demo", "--json"], &of[..]].concat());
        let mut options = vec!["resume".to_owned(), "demo".into(), "--events".into()];
        options.push("--keep-events=yes".into());
        options.extend(approvals(&waiting));
        options.extend(of.map(str::to_owned));
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        let second = desk.rag(&options);
        assert_eq!(second.status, Some(0), "{second:?}");
        heard.extend(lines(&second.stdout));

        let events = kept(&desk, &of);
        assert_eq!(told(events.clone()), without_text(heard));
        let offsets = events.iter().map(|event| event["offset"].as_u64().unwrap());
        let count = events.len() as u64;
        assert!(offsets.eq(1..=count));
        assert!(events.iter().all(|event| event["run"] == events[0]["run"]));
        let time = |event: &Value| event["at"].as_u64().unwrap() > 1_600_000_000_000;
        assert!(events.iter().all(time));
        let listed = desk.rag(&[&["threads", "--json"], &of[..]].concat());
        assert_eq!(listed.json()["threads"].as_array().unwrap().len(), 1);
    }
    // Beside the usual journal they have the usual name.
    let desk = Desk::new();
    run(&desk, &["--keep-events"]);
    assert!(desk.path().join(".rustagents/events.db").exists());
}

#[test]
fn the_configuration_says_what_is_kept_and_the_command_line_says_otherwise() {
    let desk = Desk::new();
    run(&desk, &[]);
    assert!(!desk.path().join(".rustagents/events.db").exists());

    let desk = Desk::new();
    let configuration = fs::read_to_string(desk.path().join("rustagents.toml")).unwrap();
    let keep = |more: &str| {
        let text = format!("{configuration}\n[events]\nkeep = true\n{more}\n");
        desk.write("rustagents.toml", text);
    };
    keep("");
    run(&desk, &["--keep-events=no"]);
    assert!(!desk.path().join(".rustagents/events.db").exists());
    desk.rag(&["cancel", "demo"]);
    run(&desk, &[]);
    assert!(!kinds(&kept(&desk, &[])).contains(&"text.delta"));
    desk.rag(&["cancel", "demo"]);
    run(&desk, &["--keep-events=deltas"]);
    assert!(kinds(&kept(&desk, &[])).contains(&"text.delta"));
    desk.rag(&["cancel", "demo"]);
    keep("last = 5");
    run(&desk, &[]);
    assert_eq!(kept(&desk, &[]).len(), 5);
    desk.rag(&["cancel", "demo"]);
    keep("age = \"1ms\"");
    let before = run(&desk, &["--json"]).json()["run"].clone();
    desk.rag(&["cancel", "demo"]);
    run(&desk, &["--quiet"]);
    let left = kept(&desk, &[]);
    assert!(left.iter().all(|event| event["run"] != before), "{left:?}");
}

#[test]
fn events_are_chosen_by_offset_kind_task_run_and_number() {
    let desk = Desk::new();
    run(&desk, &["--keep-events"]);
    let all = kept(&desk, &[]);
    assert_eq!(kept(&desk, &["--after", "4"]), all[4..]);
    assert_eq!(kept(&desk, &["--after", "18446744073709551615"]), all[..0]);
    let chosen = kept(&desk, &["--kind", "tool.dispatched", "--kind", "run.ended"]);
    assert_eq!(
        kinds(&chosen),
        ["tool.dispatched", "tool.dispatched", "run.ended"]
    );
    let triage = kept(&desk, &["--namespace", "triage:1.0"]);
    assert!(triage.len() >= 4, "{triage:?}");
    assert!(triage.iter().all(|event| event["task"] == "triage:1.0"));
    let id = all[0]["run"].as_str().unwrap();
    assert_eq!(kept(&desk, &["--run", id]), all);
    assert_eq!(kept(&desk, &["--run", "another"]), all[..0]);

    let some = desk.rag(&["events", "demo", "--events", "--limit", "2"]);
    assert_eq!(lines(&some.stdout), all[..2]);
    assert_eq!(some.stderr, "");
    let some = desk.rag(&["events", "demo", "--limit", "2"]);
    assert_eq!(some.stdout.lines().count(), 2);
    assert!(some.stdout.contains("run.started"), "{some:?}");
    assert_eq!(some.stderr, "more follow: `--after 2`\n");
    let page = desk.rag(&["events", "demo", "--json", "--limit", "3"]);
    let page = page.json();
    assert_eq!(
        (&page["schema"], &page["thread"], &page["after"]),
        (&json!("rag.events/1"), &json!("demo"), &json!(3))
    );
    assert_eq!(page["events"].as_array().unwrap()[..], all[..3]);
    assert_eq!(page["more"], true);
    let whole = desk.rag(&["events", "demo", "--json"]).json();
    assert_eq!(
        (&whole["more"], &whole["after"]),
        (&json!(false), &json!(all.len()))
    );
}

#[test]
fn mistakes_have_codes_and_write_nothing() {
    let desk = Desk::new();
    mistake(&desk.rag(&["events", "demo", "--json"]), "RAG0401");
    assert!(!desk.path().join(".rustagents").exists());
    run(&desk, &[]);
    let before = desk.files();
    let none = desk.rag(&["events", "demo", "--json"]);
    mistake(&none, "RAG0315");
    let hint = none.json()["error"]["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("--keep-events"), "{hint}");
    mistake(&desk.rag(&["events", "nobody", "--json"]), "RAG0401");
    assert_eq!(desk.files().len(), before.len());

    desk.rag(&["cancel", "demo"]);
    run(&desk, &["--keep-events"]);
    mistake(&desk.rag(&["events", "nobody", "--json"]), "RAG0401");
    let unknown = desk.rag(&["events", "demo", "--json", "--kind", "node.ended"]);
    mistake(&unknown, "RAG0001");
    assert!(unknown.stdout.contains("node.completed"), "{unknown:?}");
    mistake(
        &desk.rag(&["events", "demo", "--json", "--after", "x"]),
        "RAG0001",
    );
    mistake(
        &desk.rag(&["events", "demo", "--json", "--limit", "0"]),
        "RAG0001",
    );
    mistake(
        &desk.rag(&["events", "demo", "--json", "--follow"]),
        "RAG0001",
    );
    mistake(&desk.rag(&["events", "a@b", "--json"]), "RAG0410");
    desk.write(".rustagents/events.db", "something else entirely");
    mistake(&desk.rag(&["events", "demo", "--json"]), "RAG0303");
}

#[test]
fn a_thread_whose_journal_is_gone_is_still_told_of() {
    let desk = Desk::new();
    run(&desk, &["--keep-events"]);
    let all = kept(&desk, &[]);
    for file in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        let removed = fs::remove_file(desk.path().join(".rustagents").join(file));
        assert!(removed.is_ok() || file != "journal.db", "{removed:?}");
    }
    assert_eq!(kept(&desk, &[]), all);
    assert_eq!(kept(&desk, &["--follow"]), all);
}

#[test]
fn a_journal_of_events_that_cannot_be_used_fails_no_run() {
    let desk = Desk::new();
    fs::create_dir(desk.path().join(".rustagents")).unwrap();
    desk.write(".rustagents/events.db", "something else entirely");
    let said = run(&desk, &["--keep-events"]);
    assert_eq!(said.status, Some(3), "{said:?}");
    let warnings = said.stderr.matches("are not kept").count();
    assert_eq!(warnings, 1, "{said:?}");
    let waiting = desk.resume(&[]);
    let mut options = approvals(&waiting);
    options.push("--keep-events".into());
    let done = desk.resume(&options);
    assert_eq!(done.status, Some(0));
    let lost = done.json()["events_lost"].clone();
    assert!(lost["count"].as_u64().unwrap() > 5, "{lost}");
    assert!(lost["reason"].as_str().unwrap().contains("events.db"));
}

#[test]
fn a_status_is_put_together_from_events() {
    let desk = Desk::new();
    run(&desk, &["--keep-events"]);
    let status = desk.rag(&["events", "demo", "--status", "--json"]).json();
    assert_eq!(
        (&status["schema"], &status["status"], &status["attempt"]),
        (&json!("rag.thread_status/1"), &json!("waiting"), &json!(1))
    );
    assert_eq!(status["asks"].as_array().unwrap().len(), 2);
    let triage = &status["nodes"]["triage"];
    assert_eq!(
        (&triage["started"], &triage["completed"]),
        (&json!(1), &json!(1))
    );
    assert!(triage["mean_ms"].is_u64(), "{triage}");
    assert_eq!(
        (&status["lost"], &status["partial"]),
        (&json!(0), &json!(false))
    );
    let waiting = desk.rag(&["resume", "demo", "--json"]);
    assert_eq!(status["steps"], waiting.json()["steps"]);
    let person = desk.rag(&["events", "demo", "--status"]);
    assert!(person.stdout.contains("waiting, attempt 1"), "{person:?}");
    assert!(person.stdout.contains("triage"), "{person:?}");
    mistake(
        &desk.rag(&["events", "demo", "--status", "--follow", "--json"]),
        "RAG0001",
    );
}

#[test]
fn a_status_has_the_steps_that_the_run_reports() {
    let desk = Desk::new();
    let waiting = run(&desk, &["--keep-events", "--json"]);
    let mut options = vec!["--keep-events=yes".to_owned()];
    options.extend(approvals(&waiting));
    let ended = desk.resume(&options);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let same = |report: &Said| {
        let status = desk.rag(&["events", "demo", "--status", "--json"]).json();
        assert_eq!(
            (&status["status"], report.status),
            (&json!("completed"), Some(0))
        );
        assert_eq!(status["steps"], report.json()["steps"]);
    };
    same(&ended);
    // Now the order is refunded, and there is nothing to ask.
    same(&run(&desk, &["--keep-events", "--json"]));
}

#[test]
fn a_follower_sees_the_run_through_to_its_end() {
    for store in STORES {
        let desk = Desk::new();
        let of = ["--store", store];
        run(&desk, &[&of[..], &["--keep-events"]].concat());
        // It waits while the run waits, over the processes that drive it.
        let mut follower =
            desk.spawn(&[&["events", "demo", "--follow", "--events"], &of[..]].concat());
        let mut stream = BufReader::new(follower.stdout.take().unwrap());
        let mut first = String::new();
        stream.read_line(&mut first).unwrap();
        assert!(first.contains("run.started"), "{first}");
        let waiting = desk.rag(&[&["resume", "demo", "--json"], &of[..]].concat());
        let mut options = vec!["resume".to_owned(), "demo".into(), "--keep-events".into()];
        options.extend(approvals(&waiting));
        options.extend(of.map(str::to_owned));
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        assert_eq!(desk.rag(&options).status, Some(0));
        let rest: Vec<_> = stream.lines().map(Result::unwrap).collect();
        assert_eq!(follower.wait().unwrap().code(), Some(0));
        let seen = lines(&format!("{first}{}", rest.join("\n")));
        assert_eq!(seen, kept(&desk, &of));
        assert_eq!(seen.last().unwrap()["how"], "completed");
        // Once it is over there is nothing to wait for.
        assert_eq!(kept(&desk, &[&of[..], &["--follow"]].concat()), seen);
        let none = ["--follow", "--kind", "node.failed"];
        assert_eq!(kept(&desk, &[&of[..], &none].concat()), seen[..0]);
    }
}

#[test]
fn a_follower_ends_cleanly_when_it_is_told_to() {
    let desk = slow_desk("10m");
    let arguments = [
        "run",
        ".",
        "--thread",
        "demo",
        "--input",
        "go",
        "--keep-events",
    ];
    let mut command = desk.command(&arguments);
    let mut driver = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn();
    let driver = driver.as_mut().unwrap();
    // The run is inside its tool, and its events are there already.
    let mut follower = loop {
        let mut follower = desk.spawn(&["events", "demo", "--follow", "--events"]);
        let mut stream = BufReader::new(follower.stdout.take().unwrap());
        let mut line = String::new();
        while stream.read_line(&mut line).unwrap() > 0 && !line.contains("tool.dispatched") {}
        if line.contains("tool.dispatched") {
            break follower;
        }
        assert_eq!(driver.try_wait().unwrap(), None, "the run goes on");
        follower.wait().unwrap();
    };
    let pid = |id: u32| Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    kill_process(pid(follower.id()), Signal::INT).unwrap();
    assert_eq!(follower.wait().unwrap().code(), Some(0));
    // The run that was followed never knew; interrupted, it keeps its end.
    assert_eq!(driver.try_wait().unwrap(), None);
    kill_process(pid(driver.id()), Signal::INT).unwrap();
    assert_eq!(driver.wait().unwrap().code(), Some(130));
    let events = kept(&desk, &[]);
    let last = events.last().unwrap();
    assert_eq!(
        (&last["event"], &last["how"]),
        (&json!("run.ended"), &json!("stopped"))
    );
}

#[test]
fn a_killed_run_leaves_a_beginning_of_what_it_told() {
    for store in STORES {
        let (mut kept_some, mut went_on) = (false, false);
        for number in 1..=30 {
            for side in ["before", "after"] {
                let mut desk = Desk::new();
                desk.set_fault(Some(format!("{side}:{number}")));
                let of = ["--store", store];
                let said = run(&desk, &[&of[..], &["--events", "--keep-events"]].concat());
                desk.set_fault(None);
                if said.status.is_some() {
                    assert!(kept_some && went_on, "no run was killed with events kept");
                    assert_eq!(said.status, Some(3));
                    break;
                }
                let heard = without_text(lines(&said.stdout));
                let read = desk.rag(&[&["events", "demo", "--events"], &of[..]].concat());
                if read.status == Some(2) {
                    // Not even the first of them was on the disk.
                    continue;
                }
                let events = told(lines(&read.stdout));
                assert!(heard.starts_with(&events), "{events:?} beside {heard:?}");
                kept_some |= !events.is_empty();

                // The next attempt goes on behind it.
                let resume = ["resume", "demo", "--json", "--keep-events"];
                desk.rag(&[&resume[..], &of].concat());
                let more = told(kept(&desk, &of));
                assert!(more.starts_with(&events));
                went_on |= more.len() > events.len();
            }
        }
    }
}

#[test]
fn the_end_that_a_cancel_brings_is_kept_where_the_run_is() {
    for store in STORES {
        let desk = Desk::new();
        let of = ["--store", store];
        let first = run(&desk, &[&of[..], &["--keep-events"]].concat());
        assert_eq!(first.status, Some(3), "{first:?}");
        let before = kept(&desk, &of).len();
        let cancelled = desk.rag(&[&["cancel", "demo"], &of[..]].concat());
        assert_eq!(cancelled.status, Some(0), "{cancelled:?}");
        let said = desk.rag(&[&["events", "demo", "--status", "--json"], &of[..]].concat());
        assert_eq!(said.json()["status"], "stopped", "{said:?}");
        assert_eq!(kept(&desk, &of).len(), before + 1);
        // Of a run whose events were not kept, none is kept now.
        let second = run(&desk, &[&of[..], &["--keep-events=no"]].concat());
        assert_eq!(second.status, Some(3), "{second:?}");
        desk.rag(&[&["cancel", "demo"], &of[..]].concat());
        assert_eq!(kept(&desk, &of).len(), before + 1);
    }
    let desk = Desk::new();
    run(&desk, &[]);
    desk.rag(&["cancel", "demo"]);
    assert!(!desk.path().join(".rustagents/events.db").exists());
}

#[test]
fn a_thread_that_is_deleted_takes_its_events_along() {
    for store in STORES {
        let desk = Desk::new();
        let of = ["--store", store];
        let rag = |arguments: &[&str]| desk.rag(&[arguments, &of[..]].concat());
        run(&desk, &[&of[..], &["--keep-events"]].concat());
        let other = ["run", ".", "--thread", "other", "--input", REFUND];
        rag(&[&other[..], &["--keep-events"]].concat());
        let refused = rag(&["threads", "delete", "demo"]);
        assert!(refused.stderr.contains("RAG0407"), "{refused:?}");
        assert!(!kept(&desk, &of).is_empty());
        let deleted = rag(&["threads", "delete", "demo", "--yes"]);
        assert_eq!(deleted.status, Some(0), "{deleted:?}");
        let unknown = rag(&["events", "demo"]);
        assert!(unknown.stderr.contains("RAG0401"), "{unknown:?}");
        let left = rag(&["events", "other", "--json"]);
        assert!(left.json()["events"].as_array().unwrap().len() > 5);
    }
}
