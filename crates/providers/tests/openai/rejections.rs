//! What a status means for a next try: never, some time, or then.

use std::time::Duration;

use rustagents_core::{
    Code, Coded,
    code::Class,
    model::{ModelError, Rejection, RetryAfter},
};
use rustagents_providers::openai::OpenAiModel;

use super::{
    ask, config, model,
    server::{Server, send},
};

/// What becomes of an answer with that status line and these headers.
async fn failed(status: &str, headers: &str) -> ModelError {
    let server = Server::always(vec![send(format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\n\r\n"
    ))]);
    ask(&model(&server)).await.unwrap_err()
}

fn rejection(error: &ModelError) -> Option<Rejection> {
    match error {
        ModelError::Rejected { because, .. } => Some(*because),
        _ => None,
    }
}

fn retry_after(error: &ModelError) -> Option<RetryAfter> {
    match error {
        ModelError::Unavailable { retry_after, .. } => Some(*retry_after),
        _ => None,
    }
}

#[tokio::test]
async fn a_mistake_of_the_caller_is_told_apart_and_says_what_to_do() {
    let cases = [
        ("400 X", Rejection::Request, "correct the model"),
        ("401 X", Rejection::Key, "the key is right"),
        ("403 X", Rejection::Key, "its account may use the model"),
        (
            "404 X",
            Rejection::Target,
            "the model's name and the base URL",
        ),
        ("405 X", Rejection::Target, "the base URL"),
        ("413 X", Rejection::Request, "correct the model"),
        ("422 X", Rejection::Request, "the input"),
    ];
    for (status, because, hint) in cases {
        // When to come back makes no mistake right.
        for headers in ["", "Retry-After: 1\r\n"] {
            let error = failed(status, headers).await;
            assert_eq!(rejection(&error), Some(because), "{status}: {error:?}");
            assert_eq!(
                (error.code(), error.class()),
                (Code::ModelRejected, Class::Caller)
            );
            assert!(error.hint().unwrap().contains(hint), "{:?}", error.hint());
        }
    }
    let moved = failed("308 X", "Location: /elsewhere\r\n").await;
    assert_eq!(rejection(&moved), Some(Rejection::Target));
}

#[tokio::test]
async fn a_key_that_was_never_sent_is_told_apart_from_a_wrong_one() {
    let server = Server::always(vec![send(
        "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
    )]);
    let mut config = config(server.url());
    config.api_key = None;
    let model = OpenAiModel::new(config).unwrap();
    let error = ask(&model).await.unwrap_err();
    assert_eq!(rejection(&error), Some(Rejection::NoKey));
    assert!(error.hint().unwrap().starts_with("no key was sent"));
}

#[tokio::test]
async fn a_provider_without_room_says_when_to_come_back() {
    let ms = 784_111_777_000;
    let cases = [
        ("7", RetryAfter::In(Duration::from_secs(7))),
        (" 0 ", RetryAfter::In(Duration::ZERO)),
        (
            "99999999999999999999999",
            RetryAfter::In(Duration::from_secs(u64::MAX)),
        ),
        ("Sun, 06 Nov 1994 08:49:37 GMT", RetryAfter::At(ms)),
        ("Sunday, 06-Nov-94 08:49:37 GMT", RetryAfter::At(ms)),
        ("Sun Nov  6 08:49:37 1994", RetryAfter::At(ms)),
    ];
    for status in ["429 X", "503 X", "500 X", "408 X"] {
        for (said, then) in cases {
            let error = failed(status, &format!("Retry-After: {said}\r\n")).await;
            assert_eq!(retry_after(&error), Some(then), "{status} {said}");
            assert_eq!(
                (error.code(), error.class()),
                (Code::ModelFailed, Class::Retryable)
            );
        }
    }
}

#[tokio::test]
async fn a_time_that_cannot_be_read_is_as_good_as_none() {
    for said in [
        "",
        "Retry-After:\r\n",
        "Retry-After: soon\r\n",
        "Retry-After: -1\r\n",
    ] {
        let error = failed("429 X", said).await;
        assert!(matches!(error, ModelError::Transport { .. }), "{error:?}");
        assert_eq!(error.class(), Class::Retryable);
    }
}

/// What becomes of a refusal for want of room that says this.
async fn without_room(body: &str) -> ModelError {
    let length = body.len();
    let server = Server::always(vec![send(format!(
        "HTTP/1.1 429 X\r\nRetry-After: 7\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    ))]);
    ask(&model(&server)).await.unwrap_err()
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_no_matter_of_waiting() {
    for body in [
        r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
        r#"{"error":{"message":"limit","type":"invalid_request_error","code":"billing_hard_limit_reached"}}"#,
        r#"{"error":{"message":"none left","type":"insufficient_quota","code":null}}"#,
        r#"{"message":"none left","code":"insufficient_quota"}"#,
        r#"[{"error":{"message":"none left","code":"insufficient_quota"}}]"#,
    ] {
        let error = without_room(body).await;
        assert_eq!(rejection(&error), Some(Rejection::Quota), "{error:?}");
        assert_eq!(
            (error.code(), error.class()),
            (Code::ModelRejected, Class::Caller)
        );
        assert!(error.hint().unwrap().contains("billing"), "{error:?}");
    }
}

#[tokio::test]
async fn any_other_want_of_room_is_waited_for() {
    for body in [
        r#"{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}"#,
        r#"{"error":{"message":"this is no insufficient_quota","code":429}}"#,
        r#"{"error":"insufficient_quota"}"#,
        r#"{"error":null,"code":["insufficient_quota"]}"#,
        "insufficient_quota",
        "[]",
        "",
    ] {
        let error = without_room(body).await;
        let then = RetryAfter::In(Duration::from_secs(7));
        assert_eq!(retry_after(&error), Some(then), "{body}: {error:?}");
    }
}

#[test]
fn a_time_that_is_over_is_not_waited_for() {
    assert_eq!(RetryAfter::At(500).wait(2_000), Duration::ZERO);
    assert_eq!(
        RetryAfter::At(2_000).wait(500),
        Duration::from_millis(1_500)
    );
}
