//! Builds the graph of a case, runs its attempts, and says what differs.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use rustagents_core::{event::Event, ids::AskId, scope::Halt};
use rustagents_graph::{
    Edit, Graph, GraphBuilder, GraphEnd, GraphFaults, GraphState, NodeError, NodeOutput, NodeSpec,
    Outcome, Reducer, RetryPolicy, State, TaskContext, Timeout, Update, Writes,
};
use serde_json::{Value, json};

use super::case::{Attempt, Branch, Case, Channel, Does, Fails, NodeCase, ReducerName, When};
use crate::bench::Bench;

/// Runs a case.
///
/// # Errors
/// Where it differs from what is expected, in words.
pub(super) async fn run(case: Case) -> Result<(), String> {
    if case.title.is_empty() {
        return Err("it has no title".into());
    }
    let (faults, attempts, input) = (case.faults.clone(), case.attempts, case.input.clone());
    let case = Case {
        attempts: Vec::new(),
        ..case
    };
    let graph = match graph(case)? {
        Ok(graph) => graph,
        Err(GraphFaults(found)) => {
            let found: Vec<_> = found.iter().map(ToString::to_string).collect();
            return same("faults", &faults, &found);
        }
    };
    same("faults", &faults, &Vec::new())?;
    if attempts.is_empty() {
        return Err("it expects nothing".into());
    }
    let bench = Bench::new();
    for (number, attempt) in attempts.into_iter().enumerate() {
        let told = run_attempt(&bench, &graph, &input, attempt).await;
        told.map_err(|what| format!("attempt {}: {what}", number + 1))?;
    }
    Ok(())
}

async fn run_attempt(
    bench: &Bench,
    graph: &Graph,
    input: &BTreeMap<String, Value>,
    expected: Attempt,
) -> Result<(), String> {
    if !expected.updates.is_empty() {
        let edit = Edit::new(written(&expected.updates));
        let told = bench.edit(graph, vec![edit]).await;
        told.map_err(|error| format!("the update: {error}"))?;
    }
    for (ask, answer) in expected.answers {
        let told = bench.try_answer(&AskId::from(&*ask), answer).await;
        told.map_err(|error| format!("answer to {ask}: {error}"))?;
    }
    let end = bench.attempt_on(graph, |_| written(input)).await;
    let end = end.map_err(|halt: Halt| format!("it stopped: {halt}"))?;
    same("steps", &expected.steps, &steps(&bench.events()))?;
    let (asks, fails, limit) = outcome(&end)?;
    same("asks", &expected.asks, &asks)?;
    same("fails", &expected.fails, &fails)?;
    same("recursion_limit", &expected.recursion_limit, &limit)?;
    same("state", &expected.state, &state(&end.state))
}

/// A value, or an item, for each channel.
fn written(values: &BTreeMap<String, Value>) -> Writes {
    let mut writes = Writes::new();
    for (channel, value) in values {
        writes.push(channel.clone(), Update::Value(value.clone()));
    }
    writes
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, found: &T) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!(
        "{what}:\n  expected {expected:?}\n     found {found:?}"
    ))
}

/// The tasks that began, by step of the outermost graph, each as its node with those
/// around it.
fn steps(events: &[Event]) -> Vec<Vec<String>> {
    let mut steps = vec![Vec::new()];
    for event in events {
        match event {
            Event::NodeStarted { task, .. } => {
                let nodes = task.as_str().split('/');
                let nodes = nodes.map(|task| task.rsplit_once(':').unwrap().0);
                let node = nodes.collect::<Vec<_>>().join("/");
                steps.last_mut().unwrap().push(node);
            }
            Event::CheckpointSaved { namespace, .. } if namespace.is_root() => {
                steps.push(Vec::new());
            }
            _ => {}
        }
    }
    if steps.last().is_some_and(Vec::is_empty) {
        steps.pop();
    }
    steps
}

type Ended = (Vec<String>, Option<String>, Option<u64>);

/// The questions, the failure and the limit.
fn outcome(end: &GraphEnd) -> Result<Ended, String> {
    Ok(match &end.outcome {
        Outcome::Completed => (Vec::new(), None, None),
        Outcome::Suspended(asks) => {
            let asks = asks.iter().map(|ask| ask.id.to_string()).collect();
            (asks, None, None)
        }
        Outcome::Failed { node, failure } => {
            let failed = format!("{node} {}: {}", failure.code, failure.message);
            (Vec::new(), Some(failed), None)
        }
        Outcome::RecursionLimit { limit } => (Vec::new(), None, Some(*limit)),
        other => return Err(format!("it ended as {other:?}")),
    })
}

/// The channels that are not empty.
fn state(state: &State) -> BTreeMap<String, Value> {
    let Value::Object(channels) = state.to_json() else {
        return BTreeMap::new();
    };
    let filled = |value: &Value| *value != Value::Null && *value != json!([]);
    let filled = channels.into_iter().filter(|(_, value)| filled(value));
    filled.collect()
}

fn graph(case: Case) -> Result<Result<Graph, GraphFaults>, String> {
    let mut builder = channels(GraphBuilder::new("case"), case.channels).start(case.start);
    if let Some(branch) = case.start_branch {
        let (choose, routes) = branching(branch);
        builder = builder.start_branch(choose, routes);
    }
    for edge in &case.edges {
        let (sources, targets) = arrow(edge, ",")?;
        for (source, target) in sources
            .iter()
            .flat_map(|from| targets.iter().map(move |to| (from, to)))
        {
            builder = builder.edge(source, target);
        }
    }
    for join in &case.joins {
        let (sources, targets) = arrow(join, "+")?;
        builder = targets.iter().fold(builder, |builder, target| {
            builder.join(sources.clone(), target)
        });
    }
    for (name, limit) in case.groups {
        builder = builder.group(name, limit);
    }
    if let Some(limit) = case.recursion_limit {
        builder = builder.recursion_limit(limit);
    }
    if let Some(tasks) = case.concurrency {
        builder = builder.max_concurrency(tasks);
    }
    for (name, node) in case.nodes {
        builder = with_node(builder, &name, node)?;
    }
    Ok(builder.compile())
}

/// The two ends of `a, b -> c`.
fn arrow<'a>(text: &'a str, between: &str) -> Result<(Vec<&'a str>, Vec<&'a str>), String> {
    let ends = text
        .split_once("->")
        .ok_or_else(|| format!("`{text}` has no arrow"))?;
    let names = |text: &'a str, between| text.split(between).map(str::trim).collect::<Vec<_>>();
    Ok((names(ends.0, between), names(ends.1, ",")))
}

fn channels(builder: GraphBuilder, channels: BTreeMap<String, Channel>) -> GraphBuilder {
    channels
        .into_iter()
        .fold(builder, |builder, (name, channel)| {
            let reducer = match channel {
                Channel::Barrier(barrier) => return builder.barrier(name, barrier.barrier),
                Channel::Reducer(ReducerName::Text) => {
                    return builder.custom_channel(name, Arc::new(text));
                }
                Channel::Reducer(reducer) => reducer,
            };
            builder.channel(name, named(reducer))
        })
}

/// Puts text behind text.
fn text(current: &Value, new: &Value) -> Result<Value, String> {
    let current = current.as_str().unwrap_or_default();
    let new = new.as_str().ok_or("it takes text")?;
    Ok(json!(format!("{current}{new}")))
}

fn named(reducer: ReducerName) -> Reducer {
    match reducer {
        ReducerName::Overwrite => Reducer::Overwrite,
        ReducerName::Append => Reducer::Append,
        ReducerName::Union => Reducer::Union,
        ReducerName::Min => Reducer::Min,
        ReducerName::Max => Reducer::Max,
        ReducerName::Counter => Reducer::Counter,
        ReducerName::Topic => Reducer::Topic,
        ReducerName::Ephemeral => Reducer::Ephemeral,
        ReducerName::Text => Reducer::Custom,
    }
}

/// A router by the content of a channel, and its routes.
fn branching(
    branch: Branch,
) -> (
    impl Fn(&State) -> String + Send + Sync,
    BTreeMap<String, String>,
) {
    let Branch { on, routes } = branch;
    let choose = move |state: &State| match state.to_json().get(&on) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => items.len().to_string(),
        Some(other) => other.to_string(),
        None => "none".into(),
    };
    (choose, routes)
}

fn with_node(
    mut builder: GraphBuilder,
    name: &str,
    node: NodeCase,
) -> Result<GraphBuilder, String> {
    let spec = spec(&node);
    for (label, targets) in &node.routes {
        builder = builder.route(name, label, targets);
    }
    if !node.commands.is_empty() {
        builder = builder.commands(name, &node.commands);
    }
    if let Some(branch) = node.branch {
        let (choose, routes) = branching(branch);
        builder = builder.branch(name, choose, routes);
    }
    if let Some(inner) = node.graph {
        if !node.does.is_empty() {
            return Err(format!("`{name}` is a graph, and does something itself"));
        }
        let inner = inside(*inner).map_err(|what| format!("the graph of `{name}`: {what}"))?;
        return Ok(holding(builder, name, inner, node.into, node.back).spec(name, spec));
    }
    let actor = Arc::new(Actor {
        does: node.does,
        runs: Mutex::default(),
    });
    let act = move |state, context| {
        let actor = Arc::clone(&actor);
        async move { actor.act(state, context).await }
    };
    Ok(builder.function(name, act).spec(name, spec))
}

/// The graph of a node.
fn inside(case: Case) -> Result<Graph, String> {
    let is_part = case.title.is_empty()
        && case.input.is_empty()
        && case.faults.is_empty()
        && case.attempts.is_empty();
    if !is_part {
        return Err("it has no title, input, faults or attempts of its own".into());
    }
    graph(case)?.map_err(|faults| faults.to_string())
}

/// A node that is a graph, on the state around it or behind an adapter.
fn holding(
    builder: GraphBuilder,
    name: &str,
    inner: Graph,
    into: BTreeMap<String, String>,
    back: BTreeMap<String, String>,
) -> GraphBuilder {
    if into.is_empty() && back.is_empty() {
        return builder.subgraph(name, inner);
    }
    let into = move |state: &State, _: &TaskContext| carried(&into, state);
    let back = move |state: &State| carried(&back, state);
    builder.adapted(name, inner, into, back)
}

/// What is written from the channels of another graph: a list as its items.
fn carried(from: &BTreeMap<String, String>, state: &State) -> Writes {
    let seen = state.to_json();
    let mut writes = Writes::new();
    for (to, from) in from {
        match &seen[from] {
            Value::Array(items) => writes.push(to.clone(), Update::Items(items.clone())),
            Value::Null => {}
            value => writes.push(to.clone(), Update::Value(value.clone())),
        }
    }
    writes
}

fn spec(node: &NodeCase) -> NodeSpec {
    let mut spec = NodeSpec::new();
    if node.deferred {
        spec = spec.deferred();
    }
    if node.optional {
        spec = spec.optional();
    }
    if let Some(tries) = node.tries {
        spec = spec.retry(RetryPolicy::new().tries(tries));
    }
    if let Some(ms) = node.timeout_ms {
        spec = spec.timeout(Timeout::run(Duration::from_millis(ms)));
    }
    if let Some(handler) = &node.on_error {
        spec = spec.on_error(handler.as_str());
    }
    if node.keeps_state {
        spec = spec.keep_state();
    }
    if let Some(group) = &node.group {
        spec = spec.group(group);
    }
    node.asks.iter().fold(spec, |spec, when| match when {
        When::Before => spec.ask_before(),
        When::After => spec.ask_after(),
    })
}

/// A node that does as its case says.
struct Actor {
    does: Vec<Does>,
    /// How often each task was run, in the order in which they first were.
    runs: Mutex<Vec<(String, u32)>>,
}

impl Actor {
    /// What the task does, and how often it was run before.
    fn turn(&self, task: &str) -> (Does, u32) {
        let mut runs = self.runs.lock().unwrap();
        let place = runs.iter().position(|(known, _)| known == task);
        let place = place.unwrap_or_else(|| {
            runs.push((task.to_owned(), 0));
            runs.len() - 1
        });
        runs[place].1 += 1;
        let does = self.does.get(place).or(self.does.last());
        (does.cloned().unwrap_or_default(), runs[place].1 - 1)
    }

    async fn act(&self, state: Arc<State>, context: TaskContext) -> Result<NodeOutput, NodeError> {
        let (does, before) = self.turn(context.scope().namespace().as_str());
        if let Some(ms) = does.takes_ms {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        let mut answers = Vec::new();
        for ask in &does.asks {
            answers.push(context.ask(ask).await?);
        }
        match does.fails {
            Fails::Times(times) if before >= times => Ok(output(does, &state, &context, answers)),
            _ => Err(NodeError::failed("no luck")),
        }
    }
}

fn output(does: Does, state: &State, context: &TaskContext, answers: Vec<Value>) -> NodeOutput {
    let mut output = NodeOutput::new();
    for channel in does.clears {
        output = output.write(channel, Update::Clear);
    }
    for (channel, value) in does.replaces {
        output = output.write(channel, Update::Replace(value));
    }
    for (channel, items) in does.items {
        output = output.write(channel, Update::Items(items));
    }
    for (channel, value) in does.writes {
        output = output.write(channel, Update::Value(value));
    }
    let seen = state.to_json();
    for (channel, from) in does.copies {
        output = output.write(channel, Update::Value(seen[from].clone()));
    }
    if let Some(channel) = does.writes_argument {
        let argument = context.argument_json().cloned().unwrap_or(json!("nothing"));
        output = output.write(channel, Update::Value(argument));
    }
    if let Some(channel) = does.writes_answers {
        output = output.write(channel, Update::Items(answers));
    }
    if let Some(label) = does.route {
        output = output.route(label);
    }
    for send in does.sends {
        output = output.send(send.to, send.argument);
    }
    if let Some(targets) = does.goto_parent {
        output = targets.iter().fold(output, NodeOutput::goto_parent);
    }
    if let Some(targets) = does.goto {
        output.goto.get_or_insert_default();
        output = targets.iter().fold(output, NodeOutput::goto);
    }
    output
}
