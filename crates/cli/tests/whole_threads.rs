//! What is done with whole threads, as people and scripts do it.

#[cfg(unix)]
use std::os::unix::fs::FileTypeExt;
use std::{fs, io::Write, process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{
    bench::{Desk, REFUND, Said, approvals},
    processes::{inside_the_tool, slow_desk},
};

fn said(desk: &Desk, arguments: &str) -> Said {
    let arguments: Vec<_> = arguments.split(' ').collect();
    desk.rag(&arguments)
}

fn talk(desk: &Desk, thread: &str) {
    let said = desk.rag(&[
        "run", ".", "--thread", thread, "--input", "hello", "--quiet",
    ]);
    assert_eq!(said.status, Some(0), "{said:?}");
}

/// A desk whose thread `demo` paid a refund.
fn refunded() -> Desk {
    let desk = Desk::new();
    let waiting = desk.run_refund();
    let done = desk.resume(&approvals(&waiting));
    assert_eq!(done.status, Some(0), "{done:?}");
    desk
}

fn mistake(said: &Said, code: &str) {
    assert_eq!(
        (said.status, said.code()),
        (Some(2), code.to_owned()),
        "{said:?}"
    );
}

fn records(desk: &Desk) -> Vec<String> {
    desk.journal("SELECT t.name, count(*) FROM records r JOIN threads t ON t.id = r.thread GROUP BY t.name ORDER BY 1")
}

#[test]
fn a_fork_names_what_it_could_repeat_and_is_made_only_if_told_so() {
    let desk = refunded();
    let before = records(&desk);
    let refused = said(&desk, "threads fork demo@2 --as again --json");
    mistake(&refused, "RAG0412");
    let told = said(&desk, "threads fork demo@2 --as again");
    assert!(told.stderr.contains("(refund)"), "{told:?}");
    assert!(
        told.stderr.contains("hint: `--yes` makes the fork"),
        "{told:?}"
    );
    assert_eq!(records(&desk), before);

    let made = said(&desk, "threads fork demo@2 --as again --yes");
    assert_eq!(made.status, Some(0), "{made:?}");
    assert!(made.stderr.contains("(refund) once more"), "{made:?}");
    assert!(
        made.stderr.contains("thread again is a copy of demo@2"),
        "{made:?}"
    );
    assert!(made.stderr.contains("resume again"), "{made:?}");
    let show = said(&desk, "threads show again --json").json();
    assert_eq!(show["status"], "unfinished");
    // The order is refunded by now, and the clerks see it.
    let done = said(&desk, "resume again --json");
    assert_eq!(done.status, Some(0), "{done:?}");
}

#[test]
fn a_fork_at_the_end_and_a_copy_take_new_inputs() {
    let desk = refunded();
    let made = said(&desk, "threads fork demo@4 --as end --json");
    assert_eq!(
        made.json(),
        json!({ "schema": "rag.fork/1", "thread": "end", "from": "demo", "checkpoint": 4,
                "repeats": [], "resume": null })
    );
    let made = said(&desk, "threads copy demo twin");
    assert_eq!(made.stderr, "thread twin is a copy of demo\n");
    for thread in ["end", "twin"] {
        talk(&desk, thread);
    }
    mistake(&said(&desk, "threads copy demo twin --json"), "RAG0413");
    mistake(&said(&desk, "threads copy demo a@b --json"), "RAG0410");
    mistake(&said(&desk, "threads fork nobody --as x --json"), "RAG0401");
    mistake(&said(&desk, "threads fork demo@x --as x --json"), "RAG0001");
    let missing = said(&desk, "threads fork demo@9 --as x --json");
    mistake(&missing, "RAG0414");
    assert_eq!(
        missing.json()["error"]["hint"],
        "it has the checkpoints 1 to 4"
    );
}

/// How many contents the store has, and their bytes.
fn contents(desk: &Desk) -> (u64, u64) {
    let file = desk.path().join(".rustagents/journal.db");
    let journal = rusqlite::Connection::open(file).unwrap();
    let sql = "SELECT count(*), coalesce(sum(length(bytes)), 0) FROM contents";
    let counted = journal.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    counted.unwrap()
}

/// The calls that a thread asks about, by number.
fn calls(said: &Said) -> Vec<String> {
    let asks = said.interrupts();
    let calls = asks.iter().map(|ask| ask["call"].as_str().unwrap());
    let mut calls: Vec<_> = calls.map(str::to_owned).collect();
    calls.sort();
    calls
}

#[test]
fn a_copy_of_a_thread_that_waits_asks_anew_and_each_ends_with_its_own_calls() {
    let desk = Desk::new();
    assert_eq!(calls(&desk.run_refund()), ["c-3", "c-4"]);
    let stored = contents(&desk);
    assert!(stored.0 > 0, "the plan");
    let made = said(&desk, "threads copy demo twin");
    assert_eq!(contents(&desk), stored, "they are shared");
    assert_eq!(made.status, Some(0), "{made:?}");
    assert!(made.stderr.contains("resume twin"), "{made:?}");
    let show = said(&desk, "threads show twin --json").json();
    assert_eq!(show["status"], "unfinished");
    assert_eq!(show["interrupts"], json!([]));
    let early = said(&desk, "resume twin --approve c-3");
    let first = "hint: nothing is pending yet: resume without answers first";
    assert!(early.stderr.contains("error[RAG0402]"), "{early:?}");
    assert!(early.stderr.contains(first), "{early:?}");

    let asked = said(&desk, "resume twin --json");
    assert_eq!(asked.status, Some(3), "{asked:?}");
    assert_eq!(calls(&asked), ["c-5", "c-6"]);
    let show = said(&desk, "threads show twin --json");
    assert_eq!(calls(&show), ["c-5", "c-6"]);
    for old in ["resume twin --approve c-3", "resume demo --approve c-5"] {
        mistake(&said(&desk, &format!("{old} --json")), "RAG0402");
    }
    let status = || desk.order("A-1042", "status").unwrap();
    assert_ne!(status(), "refunded", "nothing was approved yet");

    let done = said(&desk, "resume twin --deny c-5=no --deny c-6=no --json");
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_ne!(status(), "refunded");
    let still = said(&desk, "resume demo --json");
    assert_eq!(calls(&still), ["c-3", "c-4"]);
    let done = desk.resume(&approvals(&still));
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(status(), "refunded");
    for (thread, left) in [("demo", stored), ("twin", (0, 0))] {
        let whole = said(&desk, "doctor --full");
        assert_eq!(whole.status, Some(0), "{whole:?}");
        let deleted = said(&desk, &format!("threads delete {thread} --yes"));
        assert_eq!(deleted.status, Some(0), "{deleted:?}");
        assert_eq!(contents(&desk), left, "without {thread}");
    }
}

#[test]
fn a_thread_that_waits_is_deleted_only_if_told_so() {
    let desk = Desk::new();
    desk.run_refund();
    let refused = said(&desk, "threads delete demo --json");
    mistake(&refused, "RAG0407");
    assert!(
        refused.json()["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("--yes")
    );
    let done = said(&desk, "threads delete demo --yes");
    assert_eq!(
        (done.status, &*done.stderr),
        (Some(0), "thread demo is deleted\n")
    );
    mistake(&said(&desk, "threads show demo --json"), "RAG0401");
    assert_eq!(desk.journal("SELECT count(*) FROM records"), ["0"]);
    assert_eq!(desk.journal("SELECT count(*) FROM contents"), ["0"]);
}

#[test]
fn a_run_is_deleted_and_the_thread_tells_the_one_before() {
    let desk = Desk::new();
    talk(&desk, "demo");
    let first = said(&desk, "threads show demo --json").json();
    talk(&desk, "demo");
    let second = said(&desk, "threads show demo --json").json();
    let run = second["run"].as_str().unwrap();
    mistake(
        &said(&desk, "threads delete demo --run nobody --json"),
        "RAG0414",
    );
    let done = said(&desk, &format!("threads delete demo --run {run} --json")).json();
    assert_eq!(
        (&done["schema"], &done["run"]),
        (&"rag.delete/1".into(), &run.into())
    );
    assert!(done["removed"]["records"].as_u64().unwrap() > 4, "{done}");
    assert_eq!(said(&desk, "threads show demo --json").json(), first);
    talk(&desk, "demo");
    assert_eq!(said(&desk, "doctor --full").status, Some(0));
}

#[test]
fn a_pruned_thread_tells_how_it_ended_and_goes_on() {
    let desk = refunded();
    let before = said(&desk, "threads show demo --json").json();
    let pruned = said(&desk, "threads prune demo --keep 1");
    assert_eq!(pruned.status, Some(0), "{pruned:?}");
    assert!(pruned.stderr.starts_with("demo: "), "{pruned:?}");
    assert!(
        pruned.stderr.ends_with("went; 1 checkpoint left\n"),
        "{pruned:?}"
    );
    assert_eq!(said(&desk, "threads show demo --json").json(), before);
    let again = said(&desk, "resume demo");
    assert_eq!(again.stdout.trim(), before["output"].as_str().unwrap());
    let history = said(&desk, "threads history demo --json").json();
    assert_eq!(history["checkpoints"][0]["checkpoint"], "demo@4");
    talk(&desk, "demo");
    let doctor = said(&desk, "doctor --full");
    assert_eq!(doctor.status, Some(0), "{doctor:?}");
}

#[test]
fn all_threads_are_pruned_but_those_that_somebody_drives() {
    let desk = slow_desk("10m");
    let mut child = inside_the_tool(&desk);
    desk.edit("rustagents.toml", "4000000000", "10");
    for thread in ["a", "b"] {
        let said = desk.rag(&["run", ".", "--thread", thread, "--input", "go", "--quiet"]);
        assert_eq!(said.status, Some(0), "{said:?}");
    }
    let told = said(&desk, "threads prune --all --keep 1 --json");
    assert_eq!(told.status, Some(5), "{told:?}");
    let told = told.json();
    let status: Vec<_> = told["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["status"].clone())
        .collect();
    assert_eq!(status, ["pruned", "pruned", "busy"]);
    assert!(told["removed"]["records"].as_u64().unwrap() > 0, "{told}");
    let alone = said(&desk, "threads prune demo --since 1s --json");
    assert_eq!((alone.status, alone.code()), (Some(5), "RAG0305".into()));
    child.kill().unwrap();
    child.wait().unwrap();
    for wrong in [
        "threads prune demo",
        "threads prune --keep 1",
        "threads prune demo --keep 0",
        "threads prune a --all --keep 1",
        "threads prune a --keep 1 --since 1d",
        "threads prune a --since never",
    ] {
        assert_eq!(said(&desk, wrong).status, Some(2), "{wrong}");
    }
}

#[test]
fn what_a_thread_holds_is_counted() {
    let desk = Desk::new();
    let none = said(&desk, "threads stats --json").json();
    assert_eq!(
        (&none["schema"], &none["records"]),
        (&"rag.stats/1".into(), &0.into())
    );
    talk(&desk, "demo");
    talk(&desk, "other");
    let one = said(&desk, "threads stats demo --json").json();
    assert_eq!(
        (&one["thread"], &one["runs"], &one["checkpoints"]),
        (&"demo".into(), &1.into(), &3.into())
    );
    let all = said(&desk, "threads stats --json").json();
    assert_eq!(
        all["records"].as_u64(),
        one["records"].as_u64().map(|n| n * 2)
    );
    let person = said(&desk, "threads stats demo");
    assert!(
        person.stdout.contains("  graph.checkpoint    3"),
        "{person:?}"
    );
    mistake(&said(&desk, "threads stats nobody --json"), "RAG0401");
}

#[test]
fn an_exported_thread_is_the_same_bytes_in_another_store() {
    let desk = refunded();
    let first = said(&desk, "threads export demo");
    assert_eq!(first.status, Some(0), "{first:?}");
    assert!(
        first
            .stdout
            .starts_with("{\"schema\":\"rag.export/1\",\"thread\":\"demo\"")
    );
    let done = said(&desk, "threads export demo --output demo.jsonl");
    assert_eq!((done.status, &*done.stdout), (Some(0), ""), "{done:?}");
    assert_eq!(
        fs::read_to_string(desk.path().join("demo.jsonl")).unwrap(),
        first.stdout
    );
    let done = said(&desk, "threads import demo.jsonl --store sqlite:other.db");
    assert!(
        done.stderr.starts_with("thread demo is imported: "),
        "{done:?}"
    );
    let second = said(&desk, "threads export demo --store sqlite:other.db");
    assert_eq!(second.stdout, first.stdout);
    let doctor = said(&desk, "doctor --full --store sqlite:other.db");
    assert_eq!(doctor.status, Some(0), "{doctor:?}");

    mistake(&said(&desk, "threads import demo.jsonl --json"), "RAG0413");
    let named = said(&desk, "threads import demo.jsonl --as twin --json").json();
    assert_eq!(
        (&named["schema"], &named["thread"]),
        (&"rag.imported/1".into(), &"twin".into())
    );
    talk(&desk, "twin");
}

#[test]
fn an_export_that_cannot_be_written_prints_nothing_and_leaves_nothing() {
    let desk = refunded();
    let mut spooled = desk.command(&["threads", "export", "demo"]);
    let told = Said::of(spooled.env("TMPDIR", "nowhere").output().unwrap());
    assert_eq!((told.status, &*told.stdout), (Some(2), ""));
    assert!(
        told.stderr
            .starts_with("error[RAG0005]: `nowhere` cannot be written"),
        "{told:?}"
    );
    assert!(told.stderr.contains("`TMPDIR`"), "{told:?}");
    let refused = said(
        &desk,
        "threads export demo --output nowhere/demo.jsonl --json",
    );
    mistake(&refused, "RAG0005");
    assert!(!desk.path().join("nowhere").exists());
}

#[cfg(unix)]
#[test]
fn an_export_goes_through_what_is_no_file_and_behind_a_link() {
    let desk = refunded();
    let printed = said(&desk, "threads export demo").stdout;
    assert_eq!(
        said(&desk, "threads export demo --output -").stdout,
        printed
    );
    assert!(!desk.path().join("-").exists());

    desk.write("real.jsonl", "old");
    std::os::unix::fs::symlink("real.jsonl", desk.path().join("link")).unwrap();
    let done = said(&desk, "threads export demo --output link");
    assert_eq!(done.status, Some(0), "{done:?}");
    assert!(
        fs::symlink_metadata(desk.path().join("link"))
            .unwrap()
            .is_symlink()
    );
    let written = fs::read_to_string(desk.path().join("real.jsonl"));
    assert_eq!(written.unwrap(), printed);

    let pipe = desk.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let reads = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    let done = said(&desk, "threads export demo --output pipe");
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(reads.join().unwrap(), printed);
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());

    let full = said(&desk, "threads export demo --output /dev/full --json");
    mistake(&full, "RAG0005");
}

#[test]
fn an_export_of_a_thread_that_lacks_a_content_is_refused() {
    let desk = refunded();
    let file = desk.path().join(".rustagents/journal.db");
    let journal = rusqlite::Connection::open(file).unwrap();
    assert!(journal.execute("DELETE FROM contents", []).unwrap() > 0);
    drop(journal);
    let refused = said(&desk, "threads export demo --json");
    mistake(&refused, "RAG0304");
    let refused = said(&desk, "threads export demo --output demo.jsonl");
    assert!(refused.stderr.contains("it is missing"), "{refused:?}");
    assert!(!desk.path().join("demo.jsonl").exists());
}

#[test]
fn a_file_that_is_no_export_is_refused_and_makes_no_store() {
    let desk = Desk::new();
    desk.write(
        "cut.jsonl",
        "{\"schema\":\"rag.export/1\",\"thread\":\"t\",\"epoch\":1}\n",
    );
    let refused = said(&desk, "threads import cut.jsonl --json");
    mistake(&refused, "RAG0415");
    assert!(
        refused.json()["error"]["message"]
            .as_str()
            .unwrap()
            .starts_with("line 2: "),
        "{refused:?}"
    );
    mistake(
        &said(&desk, "threads import missing.jsonl --json"),
        "RAG0002",
    );
    mistake(&said(&desk, "threads import --json"), "RAG0415");
    assert!(!desk.path().join(".rustagents").exists());
}

/// An export of one record, made by hand, whose body is a list of `depth` lists.
fn made_by_hand(depth: usize) -> String {
    let body = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let record = json!({ "seq": 1, "branch": "main", "namespace": "", "key": "note/1",
                         "kind": "note.made", "version": 1, "run": "", "attempt": 1,
                         "epoch": 1, "at": 1, "body": body });
    let lines = [
        json!({ "schema": "rag.export/1", "thread": "deep", "epoch": 1 }).to_string(),
        json!({ "record": record }).to_string(),
    ];
    let mut digest = rustagents_core::digest::Rolling::default();
    for line in &lines {
        digest.push(line.as_bytes());
    }
    let end = json!({ "end": { "contents": 0, "messages": 0, "records": 1,
                               "digest": digest.digest() } });
    format!("{}\n{end}\n", lines.join("\n"))
}

#[test]
fn an_import_that_is_nested_too_deep_is_refused_and_makes_no_thread() {
    for store in ["sqlite:s.db", "file:threads"] {
        let desk = Desk::new();
        let rag = |arguments: &[&str]| desk.rag(&[arguments, &["--store", store]].concat());
        desk.write("deep.jsonl", made_by_hand(97));
        let refused = rag(&["threads", "import", "deep.jsonl", "--json"]);
        mistake(&refused, "RAG0309");
        let error = refused.json()["error"].clone();
        assert_eq!(
            error["message"],
            "line 2: record 1 (note.made) is nested deeper than 96"
        );
        assert!(
            error["hint"]
                .as_str()
                .unwrap()
                .contains("nothing was written")
        );
        assert_eq!(rag(&["threads", "--json"]).json()["threads"], json!([]));
        desk.write("deep.jsonl", made_by_hand(96));
        let taken = rag(&["threads", "import", "deep.jsonl"]);
        assert_eq!(taken.status, Some(0), "{taken:?}");
        let back = rag(&["threads", "export", "deep"]);
        assert!(back.stdout.contains(&"[".repeat(96)), "{back:?}");
    }
}

#[test]
fn a_damaged_thread_is_named_and_the_others_are_read() {
    let desk = Desk::new();
    talk(&desk, "broken");
    talk(&desk, "whole");
    assert_eq!(said(&desk, "doctor --full").status, Some(0));
    let file = desk.path().join(".rustagents/journal.db");
    let journal = rusqlite::Connection::open(file).unwrap();
    journal
        .execute("DELETE FROM records WHERE kind = 'graph.checkpoint' AND id = (SELECT max(r.id) - 1 FROM records r JOIN chains c ON c.id = r.chain WHERE c.thread = 1)", [])
        .unwrap();
    journal
        .execute("DELETE FROM messages WHERE name = 'm-1' AND thread = 1", [])
        .unwrap();
    let doctor = said(&desk, "doctor --full --json");
    assert_eq!(doctor.status, Some(1), "{doctor:?}");
    let object = doctor.json();
    let checks = object["checks"].as_array().unwrap();
    let found: Vec<&Value> = checks
        .iter()
        .filter(|check| check["name"] == "thread broken")
        .collect();
    assert!(
        found.iter().any(|check| check["message"]
            .as_str()
            .unwrap()
            .contains("message at place 1: it cannot be read: it is missing")),
        "{found:?}"
    );
    assert!(
        checks
            .iter()
            .any(|check| check["message"] == "2 threads: 1 completed, 1 not whole"),
        "{checks:?}"
    );
    let done = said(&desk, "threads delete broken --yes");
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(said(&desk, "doctor --full").status, Some(0));
}

#[test]
fn lists_are_narrowed_by_name_time_and_status() {
    let desk = Desk::new();
    desk.run_refund();
    for thread in ["a-1", "a-2", "b-1"] {
        talk(&desk, thread);
    }
    let names = |options: &str| -> Vec<String> {
        let list = said(&desk, &format!("threads list --json {options}")).json();
        let rows = list["threads"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| row["thread"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names("--prefix a-"), ["a-1", "a-2"]);
    assert_eq!(names("--status completed"), ["a-1", "a-2", "b-1"]);
    assert_eq!(names("--status suspended"), ["demo"]);
    assert_eq!(names("--status completed --after a-1 --limit 1"), ["a-2"]);
    assert_eq!(names("--status failed").len(), 0);
    assert_eq!(names("--since 1h").len(), 4);
    assert_eq!(names("--since 9999-12-31").len(), 0);
    assert_eq!(said(&desk, "threads list --status lost").status, Some(2));
    assert_eq!(said(&desk, "threads list --since lost").status, Some(2));
}

#[test]
fn a_process_that_was_taken_over_ends_and_nothing_of_it_is_recorded() {
    let desk = slow_desk("5s");
    let child = inside_the_tool(&desk);
    // Now it counts; nothing of the seeding is under way.
    std::thread::sleep(Duration::from_millis(500));
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::STOP).unwrap();
    desk.edit("rustagents.toml", "4000000000", "10");
    let busy = said(&desk, "resume demo --json");
    assert_eq!((busy.status, busy.code()), (Some(5), "RAG0305".into()));
    let hint = busy.json()["error"]["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("--takeover"), "{hint}");
    let taken = said(&desk, "resume demo --takeover");
    assert_eq!(
        (taken.status, taken.stdout.trim()),
        (Some(0), "done"),
        "{taken:?}"
    );
    let count = "SELECT count(*), max(id), max(epoch) FROM records";
    let before = desk.journal(count);
    kill_process(pid, Signal::CONT).unwrap();
    // Its call runs out of time, and there is an end that it wants to record.
    let ended = Said::of(child.wait_with_output().unwrap());
    assert_eq!(
        (ended.status, ended.code()),
        (Some(5), "RAG0306".into()),
        "{ended:?}"
    );
    assert!(ended.stdout.contains("was taken over"), "{ended:?}");
    assert_eq!(desk.journal(count), before);
    assert!(!ended.stdout.contains(REFUND));
}

#[test]
fn a_run_whose_process_hangs_is_given_up_with_a_take_over() {
    let desk = slow_desk("10m");
    let mut child = inside_the_tool(&desk);
    std::thread::sleep(Duration::from_millis(500));
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    assert_eq!(said(&desk, "cancel demo").status, Some(5));
    let done = said(&desk, "cancel demo --takeover");
    assert_eq!(
        (done.status, &*done.stderr),
        (Some(0), "thread demo is cancelled\n")
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        said(&desk, "threads show demo --json").json()["status"],
        "cancelled"
    );
}

#[test]
fn a_conversation_is_taken_from_a_process_that_hangs() {
    let desk = slow_desk("10m");
    let mut child = inside_the_tool(&desk);
    std::thread::sleep(Duration::from_millis(500));
    kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
    desk.edit("rustagents.toml", "4000000000", "10");
    let busy = said(&desk, "chat . --thread demo");
    assert_eq!(busy.status, Some(5), "{busy:?}");
    let taken = said(&desk, "chat . --thread demo --takeover");
    assert_eq!(
        (taken.status, taken.stdout.trim()),
        (Some(0), "done"),
        "{taken:?}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_export_goes_from_one_program_to_the_next() {
    let desk = refunded();
    let exported = said(&desk, "threads export demo --json").stdout;
    let mut command = desk.command(&["threads", "import", "--as", "twin", "--json"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(exported.as_bytes()).unwrap();
    drop(stdin);
    let done = Said::of(child.wait_with_output().unwrap());
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(done.json()["thread"], "twin");
    let again = said(&desk, "threads export twin").stdout;
    let body = |text: &str| {
        let lines: Vec<_> = text.lines().skip(1).map(str::to_owned).collect();
        lines[..lines.len() - 1].to_vec()
    };
    assert_eq!(
        body(&again),
        body(&exported),
        "all but the name is the same"
    );
}

#[test]
fn a_content_with_other_bytes_is_found_and_a_damaged_thread_is_listed() {
    let desk = Desk::new();
    talk(&desk, "broken");
    talk(&desk, "whole");
    let file = desk.path().join(".rustagents/journal.db");
    let journal = rusqlite::Connection::open(file).unwrap();
    journal
        .execute_batch("UPDATE contents SET bytes = CAST(bytes || x'20' AS BLOB) WHERE family = 1")
        .unwrap();
    let found = said(&desk, "doctor --full");
    assert_eq!(found.status, Some(1), "{found:?}");
    assert!(found.stdout.contains("has other bytes"), "{found:?}");
    journal
        .execute_batch("UPDATE records SET body = x'ff' WHERE kind = 'run.opened' AND chain IN (SELECT id FROM chains WHERE thread = 1)")
        .unwrap();
    let listed = said(&desk, "threads list");
    assert_eq!(listed.status, Some(0), "{listed:?}");
    assert!(listed.stdout.contains("broken  damaged"), "{listed:?}");
    assert!(listed.stdout.contains("whole "), "{listed:?}");
    assert!(listed.stderr.contains("thread broken: "), "{listed:?}");
    let found = said(&desk, "threads list --status damaged --json");
    let found = found.json()["threads"].clone();
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    assert!(found[0]["problem"].is_string(), "{found}");
}

/// A desk whose process was killed between its claim of thread `demo` and its first batch.
fn claimed(store: &[&str]) -> Desk {
    let mut desk = Desk::new();
    desk.set_fault(Some("after:1".into()));
    let run = ["run", ".", "--thread", "demo", "--input", "hello"];
    let killed = desk.rag(&[&run[..], store].concat());
    assert_eq!(killed.status, None, "{killed:?}");
    desk.set_fault(None);
    desk
}

#[test]
fn a_thread_whose_run_was_never_opened_is_listed_shown_and_started() {
    for store in [&[][..], &["--store", "file:threads"]] {
        let desk = claimed(store);
        let rag = |arguments: &str| {
            let arguments: Vec<_> = arguments.split(' ').collect();
            desk.rag(&[&arguments[..], store].concat())
        };
        let listed = rag("threads list --status empty --since 1h --json").json();
        assert_eq!(listed["threads"][0]["thread"], "demo");
        assert_eq!(listed["threads"][0]["status"], "empty");
        assert_eq!(listed["threads"][0]["target"], "");
        let shown = rag("threads show demo --json");
        assert_eq!(
            shown.json(),
            json!({
                "schema": "rag.thread/1", "thread": "demo", "status": "empty", "run": null,
                "attempts": 0, "target": "", "definition": null, "output": null,
                "interrupts": [], "steps": 0, "error": null, "queue": [],
                "usage": { "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0,
                           "reasoning_tokens": 0, "model_calls": 0, "tool_calls": 0 },
            })
        );
        let shown = rag("threads show demo");
        let start = [&["run TARGET --thread demo"], store].concat().join(" ");
        assert!(shown.stdout.contains("status    empty"), "{shown:?}");
        assert!(shown.stdout.contains(&start), "{shown:?}");
        let history = rag("threads history demo --json").json();
        assert_eq!(history["checkpoints"], json!([]));
        for command in [
            "resume demo",
            "cancel demo",
            "threads retry demo",
            "threads rewind demo@1",
            "threads update demo --set note=1",
            "threads show demo --state",
        ] {
            let refused = rag(&format!("{command} --json"));
            mistake(&refused, "RAG0419");
            let hint = refused.json()["error"]["hint"].to_string();
            assert!(hint.contains(&start), "{command}: {hint}");
        }
        assert_eq!(rag("threads copy demo twin").status, Some(0));
        assert_eq!(rag("threads delete twin").status, Some(0));
        mistake(&rag("threads show twin --json"), "RAG0401");
        let run = rag("run . --thread demo --input hello --json");
        assert_eq!(run.status, Some(0), "{run:?}");
        let listed = rag("threads --json").json();
        assert_eq!(listed["threads"].as_array().unwrap().len(), 1);
        assert_eq!(listed["threads"][0]["status"], "completed");
    }
}

#[test]
fn a_resume_of_a_thread_without_a_run_begins_with_what_waits() {
    let desk = Desk::new();
    let run = desk.run_refund().json()["run"].as_str().unwrap().to_owned();
    let input = ["--on-busy", "enqueue", "--input", "hello"];
    let queued = desk.rag(&[&["run", ".", "--thread", "demo"], &input[..]].concat());
    assert_eq!(queued.status, Some(3), "{queued:?}");
    assert_eq!(said(&desk, "cancel demo").status, Some(0));
    let deleted = said(&desk, &format!("threads delete demo --run {run}"));
    assert_eq!(deleted.status, Some(0), "{deleted:?}");
    let shown = said(&desk, "threads show demo");
    assert!(shown.stdout.contains("queued") && shown.stdout.contains("hello"));
    let resumed = said(&desk, "resume demo --json");
    assert_eq!(resumed.status, Some(0), "{resumed:?}");
    assert_eq!(resumed.json()["status"], "completed");
    let shown = said(&desk, "threads show demo --json").json();
    assert_eq!(shown["queue"], json!([]));
}
