#![doc = include_str!("scripted.md")]

mod answer;
mod engine;
mod error;
mod fields;
mod load;
mod rule;
mod scene;

use std::{fmt, iter};

use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use rustagents_core::model::{Model, ModelError, ModelRequest, StreamItem};

pub use self::error::{Key, RuleProblem, ScriptError};
use self::{
    answer::Answer,
    engine::{Engine, Failure},
    rule::Rule,
    scene::Scene,
};

/// A model that answers from the rules of a script.
///
/// The [module](self) describes the rules.
///
/// ```
/// use futures::FutureExt;
/// use rustagents_core::model::{Model, ModelRequest, ResponseLimits, fold};
/// use rustagents_providers::ScriptedModel;
///
/// let model = ScriptedModel::from_toml("scripted:hello.toml", r#"rule = [{ text = "Hello." }]"#)?;
/// let request = ModelRequest {
///     instructions: "Be kind.",
///     messages: &[],
///     run_start: 0,
///     tools: &[],
///     labels: &[],
/// };
/// let answer = fold(model.stream(request), ResponseLimits::default(), |_| ()).now_or_never();
/// assert!(matches!(answer, Some(Ok(response)) if response.text == "Hello."));
/// # Ok::<(), rustagents_providers::ScriptError>(())
/// ```
pub struct ScriptedModel {
    name: String,
    engine: Engine,
    rules: Vec<Rule>,
}

impl ScriptedModel {
    /// Compiles the script in `source`; `name` is the model's id.
    ///
    /// # Errors
    /// [`ScriptError`] says which rule and key is not valid, or where the text is
    /// not TOML.
    pub fn from_toml(name: &str, source: &str) -> Result<Self, ScriptError> {
        let mut engine = Engine::new();
        let rules = load::rules(name, source, &mut engine)?;
        Ok(Self {
            name: name.to_owned(),
            engine,
            rules,
        })
    }

    /// The name that the script was given, which is the model's id.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The items of the answer to `request`. Nothing is decided before the first
    /// is asked for.
    fn items(&self, request: ModelRequest<'_>) -> impl Iterator<Item = StreamItem> + Send + use<> {
        let (answer, error) = match self.answer(request) {
            Ok(answer) => (Some(answer), None),
            Err(error) => (None, Some(error)),
        };
        answer
            .into_iter()
            .flat_map(Answer::into_deltas)
            .map(Ok)
            .chain(error.map(Err))
    }

    fn answer(&self, request: ModelRequest<'_>) -> Result<Answer, ModelError> {
        let scene = Scene::of(request);
        for rule in &self.rules {
            let answer = rule.answer(&scene, &self.engine);
            if let Some(answer) = answer.map_err(|failure| self.failed(rule, failure))? {
                return Ok(answer);
            }
        }
        Err(ModelError::NoRule {
            script: self.name.clone(),
            offered: scene.to_string(),
        })
    }

    fn failed(&self, rule: &Rule, failure: Failure) -> ModelError {
        match failure {
            Failure::TooLarge => ModelError::TooLarge {
                limit: engine::MAX_RENDERED_BYTES,
            },
            Failure::Template { key, reason } => ModelError::Script {
                script: self.name.clone(),
                rule: rule.number(),
                reason: format!("{key}: {reason}"),
            },
        }
    }
}

impl Model for ScriptedModel {
    fn id(&self) -> &str {
        &self.name
    }

    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, StreamItem> {
        stream::iter(iter::once(request).flat_map(|request| self.items(request))).boxed()
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel")
            .field("name", &self.name)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
