//! A rule: when it matches, and what it answers.

use std::sync::Arc;

use minijinja::Value;
use regex::Regex;
use rustagents_core::{message::Role, model::FinishReason};

use super::{
    answer::{Answer, Call},
    engine::{Condition, Engine, Failure, MAX_RENDERED_BYTES, Template},
    scene::{Scene, Variables},
};

/// One rule of a script.
#[derive(Debug)]
pub(super) struct Rule {
    number: usize,
    matchers: Matchers,
    outcome: Outcome,
}

/// What must hold for a rule to answer; what is `None` always does.
#[derive(Debug)]
pub(super) struct Matchers {
    pub(super) system: Option<Regex>,
    pub(super) user: Option<Regex>,
    pub(super) last: Option<Role>,
    pub(super) tool: Option<String>,
    pub(super) offers: Option<String>,
    pub(super) when: Option<Condition>,
}

/// What a rule answers.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) text: Option<Template>,
    pub(super) calls: Vec<CallOutcome>,
    /// Why the answer ends, where it is no usual end.
    pub(super) finish: Option<FinishReason>,
}

/// A call that a rule makes.
#[derive(Debug)]
pub(super) struct CallOutcome {
    pub(super) name: Arc<str>,
    pub(super) arguments: Option<Template>,
    pub(super) repeat: usize,
}

impl Rule {
    pub(super) fn new(number: usize, matchers: Matchers, outcome: Outcome) -> Self {
        Self {
            number,
            matchers,
            outcome,
        }
    }

    /// Its place in the script, from 1.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// What it answers, or `None` where it does not match.
    pub(super) fn answer(
        &self,
        scene: &Scene<'_>,
        engine: &Engine,
    ) -> Result<Option<Answer>, Failure> {
        let Some(captures) = self.matchers.captures(scene) else {
            return Ok(None);
        };
        let variables = variables(scene, captures);
        if let Some(when) = &self.matchers.when
            && !engine.holds(when, &variables)?
        {
            return Ok(None);
        }
        self.outcome.render(scene, engine, &variables).map(Some)
    }
}

impl Matchers {
    /// The named captures, or `None` where a matcher, `when` aside, does not match.
    fn captures(&self, scene: &Scene<'_>) -> Option<Variables> {
        let plain = self.last.is_none_or(|role| scene.last == Some(role))
            && self
                .tool
                .as_deref()
                .is_none_or(|tool| scene.tool == Some(tool))
            && self.offers.as_deref().is_none_or(|tool| scene.offers(tool));
        if !plain {
            return None;
        }
        let mut captures = Variables::new();
        capture(
            self.system.as_ref(),
            Some(scene.request.instructions),
            &mut captures,
        )?;
        capture(self.user.as_ref(), scene.user.as_deref(), &mut captures)?;
        Some(captures)
    }
}

/// Adds the named captures of `regex` in `text`; `None` where it does not match.
fn capture(regex: Option<&Regex>, text: Option<&str>, into: &mut Variables) -> Option<()> {
    let Some(regex) = regex else {
        return Some(());
    };
    let found = regex.captures(text?)?;
    let named = regex.capture_names().flatten().filter_map(|name| {
        let part = found.name(name)?;
        Some((name.to_owned(), Value::from(part.as_str())))
    });
    into.extend(named);
    Some(())
}

fn variables(scene: &Scene<'_>, mut captures: Variables) -> Value {
    captures.extend(scene.variables.clone());
    Value::from_pairs(captures)
}

impl Outcome {
    fn render(
        &self,
        scene: &Scene<'_>,
        engine: &Engine,
        variables: &Value,
    ) -> Result<Answer, Failure> {
        let mut room = MAX_RENDERED_BYTES;
        let mut render = |template: Option<&Template>| -> Result<String, Failure> {
            let Some(template) = template else {
                return Ok(String::new());
            };
            let text = engine.render(template, variables, room)?;
            room -= text.len();
            Ok(text)
        };
        let text = render(self.text.as_ref())?;
        let calls = self.calls.iter().map(|call| {
            Ok(Call {
                name: call.name.clone(),
                arguments: render(call.arguments.as_ref())?.into(),
                repeat: call.repeat,
            })
        });
        let calls = calls.collect::<Result<_, Failure>>()?;
        Ok(Answer::new(scene.request, text, calls, self.finish.clone()))
    }
}
