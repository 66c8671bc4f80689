//! What a person types, line by line.

use std::{
    io::{ErrorKind, IsTerminal},
    sync::mpsc,
    thread,
};

use rustagents_core::Code;
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};
use rustyline::{Config, Editor, error::ReadlineError, history::MemHistory};
use tokio::sync::oneshot;

use crate::failure::Failure;

/// What came of asking a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A line without its end.
    Line(String),
    /// The input ended: Ctrl-D, or the end of a pipe.
    End,
    /// Ctrl-C.
    Interrupted,
    /// The terminal was closed.
    Gone,
    /// Something that is no UTF-8, at a terminal, where it can be typed anew.
    NotText,
}

/// Why no line was read.
#[derive(Debug)]
enum Unread {
    /// It is not UTF-8.
    NotText,
    Failed(String),
}

type Request = (String, oneshot::Sender<Result<Typed, Unread>>);

/// The line editor. It blocks, so it has a thread of its own, which ends with the
/// process.
#[derive(Debug)]
pub(crate) struct Prompt {
    requests: mpsc::Sender<Request>,
    /// How the terminal was before a line was edited.
    terminal: Option<Terminal>,
}

impl Prompt {
    /// An editor on standard input.
    pub(crate) fn open() -> Result<Self, Failure> {
        let terminal = Terminal::remember();
        let config = Config::builder().auto_add_history(true).build();
        let mut editor = Editor::<(), MemHistory>::with_history(config, MemHistory::new())
            .map_err(|error| Failure::internal(&error))?;
        let (requests, asked) = mpsc::channel::<Request>();
        thread::Builder::new()
            .name("prompt".into())
            .spawn(move || {
                for (prompt, reply) in asked {
                    // Nobody may be waiting any more; then nothing is lost.
                    let _ = reply.send(read(&mut editor, &prompt));
                }
            })
            .map_err(|error| Failure::internal(&error))?;
        Ok(Self { requests, terminal })
    }

    /// Forgets what was typed at a terminal and not read yet.
    pub(crate) fn forget_typed(&self) {
        if self.terminal.is_some() {
            let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
        }
    }

    /// Whether there was a terminal and is none any more.
    fn is_closed(&self) -> bool {
        self.terminal.is_some() && tcgetattr(std::io::stdin()).is_err()
    }

    /// Asks for one line.
    ///
    /// Cancellation: the line that is being typed is lost.
    pub(crate) async fn ask(&self, prompt: &str) -> Result<Typed, Failure> {
        let (reply, typed) = oneshot::channel();
        let gone = || Failure::internal(&"the line editor is gone");
        self.requests
            .send((prompt.to_owned(), reply))
            .map_err(|_| gone())?;
        let typed = typed.await.map_err(|_| gone())?;
        match typed {
            // What is read of a closed terminal looks like Ctrl-D, or fails.
            Ok(Typed::End) | Err(_) if self.is_closed() => Ok(Typed::Gone),
            Ok(typed) => Ok(typed),
            Err(Unread::NotText) if self.terminal.is_some() => {
                // The rest of it is no line of its own.
                self.forget_typed();
                Ok(Typed::NotText)
            }
            Err(Unread::NotText) => Err(not_text()),
            Err(Unread::Failed(reason)) => Err(Failure::internal(&reason)),
        }
    }
}

/// What a person is told of a line that is no UTF-8.
pub(crate) fn not_text() -> Failure {
    Failure::new(
        Code::NotUtf8,
        "what was read of standard input is not UTF-8",
    )
    .hint("type or send it as UTF-8")
}

fn read(editor: &mut Editor<(), MemHistory>, prompt: &str) -> Result<Typed, Unread> {
    match editor.readline(prompt) {
        Ok(line) => Ok(Typed::Line(line)),
        Err(ReadlineError::Eof) => Ok(Typed::End),
        Err(ReadlineError::Interrupted) => Ok(Typed::Interrupted),
        Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
            Err(Unread::NotText)
        }
        Err(error) => Err(Unread::Failed(format!(
            "standard input cannot be read: {error}"
        ))),
    }
}

/// A terminal's settings, put back at the end: a process that is told to stop
/// while a line is edited must not leave the terminal raw.
struct Terminal(Termios);

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").finish_non_exhaustive()
    }
}

impl Terminal {
    fn remember() -> Option<Self> {
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            return None;
        }
        tcgetattr(&stdin).ok().map(Self)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
