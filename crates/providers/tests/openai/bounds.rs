//! Time, size, and the end of a call.

use std::time::Duration;

use futures::StreamExt;
use rustagents_core::{
    Coded,
    code::Class,
    model::{Model, ModelDelta, ModelError, ResponseLimits, fold},
};
use rustagents_providers::openai::OpenAiModel;
use serde_json::json;

use super::{
    HELLO, ask, config, deltas, hasty, model, said,
    server::{Seen, Server, Step, events, head, piece, send},
    stream, text,
};

const SHORT: Duration = Duration::from_millis(100);

fn start() -> Step {
    piece(b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n")
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let mut server = Server::always(vec![Step::AwaitClose]);
    let failed = ask(&hasty(&server, SHORT)).await.unwrap_err();
    assert_eq!(failed.class(), Class::Retryable);
    assert_eq!(said(failed), "no answer after 100ms");
    server.request().await;
    assert_eq!(server.sees().await, Seen::Closed);
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up() {
    let mut server = Server::always(vec![head(), start(), Step::AwaitClose]);
    let failed = ask(&hasty(&server, SHORT)).await.unwrap_err();
    assert_eq!(said(failed), "the answer stopped: nothing came for 100ms");
    server.request().await;
    assert_eq!(server.sees().await, Seen::Closed);
}

#[tokio::test]
async fn an_error_that_never_ends_is_given_up() {
    let head = "HTTP/1.1 500 X\r\nContent-Length: 1000\r\n\r\nloading or so, we cannot know yet";
    let server = Server::always(vec![send(head), Step::AwaitClose]);
    let failed = ask(&hasty(&server, SHORT)).await.unwrap_err();
    assert!(said(failed).starts_with("status 500 Internal Server Error: loading"));
}

/// Five silences, together longer than the patience that each is within.
#[tokio::test]
async fn a_comment_is_a_sign_of_life() {
    let mut steps = vec![head(), start()];
    for _ in 0..5 {
        steps.extend([
            Step::Pause(Duration::from_millis(250)),
            piece(b": still thinking\n\n"),
        ]);
    }
    steps.push(piece(text("b").as_bytes()));
    let server = Server::always(steps);
    let response = ask(&hasty(&server, Duration::from_secs(1))).await.unwrap();
    assert_eq!(response.text, "ab");
}

#[tokio::test]
async fn an_answer_may_drip_byte_by_byte() {
    let text = text("é, and more");
    // Each byte is written on its own.
    let drip = text.as_bytes().chunks(1).map(piece);
    let server = Server::always([head()].into_iter().chain(drip).collect());
    assert_eq!(ask(&model(&server)).await.unwrap().text, "é, and more");
}

#[tokio::test]
async fn a_line_without_an_end_is_refused_and_not_collected() {
    let piece = |bytes: &[u8]| match piece(bytes) {
        Step::Send(bytes) => Step::SendForEver(bytes),
        other => other,
    };
    let endless: [&[u8]; 4] = [&[b'x'; 4096], b": ", b"data: x\n", b"data:\n"];
    for bytes in endless {
        let mut server = Server::always(vec![head(), send("6\r\ndata: \r\n"), piece(bytes)]);
        let mut config = config(server.url());
        config.max_line_bytes = 5_000;
        let (deltas, failed) = deltas(&OpenAiModel::new(config).unwrap()).await;
        assert_eq!(
            (deltas, failed),
            (vec![], Some(ModelError::TooLarge { limit: 5_000 }))
        );
        server.request().await;
        assert_eq!(server.sees().await, Seen::Closed);
    }
}

#[tokio::test]
async fn a_document_without_an_end_is_refused_and_not_collected() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"choices\":";
    let server = Server::always(vec![send(head), Step::SendForEver(b"[".repeat(4096))]);
    let failed = ask(&model(&server)).await.unwrap_err();
    assert_eq!(failed, ModelError::TooLarge { limit: 1 << 20 });
}

#[tokio::test]
async fn an_answer_without_an_end_is_left_when_its_reader_has_enough() {
    let Step::Send(text) = start() else { panic!() };
    let mut server = Server::always(vec![head(), Step::SendForEver(text)]);
    let limits = ResponseLimits {
        bytes: 1000,
        calls: 1,
    };
    let model = model(&server);
    let failed = fold(model.stream(HELLO), limits, |_| ()).await.unwrap_err();
    assert_eq!(failed, ModelError::TooLarge { limit: 1000 });
    server.request().await;
    assert_eq!(server.sees().await, Seen::Closed);
}

#[tokio::test]
async fn calls_are_counted() {
    let calls: Vec<_> = (0..2000)
        .map(|index| json!({ "tool_calls": [{ "index": index, "function": { "name": "t" } }] }))
        .collect();
    let server = Server::always(events(&[stream(&calls, "tool_calls").as_bytes()]));
    let (deltas, failed) = deltas(&model(&server)).await;
    assert_eq!(deltas.len(), 1024);
    assert_eq!(failed, Some(ModelError::TooManyCalls { limit: 1024 }));
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let mut server = Server::always(vec![head(), start(), Step::AwaitClose]);
    let model = model(&server);
    let mut answer = model.stream(HELLO);
    assert_eq!(answer.next().await, Some(Ok(ModelDelta::Text("a".into()))));
    server.request().await;
    drop(answer);
    assert_eq!(server.sees().await, Seen::Closed);
}

#[tokio::test]
async fn dropping_a_stream_that_waits_closes_the_connection() {
    let mut server = Server::always(vec![Step::AwaitClose]);
    let model = model(&server);
    let mut answer = model.stream(HELLO);
    tokio::select! {
        item = answer.next() => panic!("{item:?}"),
        request = server.request() => assert!(!request.body.is_empty()),
    }
    drop(answer);
    assert_eq!(server.sees().await, Seen::Closed);
}

#[tokio::test]
async fn nothing_is_sent_before_the_first_item_is_asked_for() {
    let mut server = Server::always(events(&[text("a").as_bytes()]));
    let model = model(&server);
    drop(model.stream(HELLO));
    let other = ask(&model).await.unwrap();
    assert_eq!(other.text, "a");
    server.request().await;
    drop(model);
    assert_eq!(server.sees().await, Seen::Closed);
}

#[tokio::test]
async fn one_connection_serves_many_calls() {
    let steps = events(&[text("a").as_bytes()]);
    let bytes = steps.into_iter().flat_map(|step| match step {
        Step::Send(bytes) => bytes,
        other => panic!("{other:?}"),
    });
    let mut server = Server::always(vec![Step::Send(bytes.collect())]);
    let model = model(&server);
    for _ in 0..3 {
        ask(&model).await.unwrap();
    }
    drop(model);
    for _ in 0..3 {
        assert!(matches!(server.sees().await, Seen::Request(_)));
    }
    assert_eq!(server.sees().await, Seen::Closed);
}

/// The answer is whole at its end; its connection may stay open without one.
#[tokio::test]
async fn a_connection_that_stays_open_after_the_answer_is_not_waited_for() {
    let mut server = Server::always(vec![head(), piece(text("a").as_bytes()), Step::AwaitClose]);
    assert_eq!(ask(&model(&server)).await.unwrap().text, "a");
    server.request().await;
    assert_eq!(server.sees().await, Seen::Closed);
}
