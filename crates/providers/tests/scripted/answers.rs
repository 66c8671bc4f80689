//! What an answer is sent as, and what it costs.

use proptest::prelude::*;
use rustagents_core::{
    message::Usage,
    model::{FinishReason, ModelDelta, ModelRequest},
};
use rustagents_providers::ScriptedModel;

use super::{Conversation, NAME, calls, deltas, model};

fn head(index: usize, id: &str, name: &str) -> ModelDelta {
    ModelDelta::Call {
        index,
        wire_id: Some(id.into()),
        name: Some(name.into()),
        arguments: String::new(),
    }
}

fn more(index: usize, arguments: &str) -> ModelDelta {
    ModelDelta::Call {
        index,
        wire_id: None,
        name: None,
        arguments: arguments.into(),
    }
}

fn usage(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage {
        input_tokens,
        output_tokens,
        ..Usage::default()
    }
}

#[test]
fn an_answer_ends_as_the_rule_says() {
    for (name, reason) in [
        ("length", FinishReason::Length),
        ("refusal", FinishReason::Refusal),
    ] {
        let model = model(&format!(r#"rule = [{{ text = "No", finish = "{name}" }}]"#));
        let expected = [
            ModelDelta::Text("No".into()),
            ModelDelta::Usage(usage(0, 1)),
            ModelDelta::Finish(reason),
        ];
        assert_eq!(Conversation::with("").deltas(&model), expected);
    }
}

#[test]
fn text_is_sent_by_words_and_calls_after_it() {
    let model = model(
        r#"rule = [{
            text = "  Let me  look.\n",
            calls = [{ call = "look", arguments = "{}" }, { call = "book" }],
        }]"#,
    );
    let expected = [
        ModelDelta::Text("  ".into()),
        ModelDelta::Text("Let ".into()),
        ModelDelta::Text("me  ".into()),
        ModelDelta::Text("look.\n".into()),
        head(0, "call_1", "look"),
        more(0, "{}"),
        head(1, "call_2", "book"),
        ModelDelta::Usage(usage(0, 7)),
        ModelDelta::Finish(FinishReason::ToolCalls),
    ];
    assert_eq!(Conversation::with("").deltas(&model), expected);
}

#[test]
fn an_empty_text_sends_no_text() {
    let deltas = Conversation::with("").deltas(&model(r#"rule = [{ text = "" }]"#));
    let expected = [
        ModelDelta::Usage(usage(0, 0)),
        ModelDelta::Finish(FinishReason::Stop),
    ];
    assert_eq!(deltas, expected);
}

#[test]
fn arguments_are_sent_in_pieces() {
    let model = model(r#"rule = [{ call = "a", arguments = "{{ 'xé' * 100000 }}" }]"#);
    let deltas = Conversation::with("").deltas(&model);
    let pieces = deltas.iter().filter_map(|delta| match delta {
        ModelDelta::Call { arguments, .. } => Some(arguments.as_str()),
        _ => None,
    });
    let pieces: Vec<&str> = pieces.collect();
    assert_eq!(pieces.len(), 6);
    assert!(pieces.iter().all(|piece| piece.len() <= 64 << 10));
    assert_eq!(pieces.concat(), "xé".repeat(100_000));
}

#[test]
fn a_call_is_repeated() {
    let model = model(r#"rule = [{ call = "a", arguments = "1", repeat = 3 }]"#);
    let response = Conversation::with("").ask(&model).unwrap();
    assert_eq!(calls(&response), [("a", "1"); 3]);
    let ids: Vec<_> = response
        .calls
        .iter()
        .filter_map(|call| call.wire_id.as_deref())
        .collect();
    assert_eq!(ids, ["call_1", "call_2", "call_3"]);
    assert_eq!(response.usage, Some(usage(0, 2)));
}

#[test]
fn a_token_is_four_characters_rounded_up() {
    let model = model(r#"rule = [{ text = "ééé é", call = "look", arguments = "{}" }]"#);
    let conversation = Conversation::with("12345")
        .user("éé")
        .calls("a", "look", "{}")
        .ok("look", "[1]");
    let response = conversation.ask(&model).unwrap();
    assert_eq!(response.usage, Some(usage(5, 3)));
}

#[test]
fn labels_change_nothing() {
    let model = model(r#"rule = [{ text = "neither" }]"#);
    let conversation = Conversation::with("").user("?");
    let labels = ["refund".to_owned(), "other".to_owned()];
    let request = ModelRequest {
        labels: &labels,
        ..conversation.request()
    };
    assert_eq!(deltas(&model, request), conversation.deltas(&model));
}

proptest! {
    #[test]
    fn joined_deltas_are_the_text(text in any::<String>(), spaced in "[ a\\t\\n\u{a0}é]{0,40}") {
        let model = ScriptedModel::from_toml(
            NAME,
            r#"rule = [{ user = '(?s)^(?<all>.*)$', text = "{{ all }}", call = "c", arguments = "{{ all }}" }]"#,
        ).unwrap();
        for text in [text, spaced] {
            let conversation = Conversation::with("").user(&text);
            let deltas = conversation.deltas(&model);
            let words: String = deltas.iter().filter_map(|delta| match delta {
                ModelDelta::Text(text) => Some(text.as_str()),
                _ => None,
            }).collect();
            prop_assert_eq!(&words, &text);
            prop_assert_eq!(&conversation.ask(&model).unwrap().calls[0].arguments, &text);
            prop_assert_eq!(deltas, conversation.deltas(&model));
        }
    }

    #[test]
    fn no_source_makes_loading_panic(source in "(rule = \\[\\{)?[a-z =\"'\\[\\]{}%\\n(|é]{0,60}") {
        let _ = ScriptedModel::from_toml(NAME, &source);
    }
}
