//! The store: can it be used, and is it whole.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rustagents_core::{code::Coded, journal::JournalError};
use rustagents_store_file::FileJournal;
use rustagents_store_sqlite::SqliteJournal;

use super::{Check, threads, writable};
use crate::{failure::Failure, store::Address};

const NAME: &str = "store";

/// How long SQLite may look for damage.
const PATIENCE: Duration = Duration::from_mins(1);

/// The same where everything is to be read.
const ENDLESS: Duration = Duration::from_hours(24 * 365);

pub(crate) async fn examine(url: Option<&str>, full: bool) -> Vec<Check> {
    match Address::parse(url) {
        Err(failure) => vec![Check::failed(NAME, &failure)],
        Ok(Address::Memory) => vec![Check::ok(NAME, "in memory: it ends with its process")],
        Ok(Address::Sqlite(path, _)) => sqlite(&path, full).await,
        Ok(Address::File(folder)) => files(&folder, full).await,
    }
}

async fn sqlite(path: &Path, full: bool) -> Vec<Check> {
    let (patience, bounds) = if full {
        (ENDLESS, threads::Bounds::full())
    } else {
        (PATIENCE, threads::Bounds::default())
    };
    let mut checks = vec![place(path)];
    match SqliteJournal::exists(path) {
        Ok(false) => {
            let message = format!(
                "`{}` is not there yet; the first run makes it",
                path.display()
            );
            checks.insert(0, Check::ok(NAME, message));
        }
        Ok(true) => match SqliteJournal::open(path) {
            Ok(journal) => {
                checks.insert(0, whole(path, &journal, patience).await);
                checks.extend(threads::examine(&journal, bounds).await);
            }
            Err(error) => checks.insert(0, broken(error)),
        },
        Err(error) => checks.insert(0, broken(error)),
    }
    checks
}

async fn files(folder: &Path, full: bool) -> Vec<Check> {
    let shown = folder.display();
    let mut checks = vec![place(folder)];
    let opened = FileJournal::exists(folder).and_then(|exists| {
        let open = exists.then(|| FileJournal::open(folder));
        open.transpose()
    });
    match opened {
        Ok(None) => {
            let message = format!("`{shown}` is not there yet; the first run makes it");
            checks.insert(0, Check::ok(NAME, message));
        }
        Ok(Some(journal)) => {
            // Each log has sums of its own; reading the threads checks them.
            let message = format!("`{shown}` is a folder of logs");
            checks.insert(0, Check::ok(NAME, message));
            let bounds = if full {
                threads::Bounds::full()
            } else {
                threads::Bounds::default()
            };
            checks.extend(threads::examine(&journal, bounds).await);
        }
        Err(error) => checks.insert(0, broken(error)),
    }
    checks
}

async fn whole(path: &Path, journal: &SqliteJournal, patience: Duration) -> Check {
    let shown = path.display();
    match journal.check(patience).await {
        Err(error) => broken(error),
        Ok(Some(health)) if health.is_complete => {
            let version = health.version;
            Check::ok(
                NAME,
                format!("`{shown}` has tables of version {version}, and no damage"),
            )
        }
        Ok(Some(_)) => {
            let message = format!("`{shown}` was not looked at to its end in {patience:?}");
            Check::warning(NAME, message).hint("look again on a faster disk, or at a copy")
        }
        Ok(None) => Check::warning(NAME, format!("`{shown}` was there, and is not any more"))
            .hint("see who removes it"),
    }
}

/// What is wrong with the store as a whole.
fn broken(error: JournalError) -> Check {
    let damaged = matches!(error, JournalError::Corrupt { .. });
    let hint = error.hint();
    let check = Check::failed(NAME, &Failure::from(error));
    match hint {
        None if damaged => check.hint("take a copy of it, then restore a backup"),
        _ => check,
    }
}

/// Whether the place can be written to, once there is something to write.
fn place(path: &Path) -> Check {
    const NAME: &str = "store folder";
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let refused = writable::refusal(&folder).or_else(|| writable::refusal(path));
    match refused {
        Some(refusal) => Check::error(NAME, format!("it cannot be written to: {refusal}"))
            .hint("allow writing there, or name another place with `--store`"),
        None if folder.exists() => {
            Check::ok(NAME, format!("`{}` can be written to", folder.display()))
        }
        None => {
            let message = format!("`{}` is not there yet, and can be made", folder.display());
            Check::ok(NAME, message)
        }
    }
}
