//! A plan on a model behind HTTP: a server of our own that speaks the wire.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    thread,
};

use serde_json::Value;

use crate::bench::Desk;

/// What the server was sent: the headers' lines, and the body.
pub(crate) struct Request {
    pub(crate) headers: Vec<String>,
    pub(crate) body: Value,
}

/// A server that answers each request with the next of `answers`, then stops.
pub(crate) fn serve(answers: Vec<String>) -> (String, mpsc::Receiver<Request>) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let whole = |answer| format!("{head}{answer}");
    serve_whole(answers.into_iter().map(whole).collect())
}

/// The same with whole responses, heads included.
pub(crate) fn serve_whole(answers: Vec<String>) -> (String, mpsc::Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (requests, seen) = mpsc::channel();
    thread::spawn(move || {
        for answer in answers {
            let (stream, _) = listener.accept().unwrap();
            requests.send(exchange(stream, &answer)).unwrap();
        }
    });
    (url, seen)
}

fn exchange(mut stream: TcpStream, answer: &str) -> Request {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut headers = Vec::new();
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap() > 2 {
        headers.push(line.trim().to_owned());
        line.clear();
    }
    let length = headers.iter().find_map(|header| {
        let (name, value) = header.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(answer.as_bytes()).unwrap();
    Request {
        headers,
        body: serde_json::from_slice(&body).unwrap(),
    }
}

pub(crate) fn said(text: &str) -> String {
    let delta = serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#;
    format!("data: {delta}\n\ndata: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
}

pub(crate) fn asked(name: &str, arguments: &str) -> String {
    let call = serde_json::json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [
        { "index": 0, "id": "x1", "function": { "name": name, "arguments": arguments } }
    ] } }] });
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    format!("data: {call}\n\ndata: {end}\n\ndata: [DONE]\n\n")
}

#[test]
fn the_support_desk_works_on_a_model_behind_http_and_keeps_the_key_to_itself() {
    const KEY: &str = "sk-very-secret-0123456789";
    let desk = Desk::new();
    let (url, seen) = serve(vec![said("other"), said("Good day to you.")]);
    let model = format!("default=openai-compatible:tiny@{url}");
    let mut run = desk.command(&[
        "run", ".", "--thread", "demo", "--model", &model, "--input", "hello", "--json",
    ]);
    let output = run.env("OPENAI_API_KEY", KEY).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let whole: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(whole["output"], "Good day to you.");
    assert_eq!(whole["usage"]["input_tokens"], 14);
    let first = seen.recv().unwrap();
    assert!(
        first.headers.iter().any(|header| header.ends_with(KEY)),
        "the server gets the key"
    );
    assert_eq!(first.body["model"], "tiny");
    assert_eq!(first.body["messages"][1]["content"], "hello");
    for (path, bytes) in desk.files() {
        let found = bytes
            .windows(KEY.len())
            .any(|window| window == KEY.as_bytes());
        assert!(!found, "the key is in {}", path.display());
    }
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(!said.contains(KEY));
}

#[test]
fn a_tool_call_over_http_waits_for_approval_and_goes_on_with_the_recorded_model() {
    let desk = Desk::new();
    let refund = r#"{"order":"A-1044","amount_cents":8900}"#;
    let (url, seen) = serve(vec![asked("refund", refund), said("Paid back.")]);
    desk.write(
        "support.rag",
        r#"graph one {
  channel messages messages
  start clerk
  node clerk { kind agent  model "default"  prompt "Clerk."  tools ["refund"]  next END }
}"#,
    );
    let model = format!("default=openai-compatible:tiny@{url}");
    let arguments = [
        "run", ".", "--thread", "demo", "--model", &model, "--input", "A-1044", "--json",
    ];
    let waiting = desk.rag(&arguments);
    assert_eq!(waiting.status, Some(3), "{waiting:?}");
    let done = desk.resume(&crate::bench::approvals(&waiting));
    assert_eq!(
        (done.status, done.json()["output"].as_str()),
        (Some(0), Some("Paid back."))
    );
    assert_eq!(desk.order("A-1044", "status").as_deref(), Some("refunded"));
    let (first, second) = (seen.recv().unwrap(), seen.recv().unwrap());
    assert_eq!(first.body["tools"][0]["function"]["name"], "refund");
    let messages = second.body["messages"].as_array().unwrap();
    assert_eq!(
        messages[3]["tool_call_id"],
        messages[2]["tool_calls"][0]["id"]
    );
}

#[test]
fn a_server_that_is_not_there_is_a_typed_failure_and_the_thread_stays_readable() {
    let desk = Desk::new();
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let model = format!("default=openai-compatible:tiny@http://{free}/v1");
    let said = desk.rag(&[
        "run", ".", "--thread", "demo", "--model", &model, "--input", "hi", "--json",
    ]);
    assert_eq!(
        (said.status, said.code()),
        (Some(1), "RAG0501".into()),
        "{said:?}"
    );
    assert_eq!(desk.resume(&[]).code(), "RAG0501");
}

/// A response without a body.
fn status(line: &str, headers: &str) -> String {
    format!("HTTP/1.1 {line}\r\n{headers}content-length: 0\r\nconnection: close\r\n\r\n")
}

fn streamed(answer: &str) -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    format!("{head}{answer}")
}

#[test]
fn a_request_that_the_provider_refuses_is_made_once_and_a_retry_goes_on_when_it_is_put_right() {
    let desk = Desk::new();
    let answers = vec![
        status("401 Unauthorized", ""),
        streamed(&said("other")),
        streamed(&said("Good day to you.")),
    ];
    let (url, seen) = serve_whole(answers);
    let model = format!("default=openai-compatible:tiny@{url}");
    let run = desk.rag(&[
        "run", ".", "--thread", "demo", "--model", &model, "--input", "hi",
    ]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.stderr.contains("error[RAG0508]"), "{run:?}");
    assert!(run.stderr.contains("status 401 Unauthorized"), "{run:?}");
    assert!(run.stderr.contains("hint: no key was sent"), "{run:?}");
    assert!(seen.recv().is_ok() && seen.try_recv().is_err());

    let done = desk.rag(&["threads", "retry", "demo"]);
    assert_eq!(
        (done.status, done.stdout.trim()),
        (Some(0), "Good day to you."),
        "{done:?}"
    );
}

#[test]
fn a_provider_that_says_when_to_come_back_is_asked_again() {
    let desk = Desk::new();
    let (url, seen) = serve_whole(vec![
        status("429 Too Many Requests", "retry-after: 1\r\n"),
        status(
            "503 Service Unavailable",
            "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
        ),
        streamed(&said("other")),
        streamed(&said("Good day to you.")),
    ]);
    let model = format!("default=openai-compatible:tiny@{url}");
    let run = desk.rag(&[
        "run", ".", "--thread", "demo", "--model", &model, "--input", "hi",
    ]);
    assert_eq!(
        (run.status, run.stdout.trim()),
        (Some(0), "Good day to you."),
        "{run:?}"
    );
    assert_eq!(seen.iter().take(4).count(), 4);
}

#[test]
fn what_cannot_be_a_server_is_refused_before_anything_is_written() {
    let desk = Desk::new();
    let before = desk.files();
    for spec in [
        "openai-compatible:tiny",
        "openai-compatible:@http://127.0.0.1:1/v1",
        "openai-compatible:tiny@",
        "openai-compatible:tiny@ftp://127.0.0.1/v1",
        "openai-compatible:tiny@http://name:hunter2pass@127.0.0.1/v1",
        "openai:",
        "gopher:tiny",
    ] {
        let model = format!("default={spec}");
        let said = desk.rag(&["run", ".", "--model", &model, "--input", "hi", "--json"]);
        assert_eq!(
            (said.status, said.code()),
            (Some(2), "RAG0205".into()),
            "{spec}: {said:?}"
        );
        assert!(!said.stdout.contains("hunter2pass"), "{said:?}");
    }
    assert_eq!(desk.files(), before);
}
