//! What goes wrong, and what is told of it.

use std::net::TcpListener;

use rustagents_core::{
    Code, Coded,
    code::Class,
    model::{FinishReason, ModelDelta},
};
use rustagents_providers::openai::OpenAiModel;
use serde_json::{Value, json};

use super::{
    KEY, answer, ask, config, deltas, model, reason, said,
    server::{Seen, Server, Step, document, events, head, piece, send},
    stream, text,
};

/// What a server of this answer is said to have done.
async fn told(steps: Vec<Step>) -> String {
    said(ask(&model(&Server::always(steps))).await.unwrap_err())
}

#[tokio::test]
async fn a_refused_request_is_told_with_its_status_and_the_servers_words() {
    let json = "application/json";
    let cases = [
        (
            "400 Bad Request",
            json,
            r#"{"error":{"message":"no such  tool","type":"invalid_request_error","code":null}}"#,
            "status 400 Bad Request: no such tool (invalid_request_error)",
        ),
        (
            "401 Unauthorized",
            json,
            r#"{"error":"who are you"}"#,
            "status 401 Unauthorized: who are you",
        ),
        (
            "422 X",
            json,
            r#"{"detail":[{"msg":"too short","loc":[]}]}"#,
            "status 422 Unprocessable Entity: too short",
        ),
        (
            "500 X",
            json,
            r#"{"object":"error","message":"broken"}"#,
            "status 500 Internal Server Error: broken",
        ),
        (
            "500 X",
            json,
            r#"{"odd":[]}"#,
            r#"status 500 Internal Server Error: {"odd":[]}"#,
        ),
        (
            "503 X",
            json,
            r#"{"error":{"code":503,"message":"loading","type":"unavailable_error"}}"#,
            "status 503 Service Unavailable: loading (unavailable_error)",
        ),
        (
            "502 X",
            "text/html",
            "<!doctype html><HTML><head><Title>\n Bad  gateway</Title></head><body>İ</body>",
            "status 502 Bad Gateway: Bad gateway",
        ),
        (
            "502 X",
            "text/html",
            "<html>",
            "status 502 Bad Gateway: <html>",
        ),
        (
            "429 X",
            "text/plain",
            "\u{1b}[31mslow\r\n\tdown",
            "status 429 Too Many Requests: [31mslow down",
        ),
        (
            "599 X",
            "text/plain",
            "",
            "status 599: it says nothing more",
        ),
    ];
    for (status, kind, body, expected) in cases {
        assert_eq!(told(document(status, kind, body)).await, expected);
    }
}

#[tokio::test]
async fn an_errors_body_is_read_and_told_only_in_part() {
    let long = told(document("500 X", "text/plain", &"é ".repeat(1 << 20))).await;
    assert!(long.ends_with('…'), "{long}");
    assert_eq!(long.chars().count(), 401);
    let endless = vec![
        send("HTTP/1.1 500 X\r\nContent-Type: text/plain\r\n\r\n"),
        Step::SendForEver(b"no ".repeat(1000)),
    ];
    assert!(
        told(endless)
            .await
            .starts_with("status 500 Internal Server Error: no no")
    );
}

#[tokio::test]
async fn a_key_that_the_server_echoes_is_not_told() {
    let echo = format!("key {KEY} is wrong");
    let error = json!({ "error": { "message": echo } }).to_string();
    let redirect =
        format!("HTTP/1.1 302 Found\r\nLocation: /login?key={KEY}\r\nContent-Length: 0\r\n\r\n");
    let broken = format!("{} {KEY}", "x".repeat(380));
    let cut = format!(
        "HTTP/1.1 500 X\r\nContent-Length: 99999\r\n\r\nkey {}",
        &KEY[..20]
    );
    let cases = [
        document("401 X", "application/json", &error),
        document("401 X", "text/html", &format!("<title>{echo}</title>")),
        document("401 X", "text/plain", &broken),
        events(&[format!("data: {error}\n\n").as_bytes()]),
        events(&[format!("data: {echo}\n\n").as_bytes()]),
        document("200 OK", "application/json", &echo),
        document("200 OK", &format!("text/html; {KEY}"), ""),
        vec![send(redirect)],
        vec![send(cut), Step::Close],
    ];
    for steps in cases {
        let told = told(steps.clone()).await;
        assert!(!told.contains("sk-made"), "{told}");
    }
}

/// A name, an id, a reason and a refusal become part of errors and records; the
/// model's own words are kept as they are said.
#[tokio::test]
async fn a_key_that_the_server_puts_into_an_answer_is_taken_out_of_all_but_the_models_words() {
    let call = json!({ "index": 0, "id": KEY, "function": { "name": KEY, "arguments": "{}" } });
    let stream = |deltas: &[Value], reason: &str| {
        let event = |choice: Value| format!("data: {}\n\n", json!({ "choices": [choice] }));
        let mut stream: String = deltas
            .iter()
            .map(|delta| event(json!({ "delta": delta })))
            .collect();
        stream += &event(json!({ "delta": {}, "finish_reason": reason }));
        stream
    };
    let said = answer(stream(&[json!({ "tool_calls": [call] })], "tool_calls")).await;
    let told = format!("{:?}", said.unwrap());
    assert!(told.contains("***") && !told.contains(KEY), "{told}");

    let said = answer(stream(&[json!({ "content": "x" })], &format!("no {KEY}"))).await;
    assert_eq!(said.unwrap().finish, FinishReason::Other("no ***".into()));

    let (start, end) = KEY.split_at(9);
    let refusal = [
        json!({ "refusal": format!("no, {start}") }),
        json!({ "refusal": format!("{end}, s") }),
    ];
    let said = answer(stream(&refusal, "stop")).await.unwrap();
    assert_eq!(said.text, "no, ***, s");
    assert_eq!(said.finish, FinishReason::Refusal);

    let said = answer(stream(&[json!({ "content": KEY })], "stop")).await;
    assert_eq!(said.unwrap().text, KEY);
}

/// The limit may fall into the key.
#[tokio::test]
async fn half_a_key_at_the_end_of_what_is_read_is_not_told() {
    let body = format!("{}{KEY} and more", " ".repeat(100));
    for limit in 100..130 {
        let server = Server::always(document("500 X", "text/plain", &body));
        let mut config = config(server.url());
        config.max_error_body = limit;
        let error = ask(&OpenAiModel::new(config).unwrap()).await.unwrap_err();
        assert!(!error.to_string().contains("sk-"), "{limit}: {error}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let mut server = Server::always(vec![send(
        "HTTP/1.1 307 X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
    )]);
    let model = model(&server);
    assert_eq!(
        said(ask(&model).await.unwrap_err()),
        "status 307: redirects are not followed, here to `/elsewhere`"
    );
    drop(model);
    assert!(server.request().await.head.starts_with("POST /v1/"));
    assert_eq!(server.sees().await, Seen::Closed);
}

/// An error object after some text: the text was streamed, the run does not succeed.
#[tokio::test]
async fn an_error_within_a_stream_ends_it() {
    let start = r#"data: {"choices":[{"delta":{"content":"partial"}}]}"#;
    let errors = [
        r#"data: {"error":{"message":"overloaded","type":"server_error","code":"busy"}}"#,
        r#"data: {"error":"overloaded (busy)","choices":[]}"#,
        r#"data: {"object":"error","message":"overloaded","code":"busy"}"#,
        "event: error\ndata: overloaded (busy)",
        r#"error: {"message":"overloaded","code":"busy"}"#,
    ];
    for error in errors {
        let whole = format!("{start}\n\n{error}\n\n{}", text("more"));
        let (deltas, failed) = deltas(&model(&Server::always(events(&[whole.as_bytes()])))).await;
        assert_eq!(deltas, [ModelDelta::Text("partial".into())], "{error}");
        let failed = failed.unwrap();
        assert_eq!(
            (failed.code(), failed.class()),
            (Code::ModelFailed, Class::Retryable)
        );
        assert_eq!(
            said(failed),
            "it failed while it answered: overloaded (busy)",
            "{error}"
        );
    }
    let last = format!("{start}\n\n{}", errors[0]);
    assert_eq!(
        reason(last).await,
        "it failed while it answered: overloaded (busy)"
    );
}

#[tokio::test]
async fn a_stream_that_ends_before_its_end_is_a_failure() {
    let whole = text("a");
    let start = whole.split_inclusive("\n\n").next().unwrap();
    let cut = "the answer broke off before its end";
    assert_eq!(reason(start).await, cut);
    assert_eq!(reason(format!("{start}data: {{\"choi")).await, cut);
    assert_eq!(reason(": nothing\n\n").await, cut);
    assert_eq!(told(document("200 OK", "text/event-stream", "")).await, cut);
    assert_eq!(
        told(document("204 No Content", "text/plain", "")).await,
        cut
    );
    let closed = vec![head(), piece(start.as_bytes()), Step::Close];
    assert!(told(closed).await.starts_with("the connection failed: "));
    let unannounced = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    assert_eq!(
        told(vec![send(unannounced), send(start), Step::Close]).await,
        cut
    );
}

#[tokio::test]
async fn an_end_without_an_answer_is_a_failure() {
    let none = "the answer ended, and there was none";
    assert_eq!(reason("data: [DONE]\n\n").await, none);
    assert_eq!(
        reason("data: {\"choices\":[],\"usage\":{}}\n\ndata: [DONE]\n\n").await,
        none
    );
    assert_eq!(
        told(document("200 OK", "application/json", "{}")).await,
        none
    );
}

#[tokio::test]
async fn a_finished_answer_survives_the_connection() {
    let whole = text("a");
    let finished = whole.strip_suffix("data: [DONE]\n\n").unwrap();
    let response = answer(finished).await.unwrap();
    assert_eq!(
        (response.text.as_str(), response.finish),
        ("a", FinishReason::Stop)
    );
    let closed = Server::always(vec![head(), piece(finished.as_bytes()), Step::Close]);
    assert_eq!(ask(&model(&closed)).await.unwrap().text, "a");
}

#[tokio::test]
async fn a_page_is_no_answer() {
    assert_eq!(
        told(document(
            "200 OK",
            "text/html; charset=utf-8",
            "<title>Log in</title>"
        ))
        .await,
        "it answered with `text/html; charset=utf-8`, which is no event stream"
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_or_resets_is_a_failure() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", free.local_addr().unwrap());
    drop(free);
    let nobody = said(
        ask(&OpenAiModel::new(config(&url)).unwrap())
            .await
            .unwrap_err(),
    );
    assert!(nobody.starts_with("cannot connect: "), "{nobody}");
    assert!(
        told(vec![Step::Close])
            .await
            .starts_with("the connection failed: ")
    );
    let junk = told(vec![send("SSH-2.0-junk\r\n\r\n"), Step::Close]).await;
    assert!(junk.starts_with("the connection failed: "), "{junk}");
}

/// The finish reasons that the contract has no word for.
#[tokio::test]
async fn finish_reasons_are_open_and_an_empty_one_is_none() {
    let finish = async |reason: &str| {
        answer(stream(&[json!({ "content": "a" })], reason))
            .await
            .unwrap()
            .finish
    };
    assert_eq!(finish("length").await, FinishReason::Length);
    assert_eq!(finish("content_filter").await, FinishReason::Refusal);
    assert_eq!(finish("").await, FinishReason::Stop);
    for reason in ["eos", "end_turn", "STOP"] {
        assert_eq!(finish(reason).await, FinishReason::Other(reason.into()));
    }
}
