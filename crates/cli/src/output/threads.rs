//! What became of whole threads.

use rustagents_core::{
    Code,
    ask::Ask,
    ids::{CallId, NodeName, ThreadId},
};
use rustagents_runtime::{
    Report, ThreadView, Updated,
    threads::{Fork, Removed, Rewound, StateAt, stats::Stats, transfer::Counts},
    view::Phase,
};
use rustagents_tools::command::Remains;
use serde_json::{Value, json};

use super::{Output, json, person, person::line, say};
use crate::{command::threads::prune::Told, failure::Failure};

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
        let open = view.filter(|view| !matches!(view.phase, Phase::Closed(_)));
        let resume = open.and_then(|view| {
            let has_plan = view.opened.target.has_plan();
            self.resume.with_plan(has_plan).line(to, &[])
        });
        if self.is_json() {
            let object = json!({
                "schema": "rag.fork/1",
                "thread": to,
                "from": from,
                "checkpoint": fork.checkpoint,
                "repeats": repeats(calls),
                "resume": resume,
            });
            return say(&object.to_string());
        }
        for (call, tool) in calls {
            // Steps of nodes are among them.
            self.note(&format!("the fork may make {call} ({tool}) once more"));
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

    /// A thread went back.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn rewound(&self, rewound: &Rewound) -> Result<(), Failure> {
        let thread = rewound.thread.as_str();
        let is_open = !rewound.next.is_empty();
        if self.is_json() {
            let resume = is_open.then(|| self.resume.line(thread, &[])).flatten();
            let object = json!({
                "schema": "rag.rewind/1",
                "thread": thread,
                "from": rewound.from,
                "checkpoint": rewound.checkpoint,
                "run": rewound.run,
                "cancelled": rewound.cancelled,
                "repeats": repeats(&rewound.repeats),
                "next": rewound.next,
                "resume": resume,
            });
            return say(&object.to_string());
        }
        self.went_back(rewound);
        Ok(())
    }

    /// Tells a person what calls of a run that is given up had started and what may
    /// still be at work.
    pub(crate) fn started(&self, started: &[(CallId, Value)]) {
        for (call, started) in started {
            let what = match Remains::of(started) {
                Some(Remains::Gone) => continue,
                Some(Remains::AtWork { process }) => {
                    format!("process {process}, which may still be at work")
                }
                Some(Remains::Unknown { process }) => {
                    format!("process {process}, which may still be at work on another machine")
                }
                _ => "something that may still be at work".to_owned(),
            };
            self.note(&format!("call {call} had started {what}"));
        }
    }

    /// Tells a person that a thread went back.
    pub(crate) fn went_back(&self, rewound: &Rewound) {
        for (call, tool) in &rewound.repeats {
            self.note(&format!("{call} ({tool}) may be made once more"));
        }
        self.started(&rewound.started);
        if let Some(run) = &rewound.cancelled {
            self.note(&format!("run {} is given up", line(run.as_str())));
        }
        let thread = rewound.thread.as_str();
        let (name, from) = (line(thread), rewound.from);
        let next = names(&rewound.next);
        let is_open = !rewound.next.is_empty();
        // A conversation goes on by itself.
        let resume = (is_open && !self.resume.in_chat).then(|| self.resume.line(thread, &[]));
        self.note(&match resume.flatten() {
            Some(resume) => {
                format!("thread {name} went back to @{from}, then {next}\ngo on with:\n  {resume}")
            }
            None if is_open => format!("thread {name} went back to @{from}, then {next}"),
            None => format!("thread {name} went back to @{from}, and takes a new input"),
        });
    }

    /// The state of a thread was changed; `open` tells of a run that is not over.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn updated(&self, updated: &Updated, open: Option<&Report>) -> Result<(), Failure> {
        let thread = updated.thread.as_str();
        if self.is_json() {
            let asks = updated.asks.iter();
            let object = json!({
                "schema": "rag.update/1",
                "thread": thread,
                "run": updated.run,
                "checkpoints": updated.checkpoints,
                "changed": updated.changed,
                "next": updated.next,
                "interrupts": asks.map(|ask| self.interrupt(thread, ask, true)).collect::<Vec<_>>(),
                "resume": open.and_then(|_| self.resume.line(thread, &[])),
            });
            return say(&object.to_string());
        }
        let changed = match &updated.changed[..] {
            [] => "nothing".to_owned(),
            changed => changed.join(", "),
        };
        for checkpoint in &updated.checkpoints {
            let at = line(&format!("{thread}@{checkpoint}"));
            let next = names(&updated.next);
            self.note(&format!("{at} wrote {}, then {next}", line(&changed)));
        }
        if let Some(report) = open {
            self.told_of(report);
        }
        Ok(())
    }

    /// The state of a thread.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn state(&self, stood: &StateAt, has_plan: bool) -> Result<(), Failure> {
        if !self.is_json() {
            let text = serde_json::to_string_pretty(&stood.state);
            return super::text(&text.map_err(|error| Failure::internal(&error))?);
        }
        let next = stood.next.iter().map(|task| &task.node);
        let thread = stood.thread.as_str();
        let asks = stood.asks.iter();
        let object = json!({
            "schema": "rag.state/1",
            "thread": thread,
            "checkpoint": stood.checkpoint,
            "state": stood.state,
            "next": next.collect::<Vec<_>>(),
            "interrupts": asks.map(|ask| self.interrupt(thread, ask, has_plan)).collect::<Vec<_>>(),
        });
        say(&object.to_string())
    }

    fn interrupt(&self, thread: &str, ask: &Ask, has_plan: bool) -> Value {
        json!(json::interrupt(
            thread,
            ask,
            &self.resume.with_plan(has_plan)
        ))
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
        counts: Counts,
    ) -> Result<(), Failure> {
        let Counts {
            records,
            messages,
            contents,
        } = counts;
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

fn repeats(calls: &[(CallId, String)]) -> Vec<Value> {
    let calls = calls.iter();
    let calls = calls.map(|(call, tool)| json!({ "call": call, "tool": tool }));
    calls.collect()
}

fn names(nodes: &[NodeName]) -> String {
    if nodes.is_empty() {
        return "the end".to_owned();
    }
    let names: Vec<_> = nodes.iter().map(|node| line(node.as_str())).collect();
    names.join(", ")
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
