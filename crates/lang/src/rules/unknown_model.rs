//! RAG0103: the plan names an unknown model.
//!
//! What: a plan names models by the aliases of the configuration.
//! Why: which model is behind an alias is for the host to say, not for a plan.
//! Example: `model "gpt-5"`
//! Instead: `model "default"`, with `[models] default = "…"` in the configuration.

use rustagents_core::Code;

use super::Context;
use crate::{
    diagnostic::{Report, Wording},
    names::{shown, suggestion},
    outline::Node,
};

pub(super) fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for model in context.outline.nodes.iter().filter_map(Node::model) {
        let alias = model.value();
        if !context.capabilities.has_model(&alias) {
            report.error(Code::UnknownModel, model.range(), || {
                let known = context.capabilities.models().map(|(known, _)| known);
                let known: Vec<_> = known.collect();
                Wording::new(format!("unknown model {}", shown(&alias))).help(suggestion(
                    &alias,
                    "models",
                    known.into_iter(),
                ))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, in_node};

    #[test]
    fn a_model_is_known() {
        for (written, help) in [
            ("defualt", "did you mean `default`?"),
            ("gpt-5", "known models: `default`"),
            ("", "known models: `default`"),
        ] {
            let source = in_node("").replace("\"default\"", &format!("\"{written}\""));
            check(
                &source,
                &[&format!("RAG0103 unknown model `{written}` ({help})")],
            );
        }
    }
}
