//! What the agents say into the conversation, as it comes.

use std::collections::{BTreeMap, VecDeque};

use rustagents_core::event::{AgentEvent, Event};

/// The most bytes that are kept of an agent that speaks while another does.
const MAX_KEPT: usize = 64 << 10;

/// Sorts the text of agents that may speak at once: one is heard at a time, the
/// others when it is done.
#[derive(Debug)]
pub(crate) struct Speech<F> {
    speaks: F,
    /// The nodes of the tasks that are at work and may speak.
    tasks: BTreeMap<String, Speaker>,
    /// What those said who ended while another was heard.
    ended: VecDeque<Speaker>,
    /// Who is heard.
    heard: Option<String>,
    last: Option<String>,
}

#[derive(Debug, Default)]
struct Speaker {
    /// The text of its last turn.
    turn: String,
    /// What is to be heard when its time comes.
    kept: String,
}

/// What is to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// More of a text.
    Text(String),
    /// The text ends here.
    End,
}

impl<F: Fn(&str) -> bool> Speech<F> {
    /// `speaks` tells whether a node's agent speaks into the conversation.
    pub(crate) fn new(speaks: F) -> Self {
        Self {
            speaks,
            tasks: BTreeMap::new(),
            ended: VecDeque::new(),
            heard: None,
            last: None,
        }
    }

    /// What of `event` is to be shown.
    pub(crate) fn hear(&mut self, event: &Event) -> Vec<Piece> {
        match event {
            Event::NodeStarted { node, task } if (self.speaks)(node.as_str()) => {
                self.tasks.insert(task.to_string(), Speaker::default());
                Vec::new()
            }
            Event::Agent { task, event } => self.agent(task, event),
            Event::NodeCompleted { task, .. }
            | Event::NodeFailed { task, .. }
            | Event::NodeSuspended { task, .. } => self.end(&task.to_string()),
            _ => Vec::new(),
        }
    }

    /// The last text that was shown to its end.
    pub(crate) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    fn agent(&mut self, task: &str, event: &AgentEvent) -> Vec<Piece> {
        let Some(speaker) = self.tasks.get_mut(task) else {
            return Vec::new();
        };
        let is_heard = self.heard.as_deref().is_none_or(|heard| heard == task);
        match event {
            AgentEvent::TextDelta { text } => {
                speaker.turn.push_str(text);
                if is_heard {
                    self.heard = Some(task.to_owned());
                    return vec![Piece::Text(text.clone())];
                }
                if speaker.kept.len() + text.len() <= MAX_KEPT {
                    speaker.kept.push_str(text);
                }
                Vec::new()
            }
            AgentEvent::StepStarted { .. } if !speaker.turn.is_empty() => {
                speaker.turn.clear();
                if self.heard.as_deref() == Some(task) {
                    return vec![Piece::End];
                }
                speaker.kept.push('\n');
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn end(&mut self, task: &str) -> Vec<Piece> {
        let Some(ended) = self.tasks.remove(task) else {
            return Vec::new();
        };
        let mut pieces = Vec::new();
        if self.heard.as_deref() == Some(task) {
            pieces.push(Piece::End);
            self.heard = None;
            self.last = Some(ended.turn);
            self.let_another_speak(&mut pieces);
        } else if !ended.kept.is_empty() {
            self.ended.push_back(ended);
        }
        pieces
    }

    /// Those that ended meanwhile are heard to their end, and the next one that has said something is heard from its beginning.
    fn let_another_speak(&mut self, pieces: &mut Vec<Piece>) {
        for ended in self.ended.drain(..) {
            pieces.extend([Piece::Text(ended.kept), Piece::End]);
            self.last = Some(ended.turn);
        }
        let next = self.tasks.iter_mut().find(|(_, s)| !s.kept.is_empty());
        if let Some((task, speaker)) = next {
            pieces.push(Piece::Text(std::mem::take(&mut speaker.kept)));
            self.heard = Some(task.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustagents_core::ids::{NodeName, TaskId};

    use super::*;

    fn task(node: &str) -> TaskId {
        TaskId::derive(&NodeName::from(node), 1, 0)
    }

    fn started(node: &str) -> Event {
        Event::NodeStarted {
            node: node.into(),
            task: task(node),
        }
    }

    fn completed(node: &str) -> Event {
        Event::NodeCompleted {
            node: node.into(),
            task: task(node),
            took: Duration::ZERO,
            summary: String::new(),
        }
    }

    fn said(node: &str, text: &str) -> Event {
        Event::Agent {
            task: task(node).to_string(),
            event: AgentEvent::TextDelta { text: text.into() },
        }
    }

    fn step(node: &str) -> Event {
        Event::Agent {
            task: task(node).to_string(),
            event: AgentEvent::StepStarted { step: 2 },
        }
    }

    fn shown(events: &[Event]) -> (String, Option<String>) {
        let mut speech = Speech::new(|node: &str| node != "silent");
        let mut screen = String::new();
        for event in events {
            for piece in speech.hear(event) {
                match piece {
                    Piece::Text(text) => screen.push_str(&text),
                    Piece::End => screen.push('|'),
                }
            }
        }
        (screen, speech.last().map(str::to_owned))
    }

    #[test]
    fn text_is_shown_as_it_comes_and_ends_with_its_turn() {
        let events = [
            started("a"),
            said("a", "let me "),
            said("a", "look"),
            step("a"),
            said("a", "found"),
            completed("a"),
        ];
        assert_eq!(
            shown(&events),
            ("let me look|found|".into(), Some("found".into()))
        );
    }

    #[test]
    fn an_agent_whose_answer_is_for_a_channel_is_not_heard() {
        let events = [
            started("silent"),
            said("silent", "refund"),
            completed("silent"),
        ];
        assert_eq!(shown(&events), (String::new(), None));
    }

    #[test]
    fn of_two_at_once_the_second_is_heard_from_its_beginning_when_the_first_is_done() {
        let events = [
            started("a"),
            started("b"),
            said("a", "one "),
            said("b", "three "),
            said("a", "two"),
            completed("a"),
            said("b", "four"),
            completed("b"),
        ];
        assert_eq!(
            shown(&events),
            ("one two|three four|".into(), Some("three four".into()))
        );
    }

    #[test]
    fn one_that_ends_while_another_is_heard_is_heard_after_it() {
        let events = [
            started("a"),
            started("b"),
            said("a", "one "),
            said("b", "three"),
            completed("b"),
            said("a", "two"),
            completed("a"),
        ];
        assert_eq!(
            shown(&events),
            ("one two|three|".into(), Some("three".into()))
        );
    }

    #[test]
    fn nobody_is_kept_beyond_the_limit() {
        let flood = "x".repeat(MAX_KEPT);
        let events = [
            started("a"),
            started("b"),
            said("a", "a"),
            said("b", &flood),
            said("b", "more"),
            completed("a"),
        ];
        assert_eq!(shown(&events).0, format!("a|{flood}"));
    }
}
