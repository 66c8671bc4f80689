//! Whole numbers as text, without the machinery of formatting.

/// Adds the decimal digits of `number` to `out`.
pub(crate) fn digits(out: &mut String, number: u64) {
    out.push_str(itoa::Buffer::new().format(number));
}
