//! What became of whole threads.

use rustagents_core::{
    Code,
    ids::{CallId, ThreadId},
    journal::ThreadImage,
};
use rustagents_runtime::{
    ThreadView,
    threads::{Fork, Removed, stats::Stats},
    view::Phase,
};
use serde_json::{Value, json};

use super::{Output, person, person::line, say};
use crate::{command::threads::prune::Told, failure::Failure};

/// How much a thread holds that went from one place to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    records: usize,
    messages: usize,
    contents: usize,
}

impl Size {
    pub(crate) fn of(image: &ThreadImage) -> Self {
        Self {
            records: image.records.len(),
            messages: image.messages.len(),
            contents: image.contents.len(),
        }
    }
}

impl Output {
    /// A thread was made of another one.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn forked(
        &self,
        fork: &Fork,
        view: Option<&ThreadView>,
        calls: &[(CallId, String)],
    ) -> Result<(), Failure> {
        let (from, to) = (fork.from.as_str(), fork.to.as_str());
        let is_open = view.is_some_and(|view| !matches!(view.phase, Phase::Closed(_)));
        let resume = if is_open {
            self.resume.line(to, &[])
        } else {
            None
        };
        if self.is_json() {
            let calls = calls
                .iter()
                .map(|(call, tool)| json!({ "call": call, "tool": tool }));
            let object = json!({
                "schema": "rag.fork/1",
                "thread": to,
                "from": from,
                "checkpoint": fork.checkpoint,
                "repeats": calls.collect::<Vec<_>>(),
                "resume": resume,
            });
            return say(&object.to_string());
        }
        for (call, tool) in calls {
            self.note(&format!("the fork may make call {call} ({tool}) once more"));
        }
        let of = match fork.checkpoint {
            Some(checkpoint) => format!("{from}@{checkpoint}"),
            None => from.to_owned(),
        };
        self.note(&format!("thread {} is a copy of {}", line(to), line(&of)));
        if let Some(resume) = resume {
            self.note(&format!("go on with:\n  {resume}"));
        }
        Ok(())
    }

    /// A thread was removed, or a run of it.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn deleted(
        &self,
        thread: &ThreadId,
        run: Option<(&str, &Removed)>,
    ) -> Result<(), Failure> {
        if self.is_json() {
            let object = json!({
                "schema": "rag.delete/1",
                "thread": thread,
                "run": run.map(|(run, _)| run),
                "removed": run.map(|(_, removed)| counts(removed)),
            });
            return say(&object.to_string());
        }
        let name = line(thread.as_str());
        self.note(&match run {
            None => format!("thread {name} is deleted"),
            Some((run, removed)) => {
                format!(
                    "run {} of thread {name} is deleted: {}",
                    line(run),
                    went(removed)
                )
            }
        });
        Ok(())
    }

    /// What was taken out of threads.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn pruned(&self, told: &[Told]) -> Result<(), Failure> {
        let mut all = Removed::default();
        for pruned in told.iter().filter_map(|told| told.outcome.as_ref().ok()) {
            all.records += pruned.removed.records;
            all.messages += pruned.removed.messages;
            all.bytes += pruned.removed.bytes;
        }
        if self.is_json() {
            let threads: Vec<_> = told.iter().map(pruned).collect();
            let object = json!({
                "schema": "rag.prune/1",
                "threads": threads,
                "removed": counts(&all),
            });
            return say(&object.to_string());
        }
        for told in told {
            let name = line(told.thread.as_str());
            match &told.outcome {
                Ok(pruned) => {
                    let left = count(pruned.checkpoints, "checkpoint");
                    self.note(&format!("{name}: {}; {left} left", went(&pruned.removed)));
                }
                Err(failure) => self.failure(failure),
            }
        }
        if told.len() != 1 {
            let threads = person::plural(told.len(), "thread");
            self.note(&format!("{threads}: {}", went(&all)));
        }
        Ok(())
    }

    /// What a thread holds, or all of them.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn stats(&self, thread: Option<&ThreadId>, stats: &Stats) -> Result<(), Failure> {
        if self.is_json() {
            let object = json!({
                "schema": "rag.stats/1",
                "thread": thread,
                "threads": stats.threads,
                "runs": stats.runs,
                "checkpoints": stats.checkpoints,
                "records": stats.records,
                "kinds": stats.kinds,
                "messages": stats.messages,
                "contents": stats.contents,
                "bytes": {
                    "records": stats.record_bytes,
                    "messages": stats.message_bytes,
                    "contents": stats.content_bytes,
                },
            });
            return say(&object.to_string());
        }
        say(&table(thread, stats))
    }

    /// A thread was written to a file, or made of one.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn transferred(
        &self,
        schema: &str,
        what: &str,
        thread: &ThreadId,
        size: Size,
    ) -> Result<(), Failure> {
        let Size {
            records,
            messages,
            contents,
        } = size;
        if self.is_json() {
            let object = json!({
                "schema": schema,
                "thread": thread,
                "records": records,
                "messages": messages,
                "contents": contents,
            });
            return say(&object.to_string());
        }
        self.note(&format!(
            "thread {} is {what}: {}, {}, {}",
            line(thread.as_str()),
            person::plural(records, "record"),
            person::plural(messages, "message"),
            person::plural(contents, "content"),
        ));
        Ok(())
    }
}

fn counts(removed: &Removed) -> Value {
    json!({
        "records": removed.records,
        "messages": removed.messages,
        "bytes": removed.bytes,
    })
}

fn pruned(told: &Told) -> Value {
    match &told.outcome {
        Ok(pruned) => json!({
            "thread": told.thread,
            "status": "pruned",
            "checkpoints": pruned.checkpoints,
            "removed": counts(&pruned.removed),
            "error": null,
        }),
        Err(failure) => json!({
            "thread": told.thread,
            "status": if failure.code == Code::Busy { "busy" } else { "failed" },
            "checkpoints": null,
            "removed": counts(&Removed::default()),
            "error": { "code": failure.code.as_str(), "message": failure.message },
        }),
    }
}

fn count(count: u64, noun: &str) -> String {
    person::plural(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

fn went(removed: &Removed) -> String {
    format!(
        "{}, {} and {} went",
        count(removed.records, "record"),
        count(removed.messages, "message"),
        count(removed.bytes, "byte")
    )
}

fn table(thread: Option<&ThreadId>, stats: &Stats) -> String {
    let bytes = |bytes| count(bytes, "byte");
    let mut lines = vec![match thread {
        Some(thread) => format!("thread       {}", line(thread.as_str())),
        None => format!("threads      {}", stats.threads),
    }];
    lines.push(format!("runs         {}", stats.runs));
    lines.push(format!("checkpoints  {}", stats.checkpoints));
    let rows = [
        ("records", stats.records, stats.record_bytes),
        ("messages", stats.messages, stats.message_bytes),
        ("contents", stats.contents, stats.content_bytes),
    ];
    for (name, number, size) in rows {
        lines.push(format!("{name:11}  {number}, {}", bytes(size)));
    }
    for (kind, number) in &stats.kinds {
        lines.push(format!("  {:18}  {number}", line(kind)));
    }
    lines.join("\n")
}
