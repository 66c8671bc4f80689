//! The event-stream grammar: bytes in, whole events out.

use std::mem;

/// An event with data.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// Its type, empty where it has none.
    pub(super) kind: String,
    /// Its data, lines joined.
    pub(super) data: String,
}

/// A line, or the data of an event, is longer than allowed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Collects bytes until an event is whole. What it holds never grows past its
/// limit, but for a factor.
#[derive(Debug)]
pub(super) struct Decoder {
    limit: usize,
    line: Vec<u8>,
    kind: String,
    data: Option<Vec<u8>>,
    /// The last byte was a carriage return, which a line feed may belong to.
    after_return: bool,
    /// The first line, which may start with a byte-order mark, is still to come.
    first: bool,
}

impl Decoder {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            kind: String::new(),
            data: None,
            after_return: false,
            first: true,
        }
    }

    /// Takes from `bytes` up to the end of an event, or all of them.
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<Event>, TooLong> {
        loop {
            if self.after_return && !bytes.is_empty() {
                self.after_return = false;
                *bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line.len() + part.len() > self.limit {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            let Some((ending, rest)) = rest.split_first() else {
                *bytes = rest;
                return Ok(None);
            };
            *bytes = rest;
            self.after_return = *ending == b'\r';
            if let Some(event) = self.end_of_line()? {
                return Ok(Some(event));
            }
        }
    }

    /// The last event, where the stream ended without a blank line.
    pub(super) fn last(&mut self) -> Result<Option<Event>, TooLong> {
        if !self.line.is_empty() {
            self.end_of_line()?;
        }
        Ok(self.dispatch())
    }

    fn end_of_line(&mut self) -> Result<Option<Event>, TooLong> {
        let mut line = mem::take(&mut self.line);
        if mem::take(&mut self.first) && line.starts_with("\u{feff}".as_bytes()) {
            line.drain(.."\u{feff}".len());
        }
        if line.is_empty() {
            // The buffer is worth keeping: blank lines come between all events.
            self.line = line;
            return Ok(self.dispatch());
        }
        let result = self.field(&line);
        line.clear();
        self.line = line;
        result.map(|()| None)
    }

    /// Takes in a line that is not blank. A comment is a field without a name.
    fn field(&mut self, line: &[u8]) -> Result<(), TooLong> {
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => self.more_data(value),
            b"event" => {
                self.kind = String::from_utf8_lossy(value).into_owned();
                Ok(())
            }
            // A server of the wire reports its failures in a field of this name.
            b"error" => {
                "error".clone_into(&mut self.kind);
                self.more_data(value)
            }
            _ => Ok(()),
        }
    }

    fn more_data(&mut self, value: &[u8]) -> Result<(), TooLong> {
        let data = match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data
            }
            None => self.data.insert(Vec::new()),
        };
        if data.len() + value.len() > self.limit {
            return Err(TooLong);
        }
        data.extend_from_slice(value);
        Ok(())
    }

    fn dispatch(&mut self) -> Option<Event> {
        let kind = mem::take(&mut self.kind);
        let data = self.data.take()?;
        let data = String::from_utf8_lossy(&data).into_owned();
        Some(Event { kind, data })
    }
}
