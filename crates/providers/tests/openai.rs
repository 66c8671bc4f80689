//! Models behind the chat-completions wire, asked over real HTTP.

mod bounds;
mod calls;
mod configuration;
mod events;
mod failures;
mod probes;
mod recordings;
mod rejections;
mod requests;
mod server;
#[cfg(target_os = "linux")]
mod trust;

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use rustagents_core::{
    ids::{CallId, MessageId},
    message::{Message, ResultStatus, ToolCall},
    model::{Model, ModelDelta, ModelError, ModelRequest, ModelResponse, ResponseLimits, fold},
    tool::ToolSpec,
};
use rustagents_providers::openai::{Dialect, OpenAiConfig, OpenAiModel, Secret, Timeouts};
use serde_json::{Value, json};

use self::server::{Server, events};

const ID: &str = "local:tiny";
const KEY: &str = "sk-made-up-0123456789";

fn config(url: &str) -> OpenAiConfig {
    let mut config = OpenAiConfig::new(&Dialect::COMPATIBLE, ID, "tiny");
    config.base_url = Some(url.to_owned());
    config.api_key = Some(Secret::new(KEY));
    config
}

fn model(server: &Server) -> OpenAiModel {
    OpenAiModel::new(config(server.url())).unwrap()
}

/// A model that waits no longer than `patience`, for anything.
fn hasty(server: &Server, patience: Duration) -> OpenAiModel {
    let mut config = config(server.url());
    config.timeouts = Timeouts {
        connect: patience,
        header: patience,
        idle: patience,
    };
    OpenAiModel::new(config).unwrap()
}

const HELLO: ModelRequest<'_> = ModelRequest {
    instructions: "Be kind.",
    messages: &[],
    run_start: 0,
    tools: &[],
    labels: &[],
};

async fn ask(model: &OpenAiModel) -> Result<ModelResponse, ModelError> {
    fold(model.stream(HELLO), ResponseLimits::default(), |_| ()).await
}

/// All deltas up to the end, and the error that ended them.
async fn deltas(model: &OpenAiModel) -> (Vec<ModelDelta>, Option<ModelError>) {
    let items: Vec<_> = model.stream(HELLO).collect().await;
    let error = items.iter().find_map(|item| item.clone().err());
    (items.into_iter().flatten().collect(), error)
}

/// What a server that answers with this stream makes of it.
async fn answer(stream: impl AsRef<[u8]>) -> Result<ModelResponse, ModelError> {
    let server = Server::always(events(&[stream.as_ref()]));
    ask(&model(&server)).await
}

/// Why a server that answers with this stream does not answer.
async fn reason(stream: impl AsRef<[u8]>) -> String {
    let (_, error) = deltas(&model(&Server::always(events(&[stream.as_ref()])))).await;
    said(error.unwrap())
}

fn said(error: ModelError) -> String {
    match error {
        ModelError::Transport { model, reason }
        | ModelError::Unavailable { model, reason, .. }
        | ModelError::Rejected { model, reason, .. } => {
            assert_eq!(model, ID);
            reason
        }
        other => panic!("{other:?} is no failure of a provider"),
    }
}

/// A stream of these deltas, finished for that reason.
fn stream(deltas: &[Value], reason: &str) -> String {
    let last = json!({ "choices": [{ "delta": {}, "finish_reason": reason }] });
    let chunks = deltas
        .iter()
        .map(|delta| json!({ "choices": [{ "delta": delta }] }));
    let lines = chunks
        .chain([last])
        .map(|chunk| format!("data: {chunk}\n\n"));
    lines.chain(["data: [DONE]\n\n".to_owned()]).collect()
}

/// A stream of one text.
fn text(text: &str) -> String {
    stream(&[json!({ "content": text })], "stop")
}

/// The names and arguments of the calls.
fn calls(response: &ModelResponse) -> Vec<(&str, &str)> {
    response
        .calls
        .iter()
        .map(|call| (call.name.as_str(), call.arguments.as_str()))
        .collect()
}

/// A call with number `number`.
fn call(number: u64, wire_id: Option<&str>, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: CallId::numbered(number),
        name: name.into(),
        arguments: arguments.into(),
        wire_id: wire_id.map(Into::into),
    }
}

fn result(id: MessageId, call: u64, text: &str) -> Message {
    Message::tool(id, CallId::numbered(call), "refund", ResultStatus::Ok, text)
}

/// Messages with ids in order.
fn messages(make: Vec<fn(MessageId) -> Message>) -> Vec<Arc<Message>> {
    let ids = (1..).map(MessageId::numbered);
    ids.zip(make).map(|(id, make)| Arc::new(make(id))).collect()
}

fn tool(name: &str, schema: Value) -> Arc<ToolSpec> {
    Arc::new(ToolSpec::new(name, "A tool.", schema))
}
