//! One thing that was looked at.

use serde::Serialize;

use crate::failure::Failure;

/// What stands in the place of a name and a password.
const MASK: &str = "***";

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Ok,
    Warning,
    Error,
}

impl Status {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing that was looked at. No text in it holds the user of an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) status: Status,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Check {
    fn new(name: impl Into<String>, status: Status, message: &str) -> Self {
        Self {
            name: name.into(),
            status,
            message: without_users(message),
            hint: None,
        }
    }

    pub(crate) fn ok(name: impl Into<String>, message: impl AsRef<str>) -> Self {
        Self::new(name, Status::Ok, message.as_ref())
    }

    pub(crate) fn warning(name: impl Into<String>, message: impl AsRef<str>) -> Self {
        Self::new(name, Status::Warning, message.as_ref())
    }

    pub(crate) fn error(name: impl Into<String>, message: impl AsRef<str>) -> Self {
        Self::new(name, Status::Error, message.as_ref())
    }

    /// What a command would have failed with.
    pub(crate) fn failed(name: impl Into<String>, failure: &Failure) -> Self {
        let message = match &failure.place {
            Some(place) => format!("{} (at {place})", failure.message),
            None => failure.message.clone(),
        };
        let hint = failure.hint.clone();
        Self::error(name, message)
            .hint(hint.unwrap_or_else(|| format!("see `rag explain {}`", failure.code)))
    }

    pub(crate) fn hint(mut self, hint: impl AsRef<str>) -> Self {
        self.hint = Some(without_users(hint.as_ref()));
        self
    }
}

/// `text` without what stands before the last `@` of each address in it. A
/// password may hold any character, so rather too much is left out than too little.
fn without_users(text: &str) -> String {
    const MARK: &str = "://";
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(MARK) {
        shown.extend([before, MARK]);
        let end = after.find(['`', '\n']).unwrap_or(after.len());
        let (address, tail) = after.split_at(end);
        match address.rsplit_once('@') {
            Some((_, host)) => {
                shown.extend([MASK, "@", host]);
                rest = tail;
            }
            None => rest = after,
        }
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_keeps_its_user() {
        for (text, shown) in [
            ("no address, me@example.com", "no address, me@example.com"),
            (
                "`http://127.0.0.1/v1` answers",
                "`http://127.0.0.1/v1` answers",
            ),
            (
                "`pg://user:pa/s@s?w@host/db` is no",
                "`pg://***@host/db` is no",
            ),
            (
                "`m:a@http://u:p@h/v1` and `ftp://u@g`",
                "`m:a@http://***@h/v1` and `ftp://***@g`",
            ),
            ("`http://a/http://u:p@b`", "`http://***@b`"),
            ("http://", "http://"),
        ] {
            let check = Check::error("x", text).hint(text);
            assert_eq!(check.message, shown);
            assert_eq!(check.hint.as_deref(), Some(shown));
        }
    }
}
