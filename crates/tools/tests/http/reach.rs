//! Where a call may lead.

use std::time::Duration;

use rustagents_core::tool::{Executed, ToolErrorKind};
use rustagents_tools::http::Declaration;
use serde_json::json;

use super::{
    call, failed, get, post,
    server::{Server, redirect, text},
};

#[tokio::test]
async fn a_name_of_this_machine_is_refused_when_it_is_resolved() {
    let mut server = Server::answering(text("secret"));
    for declare in [get, post] {
        let declaration = Declaration {
            private: false,
            ..declare(format!("http://localhost:{}/", server.port))
        };
        let result = call(declaration, json!({})).await;
        let message = failed(result, ToolErrorKind::Refused, Executed::No);
        assert_eq!(
            message,
            "`localhost` is a loopback address, which the tool may not reach"
        );
    }
    assert!(server.saw_nothing());
}

#[tokio::test]
async fn a_private_tool_reaches_this_machine() {
    let server = Server::answering(text("fine"));
    let url = format!("http://localhost:{}/", server.port);
    let done = call(get(url), json!({})).await.unwrap();
    assert_eq!(done["body"], "fine");
}

#[tokio::test]
async fn each_hop_of_a_redirect_is_checked() {
    // What is no host's address leads to this machine on some systems.
    let mut inner = Server::answering(text("secret"));
    for host in ["0.0.0.0", "[::]", "[::ffff:0.0.0.0]", "0", "224.0.0.1"] {
        let to = format!("{host}:{}", inner.port);
        let outer = Server::answering(redirect(302, &format!("http://{to}/")));
        let declaration = Declaration {
            hosts: vec![to],
            ..get(outer.url("/"))
        };
        let result = call(declaration, json!({})).await;
        let message = failed(result, ToolErrorKind::Refused, Executed::Unknown);
        assert!(
            message.ends_with("which the tool may not reach"),
            "{message}"
        );
    }
    assert!(inner.saw_nothing());
}

#[tokio::test]
async fn a_name_without_an_address_executes_nothing() {
    let declaration = super::spec(post("http://nobody.invalid/"), |spec| {
        spec.timeout = Duration::from_mins(1);
    });
    let result = call(declaration, json!({})).await;
    let message = failed(result, ToolErrorKind::Unavailable, Executed::No);
    assert!(message.contains("`nobody.invalid`"), "{message}");
}
