//! Commands as tools: run, refused, stopped, killed and resumed.

use std::{
    fs,
    process::Child,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::bench::{Desk, Said};

const PLAN: &str = r#"graph work {
  channel messages messages
  start work
  node work { kind agent  model "default"  prompt "Work."  tools ["work"]  next END }
}"#;

/// A desk whose agent calls the tool `work` once with `{"a": …}`.
fn desk(tool: &str, argument: &str) -> Desk {
    let desk = Desk::new();
    desk.write("support.rag", PLAN);
    let arguments = serde_json::json!({ "a": argument }).to_string();
    let arguments = serde_json::Value::from(arguments);
    desk.write(
        "script.toml",
        format!(
            r#"rule = [
  {{ last = "user", call = "work", arguments = {arguments} }},
  {{ when = "error", text = "{{{{ error | tojson }}}}" }},
  {{ text = "{{{{ result | tojson }}}}" }},
]"#
        ),
    );
    desk.write(
        "rustagents.toml",
        format!(
            r#"[models]
default = "scripted:script.toml"
[tools.work]
kind = "command"
description = "Do some work."
arguments = {{ type = "object", required = ["a"], properties = {{ a = {{ type = "string" }} }} }}
approval = "allow"
{tool}
"#
        ),
    );
    desk
}

const RUN: &[&str] = &["run", ".", "--thread", "demo", "--input", "go", "--json"];

/// A program that says that it began, and what it is, and then works on and on
/// beside another process.
const LONG: &str = r#"command = ["sh", "-c", "sleep 300 & echo $$ $! >> began; wait"]"#;

/// Starts a run and waits until its program has begun; says which processes
/// there are.
fn inside_the_program(desk: &Desk) -> (Child, Vec<String>) {
    let child = desk.spawn(RUN);
    let deadline = Instant::now() + Duration::from_secs(30);
    let began = || fs::read_to_string(desk.path().join("began")).unwrap_or_default();
    while !began().ends_with('\n') {
        assert!(Instant::now() < deadline, "the program never began");
        std::thread::sleep(Duration::from_millis(5));
    }
    // The trace follows the start, and a crash before it is another story.
    let started = "SELECT count(*) FROM records WHERE key LIKE 'call/%/started/%'";
    while desk.journal(started) != ["1"] {
        assert!(Instant::now() < deadline, "the program was never recorded");
        std::thread::sleep(Duration::from_millis(5));
    }
    let processes = began().split_whitespace().map(str::to_owned).collect();
    (child, processes)
}

/// Whether a process is listed and has not ended.
fn runs(process: &String) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// The program began once, and a person is asked about it.
#[track_caller]
fn assert_in_doubt(desk: &Desk, said: &Said) {
    assert_eq!(said.status, Some(3), "{said:?}");
    let asks = said.interrupts();
    assert_eq!(
        (&asks[0]["kind"], &asks[0]["tool"]),
        (&"in_doubt".into(), &"work".into())
    );
    let began = fs::read_to_string(desk.path().join("began")).unwrap();
    assert_eq!(began.lines().count(), 1, "{began}");
}

#[test]
fn what_a_program_writes_is_what_the_model_reads() {
    let desk = desk(
        r#"command = ["sh", "-c", "cat; pwd; echo \"$MODE $1\"", "-", "{{ a }}"]
stdin = "arguments"
folder = "inner"
env = ["PATH", "MODE=fast"]"#,
        "é b",
    );
    fs::create_dir(desk.path().join("inner")).unwrap();
    let said = desk.rag(RUN);
    assert_eq!(said.status, Some(0), "{said:?}");
    let answer = said.json()["output"].as_str().unwrap().to_owned();
    let result: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let folder = desk.path().canonicalize().unwrap().join("inner");
    let stdout = format!("{{\"a\":\"é b\"}}\n{}\nfast é b\n", folder.display());
    assert_eq!(result, serde_json::json!({ "status": 0, "stdout": stdout }));
}

#[test]
fn arguments_cannot_run_another_program() {
    for value in [
        "$(touch owned)",
        "; touch owned;",
        "`touch owned`",
        "| touch owned\n",
    ] {
        let desk = desk(r#"command = ["printf", "<%s>", "{{ a }}"]"#, value);
        let said = desk.rag(RUN);
        assert_eq!(said.status, Some(0), "{said:?}");
        let answer = said.json()["output"].as_str().unwrap().to_owned();
        let result: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(result["stdout"], format!("<{value}>"));
        assert!(!desk.path().join("owned").exists());
    }
    let desk = desk(r#"command = ["rm", "{{ a }}", "support.rag"]"#, "-f");
    let said = desk.rag(RUN);
    let answer = said.json()["output"].as_str().unwrap().to_owned();
    assert!(
        answer.contains("RAG0603") && answer.contains("as an option"),
        "{answer}"
    );
    assert!(desk.path().join("support.rag").exists());
}

#[test]
fn a_program_does_not_see_the_keys_of_models() {
    let desk = desk(r#"command = ["env"]"#, "");
    let mut command = desk.command(RUN);
    command.env("OPENAI_API_KEY", "sk-secret").env("LANG", "C");
    let said = Said::of(command.output().unwrap());
    assert_eq!(said.status, Some(0), "{said:?}");
    assert!(
        said.stdout.contains("LANG=C") && said.stdout.contains("PATH="),
        "{said:?}"
    );
    assert!(
        !said.stdout.contains("secret") && !said.stdout.contains("OPENAI"),
        "{said:?}"
    );
    let bodies = desk.journal("SELECT body FROM records").join("\n");
    assert!(!bodies.contains("secret"));
}

#[test]
fn a_killed_run_ends_its_program_on_resume_and_asks_a_person() {
    let desk = desk(&format!("{LONG}\ntimeout = \"300ms\""), "x");
    // A short time for the resume to wait; the run gets a longer one first.
    desk.edit("rustagents.toml", "300ms", "10m");
    let (mut run, processes) = inside_the_program(&desk);
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(processes.iter().all(runs), "nobody was there to end them");
    desk.edit("rustagents.toml", "10m", "300ms");

    let said = desk.resume(&[]);
    assert_in_doubt(&desk, &said);
    assert!(!processes.iter().any(runs), "the resume ended them");
    let again = desk.resume(&[]);
    assert_in_doubt(&desk, &again);
    assert_eq!(again.interrupts(), said.interrupts());
}

#[test]
fn a_killed_run_of_what_may_be_repeated_ends_the_old_program_first() {
    let tool = r#"command = ["sh", "-c", "echo $$ >> began; [ -e fast ] || sleep 300; echo done"]
effect = "repeatable"
timeout = "10m""#;
    let desk = desk(tool, "x");
    let (mut run, processes) = inside_the_program(&desk);
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(processes.iter().all(runs));
    desk.edit("rustagents.toml", "10m", "300ms");
    desk.write("fast", "");
    let said = desk.resume(&[]);
    assert_eq!(said.status, Some(0), "{said:?}");
    assert!(said.stdout.contains("done"), "{said:?}");
    assert!(!processes.iter().any(runs));
    let began = fs::read_to_string(desk.path().join("began")).unwrap();
    assert_eq!(began.lines().count(), 2);
}

#[test]
fn a_run_killed_at_any_of_its_writes_starts_its_program_once() {
    let tool = r#"command = ["sh", "-c", "echo began >> began; sleep 0.05"]"#;
    for side in ["before", "after"] {
        for write in 1.. {
            let mut desk = desk(tool, "x");
            desk.set_fault(Some(format!("{side}:{write}")));
            let mut said = desk.rag(RUN);
            desk.set_fault(None);
            if said.status.is_some() {
                assert_eq!(said.status, Some(0), "{said:?}");
                assert!(write > 8, "the run made {} writes", write - 1);
                break;
            }
            said = desk.resume(&[]);
            if said.has_no_run() {
                said = desk.rag(RUN);
            }
            if said.status == Some(3) {
                let call = said.interrupts()[0]["call"].as_str().unwrap().to_owned();
                said = desk.resume(&["--not-done".to_owned(), call]);
            }
            assert_eq!(said.status, Some(0), "{side}:{write}: {said:?}");
            let began = fs::read_to_string(desk.path().join("began")).unwrap_or_default();
            assert!(began.lines().count() <= 1, "{side}:{write}: {began}");
        }
    }
}

#[test]
fn ctrl_c_ends_the_program_and_the_thread_can_be_resumed() {
    let desk = desk(LONG, "x");
    let (run, processes) = inside_the_program(&desk);
    signal(&run, Signal::INT);
    let said = Said::of(run.wait_with_output().unwrap());
    assert_in_doubt(&desk, &said);
    assert!(!processes.iter().any(runs), "{said:?}");
    let said = desk.resume(&[]);
    assert_in_doubt(&desk, &said);
    let call = said.interrupts()[0]["call"].as_str().unwrap().to_owned();
    let said = desk.resume(&["--not-done".to_owned(), call]);
    assert_eq!(said.status, Some(0), "{said:?}");
}

#[test]
fn a_closed_terminal_ends_the_program_and_the_thread_can_be_resumed() {
    let desk = desk(
        &format!("{LONG}\neffect = \"repeatable\"\ntimeout = \"10m\""),
        "x",
    );
    let (run, processes) = inside_the_program(&desk);
    // A shell and the system both tell of it, one after the other.
    signal(&run, Signal::HUP);
    signal(&run, Signal::HUP);
    let said = Said::of(run.wait_with_output().unwrap());
    assert_eq!(said.status, Some(129), "{said:?}");
    assert!(!processes.iter().any(runs), "{said:?}");
    let listed = desk.rag(&["threads"]);
    assert!(listed.stdout.starts_with("demo  unfinished"), "{listed:?}");
}

#[test]
fn who_is_told_to_outlive_the_terminal_does() {
    let tool =
        r#"command = ["sh", "-c", "echo $$ >> began; until test -e go; do sleep 0.05; done"]"#;
    let desk = desk(tool, "x");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
    shell.arg(env!("CARGO_BIN_EXE_rag")).args(RUN);
    shell.current_dir(desk.path());
    shell.stdout(std::process::Stdio::piped());
    let run = shell.spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !desk.path().join("began").exists() {
        assert!(Instant::now() < deadline, "the program never began");
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&run, Signal::HUP);
    desk.write("go", "");
    let said = Said::of(run.wait_with_output().unwrap());
    assert_eq!(said.status, Some(0), "{said:?}");
}

#[test]
fn a_time_out_ends_the_program_and_asks_a_person() {
    let desk = desk(&format!("{LONG}\ntimeout = \"200ms\""), "x");
    let said = desk.rag(RUN);
    assert_in_doubt(&desk, &said);
    let began = fs::read_to_string(desk.path().join("began")).unwrap();
    assert!(
        !began
            .split_whitespace()
            .map(str::to_owned)
            .any(|process| runs(&process))
    );
}

#[test]
fn a_broken_declaration_is_found_at_its_place() {
    for (tool, message, hint) in [
        (
            r#"command = ["cat", "{{ file }}"]"#,
            "the command uses `file`, which is not an argument",
            "the arguments are `a`",
        ),
        (
            r#"command = ["{{ a }}"]"#,
            "the program cannot be `{{ a }}`",
            "start with a name or path without `{{`",
        ),
        (
            "command = [\"sh\", \"-c\", \"cat {{ a }}\"]",
            "a script of `sh` cannot hold a placeholder",
            "give it as a word of its own after the script, which has it as `$1`",
        ),
    ] {
        let desk = desk(tool, "x");
        let said = desk.rag(&["check", ".", "--json"]);
        assert_eq!(said.status, Some(2), "{said:?}");
        let error = &said.json()["error"];
        assert_eq!(
            (error["code"].as_str(), error["message"].as_str()),
            (Some("RAG0203"), Some(message))
        );
        assert_eq!(error["hint"], hint);
        assert!(
            error["place"]
                .as_str()
                .unwrap()
                .ends_with("rustagents.toml:8:11"),
            "{error}"
        );
    }
}

#[test]
fn a_run_that_is_given_up_names_what_may_still_be_at_work() {
    let desk = desk(&format!("{LONG}\neffect = \"idempotent\""), "x");
    let (mut child, processes) = inside_the_program(&desk);
    child.kill().unwrap();
    child.wait().unwrap();
    let told = desk.rag(&["cancel", "demo"]);
    assert_eq!(told.status, Some(0), "{told:?}");
    let note = "call c-1 had started process";
    let at_work = format!("{note} {}, which may still be at work\n", processes[0]);
    assert!(told.stderr.contains(&at_work), "{told:?}");
    assert!(!told.stderr.contains('{'), "{told:?}");
    assert!(processes.iter().all(runs), "it ends nothing");

    let again = desk.rag(&["cancel", "demo"]);
    assert!(!again.stderr.contains(note), "said once: {again:?}");
    let group = Pid::from_raw(processes[0].parse().unwrap()).unwrap();
    rustix::process::kill_process_group(group, Signal::KILL).unwrap();
}

#[test]
fn a_run_that_is_given_up_names_nothing_that_has_ended() {
    let desk = desk(&format!("{LONG}\neffect = \"idempotent\""), "x");
    let (run, processes) = inside_the_program(&desk);
    signal(&run, Signal::INT);
    let said = Said::of(run.wait_with_output().unwrap());
    assert!(!processes.iter().any(runs), "{said:?}");
    let told = desk.rag(&["cancel", "demo"]);
    assert_eq!(
        (told.status, &*told.stderr),
        (Some(0), "thread demo is cancelled\n")
    );
}
