//! A worker process, as the test sees it.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// Names the store to the child, and what to do.
pub(super) const STORE: &str = "RUSTAGENTS_TEST_STORE";
pub(super) const WORK: &str = "RUSTAGENTS_TEST_WORK";

/// What stands before each word of a child.
pub(super) const SAYS: &str = "says ";

/// How workers are started.
#[derive(Clone, Copy, Debug)]
pub struct Workers<'a> {
    test: &'a str,
    store: &'a Path,
}

impl<'a> Workers<'a> {
    /// Workers that run the ignored test `test` of this program on the store at `store`.
    pub fn new(test: &'a str, store: &'a Path) -> Self {
        Self { test, store }
    }

    pub(super) fn store(&self) -> &'a Path {
        self.store
    }

    /// Starts one, which does `work`: a word, and the worker's name.
    pub fn start(&self, work: &str) -> Worker {
        let program = std::env::current_exe().expect("a program");
        let mut child = Command::new(program)
            .args(["--exact", self.test, "--ignored", "--nocapture"])
            .env(STORE, self.store)
            .env(WORK, work)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let orders = child.stdin.take().expect("its input");
        let said = BufReader::new(child.stdout.take().expect("its output"));
        let words = Words {
            said,
            last: String::new(),
        };
        Worker {
            child: Ended(child),
            orders,
            words,
        }
    }
}

/// A worker process, told line by line what to do.
#[derive(Debug)]
pub struct Worker {
    child: Ended,
    orders: ChildStdin,
    words: Words,
}

/// What a worker says, and which was its last word so far.
#[derive(Debug)]
struct Words {
    said: BufReader<ChildStdout>,
    last: String,
}

impl Words {
    /// Waits for the next word; `false` if there is none any more.
    fn next(&mut self) -> bool {
        let mut line = String::new();
        while self.said.read_line(&mut line).expect("its words") > 0 {
            if let Some((_, said)) = line.trim_end().split_once(SAYS) {
                said.clone_into(&mut self.last);
                return true;
            }
            line.clear();
        }
        false
    }

    /// Listens to the end.
    fn last(mut self) -> String {
        while self.next() {}
        self.last
    }
}

/// A child that does not outlive a test that failed.
#[derive(Debug)]
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Worker {
    /// Lets it do its next piece of work.
    pub fn go(&mut self) {
        writeln!(self.orders, "go").expect("it listens");
    }

    /// The next thing that it says.
    pub fn hear(&mut self) -> &str {
        assert!(self.words.next(), "the worker ended");
        &self.words.last
    }

    /// Lets it come to its end.
    pub fn end(self) {
        self.stop();
    }

    /// Tells it to stop, and gives the last thing that it ever said.
    pub fn stop(mut self) -> String {
        drop(self.orders);
        let last = self.words.last();
        assert!(self.child.0.wait().expect("its end").success());
        last
    }

    /// Kills it, and gives the last thing that it ever said.
    pub fn kill(mut self) -> String {
        // SIGKILL: it has no time for anything.
        self.child.0.kill().expect("it lives");
        let last = self.words.last();
        self.child.0.wait().expect("its end");
        last
    }
}
