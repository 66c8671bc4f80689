//! What is found wrong before anything runs.

use rustagents_core::{
    Code, Coded,
    tool::{EffectClass, MAX_OUTPUT_BYTES, Tool},
};
use rustagents_tools::{
    DeclarationError,
    http::{Declaration, Header, HeaderText, HttpTool, Method, Secret},
};
use serde_json::json;

use super::{arguments, get, plain, post, spec};

fn error(declaration: Declaration) -> DeclarationError {
    let error = HttpTool::new(declaration).unwrap_err();
    assert_eq!(error.code(), Code::ToolDeclaration);
    assert!(!error.to_string().contains('\n'), "{error}");
    error
}

#[test]
fn a_tool_carries_its_declaration_and_its_question() {
    let declaration = Declaration {
        ask: Some("Cancel {{ order }}?".into()),
        ..arguments(post("https://api.example.com/{{ order }}"), &["order"])
    };
    let tool = HttpTool::new(declaration.clone()).unwrap();
    assert_eq!(**tool.spec(), declaration.spec);
    let question = tool.question(&json!({"order": "A-1042"}));
    assert_eq!(question.as_deref(), Some("Cancel A-1042?"));
}

#[test]
fn arguments_have_their_places_in_the_url() {
    let hint = "an argument is one segment of the path or one value of the query, such as \
                `/orders/{{ order }}?lang={{ lang }}`";
    for (url, part) in [
        ("{{ order }}", "the scheme, host or port"),
        ("{{ order }}://api.example.com/", "the scheme, host or port"),
        ("https://{{ order }}/", "the scheme, host or port"),
        (
            "https://api.{{ order }}.example.com/",
            "the scheme, host or port",
        ),
        (
            "https://api.example.com{{ order }}/",
            "the scheme, host or port",
        ),
        (
            "https://api.example.com:{{ order }}/",
            "the scheme, host or port",
        ),
        (
            "https://u:{{ order }}@api.example.com/",
            "the scheme, host or port",
        ),
        ("https://a/?{{ order }}", "the name of a query value"),
        ("https://a/?a{{ order }}=b", "the name of a query value"),
        ("https://a/?a=b&{{ order }}=c", "the name of a query value"),
    ] {
        let error = error(arguments(get(url), &["order"]));
        let message = format!("the URL has `order` in {part}, which is fixed");
        assert_eq!(error.to_string(), message, "{url}");
        assert_eq!(error.hint().as_deref(), Some(hint));
    }
}

#[test]
fn a_variable_is_an_argument_and_an_argument_is_sent() {
    let unknown = error(arguments(get("https://a/{{ ordre }}"), &["lang", "order"]));
    assert_eq!(
        unknown.to_string(),
        "the URL uses `ordre`, which is not an argument"
    );
    assert_eq!(
        unknown.hint().as_deref(),
        Some("the arguments are `lang`, `order`")
    );
    for method in [Method::Get, Method::Head, Method::Delete] {
        let unused = error(Declaration {
            method,
            ..arguments(get("https://a/{{ order }}"), &["lang", "order"])
        });
        let method = method.as_str();
        assert_eq!(
            unused.to_string(),
            format!("the argument `lang` is not in the URL, and a {method} has no body")
        );
        let hint = "write it into the URL as `{{ lang }}`";
        assert_eq!(unused.hint().as_deref(), Some(hint));
    }
}

#[test]
fn what_is_no_url_says_why() {
    let refused = |reason: &str| format!("the URL cannot be used: {reason}");
    for (url, reason) in [
        ("api.example.com/x", "relative URL without a base"),
        ("https://", "empty host"),
        ("https:///x", "empty host"),
        ("https://a b/", "invalid international domain name"),
        ("https://a:99999/", "invalid port number"),
        ("ftp://a/", "it starts with neither `https:` nor `http:`"),
        (
            "file:///etc/passwd",
            "it starts with neither `https:` nor `http:`",
        ),
        (
            "https://user@a/",
            "it has a user name or a password, which belong into a header",
        ),
        (
            "https://:pass@a/",
            "it has a user name or a password, which belong into a header",
        ),
        ("https://a/#b", "it has a fragment, which is never sent"),
        ("https://a\\b/", "it has a character that no URL has"),
        ("https://a/\tb", "it has a character that no URL has"),
        ("https://a/{{ b", "a `{{` has no end"),
        ("https://a/{{ }}", "a variable has no name"),
        ("https://a/b/../c", "`..` in its path leads elsewhere"),
        ("https://a/%2e%2E/c", "`%2e%2E` in its path leads elsewhere"),
    ] {
        assert_eq!(error(get(url)).to_string(), refused(reason), "{url}");
    }
}

#[test]
fn an_address_that_each_call_would_refuse_is_refused_at_once() {
    let public = |url: &str| Declaration {
        private: false,
        ..get(url)
    };
    for (url, message) in [
        ("http://127.0.0.1/", "`127.0.0.1` is a loopback address"),
        ("http://2130706433/", "`127.0.0.1` is a loopback address"),
        ("http://0x7f.1/", "`127.0.0.1` is a loopback address"),
        ("http://0177.0.0.1/", "`127.0.0.1` is a loopback address"),
        ("http://[::1]/", "`[::1]` is a loopback address"),
        (
            "http://[::ffff:10.0.0.1]/",
            "`[::ffff:a00:1]` is an address of a private network",
        ),
        (
            "http://169.254.169.254/",
            "`169.254.169.254` is a link-local address",
        ),
        ("http://0/", "`0.0.0.0` is no host's address"),
    ] {
        let error = error(public(url));
        assert_eq!(
            error.to_string(),
            format!("{message}, which the tool may not reach")
        );
    }
    HttpTool::new(get("http://169.254.169.254/")).unwrap();
    assert!(matches!(
        error(get("http://0/")),
        DeclarationError::Address { .. }
    ));
}

#[test]
fn headers_are_ones_that_may_be_declared() {
    let with = |headers: Vec<Header>| Declaration {
        headers,
        ..get("https://a/")
    };
    let secret = Header {
        name: "authorization".into(),
        text: HeaderText::Secret {
            prefix: String::new(),
            secret: Secret::new("hunter2\r\nx"),
        },
    };
    for (headers, message) in [
        (
            vec![plain("a b", "x")],
            "`a b` cannot be declared: that is no name of one",
        ),
        (
            vec![plain("a\r\nb", "x")],
            "`a\r\nb` cannot be declared: that is no name of one",
        ),
        (
            vec![plain("x", "a\r\nHost: b")],
            "`x` cannot be declared: its value is none of a header",
        ),
        (
            vec![secret],
            "`authorization` cannot be declared: its value is none of a header",
        ),
        (
            vec![plain("Host", "b")],
            "`Host` cannot be declared: the client says it itself",
        ),
        (
            vec![plain("transfer-encoding", "b")],
            "`transfer-encoding` cannot be declared: the client says it itself",
        ),
        (
            vec![plain("x", "a"), plain("X", "b")],
            "`X` cannot be declared: it is there twice",
        ),
    ] {
        let message = format!("the header {message}").replace("\r\n", "  ");
        assert_eq!(error(with(headers)).to_string(), message);
    }
}

#[test]
fn redirects_hosts_methods_and_sizes_have_their_bounds() {
    let changes = spec(get("https://a/"), |spec| spec.effect = EffectClass::Once);
    for declaration in [changes, post("https://a/")] {
        let error = error(Declaration {
            redirects: Some(1),
            ..declaration
        });
        assert_eq!(error, DeclarationError::Redirects);
    }
    let listed = error(Declaration {
        hosts: vec!["https://b".into()],
        ..get("https://a/")
    });
    assert_eq!(listed.to_string(), "`https://b` is not a host");
    assert_eq!(
        listed.hint().as_deref(),
        Some("write `host` or `host:port`")
    );
    let small = error(spec(get("https://a/"), |spec| spec.max_output_bytes = 127));
    assert_eq!(small.hint().as_deref(), Some("allow 128 or more"));
    let most = |bytes| spec(get("https://a/"), |spec| spec.max_output_bytes = bytes);
    assert!(HttpTool::new(most(MAX_OUTPUT_BYTES)).is_ok());
    let large = error(most(MAX_OUTPUT_BYTES + 1));
    let bytes = MAX_OUTPUT_BYTES + 1;
    assert_eq!(large, DeclarationError::MostOutput { bytes });
    assert_eq!(large.hint().as_deref(), Some("allow 4194304 at most"));
    let method = "FETCH".parse::<Method>().unwrap_err();
    assert_eq!(method.to_string(), "there is no method `FETCH`");
    for method in Method::ALL {
        assert_eq!(method.as_str().parse(), Ok(method));
    }
}
