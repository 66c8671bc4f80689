//! How calls end without a response, and what is proven then.

use std::{
    io::{Read, Write},
    net::TcpListener,
    task::{Context, Waker},
    thread,
    time::{Duration, Instant},
};

use rustagents_core::{
    CancellationToken,
    canonical::Canonical,
    tool::{EffectClass, Executed, Tool, ToolContext, ToolErrorKind},
};
use rustagents_tools::http::HttpTool;
use serde_json::json;

use super::{
    call, context, failed, get, post,
    server::{Seen, Server, Step, send},
    spec,
};

/// A port on which nobody listens.
pub(super) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[tokio::test]
async fn a_connection_that_is_refused_executes_nothing() {
    let port = free_port();
    for declare in [get, post] {
        let result = call(declare(format!("http://127.0.0.1:{port}/")), json!({})).await;
        let message = failed(result, ToolErrorKind::Unavailable, Executed::No);
        assert!(
            message.starts_with("cannot connect to `127.0.0.1`: "),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_handshake_that_fails_executes_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Not TLS\r\n\r\n").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let result = call(post(format!("https://127.0.0.1:{port}/")), json!({})).await;
    failed(result, ToolErrorKind::Unavailable, Executed::No);
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_executes_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let declaration = spec(post(format!("https://127.0.0.1:{port}/")), |spec| {
        spec.timeout = Duration::from_millis(600);
    });
    let result = call(declaration, json!({})).await;
    let message = failed(result, ToolErrorKind::Unavailable, Executed::No);
    // Without the system's certificates, it does not come so far.
    assert!(
        message == "no connection to `127.0.0.1` after 300ms" || message.starts_with("TLS"),
        "{message}"
    );
}

#[tokio::test]
async fn after_a_request_was_sent_nobody_knows() {
    for script in [
        vec![],
        vec![send("HTTP/1.1 2")],
        vec![send("nonsense\r\n\r\n")],
        vec![send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")],
        vec![send(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        )],
        vec![send(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        )],
        vec![send(
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        )],
    ] {
        for effect in [
            EffectClass::Repeatable,
            EffectClass::Idempotent,
            EffectClass::Once,
        ] {
            let server = Server::new(vec![script.clone()]);
            let declaration = spec(post(server.url("/")), |spec| spec.effect = effect);
            let result = call(declaration, json!({})).await;
            let message = failed(result, ToolErrorKind::Failed, Executed::Unknown);
            assert!(
                message.starts_with("the connection failed")
                    || message.starts_with("the response broke off"),
                "{message}"
            );
        }
    }
}

#[tokio::test]
async fn headers_without_an_end_are_not_kept() {
    let script = vec![
        send("HTTP/1.1 200 OK\r\n"),
        Step::Flood(b"X-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n".repeat(100)),
    ];
    let mut server = Server::new(vec![script]);
    let result = call(post(server.url("/")), json!({})).await;
    failed(result, ToolErrorKind::Failed, Executed::Unknown);
    server.request().await;
    assert_eq!(server.sees().await, Seen::Closed);
}

#[tokio::test]
async fn a_call_ends_at_its_time_limit_however_the_server_is_slow() {
    let started = Instant::now();
    for script in [
        vec![Step::AwaitClose],
        vec![send("HTTP/1.1 200 OK\r\n"), Step::Drip(b"X: y\r\n".into())],
        vec![
            send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"),
            Step::Drip(b"x".into()),
        ],
    ] {
        let mut server = Server::new(vec![script]);
        let declaration = spec(post(server.url("/")), |spec| {
            spec.timeout = Duration::from_millis(300);
        });
        let result = call(declaration, json!({})).await;
        let message = failed(result, ToolErrorKind::Timeout, Executed::Unknown);
        assert_eq!(message, "the request took longer than 300ms");
        server.request().await;
        assert_eq!(server.sees().await, Seen::Closed);
    }
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn the_callers_time_limit_counts_where_it_is_shorter() {
    let server = Server::new(vec![vec![Step::AwaitClose]]);
    let tool = HttpTool::new(get(server.url("/"))).unwrap();
    let context = ToolContext {
        timeout: Duration::from_millis(50),
        ..context()
    };
    let result = tool.call(Canonical::of(&json!({})), context).await;
    let message = failed(result, ToolErrorKind::Timeout, Executed::Unknown);
    assert_eq!(message, "the request took longer than 50ms");
}

#[tokio::test]
async fn cancelling_answers_at_once_and_closes_the_connection() {
    for script in [
        vec![Step::AwaitClose],
        vec![
            send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"),
            Step::Drip(b"x".into()),
        ],
    ] {
        let mut server = Server::new(vec![script]);
        let tool = HttpTool::new(post(server.url("/"))).unwrap();
        let cancel = CancellationToken::new();
        let context = ToolContext {
            cancel: cancel.clone(),
            ..context()
        };
        let call = tool.call(Canonical::of(&json!({})), context);
        let (result, ()) = tokio::join!(call, async {
            server.request().await;
            cancel.cancel();
        });
        let message = failed(result, ToolErrorKind::Cancelled, Executed::Unknown);
        assert_eq!(message, "the request was cancelled");
        assert_eq!(server.sees().await, Seen::Closed);
    }
}

#[tokio::test]
async fn a_cancelled_call_does_not_start() {
    let mut server = Server::new(vec![vec![Step::AwaitClose]]);
    let tool = HttpTool::new(post(server.url("/"))).unwrap();
    let context = context();
    context.cancel.cancel();
    let result = tool.call(Canonical::of(&json!({})), context).await;
    failed(result, ToolErrorKind::Cancelled, Executed::No);
    assert!(server.saw_nothing());
}

#[tokio::test]
async fn a_dropped_future_closes_its_connection() {
    let mut server = Server::new(vec![vec![Step::AwaitClose]]);
    let tool = HttpTool::new(post(server.url("/"))).unwrap();
    let call = tool.call(Canonical::of(&json!({})), context());
    tokio::select! {
        _ = call => unreachable!("nobody answers"),
        _ = server.request() => {}
    }
    assert_eq!(server.sees().await, Seen::Closed);
}

#[test]
fn without_a_runtime_there_is_an_error_and_no_panic() {
    let tool = HttpTool::new(post("http://127.0.0.1:1/")).unwrap();
    let mut call = tool.call(Canonical::of(&json!({})), context());
    let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    let std::task::Poll::Ready(result) = polled else {
        unreachable!("it waits for nothing");
    };
    failed(result, ToolErrorKind::Unavailable, Executed::No);
}
