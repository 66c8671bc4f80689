//! `rag threads export` and `rag threads import`.

use std::{
    env,
    fs::{self, File},
    io::{self, BufRead, BufReader, Seek, Write},
    path::Path,
    sync::Arc,
};

use rustagents_core::{ids::ThreadId, journal::Journal};
use rustagents_runtime::threads::transfer::{self, Counts, ExportError, read};

use super::{name, store_of};
use crate::{
    arguments::{Export, Import},
    failure::Failure,
    output::Output,
};

pub(super) async fn export(
    journal: Option<Arc<dyn Journal>>,
    given: &Export,
    output: &Output,
) -> Result<(), Failure> {
    let thread = name(&given.thread)?;
    let journal = store_of(journal, &thread)?;
    match given.output.as_deref().filter(|path| *path != "-") {
        Some(path) => {
            let counts = to_file(&*journal, &thread, path).await?;
            output.transferred("rag.exported/1", "exported", &thread, counts)
        }
        None => to_stdout(&*journal, &thread).await,
    }
}

/// Writes the file whole, or not at all; what is no file, such as a pipe, gets the lines
/// once they are whole.
async fn to_file(journal: &dyn Journal, thread: &ThreadId, path: &Path) -> Result<Counts, Failure> {
    let unwritable = |error: io::Error| {
        // The system's word alone: a file that is only made for a moment is nobody's matter.
        Failure::unwritable(path, &error.kind().into())
            .hint("name a place where a file can be made, with room for it")
    };
    let path = &match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            let (mut spool, counts) = spooled(journal, thread).await?;
            let pipe = File::options().write(true).open(path);
            let copied = pipe.and_then(|mut pipe| copy(&mut spool, &mut pipe));
            return copied.map(|()| counts).map_err(unwritable);
        }
        // Behind a link, that is.
        Ok(_) => fs::canonicalize(path).map_err(unwritable)?,
        Err(_) => path.to_owned(),
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let open = || tempfile::NamedTempFile::new_in(folder);
    let exported = transfer::export(journal, thread, open).await;
    let (file, counts) = exported.map_err(|error| failure(error, unwritable))?;
    file.as_file().sync_all().map_err(unwritable)?;
    file.persist(path)
        .map_err(|error| unwritable(error.error))?;
    Ok(counts)
}

/// Prints nothing before the export is whole: what was printed cannot be taken back
/// when the thread has to be read anew.
async fn to_stdout(journal: &dyn Journal, thread: &ThreadId) -> Result<(), Failure> {
    let (mut spool, _) = spooled(journal, thread).await?;
    match copy(&mut spool, &mut io::stdout().lock()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::output(&error)),
        _ => Ok(()),
    }
}

fn failure(error: ExportError, unwritable: impl FnOnce(io::Error) -> Failure) -> Failure {
    match error {
        ExportError::Unwritable(error) => unwritable(error),
        other => Failure::of(&other),
    }
}

/// The export in a file that has no name.
async fn spooled(journal: &dyn Journal, thread: &ThreadId) -> Result<(File, Counts), Failure> {
    let unwritable = |error| {
        Failure::unwritable(&env::temp_dir(), &error)
            .hint("name a folder with room as `TMPDIR`, or a file with `--output`")
    };
    let exported = transfer::export(journal, thread, tempfile::tempfile).await;
    exported.map_err(|error| failure(error, unwritable))
}

fn copy(spool: &mut File, out: &mut impl Write) -> io::Result<()> {
    spool.rewind()?;
    io::copy(spool, out)?;
    out.flush()
}

pub(super) async fn import(
    journal: Arc<dyn Journal>,
    given: &Import,
    output: &Output,
) -> Result<(), Failure> {
    let renamed = given.name.as_deref().map(name).transpose()?;
    let mut input: Box<dyn BufRead> = if given.file.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(&given.file);
        let file = file.map_err(|error| Failure::unreadable(&given.file, &error))?;
        Box::new(BufReader::new(file))
    };
    let mut image = read(&mut *input).map_err(|error| Failure::of(&error))?;
    if let Some(thread) = renamed {
        image.thread = thread;
    }
    let (thread, counts) = (image.thread.clone(), Counts::of(&image));
    journal.install(image).await?;
    output.transferred("rag.imported/1", "imported", &thread, counts)
}
