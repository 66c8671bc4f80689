//! The question that a person is asked before a call.

use minijinja::{Environment, UndefinedBehavior, value::Serde};
use serde_json::Value;

use crate::declaration::DeclarationError;

/// The template's name; without a file ending nothing in it is escaped.
const NAME: &str = "ask";

/// A template over the arguments.
#[derive(Debug)]
pub(crate) struct Question(Environment<'static>);

impl Question {
    /// Compiles `template`, whose variables must be among the `known` arguments.
    pub(crate) fn new(template: &str, known: &[String]) -> Result<Self, DeclarationError> {
        let mut environment = Environment::new();
        // A missing argument may be asked for, but never shows as nothing.
        environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
        environment
            .add_template_owned(NAME, template.to_owned())
            .map_err(|error| not_a_template(&error))?;
        let question = Self(environment);
        match question.unknown(known) {
            Some(name) => Err(DeclarationError::UnknownVariable {
                name,
                known: known.to_vec(),
            }),
            None => Ok(question),
        }
    }

    /// The question about a call with these arguments, if it can be worded.
    pub(crate) fn render(&self, arguments: &Value) -> Option<String> {
        let arguments = minijinja::Value::from(Serde(arguments));
        self.0.get_template(NAME).ok()?.render(arguments).ok()
    }

    /// The first variable, by name, that is neither an argument nor built in.
    fn unknown(&self, known: &[String]) -> Option<String> {
        let used = self.0.get_template(NAME).ok()?.undeclared_variables(false);
        used.into_iter()
            .filter(|name| !known.contains(name))
            .filter(|name| !self.0.globals().any(|(global, _)| global == name))
            .min()
    }
}

fn not_a_template(error: &minijinja::Error) -> DeclarationError {
    let reason = error
        .detail()
        .map_or_else(|| error.kind().to_string(), str::to_owned);
    DeclarationError::Question {
        reason,
        line: error.line(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(template: &str) -> Result<Question, DeclarationError> {
        Question::new(template, &["order".into(), "cents".into(), "items".into()])
    }

    #[test]
    fn arguments_are_variables() {
        let question = question("Refund {{ cents }} cents for {{ order }}").unwrap();
        let asked = question.render(&json!({"order": "<A>", "cents": 1299}));
        assert_eq!(asked.as_deref(), Some("Refund 1299 cents for <A>"));
    }

    #[test]
    fn a_missing_argument_leaves_the_wording_to_the_caller() {
        assert_eq!(
            question("For {{ order }}").unwrap().render(&json!({})),
            None
        );
        let optional = question("Pay{% if cents %} {{ cents }}{% endif %}").unwrap();
        assert_eq!(optional.render(&json!({})).as_deref(), Some("Pay"));
    }

    #[test]
    fn loops_and_built_in_functions_are_no_arguments() {
        let question =
            question("{% for i in items %}{{ loop.index }}{{ i }}{% endfor %}{{ range(2) }}");
        assert_eq!(
            question
                .unwrap()
                .render(&json!({"items": ["a"]}))
                .as_deref(),
            Some("1a[0, 1]")
        );
    }

    #[test]
    fn what_is_not_a_template_is_refused() {
        let error = question("Refund\n{{ order").unwrap_err();
        assert!(
            matches!(error, DeclarationError::Question { line: Some(2), .. }),
            "{error:?}"
        );
        assert!(!error.to_string().contains('\n'), "{error}");
        let error = question("{{ ordre }}").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the question uses `ordre`, which is not an argument"
        );
    }
}
