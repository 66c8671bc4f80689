//! What holds for every source and every blueprint.

use proptest::prelude::*;
use rustagents_lang::{
    Blueprint, Channel, MAX_DIAGNOSTICS, Node, NodeKind, Reducer, Route, Severity, Target, VERSION,
    Way, compile,
};
use rustagents_syntax::{SyntaxKind, parse};

use crate::{SUPPORT, capabilities};

const TOKENS: &[&str] = &[
    "graph",
    "start",
    "defaults",
    "recursion_limit",
    "channel",
    "node",
    "kind",
    "agent",
    "interrupt",
    "model",
    "prompt",
    "tools",
    "output",
    "next",
    "routes",
    "a",
    "b",
    "END",
    "START",
    "messages",
    "append",
    "triage",
    "topic",
    "{",
    "}",
    "{",
    "}",
    "[",
    "]",
    ",",
    "->",
    "->",
    "\"default\"",
    "\"refund\"",
    "\"open",
    "\"\"\"",
    "7",
    "-1",
    "$",
    "// c\n",
    "\n",
    "\t",
    "é",
    "語",
];

/// Checks all that can be said of any source.
fn check(source: &str) {
    let compiled = compile(source, &capabilities());
    let diagnostics = &compiled.diagnostics;
    assert!(diagnostics.len() <= MAX_DIAGNOSTICS + 1);
    assert!(diagnostics.is_sorted_by_key(|one| one.range.start()));
    for one in diagnostics {
        assert!(
            source
                .get(std::ops::Range::<usize>::from(one.range))
                .is_some()
        );
        assert!((one.line, one.column) <= (one.end_line, one.end_column));
        let shown = one.render("plan.rag", source);
        assert!(
            shown.lines().all(|line| line.chars().count() < 400),
            "{shown}"
        );
        assert!(
            !shown.contains(|c: char| c.is_control() && c != '\n'),
            "{shown}"
        );
        assert_eq!(one.to_string().lines().count(), 1);
    }
    let is_refused = diagnostics
        .iter()
        .any(|one| one.severity == Severity::Error);
    assert_eq!(compiled.blueprint.is_none(), is_refused, "{source}");
    if let Some(blueprint) = compiled.blueprint {
        round_trips(&blueprint);
    }
}

fn round_trips(blueprint: &Blueprint) {
    let text = blueprint.canonical();
    let read = Blueprint::from_canonical(&text).unwrap();
    assert_eq!(read, *blueprint);
    assert_eq!(read.canonical(), text);
    assert_eq!(read.digest(), blueprint.digest());
}

/// A place in the example, at a character.
fn place() -> impl Strategy<Value = usize> {
    0..=SUPPORT.len()
}

fn targets() -> impl Strategy<Value = Vec<Target>> {
    let target = prop_oneof!["[a-z]{1,8}".prop_map(Target::from), Just(Target::End)];
    prop::collection::vec(target, 0..3)
}

fn way() -> impl Strategy<Value = Way> {
    let route = ("[a-z]{1,8}", targets()).prop_map(|(label, targets)| Route { label, targets });
    prop_oneof![
        targets().prop_map(Way::Next),
        prop::collection::vec(route, 0..3).prop_map(Way::Routes),
    ]
}

fn kind() -> impl Strategy<Value = NodeKind> {
    let output = || prop::option::of("[a-z]{1,8}");
    let tools = prop::collection::vec(any::<String>(), 0..3);
    prop_oneof![
        (any::<String>(), any::<String>(), tools, output()).prop_map(
            |(model, prompt, tools, output)| NodeKind::Agent {
                model,
                prompt,
                tools,
                output
            }
        ),
        (any::<String>(), output())
            .prop_map(|(prompt, output)| NodeKind::Interrupt { prompt, output }),
    ]
}

fn blueprint() -> impl Strategy<Value = Blueprint> {
    let reducer = prop::sample::select(Reducer::ALL);
    let channel = ("[a-z]{1,8}", reducer).prop_map(|(name, reducer)| Channel { name, reducer });
    let node = ("[a-z]{1,8}", kind(), way()).prop_map(|(name, kind, way)| Node { name, kind, way });
    (
        "[a-z]{1,8}",
        prop::option::of(any::<u64>()),
        prop::collection::vec(channel, 0..3),
        targets(),
        prop::collection::vec(node, 0..4),
    )
        .prop_map(
            |(name, recursion_limit, channels, start, nodes)| Blueprint {
                version: VERSION,
                name,
                recursion_limit,
                channels,
                start,
                nodes,
            },
        )
}

/// The example's tokens, without what stands between them.
fn support_tokens() -> Vec<String> {
    parse(SUPPORT)
        .syntax()
        .descendants_with_tokens()
        .filter_map(rustagents_syntax::SyntaxElement::into_token)
        .filter(|token| !matches!(token.kind(), SyntaxKind::Space | SyntaxKind::Comment))
        .map(|token| token.text().to_owned())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_compiled(source in any::<String>()) {
        check(&source);
    }

    #[test]
    fn any_soup_of_tokens_is_compiled(
        tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..120),
        inside in prop::sample::select(&["", "graph g { ", "graph g { start a node a { "][..]),
    ) {
        check(&format!("{inside}{}", tokens.join(" ")));
    }

    #[test]
    fn the_example_without_a_part_is_compiled(a in place(), b in place()) {
        let (start, end) = (a.min(b), a.max(b));
        check(&format!("{}{}", &SUPPORT[..start], &SUPPORT[end..]));
    }

    #[test]
    fn the_example_with_something_more_is_compiled(
        at in place(),
        more in prop::sample::select(TOKENS),
    ) {
        check(&format!("{}{more}{}", &SUPPORT[..at], &SUPPORT[at..]));
    }

    #[test]
    fn the_example_with_other_tokens_is_compiled(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(TOKENS)), 1..4),
    ) {
        let mut tokens = support_tokens();
        for (index, token) in changes {
            let at = index.index(tokens.len());
            tokens[at] = token.to_owned();
        }
        check(&tokens.join(" "));
    }

    #[test]
    fn formatting_and_comments_never_change_the_digest(
        spaces in prop::collection::vec(
            prop::sample::select(&[" ", "\n", "\r\n\t", " // } note\n", "  \n\n  "][..]), 1..40),
    ) {
        let plain = compile(SUPPORT, &capabilities()).blueprint.unwrap();
        let source: String = support_tokens()
            .into_iter()
            .zip(spaces.iter().cycle())
            .map(|(token, space)| token + space)
            .collect();
        let compiled = compile(&source, &capabilities());
        prop_assert_eq!(&compiled.diagnostics, &[]);
        prop_assert_eq!(compiled.blueprint.unwrap().digest(), plain.digest());
    }

    #[test]
    fn any_blueprint_round_trips(blueprint in blueprint()) {
        round_trips(&blueprint);
    }
}
