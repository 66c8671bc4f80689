//! The values of a table of the script, each of the type that its key asks for.

use regex::Regex;
use toml::Table;

use super::{
    engine::{Condition, Engine, Template},
    error::{Key, RuleProblem},
    scene::RESERVED,
};

/// The keys and values of a rule, or of one of its calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    table: &'a Table,
    rule: usize,
    call: Option<usize>,
}

impl<'a> Fields<'a> {
    pub(super) fn of_rule(table: &'a Table, rule: usize) -> Self {
        Self {
            table,
            rule,
            call: None,
        }
    }

    pub(super) fn key(&self, name: &str) -> Key {
        Key::new(name, self.call)
    }

    fn wrong(&self, name: &str, expected: &'static str) -> RuleProblem {
        RuleProblem::WrongType {
            key: self.key(name),
            expected,
        }
    }

    /// Checks that no other keys are there.
    pub(super) fn only(&self, known: &'static [&'static str]) -> Result<(), RuleProblem> {
        match self
            .table
            .keys()
            .find(|name| !known.contains(&name.as_str()))
        {
            Some(name) => Err(RuleProblem::UnknownKey {
                key: self.key(name),
                known,
            }),
            None => Ok(()),
        }
    }

    /// Checks that nothing is there that belongs to a call.
    pub(super) fn without_call(&self) -> Result<(), RuleProblem> {
        if self.call.is_some() {
            return Ok(());
        }
        match ["arguments", "repeat"]
            .into_iter()
            .find(|name| self.table.contains_key(*name))
        {
            Some(name) => Err(RuleProblem::WithoutCall {
                key: self.key(name),
            }),
            None => Ok(()),
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, RuleProblem> {
        let Some(value) = self.table.get(name) else {
            return Ok(None);
        };
        value
            .as_str()
            .map(Some)
            .ok_or_else(|| self.wrong(name, "a string"))
    }

    pub(super) fn count(&self, name: &str) -> Result<Option<usize>, RuleProblem> {
        let Some(value) = self.table.get(name) else {
            return Ok(None);
        };
        let count = value
            .as_integer()
            .and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|count| *count > 0);
        count
            .map(Some)
            .ok_or_else(|| self.wrong(name, "a whole number from 1"))
    }

    pub(super) fn tables(&self, name: &str) -> Result<Option<Vec<Fields<'a>>>, RuleProblem> {
        let Some(value) = self.table.get(name) else {
            return Ok(None);
        };
        let expected = || self.wrong(name, "a list of tables");
        let entries = value.as_array().ok_or_else(expected)?.iter().zip(1..);
        let tables = entries.map(|(entry, number)| {
            let table = entry.as_table().ok_or_else(expected)?;
            Ok(Fields {
                table,
                rule: self.rule,
                call: Some(number),
            })
        });
        tables.collect::<Result<_, _>>().map(Some)
    }

    pub(super) fn regex(
        &self,
        name: &str,
        engine: &mut Engine,
    ) -> Result<Option<Regex>, RuleProblem> {
        let Some(source) = self.text(name)? else {
            return Ok(None);
        };
        let key = || self.key(name);
        let regex = engine.pattern(source).map_err(|error| RuleProblem::Regex {
            key: key(),
            reason: regex_reason(&error),
        })?;
        match regex
            .capture_names()
            .flatten()
            .find(|capture| RESERVED.contains(capture))
        {
            Some(capture) => Err(RuleProblem::ReservedCapture {
                key: key(),
                name: capture.to_owned(),
            }),
            None => Ok(Some(regex)),
        }
    }

    pub(super) fn template(
        &self,
        name: &str,
        engine: &mut Engine,
    ) -> Result<Option<Template>, RuleProblem> {
        let Some(source) = self.text(name)? else {
            return Ok(None);
        };
        let template = engine.template(self.rule, self.key(name), source);
        template.map(Some).map_err(|reason| RuleProblem::Template {
            key: self.key(name),
            reason,
        })
    }

    pub(super) fn condition(
        &self,
        name: &str,
        engine: &mut Engine,
    ) -> Result<Option<Condition>, RuleProblem> {
        let Some(source) = self.text(name)? else {
            return Ok(None);
        };
        let condition = engine.condition(self.rule, self.key(name), source);
        condition
            .map(Some)
            .map_err(|reason| RuleProblem::Expression {
                key: self.key(name),
                reason,
            })
    }
}

/// The last line of the error; those above it draw the expression.
fn regex_reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().next_back().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}
