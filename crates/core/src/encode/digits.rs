//! Whole numbers as text, without the machinery of formatting.

/// Adds the decimal digits of `number` to `out`.
pub(crate) fn digits(out: &mut String, number: u64) {
    if number >= 10 {
        digits(out, number / 10);
    }
    let digit = u8::try_from(number % 10).unwrap_or_default();
    out.push(char::from(b'0' + digit));
}
