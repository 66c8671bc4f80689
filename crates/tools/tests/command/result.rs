//! What comes of a program that ends by itself.

use rustagents_core::tool::{EffectClass, Executed, ToolErrorKind};
use rustagents_tools::command::{Declaration, Output};
use serde_json::{Value, json};

use super::process::{Desk, call, failed};

const UNKNOWN: Executed = Executed::Unknown;

fn limited(mut declaration: Declaration, bytes: usize) -> Declaration {
    declaration.spec.max_output_bytes = bytes;
    declaration
}

fn json(declaration: Declaration) -> Declaration {
    Declaration {
        output: Output::Json,
        ..declaration
    }
}

#[tokio::test]
async fn what_a_program_writes_is_the_result() {
    let desk = Desk::new();
    for declaration in desk.both("printf 'a\\nb'; echo careful >&2") {
        let result = call(declaration, json!({})).await.unwrap();
        let expected = json!({ "status": 0, "stdout": "a\nb", "stderr": "careful\n" });
        assert_eq!(result, expected);
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_are_kept() {
    let desk = Desk::new();
    for declaration in desk.both("printf 'a\\377\\000'; printf '\\377b' >&2") {
        let result = call(declaration, json!({})).await.unwrap();
        let stdout = json!({ "hex": "61ff00" });
        assert_eq!(
            result,
            json!({ "status": 0, "stdout": stdout, "stderr": "\u{fffd}b" })
        );
    }
}

#[tokio::test]
async fn json_is_read_strictly() {
    let desk = Desk::new();
    for declaration in desk.both("echo '{\"b\": [1.50], \"a\": null}'") {
        let result = call(json(declaration), json!({})).await.unwrap();
        assert_eq!(
            result,
            json!({ "status": 0, "output": { "b": [1.5], "a": null } })
        );
    }
    for text in ["", "{", "1 2", "{\"a\":1,\"a\":2}", "NaN"] {
        let script = format!("printf '%s' '{text}'");
        let [reads, writes] = desk.both(&script).map(json);
        let message = failed(call(reads, json!({})).await, UNKNOWN, ToolErrorKind::Failed);
        assert!(message.starts_with("the output is not JSON: "), "{message}");
        // It did its work, so what is known of that is the result.
        let result = call(writes, json!({})).await.unwrap();
        assert_eq!(
            result,
            json!({ "status": 0, "stdout": text, "error": message })
        );
    }
    let [_, writes] = desk.both("exit 4").map(json);
    let result = call(writes, json!({})).await.unwrap();
    assert_eq!(result, json!({ "status": 4, "stdout": "" }));
}

#[tokio::test]
async fn a_bad_end_is_a_failure_only_of_what_changes_nothing() {
    let desk = Desk::new();
    let [reads, writes] = desk.both("echo part; echo 'not\n found' >&2; exit 3");
    let message = failed(call(reads, json!({})).await, UNKNOWN, ToolErrorKind::Failed);
    assert_eq!(message, "the program ended with status 3: not found");
    let mut again = writes.clone();
    again.spec.effect = EffectClass::Idempotent;
    for declaration in [writes, again] {
        let result = call(declaration, json!({})).await.unwrap();
        let stderr = "not\n found\n";
        assert_eq!(
            result,
            json!({ "status": 3, "stdout": "part\n", "stderr": stderr })
        );
    }

    let [reads, writes] = desk.both("kill -9 $$");
    let message = failed(call(reads, json!({})).await, UNKNOWN, ToolErrorKind::Failed);
    assert_eq!(message, "the program was ended by signal 9");
    let result = call(writes, json!({})).await.unwrap();
    assert_eq!(result, json!({ "signal": 9, "stdout": "" }));
}

#[tokio::test]
async fn only_the_end_of_many_errors_is_kept() {
    let desk = Desk::new();
    let script = "yes é | head -c 300000 >&2; echo last >&2; exit 1";
    let [reads, writes] = desk.both(script);
    let result = call(writes, json!({})).await.unwrap();
    let stderr = result["stderr"].as_str().unwrap();
    assert!(
        stderr.starts_with("… ") && stderr.ends_with("é\nlast\n"),
        "{stderr}"
    );
    assert!(
        stderr.len() <= 4_096 + 4 && !stderr.contains('\u{fffd}'),
        "{}",
        stderr.len()
    );
    let message = failed(call(reads, json!({})).await, UNKNOWN, ToolErrorKind::Failed);
    assert!(
        message.starts_with("the program ended with status 1: … é"),
        "{message}"
    );
    assert!(
        message.ends_with("é last") && message.chars().count() < 600,
        "{message}"
    );
}

#[tokio::test]
async fn both_streams_are_read_at_once() {
    let desk = Desk::new();
    let script = "i=0; while [ $i -lt 40 ]; do head -c 9000 /dev/zero | tr '\\0' x; \
                  head -c 9000 /dev/zero | tr '\\0' y >&2; i=$((i+1)); done";
    for declaration in desk.both(script) {
        let result = call(limited(declaration, 1 << 20), json!({}))
            .await
            .unwrap();
        assert_eq!(result["stdout"].as_str().unwrap().len(), 360_000);
    }
}

#[tokio::test]
async fn too_much_output_ends_what_may_be_repeated() {
    let desk = Desk::new();
    for script in ["yes", "yes | head -c 2000; sleep 300", "yes | head -c 2000"] {
        let [reads, _] = desk.both(script);
        let result = call(limited(reads, 1_000), json!({})).await;
        let message = failed(result, UNKNOWN, ToolErrorKind::OutputTooLarge);
        assert_eq!(message, "the output is over 1000 bytes");
    }
}

#[tokio::test]
async fn a_program_that_changes_something_is_not_ended_for_its_output() {
    let desk = Desk::new();
    let [_, writes] = desk.both("yes é | head -c 300000; touch made; exit 2");
    let result = call(limited(writes, 1_000), json!({})).await.unwrap();
    assert!(desk.path().join("made").exists());
    assert_eq!(
        (&result["status"], &result["truncated"]),
        (&json!(2), &json!(true))
    );
    assert!(result["stdout"].as_str().unwrap().starts_with("é\né\n"));
    let size = result.to_string().len();
    assert!((996..=1_000).contains(&size), "{size}");
}

#[tokio::test]
async fn a_result_is_never_over_its_limit_and_never_smaller_than_it_must_be() {
    let desk = Desk::new();
    // As JSON: a line break has two bytes, a byte that is no text two digits.
    let whole = |stdout: &Value| json!({ "status": 0, "stdout": stdout }).to_string().len();
    for (script, stdout) in [
        ("yes '' | head -n 100", Value::from("\n".repeat(100))),
        (
            "printf 'x%.0s' $(seq 100); printf '\\377'",
            json!({ "hex": "78".repeat(100) + "ff" }),
        ),
    ] {
        let exact = whole(&stdout);
        for declaration in desk.both(script) {
            let result = call(limited(declaration, exact), json!({})).await.unwrap();
            assert_eq!(result["stdout"], stdout);
        }
        let [reads, writes] = desk.both(script);
        let result = call(limited(reads, exact - 1), json!({})).await;
        failed(result, UNKNOWN, ToolErrorKind::OutputTooLarge);
        let result = call(limited(writes, exact - 1), json!({})).await.unwrap();
        let size = result.to_string().len();
        assert!(
            (exact - 4..exact).contains(&size),
            "{size} of {exact}: {result}"
        );
        assert_eq!(result["truncated"], true);
    }
}

#[tokio::test]
async fn json_that_is_too_large_is_a_truncated_text() {
    let desk = Desk::new();
    let script = "printf '[1'; yes ,1 | tr -d '\\n' | head -c 2000; printf ']'";
    let [reads, writes] = desk.both(script).map(json);
    let result = call(limited(reads, 500), json!({})).await;
    failed(result, UNKNOWN, ToolErrorKind::OutputTooLarge);
    let result = call(limited(writes, 500), json!({})).await.unwrap();
    assert_eq!(result["truncated"], true);
    assert!(result["stdout"].as_str().unwrap().starts_with("[1,1,1"));
}
