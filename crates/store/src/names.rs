//! Names of threads as names of files.

use std::fmt::Write as _;

use rustagents_core::{digest::Digest, ids::ThreadId};

/// The longest name that is spelt out, in bytes.
const MAX_NAME: usize = 200;

/// How much of a longer name is spelt out.
const HEAD: usize = 128;

/// A file name that belongs to this thread alone, of 200 bytes at the most.
///
/// After `t-`, lower-case ASCII letters, digits, `-` and `_` stand for themselves,
/// and each other byte is `%` and two hexadecimal digits. A name that would be too
/// long is cut, and ends in `~` and the digest of the whole.
///
/// ```
/// use rustagents_core::ids::ThreadId;
/// let name = ThreadId::new("Ticket/7")?;
/// assert_eq!(rustagents_store::names::file_name(&name), "t-%54icket%2f7");
/// # Ok::<(), rustagents_core::ids::ThreadNameError>(())
/// ```
pub fn file_name(thread: &ThreadId) -> String {
    let mut name = String::from("t-");
    for byte in thread.as_str().bytes() {
        if is_plain(byte) {
            name.push(char::from(byte));
        } else {
            // Upper case is escaped too: some file systems fold it.
            let _ = write!(name, "%{byte:02x}");
        }
    }
    if name.len() > MAX_NAME {
        // All of it is ASCII, so it can be cut anywhere.
        name.truncate(HEAD);
        let digest = Digest::of(thread.as_str().as_bytes());
        let _ = write!(name, "~{digest}");
    }
    name
}

/// The thread of a file name; `None` for one that was cut, and for other files.
pub fn thread(file_name: &str) -> Option<ThreadId> {
    let mut rest = file_name.strip_prefix("t-")?.bytes();
    let mut bytes = Vec::new();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
            }
            plain if is_plain(plain) => bytes.push(plain),
            _ => return None,
        }
    }
    let thread = ThreadId::new(&String::from_utf8(bytes).ok()?).ok()?;
    (self::file_name(&thread) == file_name).then_some(thread)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_threads_have_different_files() {
        let long = "x".repeat(250);
        let odd = "\u{4e2d}".repeat(85);
        let names = [
            "a",
            "A",
            "a/b",
            "a%2fb",
            "..",
            "ä",
            "a~",
            &long,
            &format!("{long}y"),
            &odd,
        ];
        let files: std::collections::BTreeSet<_> = names
            .iter()
            .map(|name| file_name(&ThreadId::new(name).unwrap()))
            .collect();
        assert_eq!(files.len(), names.len());
        for file in files {
            assert!(file.len() <= MAX_NAME && !file.contains('/'), "{file}");
        }
    }

    #[test]
    fn a_short_name_is_read_back() {
        for name in ["a", "A b", "ä/..", "a~%"] {
            let name = ThreadId::new(name).unwrap();
            assert_eq!(thread(&file_name(&name)), Some(name));
        }
        let long = ThreadId::new(&"x".repeat(250)).unwrap();
        for file in [
            "a",
            "t-",
            "t-%5",
            "t-%61",
            "t-A",
            "t-%ff",
            &file_name(&long),
        ] {
            assert_eq!(thread(file), None, "{file}");
        }
    }
}
