//! The bodies of records and messages: inline, or in parts that are contents.

use rusqlite::{Connection, OptionalExtension, Row, params, types::Type};
use rustagents_core::digest::Digest;
use rustagents_store::parts::Recipe;

/// Where a row of a query has what makes up a body.
#[derive(Clone, Copy)]
pub(crate) struct Columns {
    /// The body, or the content that it is in rows of earlier versions.
    pub(crate) body: usize,
    pub(crate) parts: usize,
    pub(crate) family: usize,
}

impl Columns {
    /// The body, whole.
    pub(crate) fn read(self, connection: &Connection, row: &Row<'_>) -> rusqlite::Result<Vec<u8>> {
        let Some(recipe) = self.recipe(row)? else {
            return row.get(self.body);
        };
        let family: i64 = row.get(self.family)?;
        recipe.text(|digest| {
            let found = content(connection, family, digest)?;
            let missing = || self.wrong(format!("its part {} is missing", digest.short()).into());
            found.ok_or_else(missing)
        })
    }

    /// The recipe, where the body is in parts.
    pub(crate) fn recipe(self, row: &Row<'_>) -> rusqlite::Result<Option<Recipe>> {
        let parts: Option<String> = row.get(self.parts)?;
        let recipe = parts.map(|parts| serde_json::from_str(&parts));
        recipe.transpose().map_err(|error| self.wrong(error.into()))
    }

    fn wrong(self, what: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
        rusqlite::Error::FromSqlConversionFailure(self.parts, Type::Text, what)
    }
}

fn content(
    connection: &Connection,
    family: i64,
    digest: Digest,
) -> rusqlite::Result<Option<Vec<u8>>> {
    connection
        .prepare_cached("SELECT bytes FROM contents WHERE family = ?1 AND digest = ?2")?
        .query_row(params![family, &digest.as_bytes()[..]], |row| row.get(0))
        .optional()
}
