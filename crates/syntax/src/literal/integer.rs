//! Integers: `-?[0-9]+`, with `_` between digits.

/// Why a token that starts like an integer is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadInteger {
    /// Something else than digits, or a `_` without a digit on each side.
    Malformed,
    /// Not a signed 64-bit integer.
    Overflow,
}

/// The integer that `token` is.
pub(crate) fn parse(token: &str) -> Result<i64, BadInteger> {
    let digits = token.strip_prefix('-').unwrap_or(token);
    if !digits.split('_').all(is_digits) {
        return Err(BadInteger::Malformed);
    }
    token
        .replace('_', "")
        .parse()
        .map_err(|_| BadInteger::Overflow)
}

fn is_digits(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}
