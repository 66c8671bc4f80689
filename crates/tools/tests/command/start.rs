//! What a program is given, and what is refused before it starts.

use std::{fs, os::unix::fs::symlink};

use rustagents_core::{
    CancellationToken, Code, Coded,
    canonical::Canonical,
    tool::{Executed, Tool, ToolContext, ToolErrorKind},
};
use rustagents_tools::{
    DeclarationError,
    command::{CommandTool, Declaration, Environment, IDEMPOTENCY_KEY, Stdin, Word},
};
use serde_json::{Value, json};

use super::process::{Desk, call, context, failed};

/// Prints each of its arguments in brackets.
const SHOW: [&str; 3] = ["sh", "-c", "for a; do printf '[%s]' \"$a\"; done"];

/// [`SHOW`] with these words.
fn show(words: &[&str]) -> Vec<String> {
    let words = SHOW.iter().chain(&["show"]).chain(words);
    words.map(ToString::to_string).collect()
}

async fn shown(desk: &Desk, words: &[&str], arguments: Value) -> String {
    let words = show(words);
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let result = call(desk.reads(&words), arguments).await.unwrap();
    result["stdout"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn arguments_cannot_run_another_program_or_add_an_argument() {
    let desk = Desk::new();
    for value in [
        "a b",
        "x; touch owned",
        "$(touch owned)",
        "`touch owned`",
        "\"'\n| touch owned\n&",
        "*",
        "",
    ] {
        let shown = shown(&desk, &["{{ a }}", "<{{ a }}>"], json!({ "a": value })).await;
        assert_eq!(shown, format!("[{value}][<{value}>]"));
    }
    assert_eq!(fs::read_dir(desk.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn what_cannot_be_given_starts_nothing() {
    let desk = Desk::new();
    let touch = |word: &str| desk.writes(&["touch", "made", word]);
    let no = Executed::No;
    for (word, value, message) in [
        (
            "{{ a }}",
            json!("-r"),
            "the argument `a` starts with `-` and would be read as an option",
        ),
        (
            "x{{ a }}",
            json!("b\0c"),
            "the argument `a` holds a zero byte",
        ),
        ("{{ a }}", Value::Null, "the argument `a` is missing"),
    ] {
        let result = call(touch(word), json!({ "a": value })).await;
        assert_eq!(failed(result, no, ToolErrorKind::Refused), message);
    }
    let long = "x".repeat(300_000);
    let result = call(touch("{{ a }}"), json!({ "a": long })).await;
    let message = failed(result, no, ToolErrorKind::Refused);
    assert!(
        message.starts_with("the program `touch` cannot be started: "),
        "{message}"
    );
    assert!(!desk.path().join("made").exists());
}

#[tokio::test]
async fn a_list_of_words_goes_with_its_argument() {
    let desk = Desk::new();
    let mut declaration = desk.reads(&SHOW);
    declaration.command.push(Word::Always("show".into()));
    let list = ["--size", "{{ b }}"].map(str::to_owned).to_vec();
    declaration.command.push(Word::Optional(list));
    declaration.command.push(Word::Always("{{ a }}".into()));
    for (arguments, shown) in [
        (json!({ "a": "x", "b": 3 }), "[--size][3][x]"),
        (json!({ "a": "x" }), "[x]"),
    ] {
        let result = call(declaration.clone(), arguments).await.unwrap();
        assert_eq!(result["stdout"], shown);
    }
}

#[tokio::test]
async fn a_program_is_found_by_name_or_by_path() {
    let desk = Desk::new();
    symlink("/bin/sh", desk.path().join("own")).unwrap();
    for program in ["sh", "/bin/sh", "./own"] {
        let result = call(desk.reads(&[program, "-c", "echo hi"]), json!({})).await;
        assert_eq!(result.unwrap(), json!({ "status": 0, "stdout": "hi\n" }));
    }
    for program in ["no-such-program", "own", "./no-such-program", "."] {
        let result = call(desk.writes(&[program]), json!({})).await;
        let message = failed(result, Executed::No, ToolErrorKind::Unavailable);
        assert_eq!(message, format!("there is no program `{program}`"));
    }
    let declaration = Declaration {
        folder: desk.path().join("gone"),
        ..desk.writes(&["true"])
    };
    let result = call(declaration, json!({})).await;
    let message = failed(result, Executed::No, ToolErrorKind::Unavailable);
    assert!(message.starts_with("there is no folder `"), "{message}");
}

#[tokio::test]
async fn a_file_that_the_system_cannot_start_did_nothing() {
    let desk = Desk::new();
    fs::create_dir(desk.path().join("sub")).unwrap();
    fs::write(desk.path().join("script"), "#!/no/such/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(desk.path().join("script"), mode).unwrap();
    let result = call(desk.writes(&["./script"]), json!({})).await;
    let message = failed(result, Executed::No, ToolErrorKind::Unavailable);
    assert!(
        message.starts_with("the program `./script` cannot be started: "),
        "{message}"
    );
}

#[tokio::test]
async fn the_environment_is_what_is_declared_and_the_calls_key() {
    let desk = Desk::new();
    let inherited = |name: &str| match name {
        "PATH" => std::env::var_os("PATH"),
        "OPENAI_API_KEY" => Some("secret".into()),
        _ => None,
    };
    let variables = |environment| Declaration {
        environment,
        ..desk.reads(&["env"])
    };
    let usual = Environment::select(&Environment::USUAL, inherited).unwrap();
    let result = call(variables(usual), json!({})).await.unwrap();
    let mut lines: Vec<_> = result["stdout"].as_str().unwrap().lines().collect();
    lines.sort_unstable();
    let path = format!("PATH={}", inherited("PATH").unwrap().display());
    let key = format!("{IDEMPOTENCY_KEY}={}", context().idempotency_key);
    assert_eq!(lines, [path.clone(), key.clone()]);

    let named = ["PATH", "OPENAI_API_KEY", "MODE=a b", "HOME"];
    let named = Environment::select(&named, inherited).unwrap();
    let result = call(variables(named), json!({})).await.unwrap();
    let mut lines: Vec<_> = result["stdout"].as_str().unwrap().lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["MODE=a b", "OPENAI_API_KEY=secret", &*path, &*key]);
}

#[tokio::test]
async fn a_program_reads_nothing_or_the_arguments() {
    let desk = Desk::new();
    let result = call(desk.reads(&["cat"]), json!({})).await.unwrap();
    assert_eq!(result, json!({ "status": 0, "stdout": "" }));
    let declaration = Declaration {
        stdin: Stdin::Arguments,
        ..desk.reads(&["cat"])
    };
    let result = call(declaration, json!({ "b": [1.5], "a": "é" })).await;
    let text = "{\"a\":\"é\",\"b\":[1.5]}\n";
    assert_eq!(result.unwrap(), json!({ "status": 0, "stdout": text }));
}

#[tokio::test]
async fn arguments_that_a_program_does_not_read_hold_nothing_up() {
    let desk = Desk::new();
    let large = "x".repeat(1 << 20);
    for script in ["true", "exec <&-; echo hi", "head -c 5 >/dev/null"] {
        let declaration = Declaration {
            stdin: Stdin::Arguments,
            ..desk.reads(&["sh", "-c", script])
        };
        let result = call(declaration, json!({ "a": large })).await.unwrap();
        assert_eq!(result["status"], 0);
    }
}

#[tokio::test]
async fn a_program_works_in_its_folder() {
    let desk = Desk::new();
    let folder = desk.path().join("work");
    fs::create_dir(&folder).unwrap();
    symlink("/bin/pwd", desk.path().join("where")).unwrap();
    let declaration = Declaration {
        folder: folder.clone(),
        // It starts where the declaration stands, not in the working folder.
        ..desk.reads(&["./where", "-P"])
    };
    let result = call(declaration, json!({})).await.unwrap();
    let real = folder.canonicalize().unwrap();
    assert_eq!(result["stdout"], format!("{}\n", real.display()));
}

#[tokio::test]
async fn a_cancelled_call_starts_nothing() {
    let desk = Desk::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let context = ToolContext {
        cancel,
        ..context()
    };
    let tool = CommandTool::new(desk.writes(&["touch", "made"])).unwrap();
    let result = tool.call(Canonical::of(&json!({})), context).await;
    failed(result, Executed::No, ToolErrorKind::Cancelled);
    assert!(!desk.path().join("made").exists());
}

#[test]
fn declarations_that_make_no_tool_say_why() {
    let desk = Desk::new();
    for (words, message, hint) in [
        (
            &["{{ a }}"][..],
            "the program cannot be `{{ a }}`",
            "start with a name or path without `{{`",
        ),
        (
            &["cat", "{{ a"],
            "`{{ a` has no `}}`",
            "write `{{ name }}` with an argument's name",
        ),
        (
            &["cat", "{{ file }}"],
            "the command uses `file`, which is not an argument",
            "the arguments are `a`, `b`",
        ),
        (
            &["cat", "{{ b }}"],
            "the argument `b` may be missing, and the command needs it",
            "add `b` to `required`, or put its words in a list of their own",
        ),
        (
            &["sh", "-c", "cat {{ a }}"],
            "a script of `sh` cannot hold a placeholder",
            "give it as a word of its own after the script, which has it as `$1`",
        ),
    ] {
        let error = CommandTool::new(desk.reads(words)).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(error.hint().as_deref(), Some(hint));
        assert_eq!(error.code(), Code::ToolDeclaration);
    }
    let mut bare = desk.reads(&["cat", "{{ a }}"]);
    bare.spec.input_schema = json!({ "type": "object" });
    let error = CommandTool::new(bare).unwrap_err();
    assert_eq!(
        error.hint().as_deref(),
        Some("the schema has no `properties`")
    );
    let mut named = desk.reads(&["cat"]);
    named.spec.name = "a b".into();
    let error = CommandTool::new(named).unwrap_err();
    assert!(matches!(error, DeclarationError::Name { .. }));
}
