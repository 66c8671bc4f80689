//! Which rule answers, and what it knows.

use rustagents_core::{Code, Coded, model::ModelError};

use super::{Conversation, NAME, model};

#[test]
fn the_first_rule_that_matches_answers() {
    let model = model(
        r#"rule = [
            { user = "a", text = "1" },
            { user = "b", text = "2" },
            { text = "3" },
        ]"#,
    );
    let cases = [("ab", "1"), ("b", "2"), ("c", "3")];
    for (user, expected) in cases {
        assert_eq!(
            Conversation::with("").user(user).text(&model),
            expected,
            "{user}"
        );
    }
}

#[test]
fn each_matcher_decides() {
    let conversation = Conversation::with("Be kind.")
        .user("first")
        .assistant("yes?")
        .user("second")
        .calls("", "look", "{}")
        .ok("look", r#"{"rows":[1]}"#)
        .offer("look")
        .offer("book");
    let cases = [
        (r#"system = "^Be""#, true),
        (r#"system = "^kind""#, false),
        (r#"user = "^second$""#, true),
        (r#"user = "first""#, false),
        (r#"last = "tool""#, true),
        (r#"last = "user""#, false),
        (r#"last = "assistant""#, false),
        (r#"tool = "look""#, true),
        (r#"tool = "book""#, false),
        (r#"offers = "book""#, true),
        (r#"offers = "cook""#, false),
        (r#"when = "rows""#, true),
        (r#"when = "rows[0] > 1""#, false),
        (r#"when = "{'a': {'b': {}}}""#, true),
        (r#"when = "'%}' == '%' ~ '}'""#, true),
        (r#"tool = "look", last = "tool", when = "error""#, false),
    ];
    for (matchers, matches) in cases {
        let script = format!(r#"rule = [{{ {matchers}, text = "yes" }}, {{ text = "no" }}]"#);
        let expected = if matches { "yes" } else { "no" };
        assert_eq!(conversation.text(&model(&script)), expected, "{matchers}");
    }
}

#[test]
fn a_message_that_is_not_there_does_not_match() {
    for matchers in [r#"user = """#, r#"last = "user""#, r#"tool = """#] {
        let model = model(&format!(r#"rule = [{{ {matchers}, text = "yes" }}]"#));
        let error = Conversation::with("").ask(&model).unwrap_err();
        assert!(
            matches!(error, ModelError::NoRule { .. }),
            "{matchers}: {error}"
        );
    }
}

#[test]
fn what_is_not_defined_is_false_in_conditions() {
    for when in [
        "rows",
        "rows[0].a.b",
        "rows[0].a == 1",
        "rows | length > 0",
        "1 in rows",
    ] {
        let script = format!(r#"rule = [{{ when = "{when}", text = "yes" }}, {{ text = "no" }}]"#);
        assert_eq!(Conversation::with("").text(&model(&script)), "no", "{when}");
    }
}

#[test]
fn what_is_not_defined_is_an_error_in_templates() {
    let model = model(r#"rule = [{ user = "x", text = "" }, { text = "{{ order }}" }]"#);
    let error = Conversation::with("").ask(&model).unwrap_err();
    assert_eq!(error.code(), Code::Script);
    assert_eq!(
        error.to_string(),
        "script `scripted:script.toml`: rule 2: `text`: undefined value: `order` is undefined"
    );
}

#[test]
fn a_condition_that_fails_names_its_rule() {
    let model = model(r#"rule = [{ when = "'a' - 1", text = "" }]"#);
    let error = Conversation::with("").ask(&model).unwrap_err();
    assert!(
        matches!(&error, ModelError::Script { rule: 1, .. }),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("rule 1: `when`: invalid operation"),
        "{error}"
    );
}

#[test]
fn captures_are_variables_and_those_of_the_user_win() {
    let model = model(
        r#"rule = [{
            system = '(?<who>\w+) (?<what>clerk)', user = '(?<who>\w+)!(?<more>\w+)?',
            text = "{{ who }} {{ what }} {{ more | default('-') }}",
        }]"#,
    );
    assert_eq!(
        Conversation::with("Refund clerk")
            .user("Anna!")
            .text(&model),
        "Anna clerk -"
    );
}

#[test]
fn answers_are_the_texts_of_this_run_without_calls() {
    let model = model(r#"rule = [{ text = "{{ answers | tojson }}" }]"#);
    let conversation = Conversation::with("")
        .assistant("before")
        .run_starts_here()
        .user("question")
        .assistant("one")
        .assistant("")
        .calls("beside a call", "look", "{}")
        .ok("look", "{}")
        .assistant("two");
    assert_eq!(conversation.text(&model), r#"["one", "two"]"#);
    assert_eq!(Conversation::with("").run_starts_here().text(&model), "[]");
}

#[test]
fn a_result_becomes_variables() {
    let show = |name: &str| format!("{{{{ {name} | default('-') | tojson }}}}");
    let text = ["result", "rows", "error"].map(show).join(" ");
    let model = model(&format!(r#"rule = [{{ text = "{text}" }}]"#));
    let asked = || Conversation::with("").user("?").calls("", "look", "{}");
    let cases = [
        (
            asked().ok("look", r#"{"rows":[1]}"#),
            r#"{"rows": [1]} [1] "-""#,
        ),
        (asked().ok("look", "[7]"), r#"[7] "-" "-""#),
        (asked().ok("look", "plain"), r#""plain" "-" "-""#),
        (asked().ok("look", "null"), r#"null "-" "-""#),
        (
            asked().error("look", r#"{"error":{"message":"m"}}"#),
            r#""-" "-" {"message": "m"}"#,
        ),
        (
            asked().error("look", "broken"),
            r#""-" "-" {"message": "broken"}"#,
        ),
        (
            asked().error("look", "[1]"),
            r#""-" "-" {"message": "[1]"}"#,
        ),
        (
            asked().ok("look", r#"{"rows":[1]}"#).user("again"),
            r#""-" "-" "-""#,
        ),
    ];
    for (conversation, expected) in cases {
        assert_eq!(conversation.text(&model), expected, "{conversation:?}");
    }
}

#[test]
fn no_match_says_what_there_was_to_match() {
    let model = model(r#"rule = [{ user = "never", text = "" }]"#);
    let conversation = Conversation::with("Refund clerk.\nLook it up.")
        .user(&"where is my order ".repeat(10))
        .calls("", "lookup_order", "{}")
        .ok("lookup_order", "{}")
        .offer("lookup_order")
        .offer("refund");
    let error = conversation.ask(&model).unwrap_err();
    assert_eq!(error.code(), Code::ScriptNoMatch);
    let ModelError::NoRule { script, offered } = error else {
        panic!("{error}")
    };
    assert_eq!(script, NAME);
    assert_eq!(
        offered,
        "system `Refund clerk. Look it up.`, last `tool`, \
         user `where is my order where is my order where is my order where is m…`, \
         tool `lookup_order`, offers `lookup_order, refund`"
    );
    let ModelError::NoRule { offered, .. } = Conversation::with("").ask(&model).unwrap_err() else {
        panic!("another error")
    };
    assert_eq!(
        offered,
        "system ``, last none, user none, tool none, offers none"
    );
}
