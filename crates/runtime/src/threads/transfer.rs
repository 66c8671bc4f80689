//! Export and import: a thread as lines of JSON, the same bytes from every backend.

mod export;
mod import;

use std::collections::BTreeSet;

use rustagents_core::{
    digest::Digest,
    ids::ThreadId,
    journal::{Content, Family, Journal, JournalError, Select, Seq, ThreadImage, mention},
};

use super::{known, stats::mentioned};

pub use super::lines::Counts;
pub use export::{ExportError, export, write};
pub use import::{ImportError, ImportProblem, read};

/// The longest line that is read. Whatever a batch may hold fits, however its
/// characters are escaped.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// How many records or messages are read at a time. One may have megabytes.
const PAGE: usize = 100;

/// How often a thread is read anew that is compacted meanwhile.
const TRIES: u32 = 5;

/// What an image has of the contents that its thread mentions.
#[derive(Clone, Copy)]
enum Contents {
    /// All of them, for another store.
    Whole,
    /// Their digests, for another thread of the family.
    Shared,
}

/// Reads a thread whole, with the contents that it mentions. All of it is held at
/// once; [`export`] holds a page.
///
/// # Errors
/// Whatever the journal says; an unknown thread is an error.
/// [`JournalError::Busy`]: it is compacted again and again.
pub async fn image(journal: &dyn Journal, thread: &ThreadId) -> Result<ThreadImage, JournalError> {
    steady(journal, thread, Contents::Whole).await
}

/// Reads a thread for another one that shares its contents; they are not in the image.
///
/// # Errors
/// As [`image`].
pub(super) async fn sharing(
    journal: &dyn Journal,
    thread: &ThreadId,
) -> Result<ThreadImage, JournalError> {
    steady(journal, thread, Contents::Shared).await
}

/// The image of a thread as it stood at one time.
async fn steady(
    journal: &dyn Journal,
    thread: &ThreadId,
    contents: Contents,
) -> Result<ThreadImage, JournalError> {
    for _ in 0..TRIES {
        let image = image_now(journal, thread, contents).await?;
        // A compaction takes records out; all of these were there at one time only
        // if they still are.
        let read: Vec<_> = image.records.iter().map(|record| record.seq).collect();
        if places(journal, thread, read.last().copied()).await? == read {
            return Ok(image);
        }
    }
    Err(overtaken(journal, thread).await?)
}

/// What is said of a thread that is compacted whenever it is read.
async fn overtaken(journal: &dyn Journal, thread: &ThreadId) -> Result<JournalError, JournalError> {
    Ok(JournalError::Busy {
        thread: thread.clone(),
        owner: journal.owner(thread).await?.unwrap_or_default(),
    })
}

/// Where the records of a thread stand, up to `last`.
pub(super) async fn places(
    journal: &dyn Journal,
    thread: &ThreadId,
    last: Option<Seq>,
) -> Result<Vec<Seq>, JournalError> {
    let mut places = Vec::new();
    let Some(last) = last else {
        return Ok(places);
    };
    loop {
        let after = places.last().copied().unwrap_or(0);
        let select = Select::all().after(after).before(last + 1).limit(PAGE);
        let page = journal.read(thread, select).await?;
        places.extend(page.iter().map(|record| record.seq));
        if page.len() < PAGE {
            return Ok(places);
        }
    }
}

async fn image_now(
    journal: &dyn Journal,
    thread: &ThreadId,
    contents: Contents,
) -> Result<ThreadImage, JournalError> {
    known(journal, thread).await?;
    let mut image = ThreadImage {
        thread: thread.clone(),
        epoch: 0,
        records: Vec::new(),
        messages: Vec::new(),
        contents: Vec::new(),
        family: None,
    };
    let mut digests = BTreeSet::new();
    let mut after = 0;
    loop {
        // To the end as it is found: the last record may be the snapshot that makes
        // up for those before it.
        let select = Select::all().after(after);
        let page = journal.read(thread, select.limit(PAGE)).await?;
        let is_last = page.len() < PAGE;
        for record in page {
            after = record.seq;
            mentioned(&record, &mut digests)?;
            image.records.push(record);
        }
        if is_last {
            break;
        }
    }
    // After the records, so that none of them has a later epoch.
    image.epoch = known(journal, thread).await?.epoch;
    let mut after = 0;
    loop {
        let page = journal.messages(thread, after, PAGE).await?;
        let is_last = page.len() < PAGE;
        for (place, message) in page {
            after = place;
            mention::digests(&message.text(), &mut |digest| {
                digests.insert(digest);
            });
            image.messages.push(message);
        }
        if is_last {
            break;
        }
    }
    add_contents(journal, &mut image, digests, contents).await?;
    Ok(image)
}

/// Adds those of the mentioned `digests` that are contents: a text may only look like
/// a reference.
async fn add_contents(
    journal: &dyn Journal,
    image: &mut ThreadImage,
    digests: BTreeSet<Digest>,
    contents: Contents,
) -> Result<(), JournalError> {
    let mut shared = Vec::new();
    for digest in digests {
        let Some(bytes) = journal.content(&image.thread, digest).await? else {
            continue;
        };
        match contents {
            Contents::Whole => image.contents.push(Content { digest, bytes }),
            // One at a time: all of them may be much.
            Contents::Shared => shared.push(digest),
        }
    }
    if matches!(contents, Contents::Shared) {
        let of = image.thread.clone();
        image.family = Some(Family { of, shared });
    }
    Ok(())
}
