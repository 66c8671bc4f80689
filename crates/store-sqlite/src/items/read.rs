//! What is read of items.

use std::borrow::Cow;

use rusqlite::{Connection, OptionalExtension, params, types::Value};
use rustagents_core::store::{
    Address, Item, ItemPage, NamespacePage, NamespaceQuery, SearchQuery, scan::Scan,
};

use super::rows::{self, COLUMNS};
use crate::connections::Failure;

pub(super) fn item(
    connection: &Connection,
    address: &Address,
    now_ms: u64,
) -> Result<Option<Item>, Failure> {
    let found = connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM items WHERE namespace = ?1 AND key = ?2"
        ))?
        .query_row(
            params![address.namespace.encoded(), address.key.as_str()],
            rows::item,
        )
        .optional()?;
    let item = found.map(|(item, _)| item);
    Ok(item.filter(|item| item.is_visible(now_ms)))
}

pub(super) fn search(
    connection: &Connection,
    query: SearchQuery,
    now_ms: u64,
) -> Result<ItemPage, Failure> {
    let (prefix, after) = (query.prefix.clone(), query.after.clone());
    let mut scan = Scan::new(query)?;
    // No key is empty, so this stands before all keys of the prefix.
    let mut from = (prefix.encoded(), "");
    if let Some(after) = after.as_ref().filter(|after| after.namespace >= prefix) {
        from = (after.namespace.encoded(), after.key.as_str());
    }
    // Any text is less than any blob.
    let end = prefix.encoded_end();
    let end = end.map_or_else(|| Value::Blob(Vec::new()), Value::Text);
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM items
         WHERE (namespace, key) > (?1, ?2) AND namespace < ?3
           AND (expires_at IS NULL OR expires_at > ?4)
         ORDER BY namespace, key"
    ))?;
    let mut found = statement.query(params![from.0, from.1, end, now_ms])?;
    while let Some(row) = found.next()? {
        if scan.is_full() {
            return Ok(scan.finish(false));
        }
        let (item, bytes) = rows::item(row)?;
        scan.offer(Cow::Owned(item), bytes);
    }
    Ok(scan.finish(true))
}

pub(super) fn namespaces(
    connection: &Connection,
    query: &NamespaceQuery,
    now_ms: u64,
) -> Result<NamespacePage, Failure> {
    let mut statement = connection.prepare_cached(
        "SELECT namespace FROM items
         WHERE namespace >= ?1 AND (expires_at IS NULL OR expires_at > ?2)
         ORDER BY namespace, key LIMIT 1",
    )?;
    query.page(|start| {
        let first = statement.query_row(params![start, now_ms], rows::namespace);
        Ok(first.optional()?)
    })
}

pub(super) fn is_any_over(connection: &Connection, now_ms: u64) -> Result<bool, Failure> {
    let mut statement =
        connection.prepare_cached("SELECT EXISTS(SELECT 1 FROM items WHERE expires_at <= ?1)")?;
    Ok(statement.query_row([now_ms], |row| row.get(0))?)
}
