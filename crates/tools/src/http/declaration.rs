//! What an HTTP tool declares.

use std::str::FromStr;

use rustagents_core::tool::ToolSpec;
use rustagents_http::Secret;

use crate::DeclarationError;

/// One request as a tool.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// What it declares of itself. The schema's root type is an object, and
    /// `max_output_bytes` is 128 or more.
    pub spec: ToolSpec,
    /// The minijinja template of the question to a person.
    pub ask: Option<String>,
    /// What is done.
    pub method: Method,
    /// `http` or `https`; each `{{ name }}` in its path and in the values of its
    /// query is a property of the schema.
    pub url: String,
    /// Where redirects may lead beside the URL's own host: `host` for the usual
    /// port, or `host:port`.
    pub hosts: Vec<String>,
    /// What is sent to the URL's own origin.
    pub headers: Vec<Header>,
    /// Whether addresses of private networks and of this machine may be reached.
    pub private: bool,
    /// The most redirects, up to 10. `None` is 3 for a `Repeatable` GET or HEAD,
    /// and 0 for every other call, which never follows one.
    pub redirects: Option<u8>,
}

/// What a request does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    #[default]
    Get,
    /// Reads without the body.
    Head,
    /// Sends something to be worked on.
    Post,
    /// Replaces.
    Put,
    /// Changes.
    Patch,
    /// Removes.
    Delete,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Get,
        Self::Head,
        Self::Post,
        Self::Put,
        Self::Patch,
        Self::Delete,
    ];

    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether it only reads, by its own definition.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Get | Self::Head)
    }

    /// Whether it sends the arguments that the URL does not use.
    pub const fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

impl FromStr for Method {
    type Err = DeclarationError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|method| method.as_str() == name)
            .ok_or_else(|| DeclarationError::Method {
                found: name.to_owned(),
            })
    }
}

impl From<Method> for reqwest::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Get => Self::GET,
            Method::Head => Self::HEAD,
            Method::Post => Self::POST,
            Method::Put => Self::PUT,
            Method::Patch => Self::PATCH,
            Method::Delete => Self::DELETE,
        }
    }
}

/// A header that is always sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub text: HeaderText,
}

/// The value of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderText {
    /// Anybody may know it.
    Plain(String),
    /// `prefix` and then `secret`, which is shown nowhere.
    Secret {
        /// What stands before it, such as `Bearer `.
        prefix: String,
        /// The secret.
        secret: Secret,
    },
}
