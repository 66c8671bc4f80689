//! A request becomes bytes: the same request, the same bytes.

use std::collections::HashMap;

use rustagents_core::{
    canonical::Canonical,
    ids::CallId,
    message::{Message, MessageBody, Role, ToolCall},
    model::ModelRequest,
    tool::ToolSpec,
};
use serde_json::{Value, json};

use super::{Dialect, failure::Failure, wire};

/// What is said between two answers, and after the last one. Servers take answers for
/// turns that alternate with others, and one at the end for the beginning of the next.
const TURN: &str = "Go on.";

/// Under which key text stands that is not the JSON object it should be.
const INVALID: &str = "INVALID_JSON";

/// The body of `request`, for the server's `model`.
pub(super) fn request(
    model: &str,
    dialect: &Dialect,
    request: ModelRequest<'_>,
) -> Result<Vec<u8>, Failure> {
    let options = wire::StreamOptions {
        include_usage: true,
    };
    let body = wire::Request {
        model,
        stream: true,
        stream_options: dialect.quirks.asks_for_usage.then_some(options),
        tools: request.tools.iter().map(|spec| tool(spec)).collect(),
        messages: messages(request, dialect.quirks.max_call_id_bytes),
    };
    serde_json::to_vec(&body).map_err(Failure::Encode)
}

fn tool(spec: &ToolSpec) -> wire::Tool<'_> {
    let mut parameters = spec.input_schema.clone();
    if let Value::Object(schema) = &mut parameters {
        // Some servers refuse an object without them.
        schema.entry("properties").or_insert_with(|| json!({}));
    }
    wire::Tool::Function {
        name: &spec.name,
        description: &spec.description,
        parameters,
    }
}

fn messages(request: ModelRequest<'_>, max_id: usize) -> Vec<wire::Message<'_>> {
    let ids = wire_ids(request, max_id);
    let system = (!request.instructions.is_empty()).then_some(wire::Message::System {
        content: request.instructions,
    });
    let mut messages: Vec<_> = system.into_iter().collect();
    let next = request.messages.iter().skip(1).map(Some).chain([None]);
    for (said, next) in request.messages.iter().zip(next) {
        messages.extend(message(said, &ids));
        let answers_follow = next.is_none_or(|next| next.role() == Role::Assistant);
        if said.role() == Role::Assistant && said.calls().is_empty() && answers_follow {
            messages.push(wire::Message::User {
                content: TURN.to_owned(),
            });
        }
    }
    messages
}

/// What the server calls each call.
type WireIds<'a> = HashMap<&'a CallId, &'a str>;

fn wire_ids(request: ModelRequest<'_>, max: usize) -> WireIds<'_> {
    let mut ids = HashMap::new();
    for message in request.messages {
        let calls = message.calls();
        ids.extend(
            calls
                .iter()
                .map(|call| (&call.id, wire_id(call, calls, max))),
        );
    }
    ids
}

/// The provider's id of `call`, if it tells the call from its `siblings`.
fn wire_id<'a>(call: &'a ToolCall, siblings: &[ToolCall], max: usize) -> &'a str {
    let alone = siblings
        .iter()
        .filter(|sibling| sibling.wire_id == call.wire_id)
        .count()
        == 1;
    let usable = |id: &&str| alone && (1..=max).contains(&id.len());
    let theirs = call.wire_id.as_deref().filter(usable);
    theirs.unwrap_or(call.id.as_str())
}

/// One message of the wire; `None` for a kind that the wire has no word for.
fn message<'a>(message: &'a Message, ids: &WireIds<'a>) -> Option<wire::Message<'a>> {
    let id = |call: &'a CallId| ids.get(call).copied().unwrap_or(call.as_str());
    Some(match &message.body {
        MessageBody::User { .. } => wire::Message::User {
            content: message.text(),
        },
        MessageBody::Assistant { calls, .. } => {
            let text = message.text();
            wire::Message::Assistant {
                content: (!text.is_empty() || calls.is_empty()).then_some(text),
                tool_calls: calls
                    .iter()
                    .map(|call| self::call(call, id(&call.id)))
                    .collect(),
            }
        }
        MessageBody::Tool { call, .. } => wire::Message::Tool {
            tool_call_id: id(call),
            content: message.text(),
        },
        _ => return None,
    })
}

fn call<'a>(call: &'a ToolCall, id: &'a str) -> wire::Call<'a> {
    wire::Call {
        id,
        function: wire::Function::Function {
            name: &call.name,
            arguments: arguments(&call.arguments),
        },
    }
}

/// A JSON object in canonical form, whatever was recorded.
fn arguments(recorded: &str) -> String {
    if matches!(recorded.trim(), "" | "null") {
        return "{}".to_owned();
    }
    match Canonical::parse(recorded) {
        Ok(arguments) if arguments.value().is_object() => arguments.text().to_owned(),
        _ => json!({ INVALID: recorded }).to_string(),
    }
}
