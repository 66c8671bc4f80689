//! Names become addresses that a call may reach.

use std::{
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::task::spawn_blocking;

use super::address::objection;

/// What the system says about a name; blocks.
type Lookup = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// A resolver that leaves out what may not be reached.
///
/// The client connects to what this returns, and to nothing else: a name that
/// changes its addresses gains nothing by it.
#[derive(Clone)]
pub(super) struct Resolver {
    private: bool,
    lookup: Arc<Lookup>,
}

/// All addresses of a name are ones that may not be reached.
#[derive(Debug, thiserror::Error)]
#[error("`{host}` is {what}")]
pub(super) struct Forbidden {
    pub(super) host: String,
    /// What the first of them is.
    pub(super) what: &'static str,
}

impl Resolver {
    /// The system's resolver; `private` addresses pass where it says so.
    pub(super) fn system(private: bool) -> Self {
        Self {
            private,
            lookup: Arc::new(|name| {
                let addresses = (name, 0).to_socket_addrs()?;
                Ok(addresses.map(|address| address.ip()).collect())
            }),
        }
    }

    /// Blocks.
    fn addresses(
        &self,
        name: &str,
    ) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
        let mut allowed = Vec::new();
        let mut forbidden = None;
        for address in (self.lookup)(name)? {
            match objection(address, self.private) {
                // The port is the URL's; zero stands for none.
                None => allowed.push(SocketAddr::new(address, 0)),
                Some(what) => forbidden = forbidden.or(Some(what)),
            }
        }
        match forbidden {
            Some(what) if allowed.is_empty() => Err(Box::new(Forbidden {
                host: name.to_owned(),
                what,
            })),
            _ => Ok(allowed),
        }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let found = spawn_blocking(move || resolver.addresses(name.as_str())).await??;
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn resolver(private: bool, found: &'static [&'static str]) -> Resolver {
        let lookup = move |_: &str| Ok(found.iter().map(|text| text.parse().unwrap()).collect());
        Resolver {
            private,
            lookup: Arc::new(lookup),
        }
    }

    async fn resolve(resolver: &Resolver) -> Result<Vec<String>, String> {
        let name: Name = "api.example.com".parse().unwrap();
        let found = resolver.resolve(name).await;
        found
            .map(|addresses| addresses.map(|address| address.ip().to_string()).collect())
            .map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn only_addresses_that_may_be_reached_are_tried() {
        let mixed = &["10.0.0.1", "8.8.8.8", "::1", "2606:4700::1", "0.0.0.0"];
        let found = resolve(&resolver(false, mixed)).await.unwrap();
        assert_eq!(found, ["8.8.8.8", "2606:4700::1"]);
        let found = resolve(&resolver(true, mixed)).await.unwrap();
        assert_eq!(found, ["10.0.0.1", "8.8.8.8", "::1", "2606:4700::1"]);
    }

    #[tokio::test]
    async fn a_name_of_private_addresses_only_is_refused_with_the_reason() {
        let near = resolver(false, &["169.254.169.254", "127.0.0.1"]);
        let error = resolve(&near).await.unwrap_err();
        assert_eq!(error, "`api.example.com` is a link-local address");
    }

    #[tokio::test]
    async fn a_name_that_changes_is_checked_each_time() {
        let asked = AtomicUsize::new(0);
        let lookup = move |_: &str| {
            let first = asked.fetch_add(1, Ordering::Relaxed) == 0;
            let text = if first { "8.8.8.8" } else { "127.0.0.1" };
            Ok(vec![text.parse().unwrap()])
        };
        let rebinding = Resolver {
            private: false,
            lookup: Arc::new(lookup),
        };
        assert_eq!(resolve(&rebinding).await.unwrap(), ["8.8.8.8"]);
        assert!(resolve(&rebinding).await.is_err());
    }
}
