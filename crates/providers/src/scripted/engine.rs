//! Templates, expressions and patterns: compiled once, strict and bounded when they run.

use std::{collections::BTreeMap, io};

use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior, Value, syntax::SyntaxConfig};
use regex::Regex;

use super::error::Key;

/// The most bytes that the templates of one answer may render together.
pub(super) const MAX_RENDERED_BYTES: usize = 64 << 20;

/// The work that one evaluation may do. A unit pays for one instruction or 64
/// bytes, so this also bounds its memory, to 256 MiB.
const FUEL: u64 = 4 << 20;

/// All that a script compiled.
#[derive(Debug)]
pub(super) struct Engine {
    /// Where an undefined variable is an error.
    strict: Environment<'static>,
    /// Where an undefined variable is false, and so is all that is in it.
    lenient: Environment<'static>,
    /// Patterns by their source; many rules share one, and making one is dear.
    patterns: BTreeMap<String, Regex>,
}

/// A template that the engine holds, by name.
#[derive(Debug)]
pub(super) struct Template {
    name: String,
    key: Key,
}

/// A condition that the engine holds, by name.
#[derive(Debug)]
pub(super) struct Condition(Template);

/// Why an evaluation ended without a value.
#[derive(Debug)]
pub(super) enum Failure {
    /// It rendered more bytes than it may.
    TooLarge,
    /// The engine refused.
    Template { key: Key, reason: String },
}

impl Engine {
    pub(super) fn new() -> Self {
        Self {
            strict: environment(UndefinedBehavior::Strict),
            lenient: environment(UndefinedBehavior::Chainable),
            patterns: BTreeMap::new(),
        }
    }

    /// Compiles a pattern, once.
    pub(super) fn pattern(&mut self, source: &str) -> Result<Regex, regex::Error> {
        if let Some(known) = self.patterns.get(source) {
            return Ok(known.clone());
        }
        let made = Regex::new(source)?;
        self.patterns.insert(source.to_owned(), made.clone());
        Ok(made)
    }

    /// Compiles the template at `key` of rule `rule`.
    pub(super) fn template(
        &mut self,
        rule: usize,
        key: Key,
        source: &str,
    ) -> Result<Template, String> {
        let name = format!("rule {rule}: {key}");
        let added = self
            .strict
            .add_template_owned(name.clone(), source.to_owned());
        added.map_err(|error| reason(&error))?;
        Ok(Template { name, key })
    }

    /// Compiles the expression at `key` of rule `rule`.
    pub(super) fn condition(
        &mut self,
        rule: usize,
        key: Key,
        source: &str,
    ) -> Result<Condition, String> {
        self.lenient
            .compile_expression(source)
            .map_err(|error| reason(&error))?;
        // A compiled expression borrows its environment; a template, which can be
        // stored in it, holds the expression that was just found to be whole. No
        // whole expression can end the block early: `%` is never followed by `}`.
        let name = format!("rule {rule}: {key}");
        let template = format!("{{% if ({source}) %}}1{{% endif %}}");
        let added = self.lenient.add_template_owned(name.clone(), template);
        added.map_err(|error| reason(&error))?;
        Ok(Condition(Template { name, key }))
    }

    /// Whether the condition holds.
    pub(super) fn holds(&self, condition: &Condition, variables: &Value) -> Result<bool, Failure> {
        let rendered = render(&self.lenient, &condition.0, variables, MAX_RENDERED_BYTES)?;
        Ok(!rendered.is_empty())
    }

    /// What the template renders, unless it is more than `room` bytes.
    pub(super) fn render(
        &self,
        template: &Template,
        variables: &Value,
        room: usize,
    ) -> Result<String, Failure> {
        render(&self.strict, template, variables, room)
    }
}

fn environment(undefined: UndefinedBehavior) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(undefined);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    // Errors then name the variable that is not defined.
    environment.set_debug(true);
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
    environment.set_syntax(syntax.unwrap_or_default());
    environment
}

fn render(
    environment: &Environment<'static>,
    template: &Template,
    variables: &Value,
    room: usize,
) -> Result<String, Failure> {
    let mut output = Bounded {
        text: String::new(),
        room,
        overflowed: false,
    };
    let rendered = environment
        .get_template(&template.name)
        .and_then(|compiled| {
            compiled
                .render_captured_to(variables.clone(), &mut output)
                .map(drop)
        });
    match rendered {
        Ok(()) => Ok(output.text),
        Err(_) if output.overflowed => Err(Failure::TooLarge),
        Err(error) => Err(Failure::Template {
            key: template.key.clone(),
            reason: reason(&error),
        }),
    }
}

/// What the engine says, in one line.
fn reason(error: &Error) -> String {
    let mut reason = error.kind().to_string();
    if let Some(detail) = error.detail() {
        reason = format!("{reason}: {detail}");
    }
    match error.line() {
        Some(line) if line > 1 => format!("{reason} (line {line})"),
        _ => reason,
    }
}

/// Text that takes no more than so many bytes.
struct Bounded {
    text: String,
    room: usize,
    overflowed: bool,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.room - self.text.len() {
            self.overflowed = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        let text = str::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData)?;
        self.text.push_str(text);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
