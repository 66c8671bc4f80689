//! The entry: a source to a blueprint and diagnostics.

use rustagents_registry::Snapshot;
use rustagents_syntax::parse;

use crate::{
    blueprint::Blueprint,
    diagnostic::{Diagnostic, Report},
    lower::lower,
    outline::Outline,
    rules::{self, Context},
};

/// What came out of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The definition; `None` if a diagnostic is an error.
    pub blueprint: Option<Blueprint>,
    /// What is wrong with the source, in its order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Checks `source` against what a host offers.
///
/// ```
/// use rustagents_lang::compile;
/// use rustagents_registry::Registry;
///
/// let source = r#"graph hello {
///   channel messages messages
///   start greet
///   node greet { kind agent  model "defualt"  prompt "Greet."  next END }
/// }"#;
/// let mut registry = Registry::new();
/// registry.model("default", "scripted:script.toml")?;
/// let compiled = compile(source, &registry.freeze());
/// assert!(compiled.blueprint.is_none());
/// assert_eq!(
///     compiled.diagnostics[0].render("hello.rag", source),
///     r#"hello.rag:4:34: error[RAG0103]: unknown model `defualt`
///   |
/// 4 |   node greet { kind agent  model "defualt"  prompt "Greet."  next END }
///   |                                  ^^^^^^^^^
///   = help: did you mean `default`?"#
/// );
/// # Ok::<(), rustagents_registry::RegisterError>(())
/// ```
pub fn compile(source: &str, capabilities: &Snapshot) -> Compiled {
    let parse = parse(source);
    let mut report = Report::new(source);
    rules::syntax::check(&parse, &mut report);
    rules::graph_count::check(&parse, &mut report);
    let blueprint = parse
        .program()
        .graphs()
        .next()
        .map(|graph| Outline::new(&graph, parse.errors()))
        .and_then(|outline| resolve(&outline, capabilities, &mut report));
    Compiled {
        blueprint,
        diagnostics: report.finish(),
    }
}

fn resolve(
    outline: &Outline,
    capabilities: &Snapshot,
    report: &mut Report<'_>,
) -> Option<Blueprint> {
    let context = Context {
        outline,
        capabilities,
    };
    for check in rules::OF_GRAPH {
        check(&context, report);
    }
    if report.has_errors() {
        return None;
    }
    let blueprint = lower(outline)?;
    rules::unreachable::check(&blueprint, outline, report);
    Some(blueprint)
}
