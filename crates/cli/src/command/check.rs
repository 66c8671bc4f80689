//! `rag check`: diagnostics of plans, without running them.

use std::process::ExitCode;

use crate::{
    arguments::Check,
    failure::Failure,
    output::{Checked, Output},
    plan::Plan,
    tools::Care,
};

pub(crate) fn check(arguments: &Check, output: &Output) -> Result<ExitCode, Failure> {
    let mut checked = Vec::new();
    for file in &arguments.files {
        let plan = Plan::load(file, arguments.common.config.as_deref(), &[], Care::Check)?;
        let compiled = plan.compile()?;
        checked.push(Checked {
            path: plan.path.display().to_string(),
            source: plan.source.clone(),
            diagnostics: compiled.diagnostics,
        });
        if compiled.blueprint.is_some() {
            plan.ready()?;
        }
    }
    let found = output.checked(&checked)?;
    Ok(ExitCode::from(u8::from(found)))
}
