//! Secured connections, to a server with a certificate that the test makes.
//!
//! What the system trusts is told by its environment, so each call is made by this
//! binary, run again as its own child with another one.

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::Command,
    sync::{Arc, mpsc},
    thread,
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustagents_core::tool::EffectClass;
use rustagents_tools::http::{Declaration, Header, HeaderText, Secret};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::{Value, json};

use super::{arguments, call, post, spec};

/// Set where this binary is the child: the port to call.
const PORT: &str = "RUSTAGENTS_TEST_PORT";
const SECRET: &str = "s3cr3t-of-the-header";

/// Who vouches for certificates, known to nobody else.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        Self { pem, issuer }
    }

    /// A server for `localhost`, unless `change` says otherwise. It answers one
    /// request, and tells of its head.
    fn server(&self, change: impl FnOnce(&mut CertificateParams)) -> Server {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Server::new(
            certificate.der().clone(),
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
    }
}

struct Server {
    port: u16,
    heads: mpsc::Receiver<String>,
}

impl Server {
    fn new(certificate: CertificateDer<'static>, key: PrivateKeyDer<'static>) -> Self {
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, heads) = mpsc::channel();
        thread::spawn(move || {
            let (connection, _) = listener.accept().unwrap();
            let session = ServerConnection::new(Arc::new(config)).unwrap();
            let mut stream = BufReader::new(StreamOwned::new(session, connection));
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                // A client that does not trust the certificate sends none.
                if !matches!(stream.read_line(&mut head), Ok(1..)) {
                    return;
                }
            }
            sender.send(head).unwrap();
            let body = r#"{"status":"paid"}"#;
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
        });
        Self { port, heads }
    }
}

/// What comes of a call of `server` by a process that trusts `authority` alone.
fn called(server: &Server, authority: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authority.pem");
    fs::write(&file, authority).unwrap();
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "http::secured::the_child_calls", "--nocapture"])
        .env(PORT, server.port.to_string())
        .env("SSL_CERT_FILE", file)
        .env_remove("SSL_CERT_DIR")
        .output()
        .unwrap();
    let said = String::from_utf8(child.stdout).unwrap();
    let mut told = said.lines().filter_map(|line| line.split_once("told: "));
    let (_, told) = told.next().unwrap();
    serde_json::from_str(told).unwrap()
}

/// In a child of the other tests: makes the call, and tells what came of it.
#[tokio::test]
async fn the_child_calls() {
    let Ok(port) = env::var(PORT) else { return };
    let url = format!("https://localhost:{port}/orders/{{{{ order }}}}");
    let text = HeaderText::Secret {
        prefix: "Bearer ".into(),
        secret: Secret::new(SECRET),
    };
    let declaration = Declaration {
        headers: vec![Header {
            name: "authorization".into(),
            text,
        }],
        ..arguments(post(url), &["order"])
    };
    let once = spec(declaration, |spec| spec.effect = EffectClass::Once);
    let told = match call(once, json!({ "order": "A-1044" })).await {
        Ok(value) => value,
        Err(error) => json!({
            "kind": format!("{:?}", error.kind),
            "executed": format!("{:?}", error.executed),
            "message": error.message,
        }),
    };
    println!("\ntold: {told}");
}

#[test]
fn a_server_is_called_whose_certificate_is_vouched_for() {
    let authority = Authority::new("made-up");
    let server = authority.server(|_| ());
    let told = called(&server, &authority.pem);
    assert_eq!(told["status"], 200, "{told}");
    assert_eq!(told["body"], json!({ "status": "paid" }));
    let head = server.heads.recv().unwrap();
    assert!(
        head.starts_with("POST /orders/A-1044 HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains(&format!("authorization: Bearer {SECRET}\r\n")),
        "{head}"
    );
}

#[test]
fn a_server_that_cannot_prove_who_it_is_gets_no_request() {
    let (authority, stranger) = (Authority::new("made-up"), Authority::new("a stranger"));
    let yesterday = |params: &mut CertificateParams| {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2020, 2, 1);
    };
    let another = |params: &mut CertificateParams| {
        *params = CertificateParams::new(vec!["shop.example".to_owned()]).unwrap();
    };
    let itself = |params: &mut CertificateParams| {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    };
    let cases = [
        (stranger.server(|_| ()), "UnknownIssuer"),
        (authority.server(yesterday), "expired"),
        (authority.server(another), "not valid for name"),
        (authority.server(itself), "CaUsedAsEndEntity"),
    ];
    for (server, why) in cases {
        let told = called(&server, &authority.pem);
        let message = told["message"].as_str().unwrap();
        // Nothing was sent, so even a call that must not happen twice can be repeated.
        assert_eq!(
            (&told["kind"], &told["executed"]),
            (&json!("Unavailable"), &json!("No"))
        );
        let start = "cannot connect to `localhost`: invalid peer certificate: ";
        assert!(
            message.starts_with(start) && message.contains(why),
            "{message}"
        );
        for secret in [SECRET, "A-1044", "/orders"] {
            assert!(!message.contains(secret), "{message}");
        }
        assert!(server.heads.recv().is_err(), "no request was sent");
    }
}

#[test]
fn a_file_without_certificates_is_told_and_nothing_is_sent() {
    let server = Authority::new("made-up").server(|_| ());
    let told = called(&server, "no certificate\n");
    assert_eq!(
        (&told["kind"], &told["executed"]),
        (&json!("Unavailable"), &json!("No"))
    );
    let message = told["message"].as_str().unwrap();
    assert!(message.starts_with("TLS cannot be set up"), "{message}");
}
