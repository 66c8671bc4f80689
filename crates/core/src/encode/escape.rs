//! Strings of JSON. Nearly all of them need no escape, and are copied whole.

/// Eight times the byte.
const fn spread(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

const ONES: u64 = spread(1);
const TOPS: u64 = spread(0x80);

/// Adds `text` in quotation marks to `out`.
pub(super) fn quoted(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    if is_plain(bytes) {
        out.extend_from_slice(bytes);
    } else {
        escaped(out, bytes);
    }
    out.push(b'"');
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
fn escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| must_escape(*byte)) {
        let (plain, tail) = rest.split_at(at);
        let Some((special, tail)) = tail.split_first() else {
            break;
        };
        out.extend_from_slice(plain);
        escape(out, *special);
        rest = tail;
    }
    out.extend_from_slice(rest);
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        8 => b'b',
        12 => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0..=0x1f => {
            let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
            let digits = [digit(byte >> 4), digit(byte & 15)];
            out.extend_from_slice(b"\\u00");
            return out.extend_from_slice(&digits);
        }
        itself => itself,
    };
    out.extend_from_slice(&[b'\\', short]);
}
