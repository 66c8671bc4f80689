//! HTTP tools, on servers that send what a test tells them to.

mod declare;
mod endings;
mod reach;
mod redirects;
mod requests;
mod results;
mod secrets;
#[cfg(target_os = "linux")]
mod secured;
mod server;

use std::time::Duration;

use rustagents_core::{
    canonical::Canonical,
    ids::CallId,
    tool::{EffectClass, Executed, Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec},
};
use rustagents_tools::http::{Declaration, Header, HeaderText, HttpTool, Method};
use serde_json::{Value, json};

/// A GET of `url` that may reach this machine, without arguments.
fn get(url: impl Into<String>) -> Declaration {
    let spec = ToolSpec {
        effect: EffectClass::Repeatable,
        timeout: Duration::from_secs(20),
        ..ToolSpec::new("tool", "Does it.", json!({"type": "object"}))
    };
    Declaration {
        spec,
        ask: None,
        method: Method::Get,
        url: url.into(),
        hosts: Vec::new(),
        headers: Vec::new(),
        private: true,
        redirects: None,
    }
}

/// A `once` POST to `url`, without arguments.
fn post(url: impl Into<String>) -> Declaration {
    let declaration = Declaration {
        method: Method::Post,
        ..get(url)
    };
    spec(declaration, |spec| spec.effect = EffectClass::Once)
}

/// The declaration with these arguments, of any type.
fn arguments(declaration: Declaration, names: &[&str]) -> Declaration {
    let any = names.iter().map(|name| ((*name).to_owned(), json!({})));
    let schema = json!({
        "type": "object", "properties": any.collect::<serde_json::Map<_, _>>(),
    });
    spec(declaration, |spec| spec.input_schema = schema)
}

fn spec(mut declaration: Declaration, change: impl FnOnce(&mut ToolSpec)) -> Declaration {
    change(&mut declaration.spec);
    declaration
}

fn plain(name: &str, text: &str) -> Header {
    Header {
        name: name.into(),
        text: HeaderText::Plain(text.into()),
    }
}

fn context() -> ToolContext {
    ToolContext {
        timeout: Duration::from_mins(1),
        ..ToolContext::detached(CallId::numbered(1))
    }
}

/// Makes the tool and calls it once.
async fn call(declaration: Declaration, arguments: Value) -> Result<Value, ToolError> {
    let tool = HttpTool::new(declaration).unwrap();
    tool.call(Canonical::of(&arguments), context()).await
}

/// The message of a call that failed as a `kind`.
#[track_caller]
fn failed(result: Result<Value, ToolError>, kind: ToolErrorKind, executed: Executed) -> String {
    let error = result.unwrap_err();
    assert_eq!((error.kind, error.executed), (kind, executed), "{error:?}");
    assert!(!error.message.contains('\n'), "{error:?}");
    error.message
}
