//! Stores on a disk that is full, and in places that cannot be written to.

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::bench::{Desk, REFUND, Said, approvals};

/// How many bytes a page of a database has.
const PAGE: u64 = 4_096;

/// How many bytes a shell's block has, in which it limits files.
const BLOCK: u64 = 512;

/// Runs the program where no file may have more than `bytes`.
fn limited(desk: &Desk, bytes: u64, arguments: &[&str]) -> Said {
    let rag = desk.command(arguments);
    // The signal would end the program; without it,
    // writing fails as it does on a disk that is full.
    let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", bytes / BLOCK);
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh"]).arg(rag.get_program());
    command.args(rag.get_args()).current_dir(desk.path());
    for (name, value) in rag.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Said::of(command.output().unwrap())
}

/// The records of a thread in this store, in order; none if there is no such thread.
fn records(desk: &Desk, store: &str, thread: &str) -> Vec<String> {
    let exported = desk.rag(&["threads", "export", thread, "--store", store]);
    let lines = exported.stdout.lines();
    let records = lines.filter(|line| line.starts_with("{\"record\""));
    records.map(str::to_owned).collect()
}

/// A run that comes to wait for two answers.
fn run<'a>(thread: &'a str, store: &'a str) -> [&'a str; 9] {
    [
        "run", ".", "--input", REFUND, "--thread", thread, "--json", "--store", store,
    ]
}

/// Whether a run came to wait; or to its end, where the data of a tool had no room and
/// the model was told so.
fn is_through(said: &Said) -> bool {
    matches!(said.status, Some(0 | 3))
}

/// Runs threads where no file may have more than `unit` bytes, twice as many, and so on,
/// until one gets through.
fn is_full_at_any_unit(store: &str, unit: u64) {
    let desk = Desk::new();
    assert_eq!(desk.rag(&run("demo", store)).status, Some(3));
    let first = records(&desk, store, "demo");
    assert!(!first.is_empty());
    let (mut failed, mut opened, mut step) = (0, 0, 0);
    loop {
        step += 1;
        let thread = format!("t-{step}");
        let said = limited(&desk, step * unit, &run(&thread, store));
        assert!(!said.stderr.contains("panicked"), "{said:?}");
        if is_through(&said) {
            break;
        }
        let before = records(&desk, store, &thread);
        assert_eq!(said.code(), "RAG0301", "{step}: {said:?}");
        // What is refused has recorded nothing; what failed may have.
        let is_refused = said.status == Some(2) && before.is_empty();
        assert!(is_refused || said.status == Some(1), "{step}: {said:?}");
        failed += 1;
        let said = if before.is_empty() {
            desk.rag(&run(&thread, store))
        } else {
            opened += 1;
            desk.rag(&["resume", &thread, "--json", "--store", store])
        };
        assert!(is_through(&said), "{step}: {said:?}");
        let after = records(&desk, store, &thread);
        assert!(after.starts_with(&before), "{step}: {before:?}");
    }
    assert!(
        failed > 10 && opened > 3,
        "{failed} failed, {opened} opened"
    );
    assert_eq!(records(&desk, store, "demo"), first);
    let said = desk.rag(&["doctor", "--full", "--store", store]);
    assert_eq!(said.status, Some(0), "{said:?}");
}

#[test]
fn a_disk_that_is_full_anywhere_is_an_error_and_the_thread_goes_on() {
    for (store, unit) in [("sqlite:kept.db", PAGE), ("file:kept", BLOCK)] {
        is_full_at_any_unit(store, unit);
    }
}

#[test]
fn a_place_that_cannot_be_written_to_is_an_error_before_anything_runs() {
    let desk = Desk::new();
    let before = desk.files();
    for place in ["support.rag/x", "support.rag/deep/x", "/proc/nowhere/x"] {
        for kind in ["sqlite", "file"] {
            let (folder, _) = place.rsplit_once('/').unwrap();
            let store = format!("{kind}:{place}");
            let said = desk.rag(&["run", ".", "--input", REFUND, "--store", &store, "--json"]);
            assert_eq!(
                (said.status, said.code()),
                (Some(2), "RAG0301".into()),
                "{store}: {said:?}"
            );
            let message = said.json()["error"]["message"].to_string();
            assert!(message.contains(folder), "{store}: {message}");
            assert_eq!(desk.files(), before, "{store}");
        }
    }
}

/// Runs the program as a user who is kept out by permissions, which root is not.
struct Guest {
    desk: Desk,
    /// The program where that user may start it, if it is another one.
    program: Option<(tempfile::TempDir, PathBuf)>,
}

impl Guest {
    /// The user `nobody`, if it has to be another one.
    const NOBODY: u32 = 65_534;

    fn new() -> Self {
        let desk = Desk::new();
        let program = rustix::process::geteuid().is_root().then(|| {
            let folder = tempfile::tempdir().unwrap();
            let program = folder.path().join("rag");
            fs::copy(env!("CARGO_BIN_EXE_rag"), &program).unwrap();
            permit(folder.path(), 0o755);
            permit(&program, 0o755);
            for path in below(desk.path()) {
                chown(&path, Some(Self::NOBODY), Some(Self::NOBODY)).unwrap();
            }
            (folder, program)
        });
        Self { desk, program }
    }

    fn rag(&self, arguments: &[&str]) -> Said {
        let Some((_, program)) = &self.program else {
            return self.desk.rag(arguments);
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.desk.path());
        command.stdin(Stdio::null()).env_remove("RAG_FAULT");
        command.uid(Self::NOBODY).gid(Self::NOBODY);
        Said::of(command.output().unwrap())
    }
}

/// A folder and all that is in it, itself last.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(below(&path));
        } else {
            all.push(path);
        }
    }
    all.push(folder.to_owned());
    all
}

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Lets nobody write to a store, or its owner again.
fn make_read_only(store: &Path, is_read_only: bool) {
    let (folder, file) = if is_read_only {
        (0o555, 0o444)
    } else {
        (0o755, 0o644)
    };
    permit(store, 0o755);
    for path in below(store) {
        permit(&path, if path.is_dir() { folder } else { file });
    }
}

fn goes_on_when_it_may_be_written_to_again(store: &str, what_to_do: &str) {
    let guest = Guest::new();
    let folder = guest.desk.path().join("kept");
    let waiting = guest.rag(&run("demo", store));
    assert_eq!(waiting.status, Some(3), "{waiting:?}");
    let approvals = approvals(&waiting);
    let mut resume = vec!["resume", "demo", "--json", "--store", store];
    resume.extend(approvals.iter().map(String::as_str));

    make_read_only(&folder, true);
    let before = bytes_of(&folder);
    for arguments in [&resume[..], &run("other", store)] {
        let said = guest.rag(arguments);
        assert_eq!(said.code(), "RAG0301", "{said:?}");
        assert!(said.stdout.contains(what_to_do), "{said:?}");
        assert!(!said.stderr.contains("panicked"), "{said:?}");
    }
    assert_eq!(bytes_of(&folder), before, "nothing was written");

    make_read_only(&folder, false);
    let done = guest.rag(&resume);
    assert_eq!(done.status, Some(0), "{done:?}");
    let other = guest.rag(&run("other", store));
    assert_eq!(other.status, Some(0), "{other:?}");
    let checked = guest.rag(&["doctor", "--full", "--store", store]);
    assert_eq!(checked.status, Some(0), "{checked:?}");
}

fn bytes_of(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = below(folder).into_iter().filter(|path| path.is_file());
    let mut files: Vec<_> = files
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn an_sqlite_store_that_turns_read_only_loses_nothing_and_its_thread_goes_on() {
    let what_to_do = "let this user write to the file and to its folder";
    goes_on_when_it_may_be_written_to_again("sqlite:kept/journal.db", what_to_do);
}

#[test]
fn a_file_store_that_turns_read_only_loses_nothing_and_its_thread_goes_on() {
    let what_to_do = "let this user read and write there";
    goes_on_when_it_may_be_written_to_again("file:kept", what_to_do);
}
