//! What is sent.

use rustagents_core::{
    canonical::Canonical,
    tool::{EffectClass, Executed, Tool, ToolErrorKind},
};
use rustagents_tools::http::{Declaration, HttpTool, Method};
use serde_json::{Value, json};

use super::{
    arguments, call, context, failed, get, plain, post,
    server::{Request, Server, text},
    spec,
};

/// What a server is sent by a call of what `declare` makes of its URL.
async fn sent(declare: impl FnOnce(&Server) -> Declaration, given: Value) -> Request {
    let mut server = Server::answering(text("fine"));
    let declaration = declare(&server);
    let done = call(declaration, given).await.unwrap();
    assert_eq!(done, json!({"status": 200, "body": "fine"}));
    server.request().await
}

#[tokio::test]
async fn an_argument_stays_one_segment_and_one_value() {
    for (given, line) in [
        ("A-1042", "GET /orders/A-1042?lang=A-1042 HTTP/1.1"),
        ("a b", "GET /orders/a%20b?lang=a%20b HTTP/1.1"),
        ("a/b", "GET /orders/a%2Fb?lang=a%2Fb HTTP/1.1"),
        (
            "?x=1&y#z",
            "GET /orders/%3Fx%3D1%26y%23z?lang=%3Fx%3D1%26y%23z HTTP/1.1",
        ),
        (
            "@evil.example",
            "GET /orders/%40evil.example?lang=%40evil.example HTTP/1.1",
        ),
        (
            "x HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            "GET /orders/x%20HTTP%2F1.1%0D%0AHost%3A%20evil.example%0D%0A%0D%0A\
             ?lang=x%20HTTP%2F1.1%0D%0AHost%3A%20evil.example%0D%0A%0D%0A HTTP/1.1",
        ),
    ] {
        let declare = |server: &Server| {
            let url = server.url("/orders/{{ order }}?lang={{ lang }}");
            arguments(get(url), &["order", "lang"])
        };
        let request = sent(declare, json!({"order": given, "lang": given})).await;
        assert_eq!(request.line, line);
        assert!(request.header("host").unwrap().starts_with("127.0.0.1:"));
    }
}

#[tokio::test]
async fn an_argument_that_leads_elsewhere_sends_nothing() {
    let mut server = Server::answering(text("fine"));
    for given in ["..", "../admin", "%2e%2e", "", "a/../../b"] {
        let url = server.url("/orders/{{ order }}");
        let result = call(arguments(get(url), &["order"]), json!({"order": given})).await;
        failed(result, ToolErrorKind::Refused, Executed::No);
    }
    let url = server.url("/orders/{{ order }}");
    let long = json!({"order": "a".repeat(9000)});
    let result = call(arguments(get(url), &["order"]), long).await;
    let message = failed(result, ToolErrorKind::Refused, Executed::No);
    assert_eq!(message, "the URL would be over 8192 bytes");
    assert!(server.saw_nothing());
}

#[tokio::test]
async fn a_body_is_what_the_url_does_not_use_of_the_declared_arguments() {
    for method in [Method::Post, Method::Put, Method::Patch] {
        let declare = |server: &Server| {
            let url = server.url("/orders/{{ order }}");
            let declaration = arguments(post(url), &["order", "reason", "cents"]);
            Declaration {
                method,
                ..declaration
            }
        };
        let given = json!({"order": "A", "reason": "ü\"", "cents": 5, "admin": true});
        let request = sent(declare, given).await;
        assert_eq!(
            request.line,
            format!("{} /orders/A HTTP/1.1", method.as_str())
        );
        assert_eq!(request.header("content-type"), Some("application/json"));
        let body: Value = serde_json::from_str(&request.body).unwrap();
        assert_eq!(body, json!({"reason": "ü\"", "cents": 5}));
    }
}

#[tokio::test]
async fn there_is_no_body_where_nothing_is_left_for_it() {
    let declare = |server: &Server| arguments(post(server.url("/{{ order }}")), &["order"]);
    let request = sent(declare, json!({"order": "A", "admin": true})).await;
    assert_eq!(
        (request.body.as_str(), request.header("content-type")),
        ("", None)
    );

    let declare = |server: &Server| Declaration {
        method: Method::Delete,
        ..post(server.url("/x"))
    };
    let request = sent(declare, json!({})).await;
    assert_eq!(
        (request.line.as_str(), request.body.as_str()),
        ("DELETE /x HTTP/1.1", "")
    );

    // An argument that may be there, and is not.
    let declare = |server: &Server| arguments(post(server.url("/")), &["reason"]);
    assert_eq!(sent(declare, json!({})).await.body, "{}");
}

#[tokio::test]
async fn headers_are_the_declared_ones_and_the_clients_own() {
    let declare = |server: &Server| Declaration {
        headers: vec![
            plain("Accept", "text/plain"),
            plain("x-shop", "lamp & chair"),
            plain("content-type", "application/merge-patch+json"),
        ],
        ..arguments(post(server.url("/")), &["x"])
    };
    let request = sent(declare, json!({"x": 1})).await;
    let mut names: Vec<&str> = request
        .headers
        .iter()
        .map(|header| header.split_once(':').unwrap().0)
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "accept",
            "content-length",
            "content-type",
            "host",
            "idempotency-key",
            "user-agent",
            "x-shop"
        ]
    );
    assert_eq!(request.header("accept"), Some("text/plain"));
    assert_eq!(
        request.header("content-type"),
        Some("application/merge-patch+json")
    );
    assert!(
        request
            .header("user-agent")
            .unwrap()
            .starts_with("rustagents/")
    );
}

#[tokio::test]
async fn calls_that_change_something_carry_their_key() {
    for (effect, carries) in [
        (EffectClass::Repeatable, false),
        (EffectClass::Idempotent, true),
        (EffectClass::Once, true),
    ] {
        let declare = |server: &Server| spec(get(server.url("/")), |spec| spec.effect = effect);
        let request = sent(declare, json!({})).await;
        let key = context().idempotency_key.to_string();
        let expected = carries.then_some(key.as_str());
        assert_eq!(request.header("idempotency-key"), expected, "{effect:?}");
    }
}

#[tokio::test]
async fn each_call_has_a_connection_of_its_own() {
    let answer = vec![super::server::send(text("fine"))];
    let mut server = Server::new(vec![answer.clone(), answer]);
    let tool = HttpTool::new(get(server.url("/"))).unwrap();
    for _ in 0..2 {
        tool.call(Canonical::of(&json!({})), context())
            .await
            .unwrap();
        server.request().await;
    }
}
