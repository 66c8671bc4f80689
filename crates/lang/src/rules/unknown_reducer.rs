//! RAG0108: a channel has an unknown reducer.
//!
//! What: a channel says how writes become its value: `overwrite`, `append` or
//! `messages`.
//! Why: two nodes of one step may write the same channel; what becomes of that
//! is part of the plan.
//! Example: `channel notes list`
//! Instead: `channel notes append`

use rustagents_core::Code;

use super::Context;
use crate::{
    blueprint::Reducer,
    diagnostic::{Report, Wording},
    names::{shown, suggestion},
};

pub(super) fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let reducers = context
        .outline
        .channels
        .iter()
        .filter_map(|channel| channel.reducer.as_ref());
    for reducer in reducers.filter(|reducer| Reducer::parse(reducer.text()).is_none()) {
        report.error(Code::UnknownReducer, reducer.range(), || {
            let known = Reducer::ALL.iter().map(|known| known.as_str());
            Wording::new(format!("unknown reducer {}", shown(reducer.text()))).help(suggestion(
                reducer.text(),
                "reducers",
                known,
            ))
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, in_graph};

    #[test]
    fn a_reducer_is_known() {
        for (written, help) in [
            ("apend", "did you mean `append`?"),
            ("list", "known reducers: `overwrite`, `append`, `messages`"),
        ] {
            check(
                &in_graph(&format!("channel c {written}")),
                &[&format!("RAG0108 unknown reducer `{written}` ({help})")],
            );
        }
        check(&in_graph("channel c append  channel d overwrite"), &[]);
    }

    #[test]
    fn a_misspelt_messages_channel_is_not_missing_as_well() {
        check(
            "graph g { channel c mesages  start a
             node a { kind agent  model \"default\"  prompt \"x\"  next END } }",
            &["RAG0108 unknown reducer `mesages` (did you mean `messages`?)"],
        );
    }
}
