//! The configuration: is there one, and can it be read.

use std::path::Path;

use rustagents_config::{Config, FILE_NAME};

use super::Check;
use crate::{failure::Failure, output::plural};

const NAME: &str = "configuration";

/// The configuration that counts in the current folder, or the one that is given.
pub(crate) fn examine(given: Option<&Path>) -> (Check, Option<Config>) {
    let found = given.map(Path::to_owned);
    let Some(path) = found.or_else(|| Config::find(Path::new("."))) else {
        let message = format!("there is no `{FILE_NAME}` in this folder or above it");
        let hint = "`rag new NAME` makes a folder with one; `--config PATH` names another";
        return (Check::warning(NAME, message).hint(hint), None);
    };
    match Config::load(&path) {
        Ok(config) => (Check::ok(NAME, told(&config)), Some(config)),
        Err(error) => (Check::failed(NAME, &Failure::from(error)), None),
    }
}

fn told(config: &Config) -> String {
    format!(
        "`{}`: {}, {}, {}",
        config.path.display(),
        plural(config.models.len(), "model"),
        plural(config.data.len(), "data source"),
        plural(config.tools.len(), "tool"),
    )
}
