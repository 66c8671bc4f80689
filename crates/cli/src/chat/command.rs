//! What a person types that is no message: commands for the conversation itself.

use rustagents_runtime::{RunError, threads::ThreadsError};

/// What there is.
pub(crate) const HELP: &str = "\
/retry              go on with a run that failed, was stopped or reached a limit
/rewind N [--yes]   go back to checkpoint N and on from there; `rag threads history` shows them
/help               this
A line that starts with `/` and a word is a command; all else is said. Ctrl-D leaves.";

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// What there is.
    Help,
    /// As `rag threads retry`.
    Retry,
    /// As `rag threads rewind`.
    Rewind {
        /// The checkpoint.
        to: u64,
        /// Whether calls that change something may come to be made again.
        repeats: bool,
    },
    /// None that there is.
    Unclear {
        /// What to type instead.
        hint: &'static str,
    },
}

impl Command {
    /// The command in `line`; `None` if it is a message. A path is one, too.
    pub(crate) fn of(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let name = words.next()?.strip_prefix('/')?;
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphabetic()) {
            return None;
        }
        let words: Vec<_> = words.collect();
        Some(match (name, words.as_slice()) {
            ("help", []) => Self::Help,
            ("retry", []) => Self::Retry,
            ("rewind", words) => Self::rewind(words),
            _ => Self::Unclear {
                hint: "`/help` lists the commands",
            },
        })
    }

    fn rewind(words: &[&str]) -> Self {
        let (to, repeats) = match words {
            [to] => (to.parse(), false),
            [to, "--yes"] | ["--yes", to] => (to.parse(), true),
            _ => ("".parse(), false),
        };
        let hint = "`/rewind N`: a number, as `rag threads history` shows it";
        to.map_or(Self::Unclear { hint }, |to| Self::Rewind { to, repeats })
    }
}

/// Whether `error` says that nothing was done, and the thread stands as before.
pub(crate) fn is_refusal(error: &RunError) -> bool {
    !matches!(
        error,
        RunError::Journal(_) | RunError::Halt(_) | RunError::Threads(ThreadsError::Journal(_))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_messages() {
        assert_eq!(Command::of(" /help "), Some(Command::Help));
        assert_eq!(Command::of("/retry"), Some(Command::Retry));
        for message in [
            "hello",
            "",
            "/",
            "/etc/hosts is gone",
            "/1",
            "a /retry",
            "//retry",
        ] {
            assert_eq!(Command::of(message), None, "{message}");
        }
        for line in [
            "/retyr",
            "/retry now",
            "/rewind",
            "/rewind x",
            "/rewind 1 2",
            "/help me",
        ] {
            let command = Command::of(line);
            assert!(matches!(command, Some(Command::Unclear { .. })), "{line}");
        }
    }

    #[test]
    fn going_back_takes_a_checkpoint_and_perhaps_a_yes() {
        let rewind = |repeats| Some(Command::Rewind { to: 7, repeats });
        assert_eq!(Command::of("/rewind 7"), rewind(false));
        assert_eq!(Command::of("/rewind 7 --yes"), rewind(true));
        assert_eq!(Command::of("/rewind --yes 7"), rewind(true));
    }
}
