//! Going back, trying again and changing the state, as people and scripts do it.

use serde_json::{Value, json};

use crate::{
    bench::{Desk, REFUND, Said, approvals},
    processes::{inside_the_tool, slow_desk},
};

fn said(desk: &Desk, arguments: &str) -> Said {
    let arguments: Vec<_> = arguments.split(' ').collect();
    desk.rag(&arguments)
}

fn mistake(said: &Said, code: &str) {
    assert_eq!(
        (said.status, said.code()),
        (Some(2), code.to_owned()),
        "{said:?}"
    );
}

/// The options that deny everything that a run waits for.
fn denials(waiting: &Said) -> Vec<String> {
    let calls = waiting.interrupts();
    let calls = calls.iter().map(|ask| ask["call"].as_str().unwrap());
    calls
        .flat_map(|call| ["--deny".to_owned(), format!("{call}=no")])
        .collect()
}

fn status(desk: &Desk, thread: &str) -> Value {
    said(desk, &format!("threads show {thread} --json")).json()["status"].clone()
}

#[test]
fn what_was_denied_is_gone_back_to_and_approved() {
    let desk = Desk::new();
    let waiting = desk.run_refund();
    assert_eq!(desk.resume(&denials(&waiting)).status, Some(0));
    let back = said(&desk, "threads rewind demo@2");
    assert_eq!(back.status, Some(0), "{back:?}");
    assert!(
        back.stderr
            .starts_with("thread demo went back to @2, then refunds, carrier\ngo on with:\n"),
        "{back:?}"
    );
    assert_eq!(status(&desk, "demo"), "unfinished");
    let asked = said(&desk, "resume demo --json");
    assert_eq!(asked.status, Some(3), "{asked:?}");
    let done = desk.resume(&approvals(&asked));
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(desk.order("A-1042", "status").unwrap(), "refunded");
    let history = said(&desk, "threads history demo");
    assert!(history.stdout.contains("@5    back to @2"), "{history:?}");
    let history = said(&desk, "threads history demo --json --before 6 --limit 1").json();
    let row = &history["checkpoints"][0];
    assert_eq!(
        (&row["checkpoint"], &row["source"], &row["from"]),
        (&json!("demo@5"), &json!("fork"), &json!("demo@2"))
    );
    assert_eq!(said(&desk, "doctor --full").status, Some(0));
}

#[test]
fn going_back_names_what_it_could_repeat() {
    let desk = Desk::new();
    let waiting = desk.run_refund();
    assert_eq!(desk.resume(&approvals(&waiting)).status, Some(0));
    let records = || desk.journal("SELECT count(*) FROM records");
    let before = records();
    mistake(&said(&desk, "threads rewind demo@2 --json"), "RAG0412");
    mistake(&said(&desk, "threads rewind demo@4 --json"), "RAG0416");
    mistake(&said(&desk, "threads rewind demo@9 --json"), "RAG0414");
    mistake(&said(&desk, "threads rewind demo --json"), "RAG0001");
    mistake(&said(&desk, "threads rewind nobody@1 --json"), "RAG0401");
    assert_eq!(records(), before);
    let back = said(&desk, "threads rewind demo@2 --yes --json").json();
    assert_eq!(
        (&back["schema"], &back["from"], &back["checkpoint"]),
        (&json!("rag.rewind/1"), &json!(2), &json!(5))
    );
    assert_eq!(back["repeats"].as_array().unwrap().len(), 2, "{back}");
    assert!(back["resume"].as_str().unwrap().ends_with("resume demo"));
    // The order is refunded by now, and the clerks see it.
    assert_eq!(said(&desk, "resume demo --json").status, Some(0));
}

#[test]
fn an_update_is_shown_and_voids_the_question_of_the_node_that_it_stands_for() {
    let desk = Desk::new();
    desk.run_refund();
    let update = |words: &[&str]| {
        let mut arguments = vec!["threads", "update", "demo"];
        arguments.extend(words);
        desk.rag(&arguments)
    };
    let told = update(&["--set", r#"topic="late""#, "--json"]).json();
    assert_eq!(
        (&told["schema"], &told["checkpoints"], &told["changed"]),
        (&json!("rag.update/1"), &json!([3]), &json!(["topic"]))
    );
    assert_eq!(told["interrupts"].as_array().unwrap().len(), 2, "{told}");
    assert_eq!(status(&desk, "demo"), "suspended");
    let acts = update(&["--set", r#"messages="By phone.""#, "--as", "refunds"]);
    assert_eq!(acts.status, Some(0), "{acts:?}");
    assert!(
        acts.stderr
            .starts_with("demo@4 wrote messages, then carrier, reply\nthread demo waits for 1"),
        "{acts:?}"
    );
    let show = said(&desk, "threads show demo --json").json();
    let asks: Vec<_> = show["interrupts"].as_array().unwrap().iter().collect();
    assert_eq!((asks.len(), &asks[0]["node"]), (1, &json!("carrier")));
    let state = said(&desk, "threads show demo --state --json").json();
    assert_eq!(
        (&state["checkpoint"], &state["state"]["topic"]),
        (&json!(4), &json!("late"))
    );
    assert_eq!(state["next"], json!(["carrier", "reply"]));
    let then = said(&desk, "threads show demo@2 --state");
    let then: Value = serde_json::from_str(&then.stdout).unwrap();
    assert_eq!(then["topic"], "refund");
    for (wrong, code) in [
        (&["--set", "nowhere=1"][..], "RAG0411"),
        (&["--set", "topic=late"], "RAG0405"),
        (&["--as", "ghost"], "RAG0409"),
        (&["--as", "triage", "--route", "nope"], "RAG0802"),
    ] {
        let mut words = wrong.to_vec();
        words.push("--json");
        mistake(&update(&words), code);
    }
    assert_eq!(update(&[]).status, Some(2));
    assert_eq!(
        update(&["--set", "topic=1", "--route", "x"]).status,
        Some(2)
    );
    assert_eq!(said(&desk, "doctor --full").status, Some(0));
}

#[test]
fn a_failed_run_is_retried_with_a_model_that_works() {
    let desk = Desk::new();
    desk.write(
        "sick.toml",
        "rule = [{ system = \"^Triage\", text = \"refund\" }]\n",
    );
    let failed = desk.rag(&[
        "run",
        ".",
        "--thread",
        "demo",
        "--input",
        REFUND,
        "--model",
        "default=scripted:sick.toml",
        "--json",
    ]);
    assert_eq!((failed.status, failed.code()), (Some(1), "RAG0504".into()));
    let again = said(&desk, "threads retry demo --json");
    assert_eq!(
        again.status,
        Some(1),
        "the same model fails again: {again:?}"
    );
    let asked = said(
        &desk,
        "threads retry demo --model default=scripted:script.toml --json",
    );
    assert_eq!(asked.status, Some(3), "{asked:?}");
    assert_eq!(asked.json()["run"], failed.json()["run"]);
    mistake_waits(&said(&desk, "threads retry demo --json"));
    let mut options = approvals(&asked);
    options.extend(["--model".into(), "default=scripted:script.toml".into()]);
    assert_eq!(desk.resume(&options).status, Some(0));
    mistake(&said(&desk, "threads retry demo --json"), "RAG0416");
    let show = said(&desk, "threads show demo --json").json();
    assert_eq!(
        (&show["status"], &show["attempts"]),
        (&json!("completed"), &json!(4))
    );
    assert_eq!(said(&desk, "doctor --full").status, Some(0));
}

fn mistake_waits(said: &Said) {
    assert_eq!((said.status, said.code()), (Some(3), "RAG0407".into()));
}

#[test]
fn a_limit_of_the_configuration_that_was_raised_lets_a_run_go_on() {
    let desk = Desk::new();
    let config = std::fs::read_to_string(desk.path().join("rustagents.toml")).unwrap();
    assert!(!config.contains("[limits]"), "{config}");
    let limited = |calls: u32| {
        let limits = format!("{config}\n[limits]\nmodel_calls = {calls}\n");
        desk.write("rustagents.toml", limits);
    };
    limited(2);
    let stopped = desk.run_refund();
    assert_eq!(stopped.status, Some(4), "{stopped:?}");
    assert_eq!(said(&desk, "threads retry demo --json").status, Some(4));
    limited(100);
    let asked = said(&desk, "threads retry demo --json");
    assert_eq!(asked.status, Some(3), "{asked:?}");
    assert_eq!(desk.resume(&approvals(&asked)).status, Some(0));
}

#[test]
fn a_driven_thread_is_left_alone() {
    let desk = slow_desk("10m");
    let mut child = inside_the_tool(&desk);
    for action in [
        "threads rewind demo@1 --yes --json",
        "threads update demo --as END --json",
        "threads retry demo --json",
    ] {
        let busy = said(&desk, action);
        assert_eq!(
            (busy.status, busy.code()),
            (Some(5), "RAG0305".into()),
            "{action}: {busy:?}"
        );
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_input_runs_on_the_state_of_an_earlier_checkpoint() {
    let desk = Desk::new();
    let waiting = desk.run_refund();
    assert_eq!(desk.resume(&denials(&waiting)).status, Some(0));
    let run = |thread: &str, more: &[&str]| {
        let mut arguments = vec!["run", ".", "--thread", thread, "--json", "--input", REFUND];
        arguments.extend(more);
        desk.rag(&arguments)
    };
    for (thread, code) in [
        ("demo@9", "RAG0414"),
        ("demo@x", "RAG0001"),
        ("nobody@1", "RAG0401"),
    ] {
        mistake(&run(thread, &[]), code);
    }
    mistake(&run("demo@1", &["--on-busy", "enqueue"]), "RAG0001");
    mistake(&run("demo@1", &["--durability", "none"]), "RAG0001");
    let before = said(&desk, "threads history demo").stdout;

    let asked = run("demo@1", &[]);
    assert_eq!(asked.status, Some(3), "{asked:?}");
    let history = said(&desk, "threads history demo").stdout;
    assert!(
        history.starts_with(&before),
        "the first line stays:\n{history}"
    );
    assert!(history.contains("back to @1"), "{history}");
    let done = desk.resume(&approvals(&asked));
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(desk.order("A-1042", "status").unwrap(), "refunded");

    mistake(&run("demo@1", &[]), "RAG0412");
    // The order is refunded by now, and the clerks see it.
    assert_eq!(run("demo@1", &["--yes"]).status, Some(0));
}
