//! Where a program is.

use std::{
    env,
    ffi::OsStr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// The file of `program`: a path starts at `base`, and a name is looked up in
/// the folders of `path`.
///
/// A folder of `path` that is not absolute is passed over: it would start at
/// the working folder, where a call may have put a file of that name.
pub(super) fn find(program: &str, base: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(base.join(program)).filter(|file| is_program(file));
    }
    env::split_paths(path?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_name_is_looked_up_and_a_path_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        symlink("/bin/sh", base.join("tool")).unwrap();
        fs::write(base.join("text"), "no program").unwrap();
        let found = |program: &str, path: &str| find(program, base, Some(OsStr::new(path)));

        assert_eq!(found("./tool", ""), Some(base.join("./tool")));
        assert_eq!(found("/bin/sh", ""), Some("/bin/sh".into()));
        assert_eq!(found("./text", ""), None);
        assert_eq!(found("./gone", ""), None);
        let path = format!("/nowhere:{}", base.display());
        assert_eq!(found("tool", &path), Some(base.join("tool")));
        for (program, path) in [("text", path.as_str()), ("tool", ".:"), ("tool", "")] {
            assert_eq!(found(program, path), None, "{program} in {path}");
        }
        assert_eq!(find("sh", base, None), None);
    }
}
