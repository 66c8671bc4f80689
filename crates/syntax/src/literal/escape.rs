//! Escapes in strings: `\"`, `\\`, `\n`, `\t`, `\r` and `\u{HEX}`.

/// The most hex digits that `\u{…}` takes.
const MAX_DIGITS: usize = 6;

/// Why an escape has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadEscape {
    /// No escape is written with this character.
    Unknown(char),
    /// `\u` without one to six hex digits in braces.
    MalformedUnicode,
    /// `\u{…}` with a number that is no Unicode scalar value.
    NoSuchCharacter(u32),
}

/// A part of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'s> {
    /// Text that means itself.
    Raw(&'s str),
    /// A well-formed escape.
    Character(char),
    /// An escape as it is written, and what is wrong with it.
    Bad(&'s str, BadEscape),
}

/// The pieces of `text`, in order, each with its byte offset.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = (usize, Piece<'_>)> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let rest = text.get(offset..).filter(|rest| !rest.is_empty())?;
        let (piece, length) = first_piece(rest);
        let at = offset;
        offset += length;
        Some((at, piece))
    })
}

/// Appends what `text` means to `value`; a bad escape stays as it is written.
pub(crate) fn unescape(text: &str, value: &mut String) {
    for (_, piece) in pieces(text) {
        match piece {
            Piece::Raw(raw) | Piece::Bad(raw, _) => value.push_str(raw),
            Piece::Character(character) => value.push(character),
        }
    }
}

fn first_piece(rest: &str) -> (Piece<'_>, usize) {
    let Some(escape) = rest.strip_prefix('\\') else {
        let length = rest.find('\\').unwrap_or(rest.len());
        return (Piece::Raw(prefix(rest, length)), length);
    };
    let character = match escape.chars().next() {
        None => return (Piece::Raw(rest), rest.len()),
        Some('u') => return unicode(rest),
        Some('n') => '\n',
        Some('t') => '\t',
        Some('r') => '\r',
        Some(quoted @ ('"' | '\\')) => quoted,
        Some(other) => {
            // A line end stays outside: the line goes on as if there were no `\`.
            let length = if matches!(other, '\n' | '\r') {
                1
            } else {
                1 + other.len_utf8()
            };
            return (
                Piece::Bad(prefix(rest, length), BadEscape::Unknown(other)),
                length,
            );
        }
    };
    (Piece::Character(character), 2)
}

/// Reads `\u{HEX}` at the start of `rest`, which starts with `\u`.
fn unicode(rest: &str) -> (Piece<'_>, usize) {
    let bad = |length, why| (Piece::Bad(prefix(rest, length), why), length);
    let Some(braced) = rest.strip_prefix(r"\u{") else {
        return bad(2, BadEscape::MalformedUnicode);
    };
    let count = braced
        .bytes()
        .take(MAX_DIGITS + 1)
        .take_while(u8::is_ascii_hexdigit)
        .count();
    let length = 3 + count;
    let digits = prefix(braced, count);
    let closed = braced.as_bytes().get(count) == Some(&b'}');
    match u32::from_str_radix(digits, 16) {
        Ok(value) if closed && count <= MAX_DIGITS => match char::from_u32(value) {
            Some(character) => (Piece::Character(character), length + 1),
            None => bad(length + 1, BadEscape::NoSuchCharacter(value)),
        },
        _ => bad(length + usize::from(closed), BadEscape::MalformedUnicode),
    }
}

fn prefix(text: &str, length: usize) -> &str {
    text.get(..length).unwrap_or(text)
}
