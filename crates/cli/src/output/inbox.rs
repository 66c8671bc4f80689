//! What is told of threads that another process drives.

use rustagents_core::{ids::ThreadId, journal::Owner};
use rustagents_runtime::{Decision, Report, inbox::QueuedInput};
use serde_json::json;

use super::{Output, person, say};
use crate::failure::Failure;

impl Output {
    /// Answers were recorded for a run that another process drives.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn answered(
        &self,
        thread: &ThreadId,
        decisions: &[Decision],
        owner: &Owner,
    ) -> Result<(), Failure> {
        let names: Vec<_> = decisions.iter().map(Decision::name).collect();
        if self.is_json() {
            let object = json!({
                "schema": "rag.answered/1",
                "thread": thread,
                "answered": names,
                "driver": owner,
            });
            return say(&object.to_string());
        }
        if !self.quiet {
            let (names, process) = (person::line(&names.join(", ")), owner.process);
            self.stderr(&format!(
                "recorded: {names}\nprocess {process}, which drives thread {}, goes on with it",
                person::line(thread.as_str())
            ));
        }
        Ok(())
    }

    /// An input waits.
    pub(crate) fn queued(&self, thread: &ThreadId, item: &QueuedInput) {
        let thread = person::line(thread.as_str());
        self.note(&format!(
            "queued behind what thread {thread} works on, as {}",
            item.id
        ));
    }

    /// An input waits, and nobody waits for it any more.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn stays(&self, thread: &ThreadId, item: &QueuedInput) -> Result<(), Failure> {
        if self.is_json() {
            let object = json!({ "schema": "rag.queued/1", "thread": thread, "queued": item.id });
            return say(&object.to_string());
        }
        self.note("the input stays in the queue");
        Ok(())
    }

    /// A run is opened on an input that waited.
    pub(crate) fn taking(&self, item: &QueuedInput) {
        let input = item.body.input.as_deref().unwrap_or_default();
        self.note(&format!("from the queue: {}", person::line(input)));
    }

    /// What became of a run behind which another one was opened.
    pub(crate) fn left(&self, report: &Report) {
        let status = report.status.as_str();
        match &report.output {
            Some(output) => self.note(&format!("{status}: {}", person::line(output))),
            None => self.note(status),
        }
    }

    /// Why the queue stops, beside what is told.
    pub(crate) fn stuck(&self, failure: &Failure) {
        if !self.is_json() && !self.quiet {
            self.stderr(&person::failure(failure));
        }
    }

    /// An input was taken out of the queue.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn withdrawn(&self, thread: &ThreadId, id: &str) -> Result<(), Failure> {
        if self.is_json() {
            let object = json!({ "schema": "rag.withdrawn/1", "thread": thread, "queued": id });
            return say(&object.to_string());
        }
        self.note(&format!("input {id} does not wait any more"));
        Ok(())
    }
}
