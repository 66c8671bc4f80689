//! What a client does by itself, which is nothing, and what it trusts.

use std::{sync::Arc, time::Duration};

use reqwest::{ClientBuilder, redirect};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::runtime::Handle;

const AGENT: &str = concat!("rustagents/", env!("CARGO_PKG_VERSION"));

/// How long a connection that nobody uses is kept; servers close theirs soon.
const POOL_IDLE: Duration = Duration::from_secs(30);

/// What a client's connections trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// The system's certificates: for `https`.
    System,
    /// No certificate at all, and the system's are not read: for `http`.
    None,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The client's own timers would panic.
    #[error("no `tokio` runtime drives the call")]
    NoRuntime,
    /// The system's certificates cannot be read.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    /// The client cannot be made.
    #[error("the HTTP client cannot be set up")]
    Client(#[from] reqwest::Error),
}

/// A client's beginnings: TLS on `ring`, and connecting takes no longer than `connect`.
///
/// # Errors
/// [`SetupError::NoRuntime`] outside a `tokio` runtime; [`SetupError::Tls`].
pub fn builder(security: Security, connect: Duration) -> Result<ClientBuilder, SetupError> {
    Handle::try_current().map_err(|_| SetupError::NoRuntime)?;
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls(security)?)
        .user_agent(AGENT)
        .connect_timeout(connect)
        .pool_idle_timeout(POOL_IDLE)
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy())
}

fn tls(security: Security) -> Result<ClientConfig, SetupError> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(SetupError::Tls)?;
    let config = match security {
        Security::System => config.with_platform_verifier().map_err(SetupError::Tls)?,
        Security::None => config.with_root_certificates(RootCertStore::empty()),
    };
    Ok(config.with_no_client_auth())
}
