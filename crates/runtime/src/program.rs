//! A blueprint with its capabilities bound: what a run executes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use rustagents_agent::{Agent, AgentError, ToolSet, ToolSetError};
use rustagents_core::{
    canonical::Canonical,
    code::{Code, Coded},
    digest::Digest,
    journal::Content,
    model::Model,
    tool::{Tool, ToolSpec},
};
use rustagents_graph::{Graph, GraphBuilder, GraphFaults, Reducer};
use rustagents_lang::{self as lang, Blueprint, Node, NodeKind, Target, Way};
use rustagents_registry::{RegisterError, Registry, Snapshot};
use serde_json::json;

use crate::nodes::{InterruptNode, on_conversation};

/// The models and tools that plans may name.
#[derive(Clone, Default)]
pub struct Capabilities {
    models: Vec<(String, Arc<dyn Model>)>,
    tools: Vec<Arc<dyn Tool>>,
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let models: Vec<_> = self.models.iter().map(|(alias, _)| alias).collect();
        let tools: Vec<_> = self.tools.iter().map(|tool| &tool.spec().name).collect();
        f.debug_struct("Capabilities")
            .field("models", &models)
            .field("tools", &tools)
            .finish()
    }
}

impl Capabilities {
    /// Adds a model under an alias; a later one replaces an earlier one.
    pub fn model(&mut self, alias: impl Into<String>, model: Arc<dyn Model>) {
        let alias = alias.into();
        self.models.retain(|(other, _)| *other != alias);
        self.models.push((alias, model));
    }

    /// Adds a tool.
    pub fn tool(&mut self, tool: Arc<dyn Tool>) {
        self.tools.push(tool);
    }

    /// The names that plans are checked against.
    ///
    /// # Errors
    /// [`RegisterError`] for a name that is taken or not valid.
    pub fn snapshot(&self) -> Result<Snapshot, RegisterError> {
        let mut registry = Registry::new();
        for (alias, model) in &self.models {
            registry.model(alias.as_str(), model.id())?;
        }
        for tool in &self.tools {
            registry.tool(Arc::clone(tool.spec()))?;
        }
        Ok(registry.freeze())
    }

    fn find_model(&self, alias: &str) -> Option<&Arc<dyn Model>> {
        self.models
            .iter()
            .find(|(other, _)| other == alias)
            .map(|(_, model)| model)
    }

    fn find_tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }
}

/// A plan that is ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    graph: Graph,
    agents: BTreeMap<String, Agent>,
    /// The answers that each interrupt with routes takes.
    options: BTreeMap<String, Vec<String>>,
    conversation: Option<String>,
    /// The nodes whose answer goes to a channel of its own.
    silent: BTreeSet<String>,
    definition: Definition,
}

/// What a run executes, as the journal keeps it: the blueprint, and the
/// declarations of the tools that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    text: Arc<str>,
    digest: Digest,
}

impl Definition {
    fn of(blueprint: &Blueprint, tools: &BTreeMap<String, Arc<ToolSpec>>) -> Self {
        let specs: Vec<_> = tools.values().map(|spec| json!(**spec)).collect();
        let whole = Canonical::of(&json!({ "version": 1, "blueprint": blueprint, "tools": specs }));
        Self {
            text: whole.shared_text(),
            digest: whole.digest(),
        }
    }

    /// The digest of the canonical text.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The canonical text, as a content of the journal.
    pub fn content(&self) -> Content {
        Content {
            digest: self.digest,
            bytes: self.text.as_bytes().to_vec(),
        }
    }
}

impl Program {
    /// Binds a blueprint to its capabilities.
    ///
    /// # Errors
    /// [`LowerError`] names what is missing or does not work.
    pub fn lower(blueprint: &Blueprint, capabilities: &Capabilities) -> Result<Self, LowerError> {
        let mut lowering = Lowering {
            blueprint,
            capabilities,
            agents: BTreeMap::new(),
            specs: BTreeMap::new(),
        };
        let graph = lowering.graph()?;
        Ok(Self {
            graph,
            options: options(blueprint),
            silent: silent(blueprint),
            conversation: blueprint.messages_channel().map(str::to_owned),
            definition: Definition::of(blueprint, &lowering.specs),
            agents: lowering.agents,
        })
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The agent of a node.
    pub fn agent(&self, node: &str) -> Option<&Agent> {
        self.agents.get(node)
    }

    /// The only answers that a node's question takes; none where any will do.
    pub fn options(&self, node: &str) -> &[String] {
        self.options.get(node).map_or(&[], Vec::as_slice)
    }

    /// Whether what a node's agent says goes into the conversation.
    pub fn speaks(&self, node: &str) -> bool {
        self.conversation.is_some() && self.agents.contains_key(node) && !self.silent.contains(node)
    }

    /// The messages channel, where the plan has one.
    pub fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }

    /// What the journal keeps of it.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }
}

struct Lowering<'a> {
    blueprint: &'a Blueprint,
    capabilities: &'a Capabilities,
    agents: BTreeMap<String, Agent>,
    specs: BTreeMap<String, Arc<ToolSpec>>,
}

impl Lowering<'_> {
    fn graph(&mut self) -> Result<Graph, LowerError> {
        let blueprint = self.blueprint;
        let mut builder = GraphBuilder::new(&*blueprint.name).start(names(&blueprint.start));
        if let Some(limit) = blueprint.recursion_limit {
            builder = builder.recursion_limit(limit);
        }
        for channel in &blueprint.channels {
            builder = builder.channel(channel.name.clone(), reducer(channel.reducer));
        }
        for node in &blueprint.nodes {
            builder = match &node.kind {
                NodeKind::Agent { output, .. } => {
                    let agent = self.agent(node)?;
                    let conversation = blueprint.messages_channel().map(str::to_owned);
                    builder.node(
                        &*node.name,
                        on_conversation(agent, conversation, output.clone()),
                    )
                }
                NodeKind::Interrupt { prompt, output } => {
                    let (prompt, output) = (prompt.clone(), output.clone());
                    builder.node(
                        &*node.name,
                        InterruptNode::new(prompt, labels(node), output),
                    )
                }
            };
            builder = match &node.way {
                Way::Next(targets) => {
                    let targets = names(targets).into_iter();
                    targets.fold(builder, |builder, to| builder.edge(&*node.name, to))
                }
                Way::Routes(routes) => routes.iter().fold(builder, |builder, route| {
                    builder.route(&*node.name, &*route.label, names(&route.targets))
                }),
            };
        }
        Ok(builder.compile()?)
    }

    fn agent(&mut self, node: &Node) -> Result<Agent, LowerError> {
        let NodeKind::Agent {
            model,
            prompt,
            tools,
            ..
        } = &node.kind
        else {
            return Err(LowerError::NotAnAgent {
                node: node.name.clone(),
            });
        };
        let bound = self
            .capabilities
            .find_model(model)
            .ok_or_else(|| LowerError::Model {
                node: node.name.clone(),
                model: model.clone(),
            })?;
        let mut set = ToolSet::new();
        for name in tools {
            let tool = self
                .capabilities
                .find_tool(name)
                .ok_or_else(|| LowerError::Tool {
                    node: node.name.clone(),
                    tool: name.clone(),
                })?;
            self.specs.insert(name.clone(), Arc::clone(tool.spec()));
            set = set.offer(Arc::clone(tool));
        }
        let agent = Agent::builder(&node.name)
            .model(Arc::clone(bound))
            .instructions(prompt)
            .tools(set.build()?)
            .labels(labels(node))
            .build()?;
        self.agents.insert(node.name.clone(), agent.clone());
        Ok(agent)
    }
}

fn options(blueprint: &Blueprint) -> BTreeMap<String, Vec<String>> {
    let asks = |node: &&Node| matches!(node.kind, NodeKind::Interrupt { .. });
    let interrupts = blueprint.nodes.iter().filter(asks);
    interrupts
        .map(|node| (node.name.clone(), labels(node)))
        .collect()
}

fn silent(blueprint: &Blueprint) -> BTreeSet<String> {
    let keeps = |node: &&Node| {
        matches!(
            node.kind,
            NodeKind::Agent {
                output: Some(_),
                ..
            }
        )
    };
    let nodes = blueprint.nodes.iter().filter(keeps);
    nodes.map(|node| node.name.clone()).collect()
}

fn labels(node: &Node) -> Vec<String> {
    match &node.way {
        Way::Next(_) => Vec::new(),
        Way::Routes(routes) => routes.iter().map(|route| route.label.clone()).collect(),
    }
}

fn names(targets: &[Target]) -> Vec<&str> {
    targets.iter().map(Target::as_str).collect()
}

fn reducer(reducer: lang::Reducer) -> Reducer {
    match reducer {
        lang::Reducer::Overwrite => Reducer::Overwrite,
        lang::Reducer::Append => Reducer::Append,
        lang::Reducer::Messages => Reducer::Messages,
    }
}

/// Why a blueprint cannot be bound.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LowerError {
    /// A node names a model that there is not.
    #[error("node `{node}` names the model `{model}`, which does not exist")]
    Model {
        /// The node.
        node: String,
        /// The alias.
        model: String,
    },
    /// A node names a tool that there is not.
    #[error("node `{node}` names the tool `{tool}`, which does not exist")]
    Tool {
        /// The node.
        node: String,
        /// The name.
        tool: String,
    },
    /// A node was taken for an agent.
    #[error("node `{node}` is not an agent")]
    NotAnAgent {
        /// The node.
        node: String,
    },
    /// The tools of a node do not work together.
    #[error(transparent)]
    Tools(#[from] ToolSetError),
    /// An agent cannot be built.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The graph cannot be compiled.
    #[error(transparent)]
    Graph(#[from] GraphFaults),
}

impl Coded for LowerError {
    fn code(&self) -> Code {
        match self {
            Self::Model { .. } => Code::UnknownModel,
            Self::Tool { .. } => Code::UnknownTool,
            Self::NotAnAgent { .. } => Code::Internal,
            Self::Tools(error) => error.code(),
            Self::Agent(error) => error.code(),
            Self::Graph(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Tools(error) => error.hint(),
            _ => None,
        }
    }
}
