//! `rag new`: makes a folder with a plan that runs at once.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::ExitCode,
};

use rustagents_core::Code;
use serde::Serialize;
use tempfile::TempDir;

use crate::{
    arguments::{New, program, quote},
    failure::Failure,
    output::{self, Output},
};

/// What the language keeps for itself.
const RESERVED: [&str; 2] = ["START", "END"];

/// What `rag.new/1` is.
#[derive(Serialize)]
struct Made<'a> {
    schema: &'static str,
    folder: &'a str,
    files: &'a [String],
}

pub(crate) fn new(arguments: &New, output: &Output) -> Result<ExitCode, Failure> {
    let folder = &arguments.folder;
    let name = graph_name(folder)?;
    look(folder)?;
    let draft = draft(folder)?;
    let mut names = Vec::new();
    for (file, text) in arguments.template.files(name) {
        let path = draft.path().join(&file);
        fs::write(path, text).map_err(|error| Failure::unwritable(folder, &error))?;
        names.push(file);
    }
    publish(draft, folder)?;
    names.sort();
    if output.is_json() {
        output::object(&Made {
            schema: "rag.new/1",
            folder: &folder.display().to_string(),
            files: &names,
        })?;
    }
    output.note(&told(folder, &names, arguments.template.input()));
    Ok(ExitCode::SUCCESS)
}

fn told(folder: &Path, files: &[String], input: &str) -> String {
    let shown = folder.display().to_string();
    let (count, files) = (files.len(), files.join(", "));
    let (program, target, input) = (program(), quote(&shown), quote(input));
    format!(
        "made `{shown}` with {count} files: {files}\nrun it with:\n  {program} run {target} --input {input}"
    )
}

/// The last part of the path, if a graph can have that name.
fn graph_name(folder: &Path) -> Result<&str, Failure> {
    let last = folder.file_name().unwrap_or_default();
    let shown = last.to_string_lossy();
    match last.to_str() {
        Some(name) if is_name(name) && !RESERVED.contains(&name) => Ok(name),
        _ => {
            let message = format!(
                "`{}` does not end with a name that a graph can have",
                folder.display()
            );
            Err(Failure::new(Code::Usage, message).hint(format!(
                "use ASCII letters, digits and `_`, no digit first, and not `START` or `END`, \
                 such as `{}`",
                like(&shown)
            )))
        }
    }
}

/// Whether the language takes `text` as a name.
fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = text.starts_with(|c: char| c.is_ascii_digit());
    !text.is_empty() && !starts && text.chars().all(plain)
}

/// A name that looks like `text`.
fn like(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = text.chars().map(plain).collect();
    let name = name.trim_matches('_').to_ascii_lowercase();
    match name.chars().next() {
        None => "my_graph".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("graph_{name}"),
        Some(_) if RESERVED.iter().any(|word| word.eq_ignore_ascii_case(&name)) => {
            format!("my_{name}")
        }
        Some(_) => name,
    }
}

/// Refuses a place where something is.
fn look(folder: &Path) -> Result<(), Failure> {
    let unreadable = |error| Failure::unreadable(folder, &error);
    match fs::symlink_metadata(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(())
        }
        Err(error) => Err(unreadable(error)),
        Ok(found) if !found.is_dir() => Err(taken(folder)),
        Ok(_) => match fs::read_dir(folder).map_err(unreadable)?.next() {
            None => Ok(()),
            Some(_) => Err(taken(folder)),
        },
    }
}

fn taken(folder: &Path) -> Failure {
    let message = format!("`{}` is there already", folder.display());
    Failure::new(Code::Usage, message).hint("choose another name; only an empty folder is filled")
}

/// An empty folder beside the place of the new one, which goes away unless it is
/// published.
fn draft(folder: &Path) -> Result<TempDir, Failure> {
    let parent = match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !parent.is_dir() {
        let message = format!("there is no folder `{}`", parent.display());
        return Err(Failure::new(Code::OutputFailed, message).hint("make it first"));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".rag-new-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Others may look into a new folder as far as the user's mask lets them.
        builder.permissions(fs::Permissions::from_mode(0o777));
    }
    let draft = builder.tempdir_in(parent);
    draft.map_err(|error| Failure::unwritable(folder, &error))
}

/// Puts the draft in its place, in one step. The system replaces an empty folder
/// only, so nothing is lost that came there meanwhile.
fn publish(draft: TempDir, folder: &Path) -> Result<(), Failure> {
    let moved = fs::rename(draft.path(), folder);
    moved.map_err(|error| match error.kind() {
        ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            taken(folder)
        }
        _ => Failure::unwritable(folder, &error),
    })?;
    let _: PathBuf = draft.keep();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_names_something_that_is_taken() {
        for (given, hint) in [
            ("my-shop", "my_shop"),
            ("Größe", "gr__e"),
            ("3d", "graph_3d"),
            ("END", "my_end"),
            ("--", "my_graph"),
            ("", "my_graph"),
            ("..", "my_graph"),
        ] {
            assert_eq!(like(given), hint);
            assert!(is_name(hint) && !RESERVED.contains(&hint));
        }
    }

    #[test]
    fn what_comes_to_the_place_meanwhile_stays_and_the_draft_goes() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("shop");
        let draft = draft(&folder).unwrap();
        fs::write(draft.path().join("new"), "new").unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("old"), "old").unwrap();
        let failure = publish(draft, &folder).unwrap_err();
        assert_eq!(failure.code, Code::Usage);
        assert_eq!(fs::read_to_string(folder.join("old")).unwrap(), "old");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
