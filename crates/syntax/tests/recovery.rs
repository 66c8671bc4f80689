//! An error in one place leaves the others intact.

use rustagents_syntax::{ast::Graph, parse};

use crate::{SUPPORT, rendered};

fn graph(source: &str) -> Graph {
    parse(source).program().graphs().next().unwrap()
}

/// The names of the nodes, each with how many items it has.
fn nodes(source: &str) -> Vec<(String, usize)> {
    graph(source)
        .nodes()
        .map(|node| {
            let name = node.name().map(|name| name.text().to_owned());
            (name.unwrap_or_default(), node.items().count())
        })
        .collect()
}

fn expected(nodes: &[(&str, usize)]) -> Vec<(String, usize)> {
    nodes
        .iter()
        .map(|&(name, items)| (name.to_owned(), items))
        .collect()
}

#[test]
fn an_error_in_one_node_leaves_the_next_ones_intact() {
    let changes = [
        ("prompt \"Refund clerk.", "promt \"Refund clerk."),
        ("node refunds {", "nod refunds {"),
        ("node refunds {", "node refunds"),
        ("refunds {\n    kind agent", "refunds {\n    kind agent ; $"),
        ("if it is paid.\"\n", "if it is paid.\n"),
        (
            "[\"lookup_order\", \"refund\"]",
            "[\"lookup_order\" \"refund\"]",
        ),
        ("[\"lookup_order\", \"refund\"]", "[lookup_order, refund]"),
        (
            "[\"lookup_order\", \"refund\"]",
            "[\"lookup_order\", \"refund\"",
        ),
        (
            "next reply\n  }\n  node carrier",
            "next reply\n  node carrier",
        ),
        (
            "next reply\n  }\n  node carrier",
            "next\n  }\n  node carrier",
        ),
        (
            "next reply\n  }\n  node carrier",
            "next reply\n  } }\n  node carrier",
        ),
    ];
    for (before, after) in changes {
        let source = SUPPORT.replacen(before, after, 1);
        assert_ne!(source, SUPPORT, "{before} is in the example");
        let errors = rendered(&source);
        let runs = if after.contains('$') { 2 } else { 1 };
        assert_eq!(errors.len(), runs, "{after}: {errors:?}");
        let all = expected(&[("triage", 5), ("refunds", 5), ("carrier", 5), ("reply", 4)]);
        assert_eq!(nodes(&source), all, "{after}");
    }
}

#[test]
fn a_misspelt_keyword_is_read_as_what_it_was_meant_to_be() {
    let graph =
        graph("graph g { strat a  chanel c overwrite  defualts { x 3 }  nod n { knd agent } }");
    assert_eq!(graph.starts().count(), 1);
    assert_eq!(graph.channels().count(), 1);
    assert_eq!(
        graph
            .defaults()
            .flat_map(|defaults| defaults.settings())
            .count(),
        1
    );
    assert_eq!(graph.nodes().flat_map(|node| node.items()).count(), 1);
}

#[test]
fn an_unknown_item_is_skipped_up_to_the_next_one() {
    for unknown in [
        "foo",
        "foo bar",
        "foo \"x\" 3",
        "foo { node x { } }",
        "foo [a, b]",
        "\"x\"",
        ",",
    ] {
        for next in ["start a", "a -> b", "node n { }", ""] {
            let source = format!("graph g {{ {unknown} {next} }} graph h {{ }}");
            assert_eq!(rendered(&source).len(), 1, "{source}");
            assert_eq!(
                graph(&source).items().count(),
                usize::from(!next.is_empty()),
                "{source}"
            );
            assert_eq!(parse(&source).program().graphs().count(), 2, "{source}");
        }
    }
}

#[test]
fn an_item_in_the_wrong_place_does_not_end_its_block() {
    let source = "graph g { node n { a -> b, c  kind agent  channel x y  next n }  start n }";
    assert_eq!(rendered(source).len(), 2);
    assert_eq!(nodes(source), expected(&[("n", 2)]));
    assert_eq!(graph(source).starts().count(), 1);
}

#[test]
fn a_block_that_is_not_closed_ends_before_an_item_of_the_block_around_it() {
    let source = "graph g { node n { kind agent routes { a -> b  next c } a -> b  start n }";
    assert_eq!(rendered(source).len(), 1);
    assert_eq!(nodes(source), expected(&[("n", 3)]));
    assert_eq!(graph(source).edges().count(), 1);
    assert_eq!(graph(source).starts().count(), 1);
}

#[test]
fn a_graph_that_is_not_closed_ends_before_the_next_one() {
    let parse = parse("graph g { start a\n graph h { start b }");
    assert_eq!(parse.errors().len(), 1);
    assert_eq!(parse.program().graphs().count(), 2);
}

#[test]
fn an_unterminated_string_does_not_swallow_the_brackets_that_end_its_line() {
    let source = "graph g { node a { prompt \"x {y} }\n node b { tools [\"z] } }";
    assert_eq!(
        rendered(source),
        [
            "1:27 the string is not closed",
            "2:18 the string is not closed"
        ]
    );
    assert_eq!(nodes(source), expected(&[("a", 1), ("b", 1)]));
}

#[test]
fn a_route_with_an_error_leaves_the_next_ones_intact() {
    for route in [
        "a b",
        "a ->",
        "a -> ,",
        "\"a\" -> b",
        "a => b",
        "a",
        "a -> b -> c",
        ", a -> b",
    ] {
        let source = format!("graph g {{ node n {{ routes {{ {route}\n z -> y, x }} }} }}");
        assert_eq!(rendered(&source).len(), 1, "{source}");
        let node = graph(&source).nodes().next().unwrap();
        let Some(rustagents_syntax::ast::NodeItem::Routes(routes)) = node.items().next() else {
            panic!("routes")
        };
        let last = routes.routes().last().unwrap();
        assert_eq!(last.label().unwrap().text(), "z", "{source}");
        assert_eq!(last.targets().count(), 2);
    }
}
