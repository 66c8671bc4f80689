//! Reads an export back, and refuses what is not whole at its first wrong line.

use std::{
    collections::BTreeSet,
    io::{BufRead, Read},
    sync::Arc,
};

use rustagents_core::{
    code::{Code, Coded},
    digest::{Digest, Rolling},
    encode::{self, MAX_DEPTH},
    ids::ThreadId,
    journal::{Record, ThreadImage},
};

use super::{
    super::{
        check::Examiner,
        lines::{Counts, End, Header, Line, SCHEMA},
    },
    MAX_LINE_BYTES,
};

/// Why an export cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ImportError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: ImportProblem,
}

/// What is wrong with a line of an export.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportProblem {
    /// It cannot be read.
    #[error("it cannot be read: {reason}")]
    Unreadable {
        /// What the system says.
        reason: String,
    },
    /// It is longer than [`MAX_LINE_BYTES`].
    #[error("it is longer than {limit} bytes")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// It is no line of an export.
    #[error("it is no line of an export: {reason}")]
    Form {
        /// What the decoder says.
        reason: String,
    },
    /// The export has another schema.
    #[error("its schema is `{found}`, not `{SCHEMA}`")]
    Schema {
        /// The schema.
        found: String,
    },
    /// The export ends too early.
    #[error("the export ends here, without its last line")]
    Cut,
    /// Lines are not in their order, or follow the last one.
    #[error("it does not belong here: contents, messages, records and one end follow each other")]
    Order,
    /// The last line counts something else.
    #[error("{what} are not as many, or not the same, as the last line says")]
    Count {
        /// What was counted.
        what: &'static str,
    },
    /// Its record is nested deeper than any that is written.
    #[error("{place} is nested deeper than {limit}")]
    TooDeep {
        /// Which record it is.
        place: String,
        /// How many lists and objects there may be around one another.
        limit: u8,
    },
    /// What it holds is not whole.
    #[error("{what}")]
    Broken {
        /// What is wrong.
        what: String,
    },
}

impl Coded for ImportError {
    fn code(&self) -> Code {
        match self.problem {
            ImportProblem::TooDeep { .. } => Code::TooLarge,
            _ => Code::Import,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self.problem {
            ImportProblem::Schema { .. } => {
                "use the version of `rag` that wrote it, or a newer one".into()
            }
            ImportProblem::TooDeep { .. } => {
                "nest its values less deep, 64 at most; nothing was written".into()
            }
            _ => "export the thread again; nothing was written".into(),
        })
    }
}

/// Reads what [`write`](super::write) wrote, and checks that it is whole.
///
/// # Errors
/// [`ImportError`] names the first line that is wrong.
pub fn read(input: &mut dyn BufRead) -> Result<ThreadImage, ImportError> {
    let mut reader = Reader {
        input,
        line: 0,
        digest: Rolling::default(),
    };
    let header: Header = match reader.next()? {
        Some(bytes) => reader.parse(&bytes)?,
        None => return Err(reader.wrong(ImportProblem::Cut)),
    };
    if header.schema != SCHEMA {
        let found = header.schema;
        return Err(reader.wrong(ImportProblem::Schema { found }));
    }
    let thread = ThreadId::new(&header.thread).map_err(|e| reader.broken(&e))?;
    let mut image = ThreadImage {
        thread,
        epoch: header.epoch,
        records: Vec::new(),
        messages: Vec::new(),
        contents: Vec::new(),
        family: None,
    };
    let mut examiner = Examiner::new(image.epoch);
    let mut rank = 0;
    loop {
        let digest = reader.digest.digest();
        let Some(bytes) = reader.next()? else {
            return Err(reader.wrong(ImportProblem::Cut));
        };
        let line: Line = reader.parse(&bytes)?;
        if line.rank() < rank {
            return Err(reader.wrong(ImportProblem::Order));
        }
        rank = line.rank();
        match line {
            Line::End(end) => {
                reader.check_end(&image, end, digest)?;
                image.check().map_err(|error| reader.broken(&error))?;
                return reader.close(image, examiner);
            }
            line => reader.take(line, &mut image, &mut examiner)?,
        }
    }
}

struct Reader<'a> {
    input: &'a mut dyn BufRead,
    line: u64,
    digest: Rolling,
}

impl Reader<'_> {
    fn wrong(&self, problem: ImportProblem) -> ImportError {
        ImportError {
            line: self.line,
            problem,
        }
    }

    fn broken(&self, what: &dyn std::fmt::Display) -> ImportError {
        self.wrong(ImportProblem::Broken {
            what: what.to_string(),
        })
    }

    /// The next line without its end, if there is one.
    fn next(&mut self) -> Result<Option<Vec<u8>>, ImportError> {
        self.line += 1;
        let mut bytes = Vec::new();
        let most = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
        let mut input = (&mut *self.input).take(most + 1);
        let read = input.read_until(b'\n', &mut bytes);
        if let Err(error) = read {
            let reason = error.to_string();
            return Err(self.wrong(ImportProblem::Unreadable { reason }));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        } else if bytes.len() > MAX_LINE_BYTES {
            let limit = MAX_LINE_BYTES;
            return Err(self.wrong(ImportProblem::TooLong { limit }));
        }
        self.digest.push(&bytes);
        Ok(Some(bytes))
    }

    fn parse<T: serde::de::DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, ImportError> {
        serde_json::from_slice(bytes).map_err(|error| {
            self.wrong(ImportProblem::Form {
                reason: error.to_string(),
            })
        })
    }

    /// Takes a line in, and refuses it with what it breaks.
    fn take(
        &self,
        line: Line,
        image: &mut ThreadImage,
        examiner: &mut Examiner,
    ) -> Result<(), ImportError> {
        match line {
            Line::Content(content) => {
                let content = content.content().map_err(|what| self.broken(&what))?;
                let last = image.contents.last();
                if last.is_some_and(|last| last.digest >= content.digest) {
                    return Err(self.broken(&"contents are in the order of their digests"));
                }
                image.contents.push(content);
            }
            Line::Message(message) => {
                examiner.message(&message);
                image.messages.push(Arc::new(message));
            }
            Line::Record(record) => {
                let record = record.record();
                self.check_depth(&record)?;
                examiner.record(&record);
                image.records.push(record);
            }
            Line::End(_) => {}
        }
        match examiner.first_problem() {
            Some(problem) => Err(self.broken(&problem)),
            None => Ok(()),
        }
    }

    /// A record that is deeper than one may be written is refused, also where readers
    /// would take it: who goes on from it could come to write nothing.
    fn check_depth(&self, record: &Record) -> Result<(), ImportError> {
        if encode::depth(&record.body) <= usize::from(MAX_DEPTH) {
            return Ok(());
        }
        let place = format!("record {} ({})", record.seq, record.kind);
        let limit = MAX_DEPTH;
        Err(self.wrong(ImportProblem::TooDeep { place, limit }))
    }

    fn check_end(&self, image: &ThreadImage, end: End, digest: Digest) -> Result<(), ImportError> {
        let counted = Counts::of(image);
        let wrong = [
            ("contents", counted.contents != end.contents),
            ("messages", counted.messages != end.messages),
            ("records", counted.records != end.records),
            ("the lines", end.digest != Some(digest)),
        ];
        match wrong.into_iter().find(|(_, wrong)| *wrong) {
            Some((what, _)) => Err(self.wrong(ImportProblem::Count { what })),
            None => Ok(()),
        }
    }

    /// Nothing may follow, and everything that is mentioned has to be there.
    fn close(
        &mut self,
        image: ThreadImage,
        examiner: Examiner,
    ) -> Result<ThreadImage, ImportError> {
        let (problems, wanted) = examiner.finish();
        if let Some(problem) = problems.first() {
            return Err(self.broken(problem));
        }
        let held: BTreeSet<_> = image.contents.iter().map(|c| c.digest).collect();
        if let Some((digest, place)) = wanted.iter().find(|(digest, _)| !held.contains(digest)) {
            let what = format!(
                "{place} names the content {}, which is missing",
                digest.short()
            );
            return Err(self.broken(&what));
        }
        match self.next()? {
            None => Ok(image),
            Some(_) => Err(self.wrong(ImportProblem::Order)),
        }
    }
}
