//! Looks for what is wrong with the structure of a graph.

use std::collections::{BTreeMap, BTreeSet};

use super::{END, GraphBuilder, GraphFault, START};
use crate::{
    graph::{Graph, Join},
    migration::Migration,
    policy::NodeSpec,
    state::{ChannelSpec, GraphState, Reducer},
};

impl<S: GraphState> GraphBuilder<S> {
    /// Every fault.
    pub(super) fn faults(&self) -> Vec<GraphFault> {
        let names: BTreeSet<&str> = self.nodes.iter().map(|(name, _)| name.as_str()).collect();
        let mut faults = self.repeated.clone();
        self.check_names(&mut faults);
        self.check_limits(&mut faults);
        self.check_targets(&names, &mut faults);
        self.check_specs(&names, &mut faults);
        self.check_routes(&mut faults);
        self.check_ways(&mut faults);
        self.check_shared(&mut faults);
        self.check_kept(&names, &mut faults);
        self.check_migrations(&mut faults);
        faults
    }

    fn check_migrations(&self, faults: &mut Vec<GraphFault>) {
        let mut seen = BTreeSet::new();
        for name in self.migrations.iter().map(Migration::name) {
            if name.is_empty() {
                faults.push(GraphFault::NamelessMigration);
            } else if !seen.insert(name) {
                faults.push(GraphFault::DuplicateMigration {
                    migration: name.to_owned(),
                });
            }
        }
    }

    fn check_kept(&self, names: &BTreeSet<&str>, faults: &mut Vec<GraphFault>) {
        let keeping = self.specs.iter().filter(|(_, spec)| spec.keeps_state);
        let keeping = keeping.map(|(name, _)| name);
        for name in keeping.filter(|name| names.contains(name.as_str())) {
            let node = || name.clone();
            let shared = self.shared.iter().find(|(shared, _)| shared == name);
            match shared {
                Some((_, graph)) if !self.has_own(graph) => {
                    faults.push(GraphFault::NothingKept { node: node() });
                }
                None if !self.adapted.contains(name) => {
                    faults.push(GraphFault::NoGraphKept { node: node() });
                }
                _ => {}
            }
            if self.caches.contains_key(name) {
                faults.push(GraphFault::KeptAndCached { node: node() });
            }
        }
    }

    /// Whether something of a graph on the same state is not the state of this one.
    fn has_own(&self, graph: &Graph<S>) -> bool {
        let is_around = |spec: &ChannelSpec| self.channels.iter().any(|own| own.name == spec.name);
        let mut channels = graph.channels().iter();
        !graph.compiled().keeping.is_empty() || channels.any(|spec| !is_around(spec))
    }

    fn check_shared(&self, faults: &mut Vec<GraphFault>) {
        for (node, graph) in &self.shared {
            for spec in graph.channels() {
                let mut own = self.channels.iter();
                if own.any(|own| own.name == spec.name && own.reducer != spec.reducer) {
                    faults.push(GraphFault::SharedChannel {
                        node: node.clone(),
                        channel: spec.name.clone().into_owned(),
                    });
                }
            }
        }
    }

    fn check_names(&self, faults: &mut Vec<GraphFault>) {
        let mut seen = BTreeSet::new();
        for (name, _) in &self.nodes {
            if name == START || name == END || name.is_empty() || name.contains('/') {
                faults.push(GraphFault::ReservedName { name: name.clone() });
            }
            if !seen.insert(name) {
                faults.push(GraphFault::DuplicateNode { node: name.clone() });
            }
        }
        let mut seen = BTreeSet::new();
        for spec in self.channels.iter().filter(|spec| !seen.insert(&spec.name)) {
            faults.push(GraphFault::DuplicateChannel {
                channel: spec.name.clone().into_owned(),
            });
        }
        let waits_for_nothing =
            |spec: &&ChannelSpec| spec.reducer == Reducer::Barrier && spec.awaited.is_empty();
        for spec in self.channels.iter().filter(waits_for_nothing) {
            faults.push(GraphFault::EmptyBarrier {
                channel: spec.name.clone().into_owned(),
            });
        }
        if self.start.is_empty() && !self.branches.iter().any(|(from, ..)| from == START) {
            faults.push(GraphFault::NoStart);
        }
    }

    fn check_limits(&self, faults: &mut Vec<GraphFault>) {
        if self.recursion_limit == 0 {
            faults.push(GraphFault::RecursionLimit);
        }
        if self.concurrency == 0 {
            faults.push(GraphFault::Concurrency { group: None });
        }
        let empty = self.groups.iter().filter(|(_, limit)| **limit == 0);
        faults.extend(empty.map(|(group, _)| GraphFault::Concurrency {
            group: Some(group.clone()),
        }));
    }

    /// Each pair of a source and a target.
    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let start = self.start.iter().map(|to| (START, to.as_str()));
        let edges = self.edges.iter();
        let edges = edges.map(|(from, to)| (from.as_str(), to.as_str()));
        let routes = self.routes.iter();
        let routes =
            routes.flat_map(|(from, _, to)| to.iter().map(move |to| (from.as_str(), to.as_str())));
        let branches = self.branches.iter().flat_map(|(from, _, routes)| {
            let targets = routes.iter().flat_map(|(_, to)| to);
            targets.map(move |to| (from.as_str(), to.as_str()))
        });
        let commands = self.commands.iter();
        let commands =
            commands.flat_map(|(from, to)| to.iter().map(move |to| (from.as_str(), to.as_str())));
        let joins = self.joins.iter();
        let joins =
            joins.flat_map(|(from, to)| from.iter().map(move |from| (from.as_str(), to.as_str())));
        let plain = start.chain(edges).chain(routes);
        plain.chain(branches).chain(commands).chain(joins)
    }

    fn check_targets(&self, names: &BTreeSet<&str>, faults: &mut Vec<GraphFault>) {
        for (from, to) in self.pairs() {
            if to != END && !names.contains(to) {
                faults.push(GraphFault::UnknownTarget {
                    from: from.to_owned(),
                    target: to.to_owned(),
                });
            }
            if from != START && !names.contains(from) {
                faults.push(GraphFault::UnknownSource {
                    from: from.to_owned(),
                });
            }
        }
        let at_start = self.edges.iter().map(|(from, _)| from);
        let at_start = at_start.chain(self.routes.iter().map(|(from, ..)| from));
        let at_start = at_start.chain(self.commands.iter().map(|(from, _)| from));
        let at_start = at_start.chain(self.joins.iter().flat_map(|(from, _)| from));
        if at_start.into_iter().any(|from| from == START) {
            faults.push(GraphFault::UnknownSource { from: START.into() });
        }
        let mut joins = BTreeSet::new();
        for (sources, target) in &self.joins {
            if !joins.insert(Join::new(sources, target).name) {
                faults.push(GraphFault::DuplicateJoin {
                    target: target.clone(),
                });
            }
        }
        let empty = self.joins.iter().filter(|(sources, _)| sources.is_empty());
        faults.extend(empty.map(|(_, target)| GraphFault::EmptyJoin {
            target: target.clone(),
        }));
    }

    fn check_specs(&self, names: &BTreeSet<&str>, faults: &mut Vec<GraphFault>) {
        let is_unknown = |name: &&String| !names.contains(name.as_str());
        let unknown = self.specs.keys().filter(is_unknown);
        faults.extend(unknown.map(|node| GraphFault::UnknownSpec { node: node.clone() }));
        let unknown = self.caches.keys().filter(is_unknown);
        faults.extend(unknown.map(|node| GraphFault::UnknownCached { node: node.clone() }));
        let specs = self.specs.iter().map(|(name, spec)| (name.as_str(), spec));
        let defaults = self.defaults.iter().map(|spec| ("the defaults", spec));
        for (name, spec) in specs.chain(defaults) {
            if let Some(handler) = spec.on_error.as_ref()
                && !names.contains(handler.as_str())
            {
                faults.push(GraphFault::UnknownTarget {
                    from: name.to_owned(),
                    target: handler.to_string(),
                });
            }
            if let Some(group) = &spec.group
                && !self.groups.contains_key(group)
            {
                faults.push(GraphFault::UnknownGroup {
                    node: name.to_owned(),
                    group: group.clone(),
                });
            }
            if spec.retry.as_ref().is_some_and(|retry| retry.tries == 0) {
                faults.push(GraphFault::NoTry {
                    node: name.to_owned(),
                });
            }
            if spec.on_error.as_ref().is_some_and(|to| to.as_str() == name) {
                faults.push(GraphFault::OwnHandler {
                    node: name.to_owned(),
                });
            }
        }
        let not_here = self.defaults.iter().flat_map(NodeSpec::not_a_default);
        faults.extend(not_here.map(|what| GraphFault::NoDefault { what }));
        self.check_optional(faults);
    }

    fn check_optional(&self, faults: &mut Vec<GraphFault>) {
        let by_route = self.routes.iter().map(|(from, ..)| from);
        let by_command = self.commands.iter().map(|(from, _)| from);
        let choosing: BTreeSet<_> = by_route.chain(by_command).collect();
        let optional = choosing.into_iter().filter(|name| {
            let mut said = self.specs.get(*name).into_iter().chain(&self.defaults);
            said.any(|spec| spec.is_optional)
        });
        faults.extend(optional.map(|node| GraphFault::OptionalChoice { node: node.clone() }));
    }

    fn check_routes(&self, faults: &mut Vec<GraphFault>) {
        let mut labels = BTreeSet::new();
        let branches = self.branches.iter().flat_map(|(from, _, routes)| {
            let routes = routes.iter();
            routes.map(move |(label, targets)| (from, label, targets))
        });
        let routes = self.routes.iter();
        let routes = routes.map(|(from, label, targets)| (from, label, targets));
        for (from, label, targets) in routes.chain(branches) {
            if !labels.insert((from, label)) || targets.is_empty() {
                let (node, label) = (from.clone(), label.clone());
                faults.push(GraphFault::Route { node, label });
            }
        }
        let nowhere = self
            .branches
            .iter()
            .filter(|(.., routes)| routes.is_empty());
        faults.extend(nowhere.map(|(from, ..)| GraphFault::NoWayOn { node: from.clone() }));
        let nowhere = self.commands.iter().filter(|(_, to)| to.is_empty());
        faults.extend(nowhere.map(|(from, _)| GraphFault::NoWayOn { node: from.clone() }));
    }

    fn check_ways(&self, faults: &mut Vec<GraphFault>) {
        let mut kinds: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
        let edges = self.edges.iter().map(|(from, _)| (from, 0));
        let routes = self.routes.iter().map(|(from, ..)| (from, 1));
        let branches = self.branches.iter().map(|(from, ..)| (from, 2));
        let commands = self.commands.iter().map(|(from, _)| (from, 3));
        for (from, kind) in edges.chain(routes).chain(branches).chain(commands) {
            if let Some(count) = kinds.entry(from).or_default().get_mut(kind) {
                *count += 1;
            }
        }
        let joined: BTreeSet<&str> = self
            .joins
            .iter()
            .flat_map(|(from, _)| from)
            .map(String::as_str)
            .collect();
        for (name, _) in &self.nodes {
            let [edges, routes, branches, commands] =
                kinds.get(name.as_str()).copied().unwrap_or_default();
            let several = usize::from(edges > 0) + usize::from(routes > 0) + branches + commands;
            match several {
                0 if !joined.contains(name.as_str()) => {
                    faults.push(GraphFault::NoWayOn { node: name.clone() });
                }
                0 | 1 => {}
                _ => faults.push(GraphFault::EdgesAndRoutes { node: name.clone() }),
            }
        }
    }
}
