//! Asking a server whether it is there.

use std::time::Duration;

use rustagents_core::model::ModelError;
use rustagents_providers::openai::{OpenAiModel, Probe};

use super::{
    KEY, config, model, said,
    server::{Server, Step, document, send},
};

const PATIENCE: Duration = Duration::from_secs(3);

async fn probed(status: &str, kind: &str, body: &str) -> Probe {
    let server = Server::always(document(status, kind, body));
    model(&server).probe(PATIENCE).await.unwrap()
}

#[tokio::test]
async fn a_server_that_lists_its_models_is_asked_once_with_the_key() {
    let body = r#"{"object":"list","data":[{"id":"tiny","meta":{"n":1}},{"id":"large"}]}"#;
    let mut server = Server::always(document("200 OK", "application/json", body));
    let model = model(&server);
    let found = model.probe(PATIENCE).await.unwrap();
    assert_eq!(found, Probe::Models(vec!["tiny".into(), "large".into()]));
    assert_eq!(model.name(), "tiny");
    let request = server.request().await;
    assert!(
        request.head.starts_with("GET /v1/models HTTP/1.1\r\n"),
        "{request:?}"
    );
    assert!(
        request.head.contains(&format!("Bearer {KEY}")),
        "{request:?}"
    );
    assert_eq!(request.body, "");
}

#[tokio::test]
async fn a_base_without_a_path_is_asked_at_its_root() {
    let mut server = Server::always(document("200 OK", "application/json", r#"{"data":[]}"#));
    let root = server.url().strip_suffix("/v1").unwrap().to_owned();
    let model = OpenAiModel::new(config(&root)).unwrap();
    assert_eq!(model.probe(PATIENCE).await.unwrap(), Probe::Models(vec![]));
    assert!(server.request().await.head.starts_with("GET /models "));
}

#[tokio::test]
async fn a_refused_key_is_told_without_the_key() {
    let body = format!(r#"{{"error":{{"message":"no such key: {KEY}"}}}}"#);
    for status in ["401 Unauthorized", "403 Forbidden"] {
        let Probe::Refused { said } = probed(status, "application/json", &body).await else {
            panic!("{status} is a refusal");
        };
        assert!(said.ends_with("no such key: ***"), "{said}");
        assert!(
            said.starts_with(&format!("status {}", &status[..3])),
            "{said}"
        );
    }
}

#[tokio::test]
async fn what_is_no_list_is_told_plainly() {
    let page = "<html><head><title>It works!</title></head></html>";
    for (status, kind, body, words) in [
        ("200 OK", "text/html", page, "status 200: It works!"),
        (
            "200 OK",
            "application/json",
            r#"{"data":7}"#,
            r#"status 200: {"data":7}"#,
        ),
        (
            "200 OK",
            "text/plain",
            "",
            "status 200: it says nothing more",
        ),
        (
            "404 Not Found",
            "text/plain",
            "no such place",
            "status 404: no such place",
        ),
    ] {
        let found = probed(status, kind, body).await;
        assert_eq!(found, Probe::NoList { said: words.into() });
    }
    let long = "x".repeat((1 << 20) + 1);
    let found = probed("200 OK", "application/json", &long).await;
    let said = "status 200: it says more than 1048576 bytes".into();
    assert_eq!(found, Probe::NoList { said });
}

#[tokio::test]
async fn a_server_that_does_not_work_is_told_plainly() {
    let body = r#"{"error":{"code":503,"message":"Loading model"}}"#;
    let found = probed("503 Service Unavailable", "application/json", body).await;
    let said = "status 503: Loading model".into();
    assert_eq!(found, Probe::Failed { said });
    let found = probed("302 Found", "text/plain", "elsewhere").await;
    assert!(matches!(found, Probe::Failed { .. }), "{found:?}");
}

#[tokio::test]
async fn the_whole_question_takes_no_longer_than_the_patience() {
    let short = Duration::from_millis(50);
    let head = send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
    for steps in [vec![Step::AwaitClose], vec![head, Step::AwaitClose]] {
        let server = Server::always(steps);
        let error = model(&server).probe(short).await.unwrap_err();
        assert_eq!(said(error), "no answer after 50ms");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_typed_failure() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let model = OpenAiModel::new(config(&url)).unwrap();
    let error = model.probe(PATIENCE).await.unwrap_err();
    assert!(matches!(error, ModelError::Transport { .. }), "{error:?}");
    assert!(said(error).starts_with("cannot connect: "));
}
