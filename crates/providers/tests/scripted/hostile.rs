//! Scripts that send what a model should not.

use futures::{FutureExt, StreamExt};
use rustagents_core::{
    Code, Coded,
    canonical::Canonical,
    model::{Model, ModelDelta, ModelError},
};

use super::{Conversation, calls, model};

#[test]
fn arguments_are_not_checked() {
    for arguments in [r#"{"a":1,"a":2}"#, "{", "NaN", r#"["\ud800"]"#, " "] {
        let script = format!("rule = [{{ call = 'no such tool', arguments = '{arguments}' }}]");
        let response = Conversation::with("")
            .offer("look")
            .ask(&model(&script))
            .unwrap();
        assert_eq!(calls(&response), [("no such tool", arguments)]);
        assert!(Canonical::parse(arguments).is_err(), "{arguments}");
    }
}

#[test]
fn ten_megabytes_are_too_large() {
    for outcome in [
        r#"call = "a", arguments = "{{ 'x' * 10000000 }}""#,
        r#"text = "{{ 'x' * 10000000 }}""#,
        r#"text = "{{ 'x ' * 5000000 }}""#,
    ] {
        let error = Conversation::with("").ask(&model(&format!("rule = [{{ {outcome} }}]")));
        assert_eq!(
            error,
            Err(ModelError::TooLarge { limit: 1 << 20 }),
            "{outcome}"
        );
    }
}

#[test]
fn a_thousand_calls_are_too_many() {
    let model = model(r#"rule = [{ call = "a", repeat = 1000 }]"#);
    let error = Conversation::with("").ask(&model);
    assert_eq!(error, Err(ModelError::TooManyCalls { limit: 128 }));
}

#[test]
fn an_endless_answer_is_made_as_it_is_read() {
    let source = format!(
        r#"rule = [{{ call = "a", arguments = "x", repeat = {} }}]"#,
        i64::MAX
    );
    let model = model(&source);
    let conversation = Conversation::with("");
    let read = model
        .stream(conversation.request())
        .take(1000)
        .count()
        .now_or_never();
    assert_eq!(read, Some(1000));
}

#[test]
fn an_answer_renders_no_more_than_64_mebibytes() {
    let model = model(
        r#"rule = [
            { user = "one", text = "{{ 'x' * 67108865 }}" },
            { user = "two", calls = [
                { call = "a", arguments = "{{ 'x' * 40000000 }}" },
                { call = "a", arguments = "{{ 'x' * 40000000 }}" },
            ] },
        ]"#,
    );
    for user in ["one", "two"] {
        let conversation = Conversation::with("").user(user);
        let items: Vec<_> = model
            .stream(conversation.request())
            .collect()
            .now_or_never()
            .unwrap();
        assert_eq!(items, [Err(ModelError::TooLarge { limit: 64 << 20 })]);
    }
}

#[test]
fn work_is_bounded() {
    let nested = "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}";
    let cases = [
        format!("text = '{nested}'"),
        "text = '{{ \"x\" * 1000000000000 }}'".to_owned(),
        "when = '(\"x\" * 1000000000000)', text = ''".to_owned(),
    ];
    for rule in cases {
        let error = Conversation::with("").ask(&model(&format!("rule = [{{ {rule} }}]")));
        let error = error.unwrap_err();
        assert_eq!(error.code(), Code::Script, "{rule}: {error}");
        assert!(
            error.to_string().contains("engine ran out of fuel"),
            "{rule}: {error}"
        );
    }
}

#[test]
fn nothing_follows_an_error() {
    let model = model(r#"rule = [{ text = "{{ nothing }}", call = "a" }]"#);
    let conversation = Conversation::with("");
    let items: Vec<_> = model
        .stream(conversation.request())
        .collect()
        .now_or_never()
        .unwrap();
    assert!(
        matches!(items.as_slice(), [Err(ModelError::Script { rule: 1, .. })]),
        "{items:?}"
    );
}

#[test]
fn loops_make_many_words() {
    let model = model(r#"rule = [{ text = "{% for n in range(1000) %}{{ n }} {% endfor %}" }]"#);
    let deltas = Conversation::with("").deltas(&model);
    let words = deltas
        .iter()
        .filter(|delta| matches!(delta, ModelDelta::Text(_)));
    assert_eq!(words.count(), 1000);
}
