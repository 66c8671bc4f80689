//! What differs between servers of the wire: one row each.

/// A server's way to speak the wire.
///
/// ```
/// use rustagents_providers::openai::Dialect;
/// let dialect = Dialect::named("openai").ok_or("no such row")?;
/// assert_eq!(dialect.base_url, Some("https://api.openai.com/v1"));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dialect {
    /// What configuration calls it.
    pub name: &'static str,
    /// Where it is served, `/v1` included; `None` where each server has its own.
    pub base_url: Option<&'static str>,
    /// How the key is sent.
    pub auth: Auth,
    /// Where it departs from the wire as most speak it.
    pub quirks: Quirks,
}

/// How a key is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Auth {
    /// As `Authorization: Bearer …`.
    Bearer,
}

/// Where a dialect departs from the wire as most speak it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quirks {
    /// Usage is sent only when `stream_options` asks for it.
    pub asks_for_usage: bool,
    /// The longest id of a call that it takes back, in bytes.
    pub max_call_id_bytes: usize,
}

impl Dialect {
    /// OpenAI's own service.
    pub const OPENAI: Self = Self {
        name: "openai",
        base_url: Some("https://api.openai.com/v1"),
        auth: Auth::Bearer,
        quirks: Quirks {
            asks_for_usage: true,
            max_call_id_bytes: 40,
        },
    };

    /// Any other server that speaks the wire.
    pub const COMPATIBLE: Self = Self {
        name: "openai-compatible",
        base_url: None,
        auth: Auth::Bearer,
        quirks: Quirks {
            asks_for_usage: true,
            max_call_id_bytes: 256,
        },
    };

    /// All rows.
    pub const ALL: &'static [Self] = &[Self::OPENAI, Self::COMPATIBLE];

    /// The row with that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|dialect| dialect.name == name)
    }
}
