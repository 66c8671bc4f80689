//! Secured connections, to a server that shows a made-up certificate.
//!
//! What the system trusts is told by its environment, so each case runs this
//! binary again with another one.

use std::{
    env,
    io::{BufReader, Write},
    net::TcpListener,
    path::PathBuf,
    process::Command,
    sync::Arc,
    thread,
    time::Duration,
};

use rustagents_providers::openai::{OpenAiModel, Timeouts};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use super::{
    ask, config, said,
    server::{self, Server, Step},
    text,
};

/// Set where a test runs as the child of itself.
const CHILD: &str = "RUSTAGENTS_TEST_CHILD";

fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/openai/trust", name]
        .iter()
        .collect()
}

/// Whether this is the child, which trusts `certificates`. Elsewhere the child is
/// run, and must pass.
fn trusting(test: &str, certificates: &str) -> bool {
    if env::var_os(CHILD).is_some() {
        return true;
    }
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("openai::trust::{test}")])
        .env(CHILD, "1")
        .env("SSL_CERT_FILE", file(certificates))
        .env_remove("SSL_CERT_DIR")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && told.contains("1 passed"),
        "{told}"
    );
    false
}

/// The base URL of a server that answers with `a` once.
fn secured() -> String {
    let chain = CertificateDer::pem_file_iter(file("server.pem")).unwrap();
    let chain = chain.map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (connection, _) = listener.accept().unwrap();
        let session = ServerConnection::new(Arc::new(config)).unwrap();
        let mut reader = BufReader::new(StreamOwned::new(session, connection));
        // A client that does not trust the certificate sends none.
        if server::read(&mut reader).is_some() {
            for step in server::events(&[text("a").as_bytes()]) {
                let Step::Send(bytes) = step else { continue };
                reader.get_mut().write_all(&bytes).unwrap();
            }
        }
    });
    url
}

#[tokio::test]
async fn a_trusted_server_is_asked() {
    if trusting("a_trusted_server_is_asked", "authority.pem") {
        let model = OpenAiModel::new(config(&secured())).unwrap();
        assert_eq!(ask(&model).await.unwrap().text, "a");
    }
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_is_not_asked() {
    if trusting(
        "a_server_that_nobody_vouches_for_is_not_asked",
        "server.pem",
    ) {
        let url = secured().replace("127.0.0.1", "localhost");
        let model = OpenAiModel::new(config(&url)).unwrap();
        let reason = said(ask(&model).await.unwrap_err());
        assert!(
            reason.starts_with("cannot connect: invalid peer certificate"),
            "{reason}"
        );
    }
}

#[tokio::test]
async fn without_certificates_only_plain_servers_are_asked() {
    if trusting(
        "without_certificates_only_plain_servers_are_asked",
        "none.pem",
    ) {
        let model = OpenAiModel::new(config("https://127.0.0.1:1/v1")).unwrap();
        for _ in 0..2 {
            assert_eq!(
                said(ask(&model).await.unwrap_err()),
                "TLS cannot be set up: unexpected error: \
                 No CA certificates were loaded from the system"
            );
        }
        let plain = Server::always(server::events(&[text("a").as_bytes()]));
        assert_eq!(ask(&super::model(&plain)).await.unwrap().text, "a");
    }
}

#[tokio::test]
async fn a_server_that_does_not_shake_hands_is_given_up() {
    if trusting(
        "a_server_that_does_not_shake_hands_is_given_up",
        "authority.pem",
    ) {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut config = config(&format!("https://{}/v1", silent.local_addr().unwrap()));
        config.timeouts = Timeouts {
            connect: Duration::from_millis(100),
            ..Timeouts::default()
        };
        let model = OpenAiModel::new(config).unwrap();
        assert_eq!(
            said(ask(&model).await.unwrap_err()),
            "no connection after 100ms"
        );
    }
}
