//! `rag graph`: the shape of a plan's graph, as a drawing or as data.

use std::process::ExitCode;

use rustagents_core::Code;
use serde::Serialize;

use crate::{
    arguments::{Format, Graph},
    failure::Failure,
    output::{self, Output},
    plan::Plan,
    tools::Care,
};

/// What `rag.graph/1` is.
#[derive(Serialize)]
struct Topology<T> {
    schema: &'static str,
    #[serde(flatten)]
    topology: T,
}

pub(crate) fn graph(arguments: &Graph, output: &Output) -> Result<ExitCode, Failure> {
    let format = format(arguments.format, output.is_json())?;
    let config = arguments.common.config.as_deref();
    let plan = Plan::load(&arguments.target, config, &[], Care::Check)?;
    let ready = plan.ready()?;
    let topology = ready.program.graph().topology();
    match format {
        Format::Mermaid => output::text(&topology.to_mermaid())?,
        Format::Dot => output::text(&topology.to_dot())?,
        Format::Json => output::object(&Topology {
            schema: "rag.graph/1",
            topology,
        })?,
    }
    Ok(ExitCode::SUCCESS)
}

fn format(given: Option<Format>, json: bool) -> Result<Format, Failure> {
    match (given, json) {
        (Some(Format::Json), _) | (None, true) => Ok(Format::Json),
        (Some(_), true) => {
            let message = "a drawing is not JSON: `--format` contradicts `--json`";
            Err(Failure::new(Code::Usage, message).hint("leave one of them out"))
        }
        (Some(format), false) => Ok(format),
        (None, false) => Ok(Format::Mermaid),
    }
}
