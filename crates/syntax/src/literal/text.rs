//! Strings: where one ends, and the one dedent rule.

use super::escape;

const TRIPLE: &str = "\"\"\"";

/// A string literal at the start of some text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Literal<'s> {
    /// What stands between the quotes.
    pub(crate) content: &'s str,
    /// Whether the quotes are `"""`.
    pub(crate) multiline: bool,
    /// Whether the closing quotes were found.
    pub(crate) terminated: bool,
}

impl<'s> Literal<'s> {
    /// Reads the literal that `rest` starts with; `None` if there is no quote.
    ///
    /// An unterminated `"` ends with its line, an unterminated `"""` with the text.
    pub(crate) fn scan(rest: &'s str) -> Option<Self> {
        if let Some(body) = rest.strip_prefix(TRIPLE) {
            let end = find_end(body, |tail| tail.starts_with(TRIPLE.as_bytes()));
            return Some(Self::until(end, body, true));
        }
        let body = rest.strip_prefix('"')?;
        let line = body.split('\n').next().unwrap_or(body);
        let end = find_end(line, |tail| tail.first() == Some(&b'"'));
        Some(Self::until(end, line, false))
    }

    fn until(end: Option<usize>, body: &'s str, multiline: bool) -> Self {
        let terminated = end.is_some();
        let content = match end {
            Some(end) => body.get(..end).unwrap_or(body),
            None if multiline => body,
            None => unterminated_content(body),
        };
        Self {
            content,
            multiline,
            terminated,
        }
    }

    /// The bytes of the quotes on one side.
    pub(crate) fn quotes(&self) -> usize {
        if self.multiline { TRIPLE.len() } else { 1 }
    }

    /// The bytes of the whole literal.
    pub(crate) fn length(&self) -> usize {
        let sides = if self.terminated { 2 } else { 1 };
        self.content.len() + sides * self.quotes()
    }

    /// What the literal means; a bad escape stays as it is written.
    pub(crate) fn value(&self) -> String {
        let mut value = String::with_capacity(self.content.len());
        if !self.multiline {
            escape::unescape(self.content, &mut value);
            return value;
        }
        for (index, line) in dedented(self.content).into_iter().enumerate() {
            if index > 0 {
                value.push('\n');
            }
            escape::unescape(line, &mut value);
        }
        value
    }
}

/// The first place in `body`, outside escapes, whose tail is the closing quotes.
fn find_end(body: &str, closes: impl Fn(&[u8]) -> bool) -> Option<usize> {
    let bytes = body.as_bytes();
    let mut at = 0;
    while let Some(tail) = bytes.get(at..).filter(|tail| !tail.is_empty()) {
        if closes(tail) {
            return Some(at);
        }
        // Only ASCII bytes matter here, so a step into a character does no harm.
        at += if tail.first() == Some(&b'\\') { 2 } else { 1 };
    }
    None
}

/// Cuts an unterminated string before closing brackets that end its line.
///
/// In `node a { prompt "x }` the brace closes the node: only the quote is missing.
/// Brackets that were opened inside the string stay inside.
fn unterminated_content(line: &str) -> &str {
    let mut depth = 0_usize;
    let mut cut = None;
    for (at, character) in line.char_indices() {
        match character {
            '}' | ']' if depth == 0 => cut = cut.or(Some(at)),
            ' ' | '\t' | '\r' => {}
            other => {
                cut = None;
                match other {
                    '{' | '[' => depth += 1,
                    '}' | ']' => depth -= 1,
                    _ => {}
                }
            }
        }
    }
    let content = cut.and_then(|at| line.get(..at)).unwrap_or(line);
    content.trim_end_matches([' ', '\t', '\r'])
}

/// The lines of a multi-line string without their common indentation.
///
/// The line of the closing quotes counts for the indentation, and is dropped if
/// it is blank; so is an empty first line.
fn dedented(content: &str) -> Vec<&str> {
    let content = content
        .strip_prefix('\n')
        .or_else(|| content.strip_prefix("\r\n"))
        .unwrap_or(content);
    let (body, closing) = content
        .rsplit_once('\n')
        .map_or((None, content), |(body, closing)| (Some(body), closing));
    let mut lines: Vec<&str> = body
        .into_iter()
        .flat_map(|body| body.split('\n'))
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .collect();
    let indentation = lines
        .iter()
        .filter(|line| !is_blank(line))
        .map(|line| indentation(line))
        .fold(indentation(closing), common_prefix);
    if !is_blank(closing) {
        lines.push(closing);
    }
    for line in &mut lines {
        *line = strip_indentation(line, indentation);
    }
    lines
}

fn is_blank(line: &str) -> bool {
    indentation(line).len() == line.len()
}

fn indentation(line: &str) -> &str {
    let length = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..length).unwrap_or_default()
}

/// The longest common start of two indentations, which are ASCII.
fn common_prefix<'s>(one: &'s str, other: &str) -> &'s str {
    let length = one
        .bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    one.get(..length).unwrap_or_default()
}

/// Only a blank line can lack the common indentation; nothing of it stays then.
fn strip_indentation<'s>(line: &'s str, indentation: &str) -> &'s str {
    line.strip_prefix(indentation)
        .unwrap_or_else(|| line.trim_start_matches([' ', '\t']))
}
