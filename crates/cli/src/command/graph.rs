//! `rag graph`: the shape of a plan's graph, as a drawing or as data; what cannot work
//! in it, and what changed.

use std::{path::Path, process::ExitCode};

use rustagents_core::Code;
use rustagents_runtime::topology::{GraphTopology, MAX_BYTES};
use serde::Serialize;

use crate::{
    arguments::{Format, Graph},
    failure::Failure,
    output::{self, Output},
    plan::{Plan, read_text},
    tools::Care,
};

/// What `rag.graph-check/1` and `rag.graph-diff/1` are.
#[derive(Serialize)]
struct Document<T> {
    schema: &'static str,
    #[serde(flatten)]
    content: T,
}

pub(crate) fn graph(arguments: &Graph, output: &Output) -> Result<ExitCode, Failure> {
    let config = arguments.common.config.as_deref();
    if let Some(other) = &arguments.diff {
        let old = topology(other, config)?;
        return diff(&old, &topology(&arguments.target, config)?, output);
    }
    if arguments.check {
        return check(&topology(&arguments.target, config)?, output);
    }
    let format = format(arguments.format, output.is_json())?;
    let topology = topology(&arguments.target, config)?;
    match format {
        Format::Mermaid => output::text(&topology.to_mermaid())?,
        Format::Dot => output::text(&topology.to_dot())?,
        Format::Text => output::text(&topology.to_text())?,
        Format::Json => output::object(&topology.document())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The shape of a plan's graph, or of a document's.
fn topology(target: &Path, config: Option<&Path>) -> Result<GraphTopology, Failure> {
    if target.extension().is_some_and(|ending| ending == "json") && !target.is_dir() {
        let text = read_text(target, MAX_BYTES as u64)?;
        return GraphTopology::from_json(text.as_bytes())
            .map_err(|error| Failure::of(&error).at(target.display().to_string()));
    }
    let ready = Plan::load(target, config, &[], Care::Check)?.ready()?;
    Ok(ready.program.graph().topology().clone())
}

/// Tells the findings; they are the exit status of a check.
fn check(topology: &GraphTopology, output: &Output) -> Result<ExitCode, Failure> {
    let analysis = topology.analyse();
    let is_clean = analysis.is_empty();
    if output.is_json() {
        output::object(&Document {
            schema: "rag.graph-check/1",
            content: analysis,
        })?;
    } else if is_clean {
        output.note("graph checked, nothing found");
    } else {
        let findings = analysis.findings.iter();
        let lines = findings.map(|finding| format!("{finding}\nhint: {}", finding.hint));
        output::text(&lines.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(ExitCode::from(u8::from(!is_clean)))
}

/// Tells the changes; whether there are any is the exit status.
fn diff(old: &GraphTopology, new: &GraphTopology, output: &Output) -> Result<ExitCode, Failure> {
    let diff = old.diff(new);
    let is_same = diff.is_empty();
    if output.is_json() {
        output::object(&Document {
            schema: "rag.graph-diff/1",
            content: diff,
        })?;
    } else if is_same {
        output.note("graphs compared, nothing changed");
    } else {
        output::text(&diff.to_string())?;
    }
    Ok(ExitCode::from(u8::from(!is_same)))
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
