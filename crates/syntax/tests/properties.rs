//! What holds for every source.

use proptest::prelude::*;
use rustagents_syntax::{
    LineIndex, MAX_ERRORS, TextRange, TextSize,
    ast::{Item, Name, NodeItem},
    parse,
};

use crate::SUPPORT;

const TOKENS: &[&str] = &[
    "graph",
    "start",
    "defaults",
    "channel",
    "node",
    "kind",
    "model",
    "prompt",
    "tools",
    "output",
    "next",
    "routes",
    "promt",
    "nod",
    "a",
    "END",
    "{",
    "}",
    "{",
    "}",
    "[",
    "]",
    ",",
    "->",
    "->",
    "\"x\"",
    "\"open",
    "\"\\q\"",
    "\"\"\"\n  y\n  \"\"\"",
    "\"\"\"",
    "1",
    "-2_0",
    "3_",
    "$",
    "=>",
    "// c\n",
    "\n",
    " ",
    "é",
];

/// Checks all that can be said of any source.
fn check(source: &str) {
    let parse = parse(source);
    assert_eq!(parse.syntax().text(), source);
    let all = TextRange::up_to(TextSize::of(source));
    let errors = parse.errors();
    assert!(errors.len() <= MAX_ERRORS + 1);
    assert!(errors.is_sorted_by_key(|error| error.range.start()));
    let index = LineIndex::new(source);
    for error in errors {
        assert!(all.contains_range(error.range));
        assert!(
            source
                .get(std::ops::Range::<usize>::from(error.range))
                .is_some()
        );
        assert!(!error.to_string().contains(['\n', '\r']));
        assert!(error.to_string().len() < 400);
        assert!(index.line_column(error.range.start()).column > 0);
    }
    let missing = walk(&parse.program());
    assert!(
        missing == 0 || !errors.is_empty(),
        "{missing} parts are missing without an error"
    );
}

/// Calls every accessor; counts what is missing.
fn walk(program: &rustagents_syntax::ast::Program) -> usize {
    program
        .graphs()
        .map(|graph| {
            let items: usize = graph.items().map(|item| walk_item(&item)).sum();
            usize::from(graph.name().is_none()) + items
        })
        .sum()
}

fn walk_item(item: &Item) -> usize {
    let missing = match item {
        Item::Start(start) => none(start.targets()),
        Item::Defaults(defaults) => defaults
            .settings()
            .map(|setting| {
                usize::from(setting.key().is_none()) + usize::from(setting.value().is_none())
            })
            .sum(),
        Item::Channel(channel) => {
            usize::from(channel.name().is_none()) + usize::from(channel.reducer().is_none())
        }
        Item::Node(node) => {
            let items: usize = node.items().map(|item| walk_node_item(&item)).sum();
            usize::from(node.name().is_none()) + items
        }
        Item::Edge(edge) => usize::from(edge.source().is_none()) + none(edge.targets()),
    };
    assert!(!item.range().is_empty());
    missing
}

fn walk_node_item(item: &NodeItem) -> usize {
    match item {
        NodeItem::Kind(kind) => usize::from(kind.name().is_none()),
        NodeItem::Model(model) => usize::from(model.text().map(|text| text.value()).is_none()),
        NodeItem::Prompt(prompt) => usize::from(prompt.text().map(|text| text.value()).is_none()),
        NodeItem::Tools(tools) => {
            tools.names().for_each(|name| drop(name.value()));
            0
        }
        NodeItem::Output(output) => usize::from(output.channel().is_none()),
        NodeItem::Next(next) => none(next.targets()),
        NodeItem::Routes(routes) => routes
            .routes()
            .map(|route| usize::from(route.label().is_none()) + none(route.targets()))
            .sum(),
    }
}

fn none(names: impl Iterator<Item = Name>) -> usize {
    usize::from(names.filter(|name| !name.text().is_empty()).count() == 0)
}

/// A place in the example, at a character.
fn place() -> impl Strategy<Value = usize> {
    (0..=SUPPORT.len()).prop_filter("inside of a character", |&at| SUPPORT.is_char_boundary(at))
}

/// A name, preferably one that is a keyword elsewhere.
fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&TOKENS[..16])
}

fn names() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..3).prop_map(|names| names.join(","))
}

fn routes() -> impl Strategy<Value = String> {
    let route = (name(), names()).prop_map(|(label, targets)| format!("{label} -> {targets}"));
    prop::collection::vec(route, 0..3).prop_map(|routes| routes.join(" "))
}

fn node_item() -> impl Strategy<Value = String> {
    prop_oneof![
        name().prop_map(|kind| format!("kind {kind}")),
        Just("model \"x\"".to_owned()),
        Just("prompt \"\"\"\n }\n\"\"\"".to_owned()),
        Just("tools [\"a\", \"b\"]".to_owned()),
        name().prop_map(|channel| format!("output {channel}")),
        names().prop_map(|targets| format!("next {targets}")),
        routes().prop_map(|routes| format!("routes {{ {routes} }}")),
    ]
}

fn graph_item() -> impl Strategy<Value = String> {
    let value = prop_oneof![name(), Just("3"), Just("\"x\"")];
    let setting = (name(), value).prop_map(|(key, value)| format!("{key} {value}"));
    let settings = prop::collection::vec(setting, 0..3).prop_map(|settings| settings.join(" "));
    let items = prop::collection::vec(node_item(), 0..5);
    prop_oneof![
        names().prop_map(|targets| format!("start {targets}")),
        settings.prop_map(|settings| format!("defaults {{ {settings} }}")),
        (name(), name()).prop_map(|(name, reducer)| format!("channel {name} {reducer}")),
        (name(), items).prop_map(|(name, items)| format!("node {name} {{ {} }}", items.join("\n"))),
        (name(), names()).prop_map(|(source, targets)| format!("{source} -> {targets}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_kept(source in any::<String>()) {
        check(&source);
    }

    #[test]
    fn any_text_of_the_language_s_characters_is_kept(source in r#"[a-z{}\[\],>"\\\n\r /0-9_u-]{0,80}"#) {
        check(&source);
    }

    #[test]
    fn any_soup_of_tokens_is_kept(
        tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..120),
        glue in prop::sample::select(&["", " ", "\r\n"][..]),
        inside in prop::sample::select(&["", "graph g { ", "graph g { node n { "][..]),
    ) {
        check(&format!("{inside}{}", tokens.join(glue)));
    }

    #[test]
    fn any_program_of_the_grammar_has_no_error(
        name in name(),
        items in prop::collection::vec(graph_item(), 0..8),
        glue in prop::sample::select(&[" ", "\n", " // }\r\n"][..]),
    ) {
        let source = format!("graph {name} {{ {} }}", items.join(glue));
        prop_assert_eq!(crate::rendered(&source), [""; 0], "in {}", source);
        let graph = parse(&source).program().graphs().next().unwrap();
        prop_assert_eq!(graph.items().count(), items.len());
        check(&source);
    }

    #[test]
    fn the_example_without_a_part_is_kept(a in place(), b in place()) {
        let (start, end) = (a.min(b), a.max(b));
        check(&format!("{}{}", &SUPPORT[..start], &SUPPORT[end..]));
    }

    #[test]
    fn the_example_with_something_more_is_kept(at in place(), more in prop::sample::select(TOKENS)) {
        check(&format!("{}{more}{}", &SUPPORT[..at], &SUPPORT[at..]));
    }
}

#[test]
fn any_token_less_in_the_example_is_at_most_one_error() {
    let tokens: Vec<_> = parse(SUPPORT)
        .syntax()
        .descendants_with_tokens()
        .filter_map(rustagents_syntax::SyntaxElement::into_token)
        .filter(|token| !token.text().trim().is_empty())
        .map(|token| token.text_range())
        .collect();
    for range in tokens {
        let range = std::ops::Range::<usize>::from(range);
        let source = format!("{}{}", &SUPPORT[..range.start], &SUPPORT[range.end..]);
        check(&source);
        let errors = crate::rendered(&source);
        assert!(
            errors.len() <= 1,
            "without {range:?} {:?}: {errors:?}",
            &SUPPORT[range.clone()]
        );
    }
}
