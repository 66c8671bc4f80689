//! Messages: rows of their own, written once and named by id ever after.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    digest::Fields,
    ids::{CallId, MessageId},
};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its id, unique in the thread family.
    pub id: MessageId,
    /// Who says what.
    #[serde(flatten)]
    pub body: MessageBody,
}

/// Who says what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessageBody {
    /// A person, or whatever stands in for one.
    User {
        /// What is said.
        content: Vec<ContentBlock>,
    },
    /// The model.
    Assistant {
        /// What is said; may be empty beside calls.
        content: Vec<ContentBlock>,
        /// The calls that it asks for, in its order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// The one result of one call.
    Tool {
        /// The call that is answered.
        call: CallId,
        /// The tool's name.
        tool: String,
        /// Whether the call did what was asked.
        status: ResultStatus,
        /// The result: JSON text, or an error object.
        content: Vec<ContentBlock>,
    },
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentBlock {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
}

/// Whether a call did what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// It did.
    Ok,
    /// It did not, and the content is an error object.
    Error,
}

/// A call that the model asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Our id, minted when the model's result is recorded.
    pub id: CallId,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments: canonical JSON, or the model's text where that was refused.
    pub arguments: Arc<str>,
    /// The provider's own id of the call, where it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_id: Option<String>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

impl Message {
    /// A user's message of plain text.
    pub fn user(id: MessageId, text: impl Into<String>) -> Self {
        Self {
            id,
            body: MessageBody::User {
                content: text_blocks(text),
            },
        }
    }

    /// An assistant's message of text and calls.
    pub fn assistant(id: MessageId, text: impl Into<String>, calls: Vec<ToolCall>) -> Self {
        Self {
            id,
            body: MessageBody::Assistant {
                content: text_blocks(text),
                calls,
            },
        }
    }

    /// The result of `call`.
    pub fn tool(
        id: MessageId,
        call: CallId,
        tool: impl Into<String>,
        status: ResultStatus,
        text: impl Into<String>,
    ) -> Self {
        let content = text_blocks(text);
        Self {
            id,
            body: MessageBody::Tool {
                call,
                tool: tool.into(),
                status,
                content,
            },
        }
    }

    /// Who speaks.
    pub fn role(&self) -> Role {
        match self.body {
            MessageBody::User { .. } => Role::User,
            MessageBody::Assistant { .. } => Role::Assistant,
            MessageBody::Tool { .. } => Role::Tool,
        }
    }

    /// All its text, joined.
    pub fn text(&self) -> String {
        self.texts().collect()
    }

    /// How many bytes all its text has.
    pub fn text_bytes(&self) -> usize {
        self.texts().map(str::len).sum()
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let (MessageBody::User { content }
        | MessageBody::Assistant { content, .. }
        | MessageBody::Tool { content, .. }) = &self.body;
        content.iter().map(|block| match block {
            ContentBlock::Text { text } => text.as_str(),
        })
    }

    /// The calls of an assistant's message; empty for the others.
    pub fn calls(&self) -> &[ToolCall] {
        match &self.body {
            MessageBody::Assistant { calls, .. } => calls,
            _ => &[],
        }
    }
}

impl MessageBody {
    /// Adds all that a model is told by it to a digest of requests.
    pub fn digest(&self, fields: &mut Fields<'_>) {
        match self {
            Self::User { content } => {
                fields.number(0);
                digest_blocks(content, fields);
            }
            Self::Assistant { content, calls } => {
                fields.number(1);
                digest_blocks(content, fields);
                fields.number(calls.len() as u64);
                for call in calls {
                    call.digest(fields);
                }
            }
            Self::Tool {
                call,
                tool,
                status,
                content,
            } => {
                fields.number(2);
                fields.text(call.as_str());
                fields.text(tool);
                fields.number(u64::from(*status == ResultStatus::Error));
                digest_blocks(content, fields);
            }
        }
    }
}

impl ToolCall {
    fn digest(&self, fields: &mut Fields<'_>) {
        let Self {
            id,
            name,
            arguments,
            wire_id,
        } = self;
        fields.text(id.as_str());
        fields.text(name);
        fields.text(arguments);
        fields.optional(wire_id.as_deref());
    }
}

fn digest_blocks(blocks: &[ContentBlock], fields: &mut Fields<'_>) {
    fields.number(blocks.len() as u64);
    for block in blocks {
        match block {
            ContentBlock::Text { text } => {
                fields.number(0);
                fields.text(text);
            }
        }
    }
}

fn text_blocks(text: impl Into<String>) -> Vec<ContentBlock> {
    let text = text.into();
    if text.is_empty() {
        Vec::new()
    } else {
        vec![ContentBlock::Text { text }]
    }
}

/// What a model call, or a whole run, consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that the model read.
    pub input_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// Of the input, tokens answered from the provider's cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Of the output, tokens of hidden reasoning.
    #[serde(default)]
    pub reasoning_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cached_tokens += other.cached_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::digest::Chained;

    fn text() -> impl Strategy<Value = String> {
        "[ab]{0,2}"
    }

    fn blocks() -> impl Strategy<Value = Vec<ContentBlock>> {
        prop::collection::vec(text().prop_map(|text| ContentBlock::Text { text }), 0..3)
    }

    fn call() -> impl Strategy<Value = ToolCall> {
        let wire_id = prop::option::of(text());
        (text(), text(), text(), wire_id).prop_map(|(id, name, arguments, wire_id)| ToolCall {
            id: id.into(),
            name,
            arguments: arguments.into(),
            wire_id,
        })
    }

    fn body() -> impl Strategy<Value = MessageBody> {
        let calls = prop::collection::vec(call(), 0..3);
        prop_oneof![
            blocks().prop_map(|content| MessageBody::User { content }),
            (blocks(), calls)
                .prop_map(|(content, calls)| MessageBody::Assistant { content, calls }),
            (text(), text(), any::<bool>(), blocks()).prop_map(|(call, tool, ok, content)| {
                let status = if ok {
                    ResultStatus::Ok
                } else {
                    ResultStatus::Error
                };
                let call = call.into();
                MessageBody::Tool {
                    call,
                    tool,
                    status,
                    content,
                }
            }),
        ]
    }

    fn digest(bodies: &[MessageBody]) -> crate::digest::Digest {
        let mut chained = Chained::default();
        for body in bodies {
            chained.push(|fields| body.digest(fields));
        }
        chained.digest()
    }

    proptest! {
        // Few and short texts, so that many pairs are nearly the same.
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn what_differs_has_another_digest(
            one in prop::collection::vec(body(), 0..3),
            other in prop::collection::vec(body(), 0..3),
        ) {
            prop_assert_eq!(digest(&one) == digest(&other), one == other);
        }
    }
}
