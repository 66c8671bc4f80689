//! The tables, and items as rows of them.

use rusqlite::{Row, types::Type};
use rustagents_core::store::{Address, Item, ItemKey, NamespacePath, item::Stamp};

use crate::database::Kind;

/// The letters `RAGI`.
const APPLICATION_ID: u32 = 0x5241_4749;

/// Databases of items. A step never changes once it was released.
pub(super) const KIND: Kind = Kind {
    application_id: APPLICATION_ID,
    steps: &["
CREATE TABLE items(
  id INTEGER PRIMARY KEY,
  namespace TEXT NOT NULL,          -- each part with U+001F behind it
  key TEXT NOT NULL,
  value TEXT NOT NULL,              -- JSON
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,      -- milliseconds since the Unix epoch
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,               -- from then on nobody sees it
  ttl INTEGER,                      -- how long it lives, in milliseconds
  UNIQUE(namespace, key)
) STRICT;
CREATE INDEX items_expiry ON items(expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE floor(
  version INTEGER NOT NULL          -- the highest that was ever removed
) STRICT;
INSERT INTO floor(version) VALUES(0);
"],
};

/// The columns that [`item`] reads.
pub(super) const COLUMNS: &str =
    "namespace, key, value, version, created_at, updated_at, expires_at, ttl";

/// The item of a row, and how long its value is as text.
pub(super) fn item(row: &Row<'_>) -> rusqlite::Result<(Item, usize)> {
    let key: String = row.get(1)?;
    let text = row.get_ref(2)?.as_str()?;
    let item = Item {
        address: Address {
            namespace: namespace(row)?,
            key: ItemKey::new(&key).map_err(|error| unreadable(1, error))?,
        },
        value: serde_json::from_str(text).map_err(|error| unreadable(2, error))?,
        version: row.get(3)?,
        created_at_ms: row.get(4)?,
        updated_at_ms: row.get(5)?,
        expires_at_ms: row.get(6)?,
        ttl_ms: row.get(7)?,
    };
    Ok((item, text.len()))
}

/// The namespace in a row's first column.
pub(super) fn namespace(row: &Row<'_>) -> rusqlite::Result<NamespacePath> {
    let text = row.get_ref(0)?.as_str()?;
    NamespacePath::decode(text).map_err(|error| unreadable(0, error))
}

/// What a write needs to know, of the columns `version, created_at, expires_at`.
pub(super) fn stamp(row: &Row<'_>) -> rusqlite::Result<Stamp> {
    Ok(Stamp {
        version: row.get(0)?,
        created_at_ms: row.get(1)?,
        expires_at_ms: row.get(2)?,
    })
}

fn unreadable(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}
