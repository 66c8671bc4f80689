//! Contents: files by their digests, in a folder of the thread family's own.
//!
//! Who writes contents, copies a thread, or makes one that joins a family, holds the lock `families.lock` with
//! others of its kind until a log mentions them; who collects holds it alone. Both pass
//! `families.turn` before, so that one who waits to collect is not passed by for ever.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::{Path, PathBuf},
};

use rustagents_core::{
    digest::Digest,
    ids::ThreadId,
    journal::{Content, Family, JournalError},
};

use crate::{
    disk::{corrupt, present, refused},
    line::Head,
    lock, log,
    store::Store,
    write::unknown,
};

/// The folder of the families.
const FAMILIES: &str = "families";

impl Store {
    fn families(&self) -> PathBuf {
        self.root.join(FAMILIES)
    }

    fn families_lock(&self) -> PathBuf {
        self.root.join("families.lock")
    }

    fn families_turn(&self) -> PathBuf {
        self.root.join("families.turn")
    }

    /// Keeps collectors out while `contents` are written, or what `is_long`, if there is
    /// any.
    pub(crate) fn families_for(
        &self,
        contents: &[Content],
        is_long: bool,
    ) -> Result<Option<File>, JournalError> {
        let same = |content: &Content| Digest::of(&content.bytes) == content.digest;
        if !contents.iter().all(same) {
            return Err(JournalError::Malformed {
                rule: "a content is named by the digest of its bytes",
            });
        }
        if contents.is_empty() && !is_long {
            return Ok(None);
        }
        self.families_if_made()
    }

    /// Keeps collectors out, if there are threads.
    pub(crate) fn families_if_made(&self) -> Result<Option<File>, JournalError> {
        if present(&self.root, fs::metadata(self.threads()))?.is_none() {
            return Ok(None);
        }
        // Who collects comes to its turn, however many there are that write.
        let patience = self.patience();
        let turn = lock::make_shared(&self.families_turn(), patience)?;
        let held = lock::make_shared(&self.families_lock(), patience)?;
        drop(turn);
        Ok(Some(held))
    }

    /// The family that an image joins, if it has all that is to be shared. Keeps
    /// collectors out: nothing says yet that the new thread needs the contents.
    pub(crate) fn join(&self, family: &Family) -> Result<(Option<File>, String), JournalError> {
        let lock = self.families_if_made()?;
        let name = self.look(&family.of, |state| state.family.clone())?;
        let name = name.ok_or_else(|| unknown(&family.of))?;
        let folder = self.families().join(&name);
        for digest in &family.shared {
            let path = folder.join(digest.to_string());
            if present(&path, fs::metadata(&path))?.is_none() {
                return Err(JournalError::ContentGone {
                    thread: family.of.clone(),
                    digest: *digest,
                });
            }
        }
        Ok((lock, name))
    }

    /// Writes contents that are not there, durably. `writer` is a name that nobody
    /// else writes under now.
    pub(crate) fn store_contents(
        &self,
        family: &str,
        writer: &str,
        contents: &[Content],
    ) -> Result<(), JournalError> {
        if contents.is_empty() {
            return Ok(());
        }
        let folder = self.families().join(family);
        self.disk.make_folder(&folder)?;
        let writer = Digest::of(writer.as_bytes()).short();
        for content in contents {
            let path = folder.join(content.digest.to_string());
            // One that was damaged meanwhile is written again: who relies on it now has the
            // right bytes.
            if !fs::read(&path).is_ok_and(|found| found == content.bytes) {
                let draft = path.with_extension(format!("{writer}.new"));
                self.disk
                    .replace(&draft, &path, |draft| draft.write(&content.bytes))?;
            }
        }
        // One that was there may have been moved in by a process that was killed.
        self.disk.sync_folder(&folder)
    }

    /// A content of the thread's family.
    pub(crate) fn content(
        &self,
        thread: &ThreadId,
        digest: Digest,
    ) -> Result<Option<Vec<u8>>, JournalError> {
        let Some(family) = self.look(thread, |state| state.family.clone())? else {
            return Ok(None);
        };
        read(&self.families().join(family), digest)
    }

    /// Removes the contents that no thread of the family mentions, and families
    /// without threads. What cannot be removed now is left to a later collection.
    pub(crate) fn collect(&self, family: &str) {
        let _ = self.try_collect(family);
    }

    fn try_collect(&self, family: &str) -> Result<(), JournalError> {
        let families = self.families();
        if present(&families, fs::metadata(&families))?.is_none() {
            return Ok(());
        }
        let patience = self.patience();
        let turn = lock::make(&self.families_turn(), patience)?;
        let _alone = lock::make(&self.families_lock(), patience)?;
        drop(turn);
        let heads = self.heads()?;
        let mut mentioned = BTreeSet::new();
        for head in heads.iter().filter(|head| head.family == family) {
            let seen = self.look(&head.thread, |state| {
                mentioned.extend(&state.parts);
                state.thread.mentioned(&mut mentioned)
            })?;
            seen.unwrap_or(Ok(()))?;
        }
        for name in names(&families)? {
            let folder = families.join(&name);
            let is_alive = heads.iter().any(|head| head.family == name);
            if !is_alive {
                self.sweep(&folder, &BTreeSet::new())?;
                self.disk.remove_folder(&folder)?;
            } else if name == family {
                self.sweep(&folder, &mentioned)?;
            }
        }
        Ok(())
    }

    /// The heads of all threads. One that cannot be read may need anything.
    fn heads(&self) -> Result<Vec<Head>, JournalError> {
        let mut heads = Vec::new();
        for folder in names(&self.threads())? {
            let log = self.place_named(folder).log;
            if let Some(file) = present(&log, File::open(&log))? {
                heads.push(log::head(&file, &log)?);
            }
        }
        Ok(heads)
    }

    /// Removes what is not mentioned, and drafts that a crash left.
    fn sweep(&self, folder: &Path, kept: &BTreeSet<Digest>) -> Result<(), JournalError> {
        for name in names(folder)? {
            let digest = Digest::from_hex(&name);
            if !digest.is_some_and(|digest| kept.contains(&digest)) {
                self.disk.remove(&folder.join(name))?;
            }
        }
        Ok(())
    }
}

/// The folder of a family's contents in the store whose log of a thread has this path.
pub(crate) fn folder_beside(log: &Path, family: &str) -> PathBuf {
    // The log, its thread's folder, the folder of all threads.
    let root = log.ancestors().nth(3).unwrap_or(Path::new(""));
    root.join(FAMILIES).join(family)
}

/// A content of the family whose folder this is.
pub(crate) fn read(folder: &Path, digest: Digest) -> Result<Option<Vec<u8>>, JournalError> {
    let path = folder.join(digest.to_string());
    let Some(bytes) = present(&path, fs::read(&path))? else {
        return Ok(None);
    };
    if Digest::of(&bytes) != digest {
        return Err(corrupt(&path, "its digest is another one"));
    }
    Ok(Some(bytes))
}

/// The names of what stands in a folder; those that are no text are not ours.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>, JournalError> {
    let Some(entries) = present(folder, fs::read_dir(folder))? else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| refused(folder, &e))?;
        names.extend(entry.file_name().into_string());
    }
    Ok(names)
}
