//! What is written of items, inside a transaction.

use rusqlite::{Connection, OptionalExtension, params};
use rustagents_core::store::{
    Address, Delete, Item, StoreLimits, Version, Write, check, item::Stamp,
};

use super::{read, rows};
use crate::connections::Failure;

pub(super) fn all(
    connection: &Connection,
    writes: Vec<Write>,
    limits: StoreLimits,
    now_ms: u64,
) -> Result<Vec<Option<Version>>, Failure> {
    let texts = check::texts(&writes, limits)?;
    let floor = floor(connection)?;
    let mut removed = floor;
    let mut versions = Vec::with_capacity(writes.len());
    for (write, text) in writes.into_iter().zip(texts) {
        let held = held(connection, write.address())?;
        versions.push(match write {
            Write::Put(put) => {
                let item = put.item(held, floor, now_ms)?;
                Some(insert(connection, &item, &text)?)
            }
            Write::Delete(one) => {
                let version = delete(connection, &one, held.filter(|h| h.is_visible(now_ms)))?;
                removed = removed.max(version.unwrap_or(0));
                version
            }
        });
    }
    raise(connection, floor, removed)?;
    Ok(versions)
}

fn floor(connection: &Connection) -> rusqlite::Result<Version> {
    connection
        .prepare_cached("SELECT version FROM floor")?
        .query_row([], |row| row.get(0))
}

fn raise(connection: &Connection, from: Version, to: Version) -> rusqlite::Result<()> {
    if to > from {
        connection
            .prepare_cached("UPDATE floor SET version = ?1")?
            .execute([to])?;
    }
    Ok(())
}

fn held(connection: &Connection, address: &Address) -> rusqlite::Result<Option<Stamp>> {
    connection
        .prepare_cached(
            "SELECT version, created_at, expires_at FROM items WHERE namespace = ?1 AND key = ?2",
        )?
        .query_row(
            params![address.namespace.encoded(), address.key.as_str()],
            rows::stamp,
        )
        .optional()
}

fn insert(connection: &Connection, item: &Item, text: &str) -> rusqlite::Result<Version> {
    connection
        .prepare_cached(
            "INSERT INTO items(namespace, key, value, version, created_at, updated_at,
                               expires_at, ttl)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT(namespace, key) DO UPDATE SET
               value = ?3, version = ?4, created_at = ?5, updated_at = ?6,
               expires_at = ?7, ttl = ?8",
        )?
        .execute(params![
            item.address.namespace.encoded(),
            item.address.key.as_str(),
            text,
            item.version,
            item.created_at_ms,
            item.updated_at_ms,
            item.expires_at_ms,
            item.ttl_ms,
        ])?;
    Ok(item.version)
}

fn delete(
    connection: &Connection,
    delete: &Delete,
    seen: Option<Stamp>,
) -> Result<Option<Version>, Failure> {
    let version = seen.map(|seen| seen.version);
    delete.expect.check(&delete.address, version)?;
    if version.is_some() {
        connection
            .prepare_cached("DELETE FROM items WHERE namespace = ?1 AND key = ?2")?
            .execute(params![
                delete.address.namespace.encoded(),
                delete.address.key.as_str()
            ])?;
    }
    Ok(version)
}

/// Begins the item's time to live anew, if it is not over by now.
pub(super) fn refresh(
    connection: &Connection,
    address: &Address,
    now_ms: u64,
) -> Result<Option<Item>, Failure> {
    let Some(mut item) = read::item(connection, address, now_ms)? else {
        return Ok(None);
    };
    if item.refresh(now_ms) {
        connection
            .prepare_cached("UPDATE items SET expires_at = ?3 WHERE namespace = ?1 AND key = ?2")?
            .execute(params![
                address.namespace.encoded(),
                address.key.as_str(),
                item.expires_at_ms
            ])?;
    }
    Ok(Some(item))
}

/// Removes what was over first.
pub(super) fn sweep(connection: &Connection, limit: usize, now_ms: u64) -> Result<usize, Failure> {
    let mut statement = connection.prepare_cached(
        "DELETE FROM items WHERE id IN (
           SELECT id FROM items WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2
         ) RETURNING version",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let (from, mut to, mut count) = (floor(connection)?, 0, 0);
    let mut removed = statement.query(params![now_ms, limit])?;
    while let Some(row) = removed.next()? {
        to = to.max(row.get(0)?);
        count += 1;
    }
    raise(connection, from, to)?;
    Ok(count)
}
