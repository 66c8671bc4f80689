//! The clients, built when they are first needed.

use std::{fmt, sync::OnceLock, time::Duration};

use reqwest::{Client, Url};
use rustagents_http::{Security, SetupError};

use super::resolver::Resolver;

/// The longest time that connecting may take.
const CONNECT: Duration = Duration::from_secs(10);

/// A client for `https` and one for `http`, which needs no certificates.
pub(super) struct Clients {
    secured: OnceLock<Client>,
    open: OnceLock<Client>,
    resolver: Resolver,
    /// How long connecting takes at most.
    pub(super) connect: Duration,
}

impl Clients {
    /// Clients of a tool whose calls take no longer than `timeout`.
    pub(super) fn new(private: bool, timeout: Duration) -> Self {
        Self {
            secured: OnceLock::new(),
            open: OnceLock::new(),
            resolver: Resolver::system(private),
            // Before the call's own end, a failed connection proves that nothing left.
            connect: CONNECT.min(timeout / 2),
        }
    }

    /// The client for `url`.
    pub(super) fn of(&self, url: &Url) -> Result<&Client, SetupError> {
        let (place, security) = match url.scheme() {
            "https" => (&self.secured, Security::System),
            _ => (&self.open, Security::None),
        };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        let client = rustagents_http::builder(security, self.connect)?
            .dns_resolver(self.resolver.clone())
            // A connection that was idle may be dead, and a request that is lost on
            // it may have arrived: each request has a connection of its own.
            .pool_max_idle_per_host(0)
            .build()?;
        Ok(place.get_or_init(|| client))
    }
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients")
            .field("connect", &self.connect)
            .finish_non_exhaustive()
    }
}
