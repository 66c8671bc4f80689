//! An answer and the deltas that it is sent as.

use std::{iter, ops::Deref, sync::Arc};

use rustagents_core::{
    message::{Message, Usage},
    model::{FinishReason, ModelDelta, ModelRequest},
};

/// The most bytes of one delta.
const PIECE_BYTES: usize = 64 << 10;

/// The characters of one token.
const TOKEN_CHARACTERS: u64 = 4;

/// A whole answer, to be sent.
#[derive(Debug)]
pub(super) struct Answer {
    text: String,
    calls: Vec<Call>,
    usage: Usage,
    finish: FinishReason,
}

/// A call, made so many times.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) name: Arc<str>,
    pub(super) arguments: Arc<str>,
    pub(super) repeat: usize,
}

impl Answer {
    pub(super) fn new(
        request: ModelRequest<'_>,
        text: String,
        calls: Vec<Call>,
        finish: Option<FinishReason>,
    ) -> Self {
        let output = calls.iter().fold(characters(&text), |sum, call| {
            let once = characters(&call.name) + characters(&call.arguments);
            let times = u64::try_from(call.repeat).unwrap_or(u64::MAX);
            sum.saturating_add(once.saturating_mul(times))
        });
        let usage = Usage {
            input_tokens: read(request).div_ceil(TOKEN_CHARACTERS),
            output_tokens: output.div_ceil(TOKEN_CHARACTERS),
            ..Usage::default()
        };
        let usual = if calls.is_empty() {
            FinishReason::Stop
        } else {
            FinishReason::ToolCalls
        };
        Self {
            text,
            calls,
            usage,
            finish: finish.unwrap_or(usual),
        }
    }

    /// The text by words, the calls one after the other, usage and reason. Each
    /// delta is made when it is asked for.
    pub(super) fn into_deltas(self) -> impl Iterator<Item = ModelDelta> + Send {
        let calls = self.calls.into_iter().flat_map(|call| {
            let repeat = call.repeat;
            iter::repeat_n(call, repeat)
        });
        pieces(self.text, word_end)
            .map(ModelDelta::Text)
            .chain(
                calls
                    .enumerate()
                    .flat_map(|(index, call)| call.into_deltas(index)),
            )
            .chain([
                ModelDelta::Usage(self.usage),
                ModelDelta::Finish(self.finish),
            ])
    }
}

impl Call {
    /// The name and an id first, then the arguments piece by piece.
    fn into_deltas(self, index: usize) -> impl Iterator<Item = ModelDelta> + Send {
        let head = ModelDelta::Call {
            index,
            wire_id: Some(format!("call_{}", index.saturating_add(1))),
            name: Some(self.name.as_ref().to_owned()),
            arguments: String::new(),
        };
        let arguments = pieces(self.arguments, str::len).map(move |arguments| ModelDelta::Call {
            index,
            wire_id: None,
            name: None,
            arguments,
        });
        iter::once(head).chain(arguments)
    }
}

/// Cuts `text` where `end` says that its first piece ends, again and again; a
/// piece is never longer than [`PIECE_BYTES`].
fn pieces<T>(text: T, end: fn(&str) -> usize) -> impl Iterator<Item = String> + Send
where
    T: Deref<Target = str> + Send,
{
    let mut at = 0;
    iter::from_fn(move || {
        let rest = text.get(at..)?;
        let window = rest.get(..rest.floor_char_boundary(PIECE_BYTES))?;
        let piece = window.get(..end(window))?;
        at += piece.len();
        (!piece.is_empty()).then(|| piece.to_owned())
    })
}

/// Where the first word and the white space after it end.
fn word_end(text: &str) -> usize {
    let word = text.find(char::is_whitespace).unwrap_or(text.len());
    let space = text.get(word..).unwrap_or_default();
    word + space
        .find(|c: char| !c.is_whitespace())
        .unwrap_or(space.len())
}

/// The characters that the model reads.
fn read(request: ModelRequest<'_>) -> u64 {
    let messages: u64 = request
        .messages
        .iter()
        .map(|message| characters_of(message))
        .sum();
    characters(request.instructions) + messages
}

fn characters_of(message: &Message) -> u64 {
    let calls = message.calls().iter();
    let calls: u64 = calls
        .map(|call| characters(&call.name) + characters(&call.arguments))
        .sum();
    characters(&message.text()) + calls
}

fn characters(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}
