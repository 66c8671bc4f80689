//! An outline without errors to a blueprint.

use std::collections::HashMap;

use rustagents_syntax::ast::{Name, NodeItem, Text, Value};

use crate::{
    blueprint::{Blueprint, Channel, Node, NodeKind, Reducer, Route, Target, VERSION, Way},
    outline::{self, Outline},
    rules::{Kind, RECURSION_LIMIT},
};

/// The targets of the edges of each node.
type Edges = HashMap<String, Vec<Target>>;

/// The blueprint of `outline`; `None` if the rules have an error for it.
pub(crate) fn lower(outline: &Outline) -> Option<Blueprint> {
    let mut edges = Edges::new();
    for edge in &outline.edges {
        let source = edge.source()?.text().to_owned();
        edges
            .entry(source)
            .or_default()
            .extend(edge.targets().map(target));
    }
    Some(Blueprint {
        version: VERSION,
        name: outline.name.as_ref()?.text().to_owned(),
        recursion_limit: recursion_limit(outline),
        channels: outline
            .channels
            .iter()
            .map(channel)
            .collect::<Option<_>>()?,
        start: outline
            .starts
            .iter()
            .flat_map(|start| start.targets().map(target))
            .collect(),
        nodes: outline
            .nodes
            .iter()
            .map(|declared| node(declared, &mut edges))
            .collect::<Option<_>>()?,
    })
}

fn recursion_limit(outline: &Outline) -> Option<u64> {
    let is_it = |name: &Name| name.text() == RECURSION_LIMIT;
    let setting = outline
        .settings
        .iter()
        .find(|setting| setting.key().as_ref().is_some_and(is_it))?;
    match setting.value()? {
        Value::Integer(limit) => u64::try_from(limit).ok(),
        Value::Text(_) | Value::Word(_) => None,
    }
}

fn channel(channel: &outline::Channel) -> Option<Channel> {
    Some(Channel {
        name: channel.name.text().to_owned(),
        reducer: Reducer::parse(channel.reducer.as_ref()?.text())?,
    })
}

fn node(node: &outline::Node, edges: &mut Edges) -> Option<Node> {
    let name = node.name.text();
    Some(Node {
        name: name.to_owned(),
        kind: kind(node)?,
        way: match node.way() {
            Some(item) => way(item)?,
            None => Way::Next(edges.remove(name)?),
        },
    })
}

fn kind(node: &outline::Node) -> Option<NodeKind> {
    let prompt = node.prompt()?.value();
    let output = node.output().map(|channel| channel.text().to_owned());
    Some(match Kind::parse(node.kind()?.text())? {
        Kind::Agent => NodeKind::Agent {
            model: node.model()?.value(),
            prompt,
            tools: node.tools().map(|tool: Text| tool.value()).collect(),
            output,
        },
        Kind::Interrupt => NodeKind::Interrupt { prompt, output },
    })
}

fn way(item: &NodeItem) -> Option<Way> {
    match item {
        NodeItem::Next(next) => Some(Way::Next(next.targets().map(target).collect())),
        NodeItem::Routes(routes) => {
            let route = |route: rustagents_syntax::ast::Route| {
                Some(Route {
                    label: route.label()?.text().to_owned(),
                    targets: route.targets().map(target).collect(),
                })
            };
            routes
                .routes()
                .map(route)
                .collect::<Option<_>>()
                .map(Way::Routes)
        }
        _ => None,
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it maps an iterator of names"
)]
fn target(name: Name) -> Target {
    Target::from(name.text())
}
