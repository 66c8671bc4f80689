//! Writes a thread out as lines, page by page.

use std::{
    collections::{BTreeSet, btree_set},
    io::{self, Write},
};

use rustagents_core::{
    code::{Class, Code, Coded},
    digest::{Digest, Rolling},
    ids::ThreadId,
    journal::{Content, Epoch, Journal, JournalError, Record, Select, Seq, ThreadImage, mention},
    message::Message,
};

use super::{
    super::{
        check, known,
        lines::{ContentLine, Counts, End, Header, Line, RecordLine, SCHEMA},
        stats::mentioned,
    },
    PAGE, TRIES, overtaken,
};

/// Why a thread was not exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The journal refused or failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The lines cannot be written.
    #[error("the export cannot be written: {0}")]
    Unwritable(#[from] io::Error),
}

impl Coded for ExportError {
    fn code(&self) -> Code {
        match self {
            Self::Journal(error) => error.code(),
            Self::Unwritable(_) => Code::OutputFailed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Journal(error) => error.hint(),
            Self::Unwritable(_) => Some("make room, or write it elsewhere".into()),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Journal(error) => error.class(),
            Self::Unwritable(_) => Class::Caller,
        }
    }
}

/// Writes a thread as lines into what `open` gives, and says how many of each there
/// are. What is held at once is a page of the thread, and not all of it.
///
/// The thread is read twice, and may be driven meanwhile: the export is of what was
/// there at one time. Where records are taken out of it meanwhile, what was written
/// is dropped, and it is written anew into what `open` gives next. Lines are written
/// on the caller's thread, between reads. Dropping the future leaves a part of the
/// lines, without the last one, and an import refuses those.
///
/// ```
/// # use rustagents_core::{ids::ThreadId, journal::{Journal, JournalError, Owner}};
/// # use rustagents_runtime::threads::transfer::{self, ExportError};
/// # use rustagents_store::MemoryJournal;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (journal, elsewhere) = (MemoryJournal::new(), MemoryJournal::new());
/// let thread = ThreadId::new("t")?;
/// journal.claim(&thread, Owner::default()).await?;
/// let (lines, counts) = transfer::export(&journal, &thread, || Ok(Vec::new())).await?;
/// assert_eq!((counts.records, lines.split(|&b| b == b'\n').count()), (0, 3));
/// elsewhere.install(transfer::read(&mut &lines[..])?).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Whatever the journal says; an unknown thread is an error, and
/// [`JournalError::Busy`] says that records are taken out of it again and again, and
/// [`JournalError::Corrupt`] that it lacks a content.
/// [`ExportError::Unwritable`]: what `open` gives cannot be written to, or there is
/// none.
pub async fn export<W: Write>(
    journal: &dyn Journal,
    thread: &ThreadId,
    mut open: impl FnMut() -> io::Result<W>,
) -> Result<(W, Counts), ExportError> {
    for _ in 0..TRIES {
        let mut pages = Pages::of(journal, thread).await?;
        let mut out = open()?;
        while let Some(bytes) = pages.next().await? {
            out.write_all(&bytes)?;
        }
        if pages.surveyed == pages.written {
            if let Some(digest) = pages.lacks {
                return Err(missing(digest).into());
            }
            out.flush()?;
            return Ok((out, pages.lines.counts));
        }
    }
    Err(overtaken(journal, thread).await?.into())
}

/// The error for a content that the thread needs, and that is not there.
fn missing(digest: Digest) -> JournalError {
    JournalError::Corrupt {
        place: format!("content {}", digest.short()),
        reason: "the thread needs it, and it is missing".to_owned(),
    }
}

/// Writes `image` as the lines that [`export`] has for its thread.
///
/// # Errors
/// `out` cannot be written to.
pub fn write(image: &ThreadImage, out: &mut dyn Write) -> io::Result<Counts> {
    let mut lines = Lines::default();
    lines.header(&image.thread, image.epoch)?;
    for content in &image.contents {
        lines.content(content)?;
        out.write_all(&lines.take())?;
    }
    for message in &image.messages {
        lines.message(message)?;
        out.write_all(&lines.take())?;
    }
    for record in &image.records {
        lines.record(record)?;
        out.write_all(&lines.take())?;
    }
    lines.end()?;
    out.write_all(&lines.take())?;
    out.flush()?;
    Ok(lines.counts)
}

/// The lines of a thread as it was when it was surveyed.
struct Pages<'a> {
    journal: &'a dyn Journal,
    thread: ThreadId,
    epoch: Epoch,
    surveyed: Seen,
    written: Seen,
    /// Those that are mentioned: some may only look like a content's digest.
    digests: btree_set::IntoIter<Digest>,
    /// Those of them that have to be there.
    needed: BTreeSet<Digest>,
    /// One of these that is not.
    lacks: Option<Digest>,
    part: Part,
    lines: Lines,
}

#[derive(Clone, Copy)]
enum Part {
    Header,
    Contents,
    Messages,
    Records,
    Done,
}

/// What of a thread was read: the same twice, if nothing was taken out between.
#[derive(Default)]
struct Seen {
    /// The places of the records.
    places: Rolling,
    last: Seq,
    messages: u64,
    last_message: u64,
}

impl PartialEq for Seen {
    fn eq(&self, other: &Self) -> bool {
        (self.messages, self.places.digest()) == (other.messages, other.places.digest())
    }
}

impl Seen {
    fn record(&mut self, record: &Record) {
        self.places.push(&record.seq.to_le_bytes());
        self.last = record.seq;
    }

    fn message(&mut self, place: u64) {
        self.messages += 1;
        self.last_message = place;
    }
}

impl<'a> Pages<'a> {
    /// Reads the thread for what its lines need to know before they are written.
    async fn of(journal: &'a dyn Journal, thread: &ThreadId) -> Result<Self, JournalError> {
        known(journal, thread).await?;
        let (mut seen, mut digests) = (Seen::default(), BTreeSet::new());
        let mut needed = BTreeSet::new();
        loop {
            // To the end as it is found: the last record may be the snapshot that makes
            // up for those before it.
            let select = Select::all().after(seen.last).limit(PAGE);
            let page = journal.read(thread, select).await?;
            for record in &page {
                mentioned(record, &mut digests)?;
                needed.extend(check::needed(record));
                seen.record(record);
            }
            if page.len() < PAGE {
                break;
            }
        }
        // After the records, so that none of them has a later epoch, or a message that
        // is not seen.
        let epoch = known(journal, thread).await?.epoch;
        loop {
            let page = journal.messages(thread, seen.last_message, PAGE).await?;
            for (place, message) in &page {
                mention::digests(&message.text(), &mut |digest| {
                    digests.insert(digest);
                });
                needed.extend(check::artifact(message));
                seen.message(*place);
            }
            if page.len() < PAGE {
                break;
            }
        }
        Ok(Self {
            journal,
            thread: thread.clone(),
            epoch,
            surveyed: seen,
            written: Seen::default(),
            digests: digests.into_iter(),
            needed,
            lacks: None,
            part: Part::Header,
            lines: Lines::default(),
        })
    }

    /// The next lines, until there are no more.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, ExportError> {
        loop {
            match self.part {
                Part::Header => {
                    self.lines.header(&self.thread, self.epoch)?;
                    self.part = Part::Contents;
                }
                Part::Contents => self.next_content().await?,
                Part::Messages => self.next_messages().await?,
                Part::Records => self.next_records().await?,
                Part::Done => return Ok(None),
            }
            let lines = self.lines.take();
            if !lines.is_empty() {
                return Ok(Some(lines));
            }
        }
    }

    async fn next_content(&mut self) -> Result<(), ExportError> {
        let Some(digest) = self.digests.next() else {
            self.part = Part::Messages;
            return Ok(());
        };
        match self.journal.content(&self.thread, digest).await? {
            Some(bytes) => self.lines.content(&Content { digest, bytes })?,
            None if self.needed.contains(&digest) => self.lacks = Some(digest),
            None => {}
        }
        Ok(())
    }

    async fn next_messages(&mut self) -> Result<(), ExportError> {
        let after = self.written.last_message;
        let page = self.journal.messages(&self.thread, after, PAGE).await?;
        let mut is_last = page.len() < PAGE;
        for (place, message) in page {
            // The last one of the survey may be gone meanwhile.
            is_last |= place >= self.surveyed.last_message;
            if place > self.surveyed.last_message {
                break;
            }
            self.lines.message(&message)?;
            self.written.message(place);
        }
        if is_last {
            self.part = Part::Records;
        }
        Ok(())
    }

    async fn next_records(&mut self) -> Result<(), ExportError> {
        let upto = self.surveyed.last + 1;
        let select = Select::all().after(self.written.last).before(upto);
        let page = self.journal.read(&self.thread, select.limit(PAGE)).await?;
        for record in &page {
            self.lines.record(record)?;
            self.written.record(record);
        }
        if page.len() < PAGE {
            self.lines.end()?;
            self.part = Part::Done;
        }
        Ok(())
    }
}

/// Lines that are made, counted and summed.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    digest: Rolling,
    counts: Counts,
}

impl Lines {
    fn header(&mut self, thread: &ThreadId, epoch: Epoch) -> io::Result<()> {
        self.push(&Header {
            schema: SCHEMA.to_owned(),
            thread: thread.to_string(),
            epoch,
        })
    }

    fn content(&mut self, content: &Content) -> io::Result<()> {
        self.counts.contents += 1;
        self.push(&Line::Content(ContentLine::of(content)))
    }

    fn message(&mut self, message: &Message) -> io::Result<()> {
        self.counts.messages += 1;
        self.push(&Line::Message(message.clone()))
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.counts.records += 1;
        self.push(&Line::Record(RecordLine::of(record)))
    }

    fn end(&mut self) -> io::Result<()> {
        let end = End::of(self.counts, self.digest.digest());
        self.push(&Line::End(end))
    }

    fn push(&mut self, line: &impl serde::Serialize) -> io::Result<()> {
        let from = self.bytes.len();
        serde_json::to_writer(&mut self.bytes, line)?;
        self.digest.push(&self.bytes[from..]);
        self.bytes.push(b'\n');
        Ok(())
    }

    /// The bytes of the lines that were made since.
    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}
