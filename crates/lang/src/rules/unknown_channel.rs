//! RAG0107: a node writes an unknown channel.
//!
//! What: the channel of `output` is declared in the graph.
//! Why: a channel that appeared by being written would have no reducer.
//! Example: `output topik`
//! Instead: `output topic`, with `channel topic overwrite` in the graph.

use rustagents_core::Code;

use super::Context;
use crate::{
    diagnostic::{Report, Wording},
    names::{shown, suggestion},
    outline::Node,
};

pub(super) fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let outline = context.outline;
    if !outline.is_whole {
        return;
    }
    for output in outline.nodes.iter().filter_map(Node::output) {
        if outline.channel(output.text()).is_none() {
            report.error(Code::UnknownChannel, output.range(), || {
                let known = outline.channels.iter().map(|channel| channel.name.text());
                Wording::new(format!("unknown channel {}", shown(output.text()))).help(suggestion(
                    output.text(),
                    "channels",
                    known,
                ))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn a_channel_is_declared() {
        let source = |channels: &str, output: &str| {
            format!(
                "graph g {{ {channels} start a
                 node a {{ kind interrupt  prompt \"x\"  output {output}  next END }} }}"
            )
        };
        for (channels, output, help) in [
            ("channel topic append", "topik", "did you mean `topic`?"),
            ("channel topic append", "answer", "known channels: `topic`"),
            ("", "answer", "there are no channels"),
        ] {
            check(
                &source(channels, output),
                &[&format!("RAG0107 unknown channel `{output}` ({help})")],
            );
        }
        check(&source("channel topic append", "topic"), &[]);
    }
}
