//! A plan whose tool is an HTTP request, on a server of our own.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    sync::mpsc,
    thread,
};

use serde_json::Value;

use crate::bench::{Desk, Said};

const TOKEN: &str = "tok-very-secret-0123456789";

const PLAN: &str = r#"graph one {
  channel messages messages
  start clerk
  node clerk { kind agent  model "default"  prompt "Clerk."  tools ["order_status"]  next END }
}"#;

const SCRIPT: &str = r#"rule = [
  { last = "user", user = '(?<order>[A-Z]-\d{4})', call = "order_status", arguments = '{"order":{{ order | tojson }}}' },
  { tool = "order_status", when = "error", text = "I cannot tell: {{ error.message }}" },
  { tool = "order_status", text = "{{ result.status }}: it is {{ result.body.state }}, says {{ result.body.echo }}." },
]"#;

/// A server that answers one request; what it was sent comes out.
fn serve(answer: String) -> (u16, mpsc::Receiver<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, seen) = mpsc::channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let head = lines
            .map_while(Result::ok)
            .take_while(|line| !line.is_empty());
        sender.send(head.collect()).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
    });
    (port, seen)
}

fn json(body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// A desk whose one tool asks the server behind `url`.
fn desk(url: &str, more: &str) -> Desk {
    let desk = Desk::new();
    desk.write("support.rag", PLAN);
    desk.write("script.toml", SCRIPT);
    desk.write(
        "rustagents.toml",
        format!(
            r#"[models]
default = "scripted:script.toml"

[tools.order_status]
kind = "http"
description = "Where an order is."
arguments = {{ type = "object", required = ["order"], properties = {{ order = {{ type = "string" }} }} }}
url = "{url}"
headers = {{ authorization = {{ env = "ORDERS_TOKEN", prefix = "Bearer " }} }}
{more}
"#
        ),
    );
    desk
}

fn run(desk: &Desk) -> Said {
    let mut command = desk.command(&[
        "run",
        ".",
        "--thread",
        "demo",
        "--input",
        "Where is A-1042?",
        "--json",
    ]);
    command.env("ORDERS_TOKEN", TOKEN);
    // Nobody listens there: a request that took a proxy would fail.
    for name in ["http_proxy", "HTTP_PROXY", "ALL_PROXY"] {
        command.env(name, "http://127.0.0.1:1");
    }
    Said::of(command.output().unwrap())
}

#[test]
fn a_plan_asks_a_server_and_keeps_the_token_to_itself() {
    let body = format!(r#"{{"state":"on its way","echo":"Bearer {TOKEN}"}}"#);
    let (port, seen) = serve(json(&body));
    let url = format!("http://127.0.0.1:{port}/orders/{{{{ order }}}}");
    let desk = desk(&url, "private = true");
    let said = run(&desk);
    assert_eq!(said.status, Some(0), "{said:?}");
    assert_eq!(
        said.json()["output"],
        "200: it is on its way, says Bearer ***."
    );
    let head = seen.recv().unwrap();
    assert_eq!(head[0], "GET /orders/A-1042 HTTP/1.1");
    let authorization = format!("authorization: Bearer {TOKEN}");
    assert!(head.contains(&authorization), "{head:?}");
    for (path, bytes) in desk.files() {
        let found = bytes
            .windows(TOKEN.len())
            .any(|window| window == TOKEN.as_bytes());
        assert!(!found, "the token is in {}", path.display());
    }
    assert!(!(said.stdout + &said.stderr).contains(TOKEN));
}

#[test]
fn a_private_address_is_refused_and_the_model_told() {
    let (port, seen) = serve(json("{}"));
    let desk = desk(
        &format!("http://localhost:{port}/orders/{{{{ order }}}}"),
        "",
    );
    let said = run(&desk);
    assert_eq!(said.status, Some(0), "{said:?}");
    assert_eq!(
        said.json()["output"],
        "I cannot tell: `localhost` is a loopback address, which the tool may not reach"
    );
    assert!(seen.try_recv().is_err(), "nothing was sent");
}

#[test]
fn a_broken_declaration_is_found_by_check_with_its_place() {
    for (url, says) in [
        (
            "https://{{ order }}.example.com/",
            "the scheme, host or port",
        ),
        (
            "https://api.example.com/{{ ordre }}",
            "`ordre`, which is not an argument",
        ),
        (
            "https://api.example.com/",
            "the argument `order` is not in the URL",
        ),
        (
            "http://2130706433/{{ order }}",
            "`127.0.0.1` is a loopback address",
        ),
        (
            "ftp://api.example.com/{{ order }}",
            "neither `https:` nor `http:`",
        ),
    ] {
        let desk = desk(url, "");
        let said = desk.rag(&["check", "support.rag", "--json"]);
        let error: Value = said.json()["error"].clone();
        assert_eq!(error["code"], "RAG0203", "{said:?}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
        let place = error["place"].as_str().unwrap_or_default();
        assert!(place.ends_with("rustagents.toml:8:7"), "{error}");
    }
}

#[test]
fn a_token_that_is_missing_stops_a_run_before_it_starts_and_no_check() {
    let desk = desk("https://api.example.com/{{ order }}", "");
    let check = desk.rag(&["check", "support.rag"]);
    assert_eq!(check.status, Some(0), "{check:?}");
    let before = desk.files();
    let said = desk.rag(&["run", ".", "--input", "A-1042", "--json"]);
    assert_eq!((said.status, said.code()), (Some(2), "RAG0203".into()));
    let error = said.json()["error"].clone();
    assert_eq!(
        error["message"],
        "the header `authorization` needs the variable `ORDERS_TOKEN`, which is not set"
    );
    assert!(
        error["place"].as_str().unwrap().ends_with(":9:29"),
        "{error}"
    );
    assert_eq!(desk.files(), before);
}
