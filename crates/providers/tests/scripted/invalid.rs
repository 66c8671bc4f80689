//! Scripts that are refused when they are loaded.

use rustagents_core::{Code, Coded};
use rustagents_providers::{ScriptError, ScriptedModel};

fn refused(source: &str) -> ScriptError {
    match ScriptedModel::from_toml("s", source) {
        Ok(model) => panic!("accepted: {source}\n{model:?}"),
        Err(error) => error,
    }
}

/// Checks what is said about a script whose second rule is not valid.
fn check_second_rule(cases: &[(&str, &str)]) {
    for (rule, expected) in cases {
        let error = refused(&format!(r#"rule = [{{ text = "ok" }}, {rule}]"#));
        assert_eq!(
            error.to_string(),
            format!("script `s`: rule 2: {expected}"),
            "{rule}"
        );
        assert_eq!(error.code(), Code::Script);
    }
}

#[test]
fn what_is_not_a_script_is_refused() {
    let cases = [
        (
            "rule = [\n  { text = \"a\" },\n  { text = },\n]",
            "script `s`: line 3, column 12: ",
        ),
        (
            "rule = [{ text = \"a\", text = \"b\" }]",
            "script `s`: line 1, column 23: duplicate key",
        ),
        (
            "# é\nrule = [{ text = \"é\" } \"x\"]",
            "script `s`: line 2, column 24: ",
        ),
        ("= 1", "script `s`: line 1, column 1: "),
        ("rules = []", "script `s`: unknown key `rules`"),
        ("rule = []\nname = 1", "script `s`: unknown key `name`"),
        (
            "[rule]\ntext = \"a\"",
            "script `s`: `rule` is not a list of tables",
        ),
    ];
    for (source, expected) in cases {
        let error = refused(source);
        assert!(error.to_string().starts_with(expected), "{source}: {error}");
        assert!(!error.to_string().contains('\n'), "{source}: {error}");
        assert_eq!(error.code(), Code::Script);
    }
}

#[test]
fn an_invalid_rule_is_named_with_its_key() {
    let cases = [
        (r#""text""#, "it is not a table"),
        (r#"{ txt = "a" }"#, "unknown key `txt`"),
        (r"{ text = 1 }", "`text` is not a string"),
        (
            r#"{ system = true, text = "a" }"#,
            "`system` is not a string",
        ),
        (
            r#"{ system = "^x" }"#,
            "no `text`, no `call` and no `calls`",
        ),
        (r"{ calls = [] }", "no `text`, no `call` and no `calls`"),
        (
            r#"{ call = "a", calls = [{ call = "b" }] }"#,
            "both `call` and `calls`",
        ),
        (
            r#"{ text = "a", arguments = "{}" }"#,
            "`arguments` without `call`",
        ),
        (r#"{ text = "a", repeat = 2 }"#, "`repeat` without `call`"),
        (
            r#"{ calls = [{ call = "a" }], arguments = "" }"#,
            "`arguments` without `call`",
        ),
        (
            r#"{ call = "a", repeat = 0 }"#,
            "`repeat` is not a whole number from 1",
        ),
        (
            r#"{ call = "a", repeat = "2" }"#,
            "`repeat` is not a whole number from 1",
        ),
        (r#"{ calls = "a" }"#, "`calls` is not a list of tables"),
        (r#"{ calls = ["a"] }"#, "`calls` is not a list of tables"),
        (
            r#"{ calls = [{ call = "a" }, { arguments = "" }] }"#,
            "no `call` of call 2",
        ),
        (
            r#"{ calls = [{ call = "a", text = "" }] }"#,
            "unknown key `text` of call 1",
        ),
        (
            r#"{ last = "system", text = "a" }"#,
            "`last` has the unknown role `system`",
        ),
        (
            r#"{ text = "a", finish = "stop" }"#,
            "`finish` has the unknown reason `stop`",
        ),
    ];
    check_second_rule(&cases);
}

#[test]
fn what_does_not_compile_is_named_with_its_key() {
    let cases = [
        (
            r#"{ user = "(a", text = "a" }"#,
            "`user` is not a regular expression: unclosed group",
        ),
        (
            r#"{ system = "(?<rows>.)", text = "a" }"#,
            "`system` has a capture with the reserved name `rows`",
        ),
        (
            r#"{ when = "rows ==", text = "a" }"#,
            "`when` is not an expression: syntax error: unexpected end of input, expected expression",
        ),
        (
            r#"{ when = "a) %}{{ b }}{% if (c", text = "a" }"#,
            "`when` is not an expression: syntax error: unexpected input after expression",
        ),
        (
            r#"{ text = "{{ a" }"#,
            "`text` is not a template: syntax error: unexpected end of input, expected end of variable block",
        ),
        (
            r#"{ call = "a", arguments = "\n{{ b c }}" }"#,
            "`arguments` is not a template: syntax error: unexpected identifier, expected end of variable block (line 2)",
        ),
        (
            r#"{ calls = [{ call = "a", arguments = "{% end %}" }] }"#,
            "`arguments` of call 1 is not a template: syntax error: unknown statement end",
        ),
    ];
    check_second_rule(&cases);
}

#[test]
fn hints_name_what_could_stand_there() {
    let cases = [
        (
            "rules = []",
            "a script is one list: `rule = [{ … }, { … }]`",
        ),
        (
            r#"rule = [{ calls = [{ cal = "" }] }]"#,
            "the keys are `call`, `arguments`, `repeat`",
        ),
        (
            r#"rule = [{ last = "me", text = "" }]"#,
            "the roles are `user`, `assistant`, `tool`",
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(
            refused(source).hint().as_deref(),
            Some(expected),
            "{source}"
        );
    }
}

#[test]
fn both_ways_to_write_a_list_of_tables_are_accepted() {
    for source in [
        "",
        "[[rule]]\ntext = \"a\"\n[[rule]]\ncall = \"b\"",
        "rule = [{ text = \"\" }]",
    ] {
        assert!(ScriptedModel::from_toml("s", source).is_ok(), "{source}");
    }
}
