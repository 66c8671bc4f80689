//! What a request offers to match, and the variables that it gives.

use std::{collections::BTreeMap, fmt, sync::Arc};

use minijinja::Value;
use rustagents_core::{
    message::{Message, MessageBody, ResultStatus, Role},
    model::ModelRequest,
    tool::ToolSpec,
};

/// The variables that no capture may hide.
pub(super) const RESERVED: [&str; 4] = ["answers", "error", "result", "rows"];

/// The most characters of a value in a statement of what there was to match; with
/// its label, a part then stays under 80.
const SHOWN_CHARACTERS: usize = 64;

/// Variables by name.
pub(super) type Variables = BTreeMap<String, Value>;

/// A request as the rules see it.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) request: ModelRequest<'a>,
    /// The role of the last message.
    pub(super) last: Option<Role>,
    /// The text of the last user message.
    pub(super) user: Option<String>,
    /// The tool whose result is the last message.
    pub(super) tool: Option<&'a str>,
    /// What every rule may use, beside its captures.
    pub(super) variables: Variables,
}

impl<'a> Scene<'a> {
    pub(super) fn of(request: ModelRequest<'a>) -> Self {
        let last = request.messages.last();
        let mut users = request
            .messages
            .iter()
            .rev()
            .filter(|said| said.role() == Role::User);
        let mut variables = Variables::new();
        variables.insert("answers".into(), answers(request));
        if let Some(message) = last {
            variables.extend(outcome(message));
        }
        Self {
            request,
            last: last.map(|message| message.role()),
            user: users.next().map(|message| message.text()),
            tool: last.and_then(|message| tool_of(message)),
            variables,
        }
    }

    pub(super) fn offers(&self, name: &str) -> bool {
        self.request.tools.iter().any(|tool| tool.name == name)
    }
}

fn answers(request: ModelRequest<'_>) -> Value {
    let run = request
        .messages
        .get(request.run_start..)
        .unwrap_or_default();
    run.iter()
        .filter(|message| message.role() == Role::Assistant && message.calls().is_empty())
        .map(|message| message.text())
        .filter(|text| !text.is_empty())
        .collect()
}

fn tool_of(message: &Message) -> Option<&str> {
    match &message.body {
        MessageBody::Tool { tool, .. } => Some(tool),
        _ => None,
    }
}

/// The variables that a tool's result gives: `result` and `rows`, or `error`.
fn outcome(message: &Message) -> Variables {
    let MessageBody::Tool { status, .. } = &message.body else {
        return Variables::new();
    };
    let text = message.text();
    let value: Option<Value> = serde_json::from_str(&text).ok();
    match status {
        ResultStatus::Ok => {
            let result = value.unwrap_or_else(|| Value::from(text));
            let rows = field(&result, "rows").map(|rows| ("rows".to_owned(), rows));
            rows.into_iter()
                .chain([("result".to_owned(), result)])
                .collect()
        }
        ResultStatus::Error => {
            let error = value.and_then(|value| field(&value, "error"));
            let error = error.unwrap_or_else(|| Value::from_pairs([("message", text)]));
            Variables::from([("error".to_owned(), error)])
        }
    }
}

fn field(value: &Value, name: &str) -> Option<Value> {
    value
        .get_attr(name)
        .ok()
        .filter(|field| !field.is_undefined())
}

/// What there was to match, abbreviated, in one line.
impl fmt::Display for Scene<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offered = names(self.request.tools);
        write!(f, "system {}, ", Shown(Some(self.request.instructions)))?;
        write!(f, "last {}, ", Shown(self.last.map(role_name)))?;
        write!(f, "user {}, ", Shown(self.user.as_deref()))?;
        write!(f, "tool {}, ", Shown(self.tool))?;
        write!(f, "offers {}", Shown(offered.as_deref()))
    }
}

fn names(tools: &[Arc<ToolSpec>]) -> Option<String> {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    if names.is_empty() {
        None
    } else {
        Some(names.join(", "))
    }
}

const fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

/// A value in one line, cut where it is long.
struct Shown<'a>(Option<&'a str>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(text) = self.0 else {
            return f.write_str("none");
        };
        let mut line = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        let head: String = line.by_ref().take(SHOWN_CHARACTERS).collect();
        let more = if line.next().is_some() { "…" } else { "" };
        write!(f, "`{head}{more}`")
    }
}
