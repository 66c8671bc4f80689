//! A shape as numbers, and the algorithms on it. None of them recurses, and none
//! takes more than linear time, but for a logarithm where common ancestors are sought.

use std::collections::BTreeMap;

use super::{GraphTopology, TopologyEdgeKind};
use crate::builder::{END, START};

/// The vertex of the start.
pub(super) const FIRST: usize = 0;

/// The vertex of the end.
pub(super) const LAST: usize = 1;

/// What a vertex stands for. Routes, joins and errors have vertices of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vertex {
    /// The start or the end.
    Virtual,
    /// The node of this index.
    Node(usize),
    /// A route of the vertex.
    Route(usize),
    /// A join, which leads to the vertex.
    Join(usize),
    /// A failure, which leads to the vertex.
    Error(usize),
}

/// The vertices of a graph, and the ways between them.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) vertices: Vec<Vertex>,
    /// Where each vertex leads.
    pub(super) ways: Vec<Vec<usize>>,
    /// What leads to each vertex.
    pub(super) back: Vec<Vec<usize>>,
}

impl Flow {
    /// The vertices of `topology`: edges between names that are no nodes are left out.
    /// In an inner graph, a node without edges leaves to the graph around it.
    pub(super) fn of(topology: &GraphTopology, is_inner: bool) -> Self {
        let mut flow = Self {
            vertices: Vec::new(),
            ways: Vec::new(),
            back: Vec::new(),
        };
        let mut names = BTreeMap::from([
            (START, flow.add(Vertex::Virtual)),
            (END, flow.add(Vertex::Virtual)),
        ]);
        for (index, node) in topology.nodes.iter().enumerate() {
            names.insert(&node.name, flow.add(Vertex::Node(index)));
        }
        let mut routes = BTreeMap::new();
        let mut joins = BTreeMap::new();
        for edge in &topology.edges {
            let ends = (names.get(&*edge.from), names.get(&*edge.to));
            let (Some(&from), Some(&target)) = ends else {
                continue;
            };
            if from == LAST || target == FIRST {
                continue;
            }
            let label = edge.label.as_deref();
            let label = label.filter(|_| edge.kind.has_routes());
            let source = label.map_or(from, |label| {
                let route = routes.entry((from, label));
                *route.or_insert_with(|| flow.after(from, Vertex::Route(from)))
            });
            let next = match edge.kind {
                TopologyEdgeKind::Join => *joins
                    .entry(edge.group())
                    .or_insert_with(|| flow.before(target, Vertex::Join(target))),
                TopologyEdgeKind::Error => flow.before(target, Vertex::Error(target)),
                _ => target,
            };
            flow.connect(source, next);
        }
        if is_inner {
            flow.leave();
        }
        flow
    }

    fn add(&mut self, vertex: Vertex) -> usize {
        self.vertices.push(vertex);
        self.ways.push(Vec::new());
        self.back.push(Vec::new());
        self.vertices.len() - 1
    }

    fn after(&mut self, from: usize, vertex: Vertex) -> usize {
        let added = self.add(vertex);
        self.connect(from, added);
        added
    }

    fn before(&mut self, to: usize, vertex: Vertex) -> usize {
        let added = self.add(vertex);
        self.connect(added, to);
        added
    }

    fn leave(&mut self) {
        for vertex in 0..self.vertices.len() {
            let is_node = matches!(self.vertices[vertex], Vertex::Node(_));
            if is_node && self.ways[vertex].iter().all(|way| self.is_error(*way)) {
                self.connect(vertex, LAST);
            }
        }
    }

    fn connect(&mut self, from: usize, to: usize) {
        self.ways[from].push(to);
        self.back[to].push(from);
    }

    /// Which vertices can run: a join does when all that leads to it can.
    pub(super) fn runs(&self) -> Vec<bool> {
        let mut missing: Vec<_> = (0..self.vertices.len())
            .map(|vertex| match self.vertices[vertex] {
                Vertex::Join(_) => self.back[vertex].len(),
                _ => 1,
            })
            .collect();
        missing[FIRST] = 0;
        let mut open = vec![FIRST];
        while let Some(vertex) = open.pop() {
            for &next in &self.ways[vertex] {
                if missing[next] == 1 {
                    open.push(next);
                }
                missing[next] = missing[next].saturating_sub(1);
            }
        }
        missing.into_iter().map(|count| count == 0).collect()
    }

    /// Whether the vertex is a failure.
    pub(super) fn is_error(&self, vertex: usize) -> bool {
        matches!(self.vertices[vertex], Vertex::Error(_))
    }

    /// Which vertices have a way to the end, but for failures.
    pub(super) fn ends(&self) -> Vec<bool> {
        let vertices = 0..self.vertices.len();
        let mut seen: Vec<_> = vertices.map(|vertex| self.is_error(vertex)).collect();
        flood(&self.back, LAST, &mut seen);
        seen
    }

    pub(super) fn components(&self) -> Components {
        let mut seen = vec![false; self.vertices.len()];
        let finished = finished(&self.ways).into_iter().rev();
        let components = finished.map(|vertex| flood(&self.back, vertex, &mut seen));
        let all: Vec<_> = components.filter(|found| !found.is_empty()).collect();
        let mut of = vec![0; self.vertices.len()];
        for (index, vertices) in all.iter().enumerate() {
            for &vertex in vertices {
                of[vertex] = index;
            }
        }
        Components { all, of }
    }
}

/// The strongly connected components: the loops, and what lies in none.
#[derive(Debug)]
pub(super) struct Components {
    /// The vertices of each, before all that it leads to.
    pub(super) all: Vec<Vec<usize>>,
    /// The component of each vertex.
    pub(super) of: Vec<usize>,
}

/// What was not seen and can be reached from `root`, with itself; marks it as seen.
fn flood(ways: &[Vec<usize>], root: usize, seen: &mut [bool]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(vertex) = open.pop() {
        if !seen[vertex] {
            seen[vertex] = true;
            found.push(vertex);
            open.extend(&ways[vertex]);
        }
    }
    found
}

/// All vertices, each when everything that is first reached through it is done.
fn finished(ways: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; ways.len()];
    let mut order = Vec::with_capacity(ways.len());
    for root in 0..ways.len() {
        let mut path = Vec::new();
        enter(root, &mut seen, &mut path);
        while let Some((vertex, next)) = path.last_mut() {
            if let Some(&way) = ways[*vertex].get(*next) {
                *next += 1;
                enter(way, &mut seen, &mut path);
            } else {
                order.push(*vertex);
                path.pop();
            }
        }
    }
    order
}

/// Goes into a vertex that was not seen, before its first way.
fn enter(vertex: usize, seen: &mut [bool], path: &mut Vec<(usize, usize)>) {
    if !seen[vertex] {
        seen[vertex] = true;
        path.push((vertex, 0));
    }
}

/// The tree of dominators of what can run: the parent of a component is the last one
/// that every way to it comes through.
#[derive(Debug)]
pub(super) struct Dominators<'a> {
    flow: &'a Flow,
    components: &'a Components,
    /// The vertex that chooses each component which is a route.
    routers: Vec<Option<usize>>,
    parents: Vec<usize>,
    depths: Vec<usize>,
    /// An ancestor far up, by which others are found in few steps.
    jumps: Vec<usize>,
    /// When each component is met if routes of one vertex are visited in a row.
    order: Vec<usize>,
}

impl<'a> Dominators<'a> {
    pub(super) fn of(flow: &'a Flow, components: &'a Components, runs: &[bool]) -> Self {
        let root = components.of[FIRST];
        let route = |vertices: &Vec<usize>| match vertices[..] {
            [only] => flow.vertices[only].router(),
            _ => None,
        };
        let count = components.all.len();
        let mut tree = Self {
            flow,
            components,
            routers: components.all.iter().map(route).collect(),
            parents: vec![root; count],
            depths: vec![0; count],
            jumps: vec![root; count],
            order: vec![0; count],
        };
        for index in 0..count {
            tree.place(index, runs);
        }
        tree.visit(root);
        tree
    }

    /// Hangs a component under what all ways to it have in common.
    fn place(&mut self, index: usize, runs: &[bool]) {
        let vertices = self.components.all[index].iter();
        let before = vertices.flat_map(|vertex| &self.flow.back[*vertex]);
        let before = before.filter(|before| runs[**before]);
        let before = before.map(|before| self.components.of[*before]);
        let before = before.filter(|before| *before != index);
        if let Some(parent) = before.reduce(|one, other| self.common(one, other)) {
            self.hang(index, parent);
        }
    }

    fn hang(&mut self, index: usize, parent: usize) {
        let (jump, depths) = (self.jumps[parent], &self.depths);
        // The lengths of the jumps grow like the digits of a skewed binary number.
        let is_even = depths[parent] - depths[jump] == depths[jump] - depths[self.jumps[jump]];
        self.jumps[index] = if is_even { self.jumps[jump] } else { parent };
        self.depths[index] = self.depths[parent] + 1;
        self.parents[index] = parent;
    }

    fn visit(&mut self, root: usize) {
        let mut children = vec![Vec::new(); self.parents.len()];
        for (index, &parent) in self.parents.iter().enumerate() {
            if index != root && self.depths[index] > 0 {
                children[parent].push(index);
            }
        }
        let mut open = vec![root];
        let mut count = 0;
        while let Some(index) = open.pop() {
            self.order[index] = count;
            count += 1;
            let next = &mut children[index];
            next.sort_by_key(|child| self.routers[*child]);
            open.append(next);
        }
    }

    fn common(&self, one: usize, other: usize) -> usize {
        let (one, other) = self.meet(one, other);
        if one == other { one } else { self.parents[one] }
    }

    /// The ancestors of two components that are next to each other, or twice the
    /// one that is an ancestor of the other.
    fn meet(&self, one: usize, other: usize) -> (usize, usize) {
        let depth = self.depths[one].min(self.depths[other]);
        let (mut one, mut other) = (self.up(one, depth), self.up(other, depth));
        while one != other && self.parents[one] != self.parents[other] {
            (one, other) = if self.jumps[one] == self.jumps[other] {
                (self.parents[one], self.parents[other])
            } else {
                (self.jumps[one], self.jumps[other])
            };
        }
        (one, other)
    }

    fn up(&self, mut index: usize, depth: usize) -> usize {
        while self.depths[index] > depth {
            let jump = self.jumps[index];
            index = if self.depths[jump] >= depth {
                jump
            } else {
                self.parents[index]
            };
        }
        index
    }

    /// Two of the vertices that are only reached by two routes of one vertex, with
    /// that vertex.
    pub(super) fn alternatives(&self, of: &[usize]) -> Option<[usize; 3]> {
        let component = |vertex: usize| self.components.of[vertex];
        let mut sorted = of.to_vec();
        sorted.sort_by_key(|vertex| self.order[component(*vertex)]);
        sorted.windows(2).find_map(|pair| {
            let (one, other) = self.meet(component(pair[0]), component(pair[1]));
            let router = self.routers[one]?;
            let is_choice = one != other && self.routers[other] == Some(router);
            is_choice.then_some([router, pair[0], pair[1]])
        })
    }
}

impl TopologyEdgeKind {
    /// Whether a label is that of a route.
    fn has_routes(self) -> bool {
        !matches!(self, Self::Command | Self::Error)
    }
}

impl Vertex {
    /// The vertex of which it is a route.
    fn router(self) -> Option<usize> {
        match self {
            Self::Route(router) => Some(router),
            _ => None,
        }
    }
}
