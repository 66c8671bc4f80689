//! What a person sees of a run while it goes on: lines that stay, and what is at
//! work now.

use std::{collections::BTreeMap, time::Duration};

use rustagents_core::{
    ask::Ask,
    event::{AgentEvent, Event},
    ids::{NodeName, TaskId},
};

use super::person::{BAD, DIM, GOOD, WAIT, line};

/// The width of a node's name.
const NAME: usize = 12;

/// The tasks at work, as the events tell of them.
#[derive(Debug)]
pub(crate) struct Progress {
    verbose: bool,
    /// The person knows the thread's name already.
    named: bool,
    tasks: BTreeMap<String, Task>,
}

#[derive(Debug)]
struct Task {
    node: NodeName,
    doing: String,
    tokens: u64,
}

impl Progress {
    pub(crate) fn new(verbose: bool, named: bool) -> Self {
        Self {
            verbose,
            named,
            tasks: BTreeMap::new(),
        }
    }

    /// The line that shows `event`, if it is shown.
    pub(crate) fn hear(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::RunStarted { thread, attempt } => {
                let shown = self.verbose || !(self.named || *attempt > 1);
                shown.then(|| format!("{DIM}thread {}{DIM:#}", line(thread.as_str())))
            }
            Event::DefinitionChanged { .. } => Some(format!(
                "{WAIT}the plan is not the one of the last attempt; going on with the new one{WAIT:#}"
            )),
            Event::Forced { what, why } => Some(format!(
                "{WAIT}going on without {}: {}{WAIT:#}",
                line(what),
                line(why)
            )),
            Event::NodeStarted { node, task } => {
                self.begin(node, task);
                None
            }
            Event::NodeCompleted {
                node,
                task,
                took,
                summary,
            } => {
                let tokens = self.end(task);
                Some(completed(node, summary, *took, tokens))
            }
            Event::NodeFailed {
                node,
                task,
                message,
            } => {
                self.end(task);
                let message = line(message);
                Some(format!("{BAD}✘{BAD:#} {:NAME$} {message}", node.as_str()))
            }
            Event::StepRepeated { node, step, .. } => Some(format!(
                "{WAIT}↻{WAIT:#} {:NAME$} step {} has another input, and is executed again",
                node.as_str(),
                line(step)
            )),
            Event::NodeSuspended { task, asks, .. } => {
                self.end(task);
                let lines = asks.iter().map(waiting).collect::<Vec<_>>();
                (!lines.is_empty()).then(|| lines.join("\n"))
            }
            Event::Agent { task, event } => self.agent(task, event),
            _ => None,
        }
    }

    /// What is at work, in one line; nothing where nothing is.
    pub(crate) fn at_work(&self) -> String {
        let tasks = self.tasks.values().map(|task| match &*task.doing {
            "" => line(task.node.as_str()),
            doing => format!("{}: {}", line(task.node.as_str()), line(doing)),
        });
        tasks.collect::<Vec<_>>().join(", ")
    }

    fn begin(&mut self, node: &NodeName, task: &TaskId) {
        let begun = Task {
            node: node.clone(),
            doing: String::new(),
            tokens: 0,
        };
        self.tasks.insert(task.to_string(), begun);
    }

    /// The tokens that the task consumed in this attempt.
    fn end(&mut self, task: &TaskId) -> u64 {
        let ended = self.tasks.remove(&task.to_string());
        ended.map_or(0, |task| task.tokens)
    }

    fn agent(&mut self, name: &str, event: &AgentEvent) -> Option<String> {
        let shown = match event {
            AgentEvent::ToolDispatched { call, tool, .. } if self.verbose => {
                Some(format!("{DIM}  {name}: {tool} ({call}){DIM:#}"))
            }
            _ => None,
        };
        let task = self.tasks.get_mut(name)?;
        match event {
            AgentEvent::StepStarted { .. } => "model".clone_into(&mut task.doing),
            AgentEvent::ToolDispatched { tool, .. } => tool.clone_into(&mut task.doing),
            AgentEvent::ToolCompleted { .. } => task.doing.clear(),
            AgentEvent::ModelResponded { usage, .. } => {
                let usage = usage.unwrap_or_default();
                task.tokens += usage.input_tokens + usage.output_tokens;
                task.doing.clear();
            }
            _ => {}
        }
        shown
    }
}

fn completed(node: &NodeName, summary: &str, took: Duration, tokens: u64) -> String {
    let cost = match tokens {
        0 => String::new(),
        tokens => format!(", {tokens} tokens"),
    };
    format!(
        "{GOOD}✔{GOOD:#} {:NAME$} {}  {DIM}{}{cost}{DIM:#}",
        node.as_str(),
        line(summary),
        duration(took)
    )
}

fn waiting(ask: &Ask) -> String {
    let call = ask
        .call()
        .map(|subject| format!("  {DIM}(call {}){DIM:#}", subject.call));
    format!(
        "{WAIT}⏸{WAIT:#} {:NAME$} {}{}",
        ask.node.as_str(),
        line(&ask.prompt),
        call.unwrap_or_default()
    )
}

/// `210 ms`, `1.2 s`, `2 min 5 s`.
fn duration(took: Duration) -> String {
    match took.as_secs() {
        0 => format!("{} ms", took.as_millis()),
        1..60 => format!("{:.1} s", took.as_secs_f64()),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_the_unit_that_a_person_would_choose() {
        let shown = |ms| duration(Duration::from_millis(ms));
        assert_eq!(
            [shown(0), shown(999), shown(1_240), shown(125_000)],
            ["0 ms", "999 ms", "1.2 s", "2 min 5 s"]
        );
    }
}
