//! A process that is stopped while it holds a file's lock: alive, and of no help.
//!
//! The process is the test program itself, run for one test of it that is ignored
//! otherwise and does nothing but call [`hold`].

use std::{
    fmt,
    fs::File,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustagents_core::journal::JournalError;

/// Names the file to the child.
const LOCK: &str = "RUSTAGENTS_TEST_LOCK";

/// What the child says once it has the lock.
const LOCKED: &str = "locked";

/// Holds the lock that [`Stopped::holding`] names, until the process is killed.
pub fn hold() {
    let path = std::env::var(LOCK).expect("a lock");
    let file = File::open(path).expect("a file");
    file.lock().expect("the lock");
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{LOCKED}").expect("somebody who listens");
    out.flush().expect("somebody who listens");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a line");
}

/// A child that holds a lock and does nothing any more. Dropping it kills it, and the
/// lock is free then.
#[derive(Debug)]
pub struct Stopped(Child);

impl Stopped {
    /// Runs the test named `child` of this program, which calls [`hold`], and stops it
    /// once it has the lock of the file `lock`. Blocks until then.
    pub fn holding(child: &str, lock: &Path) -> Self {
        let program = std::env::current_exe().expect("a program");
        let mut child = Command::new(program)
            .args(["--exact", child, "--ignored", "--nocapture"])
            .env(LOCK, lock)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let stopped = Self(child);
        let mut lines = output.lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line == LOCKED)));
        let stop = format!("kill -STOP {}", stopped.0.id());
        let done = Command::new("sh").args(["-c", &stop]).status();
        assert!(done.is_ok_and(|done| done.success()), "{stop}");
        stopped
    }

    /// Checks that a call ended after `patience`, and says who is in the way.
    pub fn is_named<T: fmt::Debug>(&self, patience: Duration, ended: Result<T, JournalError>) {
        let error = ended.expect_err("the lock is held");
        let JournalError::Unavailable { reason, .. } = &error else {
            panic!("{error:?}");
        };
        let waited = format!("for {}ms", patience.as_millis());
        assert!(reason.contains(&waited), "{reason}");
        if cfg!(target_os = "linux") {
            let process = format!("process {} has held its lock", self.0.id());
            assert!(reason.contains(&process), "{reason}");
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // A killed process lets go of its locks, stopped or not.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
