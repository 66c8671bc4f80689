//! Data sources and tools: does what is declared work.

use rustagents_config::Config;
use rustagents_tools::sql::Database;

use super::{Check, writable};
use crate::tools;

pub(crate) fn examine(config: &Config) -> Vec<Check> {
    let tried = tools::try_each(config).into_iter();
    let checks = tried.map(|tried| {
        let name = format!("{} {}", tried.kind, tried.name);
        match (&tried.outcome, tried.kind) {
            (Err(failure), _) => Check::failed(name, failure),
            (Ok(()), "data") => data(name, config, tried.name),
            (Ok(()), _) => Check::ok(name, "its declaration works"),
        }
    });
    checks.collect()
}

/// Where the data of a seed that works is, or will be.
fn data(check: String, config: &Config, name: &str) -> Check {
    let mut sources = config.data.iter();
    let source = sources.find(|source| source.name == name);
    let database =
        source.and_then(|source| Database::new(&config.folder, &source.name, &source.seed).ok());
    let Some(database) = database else {
        return Check::ok(check, "the seed works");
    };
    let file = database.file();
    let shown = file.display();
    if file.exists() {
        return Check::ok(check, format!("the seed works, and `{shown}` is there"));
    }
    match writable::refusal(file.parent().unwrap_or(file)) {
        None => Check::ok(
            check,
            format!("the seed works; the first call makes `{shown}`"),
        ),
        Some(refusal) => Check::error(check, format!("`{shown}` cannot be made: {refusal}"))
            .hint("allow writing there, or move the configuration"),
    }
}
