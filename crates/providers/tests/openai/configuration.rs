//! What a model can be made of, and what it never shows.

use futures::FutureExt;
use rustagents_core::{Code, Coded, model::ModelError};
use rustagents_providers::openai::{Dialect, OpenAiConfig, OpenAiError, OpenAiModel, Secret};

use super::{KEY, ask, config, said};

fn refused(config: OpenAiConfig) -> OpenAiError {
    let error = OpenAiModel::new(config).unwrap_err();
    assert_eq!(error.code(), Code::ModelSpec);
    assert!(error.hint().is_some());
    error
}

#[test]
fn a_base_url_is_a_host_and_a_path_of_the_web() {
    let wrong = [
        ("", "the base URL is not valid: relative URL without a base"),
        (
            "models.example.com/v1",
            "the base URL is not valid: relative URL without a base",
        ),
        (
            "ftp://models.example.com",
            "the base URL has the scheme `ftp`, not `http` or `https`",
        ),
        (
            "https://me:secret@models.example.com/v1",
            "the base URL has a user name or a password",
        ),
        (
            "https://models.example.com/v1?key=secret",
            "the base URL has a query",
        ),
        (
            "https://models.example.com/v1#secret",
            "the base URL has a fragment",
        ),
    ];
    for (url, message) in wrong {
        let error = refused(config(url));
        assert_eq!(error.to_string(), message, "{url}");
    }
    let nowhere = OpenAiConfig::new(&Dialect::COMPATIBLE, "x", "x");
    assert_eq!(
        refused(nowhere).to_string(),
        "the dialect `openai-compatible` needs a base URL"
    );
}

#[test]
fn a_key_must_fit_into_a_header() {
    for key in ["", " ", "sk-\n", "sk-\r\nx: y", "\u{7f}"] {
        let mut config = config("http://127.0.0.1:1/v1");
        config.api_key = Some(Secret::new(key));
        assert_eq!(refused(config), OpenAiError::ApiKey, "{key:?}");
    }
}

#[test]
fn a_key_is_never_shown() {
    let config = config("http://127.0.0.1:1/v1");
    assert!(format!("{config:?}").contains("***"));
    assert!(!format!("{config:#?}").contains(KEY));
    let model = OpenAiModel::new(config).unwrap();
    assert!(!format!("{model:?}").contains(KEY));
}

#[test]
fn a_call_outside_of_a_runtime_fails_and_does_not_panic() {
    let model = OpenAiModel::new(config("http://127.0.0.1:1/v1")).unwrap();
    let error: ModelError = ask(&model).now_or_never().unwrap().unwrap_err();
    assert_eq!(said(error), "no `tokio` runtime drives the call");
}

#[test]
fn dialects_are_found_by_name() {
    for dialect in Dialect::ALL {
        assert_eq!(Dialect::named(dialect.name), Some(dialect));
    }
    assert_eq!(Dialect::named("none"), None);
}
