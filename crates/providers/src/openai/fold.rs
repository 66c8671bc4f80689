//! Events become deltas.

use std::collections::VecDeque;

use rustagents_core::{
    message::Usage,
    model::{FinishReason, ModelDelta},
};

use super::{
    Secret,
    calls::{Calls, Piece},
    echo::Echo,
    failure::Failure,
    said,
    sse::Event,
    wire,
};

/// An answer so far: as much of it as the next event needs, which is not its text.
#[derive(Debug, Default)]
pub(super) struct Fold {
    calls: Calls,
    echo: Echo,
    usage: Usage,
    said_something: bool,
    declined: bool,
    finished: bool,
}

/// Whether more may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum More {
    Maybe,
    No,
}

type Deltas = VecDeque<ModelDelta>;

impl Fold {
    /// Of the answer to a request that was sent with `key`.
    pub(super) fn keeping(key: Option<&Secret>) -> Self {
        Self {
            echo: Echo::of(key),
            ..Self::default()
        }
    }

    /// Whether the answer is whole, even if no more of the stream comes.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Takes in an event.
    pub(super) fn event(&mut self, event: &Event, out: &mut Deltas) -> Result<More, Failure> {
        match (event.kind.as_str(), event.data.trim()) {
            (_, "[DONE]") => self.done(out).map(|()| More::No),
            ("error", data) => Err(Failure::Provider {
                said: said::in_body(data),
            }),
            // A heartbeat: an event of a type of its own, or without content.
            (_, "") => Ok(More::Maybe),
            ("" | "message", data) => self.chunk(data, out).map(|()| More::Maybe),
            (_, data) if !data.starts_with('{') => Ok(More::Maybe),
            (_, data) => self.chunk(data, out).map(|()| More::Maybe),
        }
    }

    /// Takes in an answer that came in one go.
    pub(super) fn whole(&mut self, data: &str, out: &mut Deltas) -> Result<(), Failure> {
        self.chunk(data, out)?;
        self.done(out)
    }

    /// Ends an answer whose end was announced.
    fn done(&mut self, out: &mut Deltas) -> Result<(), Failure> {
        if self.finished {
            return Ok(());
        }
        let reason = if self.calls.any() {
            FinishReason::ToolCalls
        } else if self.said_something {
            FinishReason::Stop
        } else {
            return Err(Failure::NoAnswer);
        };
        self.finish(reason, out);
        Ok(())
    }

    fn chunk(&mut self, data: &str, out: &mut Deltas) -> Result<(), Failure> {
        let unreadable = |error: serde_json::Error| Failure::Unreadable {
            reason: error.to_string(),
            data: data.to_owned(),
        };
        let chunk: wire::Chunk<'_> = serde_json::from_str(data).map_err(unreadable)?;
        if chunk.error.is_some() || chunk.object.as_deref() == Some("error") {
            return Err(Failure::Provider {
                said: said::in_body(data),
            });
        }
        let choices = chunk.choices.into_iter().flatten().flatten();
        // One answer is asked for; some servers number it, and nothing else.
        let ours = |choice: &wire::Choice<'_>| choice.index.is_none_or(|index| index == 0);
        for choice in choices.filter(ours) {
            if let Some(delta) = choice.delta.or(choice.message) {
                self.delta(delta, out).map_err(|error| match error {
                    Refused::Json(error) => unreadable(error),
                    Refused::Calls(failure) => failure,
                })?;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish(known(self.echo.word(reason)), out);
            }
        }
        if let Some(usage) = chunk.usage {
            self.usage(&usage, out);
        }
        Ok(())
    }

    fn delta(&mut self, delta: wire::Delta<'_>, out: &mut Deltas) -> Result<(), Refused> {
        if !delta.content.is_empty() {
            self.rest_of_refusal(out);
            self.text(delta.content, out);
        }
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            self.declined = true;
            self.said_something = true;
            let refusal = self.echo.refusal(refusal);
            self.text(refusal, out);
        }
        let pieces = delta.tool_calls.into_iter().flatten().flatten();
        let pieces = pieces.map(|delta| piece(delta, &self.echo));
        let pieces: Vec<_> = pieces.collect::<Result<_, _>>()?;
        let tell = |delta| out.push_back(delta);
        self.calls.take(pieces, tell).map_err(Refused::Calls)
    }

    fn rest_of_refusal(&mut self, out: &mut Deltas) {
        let rest = self.echo.rest();
        self.text(rest, out);
    }

    fn text(&mut self, text: String, out: &mut Deltas) {
        if !text.is_empty() {
            self.said_something = true;
            out.push_back(ModelDelta::Text(text));
        }
    }

    /// What was not said keeps its last value; nothing said is no usage at all.
    fn usage(&mut self, said: &wire::Usage, out: &mut Deltas) {
        let prompt = said.prompt_tokens_details.as_ref();
        let completion = said.completion_tokens_details.as_ref();
        let fields = [
            (&mut self.usage.input_tokens, said.prompt_tokens),
            (&mut self.usage.output_tokens, said.completion_tokens),
            (
                &mut self.usage.cached_tokens,
                prompt.and_then(|details| details.cached_tokens),
            ),
            (
                &mut self.usage.reasoning_tokens,
                completion.and_then(|details| details.reasoning_tokens),
            ),
        ];
        let mut known = false;
        for (field, said) in fields {
            if let Some(said) = said {
                *field = said;
                known = true;
            }
        }
        if known {
            out.push_back(ModelDelta::Usage(self.usage));
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Deltas) {
        self.finished = true;
        self.rest_of_refusal(out);
        let reason = match reason {
            FinishReason::Stop if self.declined => FinishReason::Refusal,
            reason => reason,
        };
        out.push_back(ModelDelta::Finish(reason));
    }
}

/// Why a delta is not taken in.
enum Refused {
    Json(serde_json::Error),
    Calls(Failure),
}

impl From<serde_json::Error> for Refused {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

fn piece(delta: wire::CallDelta<'_>, echo: &Echo) -> Result<Piece, serde_json::Error> {
    let function = delta.function.unwrap_or_default();
    Ok(Piece {
        index: delta.index,
        id: echo.word(delta.id.unwrap_or_default()),
        arguments: function.arguments()?,
        name: echo.word(function.name.unwrap_or_default()),
    })
}

fn known(reason: String) -> FinishReason {
    match reason.as_str() {
        "stop" => FinishReason::Stop,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "length" => FinishReason::Length,
        "content_filter" => FinishReason::Refusal,
        _ => FinishReason::Other(reason),
    }
}
