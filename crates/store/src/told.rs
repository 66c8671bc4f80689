//! What a person can do about an error of the system, said behind it.

use std::io::{self, ErrorKind};

/// For a place that may not be written to.
const REFUSED: &str = "let this user read and write there, or copy the store to a folder where \
                       that is allowed";

/// For a disk without room.
pub const FULL: &str = "make room on the disk";

/// What the system says of a file, and what can be done about it, where that is known.
///
/// ```
/// use std::io::{Error, ErrorKind};
/// use rustagents_store::told::told;
/// let refused = told(&Error::from(ErrorKind::PermissionDenied));
/// assert!(refused.starts_with("permission denied: let this user"));
/// assert_eq!(told(&Error::from(ErrorKind::TimedOut)), "timed out");
/// ```
#[must_use]
pub fn told(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            format!("{error}: {REFUSED}")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => format!("{error}: {FULL}"),
        _ => error.to_string(),
    }
}
