//! Building and compiling a graph: every structural fault in one report.

mod check;
mod fault;

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fmt,
    sync::Arc,
    time::Duration,
};

use rustagents_core::ids::NodeName;
use serde_json::Value;

use crate::{
    cache::{CacheRule, NodeCache},
    graph::{Branch, Compiled, CompiledNode, Graph, Join, Target, Way},
    kept::Around,
    migration::{Channels, Migration, MigrationError},
    node::{Function, Node, NodeError, NodeOutput, TaskContext},
    policy::NodeSpec,
    state::{ChannelName, ChannelSpec, Fold, GraphState, Reducer, State},
    subgraph::{Adapter, Shared},
    topology::{GraphTopology, TopologyChannel, TopologyEdge, TopologyNode, TopologyPolicies},
};

pub use fault::{GraphFault, GraphFaults};

/// The virtual node after which nothing runs.
pub const END: &str = "END";

/// The virtual node before the first.
pub const START: &str = "START";

/// The most supersteps of a run, unless the graph says otherwise.
const RECURSION_LIMIT: u64 = 25;

/// The most tasks of a superstep that run at the same time, unless the graph says
/// otherwise.
const CONCURRENCY: usize = 64;

/// Which routes lead where.
type Routes = Vec<(String, Vec<String>)>;

/// Chooses a route by the state.
type Router<S> = Arc<dyn Fn(&S) -> String + Send + Sync>;

/// Collects channels, nodes and edges.
///
/// ```
/// use rustagents_graph::{END, GraphBuilder, NodeOutput, Reducer, Update, node_fn};
///
/// let graph = GraphBuilder::new("hello")
///     .channel("greeting", Reducer::Overwrite)
///     .node("greet", node_fn(|_, _| async {
///         Ok(NodeOutput::new().write("greeting", Update::Value("hello".into())))
///     }))
///     .start(["greet"])
///     .edge("greet", END)
///     .compile()?;
/// assert_eq!(graph.name(), "hello");
/// # Ok::<(), rustagents_graph::GraphFaults>(())
/// ```
pub struct GraphBuilder<S: GraphState = State> {
    name: String,
    channels: Vec<ChannelSpec>,
    nodes: Vec<(String, Arc<dyn Node<S>>)>,
    /// The graphs that run on the same state.
    shared: Vec<(String, Graph<S>)>,
    /// The nodes that run a graph behind an adapter.
    adapted: Vec<String>,
    specs: BTreeMap<String, NodeSpec>,
    caches: BTreeMap<String, CacheRule<S>>,
    defaults: Option<NodeSpec>,
    /// The nodes to which others hand their failures.
    handlers: BTreeSet<NodeName>,
    start: Vec<String>,
    edges: Vec<(String, String)>,
    routes: Vec<(String, String, Vec<String>)>,
    branches: Vec<(String, Router<S>, Routes)>,
    commands: Vec<(String, Vec<String>)>,
    joins: Vec<(Vec<String>, String)>,
    groups: BTreeMap<String, usize>,
    recursion_limit: u64,
    concurrency: usize,
    migrations: Vec<Migration>,
    /// What was said once more, of which only the first counts.
    repeated: Vec<GraphFault>,
}

impl<S: GraphState> fmt::Debug for GraphBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphBuilder")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl GraphBuilder {
    /// A graph without anything, whose channels are declared here.
    pub fn new(name: impl Into<String>) -> Self {
        Self::typed(name)
    }

    /// Declares a channel.
    #[must_use]
    pub fn channel(mut self, name: impl Into<ChannelName>, reducer: Reducer) -> Self {
        self.channels.push(ChannelSpec::new(name, reducer));
        self
    }

    /// Declares a channel that takes the names in `awaited`, and is complete for
    /// the step after the last of them arrived.
    #[must_use]
    pub fn barrier<N: Into<ChannelName>>(
        mut self,
        name: impl Into<ChannelName>,
        awaited: impl IntoIterator<Item = N>,
    ) -> Self {
        self.channels.push(ChannelSpec {
            awaited: awaited.into_iter().map(Into::into).collect(),
            ..ChannelSpec::new(name, Reducer::Barrier)
        });
        self
    }

    /// Declares a channel with a reducer of its own.
    #[must_use]
    pub fn custom_channel(mut self, name: impl Into<ChannelName>, fold: Fold) -> Self {
        self.channels.push(ChannelSpec {
            fold: Some(fold),
            ..ChannelSpec::new(name, Reducer::Custom)
        });
        self
    }
}

impl<S: GraphState> GraphBuilder<S> {
    /// A graph without anything, on a state of one's own.
    pub fn typed(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            channels: S::declared(),
            nodes: Vec::new(),
            shared: Vec::new(),
            adapted: Vec::new(),
            specs: BTreeMap::new(),
            caches: BTreeMap::new(),
            defaults: None,
            handlers: BTreeSet::new(),
            start: Vec::new(),
            edges: Vec::new(),
            routes: Vec::new(),
            branches: Vec::new(),
            commands: Vec::new(),
            joins: Vec::new(),
            groups: BTreeMap::new(),
            recursion_limit: RECURSION_LIMIT,
            concurrency: CONCURRENCY,
            migrations: Vec::new(),
            repeated: Vec::new(),
        }
    }

    /// Adds a node.
    #[must_use]
    pub fn node(self, name: impl fmt::Display, node: impl Node<S> + 'static) -> Self {
        self.shared_node(name, Arc::new(node))
    }

    /// Adds a node that is an async function of state and context.
    #[must_use]
    pub fn function<F, R>(self, name: impl fmt::Display, function: F) -> Self
    where
        F: Fn(Arc<S>, TaskContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<NodeOutput<S>, NodeError>> + Send + 'static,
    {
        self.node(name, Function(function))
    }

    /// Adds a node that is shared already.
    #[must_use]
    pub fn shared_node(mut self, name: impl fmt::Display, node: Arc<dyn Node<S>>) -> Self {
        self.nodes.push((name.to_string(), node));
        self
    }

    /// Adds a node that runs a graph on the same state: it starts from what the
    /// node sees, and what it changes in channels that both have is the node's
    /// write. Other channels of the graph are its own. What is sent to the node, the
    /// nodes of the graph's first step find in their contexts.
    #[must_use]
    pub fn subgraph(mut self, name: impl fmt::Display, graph: Graph<S>) -> Self {
        self.shared.push((name.to_string(), graph.clone()));
        let around = Around::default();
        self.node(name, Shared { graph, around })
    }

    /// Adds a node that runs a graph on a state of its own: `into` makes its input,
    /// and `back` what is written once it is done. Both must be pure functions.
    #[must_use]
    pub fn adapted<C: GraphState>(
        mut self,
        name: impl fmt::Display,
        graph: Graph<C>,
        into: impl Fn(&S, &TaskContext) -> C::Update + Send + Sync + 'static,
        back: impl Fn(&C) -> S::Update + Send + Sync + 'static,
    ) -> Self {
        let adapter = Adapter {
            graph,
            into: Box::new(into),
            back: Box::new(back),
        };
        self.adapted.push(name.to_string());
        self.node(name, adapter)
    }

    /// Says how a node is run: once, and all of it.
    #[must_use]
    pub fn spec(mut self, node: impl fmt::Display, spec: NodeSpec) -> Self {
        self.handlers.extend(spec.on_error.clone());
        let node = node.to_string();
        match self.specs.entry(node.clone()) {
            Entry::Vacant(place) => drop(place.insert(spec)),
            Entry::Occupied(_) => self.repeated.push(GraphFault::DuplicateSpec { node }),
        }
        self
    }

    /// Takes the output of an earlier task of `node` instead of running it, where
    /// `key` makes the same of both: of the state, and of what the node was sent;
    /// `None` runs the node in any case. An output is good for `ttl`, or for ever.
    /// One with messages in it is not kept.
    #[must_use]
    pub fn cached(
        mut self,
        node: impl fmt::Display,
        cache: Arc<dyn NodeCache>,
        ttl: Option<Duration>,
        key: impl Fn(&S, Option<&Value>) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        let key = Arc::new(key);
        let node = node.to_string();
        match self.caches.entry(node.clone()) {
            Entry::Vacant(place) => drop(place.insert(CacheRule { key, ttl, cache })),
            Entry::Occupied(_) => self.repeated.push(GraphFault::DuplicateCache { node }),
        }
        self
    }

    /// Says how all nodes are run. Tries, time, error handler and group are for those
    /// that do not say it themselves, and metadata for those that do not have the key.
    /// Questions before and after a task, and that a node is optional, are for all of
    /// them. Deferred, and keeping the state of a graph, are for each node to say; here
    /// they are faults.
    ///
    /// The error handler of the defaults is not that of a node to which others hand
    /// their failures: what such a node has, it says itself.
    #[must_use]
    pub fn defaults(mut self, spec: NodeSpec) -> Self {
        self.handlers.extend(spec.on_error.clone());
        if self.defaults.is_some() {
            self.repeated.push(GraphFault::DuplicateDefaults);
        }
        self.defaults.get_or_insert(spec);
        self
    }

    /// Adds nodes that run first, together.
    #[must_use]
    pub fn start<T: fmt::Display>(mut self, nodes: impl IntoIterator<Item = T>) -> Self {
        self.start
            .extend(nodes.into_iter().map(|node| node.to_string()));
        self
    }

    /// Chooses by the state, with the input in it, what runs first.
    #[must_use]
    pub fn start_branch<L: fmt::Display, T: fmt::Display>(
        self,
        choose: impl Fn(&S) -> L + Send + Sync + 'static,
        routes: impl IntoIterator<Item = (L, T)>,
    ) -> Self {
        self.branch(START, choose, routes)
    }

    /// Runs `to` after `from`. Several edges from one node run their targets together.
    #[must_use]
    pub fn edge(mut self, from: impl fmt::Display, to: impl fmt::Display) -> Self {
        self.edges.push((from.to_string(), to.to_string()));
        self
    }

    /// Runs the nodes one after the other.
    #[must_use]
    pub fn sequence<T: fmt::Display>(mut self, nodes: impl IntoIterator<Item = T>) -> Self {
        let nodes: Vec<_> = nodes.into_iter().map(|node| node.to_string()).collect();
        let pairs = nodes.iter().zip(nodes.iter().skip(1));
        self.edges
            .extend(pairs.map(|(from, to)| (from.clone(), to.clone())));
        self
    }

    /// Ends the graph's path after `node`.
    #[must_use]
    pub fn finish(self, node: impl fmt::Display) -> Self {
        self.edge(node, END)
    }

    /// Runs `targets`, together, after `from` took the route `label`: text, or an
    /// enum that prints as one.
    #[must_use]
    pub fn route<T: fmt::Display>(
        mut self,
        from: impl fmt::Display,
        label: impl fmt::Display,
        targets: impl IntoIterator<Item = T>,
    ) -> Self {
        let targets = targets
            .into_iter()
            .map(|target| target.to_string())
            .collect();
        self.routes
            .push((from.to_string(), label.to_string(), targets));
        self
    }

    /// Chooses by the state, with the writes of the step in it, what runs after
    /// `from`. `choose` must be a pure function; it returns one of the labels in
    /// `routes`, each of which leads to a node.
    #[must_use]
    pub fn branch<L: fmt::Display, T: fmt::Display>(
        mut self,
        from: impl fmt::Display,
        choose: impl Fn(&S) -> L + Send + Sync + 'static,
        routes: impl IntoIterator<Item = (L, T)>,
    ) -> Self {
        let choose: Router<S> = Arc::new(move |state| choose(state).to_string());
        let routes = routes.into_iter();
        let routes = routes.map(|(label, target)| (label.to_string(), vec![target.to_string()]));
        self.branches
            .push((from.to_string(), choose, routes.collect()));
        self
    }

    /// Lets `from` say itself where the graph goes on, among `targets`: by
    /// [`NodeOutput::goto`] and [`NodeOutput::send`].
    #[must_use]
    pub fn commands<T: fmt::Display>(
        mut self,
        from: impl fmt::Display,
        targets: impl IntoIterator<Item = T>,
    ) -> Self {
        let targets = targets
            .into_iter()
            .map(|target| target.to_string())
            .collect();
        self.commands.push((from.to_string(), targets));
        self
    }

    /// Runs `target` once all of `sources` have run, however many steps lie
    /// between them; then it waits for all of them again.
    #[must_use]
    pub fn join<T: fmt::Display>(
        mut self,
        sources: impl IntoIterator<Item = T>,
        target: impl fmt::Display,
    ) -> Self {
        let sources = sources
            .into_iter()
            .map(|source| source.to_string())
            .collect();
        self.joins.push((sources, target.to_string()));
        self
    }

    /// Declares a group of nodes of which at most `limit` tasks run at the same time.
    #[must_use]
    pub fn group(mut self, name: impl Into<String>, limit: usize) -> Self {
        let group = name.into();
        match self.groups.entry(group.clone()) {
            Entry::Vacant(place) => drop(place.insert(limit)),
            Entry::Occupied(_) => self.repeated.push(GraphFault::DuplicateGroup { group }),
        }
        self
    }

    /// The most supersteps of one run; 25 unless set.
    #[must_use]
    pub fn recursion_limit(mut self, steps: u64) -> Self {
        self.recursion_limit = steps;
        self
    }

    /// The most tasks of a superstep that run at the same time; 64 unless set.
    #[must_use]
    pub fn max_concurrency(mut self, tasks: usize) -> Self {
        self.concurrency = tasks;
        self
    }

    /// Brings the state of threads that older programs wrote to what this one
    /// declares. Migrations are a list that only ever grows at its end: each thread
    /// goes once, and in order, through those that it has not been through, when it is
    /// next driven or changed.
    ///
    /// `migrate` is given what is recorded, channel by channel, where something is: a
    /// channel of messages as a list of their ids. What it leaves there must be what
    /// the channels of the graph take once all migrations are done. It must be a pure
    /// function. Which channels it is about nobody knows, so a step that is not over
    /// must have no finished task with a write; [`Migration`] says more.
    ///
    /// ```
    /// use rustagents_graph::{GraphBuilder, GraphState};
    /// use serde_json::json;
    ///
    /// #[derive(Clone, Debug, GraphState)]
    /// struct Order {
    ///     /// Was the text `12.50`.
    ///     cents: u64,
    /// }
    ///
    /// let graph = GraphBuilder::<Order>::typed("order")
    ///     .function("bill", |_, _| async { Ok(Order::update().into()) })
    ///     .start(["bill"])
    ///     .finish("bill")
    ///     .migration("price-in-cents", |state| {
    ///         if let Some(price) = state.remove("price") {
    ///             let price: f64 = price.as_str().unwrap_or_default().parse().map_err(|_| "no price")?;
    ///             state.insert("cents".into(), json!((price * 100.0).round() as u64));
    ///         }
    ///         Ok(())
    ///     })
    ///     .compile()?;
    /// # Ok::<(), rustagents_graph::GraphFaults>(())
    /// ```
    #[must_use]
    pub fn migration(
        self,
        name: impl Into<String>,
        migrate: impl Fn(&mut Channels) -> Result<(), MigrationError> + Send + Sync + 'static,
    ) -> Self {
        self.with_migration(Migration::new(name, migrate))
    }

    /// As [`migration`](Self::migration), with one that says what it is about.
    #[must_use]
    pub fn with_migration(mut self, migration: Migration) -> Self {
        self.migrations.push(migration);
        self
    }

    /// Checks everything and makes the graph immutable.
    ///
    /// # Errors
    /// [`GraphFaults`] lists every fault.
    pub fn compile(self) -> Result<Graph<S>, GraphFaults> {
        let faults = self.faults();
        if !faults.is_empty() {
            return Err(GraphFaults(faults));
        }
        let joins: Vec<_> = self
            .joins
            .iter()
            .map(|(from, to)| Join::new(from, to))
            .collect();
        let mut ways = self.ways();
        let mut shared = self.kept_shared();
        let nodes = self.nodes.iter().map(|(name, node)| {
            let compiled = CompiledNode {
                name: NodeName::from(name.as_str()),
                node: shared.remove(name).unwrap_or_else(|| Arc::clone(node)),
                way: ways.remove(name.as_str()).unwrap_or(Way::Next(Vec::new())),
                joins: places(&joins, name),
                spec: self.spec_of(name),
                cache: self.caches.get(name).cloned(),
            };
            (compiled.name.clone(), compiled)
        });
        let nodes: foldhash::HashMap<_, CompiledNode<S>> = nodes.collect();
        let has = |test: fn(Reducer) -> bool| self.channels.iter().any(|spec| test(spec.reducer));
        Ok(Graph::new(Compiled {
            name: self.name.clone(),
            start: targets(&self.start),
            entry: ways.remove(START).and_then(|way| match way {
                Way::Branch(branch) => Some(branch),
                _ => None,
            }),
            keeping: keeping(nodes.values()),
            has_deferred: nodes.values().any(|node| node.spec.is_deferred),
            nodes,
            joins,
            has_fleeting: has(Reducer::is_fleeting),
            has_untracked: has(|reducer| reducer == Reducer::Untracked),
            recursion_limit: self.recursion_limit,
            concurrency: self.concurrency,
            topology: self.topology(),
            groups: self.groups,
            channels: self.channels,
            migrations: self.migrations,
        }))
    }

    /// The nodes whose graph is on the same state and keeps what is its own.
    fn kept_shared(&self) -> BTreeMap<String, Arc<dyn Node<S>>> {
        let kept = self.shared.iter().filter(|(name, _)| self.keeps(name));
        kept.map(|(name, graph)| {
            let channels = self.channels.iter().map(|spec| spec.name.clone());
            let node = Shared {
                graph: graph.clone(),
                around: Around::of(channels.collect()),
            };
            (name.clone(), Arc::new(node) as Arc<dyn Node<S>>)
        })
        .collect()
    }

    fn keeps(&self, name: &str) -> bool {
        self.specs.get(name).is_some_and(|spec| spec.keeps_state)
    }

    fn spec_of(&self, name: &str) -> NodeSpec {
        let own = self.specs.get(name).cloned().unwrap_or_default();
        let Some(defaults) = &self.defaults else {
            return own;
        };
        let mut spec = own.or(defaults);
        if spec.on_error.is_none() && !self.handlers.contains(name) {
            spec.on_error.clone_from(&defaults.on_error);
        }
        spec
    }

    fn ways(&self) -> BTreeMap<&str, Way<S>> {
        let mut ways: BTreeMap<&str, Way<S>> = BTreeMap::new();
        for (from, to) in &self.edges {
            if let Way::Next(targets) = ways.entry(from).or_insert_with(|| Way::Next(Vec::new())) {
                targets.push(Target::named(to));
            }
        }
        for (from, label, to) in &self.routes {
            let way = ways
                .entry(from)
                .or_insert_with(|| Way::Routes(BTreeMap::new()));
            if let Way::Routes(routes) = way {
                routes.insert(label.clone(), targets(to));
            }
        }
        for (from, router, routes) in &self.branches {
            let routes = routes.iter();
            let branch = Branch {
                router: Arc::clone(router),
                routes: routes
                    .map(|(label, to)| (label.clone(), targets(to)))
                    .collect(),
            };
            ways.insert(from, Way::Branch(branch));
        }
        for (from, to) in &self.commands {
            ways.insert(from, Way::Commands(targets(to)));
        }
        ways
    }

    fn topology(&self) -> GraphTopology {
        let start = self.start.iter();
        let mut edges: Vec<_> = start.map(|to| TopologyEdge::direct(START, to)).collect();
        let nodes = self.nodes.iter().map(|(name, _)| name.as_str());
        for name in std::iter::once(START).chain(nodes) {
            self.edges_from(name, &mut edges);
            let handler = self.handler_of(name);
            edges.extend(handler.map(|to| TopologyEdge::error(name, to.as_str())));
        }
        let channels = self.channels.iter();
        let nodes = self.nodes.iter();
        GraphTopology {
            channels: channels.map(channel_shape).collect(),
            nodes: nodes
                .map(|(name, node)| self.node_shape(name, &**node))
                .collect(),
            edges,
            ..GraphTopology::new(&self.name)
        }
    }

    fn edges_from(&self, name: &str, edges: &mut Vec<TopologyEdge>) {
        let own = self.edges.iter().filter(|(from, _)| from == name);
        edges.extend(own.map(|(_, to)| TopologyEdge::direct(name, to)));
        let routes = self.routes.iter().filter(|(from, _, _)| from == name);
        let routes = routes.map(|(_, label, to)| (label, to));
        let branches = self.branches.iter().filter(|(from, _, _)| from == name);
        let branches = branches.flat_map(|(_, _, routes)| routes);
        let branches = branches.map(|(label, to)| (label, to));
        for (label, to) in routes.chain(branches) {
            edges.extend(to.iter().map(|to| TopologyEdge::route(name, label, to)));
        }
        let commands = self.commands.iter().filter(|(from, _)| from == name);
        let commands = commands.flat_map(|(_, to)| to);
        edges.extend(commands.map(|to| TopologyEdge::command(name, to)));
        for (index, (sources, to)) in self.joins.iter().enumerate() {
            if sources.iter().any(|source| source == name) {
                edges.push(TopologyEdge::join(name, format!("join-{index}"), to));
            }
        }
    }

    fn handler_of(&self, name: &str) -> Option<NodeName> {
        let spec = (name != START).then(|| self.spec_of(name));
        spec.and_then(|spec| spec.on_error)
    }

    fn node_shape(&self, name: &str, node: &dyn Node<S>) -> TopologyNode {
        let spec = self.spec_of(name);
        TopologyNode {
            kind: node.kind().map(str::to_owned),
            deferred: spec.is_deferred,
            keeps_state: spec.keeps_state,
            policies: TopologyPolicies::of(&spec, self.caches.contains_key(name)),
            metadata: spec.metadata,
            subgraph: node.graph().cloned().map(Box::new),
            ..TopologyNode::new(name)
        }
    }
}

fn channel_shape(spec: &ChannelSpec) -> TopologyChannel {
    let awaited = spec.awaited.iter().map(ToString::to_string);
    let awaited: BTreeSet<_> = awaited.collect();
    TopologyChannel {
        awaited: awaited.into_iter().collect(),
        ..TopologyChannel::new(&*spec.name, spec.reducer)
    }
}

fn keeping<'n, S: GraphState>(
    nodes: impl Iterator<Item = &'n CompiledNode<S>>,
) -> BTreeSet<NodeName> {
    let keeping = nodes.filter(|node| node.spec.keeps_state);
    keeping.map(|node| node.name.clone()).collect()
}

fn targets(names: &[String]) -> Vec<Target> {
    names.iter().map(|name| Target::named(name)).collect()
}

/// Where in `joins` those stand that wait for `node`.
fn places(joins: &[Join], node: &str) -> Vec<usize> {
    let places = joins.iter().enumerate();
    places
        .filter(|(_, join)| join.sources.iter().any(|source| source.as_str() == node))
        .map(|(place, _)| place)
        .collect()
}
