//! `rag threads export` and `rag threads import`.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::Path,
    sync::Arc,
};

use rustagents_core::journal::{Journal, ThreadImage};
use rustagents_runtime::threads::transfer::{image, read, write};

use super::{name, store_of};
use crate::{
    arguments::{Export, Import},
    failure::Failure,
    output::{Output, threads::Size},
};

pub(super) async fn export(
    journal: Option<Arc<dyn Journal>>,
    given: &Export,
    output: &Output,
) -> Result<(), Failure> {
    let thread = name(&given.thread)?;
    let image = image(&*store_of(journal, &thread)?, &thread).await?;
    match &given.output {
        Some(path) => {
            to_file(&image, path).map_err(|error| Failure::unwritable(path, &error))?;
            output.transferred("rag.exported/1", "exported", &thread, Size::of(&image))
        }
        None => match write(&image, &mut BufWriter::new(io::stdout().lock())) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::output(&error)),
            _ => Ok(()),
        },
    }
}

/// Writes the file whole, or not at all.
fn to_file(image: &ThreadImage, path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    write(image, &mut BufWriter::new(&mut file))?;
    file.flush()?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
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
    let (thread, size) = (image.thread.clone(), Size::of(&image));
    journal.install(image).await?;
    output.transferred("rag.imported/1", "imported", &thread, size)
}
