//! A file becomes rules.

use rustagents_core::{message::Role, model::FinishReason};
use toml::{Table, Value};

use super::{
    engine::Engine,
    error::{RuleProblem, ScriptError},
    fields::Fields,
    rule::{CallOutcome, Matchers, Outcome, Rule},
};

const RULE_KEYS: &[&str] = &[
    "system",
    "user",
    "last",
    "tool",
    "offers",
    "when",
    "text",
    "call",
    "arguments",
    "repeat",
    "calls",
    "finish",
];
const CALL_KEYS: &[&str] = &["call", "arguments", "repeat"];

/// The rules of the script `script`, with all that they name compiled by `engine`.
pub(super) fn rules(
    script: &str,
    source: &str,
    engine: &mut Engine,
) -> Result<Vec<Rule>, ScriptError> {
    let entries = entries(script, source)?;
    let rules = entries.iter().zip(1..).map(|(entry, number)| {
        rule(entry, number, engine).map_err(|problem| ScriptError::Rule {
            script: script.to_owned(),
            rule: number,
            problem,
        })
    });
    rules.collect()
}

fn entries(script: &str, source: &str) -> Result<Vec<Value>, ScriptError> {
    let mut document: Table = toml::from_str(source).map_err(|e| syntax(script, source, &e))?;
    let entries = match document.remove("rule") {
        None => Vec::new(),
        Some(Value::Array(entries)) => entries,
        Some(_) => {
            return Err(ScriptError::NotRules {
                script: script.to_owned(),
            });
        }
    };
    match document.into_iter().next() {
        Some((key, _)) => Err(ScriptError::UnknownKey {
            script: script.to_owned(),
            key,
        }),
        None => Ok(entries),
    }
}

fn syntax(script: &str, source: &str, error: &toml::de::Error) -> ScriptError {
    let offset = error.span().map_or(0, |span| span.start);
    let before = source
        .get(..source.floor_char_boundary(offset))
        .unwrap_or_default();
    let (above, line) = before
        .rsplit_once('\n')
        .map_or((None, before), |(a, l)| (Some(a), l));
    ScriptError::Toml {
        script: script.to_owned(),
        line: above.map_or(0, |above| above.matches('\n').count() + 1) + 1,
        column: line.chars().count() + 1,
        reason: error.message().to_owned(),
    }
}

fn rule(entry: &Value, number: usize, engine: &mut Engine) -> Result<Rule, RuleProblem> {
    let table = entry.as_table().ok_or(RuleProblem::NotATable)?;
    let fields = Fields::of_rule(table, number);
    fields.only(RULE_KEYS)?;
    let matchers = matchers(fields, engine)?;
    let outcome = outcome(fields, engine)?;
    Ok(Rule::new(number, matchers, outcome))
}

fn matchers(fields: Fields<'_>, engine: &mut Engine) -> Result<Matchers, RuleProblem> {
    Ok(Matchers {
        system: fields.regex("system", engine)?,
        user: fields.regex("user", engine)?,
        last: fields.text("last")?.map(role).transpose()?,
        tool: fields.text("tool")?.map(str::to_owned),
        offers: fields.text("offers")?.map(str::to_owned),
        when: fields.condition("when", engine)?,
    })
}

fn role(name: &str) -> Result<Role, RuleProblem> {
    match name {
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "tool" => Ok(Role::Tool),
        _ => Err(RuleProblem::UnknownRole {
            found: name.to_owned(),
        }),
    }
}

fn outcome(fields: Fields<'_>, engine: &mut Engine) -> Result<Outcome, RuleProblem> {
    let text = fields.template("text", engine)?;
    let calls = match (call(fields, engine)?, fields.tables("calls")?) {
        (Some(_), Some(_)) => return Err(RuleProblem::TwoOutcomes),
        (Some(call), None) => vec![call],
        (None, several) => calls(&several.unwrap_or_default(), engine)?,
    };
    if text.is_none() && calls.is_empty() {
        return Err(RuleProblem::NoOutcome);
    }
    let finish = fields.text("finish")?.map(finish).transpose()?;
    Ok(Outcome {
        text,
        calls,
        finish,
    })
}

fn finish(name: &str) -> Result<FinishReason, RuleProblem> {
    match name {
        "length" => Ok(FinishReason::Length),
        "refusal" => Ok(FinishReason::Refusal),
        _ => Err(RuleProblem::UnknownFinish {
            found: name.to_owned(),
        }),
    }
}

fn calls(entries: &[Fields<'_>], engine: &mut Engine) -> Result<Vec<CallOutcome>, RuleProblem> {
    let calls = entries.iter().map(|fields| {
        fields.only(CALL_KEYS)?;
        call(*fields, engine)?.ok_or_else(|| RuleProblem::Missing {
            key: fields.key("call"),
        })
    });
    calls.collect()
}

fn call(fields: Fields<'_>, engine: &mut Engine) -> Result<Option<CallOutcome>, RuleProblem> {
    let Some(name) = fields.text("call")? else {
        return fields.without_call().map(|()| None);
    };
    Ok(Some(CallOutcome {
        name: name.into(),
        arguments: fields.template("arguments", engine)?,
        repeat: fields.count("repeat")?.unwrap_or(1),
    }))
}
