//! The wire's own types. Of what comes in, every field may be missing or `null`.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Value, value::RawValue};

/// A request. The conversation stands last, so a longer one starts with the same
/// bytes.
#[derive(Debug, Serialize)]
pub(super) struct Request<'a> {
    pub(super) model: &'a str,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Tool<'a>>,
    pub(super) messages: Vec<Message<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct StreamOptions {
    pub(super) include_usage: bool,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", content = "function", rename_all = "snake_case")]
pub(super) enum Tool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: Value,
    },
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(super) enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: String,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: String,
    },
}

#[derive(Debug, Serialize)]
pub(super) struct Call<'a> {
    pub(super) id: &'a str,
    #[serde(flatten)]
    pub(super) function: Function<'a>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", content = "function", rename_all = "snake_case")]
pub(super) enum Function<'a> {
    Function { name: &'a str, arguments: String },
}

/// A piece of an answer, or a whole one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    pub(super) choices: Option<Vec<Option<Choice<'a>>>>,
    pub(super) usage: Option<Usage>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    /// Some servers send `error` here, and what went wrong in `message`.
    pub(super) object: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    /// What a whole answer has in the place of `delta`.
    #[serde(borrow)]
    pub(super) message: Option<Delta<'a>>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(deserialize_with = "text")]
    pub(super) content: String,
    pub(super) refusal: Option<String>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<Option<CallDelta<'a>>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallDelta<'a> {
    #[serde(deserialize_with = "count")]
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    #[serde(borrow)]
    pub(super) function: Option<FunctionDelta<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionDelta<'a> {
    pub(super) name: Option<String>,
    /// A string that holds JSON, or the JSON itself. Kept as it stands, so that
    /// duplicate keys are still there for whoever must refuse them.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

impl FunctionDelta<'_> {
    /// The arguments' text.
    pub(super) fn arguments(&self) -> Result<String, serde_json::Error> {
        match self.arguments.map(RawValue::get) {
            None => Ok(String::new()),
            Some(string) if string.starts_with('"') => serde_json::from_str(string),
            Some(value) => Ok(value.to_owned()),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    #[serde(deserialize_with = "count")]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub(super) completion_tokens: Option<u64>,
    pub(super) prompt_tokens_details: Option<PromptDetails>,
    pub(super) completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PromptDetails {
    #[serde(deserialize_with = "count")]
    pub(super) cached_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CompletionDetails {
    #[serde(deserialize_with = "count")]
    pub(super) reasoning_tokens: Option<u64>,
}

/// A number that counts something; whatever else stands there says nothing.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_u64())
}

/// Text: a string, or a list of parts of which some are text.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            Ok(texts.collect())
        }
        _ => Err(D::Error::custom("`content` is neither text nor parts")),
    }
}
