//! Which call a piece belongs to.

use rustagents_core::model::ModelDelta;
use serde_json::{Value, json};

use super::{
    answer, calls, deltas, model,
    server::{Server, events},
    stream,
};

/// A list of pieces.
fn pieces(pieces: &Value) -> Value {
    json!({ "tool_calls": pieces })
}

fn function(name: &str, arguments: impl Into<Value>) -> Value {
    json!({ "name": name, "arguments": arguments.into() })
}

async fn ids(lists: &[Value]) -> Vec<Option<String>> {
    let response = answer(stream(lists, "tool_calls")).await.unwrap();
    response
        .calls
        .into_iter()
        .map(|call| call.wire_id)
        .collect()
}

async fn check(lists: &[Value], expected: &[(&str, &str)]) {
    let response = answer(stream(lists, "tool_calls")).await.unwrap();
    assert_eq!(calls(&response), expected, "{lists:?}");
}

#[tokio::test]
async fn arguments_may_be_missing_null_or_empty() {
    let nothing = [
        json!({ "name": "list" }),
        function("list", Value::Null),
        function("list", ""),
    ];
    for nothing in nothing {
        let list = pieces(&json!([{ "index": 0, "id": "a", "function": nothing }]));
        check(&[list], &[("list", "")]).await;
    }
    // The caller, which decodes arguments, knows what this text means.
    let list = |arguments| json!([{ "index": 0, "function": function("list", arguments) }]);
    let split = [pieces(&list(json!("nu"))), pieces(&list(json!("ll")))];
    check(&split, &[("list", "null")]).await;
}

#[tokio::test]
async fn arguments_may_be_json_instead_of_text_and_keep_their_duplicates() {
    let raw = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"pay","arguments":{"sum": 1, "sum": 2}}}]},"finish_reason":"tool_calls"}]}"#;
    let response = answer(format!("data: {raw}\n\n")).await.unwrap();
    assert_eq!(calls(&response), [("pay", r#"{"sum": 1, "sum": 2}"#)]);
}

#[tokio::test]
async fn an_empty_id_or_name_is_one_that_is_still_to_come() {
    let lists = [
        json!({ "role": "assistant", "content": null, "tool_calls": [
            { "index": 0, "id": "", "type": null, "function": function("", Value::Null) },
        ] }),
        pieces(&json!([{ "index": 0, "id": "a", "function": function("list", Value::Null) }])),
        pieces(&json!([{ "index": 0, "id": null, "function": function("", "{}") }])),
    ];
    check(&lists, &[("list", "{}")]).await;
    assert_eq!(ids(&lists).await, [Some("a".to_owned())]);
}

#[tokio::test]
async fn an_empty_piece_beside_text_is_no_call() {
    let deltas = [
        json!({ "content": "a", "tool_calls": [{ "index": 0, "id": "", "function": null }, null] }),
        json!({ "content": null, "tool_calls": [{}] }),
    ];
    check(&deltas, &[]).await;
}

#[tokio::test]
async fn without_an_index_the_id_decides() {
    let lists = [
        pieces(&json!([
            { "id": "a", "function": function("one", "") },
            { "id": "b", "function": function("one", "") },
        ])),
        pieces(&json!([{ "id": "a", "function": { "arguments": "{\"n\":1" } }])),
        pieces(&json!([{ "id": "b", "function": { "arguments": "{\"n\":2" } }])),
        pieces(&json!([
            { "id": "b", "function": { "arguments": "}" } },
            { "id": "a", "function": { "arguments": "}" } },
        ])),
    ];
    check(&lists, &[("one", "{\"n\":1}"), ("one", "{\"n\":2}")]).await;
}

#[tokio::test]
async fn without_an_index_and_an_id_the_open_call_decides() {
    let lists = [
        pieces(&json!([{ "id": "a", "function": function("one", "{\"n\"") }])),
        pieces(&json!([{ "function": { "arguments": ":1}" } }])),
        pieces(&json!([{ "id": "b", "function": function("two", "{") }])),
        pieces(&json!([{ "function": { "arguments": "}" } }])),
    ];
    check(&lists, &[("one", "{\"n\":1}"), ("two", "{}")]).await;
}

#[tokio::test]
async fn without_anything_else_the_position_decides() {
    let together = [
        pieces(&json!([{ "function": { "name": "one" } }, { "function": { "name": "two" } }])),
        pieces(
            &json!([{ "function": { "arguments": "{\"n\":" } }, { "function": { "arguments": "{\"m\":" } }]),
        ),
        pieces(
            &json!([{ "function": { "arguments": "1}" } }, { "function": { "arguments": "2}" } }]),
        ),
    ];
    check(&together, &[("one", "{\"n\":1}"), ("two", "{\"m\":2}")]).await;
    // Of calls that started one after the other, the last one goes on.
    let in_turn = [
        pieces(&json!([{ "function": { "name": "one" } }])),
        pieces(&json!([{ "function": { "name": "two" } }])),
        pieces(&json!([{ "function": { "arguments": "{}" } }])),
    ];
    check(&in_turn, &[("one", ""), ("two", "{}")]).await;
}

/// Two calls at index 0, and one call at index 0 with an id in every piece.
#[tokio::test]
async fn at_one_index_only_another_id_with_another_name_is_another_call() {
    let two = [
        pieces(&json!([{ "index": 0, "id": "a", "function": function("one", "") }])),
        pieces(&json!([{ "index": 0, "id": "a", "function": { "arguments": "{}" } }])),
        pieces(&json!([{ "index": 0, "id": "b", "function": function("two", "{") }])),
        pieces(&json!([{ "index": 0, "function": { "arguments": "}" } }])),
    ];
    check(&two, &[("one", "{}"), ("two", "{}")]).await;
    assert_eq!(
        ids(&two).await,
        [Some("a".to_owned()), Some("b".to_owned())]
    );
    let one = [
        pieces(&json!([{ "index": 0, "id": "a", "function": function("one", "{") }])),
        pieces(&json!([{ "index": 0, "id": "b", "function": { "arguments": "\"n\":" } }])),
        pieces(&json!([{ "index": 0, "id": "c", "function": function("", "1") }])),
        pieces(&json!([{ "index": 0, "id": "d", "function": function("one", "}") }])),
    ];
    check(&one, &[("one", "{\"n\":1}")]).await;
    assert_eq!(ids(&one).await, [Some("a".to_owned())]);
}

/// A second object in one call's arguments could be read by nobody.
#[tokio::test]
async fn at_one_index_a_call_with_whole_arguments_takes_no_more() {
    let one = |id: &str, arguments: &str| json!({ "index": 0, "id": id, "function": function("one", arguments) });
    let expected = [("one", "{\"a\":\"}{\"}"), ("one", "{\"a\":\"\\\"}\"}")];
    let [(_, first), (_, second)] = expected;
    check(
        &[pieces(&json!([one("a", first), one("b", second)]))],
        &expected,
    )
    .await;
    check(
        &[
            pieces(&json!([one("a", first)])),
            pieces(&json!([one("b", second)])),
        ],
        &expected,
    )
    .await;
}

#[tokio::test]
async fn parallel_calls_keep_their_pieces_apart() {
    let piece = |index: u64, arguments: &str| json!({ "index": index, "function": { "arguments": arguments } });
    let lists = [
        pieces(&json!([{ "index": 0, "id": "same", "function": function("one", "") }])),
        pieces(&json!([{ "index": 7, "id": "same", "function": function("two", "") }])),
        pieces(&json!([piece(0, "{\"n\":"), piece(7, "{\"m\":")])),
        pieces(&json!([piece(7, "2}")])),
        pieces(&json!([piece(0, "1}")])),
    ];
    check(&lists, &[("one", "{\"n\":1}"), ("two", "{\"m\":2}")]).await;
}

#[tokio::test]
async fn a_name_is_told_once_even_if_it_is_repeated_or_in_pieces() {
    let piece = |name: &str, arguments: &str| {
        pieces(&json!([{ "index": 0, "id": "a", "function": function(name, arguments) }]))
    };
    let repeated = [piece("one", "{"), piece("one", ""), piece("one", "}")];
    check(&repeated, &[("one", "{}")]).await;
    check(
        &[piece("get_", ""), piece("weather", ""), piece("", "{}")],
        &[("get_weather", "{}")],
    )
    .await;

    let server = Server::always(events(&[stream(&repeated, "tool_calls").as_bytes()]));
    let (deltas, _) = deltas(&model(&server)).await;
    let told = |delta: &&ModelDelta| matches!(delta, ModelDelta::Call { .. });
    assert_eq!(deltas.iter().filter(told).count(), 2, "{deltas:?}");
}
