//! Runs whose model's answer was cut off, or declined.

use crate::{
    bench::{Desk, Said},
    real_http::serve,
};

/// A desk whose only agent answers as `rule` says.
fn desk(rule: &str) -> Desk {
    let desk = Desk::new();
    desk.write(
        "support.rag",
        r#"graph one {
  channel messages messages
  start clerk
  node clerk { kind agent  model "default"  prompt "Clerk."  next END }
}"#,
    );
    desk.write("script.toml", format!("rule = [{{ {rule} }}]"));
    desk
}

fn run(desk: &Desk, more: &[&str]) -> Said {
    let run = ["run", ".", "--thread", "demo", "--input", "hi"];
    desk.rag(&[&run, more].concat())
}

const CUT: &str = r#"text = "Half of the", finish = "length""#;
const DECLINED: &str = r#"text = "I can't help with that.", finish = "refusal""#;

#[test]
fn a_cut_answer_and_a_refusal_fail_the_run_and_keep_their_text() {
    let cases = [
        (
            CUT,
            "RAG0509",
            "cut the answer after 11 characters",
            "hint: raise the limit",
            "Half of the",
        ),
        (
            DECLINED,
            "RAG0510",
            "declined to answer: I can't help",
            "hint: see what it says",
            "help with that.",
        ),
    ];
    for (rule, code, told, hint, text) in cases {
        let desk = desk(rule);
        let said = run(&desk, &[]);
        assert_eq!(
            (said.status, said.stdout.as_str()),
            (Some(1), ""),
            "{said:?}"
        );
        assert!(
            said.stderr
                .contains(&format!("error[{code}]: node `clerk`")),
            "{said:?}"
        );
        assert!(said.stderr.contains(told), "{said:?}");
        assert!(said.stderr.contains(hint), "{said:?}");
        let export = desk.rag(&["threads", "export", "demo"]);
        assert!(export.stdout.contains(text), "{export:?}");

        // The thread goes on: by a retry once the model can answer, without the text.
        desk.write(
            "script.toml",
            r#"rule = [{ when = "not answers", text = "All of it." }]"#,
        );
        let retried = desk.rag(&["threads", "retry", "demo"]);
        assert_eq!(
            (retried.status, retried.stdout.trim()),
            (Some(0), "All of it."),
            "{retried:?}"
        );
    }
}

#[test]
fn scripts_see_the_code_of_a_cut_answer_and_of_a_refusal() {
    for (rule, code) in [(CUT, "RAG0509"), (DECLINED, "RAG0510")] {
        let said = run(&desk(rule), &["--json"]);
        let told = said.json();
        assert_eq!(said.status, Some(1));
        assert_eq!(
            (told["status"].as_str(), said.code().as_str()),
            (Some("failed"), code)
        );
        assert!(told["output"].is_null(), "{told}");
    }
}

/// A stream of one text that ends for `reason`.
fn ends(text: &str, reason: &str) -> String {
    let delta = serde_json::json!({ "choices": [{ "delta": { "content": text } }] });
    let end = serde_json::json!({ "choices": [{ "delta": {}, "finish_reason": reason }] });
    format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n")
}

#[test]
fn the_wires_reasons_decide() {
    for (reason, code) in [("length", "RAG0509"), ("content_filter", "RAG0510")] {
        let (url, _seen) = serve(vec![ends("Half", reason)]);
        let model = format!("default=openai-compatible:tiny@{url}");
        let said = run(&desk(CUT), &["--model", &model, "--json"]);
        assert_eq!(
            (said.status, said.code().as_str()),
            (Some(1), code),
            "{said:?}"
        );
    }
}

#[test]
fn a_failed_run_names_the_retry_where_one_can_help() {
    let hint = |said: &Said| said.json()["error"]["hint"].as_str().map(str::to_owned);
    let cut = desk(CUT);
    let said = run(&cut, &[]);
    assert!(said.stderr.contains("hint: raise the limit"), "{said:?}");
    assert!(
        said.stderr.contains("threads retry demo` goes on"),
        "{said:?}"
    );
    assert!(!said.stderr.contains("resume"), "{said:?}");
    let shown = cut.rag(&["threads", "show", "demo"]);
    assert!(
        shown.stdout.contains("threads retry demo` goes on"),
        "{shown:?}"
    );

    // Where the error has no hint of its own, and where the run reached a limit.
    let broken = desk(r#"text = "{{ nothing }}""#);
    let told = hint(&run(&broken, &["--json"])).unwrap();
    assert!(
        told.starts_with('`') && told.ends_with("threads retry demo` tries again"),
        "{told}"
    );
    let looping = desk(r#"text = "again""#);
    looping.edit("support.rag", "next END", "next clerk");
    let said = run(&looping, &["--json"]);
    assert_eq!(said.status, Some(4), "{said:?}");
    assert!(
        hint(&said).unwrap().contains("threads retry demo"),
        "{said:?}"
    );
    let elsewhere = run(&desk(CUT), &["--store", "sqlite:other.db", "--json"]);
    let told = hint(&elsewhere).unwrap();
    assert!(
        told.contains("threads retry demo --store sqlite:other.db"),
        "{told}"
    );

    // Nobody finds these again.
    for options in [["--store", "memory:"], ["--durability", "none"]] {
        let said = run(&desk(CUT), &[&options[..], &["--json"]].concat());
        assert!(!hint(&said).unwrap().contains("retry"), "{said:?}");
    }
}

/// Makes the thread one whose graph a program built.
fn built_by_a_program(desk: &Desk) {
    let file = desk.path().join(".rustagents/journal.db");
    let journal = rusqlite::Connection::open(file).unwrap();
    let plan = desk.path().join("support.rag").display().to_string();
    let sql = "UPDATE records SET sum = NULL, body =
        CAST(replace(CAST(body AS TEXT), ?1, 'graph:made') AS BLOB) WHERE kind = 'run.opened'";
    assert_eq!(journal.execute(sql, [plan]).unwrap(), 1);
}

#[test]
fn no_line_is_shown_that_cannot_work_where_no_file_holds_the_plan() {
    let failed = desk(CUT);
    run(&failed, &[]);
    built_by_a_program(&failed);
    let shown = failed.rag(&["threads", "show", "demo"]);
    assert!(shown.stdout.contains("hint: raise the limit"), "{shown:?}");
    assert!(!shown.stdout.contains("retry"), "{shown:?}");
    let retried = failed.rag(&["threads", "retry", "demo"]);
    assert_eq!(retried.status, Some(2), "{retried:?}");
    assert!(retried.stderr.contains("`graph:made`"), "{retried:?}");
    assert!(
        retried.stderr.contains("hint: a program built its graph"),
        "{retried:?}"
    );

    let waiting = Desk::new();
    assert_eq!(waiting.run_refund().status, Some(3));
    built_by_a_program(&waiting);
    let input = ["run", ".", "--thread", "demo", "--input", "more"];
    for arguments in [
        &["threads", "show", "demo"][..],
        &["resume", "demo"],
        &input,
    ] {
        let said = waiting.rag(arguments);
        let told = [said.stdout.clone(), said.stderr.clone()].concat();
        assert!(told.contains("that program goes on with it"), "{said:?}");
        assert!(!told.contains("go on with:"), "{said:?}");
        let said = waiting.rag(&[arguments, &["--json"]].concat());
        let asks = said.interrupts();
        assert_eq!(asks.len(), 2, "{said:?}");
        assert!(asks.iter().all(|ask| ask["resume"].is_null()), "{said:?}");
    }
    let state = waiting.rag(&["threads", "show", "demo", "--state", "--json"]);
    assert!(state.interrupts()[0]["resume"].is_null(), "{state:?}");
    let copy = waiting.rag(&["threads", "copy", "demo", "twin"]);
    assert!(!copy.stderr.contains("go on with"), "{copy:?}");
}

#[test]
fn an_unfinished_run_of_a_program_is_not_resumed_by_a_line_that_cannot_work() {
    let mut desk = Desk::new();
    desk.set_fault(Some("before:3".into()));
    assert_eq!(desk.run_refund().status, None);
    desk.set_fault(None);
    built_by_a_program(&desk);
    let said = desk.rag(&["run", ".", "--thread", "demo", "--input", "more"]);
    assert_eq!(said.status, Some(2), "{said:?}");
    assert!(said.stderr.contains("error[RAG0408]"), "{said:?}");
    assert!(
        said.stderr.contains("hint: a program built its graph"),
        "{said:?}"
    );
    let shown = desk.rag(&["threads", "show", "demo"]);
    assert!(
        shown.stdout.contains("that program goes on with it"),
        "{shown:?}"
    );
}

/// What is said where standard output takes nothing.
#[cfg(target_os = "linux")]
fn into_a_full_disk(desk: &Desk, arguments: &[&str]) -> Said {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    Said::of(desk.command(arguments).stdout(full).output().unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_printed_is_told_and_how_to_print_it() {
    let desk = desk(r#"text = "All of it.""#);
    let kept = "hint: the thread keeps its result; resume it to print it again";
    let error = "error[RAG0005]: standard output cannot be written: ";
    for form in [&["--quiet"][..], &["--json"], &["--events"]] {
        let run = [&["run", ".", "--thread", "demo", "--input", "hi"][..], form].concat();
        let said = into_a_full_disk(&desk, &run);
        assert_eq!(said.status, Some(1), "{said:?}");
        assert!(said.stderr.starts_with(error), "{said:?}");
        assert!(said.stderr.contains(kept), "{said:?}");
        let again = desk.rag(&["resume", "demo", "--quiet"]);
        assert_eq!(again.stdout, "All of it.\n");
    }
    for runs_nothing in [
        &["run", ".", "--input", "hi", "--store", "memory:", "--json"][..],
        &["graph", "."],
        &["graph", ".", "--format", "json"],
        &["explain", "RAG0005"],
        &["explain", "RAG0005", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["threads"],
        &["threads", "--json"],
    ] {
        let said = into_a_full_disk(&desk, runs_nothing);
        assert_eq!(said.status, Some(1), "{said:?}");
        assert!(said.stderr.contains(error), "{runs_nothing:?}: {said:?}");
        assert!(!said.stderr.contains("keeps its result"), "{said:?}");
    }
    // Another failure is told, too.
    let said = into_a_full_disk(&desk, &["resume", "nobody", "--json"]);
    assert_eq!(said.status, Some(2), "{said:?}");
    assert!(said.stderr.starts_with("error[RAG0401]"), "{said:?}");
}
