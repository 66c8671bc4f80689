//! From files to a program: the plan, its configuration, models and tools.

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use rustagents_config::{Config, EventsKept};
use rustagents_core::{Code, budget::Limits, journal::Journal};
use rustagents_lang::{Compiled, Severity, compile};
use rustagents_runtime::{Capabilities, Program, ThreadView, program::LowerError, record::Target};

use crate::{
    failure::Failure,
    models::model,
    tools::{self, Care},
};

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A plan's source, and what it may use.
pub(crate) struct Plan {
    pub(crate) path: PathBuf,
    pub(crate) source: String,
    config: Option<Config>,
    capabilities: Capabilities,
    models: BTreeMap<String, String>,
}

/// A plan that is ready to run.
pub(crate) struct Ready {
    pub(crate) program: Program,
    pub(crate) target: Target,
    pub(crate) limits: Limits,
    pub(crate) events: EventsKept,
}

/// What the runs of a configuration may do, where there is one.
fn limited(config: Option<&Config>) -> (Limits, EventsKept) {
    config
        .map(|config| (config.limits, config.events))
        .unwrap_or_default()
}

/// The plan that is recorded for the last run of a thread, with the models and tools
/// that there are now. Its file is not looked at.
pub(crate) async fn pinned(
    journal: &dyn Journal,
    view: &ThreadView,
    config: Option<&Path>,
    models: &[String],
) -> Result<Ready, Failure> {
    let blueprint = view.recorded_plan(journal).await;
    let blueprint = blueprint.map_err(|error| Failure::of(&error))?;
    let target = &view.opened.target;
    let config = find_config(Path::new(&target.plan), config)?;
    let capabilities = capabilities(config.as_ref(), &split_models(models)?, Care::Run)?;
    let program = Program::lower(&blueprint, &capabilities).map_err(|error| {
        let failure = Failure::of(&error).at("the recorded plan");
        match error {
            LowerError::Model { .. } | LowerError::Tool { .. } => {
                failure.hint("bring it back into the configuration, or resume without `--pin`")
            }
            _ => failure,
        }
    })?;
    let (limits, events) = limited(config.as_ref());
    Ok(Ready {
        program,
        target: target.clone(),
        limits,
        events,
    })
}

impl Plan {
    /// Reads everything that belongs to `target`. Writes nothing.
    pub(crate) fn load(
        target: &Path,
        config: Option<&Path>,
        models: &[String],
        care: Care,
    ) -> Result<Self, Failure> {
        let path = find_plan(target)?;
        let source = read_text(&path, MAX_FILE)?;
        let config = find_config(&path, config)?;
        let models = split_models(models)?;
        let capabilities = capabilities(config.as_ref(), &models, care)?;
        Ok(Self {
            path,
            source,
            config,
            capabilities,
            models,
        })
    }

    /// Checks the source against the capabilities.
    pub(crate) fn compile(&self) -> Result<Compiled, Failure> {
        let names = self
            .capabilities
            .snapshot()
            .map_err(|error| Failure::of(&error))?;
        Ok(compile(&self.source, &names))
    }

    /// Makes it a program.
    pub(crate) fn ready(self) -> Result<Ready, Failure> {
        let compiled = self.compile()?;
        let Some(blueprint) = compiled.blueprint else {
            return Err(self.rejected(&compiled));
        };
        let program = Program::lower(&blueprint, &self.capabilities)
            .map_err(|error| Failure::of(&error).at(self.path.display().to_string()))?;
        let (limits, events) = limited(self.config.as_ref());
        Ok(Ready {
            program,
            limits,
            events,
            target: self.target()?,
        })
    }

    fn rejected(&self, compiled: &Compiled) -> Failure {
        let name = self.path.display().to_string();
        let mut errors = compiled
            .diagnostics
            .iter()
            .filter(|d| d.severity == Severity::Error);
        let Some(first) = errors.next() else {
            return Failure::internal(&"a plan without errors did not compile");
        };
        let mut failure = Failure::new(first.code, first.message.clone())
            .at(format!("{name}:{}:{}", first.line, first.column));
        failure.hint.clone_from(&first.help);
        let shown = compiled.diagnostics.iter();
        failure.details = shown.map(|d| d.render(&name, &self.source)).collect();
        failure
    }

    fn target(&self) -> Result<Target, Failure> {
        let config = self
            .config
            .as_ref()
            .map(|config| absolute(&config.path))
            .transpose()?;
        Ok(Target {
            plan: absolute(&self.path)?,
            config,
            models: self.models.clone(),
        })
    }
}

fn absolute(path: &Path) -> Result<String, Failure> {
    let whole = std::path::absolute(path).map_err(|error| Failure::unreadable(path, &error))?;
    whole.into_os_string().into_string().map_err(|path| {
        let path = Path::new(&path).display().to_string();
        Failure::new(Code::NotUtf8, format!("the path `{path}` is not UTF-8"))
    })
}

fn find_plan(target: &Path) -> Result<PathBuf, Failure> {
    let is_plan = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "rag");
    if !target.is_dir() {
        return Ok(target.to_owned());
    }
    let entries = fs::read_dir(target).map_err(|error| Failure::unreadable(target, &error))?;
    let mut plans: Vec<_> = entries
        .flatten()
        .map(|e| e.path())
        .filter(is_plan)
        .collect();
    plans.sort();
    let found = plans.len();
    match plans.pop() {
        Some(plan) if found == 1 => Ok(plan),
        _ => {
            let message = format!("`{}` holds {found} .rag files, not one", target.display());
            Err(Failure::new(Code::FileUnreadable, message).hint("name the .rag file itself"))
        }
    }
}

/// Reads a bounded UTF-8 file.
pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String, Failure> {
    let unreadable = |error| Failure::unreadable(path, &error);
    let file = fs::File::open(path).map_err(unreadable)?;
    // A reader that grows on the way asks the system a dozen times.
    let known = file.metadata().map_or(0, |found| found.len().min(limit));
    let mut bytes = Vec::with_capacity(usize::try_from(known).unwrap_or(0) + 1);
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    text(bytes, limit, &path.display().to_string())
}

/// Takes bytes from `name` as bounded UTF-8 text.
pub(crate) fn text(bytes: Vec<u8>, limit: u64, name: &str) -> Result<String, Failure> {
    if bytes.len() as u64 > limit {
        let message = format!("`{name}` has more than {limit} bytes");
        return Err(Failure::new(Code::TooLarge, message));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(Code::NotUtf8, format!("`{name}` is not UTF-8 at byte {at}"))
            .hint("save it as UTF-8")
    })
}

fn find_config(plan: &Path, given: Option<&Path>) -> Result<Option<Config>, Failure> {
    if let Some(path) = given {
        return Ok(Some(Config::load(path)?));
    }
    let folder = match plan.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = std::path::absolute(folder).map_err(|e| Failure::unreadable(folder, &e))?;
    Ok(Config::find(&folder)
        .map(|path| Config::load(&path))
        .transpose()?)
}

fn split_models(models: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pairs = models.iter().map(|given| match given.split_once('=') {
        Some((alias, spec)) if !alias.is_empty() => Ok((alias.to_owned(), anchored(spec)?)),
        _ => Err(Failure::new(
            Code::Usage,
            format!("`--model {given}` is not ALIAS=SPEC"),
        )),
    });
    pairs.collect()
}

/// A specification from the command line, whose paths start at the current folder.
fn anchored(spec: &str) -> Result<String, Failure> {
    match spec.split_once(':') {
        Some(("scripted", path)) if !path.is_empty() => {
            Ok(format!("scripted:{}", absolute(Path::new(path))?))
        }
        _ => Ok(spec.to_owned()),
    }
}

fn capabilities(
    config: Option<&Config>,
    models: &BTreeMap<String, String>,
    care: Care,
) -> Result<Capabilities, Failure> {
    let mut capabilities = Capabilities::default();
    if let Some(config) = config {
        let own = config
            .models
            .iter()
            .filter(|entry| !models.contains_key(&entry.alias));
        for entry in own {
            let place = format!(
                "{}:{}:{}",
                config.path.display(),
                entry.at.line,
                entry.at.column
            );
            let model =
                model(&entry.spec, &config.folder).map_err(|failure| match &failure.place {
                    Some(_) => failure,
                    None => failure.at(place),
                })?;
            capabilities.model(&*entry.alias, model);
        }
        tools::add(&mut capabilities, config, care)?;
    }
    for (alias, spec) in models {
        capabilities.model(alias.as_str(), model(spec, Path::new("."))?);
    }
    Ok(capabilities)
}
