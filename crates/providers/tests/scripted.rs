//! The scripted model, asked through the contract.

mod answers;
mod example;
mod hostile;
mod invalid;
mod matching;

use std::sync::Arc;

use futures::{FutureExt, StreamExt};
use rustagents_core::{
    ids::{CallId, MessageId},
    message::{Message, ResultStatus, ToolCall},
    model::{Model, ModelDelta, ModelError, ModelRequest, ModelResponse, ResponseLimits, fold},
    tool::ToolSpec,
};
use rustagents_providers::ScriptedModel;
use serde_json::json;

const NAME: &str = "scripted:script.toml";

fn model(source: &str) -> ScriptedModel {
    ScriptedModel::from_toml(NAME, source).unwrap()
}

/// A conversation, built message by message.
#[derive(Clone, Debug, Default)]
struct Conversation {
    instructions: String,
    messages: Vec<Arc<Message>>,
    run_start: usize,
    tools: Vec<Arc<ToolSpec>>,
}

impl Conversation {
    fn with(instructions: &str) -> Self {
        Self {
            instructions: instructions.into(),
            ..Self::default()
        }
    }

    fn add(mut self, make: impl FnOnce(MessageId) -> Message) -> Self {
        let id = MessageId::numbered(self.messages.len() as u64 + 1);
        self.messages.push(Arc::new(make(id)));
        self
    }

    fn user(self, text: &str) -> Self {
        self.add(|id| Message::user(id, text))
    }

    fn assistant(self, text: &str) -> Self {
        self.add(|id| Message::assistant(id, text, vec![]))
    }

    fn calls(self, text: &str, tool: &str, arguments: &str) -> Self {
        let call = ToolCall {
            id: CallId::numbered(1),
            name: tool.into(),
            arguments: arguments.into(),
            wire_id: None,
        };
        self.add(|id| Message::assistant(id, text, vec![call]))
    }

    fn result(self, tool: &str, status: ResultStatus, text: &str) -> Self {
        self.add(|id| Message::tool(id, CallId::numbered(1), tool, status, text))
    }

    fn ok(self, tool: &str, text: &str) -> Self {
        self.result(tool, ResultStatus::Ok, text)
    }

    fn error(self, tool: &str, text: &str) -> Self {
        self.result(tool, ResultStatus::Error, text)
    }

    fn run_starts_here(mut self) -> Self {
        self.run_start = self.messages.len();
        self
    }

    fn offer(mut self, tool: &str) -> Self {
        self.tools.push(Arc::new(ToolSpec::new(
            tool,
            "A tool.",
            json!({ "type": "object" }),
        )));
        self
    }

    fn request(&self) -> ModelRequest<'_> {
        ModelRequest {
            instructions: &self.instructions,
            messages: &self.messages,
            run_start: self.run_start,
            tools: &self.tools,
            labels: &[],
        }
    }

    /// The folded answer, which must be there without waiting.
    fn ask(&self, model: &ScriptedModel) -> Result<ModelResponse, ModelError> {
        let limits = ResponseLimits::default();
        fold(model.stream(self.request()), limits, |_| ())
            .now_or_never()
            .unwrap()
    }

    /// The text of the answer.
    fn text(&self, model: &ScriptedModel) -> String {
        self.ask(model).unwrap().text
    }

    /// The deltas of an answer without errors.
    fn deltas(&self, model: &ScriptedModel) -> Vec<ModelDelta> {
        deltas(model, self.request())
    }
}

fn deltas(model: &ScriptedModel, request: ModelRequest<'_>) -> Vec<ModelDelta> {
    let items: Vec<_> = model.stream(request).collect().now_or_never().unwrap();
    items.into_iter().map(Result::unwrap).collect()
}

/// The names and arguments of the calls.
fn calls(response: &ModelResponse) -> Vec<(&str, &str)> {
    response
        .calls
        .iter()
        .map(|call| (call.name.as_str(), call.arguments.as_str()))
        .collect()
}
