//! A secret goes to its server and nowhere else.

use rustagents_core::tool::EffectClass;
use rustagents_tools::http::{Declaration, Header, HeaderText, HttpTool, Secret};
use serde_json::json;

use super::{
    call, get,
    server::{Server, json as json_response, redirect, response, send, text},
    spec,
};

const SECRET: &str = "s3cr3t\"tok/en";

fn authorized(url: String) -> Declaration {
    let text = HeaderText::Secret {
        prefix: "Bearer ".into(),
        secret: Secret::new(SECRET),
    };
    Declaration {
        headers: vec![Header {
            name: "authorization".into(),
            text,
        }],
        ..get(url)
    }
}

#[tokio::test]
async fn a_server_gets_the_secret_and_nobody_gets_it_back() {
    let escaped = r#"{"s3cr3t\"tok/en":["Bearer s3cr3t\u0022tok\/en"],"n":1}"#;
    for (sent, body) in [
        (text(&format!("you said {SECRET}!")), json!("you said ***!")),
        (
            json_response(escaped),
            json!({"***": ["Bearer ***"], "n": 1}),
        ),
        (
            response("200 OK", "", [b"\xff", SECRET.as_bytes()].concat()),
            json!({"base64": "/yoqKg=="}),
        ),
    ] {
        let mut server = Server::answering(sent);
        let done = call(authorized(server.url("/")), json!({})).await.unwrap();
        assert_eq!(done["body"], body);
        let request = server.request().await;
        let expected = format!("Bearer {SECRET}");
        assert_eq!(request.header("authorization"), Some(expected.as_str()));
    }
}

#[tokio::test]
async fn a_secret_that_is_cut_in_two_is_not_shown_in_part() {
    let once = |declaration| {
        spec(declaration, |spec| {
            spec.effect = EffectClass::Once;
            spec.max_output_bytes = 200;
        })
    };
    for filling in 0..200 {
        let body = format!("{}{SECRET}{}", "-".repeat(filling), "+".repeat(300));
        let server = Server::answering(text(&body));
        let cut = call(once(authorized(server.url("/"))), json!({}))
            .await
            .unwrap();
        let shown = cut["body"].as_str().unwrap();
        assert!(!shown.contains('s'), "{shown}");
        assert!(cut.to_string().len() <= 200, "{cut}");
    }
}

#[tokio::test]
async fn a_location_does_not_hold_it() {
    let server = Server::answering(redirect(302, &format!("/?t={SECRET}")));
    let declaration = Declaration {
        redirects: Some(0),
        ..authorized(server.url("/"))
    };
    let done = call(declaration, json!({})).await.unwrap();
    assert_eq!(done["location"], "/?t=***");
}

#[tokio::test]
async fn a_secret_of_digits_is_no_number_of_a_result() {
    let secret = |url| {
        let mut declaration = authorized(url);
        declaration.headers[0].text = HeaderText::Secret {
            prefix: String::new(),
            secret: Secret::new("20261128"),
        };
        declaration
    };
    let server = Server::answering(json_response("[20261128, 7]"));
    let done = call(secret(server.url("/")), json!({})).await.unwrap();
    assert_eq!(done["body"], json!(["***", 7]));
}

#[tokio::test]
async fn the_host_of_a_redirect_does_not_hold_it() {
    let server = Server::answering(redirect(302, "http://x-TOKEN-y.example/"));
    let mut declaration = authorized(server.url("/"));
    declaration.headers[0].text = HeaderText::Secret {
        prefix: String::new(),
        secret: Secret::new("Token"),
    };
    let error = call(declaration, json!({})).await.unwrap_err();
    assert_eq!(
        error.message,
        "the redirect to `***` is not followed: the host is not in `hosts`"
    );
}

#[tokio::test]
async fn no_failure_and_no_debug_output_shows_it() {
    for script in [
        vec![],
        vec![send("nonsense\r\n\r\n")],
        vec![send(format!("HTTP/1.1 200 OK\r\n{SECRET}\r\n\r\n"))],
        vec![send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")],
        vec![send(redirect(
            302,
            &format!("http://{}.example/", "s3cr3t"),
        ))],
    ] {
        let server = Server::new(vec![script]);
        let declaration = authorized(server.url("/path?query=1"));
        let tool = HttpTool::new(declaration.clone()).unwrap();
        let error = call(declaration.clone(), json!({})).await.unwrap_err();
        assert!(!error.message.contains("query"), "{error:?}");
        for shown in [
            format!("{error:?}"),
            format!("{tool:?}"),
            format!("{declaration:?}"),
        ] {
            assert!(
                !shown.contains(SECRET) && !shown.contains("Bearer s"),
                "{shown}"
            );
            assert!(!shown.contains("tok/en"), "{shown}");
        }
    }
}
