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
