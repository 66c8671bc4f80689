//! The line of a source that a diagnostic is about, with marks under the place.

use std::iter;

use rustagents_syntax::TextRange;

/// The most columns of a line that are shown, besides the signs of a cut.
const WIDTH: usize = 96;

/// The most columns of the place itself.
const FOCUS: usize = 48;

/// The columns of a tab, wherever it stands.
const TAB: usize = 4;

/// What stands for characters that are not shown.
const CUT: char = '…';

/// A line and what is under it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) line: String,
    pub(super) marks: String,
}

/// The line in which `range` starts; `None` if there is nothing on it to see.
///
/// Looks at no more of the line than it shows.
pub(super) fn excerpt(source: &str, range: TextRange) -> Option<Excerpt> {
    let start = usize::from(range.start());
    let (head, tail) = (source.get(..start)?, source.get(start..)?);
    let before = head.rsplit('\n').next().unwrap_or_default();
    let rest = tail.split('\n').next().unwrap_or_default();
    let rest = rest.strip_suffix('\r').unwrap_or(rest);
    let length = usize::from(range.len()).min(rest.len());
    let (focus, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
    if before.trim().is_empty() && rest.trim().is_empty() {
        return None;
    }

    let focus = Cells::of_start(focus, FOCUS);
    let room = WIDTH - focus.width;
    // What stands before gets two thirds, unless one side leaves room to the other.
    let wanted = Cells::of_end(before, room).width;
    let offered = (room / 3).max(room.saturating_sub(wanted));
    let after = if focus.is_cut {
        Cells::default()
    } else {
        Cells::of_start(after, offered)
    };
    let before = Cells::of_end(before, room - after.width);

    let line = format!("{}{}{}", before.text, focus.text, after.text);
    let marks = " ".repeat(before.width) + &"^".repeat(focus.width.max(1));
    Some(Excerpt {
        line: line.trim_end().to_owned(),
        marks,
    })
}

/// Text as it is shown, and the columns that it takes.
#[derive(Debug, Default)]
struct Cells {
    text: String,
    width: usize,
    is_cut: bool,
}

impl Cells {
    /// The start of `text`, at most `room` columns of it and the sign of the cut.
    fn of_start(text: &str, room: usize) -> Self {
        let (shown, mut cells) = fit(text.chars(), room);
        cells.text.extend(shown);
        if cells.is_cut {
            cells.text.push(CUT);
        }
        cells
    }

    /// The end of `text`, likewise; here the sign of the cut takes a column.
    fn of_end(text: &str, room: usize) -> Self {
        let (shown, mut cells) = fit(text.chars().rev(), room);
        if cells.is_cut {
            cells.text.push(CUT);
            cells.width += 1;
        }
        cells.text.extend(shown.into_iter().rev());
        cells
    }
}

/// The first of `characters` that fit, as they are shown.
fn fit(characters: impl Iterator<Item = char>, room: usize) -> (Vec<char>, Cells) {
    let mut shown = Vec::new();
    let mut cells = Cells::default();
    for character in characters {
        let (shape, count, width) = shape(character);
        // Characters without width are bounded as well.
        if cells.width + width > room || shown.len() > 2 * WIDTH {
            cells.is_cut = true;
            break;
        }
        shown.extend(iter::repeat_n(shape, count));
        cells.width += width;
    }
    (shown, cells)
}

/// How a character is shown: as what, how often, and in how many columns.
fn shape(character: char) -> (char, usize, usize) {
    match character {
        '\t' => (' ', TAB, TAB),
        // A byte order mark.
        '\u{feff}' => (' ', 0, 0),
        _ if character.is_control() || is_invisible(character) => ('\u{fffd}', 1, 1),
        _ if is_combining(character) => (character, 1, 0),
        _ if is_wide(character) => (character, 1, 2),
        _ => (character, 1, 1),
    }
}

/// Characters without a shape, of which some turn the direction of writing.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}')
}

fn is_combining(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}')
}

/// Characters that terminals show in two columns.
fn is_wide(character: char) -> bool {
    matches!(character, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{303e}' | '\u{3041}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}' | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}' | '\u{1f900}'..='\u{1f9ff}' | '\u{1fa70}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The excerpt of a source in which `«` and `»` stand around the place.
    fn marked(source: &str) -> Option<(String, String)> {
        let start = source.find('«').expect("a start");
        let plain = source.replacen('«', "", 1);
        let end = plain.find('»').expect("an end");
        let plain = plain.replacen('»', "", 1);
        let size = |at: usize| u32::try_from(at).expect("a short source").into();
        excerpt(&plain, TextRange::new(size(start), size(end)))
            .map(|excerpt| (excerpt.line, excerpt.marks))
    }

    #[test]
    fn the_place_is_underlined() {
        for (source, line, marks) in [
            ("«a»", "a", "^"),
            ("x\n  «ab» c\r\ny", "  ab c", "  ^^"),
            ("a «»b", "a b", "  ^"),
            ("a«»\nb", "a", " ^"),
            ("a «b\nc» d", "a b", "  ^"),
            ("\ta\t«b»", "    a    b", "         ^"),
            ("日本 «語» x", "日本 語 x", "     ^^"),
            ("e\u{301} «x»", "e\u{301} x", "  ^"),
            ("\u{feff}a «b»", "a b", "  ^"),
            (
                "\u{1b}[31m \u{202e} «b»",
                "\u{fffd}[31m \u{fffd} b",
                "        ^",
            ),
        ] {
            assert_eq!(
                marked(source),
                Some((line.to_owned(), marks.to_owned())),
                "{source:?}"
            );
        }
    }

    #[test]
    fn a_line_with_nothing_on_it_is_not_shown() {
        for source in ["«»", "  «» \nx", "x\n«»", "x\r\n«»\r\n"] {
            assert_eq!(marked(source), None, "{source:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let long = "x".repeat(500);
        let (line, marks) = marked(&format!("«b»{long}")).expect("a line");
        assert_eq!(line, format!("b{}…", "x".repeat(95)));
        assert_eq!(marks, "^");

        let (line, marks) = marked(&format!("{long}«b»")).expect("a line");
        assert_eq!(line, format!("…{}b", "x".repeat(95)));
        assert_eq!(marks, format!("{}^", " ".repeat(96)));

        let (line, marks) = marked(&format!("{long}«b»{long}")).expect("a line");
        assert_eq!(line, format!("…{}b{}…", "x".repeat(64), "x".repeat(31)));
        assert_eq!(marks, format!("{}^", " ".repeat(65)));

        let (line, marks) = marked(&format!("a «{long}» c")).expect("a line");
        assert_eq!(line, format!("a {}…", "x".repeat(48)));
        assert_eq!(marks, format!("  {}", "^".repeat(48)));
    }

    #[test]
    fn a_range_outside_of_the_source_is_not_shown() {
        assert_eq!(excerpt("a", TextRange::new(5.into(), 9.into())), None);
        assert_eq!(excerpt("é", TextRange::new(1.into(), 2.into())), None);
    }
}
