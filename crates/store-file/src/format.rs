//! Is the folder ours, and how it is made.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read},
    path::Path,
};

use rustagents_core::journal::JournalError;
use rustagents_store::locks::Patience;
use serde::{Deserialize, Serialize};

use crate::{
    disk::{Disk, present, refused, unavailable},
    lock,
};

/// The format of the folder, and of the logs in it, that this build writes.
///
/// Format 2 keeps long bodies in parts. A log of format 1 is written to as such, until it
/// is written anew.
pub(crate) const FORMAT: u32 = 2;

/// The first format that knows of parts.
pub(crate) const WITH_PARTS: u32 = 2;

/// The file that marks a folder as ours.
pub(crate) const MARK: &str = "format";

/// What making a folder leaves there before the mark.
const LOCK: &str = "format.lock";
const DRAFT: &str = "format.new";

/// What may stand in the folder beside the journal, whoever came first.
const BESIDE: [&str; 2] = ["events", "store"];

/// The most bytes that a mark may have.
const MAX_MARK_BYTES: u64 = 4_096;

#[derive(Serialize, Deserialize)]
struct Mark {
    store: String,
    format: u32,
}

/// What a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folder {
    /// There is none, or an empty one.
    Absent,
    /// It is a store of a format that this build reads and writes.
    Ours,
}

/// Looks at a folder without touching it.
pub(crate) fn inspect(root: &Path) -> Result<Folder, JournalError> {
    let Some(found) = present(root, fs::metadata(root))? else {
        return Ok(Folder::Absent);
    };
    if !found.is_dir() {
        return Err(foreign(root, "it is no folder"));
    }
    // A store that is just being made has its mark before anything else, so who
    // looks for the mark last mistakes it for nothing else.
    let holds_others = holds_others(root)?;
    let path = root.join(MARK);
    let Some(file) = present(&path, File::open(&path))? else {
        return if holds_others {
            Err(foreign(root, "the folder holds other files"))
        } else {
            Ok(Folder::Absent)
        };
    };
    let mut bytes = Vec::new();
    let read = file.take(MAX_MARK_BYTES).read_to_end(&mut bytes);
    match read {
        Err(error) if error.kind() != ErrorKind::IsADirectory => Err(refused(&path, &error)),
        _ => check(root, &bytes),
    }
}

fn check(root: &Path, mark: &[u8]) -> Result<Folder, JournalError> {
    match serde_json::from_slice::<Mark>(mark) {
        Ok(Mark { store, format }) if store == "rustagents" && format > FORMAT => {
            Err(JournalError::Newer {
                what: format!("store `{}`", root.display()),
                found: format,
                supported: FORMAT,
            })
        }
        Ok(Mark { store, format }) if store == "rustagents" && format > 0 => Ok(Folder::Ours),
        _ => Err(foreign(root, "its file `format` is another program's")),
    }
}

fn holds_others(root: &Path) -> Result<bool, JournalError> {
    for entry in fs::read_dir(root).map_err(|e| refused(root, &e))? {
        let name = entry.map_err(|e| refused(root, &e))?.file_name();
        let beside = BESIDE.iter().any(|known| name == *known);
        if name != LOCK && name != DRAFT && !beside {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes the folder a store, if it is not one yet.
pub(crate) fn make(disk: &Disk, root: &Path, patience: Patience) -> Result<(), JournalError> {
    if inspect(root)? == Folder::Ours {
        return Ok(());
    }
    disk.make_folder(root)?;
    let path = root.join(LOCK);
    let held = lock::make(&path, patience)?;
    // Another process may have been faster.
    if inspect(root)? == Folder::Ours {
        return Ok(());
    }
    let mark = Mark {
        store: "rustagents".into(),
        format: FORMAT,
    };
    let mut text = serde_json::to_vec(&mark).map_err(|e| unavailable(root, &e))?;
    text.push(b'\n');
    let made = disk.replace(&root.join(DRAFT), &root.join(MARK), |draft| {
        draft.write(&text)
    });
    drop(held);
    made
}

fn foreign(root: &Path, reason: &str) -> JournalError {
    JournalError::Foreign {
        path: root.display().to_string(),
        reason: reason.to_owned(),
    }
}
