//! Byte offsets to lines and columns.

use std::fmt;

use rowan::TextSize;

/// A place in a source as people count, from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineColumn {
    /// The line.
    pub line: u32,
    /// The column, in Unicode scalar values.
    pub column: u32,
}

impl fmt::Display for LineColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Finds the line and column of byte offsets.
///
/// ```
/// use rustagents_syntax::LineIndex;
/// let index = LineIndex::new("é é\nx");
/// assert_eq!(index.line_column(3.into()).to_string(), "1:3");
/// assert_eq!(index.line_column(6.into()).to_string(), "2:1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    /// The offsets at which lines start, without the first.
    starts: Vec<u32>,
    /// The offsets of bytes that start no column of their own: those inside of
    /// characters, and a byte order mark at the start.
    uncounted: Vec<u32>,
    length: u32,
}

impl LineIndex {
    /// An index of `source`. Lines end with `\n`; offsets over 4 GiB are not told apart.
    pub fn new(source: &str) -> Self {
        let mark = if source.starts_with('\u{feff}') { 3 } else { 0 };
        let mut index = Self {
            starts: Vec::new(),
            uncounted: Vec::new(),
            length: 0,
        };
        for (offset, byte) in (0..u32::MAX).zip(source.bytes()) {
            if byte == b'\n' {
                index.starts.push(offset + 1);
            }
            if offset < mark || is_continuation(byte) {
                index.uncounted.push(offset);
            }
            index.length = offset + 1;
        }
        index
    }

    /// The line and column of `offset`.
    ///
    /// An offset inside of a character means that character, one after the end
    /// means the end. A byte order mark takes no column.
    pub fn line_column(&self, offset: TextSize) -> LineColumn {
        let offset = self.character_start(u32::from(offset).min(self.length));
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = line
            .checked_sub(1)
            .and_then(|at| self.starts.get(at))
            .copied()
            .unwrap_or(0);
        let uncounted = self.uncounted_before(offset) - self.uncounted_before(start);
        LineColumn {
            line: count(line) + 1,
            column: offset - start - uncounted + 1,
        }
    }

    fn uncounted_before(&self, offset: u32) -> u32 {
        count(self.uncounted.partition_point(|&byte| byte < offset))
    }

    /// Goes back over at most three bytes to where the character at `offset` starts.
    fn character_start(&self, mut offset: u32) -> u32 {
        while offset > 0 && self.uncounted.binary_search(&offset).is_ok() {
            offset -= 1;
        }
        offset
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
