//! The hosts that a tool's requests may go to.

use std::net::IpAddr;

use reqwest::Url;

use crate::DeclarationError;

/// The URL's own host, and those that redirects may lead to.
#[derive(Debug)]
pub(super) struct Hosts(Vec<Listed>);

#[derive(Debug, PartialEq, Eq)]
struct Listed {
    host: String,
    /// `None` is the usual port of the scheme.
    port: Option<u16>,
}

impl Hosts {
    /// The host of `own`, and `listed` as `host` or `host:port`.
    pub(super) fn new(own: &Url, listed: &[String]) -> Result<Self, DeclarationError> {
        let own = Listed {
            host: own.host_str().unwrap_or_default().to_owned(),
            port: own.port(),
        };
        let mut hosts = vec![own];
        for entry in listed {
            let host = host(entry).ok_or_else(|| DeclarationError::Host {
                found: entry.clone(),
            })?;
            hosts.push(host);
        }
        Ok(Self(hosts))
    }

    /// What speaks against following a redirect, if anything does.
    pub(super) fn redirect_objection(&self, from: &Url, to: &Url) -> Option<&'static str> {
        if !matches!(to.scheme(), "http" | "https") {
            Some("it is neither `https` nor `http`")
        } else if !to.username().is_empty() || to.password().is_some() {
            Some("it has a user name or a password")
        } else if from.scheme() == "https" && to.scheme() == "http" {
            Some("it gives up encryption")
        } else if self.allow(to) {
            None
        } else {
            Some("the host is not in `hosts`")
        }
    }

    fn allow(&self, url: &Url) -> bool {
        self.0.iter().any(|listed| {
            let same_port = match listed.port {
                Some(port) => url.port_or_known_default() == Some(port),
                None => url.port().is_none(),
            };
            same_port && url.host_str() == Some(&listed.host)
        })
    }
}

/// The host of a URL where it is written as an address; every way to write the
/// same address gives the same.
pub(super) fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let inner = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    inner.unwrap_or(host).parse().ok()
}

fn host(entry: &str) -> Option<Listed> {
    let (name, port) = match entry.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port.parse().ok()?)),
        _ => (entry, None),
    };
    let is_host = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    // Outside of brackets, a colon that is left is one of two.
    if !name.chars().all(is_host) || (name.contains(':') && !name.starts_with('[')) {
        return None;
    }
    let url = Url::parse(&format!("http://{name}/")).ok()?;
    let host = url.host_str()?.to_owned();
    Some(Listed { host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn the_own_host_is_allowed_on_its_port_only() {
        let hosts = Hosts::new(&url("https://api.example.com/x"), &[]).unwrap();
        assert!(hosts.allow(&url("https://API.example.com/y?z")));
        assert!(hosts.allow(&url("https://api.example.com:443/")));
        for other in [
            "https://api.example.com:8443/",
            "https://example.com/",
            "https://api.example.com.evil.org/",
            "https://evil-api.example.com/",
            "https://api.example.com./",
        ] {
            assert!(!hosts.allow(&url(other)), "{other}");
        }
        let hosts = Hosts::new(&url("http://api.example.com:8080/"), &[]).unwrap();
        assert!(hosts.allow(&url("http://api.example.com:8080/")));
        assert!(!hosts.allow(&url("http://api.example.com/")));
    }

    #[test]
    fn listed_hosts_have_the_usual_port_or_their_own() {
        let listed = [
            "Files.example.com",
            "cdn.example.com:8443",
            "[2001:DB8::1]:443",
        ];
        let hosts = Hosts::new(&url("https://a/"), &listed.map(str::to_owned)).unwrap();
        assert!(hosts.allow(&url("https://files.example.com/")));
        assert!(hosts.allow(&url("https://cdn.example.com:8443/")));
        assert!(hosts.allow(&url("https://[2001:db8:0::1]/")));
        assert!(!hosts.allow(&url("https://files.example.com:8443/")));
        assert!(!hosts.allow(&url("https://cdn.example.com/")));
    }

    #[test]
    fn a_redirect_may_add_encryption_and_not_give_it_up() {
        let own = url("http://api.example.com/");
        let secured = url("https://api.example.com/");
        let hosts = Hosts::new(&own, &[]).unwrap();
        assert_eq!(hosts.redirect_objection(&own, &secured), None);
        assert_eq!(
            hosts.redirect_objection(&secured, &own),
            Some("it gives up encryption")
        );
        let named = url("https://somebody:pass@api.example.com/");
        assert_eq!(
            hosts.redirect_objection(&secured, &named),
            Some("it has a user name or a password")
        );
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for entry in [
            "",
            " ",
            "a b",
            "https://a",
            "a/b",
            "a:b",
            "a:",
            "a:80:80",
            "a:70000",
            "u@a",
            "*.a",
            "a?b",
            "::1",
            "a\n",
        ] {
            let error = Hosts::new(&url("https://a/"), &[entry.to_owned()]).unwrap_err();
            assert_eq!(error.to_string(), format!("`{entry}` is not a host"));
        }
    }

    #[test]
    fn an_address_is_seen_however_it_is_written() {
        for text in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://０x7f。1/",
        ] {
            let found = literal(&url(text)).map(|address| address.to_string());
            assert_eq!(found.as_deref(), Some("127.0.0.1"), "{text}");
        }
        assert!(literal(&url("http://[::ffff:127.0.0.1]/")).is_some());
        assert!(literal(&url("http://localhost/")).is_none());
    }
}
