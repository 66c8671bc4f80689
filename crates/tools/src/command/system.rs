//! What the system tells of processes, where it has a `/proc` as Linux does.

use std::{fs, str::FromStr};

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    /// A letter; `Z` and `X` are processes that ended.
    state: char,
    /// The process that started it.
    pub(super) parent: i32,
    /// Its process group.
    pub(super) group: i32,
    /// When it was started, in ticks since the system was.
    pub(super) start: u64,
}

impl Process {
    /// The process with this number.
    pub(super) fn with(number: i32) -> Option<Self> {
        let bytes = fs::read(format!("/proc/{number}/stat")).ok()?;
        Self::parse(&String::from_utf8_lossy(&bytes))
    }

    /// Reads `NUMBER (NAME) STATE PARENT GROUP …`. The name may hold anything,
    /// also spaces and parentheses, and no field after it does.
    fn parse(text: &str) -> Option<Self> {
        let (_, fields) = text.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        Some(Self {
            state: fields.first()?.chars().next()?,
            parent: number(&fields, 1)?,
            group: number(&fields, 2)?,
            // Field 22 of all, of which two stand before these.
            start: number(&fields, 19)?,
        })
    }

    /// Whether it has not ended; one that has may still be listed.
    pub(super) fn is_running(self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }
}

fn number<T: FromStr>(fields: &[&str], index: usize) -> Option<T> {
    fields.get(index)?.parse().ok()
}

/// The numbers of all processes that are listed.
pub(super) fn all() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether all processes of a group have ended, and are only listed because
/// nobody asked for their status yet. Not where none is listed.
pub(super) fn is_over(group: i32) -> bool {
    let members = all().filter_map(Process::with);
    let mut members = members.filter(|process| process.group == group).peekable();
    members.peek().is_some() && !members.any(Process::is_running)
}

/// Whether a process was started with the variable `name` set to `value`.
pub(super) fn has_variable(number: i32, name: &str, value: &str) -> bool {
    let bytes = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
    let wanted = format!("{name}={value}");
    bytes
        .split(|byte| *byte == 0)
        .any(|entry| entry == wanted.as_bytes())
}

/// Which start of which machine this is.
pub(super) fn boot() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(boot.trim().to_owned())
}

/// The name of the space in which processes are numbered.
pub(super) fn namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    link.into_os_string().into_string().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let rest = "S 7 42 42 0 -1 4194304 99 0 0 0 0 0 0 0 20 0 1 0 2088557 3133440 395";
        for name in ["sh", "a b", "a) R 1 1 (b", ")", "", "1 2 3\n"] {
            let process = Process::parse(&format!("42 ({name}) {rest}")).unwrap();
            let expected = Process {
                state: 'S',
                parent: 7,
                group: 42,
                start: 2_088_557,
            };
            assert_eq!(process, expected);
            assert!(process.is_running());
        }
        for text in ["", "42 sh S 7 42", "42 (sh) S 7 42", "42 (sh) S x 42 0"] {
            assert_eq!(Process::parse(text), None, "{text}");
        }
    }

    #[test]
    fn this_process_is_listed() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(Process::with(own).unwrap().is_running());
        assert!(all().any(|number| number == own));
        assert!(boot().is_some() && namespace().is_some());
    }
}
