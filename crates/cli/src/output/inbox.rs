//! What is told of threads that another process drives.

use rustagents_core::{ids::ThreadId, journal::Owner};
use rustagents_runtime::Decision;
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
}
