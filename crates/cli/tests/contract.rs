//! What people and scripts rely on: output, exit statuses, resume lines.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::bench::{Desk, REFUND, Said, approvals};

/// An input that needs nobody's answer, and its answer.
const DELIVERED: (&str, &str) = (
    "Please refund B-2002",
    "Order B-2002 is delivered, so there is nothing to pay back. No claim is needed.",
);

/// The answer when both calls were approved.
const DONE: &str = "129.0 € are on their way. A claim with the carrier is open.";

/// A plan whose one agent comes after itself.
const LOOP: &str = r#"graph loop {
  defaults { recursion_limit 3 }
  channel messages messages
  start again
  node again { kind agent  model "default"  prompt "Reply."  next again }
}"#;

/// A plan that asks with options first, and then for any answer.
const QUESTIONS: &str = r#"graph questions {
  channel messages messages
  channel note overwrite
  start choose
  node choose { kind interrupt  prompt "Ship it?"  routes { yes -> tell  no -> END } }
  node tell { kind interrupt  prompt "What shall I write?"  output note  next close }
  node close { kind agent  model "default"  prompt "Reply."  next END }
}"#;

/// The question about a tool.
fn ask(said: &Said, tool: &str) -> Value {
    let found = said
        .interrupts()
        .into_iter()
        .find(|ask| ask["tool"] == tool);
    found.unwrap_or_else(|| panic!("no question about `{tool}`: {said:?}"))
}

/// What approves the call behind a question.
fn approval(ask: &Value) -> Vec<String> {
    let (call, hash) = (ask["call"].as_str().unwrap(), ask["hash"].as_str().unwrap());
    vec!["--approve".into(), format!("{call}@{hash}")]
}

/// What denies the call behind a question.
fn denial(ask: &Value, reason: &str) -> Vec<String> {
    let call = ask["call"].as_str().unwrap();
    vec!["--deny".into(), format!("{call}{reason}")]
}

/// A command as a shell runs it in the desk's folder.
fn shell(desk: &Desk, line: &str) -> Said {
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .current_dir(desk.path())
        .stdin(Stdio::null())
        .env("NO_COLOR", "1");
    Said::of(command.output().unwrap())
}

/// Everything in the orders' database, in its order.
fn orders(desk: &Desk) -> Vec<String> {
    let file = desk.path().join(".rustagents/data/orders.db");
    let data = rusqlite::Connection::open(file).unwrap();
    let columns = "id || '|' || paid_cents || '|' || status || '|' || coalesce(claim, '')";
    let mut rows = data
        .prepare(&format!("SELECT {columns} FROM orders ORDER BY id"))
        .unwrap();
    let rows = rows.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

fn keys(object: &Value) -> BTreeSet<&str> {
    object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

fn assert_status(said: &Said, status: i32) {
    assert_eq!(said.status, Some(status), "{said:?}");
}

// The object.

#[test]
fn the_object_has_all_fields_whatever_the_run_came_to() {
    for (status, exit, arguments) in [
        (
            "completed",
            0,
            &["run", "support.rag", "--input", DELIVERED.0][..],
        ),
        ("suspended", 3, &["run", "support.rag", "--input", REFUND]),
        (
            "failed",
            1,
            &[
                "run",
                "support.rag",
                "--model",
                "default=scripted:mute.toml",
            ],
        ),
        ("budget_exceeded", 4, &["run", "loop.rag"]),
        ("failed", 2, &["run", "nowhere"]),
    ] {
        let desk = Desk::new();
        desk.write("mute.toml", "rule = []");
        desk.write("loop.rag", LOOP);
        let said = desk.rag(&[arguments, &["--json"]].concat());
        assert_status(&said, exit);
        assert_eq!(said.stderr, "", "{said:?}");
        let object = said.json();
        check_object(&object);
        assert_eq!(object["status"], status);
        assert_eq!(object["run"].is_null(), exit == 2, "{object}");
        assert_eq!(object["error"].is_null(), matches!(exit, 0 | 3), "{object}");
        let asks = object["interrupts"].as_array().unwrap();
        assert_eq!(asks.is_empty(), exit != 3, "{object}");
    }
}

/// Fields and types of `rag.run/1`.
fn check_object(object: &Value) {
    let fields = [
        "schema",
        "status",
        "thread",
        "run",
        "output",
        "interrupts",
        "usage",
        "cost",
        "steps",
        "error",
    ];
    assert_eq!(keys(object), BTreeSet::from(fields), "{object}");
    assert_eq!(object["schema"], "rag.run/1");
    for field in ["thread", "run", "output"] {
        assert!(
            object[field].is_null() || object[field].is_string(),
            "{object}"
        );
    }
    assert_eq!(
        object["thread"].is_null(),
        object["run"].is_null(),
        "{object}"
    );
    assert!(object["steps"].is_u64(), "{object}");
    assert_eq!(object["cost"], Value::Null, "a script costs nothing");
    let usage = [
        "input_tokens",
        "output_tokens",
        "cached_tokens",
        "reasoning_tokens",
        "model_calls",
        "tool_calls",
    ];
    assert_eq!(keys(&object["usage"]), BTreeSet::from(usage), "{object}");
    for field in usage {
        assert!(object["usage"][field].is_u64(), "{object}");
    }
    let error = &object["error"];
    if !error.is_null() {
        assert!(
            keys(error).is_superset(&BTreeSet::from(["code", "message", "hint"])),
            "{error}"
        );
        assert!(
            error["code"].as_str().unwrap().starts_with("RAG"),
            "{error}"
        );
        assert!(error["message"].is_string(), "{error}");
        assert!(
            error["hint"].is_null() || error["hint"].is_string(),
            "{error}"
        );
    }
}

#[test]
fn an_interrupt_says_what_is_asked_and_how_to_answer() {
    let desk = Desk::new();
    let said = desk.run_refund();
    let refund = ask(&said, "refund");
    let (call, hash) = (
        refund["call"].as_str().unwrap(),
        refund["hash"].as_str().unwrap(),
    );
    let program = env!("CARGO_BIN_EXE_rag");
    let expected = json!({
        "id": call, "kind": "approval", "node": "refunds", "call": call, "tool": "refund",
        "arguments": {"order": "A-1042", "amount_cents": 12900}, "hash": hash,
        "prompt": "Refund 12900 cents for A-1042",
        "resume": format!("{program} resume demo --approve {call}@{hash}"),
    });
    assert_eq!(refund, expected);
    assert!(
        hash.len() >= 4 && hash.chars().all(|c| c.is_ascii_hexdigit()),
        "{hash}"
    );

    let claim = ask(&said, "open_claim");
    assert_eq!(keys(&claim), keys(&refund));
    assert_eq!(claim["node"], "carrier");
    assert_ne!(
        (&claim["call"], &claim["hash"]),
        (&refund["call"], &refund["hash"])
    );

    desk.write("questions.rag", QUESTIONS);
    let said = desk.rag(&["run", "questions.rag", "--thread", "q", "--json"]);
    let question = &said.interrupts()[0];
    assert_eq!(keys(question), keys(&refund));
    assert_eq!(question["kind"], "interrupt");
    assert_eq!(question["node"], "choose");
    assert_eq!(question["prompt"], "Ship it?");
    for field in ["call", "tool", "arguments", "hash"] {
        assert_eq!(question[field], Value::Null, "{question}");
    }
}

#[test]
fn steps_and_usage_count_the_whole_run() {
    let desk = Desk::new();
    let first = desk.run_refund().json();
    assert_eq!(first["steps"], 1);
    assert_eq!(first["usage"]["model_calls"], 5);
    assert_eq!(first["usage"]["tool_calls"], 2);
    let said = desk.run_refund();
    let last = desk.resume(&approvals(&said)).json();
    assert_eq!(last["steps"], 3);
    assert_eq!(last["usage"]["model_calls"], 8);
    assert_eq!(last["usage"]["tool_calls"], 4);
    assert_eq!(last["run"], first["run"]);
    assert_eq!(last["thread"], "demo");
}

// Standard output and standard error.

#[test]
fn the_answer_alone_goes_to_standard_output() {
    let desk = Desk::new();
    let said = desk.rag(&["run", ".", "--input", DELIVERED.0]);
    assert_status(&said, 0);
    assert_eq!(said.stdout, format!("{}\n", DELIVERED.1));
    for node in ["triage", "refunds", "carrier", "reply"] {
        assert!(said.stderr.contains(node), "no {node} in {said:?}");
    }

    let quiet = desk.rag(&["run", ".", "--input", DELIVERED.0, "--quiet"]);
    assert_status(&quiet, 0);
    assert_eq!((&*quiet.stdout, &*quiet.stderr), (&*said.stdout, ""));
}

#[test]
fn what_a_run_waits_for_goes_to_standard_error() {
    for quiet in [&[][..], &["--quiet"]] {
        let desk = Desk::new();
        let arguments = ["run", ".", "--thread", "demo", "--input", REFUND];
        let said = desk.rag(&[&arguments, quiet].concat());
        assert_status(&said, 3);
        assert_eq!(said.stdout, "");
        let asked = desk.rag(&["resume", "demo", "--json"]);
        for tool in ["refund", "open_claim"] {
            let ask = ask(&asked, tool);
            assert!(
                said.stderr.contains(ask["prompt"].as_str().unwrap()),
                "{said:?}"
            );
            assert!(said.stderr.contains(&approval(&ask).join(" ")), "{said:?}");
        }
        assert_eq!(said.stderr.contains("triage"), quiet.is_empty(), "{said:?}");
    }
}

#[test]
fn a_failure_goes_to_standard_error() {
    let desk = Desk::new();
    desk.write("script.toml", "rule = []");
    let said = desk.rag(&["run", ".", "--input", REFUND, "--quiet"]);
    assert_status(&said, 1);
    assert_eq!(said.stdout, "");
    assert!(said.stderr.contains("error[RAG0504]"), "{said:?}");
    assert!(said.stderr.contains("hint: "), "{said:?}");
}

#[test]
fn colours_are_used_as_asked() {
    let desk = Desk::new();
    for (options, no_color, force, coloured) in [
        (&["--color", "always"][..], true, false, true),
        (&["--color", "always"], false, false, true),
        (&["--color", "never"], false, true, false),
        (&["--color", "auto"], false, true, true),
        (&["--color", "auto"], true, true, false),
        (&[], true, true, false),
        // A pipe is no terminal.
        (&[], false, false, false),
    ] {
        let arguments = ["run", ".", "--input", DELIVERED.0];
        let mut command = desk.command(&[&arguments, options].concat());
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        if no_color {
            command.env("NO_COLOR", "1");
        }
        if force {
            command.env("CLICOLOR_FORCE", "1");
        }
        let said = Said::of(command.output().unwrap());
        assert_status(&said, 0);
        assert_eq!(
            said.stderr.contains('\u{1b}'),
            coloured,
            "{options:?}: {said:?}"
        );
        assert_eq!(said.stdout, format!("{}\n", DELIVERED.1), "{options:?}");
    }
}

#[test]
fn the_object_has_no_colours() {
    let desk = Desk::new();
    for arguments in [
        &["run", ".", "--input", DELIVERED.0][..],
        &["run", "nowhere"],
        &["check", "support.rag"],
    ] {
        let said = desk.rag(&[arguments, &["--json", "--color", "always"]].concat());
        assert!(!said.stdout.contains('\u{1b}'), "{said:?}");
        assert!(said.json()["schema"].is_string());
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for json in [&[][..], &["--json"]] {
        let desk = Desk::new();
        let arguments = [
            "run",
            ".",
            "--thread",
            "demo",
            "--quiet",
            "--input",
            DELIVERED.0,
        ];
        let mut child = desk.spawn(&[&arguments, json].concat());
        drop(child.stdout.take());
        let said = Said::of(child.wait_with_output().unwrap());
        assert_status(&said, 0);
        assert_eq!(said.stderr, "");
        assert_eq!(
            desk.rag(&["resume", "demo"]).stdout,
            format!("{}\n", DELIVERED.1)
        );
    }
    let desk = Desk::new();
    let mut child = desk.spawn(&["--help"]);
    drop(child.stdout.take());
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!((said.status, &*said.stderr), (Some(0), ""));
}

#[test]
fn a_listener_that_goes_away_stops_no_run() {
    let desk = Desk::new();
    let mut child = desk.spawn(&["run", ".", "--thread", "demo", "--input", DELIVERED.0]);
    drop(child.stderr.take());
    let said = Said::of(child.wait_with_output().unwrap());
    assert_status(&said, 0);
    assert_eq!(said.stdout, format!("{}\n", DELIVERED.1));
}

// Inputs and threads.

#[test]
fn the_input_comes_from_an_option_a_file_or_standard_input() {
    let desk = Desk::new();
    desk.write("input.txt", DELIVERED.0);
    let arguments = ["run", ".", "-"];
    let mut child = desk.command(&arguments);
    let mut child = child
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(DELIVERED.0.as_bytes()).unwrap();
    drop(stdin);
    for said in [
        Said::of(child.wait_with_output().unwrap()),
        desk.rag(&["run", ".", "--input-file", "input.txt"]),
        desk.rag(&["run", ".", "--input", DELIVERED.0]),
    ] {
        assert_status(&said, 0);
        assert_eq!(said.stdout, format!("{}\n", DELIVERED.1));
    }
    let messages = "SELECT json_extract(body, '$') FROM messages WHERE name = 'm-1'";
    let messages = desk.journal(messages);
    assert_eq!(messages.len(), 3);
    assert!(
        messages.iter().all(|message| message.contains(DELIVERED.0)),
        "{messages:?}"
    );
}

#[test]
fn an_input_may_be_as_large_as_the_limit() {
    let desk = Desk::new();
    desk.write("input.txt", vec![b'a'; 1 << 20]);
    let said = desk.rag(&["run", ".", "--input-file", "input.txt", "--json"]);
    assert_status(&said, 0);
}

#[test]
fn a_run_without_a_thread_makes_a_new_one() {
    let desk = Desk::new();
    let run = || desk.rag(&["run", ".", "--input", REFUND, "--json"]);
    let (first, second) = (run(), run());
    let name = |said: &Said| said.json()["thread"].as_str().unwrap().to_owned();
    assert_ne!(name(&first), name(&second));
    for said in [&first, &second] {
        assert_status(said, 3);
        let resumed = desk.rag(&["resume", &name(said), "--json"]);
        assert_status(&resumed, 3);
        assert_eq!(resumed.interrupts(), said.interrupts());
    }
}

#[test]
fn the_target_is_a_plan_or_the_folder_that_holds_it() {
    let desk = Desk::new();
    let whole = desk.path().to_str().unwrap().to_owned();
    for target in [".", "support.rag", "./support.rag", &whole] {
        let said = desk.rag(&["run", target, "--input", DELIVERED.0]);
        assert_status(&said, 0);
        assert_eq!(said.stdout, format!("{}\n", DELIVERED.1));
    }
}

#[test]
fn the_nearest_configuration_above_the_target_counts() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path().join("plans/desk")).unwrap();
    let moved = desk.path().join("plans/desk/support.rag");
    fs::rename(desk.path().join("support.rag"), moved).unwrap();
    let said = desk.rag(&["run", "plans/desk", "--input", DELIVERED.0]);
    assert_status(&said, 0);

    desk.write(
        "plans/rustagents.toml",
        "[models]\ndefault = \"scripted:no.toml\"\n",
    );
    let said = desk.rag(&["run", "plans/desk", "--json"]);
    assert_status(&said, 2);
    let place = said.json()["error"]["place"].as_str().unwrap().to_owned();
    assert!(place.ends_with("plans/rustagents.toml:2:11"), "{place}");

    let config = ["--config", "rustagents.toml"];
    let said = desk.rag(&[&["run", "plans/desk", "--input", DELIVERED.0], &config[..]].concat());
    assert_status(&said, 0);
}

#[test]
fn a_model_of_the_command_line_comes_before_the_configurations() {
    let desk = Desk::new();
    let script = fs::read_to_string(desk.path().join("script.toml")).unwrap();
    let other = script.replace("are on their way", "were sent");
    desk.write("other.toml", other);
    let said = desk.rag(&[
        "run",
        ".",
        "--thread",
        "demo",
        "--input",
        REFUND,
        "--json",
        "--model",
        "default=scripted:other.toml",
    ]);
    assert_status(&said, 3);

    // The record names the model, wherever the run goes on.
    let elsewhere = tempfile::tempdir().unwrap();
    let store = format!(
        "sqlite:{}",
        desk.path().join(".rustagents/journal.db").display()
    );
    let options = approvals(&said);
    let mut arguments = vec!["resume", "demo", "--store", &store];
    arguments.extend(options.iter().map(String::as_str));
    let mut command = desk.command(&arguments);
    let said = Said::of(command.current_dir(&elsewhere).output().unwrap());
    assert_status(&said, 0);
    assert!(said.stdout.contains("129.0 € were sent."), "{said:?}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn a_model_on_resume_comes_before_the_recorded_ones() {
    let desk = Desk::new();
    let script = fs::read_to_string(desk.path().join("script.toml")).unwrap();
    desk.write(
        "other.toml",
        script.replace("are on their way", "were sent"),
    );
    let mut options = approvals(&desk.run_refund());
    options.extend(["--model".into(), "default=scripted:other.toml".into()]);
    let said = desk.resume(&options);
    assert_status(&said, 0);
    assert!(
        said.json()["output"]
            .as_str()
            .unwrap()
            .contains("were sent"),
        "{said:?}"
    );
}

#[test]
fn a_value_for_a_channel_is_written_before_the_first_step() {
    let desk = Desk::new();
    let said = desk.rag(&[
        "run",
        ".",
        "--thread",
        "demo",
        "--set",
        r#"topic={"a": [1]}"#,
    ]);
    assert_status(&said, 0);
    let first = "SELECT body FROM records WHERE kind = 'graph.checkpoint' ORDER BY id LIMIT 1";
    let checkpoint: Value = serde_json::from_str(&desk.journal(first)[0]).unwrap();
    assert_eq!(
        checkpoint["deltas"],
        json!([["topic", {"set": {"a": [1]}}]])
    );
}

#[test]
fn a_store_in_memory_leaves_no_journal() {
    let desk = Desk::new();
    let said = desk.rag(&["run", ".", "--input", DELIVERED.0, "--store", "memory:"]);
    assert_status(&said, 0);
    assert_eq!(said.stdout, format!("{}\n", DELIVERED.1));
    assert!(!desk.path().join(".rustagents/journal.db").exists());
}

#[test]
fn a_new_input_continues_the_conversation() {
    let desk = Desk::new();
    let run = || {
        desk.rag(&[
            "run",
            ".",
            "--thread",
            "demo",
            "--input",
            DELIVERED.0,
            "--json",
        ])
    };
    let (first, second) = (run().json(), run().json());
    assert_eq!(second["thread"], first["thread"]);
    assert_ne!(second["run"], first["run"]);
    assert_eq!(
        second["output"], DELIVERED.1,
        "the answers of this run alone"
    );
    for count in ["/steps", "/usage/model_calls", "/usage/tool_calls"] {
        assert_eq!(
            second.pointer(count),
            first.pointer(count),
            "{count} is the run's own"
        );
    }
    let read = |object: &Value| object["usage"]["input_tokens"].as_u64().unwrap();
    assert!(
        read(&second) > read(&first),
        "the model reads what was said before"
    );
    assert_eq!(desk.journal("SELECT count(*) FROM threads"), ["1"]);
    let opened = "SELECT body FROM records WHERE kind = 'run.opened' ORDER BY id";
    assert_eq!(desk.journal(opened).len(), 2);
}

// The resume line.

#[test]
fn the_resume_line_works_as_it_is() {
    for (thread, store) in [
        ("demo", None),
        ("it's a thread; $(touch oops) `x` \"y\" *", None),
        ("demo", Some("sqlite:a store/it's.db")),
        ("demo", Some("sqlite:./j.db")),
    ] {
        let desk = Desk::new();
        let mut arguments = vec!["run", ".", "--thread", thread, "--input", REFUND, "--json"];
        if let Some(store) = store {
            arguments.extend(["--store", store]);
        }
        let said = desk.rag(&arguments);
        let lines = said.interrupts();
        assert_eq!(lines.len(), 2, "{said:?}");
        let mut statuses = Vec::new();
        let mut outputs = Vec::new();
        for ask in lines {
            let line = ask["resume"].as_str().unwrap().to_owned();
            assert!(line.starts_with(env!("CARGO_BIN_EXE_rag")), "{line}");
            assert_eq!(line.contains("--store"), store.is_some(), "{line}");
            let said = shell(&desk, &line);
            statuses.push(said.status);
            outputs.push(said.stdout);
        }
        assert_eq!(statuses, [Some(3), Some(0)]);
        assert_eq!(outputs, [String::new(), format!("{DONE}\n")]);
        assert!(!desk.path().join("oops").exists());
    }
}

#[test]
fn the_resume_line_for_all_answers_works_as_it_is() {
    let desk = Desk::new();
    let told = desk.rag(&["run", ".", "--thread", "demo", "--input", REFUND]);
    let mut lines = told.stderr.lines().map(str::trim);
    let line = lines.find(|line| line.starts_with(env!("CARGO_BIN_EXE_rag")));
    let said = shell(&desk, line.unwrap());
    assert_status(&said, 0);
    assert_eq!(said.stdout, format!("{DONE}\n"));
}

#[test]
fn the_resume_line_names_the_program_as_it_was_called() {
    for (name, shown) in [("rag-link", "./rag-link"), ("my rag", "'./my rag'")] {
        let desk = Desk::new();
        symlink(env!("CARGO_BIN_EXE_rag"), desk.path().join(name)).unwrap();
        let said = shell(
            &desk,
            &format!("'./{name}' run . --thread demo --input '{REFUND}' --json"),
        );
        assert_status(&said, 3);
        let line = ask(&said, "refund")["resume"].as_str().unwrap().to_owned();
        assert!(line.starts_with(&format!("{shown} resume demo ")), "{line}");
        assert_status(&shell(&desk, &line), 3);
        assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));
    }
}

#[test]
fn an_answer_that_only_a_person_knows_is_refused_as_it_is_printed() {
    let desk = Desk::new();
    desk.write("questions.rag", QUESTIONS);
    let said = desk.rag(&["run", "questions.rag", "--thread", "demo", "--json"]);
    let line = said.interrupts()[0]["resume"].as_str().unwrap().to_owned();
    let before = desk.files();
    let said = shell(&desk, &format!("{line} --json"));
    assert_status(&said, 2);
    assert_eq!(said.code(), "RAG0405");
    assert!(desk.files() == before);
    let answered = shell(&desk, &line.replace("ANSWER", "'\"yes\"'"));
    assert_status(&answered, 3);
}

#[test]
fn a_thread_goes_on_from_any_folder() {
    let desk = Desk::new();
    let said = desk.run_refund();
    let elsewhere = tempfile::tempdir().unwrap();
    let store = format!(
        "sqlite:{}",
        desk.path().join(".rustagents/journal.db").display()
    );
    let mut arguments = vec!["resume".into(), "demo".into(), "--store".into(), store];
    arguments.extend(approvals(&said));
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let said = Said::of(
        desk.command(&arguments)
            .current_dir(&elsewhere)
            .output()
            .unwrap(),
    );
    assert_status(&said, 0);
    assert_eq!(said.stdout, format!("{DONE}\n"));
    assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

// Decisions.

#[test]
fn both_calls_approved_together_run_once() {
    let desk = Desk::new();
    let said = desk.run_refund();
    let before = orders(&desk);
    let done = desk.resume(&approvals(&said));
    assert_status(&done, 0);
    assert_eq!(done.json()["output"], DONE);
    let expected: Vec<_> = before
        .iter()
        .map(|row| row.replace("A-1042|12900|paid|", "A-1042|12900|refunded|open"))
        .collect();
    assert_ne!(expected, before);
    assert_eq!(orders(&desk), expected);
    let intents = "SELECT count(*) FROM records WHERE kind = 'effect.intent'";
    assert_eq!(desk.journal(intents), ["2"], "one try of each call");
}

#[test]
fn one_call_today_and_one_tomorrow_is_the_same() {
    for order in [["refund", "open_claim"], ["open_claim", "refund"]] {
        let desk = Desk::new();
        let said = desk.run_refund();
        let [first, second] = order.map(|tool| ask(&said, tool));

        let today = desk.resume(&approval(&first));
        assert_status(&today, 3);
        assert_eq!(today.interrupts(), std::slice::from_ref(&second));
        let refunded = desk.order("A-1042", "status").as_deref() == Some("refunded");
        assert_eq!(
            refunded,
            order[0] == "refund",
            "only what was approved happened"
        );

        let tomorrow = desk.resume(&approval(&second));
        assert_status(&tomorrow, 0);
        assert_eq!(tomorrow.json()["output"], DONE);
        assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));
        assert_eq!(desk.order("A-1042", "claim").as_deref(), Some("open"));
    }
}

#[test]
fn a_denied_call_does_nothing_and_the_model_hears_why() {
    for reason in ["=the customer has the chair", "=a=b", "="] {
        let desk = Desk::new();
        let said = desk.run_refund();
        let before = orders(&desk);
        let mut options = denial(&ask(&said, "refund"), reason);
        options.extend(denial(&ask(&said, "open_claim"), ""));
        let done = desk.resume(&options);
        assert_status(&done, 0);
        let output = done.json()["output"].as_str().unwrap().to_owned();
        assert!(output.starts_with("No refund: "), "{output}");
        assert!(output.contains(&reason[1..]), "{output}");
        assert!(output.contains("No claim: "), "{output}");
        assert_eq!(orders(&desk), before);
        let intents = "SELECT count(*) FROM records WHERE kind = 'effect.intent'";
        assert_eq!(desk.journal(intents), ["0"]);
    }
}

#[test]
fn one_call_may_be_approved_and_the_other_denied_at_once() {
    let desk = Desk::new();
    let said = desk.run_refund();
    let mut options = approval(&ask(&said, "open_claim"));
    options.extend(denial(&ask(&said, "refund"), "=no"));
    assert_status(&desk.resume(&options), 0);
    assert_eq!(desk.order("A-1042", "status").as_deref(), Some("paid"));
    assert_eq!(desk.order("A-1042", "claim").as_deref(), Some("open"));
}

#[test]
fn an_approval_may_name_the_call_alone_or_more_of_its_hash() {
    let desk = Desk::new();
    let said = desk.run_refund();
    let refund = ask(&said, "refund");
    let claim = ask(&said, "open_claim");
    let text = |ask: &Value, field: &str| ask[field].as_str().unwrap().to_owned();
    let short = text(&claim, "hash")[..4].to_ascii_uppercase();
    let options = [
        "--approve".into(),
        text(&refund, "call"),
        "--approve".into(),
        format!("{}@{short}", text(&claim, "call")),
    ];
    assert_status(&desk.resume(&options), 0);
}

#[test]
fn a_question_with_options_takes_one_of_them() {
    let (yes, no) = (r#""yes""#, r#"" NO ""#);
    for (answer, exit) in [(yes, 3), (no, 0)] {
        let desk = Desk::new();
        desk.write("questions.rag", QUESTIONS);
        let said = desk.rag(&["run", "questions.rag", "--thread", "demo", "--json"]);
        let id = said.interrupts()[0]["id"].as_str().unwrap().to_owned();
        let before = desk.files();
        for wrong in [r#""maybe""#, "true", "null", r#"["yes"]"#, r#""""#] {
            let said = desk.resume(&["--answer".into(), format!("{id}={wrong}")]);
            assert_status(&said, 2);
            assert_eq!(said.code(), "RAG0406", "{wrong}");
            let error = said.json()["error"].to_string();
            assert!(error.contains("yes, no"), "{error}");
        }
        for option in ["--approve", "--deny", "--not-done", "--repeat"] {
            let said = desk.resume(&[option.into(), id.clone()]);
            assert_status(&said, 2);
            assert_eq!(said.code(), "RAG0406", "{option}");
        }
        assert!(desk.files() == before);
        let said = desk.resume(&["--answer".into(), format!("{id}={answer}")]);
        assert_status(&said, exit);
    }
}

#[test]
fn a_question_without_options_takes_any_json_into_its_channel() {
    for answer in [json!("a note"), json!(null), json!({"a": [1, {"b": null}]})] {
        let desk = Desk::new();
        desk.write("questions.rag", QUESTIONS);
        let said = desk.rag(&["run", "questions.rag", "--thread", "demo", "--json"]);
        let id = said.interrupts()[0]["id"].as_str().unwrap().to_owned();
        let said = desk.resume(&["--answer".into(), format!("{id}=\"yes\"")]);
        let asks = said.interrupts();
        assert_eq!(asks.len(), 1);
        assert_eq!(asks[0]["node"], "tell");
        let id = asks[0]["id"].as_str().unwrap();
        assert_status(
            &desk.resume(&["--answer".into(), format!("{id}={answer}")]),
            0,
        );
        let rows = desk.journal("SELECT body FROM records WHERE kind = 'graph.checkpoint'");
        let written = json!([["note", {"set": answer}]]);
        let wrote =
            |body: &String| serde_json::from_str::<Value>(body).unwrap()["deltas"] == written;
        assert_eq!(
            rows.iter().filter(|body| wrote(body)).count(),
            1,
            "{rows:?}"
        );
    }
}

// What ended, and what waits.

#[test]
fn resuming_what_has_an_outcome_prints_it_and_writes_nothing() {
    for (arguments, exit) in [
        (&["run", "support.rag", "--input", DELIVERED.0][..], 0),
        (
            &[
                "run",
                "support.rag",
                "--model",
                "default=scripted:mute.toml",
            ],
            1,
        ),
        (&["run", "support.rag", "--input", REFUND], 3),
        (&["run", "loop.rag"], 4),
    ] {
        let desk = Desk::new();
        desk.write("mute.toml", "rule = []");
        desk.write("loop.rag", LOOP);
        let run = desk.rag(&[arguments, &["--thread", "demo", "--json"]].concat());
        assert_status(&run, exit);
        let before = desk.files();

        let object = desk.resume(&[]);
        assert_status(&object, exit);
        assert_eq!(
            but_for_the_hint(object.json()),
            but_for_the_hint(run.json())
        );

        let told = desk.rag(&["resume", "demo"]);
        assert_status(&told, exit);
        let answer = if exit == 0 {
            format!("{}\n", DELIVERED.1)
        } else {
            String::new()
        };
        assert_eq!(told.stdout, answer);
        let says = match exit {
            0 => String::new(),
            3 => "go on with:".to_owned(),
            _ => format!("error[{}]", run.code()),
        };
        assert!(told.stderr.contains(&says), "{told:?}");
        assert_eq!(told.stderr.is_empty(), says.is_empty(), "{told:?}");
        assert!(
            desk.files() == before,
            "{arguments:?}: a resume wrote something"
        );
    }
}

/// A record keeps no hint.
fn but_for_the_hint(mut object: Value) -> Value {
    if let Some(error) = object["error"].as_object_mut() {
        error.remove("hint");
    }
    object
}

#[test]
fn a_run_that_ended_badly_can_be_followed_by_another() {
    let desk = Desk::new();
    desk.write("mute.toml", "rule = []");
    let run = |options: &[&str]| {
        let arguments = ["run", ".", "--thread", "demo", "--input", DELIVERED.0];
        desk.rag(&[&arguments, options].concat())
    };
    assert_status(&run(&["--model", "default=scripted:mute.toml"]), 1);
    let said = run(&[]);
    assert_status(&said, 0);
    assert_eq!(said.stdout, format!("{}\n", DELIVERED.1));
}

#[test]
fn a_plan_that_loops_ends_at_its_recursion_limit() {
    let desk = Desk::new();
    desk.write("loop.rag", LOOP);
    let said = desk.rag(&["run", "loop.rag", "--json"]);
    assert_status(&said, 4);
    assert_eq!(said.code(), "RAG0702");
    let object = said.json();
    assert_eq!(object["status"], "budget_exceeded");
    assert_eq!(object["steps"], 3);
    assert!(
        object["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("recursion_limit")
    );
}

#[test]
fn a_run_takes_no_more_than_its_limits() {
    for (limit, counted) in [
        ("steps = 1", "/steps"),
        ("model_calls = 2", "/usage/model_calls"),
        ("model_calls = 0", "/usage/model_calls"),
        ("tool_calls = 1", "/usage/tool_calls"),
        ("tool_calls = 0", "/usage/tool_calls"),
    ] {
        let desk = Desk::new();
        let config = desk.path().join("rustagents.toml");
        let toml = fs::read_to_string(&config).unwrap();
        desk.write("rustagents.toml", format!("{toml}\n[limits]\n{limit}\n"));
        let said = desk.rag(&["run", ".", "--input", DELIVERED.0, "--json"]);
        assert_status(&said, 4);
        assert_eq!(said.code(), "RAG0701", "{limit}");
        let object = said.json();
        assert_eq!(object["status"], "budget_exceeded");
        let (_, most) = limit.split_once(" = ").unwrap();
        assert_eq!(
            object.pointer(counted).unwrap().to_string(),
            most,
            "{limit}: {object}"
        );
        assert!(
            object["error"]["message"].as_str().unwrap().contains(most),
            "{object}"
        );
    }
}

#[test]
fn the_limits_of_a_run_are_those_that_it_was_opened_with() {
    let desk = Desk::new();
    let said = desk.run_refund();
    let config = desk.path().join("rustagents.toml");
    let toml = fs::read_to_string(&config).unwrap();
    desk.write(
        "rustagents.toml",
        format!("{toml}\n[limits]\nmodel_calls = 1\n"),
    );
    assert_status(&desk.resume(&approvals(&said)), 0);
}

// Plans that changed meanwhile.

#[test]
fn a_changed_prompt_is_compatible_and_recorded() {
    let desk = Desk::new();
    let said = desk.run_refund();
    desk.edit(
        "support.rag",
        "Refund clerk. Look",
        "Refund clerk. Please look",
    );
    let done = desk.resume(&approvals(&said));
    assert_status(&done, 0);
    assert_eq!(done.json()["output"], DONE);
    let attempt = desk.journal("SELECT body FROM records WHERE kind = 'run.attempt'");
    let attempt: Value = serde_json::from_str(&attempt[0]).unwrap();
    assert!(attempt["definition"].is_string(), "{attempt}");
}

#[test]
fn a_plan_without_what_is_pending_is_refused() {
    for (name, from, to, says) in [
        (
            "support.rag",
            r#"["lookup_order", "refund"]"#,
            r#"["lookup_order"]"#,
            "`refund`",
        ),
        ("support.rag", "refunds", "payments", "`refunds`"),
        (
            "rustagents.toml",
            "effect = \"once\"",
            "effect = \"idempotent\"",
            "effect",
        ),
    ] {
        let desk = Desk::new();
        let said = desk.run_refund();
        desk.edit(name, from, to);
        let before = desk.files();
        let options = approvals(&said);
        let refused = desk.resume(&options);
        assert_status(&refused, 2);
        assert_eq!(refused.code(), "RAG0409");
        let error = refused.json()["error"].clone();
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
        assert!(error["hint"].is_string(), "{error}");
        assert!(desk.files() == before);

        // What is pending can still be read, and goes on when the plan is back.
        let pending = desk.resume(&[]);
        assert_status(&pending, 3);
        assert_eq!(pending.interrupts(), said.interrupts());
        desk.edit(name, to, from);
        assert_status(&desk.resume(&options), 0);
    }
}

#[test]
fn a_plan_that_moved_is_found_by_the_target() {
    let desk = Desk::new();
    let said = desk.run_refund();
    fs::create_dir(desk.path().join("new")).unwrap();
    let plan = |name: &str| desk.path().join(name);
    fs::rename(plan("support.rag"), plan("new/support.rag")).unwrap();
    let mut options = approvals(&said);
    let refused = desk.resume(&options);
    assert_status(&refused, 2);
    assert_eq!(refused.code(), "RAG0002");
    assert!(
        refused.json()["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("--target")
    );
    options.extend(["--target".into(), "new".into()]);
    let done = desk.resume(&options);
    assert_status(&done, 0);
    assert_eq!(done.json()["output"], DONE);
}

// Help.

/// The commands that `rag --help` shows.
fn commands(desk: &Desk) -> Vec<String> {
    let help = desk.rag(&["--help"]);
    assert_eq!((help.status, &*help.stderr), (Some(0), ""));
    section(&help.stdout, "Commands:")
        .iter()
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect()
}

/// The lines below a title, up to an empty one.
fn section(help: &str, title: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != title)
        .skip(1)
        .take_while(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The long options in a text.
fn options(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| c.is_whitespace() || "[]<>'`,=.".contains(c));
    words
        .filter(|word| word.len() > 2 && word.starts_with("--"))
        .map(str::to_owned)
        .collect()
}

/// Whether the command line knows an option of a command.
fn is_known(desk: &Desk, command: &str, option: &str) -> bool {
    let said = desk.rag(&[command, option]);
    !said.stderr.contains("unexpected argument")
}

#[test]
fn help_shows_exactly_what_is_real() {
    let desk = Desk::new();
    let shown = commands(&desk);
    let contract = [
        "run",
        "resume",
        "cancel",
        "chat",
        "events",
        "store",
        "threads",
        "check",
        "fmt",
        "graph",
        "diff",
        "repl",
        "exec",
        "lsp",
        "models",
        "new",
        "explain",
        "doctor",
        "checkpointer",
    ];
    for command in contract {
        let help = desk.rag(&[command, "--help"]);
        let is_real = shown.iter().any(|name| name == command);
        assert_eq!(help.status == Some(0), is_real, "{command}: {help:?}");
    }
    assert!(
        shown.iter().all(|name| contract.contains(&&**name)),
        "{shown:?}"
    );
    let planned = [
        "--on-busy",
        "--takeover",
        "--durability",
        "--events",
        "--force",
        "--pin",
        "--template",
    ];
    for command in &shown {
        let help = desk.rag(&[command, "--help"]);
        let real = options(&help.stdout);
        for option in &real {
            assert!(is_known(&desk, command, option), "{command} {option}");
        }
        for option in planned {
            assert_eq!(
                is_known(&desk, command, option),
                real.contains(option),
                "{command} {option}"
            );
        }
    }
}

#[test]
fn every_command_takes_the_common_options() {
    let desk = Desk::new();
    let shown = commands(&desk);
    for command in &shown {
        let help = desk.rag(&[command, "--help"]).stdout;
        let common = options(&section(&help, "Common options:").join("\n"));
        for option in [
            "--config",
            "--store",
            "--json",
            "--quiet",
            "--color",
            "--verbose",
        ] {
            assert!(common.contains(option), "{command} {option}");
        }
    }
    let version = desk.rag(&["--version"]);
    assert_status(&version, 0);
    assert!(version.stdout.starts_with("rag "), "{version:?}");
}

// `rag check`.

#[test]
fn a_clean_plan_has_no_diagnostics() {
    let desk = Desk::new();
    desk.write("loop.rag", LOOP);
    let files = ["support.rag", "loop.rag"];
    let told = desk.rag(&[&["check"], &files[..]].concat());
    assert_eq!((told.status, &*told.stdout), (Some(0), ""), "{told:?}");
    let said = desk.rag(&[&["check", "--json"], &files[..]].concat());
    assert_status(&said, 0);
    let expected = json!({"schema": "rag.check/1", "files": [
        {"path": "support.rag", "diagnostics": []},
        {"path": "loop.rag", "diagnostics": []},
    ]});
    assert_eq!(said.json(), expected);
    assert!(
        !desk.path().join(".rustagents").exists(),
        "a check writes nothing"
    );
}

#[test]
fn what_check_finds_has_a_place_and_a_code() {
    let desk = Desk::new();
    desk.write("loop.rag", LOOP);
    desk.edit("support.rag", "other -> reply", "other -> repy");
    let before = desk.files();
    let told = desk.rag(&["check", "loop.rag", "support.rag"]);
    assert_status(&told, 1);
    for words in [
        "support.rag:14:16: error[RAG0104]: unknown node `repy`",
        "14 |       other -> repy",
        "did you mean `reply`?",
    ] {
        assert!(told.stdout.contains(words), "no `{words}` in {told:?}");
    }
    assert!(!told.stdout.contains("loop.rag"), "{told:?}");

    let said = desk.rag(&["check", "loop.rag", "support.rag", "--json"]);
    assert_status(&said, 1);
    let expected = json!({"schema": "rag.check/1", "files": [
        {"path": "loop.rag", "diagnostics": []},
        {"path": "support.rag", "diagnostics": [{
            "code": "RAG0104", "severity": "error", "message": "unknown node `repy`",
            "line": 14, "column": 16, "end_line": 14, "end_column": 20,
            "help": "did you mean `reply`?",
        }]},
    ]});
    assert_eq!(said.json(), expected);
    assert!(desk.files() == before, "a check writes nothing");
}

#[test]
fn a_warning_is_a_finding_that_stops_no_run() {
    let desk = Desk::new();
    let reply = "node reply {";
    let lost = "node lost { kind interrupt  prompt \"?\"  next END }\n  node reply {";
    desk.edit("support.rag", reply, lost);
    let said = desk.rag(&["check", "support.rag", "--json"]);
    assert_status(&said, 1);
    let found = &said.json()["files"][0]["diagnostics"];
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found[0]["code"], "RAG0115");
    assert_eq!(found[0]["severity"], "warning");
    assert_status(&desk.rag(&["run", ".", "--input", DELIVERED.0]), 0);
}

#[test]
fn a_folder_is_checked_like_its_plan() {
    let desk = Desk::new();
    let said = desk.rag(&["check", ".", "--json"]);
    assert_status(&said, 0);
    let path = said.json()["files"][0]["path"].as_str().unwrap().to_owned();
    assert!(Path::new(&path).ends_with("support.rag"), "{path}");
}

#[test]
fn a_run_is_as_durable_as_it_was_asked_to_be() {
    for durability in ["exit", "async", "sync"] {
        let desk = Desk::new();
        let thread = ["--thread", "demo", "--durability", durability];
        let waiting = desk.rag(&[&["run", ".", "--json", "--input", REFUND], &thread[..]].concat());
        assert_eq!(waiting.status, Some(3), "{waiting:?}");
        let mut answers = approvals(&waiting);
        answers.extend(["--durability".to_owned(), durability.to_owned()]);
        let done = desk.resume(&answers);
        assert_eq!(done.status, Some(0), "{durability}: {done:?}");
        assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));
        let shown = desk.rag(&["threads", "show", "demo"]);
        assert!(shown.stdout.contains("completed"), "{shown:?}");
    }
}

#[test]
fn a_run_that_is_not_recorded_offers_no_way_on() {
    let desk = Desk::new();
    let run = ["run", ".", "--input", REFUND, "--thread", "demo"];
    let unrecorded = ["--durability", "none"];
    let failed = desk.rag(&[&run[..], &unrecorded].concat());
    assert_eq!(failed.status, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("error[RAG0418]"), "{failed:?}");
    assert!(failed.stderr.contains("another durability"), "{failed:?}");
    for line in ["go on with", "retry"] {
        assert!(!failed.stderr.contains(line), "{failed:?}");
    }
    let told = desk.rag(&[&run[..], &unrecorded, &["--json"]].concat());
    assert_eq!(told.code(), "RAG0418");
    assert_eq!(told.json()["status"], "failed");
    assert_eq!(told.interrupts().len(), 0);
    let listed = desk.rag(&["threads"]);
    assert_eq!(listed.stdout, "demo  empty\n", "it has a name, and no run");
    for command in ["resume", "chat"] {
        let target = if command == "chat" { "." } else { "demo" };
        let said = desk.rag(&[&[command, target], &unrecorded[..]].concat());
        assert_eq!(said.status, Some(2), "{said:?}");
        assert!(said.stderr.contains("records nothing"), "{said:?}");
    }
}

#[test]
fn the_story_is_the_same_in_every_kind_of_store() {
    for store in ["file:logs", "sqlite:other.db?synchronous=normal"] {
        let desk = Desk::new();
        let on_store = |words: &[&str]| desk.rag(&[words, &["--store", store]].concat());
        let waiting = on_store(&["run", ".", "--json", "--input", REFUND, "--thread", "demo"]);
        assert_eq!(waiting.status, Some(3), "{waiting:?}");
        let answers = approvals(&waiting);
        let answers: Vec<_> = answers.iter().map(String::as_str).collect();
        let done = on_store(&[&["resume", "demo", "--json"], &answers[..]].concat());
        assert_eq!(done.status, Some(0), "{store}: {done:?}");
        assert_eq!(done.json()["usage"]["model_calls"], 8);
        assert_eq!(desk.order("A-1042", "status").as_deref(), Some("refunded"));
        let listed = on_store(&["threads"]);
        assert!(listed.stdout.starts_with("demo  completed"), "{listed:?}");
        let checked = on_store(&["doctor"]);
        assert_eq!(checked.status, Some(0), "{checked:?}");
        assert!(!desk.path().join(".rustagents/journal.db").exists());
    }
}
