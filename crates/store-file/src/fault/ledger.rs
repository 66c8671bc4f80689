//! What of a folder is durable, as its writer may rely on it: the bytes of a file
//! once it was synced, and its name once its folder was.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
};

use crate::disk::Step;

/// A file, whatever its name.
type Id = usize;

#[derive(Clone, Copy, Debug)]
enum Named {
    Folder,
    File(Id),
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Which file has which name now.
    names: HashMap<PathBuf, Id>,
    /// The durable bytes of each file.
    bytes: Vec<Vec<u8>>,
    /// The durable names.
    durable: BTreeMap<PathBuf, Named>,
}

impl Ledger {
    pub(super) fn note(&mut self, step: Step<'_>) {
        match step {
            Step::Change => {}
            Step::Make(path) => {
                self.names.remove(path);
                self.file(path);
            }
            Step::Sync(path) => {
                let bytes = fs::read(path).unwrap_or_default();
                let id = self.file(path);
                if let Some(durable) = self.bytes.get_mut(id) {
                    *durable = bytes;
                }
            }
            Step::Rename(from, to) => {
                let id = self.file(from);
                self.names.remove(from);
                self.names.insert(to.to_owned(), id);
            }
            Step::Remove(path) => drop(self.names.remove(path)),
            Step::SyncFolder(folder) => self.sync_folder(folder),
        }
    }

    fn file(&mut self, path: &Path) -> Id {
        if let Some(id) = self.names.get(path) {
            return *id;
        }
        self.bytes.push(Vec::new());
        let id = self.bytes.len() - 1;
        self.names.insert(path.to_owned(), id);
        id
    }

    fn sync_folder(&mut self, folder: &Path) {
        self.durable.retain(|path, _| path.parent() != Some(folder));
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            let named = if path.is_dir() {
                Named::Folder
            } else {
                Named::File(self.file(&path))
            };
            self.durable.insert(path, named);
        }
    }

    pub(super) fn restore(&self, root: &Path) -> io::Result<()> {
        if root.exists() {
            fs::remove_dir_all(root)?;
        }
        // A folder comes before what stands in it.
        for (path, named) in self.durable.range(root.to_owned()..) {
            let is_reached = path == root || path.parent().is_some_and(Path::is_dir);
            if !is_reached || !path.starts_with(root) {
                continue;
            }
            match named {
                Named::Folder => fs::create_dir(path)?,
                Named::File(id) => fs::write(path, self.bytes.get(*id).map_or(&[][..], |b| b))?,
            }
        }
        Ok(())
    }
}
