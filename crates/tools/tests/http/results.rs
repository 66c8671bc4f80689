//! What a response becomes.

use rustagents_core::tool::{EffectClass, Executed, ToolErrorKind};
use rustagents_tools::http::{Declaration, Method};
use serde_json::{Value, json};

use super::{
    call, failed, get, post,
    server::{Seen, Server, Step, json as json_response, response, send, text},
    spec,
};

async fn result(response: Vec<u8>) -> Value {
    let server = Server::answering(response);
    call(get(server.url("/")), json!({})).await.unwrap()
}

/// What a call of that effect makes of `response`, in at most `limit` bytes.
async fn limited(
    effect: EffectClass,
    limit: usize,
    response: Vec<u8>,
) -> Result<Value, rustagents_core::tool::ToolError> {
    let server = Server::answering(response);
    let declaration = spec(get(server.url("/")), |spec| {
        spec.effect = effect;
        spec.max_output_bytes = limit;
    });
    call(declaration, json!({})).await
}

#[tokio::test]
async fn json_is_data_and_everything_else_is_text() {
    let kind =
        |kind: &str, body: &str| response("200 OK", &format!("Content-Type: {kind}\r\n"), body);
    for (sent, body) in [
        (json_response(r#"{"a":[1,"x"]}"#), json!({"a": [1, "x"]})),
        (
            kind("application/problem+json; charset=utf-8", "[1]"),
            json!([1]),
        ),
        (kind("Application/JSON", "null"), json!(null)),
        (kind("text/plain", "[1]"), json!("[1]")),
        (json_response("{\"a\":"), json!("{\"a\":")),
        (text("grüße"), json!("grüße")),
        (
            response("200 OK", "", b"\xff\x00"),
            json!({"base64": "/wA="}),
        ),
        (
            response(
                "200 OK",
                "Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n",
                "3\r\n[1,\r\n2\r\n2]\r\n0\r\n\r\n",
            ),
            json!([1, 2]),
        ),
    ] {
        assert_eq!(result(sent).await, json!({"status": 200, "body": body}));
    }
}

#[tokio::test]
async fn a_compressed_body_is_not_unpacked() {
    let packed = [0x1f, 0x8b, 0x08, 0xff];
    let headers = "Content-Encoding: gzip\r\nContent-Type: application/json\r\n";
    let done = result(response("200 OK", headers, packed)).await;
    assert_eq!(done["body"], json!({"base64": "H4sI/w=="}));
}

#[tokio::test]
async fn every_status_is_a_result_of_every_call() {
    for status in [201, 400, 404, 418, 429, 500, 502, 504] {
        for declare in [get, post] {
            let sent = response(&format!("{status} X"), "", "why");
            let server = Server::answering(sent);
            let done = call(declare(server.url("/")), json!({})).await.unwrap();
            assert_eq!(done, json!({"status": status, "body": "why"}));
        }
    }
}

#[tokio::test]
async fn without_a_body_there_is_only_the_status() {
    assert_eq!(
        result(response("200 OK", "", "")).await,
        json!({"status": 200})
    );
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
    let server = Server::answering(head);
    let declaration = Declaration {
        method: Method::Head,
        ..get(server.url("/"))
    };
    let done = call(declaration, json!({})).await.unwrap();
    assert_eq!(done, json!({"status": 200}));
}

#[tokio::test]
async fn a_result_may_be_as_long_as_its_limit_and_no_longer() {
    let frame = r#"{"body":"","status":200}"#.len();
    let fits = "x".repeat(200 - frame);
    let done = limited(EffectClass::Repeatable, 200, text(&fits))
        .await
        .unwrap();
    assert_eq!(done["body"], fits);
    // What counts is the result as JSON, in which a quote takes two bytes.
    for body in [
        format!("{fits}x"),
        "\"".repeat(fits.len()),
        "y".repeat(5000),
    ] {
        let over = limited(EffectClass::Repeatable, 200, text(&body)).await;
        let message = failed(over, ToolErrorKind::OutputTooLarge, Executed::Unknown);
        assert_eq!(message, "the result is over 200 bytes");
    }
}

#[tokio::test]
async fn a_call_that_changed_something_gets_as_much_as_fits() {
    for effect in [EffectClass::Once, EffectClass::Idempotent] {
        for (body, repeated) in [
            ("x".repeat(5000), "x"),
            ("\"".repeat(5000), "\""),
            ("\u{1}\n".repeat(2500), "\u{1}\n"),
            ("€".repeat(2000), "€"),
            ("💡".repeat(1500), "💡"),
        ] {
            for limit in [128, 129, 130, 131, 500] {
                let cut = limited(effect, limit, text(&body)).await.unwrap();
                assert_eq!(cut["status"], 200);
                assert_eq!(cut["truncated"], true);
                let start = cut["body"].as_str().unwrap();
                assert!(body.starts_with(start) && start.starts_with(repeated));
                let length = cut.to_string().len();
                assert!(
                    length <= limit && length + 20 > limit,
                    "{length} of {limit}"
                );
            }
        }
    }
}

#[tokio::test]
async fn json_that_is_cut_is_text_and_bytes_stay_bytes() {
    let long = format!("[{}1]", "1,".repeat(500));
    let cut = limited(EffectClass::Once, 150, json_response(&long))
        .await
        .unwrap();
    assert!(cut["body"].as_str().unwrap().starts_with("[1,1,"));
    let bytes = response("200 OK", "", [0xff; 500]);
    let cut = limited(EffectClass::Once, 150, bytes).await.unwrap();
    let body = cut["body"]["base64"].as_str().unwrap();
    assert!(
        body.starts_with("////") && cut.to_string().len() <= 150,
        "{cut}"
    );
}

#[tokio::test]
async fn a_location_that_is_long_gives_way_to_the_status() {
    let sent = super::server::redirect(303, &format!("/{}", "a".repeat(2000)));
    let server = Server::answering(sent);
    let declaration = spec(post(server.url("/")), |spec| spec.max_output_bytes = 128);
    let cut = call(declaration, json!({})).await.unwrap();
    assert_eq!(
        cut,
        json!({"status": 303, "truncated": true, "body": "moved"})
    );
}

#[tokio::test]
async fn a_body_without_an_end_is_read_up_to_the_limit() {
    let script = || {
        vec![
            send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"),
            Step::Flood(vec![b'x'; 1 << 16]),
        ]
    };
    let mut server = Server::new(vec![script()]);
    let cut = call(post(server.url("/")), json!({})).await.unwrap();
    assert_eq!(cut["truncated"], true);
    server.request().await;
    assert_eq!(server.sees().await, Seen::Closed);

    let mut server = Server::new(vec![script()]);
    let over = call(get(server.url("/")), json!({})).await;
    failed(over, ToolErrorKind::OutputTooLarge, Executed::Unknown);
    server.request().await;
    assert_eq!(server.sees().await, Seen::Closed);
}
