//! What is sent, byte by byte.

use std::{fs, path::Path, sync::Arc};

use futures::StreamExt;
use rustagents_core::{
    message::Message,
    model::{Model, ModelRequest},
    tool::ToolSpec,
};
use rustagents_providers::openai::{Dialect, OpenAiModel};
use serde_json::{Value, json};

use super::{
    KEY, call, config, messages, result,
    server::{Request, Server, events},
    text, tool,
};

/// The requests of two turns of a conversation in which much happens.
struct Sent {
    server: Server,
    model: OpenAiModel,
}

impl Sent {
    fn to(dialect: &'static Dialect) -> Self {
        let server = Server::always(events(&[text("ok").as_bytes()]));
        let mut config = config(server.url());
        config.dialect = dialect;
        let model = OpenAiModel::new(config).unwrap();
        Self { server, model }
    }

    async fn request(&mut self, messages: &[Arc<Message>], tools: &[Arc<ToolSpec>]) -> Request {
        let labels = ["unused".to_owned()];
        let request = ModelRequest {
            instructions: "Be \"kind\".\n",
            messages,
            run_start: 0,
            tools,
            labels: &labels,
        };
        let items = self.model.stream(request).count().await;
        assert_eq!(items, 2);
        self.server.request().await
    }

    async fn messages(&mut self, messages: &[Arc<Message>]) -> Value {
        let body = self.request(messages, &[]).await.body;
        serde_json::from_str::<Value>(&body).unwrap()["messages"].take()
    }
}

fn conversation() -> Vec<Arc<Message>> {
    messages(vec![
        |id| Message::user(id, "Refund order 7 é"),
        |id| {
            let order = call(1, Some("call_x1"), "order", r#"{"id":7}"#);
            Message::assistant(id, "Let me see.", vec![order])
        },
        |id| result(id, 1, r#"{"paid":5}"#),
        |id| {
            let refund = call(2, None, "refund", r#"{"sum": 5.0, "order": 7}"#);
            let list = call(3, Some(""), "list", "null");
            Message::assistant(id, "", vec![refund, list])
        },
        |id| result(id, 2, r#"{"ok":true}"#),
        |id| result(id, 3, ""),
        |id| Message::assistant(id, "Done.", vec![]),
        |id| Message::user(id, "Thanks"),
    ])
}

fn tools() -> Vec<Arc<ToolSpec>> {
    let order = json!({
        "type": "object",
        "properties": { "id": { "type": "integer" } },
        "required": ["id"],
    });
    vec![
        tool("refund", order.clone()),
        tool("order", order),
        tool("list", json!({ "type": "object" })),
    ]
}

#[tokio::test]
async fn every_dialect_sends_the_bytes_of_its_recording() {
    for dialect in Dialect::ALL {
        let sent = Sent::to(dialect).request(&conversation(), &tools()).await;
        let wire = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/wire");
        let recorded = fs::read_to_string(wire.join(dialect.name).join("request.json")).unwrap();
        assert_eq!(sent.body, recorded.trim_end(), "{}", dialect.name);
    }
}

/// Several agents on one conversation, each of which answers.
#[tokio::test]
async fn an_answer_is_never_followed_by_another_or_by_nothing() {
    let said = messages(vec![
        |id| Message::user(id, "Refund order 7"),
        |id| Message::assistant(id, "refund", vec![]),
        |id| Message::assistant(id, "", vec![call(1, None, "list", "{}")]),
        |id| result(id, 1, "[]"),
        |id| Message::assistant(id, "Paid back.", vec![]),
        |id| Message::user(id, "Thanks"),
        |id| Message::assistant(id, "Welcome.", vec![]),
    ]);
    let mut sent = Sent::to(&Dialect::COMPATIBLE);
    let roles = |sent: &Value| {
        let messages = sent.as_array().unwrap().iter().skip(1);
        let told = messages.map(|message| match message["content"].as_str() {
            Some("Go on.") => "go on".to_owned(),
            _ => message["role"].as_str().unwrap().to_owned(),
        });
        told.collect::<Vec<_>>().join(", ")
    };
    let all = sent.messages(&said).await;
    assert_eq!(
        roles(&all),
        "user, assistant, go on, assistant, tool, assistant, user, assistant, go on"
    );
    // What the second agent was asked with stays as it was.
    let second = sent.messages(said.get(..2).unwrap()).await;
    assert_eq!(roles(&second), "user, assistant, go on");
    assert_eq!(
        all.as_array().unwrap().get(..4),
        second.as_array().unwrap().get(..)
    );
}

#[tokio::test]
async fn a_request_is_posted_with_its_key_in_one_header() {
    let sent = Sent::to(&Dialect::COMPATIBLE)
        .request(&conversation(), &tools())
        .await;
    let head = sent.head.to_ascii_lowercase();
    assert!(
        head.starts_with("post /v1/chat/completions http/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains("\r\ncontent-type: application/json\r\n"),
        "{head}"
    );
    assert!(head.contains("\r\naccept: text/event-stream\r\n"), "{head}");
    assert!(
        head.contains(&format!("\r\nauthorization: bearer {KEY}\r\n")),
        "{head}"
    );
    assert_eq!(head.matches(KEY).count(), 1);
    assert!(!sent.body.contains(KEY));
}

#[tokio::test]
async fn a_model_without_a_key_sends_none() {
    let mut server = Server::always(events(&[text("ok").as_bytes()]));
    let mut config = config(server.url());
    config.api_key = None;
    super::ask(&OpenAiModel::new(config).unwrap())
        .await
        .unwrap();
    let head = server.request().await.head.to_ascii_lowercase();
    assert!(!head.contains("authorization"), "{head}");
}

#[tokio::test]
async fn the_next_turn_starts_with_the_bytes_of_this_one() {
    let (conversation, tools) = (conversation(), tools());
    let mut sent = Sent::to(&Dialect::OPENAI);
    let mut before = None::<String>;
    for length in 0..=conversation.len() {
        let messages = conversation.get(..length).unwrap();
        if messages.last().is_some_and(|last| last.text() == "Done.") {
            // The person speaks next.
            continue;
        }
        let body = sent.request(messages, &tools).await.body;
        let again = sent.request(messages, &tools).await.body;
        assert_eq!(body, again);
        if let Some(before) = before {
            let start = before.strip_suffix("]}").unwrap();
            assert!(body.starts_with(start), "{start}\n{body}");
        }
        before = Some(body);
    }
}

#[tokio::test]
async fn replayed_arguments_are_always_an_object() {
    let recorded = messages(vec![|id| {
        let arguments = [
            "",
            " null ",
            "[1]",
            "\"{}\"",
            "{\"a\":",
            "{\"a\":1,\"a\":2}",
            "{\"b\": 1.0, \"a\": 2}",
        ];
        let calls = (1..).zip(arguments);
        let calls = calls.map(|(number, arguments)| call(number, None, "t", arguments));
        Message::assistant(id, "", calls.collect())
    }]);
    let sent = Sent::to(&Dialect::OPENAI).messages(&recorded).await;
    let calls = sent[1]["tool_calls"].as_array().unwrap();
    let arguments: Vec<_> = calls
        .iter()
        .map(|call| call["function"]["arguments"].as_str().unwrap())
        .collect();
    assert_eq!(
        arguments,
        [
            "{}",
            "{}",
            r#"{"INVALID_JSON":"[1]"}"#,
            r#"{"INVALID_JSON":"\"{}\""}"#,
            r#"{"INVALID_JSON":"{\"a\":"}"#,
            r#"{"INVALID_JSON":"{\"a\":1,\"a\":2}"}"#,
            r#"{"a":2,"b":1}"#,
        ]
    );
}

#[tokio::test]
async fn an_id_that_tells_no_call_apart_is_replaced_by_ours() {
    let recorded = messages(vec![
        |id| {
            let calls = [Some("same"), Some("same"), Some("own"), Some(LONG), None];
            let calls = (1..)
                .zip(calls)
                .map(|(number, id)| call(number, id, "t", "{}"));
            Message::assistant(id, "", calls.collect())
        },
        |id| result(id, 1, "1"),
        |id| result(id, 2, "2"),
        |id| result(id, 3, "3"),
        |id| result(id, 4, "4"),
        |id| result(id, 5, "5"),
    ]);
    let sent = Sent::to(&Dialect::OPENAI).messages(&recorded).await;
    let called = sent[1]["tool_calls"].as_array().unwrap().iter();
    let called: Vec<_> = called.map(|call| call["id"].as_str().unwrap()).collect();
    let answered = sent.as_array().unwrap().iter().skip(2);
    let answered: Vec<_> = answered
        .map(|result| result["tool_call_id"].as_str().unwrap())
        .collect();
    assert_eq!(called, ["c-1", "c-2", "own", "c-4", "c-5"]);
    assert_eq!(called, answered);
}

/// An id longer than the service takes back.
const LONG: &str = "call_0123456789012345678901234567890123456789";
