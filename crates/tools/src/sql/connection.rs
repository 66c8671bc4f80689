//! A connection that can do what a declared statement may do, and no more.

use std::{ffi::CStr, path::Path, sync::Arc, thread, time::Duration};

use rusqlite::{
    Connection, OpenFlags,
    config::DbConfig,
    hooks::{AuthAction, AuthContext, Authorization},
    limits::Limit,
};

use super::watch::Watch;

/// How many steps of SQLite's machine lie between two looks at the watch.
const STEPS_BETWEEN_LOOKS: i32 = 1_000;

/// The longest text, blob or row that SQLite makes on the way, in bytes.
const LONGEST_VALUE: i32 = 64 << 20;

/// The longest wait between two tries at a lock.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// SQLite's own file system in memory; a name that starts with `/` is one
/// database for all of the process's connections to it.
const MEMORY: &CStr = c"memdb";

/// Whether the statement may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl Access {
    fn flags(self) -> OpenFlags {
        let mode = match self {
            Self::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Self::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        mode | OpenFlags::SQLITE_OPEN_NO_MUTEX
    }
}

/// Opens the database in `file`, which must exist, for one call.
pub(super) fn open(
    file: &Path,
    access: Access,
    watch: &Arc<Watch>,
) -> rusqlite::Result<Connection> {
    confine(
        Connection::open_with_flags(file, access.flags())?,
        access,
        watch,
    )
}

/// As [`open`], the database in memory that is called `name`.
pub(super) fn open_in_memory(
    name: &str,
    access: Access,
    watch: &Arc<Watch>,
) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags_and_vfs(name, access.flags(), MEMORY)?;
    confine(connection, access, watch)
}

/// A connection that may do everything to the database in memory called `name`.
pub(super) fn create_in_memory(name: &str) -> rusqlite::Result<Connection> {
    let flags = Access::Write.flags() | OpenFlags::SQLITE_OPEN_CREATE;
    Connection::open_with_flags_and_vfs(name, flags, MEMORY)
}

/// Limits a new connection to what a declared statement may do.
fn confine(
    mut connection: Connection,
    access: Access,
    watch: &Arc<Watch>,
) -> rusqlite::Result<Connection> {
    wait_for_locks(&mut connection, watch)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
    match access {
        Access::Read => connection.pragma_update(None, "query_only", true)?,
        Access::Write => connection.pragma_update(None, "synchronous", "FULL")?,
    }
    stop_with(&mut connection, watch)?;
    connection.authorizer(Some(|context: AuthContext<'_>| authorize(&context.action)))?;
    Ok(connection)
}

/// Tries again while the watch allows it.
fn wait_for_locks(connection: &mut Connection, watch: &Arc<Watch>) -> rusqlite::Result<()> {
    let watch = Arc::clone(watch);
    connection.busy_handler(Some(move |tries: i32| {
        if watch.stop().is_some() {
            return false;
        }
        let wanted = Duration::from_millis(1 << tries.clamp(0, 4));
        thread::sleep(watch.pause(wanted.min(LONGEST_PAUSE)));
        true
    }))
}

fn stop_with(connection: &mut Connection, watch: &Arc<Watch>) -> rusqlite::Result<()> {
    let watch = Arc::clone(watch);
    connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || watch.stop().is_some()))
}

/// Allows reading and changing rows, and what the tool itself does around them.
///
/// Full-text search reads `data_version` on its own; every other pragma, also as
/// a table-valued function, is refused.
fn authorize(action: &AuthAction<'_>) -> Authorization {
    match action {
        AuthAction::Select
        | AuthAction::Read { .. }
        | AuthAction::Insert { .. }
        | AuthAction::Update { .. }
        | AuthAction::Delete { .. }
        | AuthAction::Recursive
        | AuthAction::Transaction { .. }
        | AuthAction::Savepoint { .. }
        | AuthAction::Pragma {
            pragma_name: "data_version",
            pragma_value: None,
        } => Authorization::Allow,
        AuthAction::Function { function_name } if *function_name != "load_extension" => {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }
}
