//! HTTP tools, with the secrets that the environment holds.

use rustagents_config::{
    HeaderDeclaration, HeaderText, HttpDeclaration, Position, ToolDeclaration,
};
use rustagents_core::Code;
use rustagents_tools::http::{self, Declaration, Header, HttpTool, Secret};

use crate::{failure::Failure, models::environment};

use super::Care;

/// Makes the tool. `place` words a place in the configuration.
pub(super) fn tool(
    declared: &ToolDeclaration,
    request: &HttpDeclaration,
    care: Care,
    place: impl Fn(Position) -> String,
) -> Result<HttpTool, Failure> {
    let headers = request.headers.iter().map(|declared| {
        let text = text(declared, care).map_err(|failure| failure.at(place(declared.at)))?;
        Ok(Header {
            name: declared.name.clone(),
            text,
        })
    });
    let headers = headers.collect::<Result<_, Failure>>()?;
    let method = request.method.parse();
    let tool = method.and_then(|method| {
        HttpTool::new(Declaration {
            spec: declared.spec.clone(),
            ask: declared.ask.clone(),
            method,
            url: request.url.clone(),
            hosts: request.hosts.clone(),
            headers,
            private: request.private,
            redirects: request.redirects,
        })
    });
    tool.map_err(|error| Failure::of(&error))
}

fn text(declared: &HeaderDeclaration, care: Care) -> Result<http::HeaderText, Failure> {
    match &declared.text {
        HeaderText::Plain(text) => Ok(http::HeaderText::Plain(text.clone())),
        HeaderText::Environment { variable, prefix } => Ok(http::HeaderText::Secret {
            prefix: prefix.clone(),
            secret: secret(&declared.name, variable, care)?,
        }),
    }
}

/// The value of `variable`. It goes to the tool and nowhere else.
fn secret(header: &str, variable: &str, care: Care) -> Result<Secret, Failure> {
    // Whether files are right does not depend on who checks them.
    if care == Care::Check {
        return Ok(Secret::new(""));
    }
    environment(variable)?.map(Secret::new).ok_or_else(|| {
        let message =
            format!("the header `{header}` needs the variable `{variable}`, which is not set");
        Failure::new(Code::ToolDeclaration, message)
            .hint(format!("set `{variable}` in the environment"))
    })
}
