//! Which redirects are followed, and what goes with them.

use rustagents_core::tool::{EffectClass, Executed, ToolErrorKind};
use rustagents_tools::http::{Declaration, Header, HeaderText, Method, Secret};
use serde_json::json;

use super::{
    call, failed, get, plain, post,
    server::{Server, redirect, response, send, text},
    spec,
};

/// A server that answers one request after the other.
fn server(responses: Vec<Vec<u8>>) -> Server {
    Server::new(
        responses
            .into_iter()
            .map(|bytes| vec![send(bytes)])
            .collect(),
    )
}

/// A GET with a secret.
fn authorized(url: String) -> Declaration {
    let secret = HeaderText::Secret {
        prefix: "Bearer ".into(),
        secret: Secret::new("made-up-token"),
    };
    Declaration {
        headers: vec![
            plain("x-shop", "lamps"),
            Header {
                name: "authorization".into(),
                text: secret,
            },
        ],
        ..get(url)
    }
}

#[tokio::test]
async fn a_get_follows_each_kind_within_its_origin_with_its_headers() {
    for status in [301, 302, 303, 307, 308] {
        let mut server = server(vec![redirect(status, "../b?c#d"), text("fine")]);
        let done = call(authorized(server.url("/a/x")), json!({}))
            .await
            .unwrap();
        assert_eq!(done, json!({"status": 200, "body": "fine"}));
        server.request().await;
        let second = server.request().await;
        assert_eq!(second.line, "GET /b?c HTTP/1.1", "{status}");
        assert_eq!(second.header("authorization"), Some("Bearer made-up-token"));
        assert_eq!(second.header("x-shop"), Some("lamps"));
        assert_eq!(second.header("referer"), None);
    }
}

#[tokio::test]
async fn a_head_stays_one() {
    let mut server = server(vec![redirect(302, "/b"), response("204 Fine", "", "")]);
    let head = Declaration {
        method: Method::Head,
        ..get(server.url("/a"))
    };
    assert_eq!(call(head, json!({})).await.unwrap(), json!({"status": 204}));
    server.request().await;
    assert_eq!(server.request().await.line, "HEAD /b HTTP/1.1");
}

#[tokio::test]
async fn the_headers_do_not_leave_their_origin_and_do_not_come_back() {
    // Another name of the same machine is another origin.
    let mut last = server(vec![text("fine")]);
    let back = redirect(302, &last.url("/back"));
    let mut away = server(vec![back]);
    let first = redirect(302, &format!("http://localhost:{}/away", away.port));
    let mut home = server(vec![first]);
    let declaration = Declaration {
        hosts: vec![
            format!("localhost:{}", away.port),
            format!("127.0.0.1:{}", last.port),
        ],
        ..authorized(home.url("/"))
    };
    call(declaration, json!({})).await.unwrap();
    assert!(home.request().await.header("authorization").is_some());
    for server in [&mut away, &mut last] {
        let request = server.request().await;
        assert_eq!(request.header("authorization"), None);
        assert_eq!(request.header("x-shop"), None);
    }
}

#[tokio::test]
async fn a_redirect_that_is_not_allowed_says_where_it_leads_and_no_more() {
    let mut other = Server::answering(text("secret"));
    let port = other.port;
    for (location, says) in [
        (
            format!("http://localhost:{port}/p?token=t"),
            format!(
                "the redirect to `http://localhost:{port}` is not followed: the host is not in `hosts`"
            ),
        ),
        (
            format!("//localhost:{port}/p?token=t"),
            format!(
                "the redirect to `http://localhost:{port}` is not followed: the host is not in `hosts`"
            ),
        ),
        (
            format!("http://user:pass@127.0.0.1:{port}/"),
            format!(
                "the redirect to `http://127.0.0.1:{port}` is not followed: it has a user name or a password"
            ),
        ),
        (
            "file:///etc/passwd".into(),
            "the redirect to `null` is not followed: it is neither `https` nor `http`".into(),
        ),
        ("http://".into(), "a redirect leads to no URL".into()),
        (
            format!("/{}", "a".repeat(9000)),
            "a redirect leads to no URL".into(),
        ),
    ] {
        let first = Server::answering(redirect(302, &location));
        let result = call(get(first.url("/")), json!({})).await;
        let message = failed(result, ToolErrorKind::Refused, Executed::Unknown);
        assert_eq!(message, says);
    }
    assert!(other.saw_nothing());
}

#[tokio::test]
async fn a_redirect_to_nobody_does_not_undo_the_request_before_it() {
    let nobody = super::endings::free_port();
    let server = Server::answering(redirect(302, &format!("http://127.0.0.1:{nobody}/")));
    let declaration = Declaration {
        hosts: vec![format!("127.0.0.1:{nobody}")],
        ..get(server.url("/"))
    };
    let result = call(declaration, json!({})).await;
    failed(result, ToolErrorKind::Unavailable, Executed::Unknown);
}

#[tokio::test]
async fn there_is_a_most_of_redirects() {
    let again = || redirect(302, "/");
    for (declared, limit, requests) in [(None, 3, 4), (Some(1), 1, 2), (Some(200), 10, 11)] {
        let server = server(vec![again(); requests]);
        let declaration = Declaration {
            redirects: declared,
            ..get(server.url("/"))
        };
        let result = call(declaration, json!({})).await;
        let message = failed(result, ToolErrorKind::Refused, Executed::Unknown);
        assert_eq!(message, format!("more than {limit} redirects"));
    }
}

#[tokio::test]
async fn a_redirect_that_is_not_followed_is_the_result() {
    let changes: [fn(String) -> Declaration; 4] = [
        |url| Declaration {
            redirects: Some(0),
            ..get(url)
        },
        |url| spec(get(url), |spec| spec.effect = EffectClass::Once),
        |url| post(url),
        |url| spec(post(url), |spec| spec.effect = EffectClass::Repeatable),
    ];
    for status in [301, 302, 303, 307, 308] {
        for change in changes {
            let mut server = server(vec![redirect(status, "/b?c"), text("never")]);
            let done = call(change(server.url("/a")), json!({})).await.unwrap();
            assert_eq!(
                done,
                json!({"status": status, "location": "/b?c", "body": "moved"})
            );
            server.request().await;
            assert!(server.saw_nothing());
        }
    }
}

#[tokio::test]
async fn other_statuses_and_a_missing_location_are_results() {
    for status in [300, 302, 304] {
        let server = Server::answering(response(&format!("{status} X"), "", ""));
        let done = call(get(server.url("/")), json!({})).await.unwrap();
        assert_eq!(done, json!({ "status": status }));
    }
    let server = Server::answering(response("300 X", "Location: /b\r\n", ""));
    let done = call(get(server.url("/")), json!({})).await.unwrap();
    assert_eq!(done, json!({"status": 300}));
}
