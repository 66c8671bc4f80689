//! What came of a program that ended: a value, or a failure.

use std::{collections::VecDeque, os::unix::process::ExitStatusExt, process::ExitStatus};

use rustagents_core::{
    canonical::Canonical,
    tool::{EffectClass, ToolError, ToolErrorKind},
};
use serde_json::{Map, Value};

use crate::hex::hex;

use super::{
    declaration::Output,
    pump::{Head, Tail},
};

/// The most of a program's errors that a failure repeats, in characters.
const MAX_SAID: usize = 500;

/// How a call reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) output: Output,
    pub(super) effect: EffectClass,
    /// The most bytes of a result.
    pub(super) limit: usize,
}

/// What is known of a program that ended.
#[derive(Debug)]
pub(super) struct Ended<'a> {
    pub(super) status: ExitStatus,
    pub(super) head: &'a Head,
    pub(super) tail: &'a Tail,
}

impl Report {
    /// Whether a bad end is a failure. Where a program changes something, it is
    /// a result: how it ended is known, and what it did is not undone.
    pub(super) fn is_strict(self) -> bool {
        self.effect == EffectClass::Repeatable
    }

    /// What the call returns.
    pub(super) fn of(self, ended: &Ended<'_>) -> Result<Value, ToolError> {
        if self.is_strict() {
            self.strictly(ended)
        } else {
            Ok(self.whatever(ended))
        }
    }

    fn strictly(self, ended: &Ended<'_>) -> Result<Value, ToolError> {
        if ended.head.over {
            return Err(self.too_large());
        }
        if !ended.status.success() {
            return Err(failed(how(ended)));
        }
        let mut result = ended.frame();
        match self.output {
            Output::Text => result.insert("stdout".into(), ended.whole()),
            Output::Json => result.insert("output".into(), ended.json().map_err(failed)?),
        };
        let result = Value::Object(result);
        if result.to_string().len() > self.limit {
            return Err(self.too_large());
        }
        Ok(result)
    }

    fn whatever(self, ended: &Ended<'_>) -> Value {
        let mut frame = ended.frame();
        if ended.head.over {
            return self.cut(frame, ended);
        }
        let json = (self.output == Output::Json).then(|| ended.json());
        let (key, content) = match json {
            Some(Ok(value)) => ("output", value),
            // A program that fails need not write what it would have.
            Some(Err(reason)) if ended.status.success() => {
                frame.insert("error".into(), reason.into());
                ("stdout", ended.whole())
            }
            _ => ("stdout", ended.whole()),
        };
        let mut whole = frame.clone();
        whole.insert(key.into(), content);
        let whole = Value::Object(whole);
        if whole.to_string().len() <= self.limit {
            return whole;
        }
        self.cut(frame, ended)
    }

    /// The result with as much of the output as there is room for.
    fn cut(self, mut frame: Map<String, Value>, ended: &Ended<'_>) -> Value {
        frame.insert("truncated".into(), true.into());
        frame.insert("stdout".into(), "".into());
        let taken = Value::Object(frame.clone()).to_string().len();
        let room = self.limit.saturating_sub(taken);
        frame.insert("stdout".into(), ended.part(room));
        Value::Object(frame)
    }

    pub(super) fn too_large(self) -> ToolError {
        let message = format!("the output is over {} bytes", self.limit);
        ToolError::unknown(ToolErrorKind::OutputTooLarge, message)
    }
}

impl Ended<'_> {
    /// How it ended, and what it said about that.
    fn frame(&self) -> Map<String, Value> {
        let mut frame = Map::new();
        match (self.status.code(), self.status.signal()) {
            (Some(status), _) => frame.insert("status".into(), status.into()),
            (None, signal) => frame.insert("signal".into(), signal.into()),
        };
        let said = said(self.tail);
        if !said.is_empty() {
            frame.insert("stderr".into(), said.into());
        }
        frame
    }

    /// The whole output: a text, or bytes that are none.
    fn whole(&self) -> Value {
        let bytes = &self.head.bytes;
        std::str::from_utf8(bytes).map_or_else(|_| hex(bytes), Value::from)
    }

    /// The start of the output in at most `room` bytes of JSON.
    fn part(&self, room: usize) -> Value {
        let bytes = &self.head.bytes;
        let (text, broken) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) => {
                let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
                // A character that the limit cuts is not a broken one.
                let broken = error.error_len().is_some() || !self.head.over;
                (std::str::from_utf8(valid).unwrap_or_default(), broken)
            }
        };
        if broken {
            // `{"hex":""}` for `""`, and two digits a byte.
            let bytes = bytes.get(..room.saturating_sub(8) / 2);
            return hex(bytes.unwrap_or(&self.head.bytes));
        }
        let mut left = room;
        let fits = text.char_indices().find(|(_, character)| {
            let size = escaped(*character);
            let fits = size <= left;
            left = left.saturating_sub(size);
            !fits
        });
        let end = fits.map_or(text.len(), |(at, _)| at);
        text.get(..end).unwrap_or_default().into()
    }

    /// The output as strict JSON.
    fn json(&self) -> Result<Value, String> {
        let text = std::str::from_utf8(&self.head.bytes)
            .map_err(|_| "the output is not JSON: it is not UTF-8".to_owned())?;
        let value = Canonical::parse(text);
        value
            .map(|value| value.value().clone())
            .map_err(|error| format!("the output is not JSON: {error}"))
    }
}

/// A failure of a program that did its work.
fn failed(message: String) -> ToolError {
    ToolError::unknown(ToolErrorKind::Failed, message)
}

/// How a program ended that should have ended otherwise, on one line.
fn how(ended: &Ended<'_>) -> String {
    let end = match (ended.status.code(), ended.status.signal()) {
        (Some(status), _) => format!("the program ended with status {status}"),
        (None, Some(signal)) => format!("the program was ended by signal {signal}"),
        (None, None) => "the program did not end well".into(),
    };
    let said = said(ended.tail);
    let words: Vec<_> = said
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let line = words.join(" ");
    let surplus = line.chars().count().saturating_sub(MAX_SAID);
    let last: String = line.chars().skip(surplus).collect();
    match (last.is_empty(), surplus) {
        (true, _) => end,
        (false, 0) => format!("{end}: {last}"),
        (false, _) => format!("{end}: … {last}"),
    }
}

/// The end of what a program wrote as errors. They are for reading, so what is
/// not UTF-8 is replaced.
fn said(tail: &Tail) -> String {
    let is_middle = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let bytes: &VecDeque<u8> = &tail.bytes;
    // The limit may have cut a character, which has at most three bytes more.
    let cut = bytes.iter().take(3).take_while(is_middle).count();
    let skipped = if tail.over { cut } else { 0 };
    let bytes: Vec<u8> = bytes.iter().skip(skipped).copied().collect();
    let text = String::from_utf8_lossy(&bytes);
    if tail.over {
        format!("… {text}")
    } else {
        text.into_owned()
    }
}

/// The bytes of a character in a JSON string.
fn escaped(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_character_is_that_of_json() {
        for character in ('\0'..='\u{100}').chain(['€', '🙂', '\u{2028}']) {
            let text = Value::from(character.to_string()).to_string();
            assert_eq!(escaped(character), text.len() - 2, "{character:?}");
        }
    }
}
