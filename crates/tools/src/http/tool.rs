//! An HTTP request under the tool contract.

use std::sync::Arc;

use rustagents_core::{
    BoxFuture,
    canonical::Canonical,
    tool::{EffectClass, Executed, Tool, ToolContext, ToolError, ToolSpec},
};
use rustagents_http::SetupError;
use serde_json::Value;
use tokio::{runtime::Handle, time::sleep};

use crate::declaration::{DeclarationError, Offer};

use super::{
    LEAST_OUTPUT,
    address::objection,
    client::Clients,
    declaration::{Declaration, Method},
    exchange::Exchange,
    failure::Failure,
    flight::Flight,
    headers::Headers,
    hosts::{Hosts, literal},
    template::Template,
};

/// The redirects that are followed where a declaration does not say.
const REDIRECTS: u8 = 3;

/// The most redirects that a declaration may allow.
const MOST_REDIRECTS: u8 = 10;

/// A request that a model can call.
///
/// A call returns `{"status":200,"body":…}` for every response, whatever its
/// status is: JSON where the response is JSON, text, or `{"base64":…}`. It needs
/// a tokio runtime.
///
/// ```
/// use rustagents_core::tool::{EffectClass, Tool, ToolSpec};
/// use rustagents_tools::http::{Declaration, Header, HeaderText, HttpTool, Method, Secret};
/// use serde_json::json;
///
/// let spec = ToolSpec {
///     effect: EffectClass::Repeatable,
///     ..ToolSpec::new(
///         "order_status",
///         "Where an order is.",
///         json!({"type": "object", "properties": {"order": {"type": "string"}}}),
///     )
/// };
/// let token = HeaderText::Secret {
///     prefix: "Bearer ".into(),
///     secret: Secret::new("made-up"),
/// };
/// let status = HttpTool::new(Declaration {
///     spec,
///     ask: None,
///     method: Method::Get,
///     url: "https://api.example.com/orders/{{ order }}".into(),
///     hosts: Vec::new(),
///     headers: vec![Header { name: "authorization".into(), text: token }],
///     private: false,
///     redirects: None,
/// })?;
/// assert_eq!(status.spec().name, "order_status");
/// assert!(!format!("{status:?}").contains("made-up"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct HttpTool {
    offer: Offer,
    exchange: Exchange,
}

impl HttpTool {
    /// The tool that `declaration` describes. Nothing is resolved or opened yet.
    ///
    /// # Errors
    /// [`DeclarationError`].
    pub fn new(declaration: Declaration) -> Result<Self, DeclarationError> {
        let offer = Offer::new(declaration.spec, declaration.ask.as_deref())?;
        let template = Template::new(&declaration.url)?;
        let body = body(&offer.arguments(), &template, declaration.method)?;
        check_address(&template, declaration.private)?;
        let spec = &offer.spec;
        if spec.max_output_bytes < LEAST_OUTPUT {
            return Err(DeclarationError::OutputBytes);
        }
        let exchange = Exchange {
            method: declaration.method,
            hosts: Hosts::new(template.base(), &declaration.hosts)?,
            headers: Headers::new(declaration.headers)?,
            clients: Clients::new(declaration.private, spec.timeout),
            private: declaration.private,
            redirects: redirects(declaration.redirects, declaration.method, spec.effect)?,
            effect: spec.effect,
            limit: spec.max_output_bytes,
            template,
            body,
        };
        Ok(Self { offer, exchange })
    }

    async fn perform(
        &self,
        arguments: &Value,
        context: ToolContext,
        flight: &Flight,
    ) -> Result<Value, Failure> {
        let timeout = context.timeout.min(self.offer.spec.timeout);
        let run = self
            .exchange
            .run(arguments, context.idempotency_key.digest(), flight);
        // Dropping the exchange closes its connection.
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(Failure::Cancelled),
            result = run => result,
            () = sleep(timeout) => Err(Failure::Timeout(timeout)),
        }
    }
}

impl Tool for HttpTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.offer.spec
    }

    fn question(&self, arguments: &Value) -> Option<String> {
        self.offer.question(arguments)
    }

    fn call(
        &self,
        arguments: Canonical,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            // The clock panics where there is no runtime.
            if Handle::try_current().is_err() {
                let failure = Failure::from(SetupError::NoRuntime);
                return Err(failure.into_tool_error(Executed::No));
            }
            let flight = Flight::default();
            let result = self.perform(arguments.value(), context, &flight).await;
            result.map_err(|failure| failure.into_tool_error(flight.executed()))
        })
    }
}

/// The arguments of the body. One that is sent nowhere is a mistake.
fn body(
    known: &[String],
    template: &Template,
    method: Method,
) -> Result<Vec<String>, DeclarationError> {
    let unknown = template
        .variables()
        .find(|name| known.iter().all(|known| known != name));
    if let Some(name) = unknown {
        return Err(DeclarationError::UnknownUrlVariable {
            name: name.to_owned(),
            known: known.to_vec(),
        });
    }
    let left = known
        .iter()
        .filter(|name| template.variables().all(|used| used != *name));
    let left: Vec<String> = left.cloned().collect();
    match left.first() {
        Some(name) if !method.has_body() => Err(DeclarationError::UnusedArgument {
            name: name.clone(),
            method: method.as_str(),
        }),
        _ => Ok(left),
    }
}

/// Refuses an address that each call would refuse.
fn check_address(template: &Template, private: bool) -> Result<(), DeclarationError> {
    let url = template.base();
    let what = literal(url).and_then(|address| objection(address, private));
    what.map_or(Ok(()), |what| {
        Err(DeclarationError::Address {
            host: url.host_str().unwrap_or_default().to_owned(),
            what,
        })
    })
}

/// How many redirects are followed. A call that may have changed something is
/// not made again elsewhere.
fn redirects(
    declared: Option<u8>,
    method: Method,
    effect: EffectClass,
) -> Result<u8, DeclarationError> {
    let follows = method.reads() && effect == EffectClass::Repeatable;
    match declared {
        Some(1..) if !follows => Err(DeclarationError::Redirects),
        Some(most) => Ok(most.min(MOST_REDIRECTS)),
        None if follows => Ok(REDIRECTS),
        None => Ok(0),
    }
}
