//! `rag doctor`: looks for what is missing, and changes nothing.

use std::process::ExitCode;

use crate::{
    arguments::Doctor,
    doctor::{Check, configuration, declared, models, store},
    failure::Failure,
    output::Output,
};

pub(crate) async fn doctor(arguments: &Doctor, output: &Output) -> Result<ExitCode, Failure> {
    let common = &arguments.common;
    let version = format!("version {}", env!("CARGO_PKG_VERSION"));
    let mut checks = vec![Check::ok("rag", version)];
    let (found, config) = configuration::examine(common.config.as_deref());
    checks.push(found);
    if let Some(config) = &config {
        checks.extend(models::examine(config).await);
        checks.extend(declared::examine(config));
    }
    checks.extend(store::examine(common.store.as_deref(), arguments.full).await);
    let ok = output.checks(&checks)?;
    Ok(ExitCode::from(u8::from(!ok)))
}
