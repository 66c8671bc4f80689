//! RAG0114: a file holds no graph, or several.
//!
//! What: a `.rag` file is one graph.
//! Why: a file names what is run; with two graphs it would name neither.
//! Example: `graph a { … } graph b { … }`
//! Instead: a file for each graph.

use rustagents_core::Code;
use rustagents_syntax::{Parse, TextRange};

use crate::{
    diagnostic::{Report, Wording},
    names::shown,
    outline::keyword_range,
};

/// Reports each graph after the first, or that there is none.
pub(crate) fn check(parse: &Parse, report: &mut Report<'_>) {
    let mut graphs = parse.program().graphs();
    if graphs.next().is_none() && parse.errors().is_empty() {
        report.error(Code::GraphCount, TextRange::default(), || {
            Wording::new("the file holds no graph").help("add `graph NAME { … }`".to_owned())
        });
    }
    for graph in graphs {
        let Some(name) = graph.name() else { continue };
        report.error(Code::GraphCount, keyword_range(graph.syntax()), || {
            Wording::new(format!(
                "a file holds one graph, and {} is another",
                shown(name.text())
            ))
            .help("give it a file of its own".to_owned())
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, in_graph};

    #[test]
    fn a_file_holds_one_graph() {
        for source in ["", " // nothing\n"] {
            check(
                source,
                &["RAG0114 the file holds no graph (add `graph NAME { … }`)"],
            );
        }
        let source = in_graph("") + "graph two { start x } graph three { }";
        check(
            &source,
            &[
                "RAG0114 a file holds one graph, and `two` is another (give it a file of its own)",
                "RAG0114 a file holds one graph, and `three` is another (give it a file of its own)",
            ],
        );
    }
}
