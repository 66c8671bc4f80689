//! From a specification to a model.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustagents_core::{Code, model::Model};
use rustagents_providers::{
    openai::{Dialect, OpenAiConfig, OpenAiModel, Secret},
    scripted::ScriptedModel,
};

use crate::{failure::Failure, plan::read_text};

/// The variable with the key.
pub(crate) const KEY: &str = "OPENAI_API_KEY";

/// The largest script of a scripted model, in bytes.
const MAX_SCRIPT: u64 = 16 << 20;

/// What a specification says. Nothing is opened yet.
#[derive(Debug)]
pub(crate) enum Specification {
    /// A model that answers from this file.
    Scripted(PathBuf),
    /// A model behind HTTP.
    Http(Box<OpenAiConfig>),
}

impl Specification {
    /// Reads `spec`, whose paths start at `folder`, and what the environment adds.
    pub(crate) fn read(spec: &str, folder: &Path) -> Result<Self, Failure> {
        match spec.split_once(':') {
            Some(("scripted", path)) if !path.is_empty() => Ok(Self::Scripted(folder.join(path))),
            Some(("openai", name)) if !name.is_empty() => {
                let mut config = OpenAiConfig::new(&Dialect::OPENAI, spec, name);
                config.base_url = environment("OPENAI_BASE_URL")?;
                config.api_key = key()?;
                Ok(Self::Http(Box::new(config)))
            }
            Some(("openai-compatible", rest)) => match rest.split_once('@') {
                Some((name, url)) if !name.is_empty() && !url.is_empty() => {
                    let id = format!("openai-compatible:{name}");
                    let mut config = OpenAiConfig::new(&Dialect::COMPATIBLE, &*id, name);
                    config.base_url = Some(url.to_owned());
                    config.api_key = key()?;
                    Ok(Self::Http(Box::new(config)))
                }
                _ => Err(unknown(spec)),
            },
            _ => Err(unknown(spec)),
        }
    }
}

/// Makes the model; nothing is asked yet.
pub(crate) fn model(spec: &str, folder: &Path) -> Result<Arc<dyn Model>, Failure> {
    Ok(match Specification::read(spec, folder)? {
        Specification::Scripted(file) => Arc::new(scripted(&file)?),
        Specification::Http(config) => Arc::new(openai(*config)?),
    })
}

fn unknown(spec: &str) -> Failure {
    Failure::new(Code::ModelSpec, format!("`{spec}` is not a model")).hint(
        "known are `scripted:PATH`, `openai:MODEL` and `openai-compatible:MODEL@URL`, such as \
         `openai-compatible:qwen3@http://127.0.0.1:8080/v1`",
    )
}

pub(crate) fn scripted(file: &Path) -> Result<ScriptedModel, Failure> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let source = read_text(file, MAX_SCRIPT)?;
    ScriptedModel::from_toml(&format!("scripted:{name}"), &source)
        .map_err(|error| Failure::of(&error).at(file.display().to_string()))
}

pub(crate) fn openai(config: OpenAiConfig) -> Result<OpenAiModel, Failure> {
    OpenAiModel::new(config).map_err(|error| Failure::of(&error))
}

/// The key that the environment holds. It goes to the model's server, whichever the
/// configuration names, and nowhere else.
fn key() -> Result<Option<Secret>, Failure> {
    Ok(environment(KEY)?.map(Secret::new))
}

/// A variable's value without outer white space; nothing where it is empty.
pub(crate) fn environment(name: &str) -> Result<Option<String>, Failure> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value.trim().to_owned()).filter(|value| !value.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(Failure::new(
            Code::Usage,
            format!("the variable `{name}` is not UTF-8"),
        )),
    }
}
