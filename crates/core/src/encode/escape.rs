//! Strings of JSON. Nearly all of them need no escape, and are copied whole.

/// Eight times the byte.
const fn spread(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

const ONES: u64 = spread(1);
const TOPS: u64 = spread(0x80);

/// Adds `text` in quotation marks to `out`.
pub(super) fn quoted(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    if is_plain(text.as_bytes()) {
        out.push_str(text);
    } else {
        escaped(out, text);
    }
    out.push('"');
}

/// Whether no byte must be escaped. Many bytes are looked at in one; the last ones
/// may overlap those before them.
///
/// Inlined, so that nothing is left of it where the compiler knows the bytes.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the names of fields are constants")]
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    if let Some(last) = bytes.last_chunk::<16>() {
        let (blocks, _) = bytes.as_chunks::<16>();
        return blocks.iter().chain([last]).all(is_plain_block);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        let (first, last) = (u64::from_ne_bytes(*first), u64::from_ne_bytes(*last));
        return special(first) | special(last) == 0;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_ne_bytes(*first), u32::from_ne_bytes(*last));
        return special(u64::from(first) << 32 | u64::from(last)) == 0;
    }
    !bytes.iter().any(|byte| must_escape(*byte))
}

/// Without branches, so that it becomes a few vector instructions.
#[inline]
fn is_plain_block(block: &[u8; 16]) -> bool {
    let bad = |byte: u8| u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
    block.iter().fold(0, |any, byte| any | bad(*byte)) == 0
}

/// Not zero where a byte of `word` must be escaped. A byte is below another if the
/// subtraction borrows from it: its top bit is then set, and was not before. It is
/// equal if their XOR is below one.
#[inline]
const fn special(word: u64) -> u64 {
    let quote = word ^ spread(b'"');
    let slash = word ^ spread(b'\\');
    let control = word.wrapping_sub(spread(0x20)) & !word;
    let quote = quote.wrapping_sub(ONES) & !quote;
    let slash = slash.wrapping_sub(ONES) & !slash;
    (control | quote | slash) & TOPS
}

#[inline]
const fn must_escape(byte: u8) -> bool {
    matches!(byte, 0..=0x1f | b'"' | b'\\')
}

#[cold]
fn escaped(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(must_escape) {
        // What must be escaped is one byte long, so both cuts are between characters.
        let (plain, tail) = rest.split_at(at);
        out.push_str(plain);
        let (special, tail) = tail.split_at(1);
        match special {
            "\"" => out.push_str("\\\""),
            "\\" => out.push_str("\\\\"),
            "\u{8}" => out.push_str("\\b"),
            "\u{c}" => out.push_str("\\f"),
            "\n" => out.push_str("\\n"),
            "\r" => out.push_str("\\r"),
            "\t" => out.push_str("\\t"),
            control => unicode(out, control),
        }
        rest = tail;
    }
    out.push_str(rest);
}

fn unicode(out: &mut String, control: &str) {
    const HEX: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    for byte in control.bytes() {
        out.push_str("\\u00");
        for digit in [byte >> 4, byte & 15] {
            out.extend(HEX.get(usize::from(digit)));
        }
    }
}
