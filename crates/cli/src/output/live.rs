//! The line at the bottom of a terminal that says what is at work.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use anstream::{AutoStream, ColorChoice};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use rustix::termios::tcgetwinsize;

use super::put;

/// How often the line is drawn anew while nothing happens.
const TICK: Duration = Duration::from_millis(100);

/// How often it is drawn at most, in a second.
const RATE: u8 = 20;

/// The columns that stay free at the right, for the keys that the terminal
/// echoes: a line that wraps could not be taken away.
const FREE: u16 = 8;

/// The fewest columns on which the line is shown.
const LEAST: u16 = 24;

/// Where progress goes: lines that stay, and on a terminal the line below them.
#[derive(Debug)]
pub(crate) struct Live {
    color: ColorChoice,
    /// Standard error is a terminal that can move its cursor.
    moves: bool,
    bar: Option<ProgressBar>,
}

impl Live {
    /// A terminal that can move its cursor gets the line; anything else does not.
    pub(crate) fn new(color: ColorChoice) -> Self {
        let stderr = io::stderr();
        let moves = std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        Self {
            color: match color {
                ColorChoice::Auto => AutoStream::choice(&stderr),
                color => color,
            },
            moves: moves && stderr.is_terminal() && columns() >= LEAST,
            bar: None,
        }
    }

    /// Prints a line that stays.
    pub(crate) fn say(&self, text: &str) {
        let say = || put(AutoStream::new(io::stderr(), self.color), text);
        match &self.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    /// Says what is at work now.
    pub(crate) fn show(&mut self, at_work: &str) {
        if at_work.is_empty() {
            self.hide();
        } else if self.moves {
            let bar = self.bar.get_or_insert_with(spinner);
            bar.set_message(at_work.to_owned());
        }
    }

    /// Takes the line away until there is something to say again.
    pub(crate) fn hide(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.hide();
    }
}

/// The terminal's columns; 80 where it does not know.
fn columns() -> u16 {
    let known = tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col);
    if known == 0 { 80 } else { known }
}

fn spinner() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    let target = ProgressDrawTarget::term_like_with_hz(Box::new(Narrow), RATE);
    let bar = ProgressBar::with_draw_target(None, target).with_style(style);
    bar.enable_steady_tick(TICK);
    bar
}

/// Standard error as a terminal that has fewer columns than it has.
#[derive(Debug, Default)]
struct Narrow;

impl Narrow {
    fn write(text: &str) -> io::Result<()> {
        io::stderr().write_all(text.as_bytes())
    }

    /// Moves the cursor by `count`, with the final letter of its sequence.
    fn cursor(count: usize, letter: char) -> io::Result<()> {
        match count {
            0 => Ok(()),
            count => Self::write(&format!("\u{1b}[{count}{letter}")),
        }
    }
}

impl TermLike for Narrow {
    fn width(&self) -> u16 {
        columns().saturating_sub(FREE).max(1)
    }

    fn move_cursor_up(&self, count: usize) -> io::Result<()> {
        Self::cursor(count, 'A')
    }

    fn move_cursor_down(&self, count: usize) -> io::Result<()> {
        Self::cursor(count, 'B')
    }

    fn move_cursor_right(&self, count: usize) -> io::Result<()> {
        Self::cursor(count, 'C')
    }

    fn move_cursor_left(&self, count: usize) -> io::Result<()> {
        Self::cursor(count, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        Self::write(text)?;
        Self::write("\n")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        Self::write(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        Self::write("\r\u{1b}[2K")
    }

    fn flush(&self) -> io::Result<()> {
        io::stderr().flush()
    }
}
