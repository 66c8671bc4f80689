//! A plan that changed while a thread waits: `--force` and `--pin`.

use std::fs;

use serde_json::Value;

use crate::bench::{Desk, Said, approvals};

fn status(said: &Said, expected: i32) {
    assert_eq!(said.status, Some(expected), "{said:?}");
}

/// What approves the call of the tool, with the options before it.
fn approving(said: &Said, tool: &str, options: &[&str]) -> Vec<String> {
    let asks = said.interrupts();
    let ask = asks.iter().find(|ask| ask["tool"] == tool).unwrap();
    let (call, hash) = (ask["call"].as_str().unwrap(), ask["hash"].as_str().unwrap());
    let options = options.iter().map(|option| (*option).to_owned());
    options
        .chain(["--approve".into(), format!("{call}@{hash}")])
        .collect()
}

fn owned(options: &[&str]) -> Vec<String> {
    options.iter().map(|option| (*option).to_owned()).collect()
}

fn forced(desk: &Desk) -> Value {
    let attempt = desk.journal("SELECT body FROM records WHERE kind = 'run.attempt'");
    let attempt: Value = serde_json::from_str(attempt.last().unwrap()).unwrap();
    attempt["forced"].clone()
}

#[test]
fn a_forced_resume_goes_on_without_a_node_and_without_a_tool() {
    for (from, to, why) in [
        ("refunds", "payments", "there is no node `refunds` any more"),
        (
            r#"["lookup_order", "refund"]"#,
            r#"["lookup_order"]"#,
            "the tool `refund` is gone",
        ),
    ] {
        let desk = Desk::new();
        let said = desk.run_refund();
        desk.edit("support.rag", from, to);
        let before = desk.files();
        let refused = desk.resume(&approving(&said, "open_claim", &[]));
        status(&refused, 2);
        assert_eq!(refused.code(), "RAG0409");
        let hint = refused.json()["error"]["hint"].as_str().unwrap().to_owned();
        assert!(hint.contains("--force") && hint.contains("--pin"), "{hint}");
        // Whom nobody would hear is told so.
        let refused = desk.resume(&approving(&said, "refund", &["--force"]));
        status(&refused, 2);
        assert!(desk.files() == before, "a refused resume wrote something");

        let done = desk.resume(&approving(&said, "open_claim", &["--force", "--events"]));
        status(&done, 0);
        assert!(done.stdout.contains(r#""run.forced""#), "{done:?}");
        assert!(done.stdout.contains(why), "{done:?}");
        assert_eq!(forced(&desk)[0]["why"], why);
        assert_eq!(forced(&desk).as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_person_is_told_what_is_gone_without() {
    let desk = Desk::new();
    desk.run_refund();
    desk.edit("support.rag", "refunds", "payments");
    let waits = desk.rag(&["resume", "demo", "--force"]);
    status(&waits, 3);
    let told = "going on without task refunds:2.0: there is no node `refunds` any more";
    assert!(waits.stderr.contains(told), "{waits:?}");
}

#[test]
fn a_forced_resume_hides_no_doubt() {
    let desk = Desk::new();
    desk.write(
        "support.rag",
        r#"graph shop {
  channel messages messages
  start cashier
  node cashier { kind agent  model "default"  prompt "Pay."  tools ["pay"]  next END }
}"#,
    );
    desk.write(
        "script.toml",
        r#"rule = [{ last = "user", call = "pay", arguments = "{}" }, { text = "ok" }]"#,
    );
    desk.write(
        "rustagents.toml",
        r#"[models]
default = "scripted:script.toml"
[tools.pay]
kind = "command"
effect = "once"
approval = "allow"
description = "Pay."
arguments = { type = "object" }
command = ["sleep", "600"]
timeout = "300ms"
"#,
    );
    status(&desk.run_refund(), 3);
    desk.edit("support.rag", r#"tools ["pay"]"#, "");
    let before = desk.files();
    for options in [&["--force"][..], &["--force", "--repeat", "c-1"]] {
        let refused = desk.resume(&owned(options));
        assert_ne!(refused.status, Some(0), "{refused:?}");
        assert!(desk.files() == before, "a refused resume wrote something");
    }
    let refused = desk.resume(&owned(&["--force"]));
    status(&refused, 3);
    assert_eq!(refused.code(), "RAG0412");
    let hint = refused.json()["error"]["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("--not-done"), "{hint}");
    status(&desk.resume(&owned(&["--force", "--not-done", "c-1"])), 0);
}

#[test]
fn a_pinned_resume_reads_no_plan() {
    let desk = Desk::new();
    let said = desk.run_refund();
    let mut options = vec!["--pin".to_owned()];
    options.extend(approvals(&said));
    fs::remove_file(desk.path().join("support.rag")).unwrap();
    let refused = desk.resume(&approvals(&said));
    status(&refused, 2);
    status(&desk.resume(&options), 0);
    assert_eq!(forced(&desk), Value::Null);
    let changed =
        "SELECT count(*) FROM records WHERE kind = 'run.attempt' AND body LIKE '%definition%'";
    assert_eq!(
        desk.journal(changed),
        ["0"],
        "the recorded plan is no new one"
    );
}

#[test]
fn a_pinned_resume_names_what_is_not_configured_any_more() {
    let desk = Desk::new();
    let said = desk.run_refund();
    let mut options = vec!["--pin".to_owned()];
    options.extend(approvals(&said));
    // The plan was changed in a way that does not fit; the recorded one does.
    desk.edit("support.rag", "refunds", "payments");
    desk.edit("rustagents.toml", "[tools.open_claim]", "[tools.claim]");
    let before = desk.files();
    let refused = desk.resume(&options);
    status(&refused, 2);
    let error = refused.json()["error"].clone();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("`open_claim`"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("--pin"), "{error}");
    assert!(desk.files() == before, "a refused resume wrote something");
    desk.edit("rustagents.toml", "[tools.claim]", "[tools.open_claim]");
    status(&desk.resume(&options), 0);
}
