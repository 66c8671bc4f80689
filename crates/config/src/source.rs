//! The text of the file, and the places in it.

use std::{path::Path, sync::Arc};

use crate::{declaration::Position, error::Place};

/// The byte order mark is no column of its own.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The file's text under the path that errors show.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    path: Arc<Path>,
    text: &'a str,
}

impl<'a> Source<'a> {
    pub(crate) fn new(path: &Path, text: &'a str) -> Self {
        Self {
            path: path.into(),
            text,
        }
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// The place of the byte at `offset`.
    pub(crate) fn place(&self, offset: usize) -> Place {
        Place {
            path: Arc::clone(&self.path),
            at: self.position(offset),
        }
    }

    /// The line and the column of the byte at `offset`.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.get(line_start..).unwrap_or_default();
        Position {
            line: 1 + before.matches('\n').count(),
            column: 1 + line.chars().filter(|c| *c != BYTE_ORDER_MARK).count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_not_bytes() {
        let source = Source::new(Path::new("x.toml"), "\u{feff}a = 1\nä = \"é\" x");
        let position = |offset| {
            let Position { line, column } = source.position(offset);
            (line, column)
        };
        assert_eq!(position(0), (1, 1));
        assert_eq!(position(3), (1, 1), "after the byte order mark");
        assert_eq!(position(9), (2, 1));
        assert_eq!(position(source.text().len() - 1), (2, 9));
        assert_eq!(position(usize::MAX), (2, 10), "past the end is the end");
    }
}
