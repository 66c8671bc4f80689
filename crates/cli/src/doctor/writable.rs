//! Whether the system would let us write, without trying it.

use std::path::Path;

use rustix::fs::{Access, access};

/// Why nothing could be written to `path`, or made in it. What is not there yet
/// would be made in the nearest folder above it that is.
pub(super) fn refusal(path: &Path) -> Option<String> {
    let nearest = nearest(path);
    if nearest != path && !nearest.is_dir() {
        return Some(format!("`{}` is no folder", nearest.display()));
    }
    let wanted = if nearest.is_dir() {
        Access::WRITE_OK | Access::EXEC_OK
    } else {
        Access::WRITE_OK
    };
    let refused = access(nearest, wanted).err()?;
    let error = std::io::Error::from(refused);
    Some(format!("`{}` refuses it: {error}", nearest.display()))
}

/// The path itself, or the nearest above it that is there.
fn nearest(path: &Path) -> &Path {
    let here = Path::new(".");
    let above = path.ancestors().map(|path| {
        if path.as_os_str().is_empty() {
            here
        } else {
            path
        }
    });
    let mut there = above.filter(|path| path.exists());
    there.next().unwrap_or(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_made_in_the_nearest_folder_that_is() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        assert_eq!(nearest(&deep), folder.path());
        assert_eq!(nearest(folder.path()), folder.path());
        assert_eq!(nearest(Path::new("no/such/folder")), Path::new("."));
        assert_eq!(refusal(&deep), None);
        assert!(!folder.path().join("a").exists());
    }

    #[test]
    fn a_place_below_a_file_cannot_be_written_to() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(refusal(file.path()), None);
        let below = file.path().join("journal.db");
        assert!(refusal(&below).is_some_and(|why| why.ends_with("is no folder")));
    }
}
