//! What the agents say into the conversation, as it comes.

use std::collections::{BTreeMap, VecDeque};

use rustagents_core::event::{AgentEvent, Event};

/// The most bytes that are kept of an agent that speaks while another does, and of the
/// lines that wait for the end of a text.
const MAX_KEPT: usize = 64 << 10;

/// Sorts the text of agents that may speak at once, and the lines about them: one is
/// heard at a time, the others when it is done, and no line falls into a text.
#[derive(Debug)]
pub(crate) struct Speech<F> {
    speaks: F,
    /// The nodes of the tasks that are at work and may speak.
    tasks: BTreeMap<String, Speaker>,
    /// What is shown once the text that is heard ends.
    held: VecDeque<Held>,
    /// Who is heard.
    heard: Option<String>,
    last: Option<String>,
}

#[derive(Debug, Default)]
struct Speaker {
    /// The text of its last turn.
    turn: String,
    /// It is in the middle of that text.
    is_speaking: bool,
    /// It has said something in any turn.
    has_spoken: bool,
    /// What is to be heard when its time comes.
    kept: String,
}

/// What waits for the end of a text.
#[derive(Debug)]
enum Held {
    /// What somebody said who is done.
    Said(Speaker),
    /// A line about what happened.
    Line(String),
}

/// What is to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// More of a text.
    Text(String),
    /// The text ends here.
    End,
    /// A line about what happened.
    Line(String),
}

impl<F: Fn(&str) -> bool> Speech<F> {
    /// `speaks` tells whether a node's agent speaks into the conversation.
    pub(crate) fn new(speaks: F) -> Self {
        Self {
            speaks,
            tasks: BTreeMap::new(),
            held: VecDeque::new(),
            heard: None,
            last: None,
        }
    }

    /// What of `event` is to be shown. `line` says what happened, given whether its
    /// task's words are shown anyway, so that nothing is said twice.
    pub(crate) fn hear(
        &mut self,
        event: &Event,
        line: impl FnOnce(bool) -> Option<String>,
    ) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let task = match event {
            Event::NodeCompleted { task, .. }
            | Event::NodeFailed { task, .. }
            | Event::NodeSuspended { task, .. } => task.to_string(),
            event => {
                pieces.extend(line(false).and_then(|line| self.line(line)));
                self.speak(event, &mut pieces);
                return pieces;
            }
        };
        let ended = self.tasks.remove(&task).unwrap_or_default();
        let line = line(ended.has_spoken);
        if self.heard.as_ref() == Some(&task) {
            pieces.push(Piece::End);
            pieces.extend(line.map(Piece::Line));
            self.heard = None;
            self.last = Some(ended.turn);
            self.release(&mut pieces);
            self.let_another_speak(&mut pieces);
            return pieces;
        }
        if !ended.kept.is_empty() {
            self.held.push_back(Held::Said(ended));
        }
        pieces.extend(line.and_then(|line| self.line(line)));
        if !self.is_in_text() {
            self.release(&mut pieces);
        }
        pieces
    }

    /// What was still to be shown.
    pub(crate) fn rest(&mut self) -> Vec<Piece> {
        let mut pieces = vec![Piece::End];
        self.release(&mut pieces);
        pieces
    }

    /// The last text that was shown to its end.
    pub(crate) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    fn speak(&mut self, event: &Event, pieces: &mut Vec<Piece>) {
        match event {
            Event::NodeStarted { node, task } if (self.speaks)(node.as_str()) => {
                self.tasks.insert(task.to_string(), Speaker::default());
            }
            Event::Agent { task, event } => self.agent(task, event, pieces),
            _ => {}
        }
    }

    fn agent(&mut self, task: &str, event: &AgentEvent, pieces: &mut Vec<Piece>) {
        let Some(speaker) = self.tasks.get_mut(task) else {
            return;
        };
        let is_heard = self.heard.as_deref().is_none_or(|heard| heard == task);
        match event {
            AgentEvent::TextDelta { text } => {
                speaker.take(text, !is_heard);
                if is_heard {
                    self.heard = Some(task.to_owned());
                    pieces.push(Piece::Text(text.clone()));
                }
            }
            AgentEvent::StepStarted { .. } | AgentEvent::ModelResponded { .. } => {
                let ends = std::mem::take(&mut speaker.is_speaking);
                if matches!(event, AgentEvent::StepStarted { .. }) {
                    speaker.turn.clear();
                }
                if ends && is_heard {
                    pieces.push(Piece::End);
                    self.release(pieces);
                }
            }
            _ => {}
        }
    }

    /// A line that can be shown now; one that would fall into a text waits for its end,
    /// unless too many do.
    fn line(&mut self, line: String) -> Option<Piece> {
        let waiting = |held: &Held| match held {
            Held::Said(_) => 0,
            Held::Line(line) => line.len(),
        };
        let waiting: usize = self.held.iter().map(waiting).sum();
        let waits = self.is_in_text() || !self.held.is_empty();
        if waits && waiting + line.len() <= MAX_KEPT {
            self.held.push_back(Held::Line(line));
            return None;
        }
        Some(Piece::Line(line))
    }

    fn is_in_text(&self) -> bool {
        let heard = self.heard.as_ref().and_then(|task| self.tasks.get(task));
        heard.is_some_and(|speaker| speaker.is_speaking)
    }

    /// Shows what waited for the end of a text.
    fn release(&mut self, pieces: &mut Vec<Piece>) {
        for held in self.held.drain(..) {
            match held {
                Held::Said(speaker) => {
                    pieces.extend([Piece::Text(speaker.kept), Piece::End]);
                    self.last = Some(speaker.turn);
                }
                Held::Line(line) => pieces.push(Piece::Line(line)),
            }
        }
    }

    /// The next one that has said something is heard from its beginning.
    fn let_another_speak(&mut self, pieces: &mut Vec<Piece>) {
        let next = self.tasks.iter_mut().find(|(_, s)| !s.kept.is_empty());
        if let Some((task, speaker)) = next {
            pieces.push(Piece::Text(std::mem::take(&mut speaker.kept)));
            if !speaker.is_speaking {
                pieces.push(Piece::End);
            }
            self.heard = Some(task.clone());
        }
    }
}

impl Speaker {
    /// Takes in more of its text, which is kept where another one is heard.
    fn take(&mut self, text: &str, is_kept: bool) {
        if !self.is_speaking {
            self.turn.clear();
        }
        if is_kept && self.kept.len() + text.len() < MAX_KEPT {
            if !self.is_speaking && !self.kept.is_empty() {
                self.kept.push('\n');
            }
            self.kept.push_str(text);
        }
        self.turn.push_str(text);
        self.is_speaking = true;
        self.has_spoken = true;
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

    fn responded(node: &str) -> Event {
        Event::Agent {
            task: task(node).to_string(),
            event: AgentEvent::ModelResponded {
                step: 1,
                usage: None,
            },
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
            for piece in speech.hear(event, |_| None) {
                match piece {
                    Piece::Text(text) => screen.push_str(&text),
                    Piece::End => screen.push('|'),
                    Piece::Line(line) => panic!("{line}"),
                }
            }
        }
        (screen, speech.last().map(str::to_owned))
    }

    /// The same with a line for each task that ends, which says `again` where its words
    /// are not shown anyway.
    fn lines(events: &[Event]) -> String {
        let mut speech = Speech::new(|_: &str| true);
        let mut screen = String::new();
        let mut in_text = false;
        let mut pieces = Vec::new();
        for event in events {
            pieces.extend(speech.hear(event, |is_shown| match event {
                Event::NodeCompleted { node, .. } if is_shown => Some(format!("<{node}>")),
                Event::NodeCompleted { node, .. } => Some(format!("<{node} again>")),
                _ => None,
            }));
        }
        pieces.extend(speech.rest());
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    in_text = true;
                    screen.push_str(&text);
                }
                Piece::End => {
                    if std::mem::take(&mut in_text) {
                        screen.push('|');
                    }
                }
                Piece::Line(line) => {
                    assert!(!in_text, "a line falls into a text: {screen}{line}");
                    screen.push_str(&line);
                }
            }
        }
        screen
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
    fn a_line_about_another_waits_for_the_end_of_a_text_and_stands_behind_its_own() {
        let events = [
            started("a"),
            started("b"),
            started("c"),
            said("a", "one "),
            completed("c"),
            said("b", "three"),
            responded("b"),
            completed("b"),
            said("a", "two"),
            responded("a"),
            completed("a"),
        ];
        assert_eq!(lines(&events), "one two|<c again>three|<b><a>");
    }

    #[test]
    fn a_line_between_two_turns_waits_for_nothing() {
        let events = [
            started("a"),
            started("b"),
            said("a", "one"),
            responded("a"),
            said("b", "three"),
            responded("b"),
            step("b"),
            said("b", "four"),
            responded("b"),
            completed("b"),
            step("a"),
            said("a", "two"),
            completed("a"),
        ];
        assert_eq!(lines(&events), "one|three\nfour|<b>two|<a>");
    }

    #[test]
    fn what_waits_when_all_stops_is_shown() {
        let events = [started("a"), started("b"), said("a", "one"), completed("b")];
        assert_eq!(lines(&events), "one|<b again>");
    }

    #[test]
    fn nobody_is_kept_beyond_the_limit() {
        let flood = "x".repeat(MAX_KEPT);
        let events = [
            started("a"),
            started("b"),
            said("a", "a"),
            said("b", &flood[1..]),
            said("b", "more"),
            completed("a"),
        ];
        assert_eq!(shown(&events).0, format!("a|{}", &flood[1..]));
    }
}
