//! Where a conversation is shown: what agents say on standard output, what they
//! do on standard error.

use std::{
    io::{IsTerminal, Write},
    sync::{Arc, Mutex, PoisonError},
};

use rustagents_core::event::{Event, Events};

use crate::{
    chat::speech::{Piece, Speech},
    output::{Output, live::Live, person::shown, progress::Progress},
};

type Speaks = Box<dyn Fn(&str) -> bool + Send>;

/// The screen of one run of a conversation.
#[derive(Clone)]
pub(crate) struct Screen(Arc<Mutex<State>>);

struct State {
    speech: Speech<Speaks>,
    progress: Progress,
    live: Option<Live>,
    /// What is shown is a terminal, on which some characters have powers.
    guarded: bool,
    /// A text has begun and not ended.
    in_text: bool,
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Screen").finish()
    }
}

impl Screen {
    /// A screen on which the nodes speak for which `speaks` holds.
    pub(crate) fn new(output: &Output, speaks: impl Fn(&str) -> bool + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(State {
            speech: Speech::new(Box::new(speaks)),
            progress: Progress::new(output.is_verbose(), true),
            live: (!output.is_quiet()).then(|| output.live()),
            guarded: std::io::stdout().is_terminal(),
            in_text: false,
        })))
    }

    /// Shows what happens.
    pub(crate) fn events(&self) -> Events {
        let screen = self.clone();
        Events::listen(move |event| screen.state(|state| state.show(event)))
    }

    /// Ends what is shown of the run; says what the last agent said.
    pub(crate) fn close(&self) -> Option<String> {
        self.state(|state| {
            let rest = state.speech.rest();
            state.put(rest);
            state.live = None;
            state.speech.last().map(str::to_owned)
        })
    }

    fn state<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn show(&mut self, event: &Event) {
        let progress = &mut self.progress;
        let pieces = self.speech.hear(event, |is_said| match event {
            // What is heard is not said again.
            Event::NodeCompleted {
                node, task, took, ..
            } if is_said => progress.hear(&Event::NodeCompleted {
                node: node.clone(),
                task: task.clone(),
                took: *took,
                summary: String::new(),
            }),
            event => progress.hear(event),
        });
        self.put(pieces);
        if let Some(live) = &mut self.live
            && !self.in_text
        {
            live.show(&self.progress.at_work());
        }
    }

    fn put(&mut self, pieces: Vec<Piece>) {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.text(&text),
                Piece::End => self.end_text(),
                Piece::Line(line) => self.line(&line),
            }
        }
    }

    fn line(&mut self, line: &str) {
        if self.live.is_none() {
            return;
        }
        self.end_text();
        if let Some(live) = &self.live {
            live.say(line);
        }
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(live) = &mut self.live {
            live.hide();
        }
        self.in_text = true;
        if self.guarded {
            write(&shown(text));
        } else {
            write(text);
        }
    }

    fn end_text(&mut self) {
        if std::mem::take(&mut self.in_text) {
            write("\n");
        }
    }
}

/// Writes a part of a line. A reader that went away misses the rest; the run
/// goes on.
fn write(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}
