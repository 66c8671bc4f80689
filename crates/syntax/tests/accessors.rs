//! A complete program, read through the accessors.

use rustagents_syntax::{
    TextRange,
    ast::{Graph, Item, Name, Node, NodeItem, Value},
    parse,
};

use crate::SUPPORT;

fn graph(source: &str) -> Graph {
    let parse = parse(source);
    assert_eq!(parse.errors(), []);
    parse.program().graphs().next().unwrap()
}

fn texts(names: impl Iterator<Item = Name>) -> Vec<String> {
    names.map(|name| name.text().to_owned()).collect()
}

fn said(range: TextRange) -> &'static str {
    &SUPPORT[range]
}

/// A node's items, each as one line.
fn items(node: &Node) -> Vec<String> {
    node.items().map(|item| describe(&item)).collect()
}

fn describe(item: &NodeItem) -> String {
    match item {
        NodeItem::Kind(kind) => format!("kind {}", kind.name().unwrap().text()),
        NodeItem::Model(model) => format!("model {}", model.text().unwrap().value()),
        NodeItem::Prompt(prompt) => format!("prompt {}", prompt.text().unwrap().value()),
        NodeItem::Tools(tools) => {
            let names: Vec<_> = tools.names().map(|name| name.value()).collect();
            format!("tools {}", names.join(" "))
        }
        NodeItem::Output(output) => format!("output {}", output.channel().unwrap().text()),
        NodeItem::Next(next) => format!("next {}", texts(next.targets()).join(" ")),
        NodeItem::Routes(routes) => {
            let routes: Vec<_> = routes
                .routes()
                .map(|route| {
                    let label = route.label().unwrap();
                    format!("{}={}", label.text(), texts(route.targets()).join("+"))
                })
                .collect();
            format!("routes {}", routes.join(" "))
        }
    }
}

#[test]
fn the_complete_example_is_read_without_error() {
    let graph = graph(SUPPORT);
    assert_eq!(graph.name().unwrap().text(), "support");
    assert_eq!(graph.items().count(), 8);
    assert_eq!(graph.edges().count(), 0);
    assert_eq!(
        texts(graph.nodes().filter_map(|node| node.name())),
        ["triage", "refunds", "carrier", "reply"]
    );
    assert_eq!(
        texts(graph.starts().flat_map(|start| start.targets())),
        ["triage"]
    );

    let channels: Vec<_> = graph
        .channels()
        .map(|channel| {
            (
                channel.name().unwrap().text().to_owned(),
                channel.reducer().unwrap().text().to_owned(),
            )
        })
        .collect();
    assert_eq!(
        channels,
        [
            ("messages".to_owned(), "messages".to_owned()),
            ("topic".to_owned(), "overwrite".to_owned())
        ]
    );

    let setting = graph.defaults().next().unwrap().settings().next().unwrap();
    assert_eq!(setting.key().unwrap().text(), "recursion_limit");
    assert_eq!(setting.value(), Some(Value::Integer(20)));
    assert_eq!(said(setting.value_range().unwrap()), "20");
}

#[test]
fn the_items_of_a_node_are_read_in_order() {
    let nodes: Vec<_> = graph(SUPPORT).nodes().collect();
    assert_eq!(
        items(&nodes[0]),
        [
            "kind agent",
            "model default",
            "prompt Triage. Answer with one word: refund or other.",
            "output topic",
            "routes refund=refunds+carrier other=reply",
        ]
    );
    assert_eq!(
        items(&nodes[1])[3..],
        ["tools lookup_order refund", "next reply"]
    );
    assert_eq!(items(&nodes[3])[3..], ["next END"]);
}

#[test]
fn ranges_start_and_end_with_what_is_meant() {
    let graph = graph(SUPPORT);
    assert!(said(graph.range()).starts_with("graph support {"));
    assert!(said(graph.range()).ends_with('}'));
    let Some(Item::Channel(topic)) = graph.items().nth(2) else {
        panic!("a channel")
    };
    assert_eq!(said(topic.range()), "channel topic overwrite");
    assert_eq!(said(topic.name().unwrap().range()), "topic");
    let last = graph.nodes().last().unwrap().items().last().unwrap();
    assert_eq!(said(last.range()), "next END");
    let NodeItem::Model(model) = graph.nodes().next().unwrap().items().nth(1).unwrap() else {
        panic!("a model")
    };
    assert_eq!(said(model.text().unwrap().range()), "\"default\"");
}

#[test]
fn keywords_are_names_where_a_name_stands() {
    let graph = graph(
        "graph graph { start start, node  channel channel node  node node { kind kind next next }
         start -> end, node  node -> defaults  defaults { node start  kind -1_0  next \"a\" }
         start node defaults {} }",
    );
    let edges: Vec<_> = graph.edges().map(|edge| edge.source().unwrap()).collect();
    assert_eq!(texts(edges.into_iter()), ["start", "node"]);
    assert_eq!(
        texts(graph.starts().flat_map(|start| start.targets())),
        ["start", "node", "node"]
    );
    assert_eq!(
        items(&graph.nodes().next().unwrap()),
        ["kind kind", "next next"]
    );
    let values: Vec<_> = graph
        .defaults()
        .flat_map(|defaults| defaults.settings())
        .map(|setting| setting.value().unwrap())
        .collect();
    assert_eq!(
        values,
        [
            Value::Word("start".into()),
            Value::Integer(-10),
            Value::Text("a".into())
        ]
    );
}

#[test]
fn a_program_may_hold_several_graphs_or_none() {
    for (source, expected) in [
        ("", 0),
        ("// nothing", 0),
        ("\u{feff}", 0),
        ("\u{feff}graph a {}\r\ngraph b {}", 2),
    ] {
        let parse = parse(source);
        assert_eq!(parse.errors(), []);
        assert_eq!(parse.program().graphs().count(), expected, "{source:?}");
    }
}

#[test]
fn a_list_of_tools_may_be_empty_or_end_with_a_comma() {
    let graph = graph(r#"graph g { node n { tools [] tools ["a",] tools ["a", "b"] } }"#);
    assert_eq!(
        items(&graph.nodes().next().unwrap()),
        ["tools ", "tools a", "tools a b"]
    );
}
