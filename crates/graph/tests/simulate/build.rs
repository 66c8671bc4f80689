//! A graph of a plan: what its nodes do, and write, is a function of what they see.

use std::{future::ready, sync::Arc, time::Duration};

use futures::{future::try_join_all, join};
use rustagents_core::{BoxFuture, code::Code, digest::Digest, message::Message};
use rustagents_graph::{
    Asked, END, Graph, GraphBuilder, GraphState, ItemEnd, MapReduce, MemoryCache, NodeCache,
    NodeError, NodeOutput, NodeSpec, Reducer, RetryPolicy, State, StepOptions, TaskContext,
    Timeout, Update, Writes, record::TaskWrite,
};
use serde_json::{Value, json};

use super::{
    plan::{Act, LOOPS, NodePlan, Plan, Policy, Script, Timed, Way, Work},
    world::{CHAOS, UNKEPT, World},
};

/// How often a write to the channel for snapshots is repeated.
const BULK: usize = 8_000;

/// How long an answer counts as in time, where that is bounded.
const TIME_TO_ANSWER: Duration = Duration::from_millis(40);

/// How long a try of a timed node may take.
const PATIENCE: Duration = Duration::from_millis(200);

pub(super) fn graph(plan: &Plan, world: &Arc<World>) -> Graph {
    let builder = plan
        .unkept()
        .fold(GraphBuilder::new(&plan.name), |builder, name| {
            builder.channel(name.clone(), Reducer::Untracked)
        });
    let own = plan.own.into_iter();
    let builder = own.fold(builder, |builder, name| {
        builder.channel(name, Reducer::Counter)
    });
    let mut builder = channels(builder)
        .start(plan.start.clone())
        .group("few", plan.group)
        .max_concurrency(plan.concurrency)
        .recursion_limit(60);
    if !plan.choice.is_empty() {
        let choose = |state: &State| hash(&view(state)) % 2;
        builder = builder.start_branch(choose, (0..).zip(&plan.choice));
    }
    for node in &plan.nodes {
        builder = with_node(builder, node, world);
        builder = with_way(builder, plan, node).spec(&node.name, spec(&node.policy));
    }
    for (sources, target) in &plan.joins {
        builder = builder.join(sources.clone(), target);
    }
    builder.compile().unwrap()
}

fn channels(builder: GraphBuilder) -> GraphBuilder {
    let fold = |current: &Value, new: &Value| {
        let (current, new) = (current.as_u64().unwrap_or(1), new.as_u64().unwrap_or(0));
        Ok(json!((current * 31 + new) % 1_000_003))
    };
    let builder = [
        ("log", Reducer::Append),
        ("set", Reducer::Union),
        ("lo", Reducer::Min),
        ("hi", Reducer::Max),
        ("sum", Reducer::Counter),
        ("topic", Reducer::Topic),
        ("flash", Reducer::Ephemeral),
        ("last", Reducer::Overwrite),
        ("messages", Reducer::Messages),
    ]
    .into_iter()
    .fold(builder, |builder, (name, reducer)| {
        builder.channel(name, reducer)
    });
    let builder = LOOPS.into_iter().fold(builder, |builder, name| {
        builder.channel(name, Reducer::Counter)
    });
    let bulk = |_: &Value, new: &Value| Ok(json!(new.to_string().repeat(BULK)));
    builder
        .custom_channel("fold", Arc::new(fold))
        .custom_channel("bulk", Arc::new(bulk))
        .barrier("gate", ["x", "y"])
}

fn with_node(builder: GraphBuilder, node: &NodePlan, world: &Arc<World>) -> GraphBuilder {
    match &node.work {
        Work::Script(script) => {
            let name = node.name.clone();
            let (node, world) = (Arc::new(node.clone()), Arc::clone(world));
            let cached = script.cached;
            let cache = Arc::new(Forgetful::new(&world));
            let builder = builder.function(&name, move |state, context| {
                perform(Arc::clone(&node), Arc::clone(&world), state, context)
            });
            let Some(number) = cached else { return builder };
            builder.cached(name, cache, None, move |state, argument| {
                Some(seen_by_cached(number, state, argument))
            })
        }
        Work::Called(plan) => {
            let (inner, world) = (graph(plan, world), Arc::clone(world));
            builder.function(&node.name, move |state, context| {
                call(inner.clone(), Arc::clone(&world), state, context)
            })
        }
        Work::Shared(plan) => builder.subgraph(&node.name, graph(plan, world)),
        Work::Adapted(plan) => {
            let into = |state: &State, context: &TaskContext| {
                let seen = hash(&json!([view(state), context.argument_json()]));
                writes("log", json!(seen))
            };
            let back = |state: &State| writes("log", json!(hash(&view(state))));
            builder.adapted(&node.name, graph(plan, world), into, back)
        }
    }
}

/// Runs a graph in the middle of a node.
async fn call(
    inner: Graph,
    world: Arc<World>,
    state: Arc<State>,
    context: TaskContext,
) -> Result<NodeOutput, NodeError> {
    let path = context.scope().namespace().to_string();
    world.begin(&path).await;
    let seen = hash(&json!([view(&state), context.argument_json()]));
    world.wait().await;
    let end = context.run_graph("inner", &inner, writes("log", json!(seen)));
    let end = end.await?;
    world.note(format!("{path} ran a graph"));
    world.wait().await;
    let came = Update::Value(json!(hash(&view(&end))));
    Ok(NodeOutput::new().write("log", came))
}

/// What counts for a node whose outputs are taken for other tasks of it: little, so
/// that they are.
fn seen_by_cached(number: u64, state: &State, argument: Option<&Value>) -> Value {
    json!([number, argument, state.list("log").len() % 2])
}

/// A cache that outlives every process, and now and then forgets or fails.
struct Forgetful {
    kept: MemoryCache,
    world: Arc<World>,
}

impl Forgetful {
    fn new(world: &Arc<World>) -> Self {
        Self {
            kept: MemoryCache::new(3),
            world: Arc::clone(world),
        }
    }
}

impl NodeCache for Forgetful {
    fn get(&self, key: Digest, now_ms: u64) -> BoxFuture<'_, Result<Option<TaskWrite>, String>> {
        match self.world.any(6) {
            0 => Box::pin(ready(Err("it is away".into()))),
            1 => Box::pin(ready(Ok(None))),
            _ => self.kept.get(key, now_ms),
        }
    }

    fn put(
        &self,
        key: Digest,
        write: TaskWrite,
        until_ms: Option<u64>,
    ) -> BoxFuture<'_, Result<(), String>> {
        match self.world.any(6) {
            0 => Box::pin(ready(Err("it is full".into()))),
            _ => self.kept.put(key, write, until_ms),
        }
    }
}

fn writes(channel: &'static str, value: Value) -> Writes {
    let mut writes = Writes::new();
    writes.push(channel, Update::Value(value));
    writes
}

fn with_way(builder: GraphBuilder, plan: &Plan, node: &NodePlan) -> GraphBuilder {
    let name = &node.name;
    match &node.way {
        Way::Next(targets) => {
            let joined = plan.joins.iter().any(|(from, _)| from.contains(name));
            if targets.is_empty() && !joined {
                return builder.finish(name);
            }
            let edge = |builder: GraphBuilder, target| builder.edge(name, target);
            targets.iter().fold(builder, edge)
        }
        Way::Loop {
            counter,
            rounds,
            again,
            on,
        } => {
            let (counter, rounds) = (*counter, *rounds);
            let goes_on = move |state: &State| {
                let done = state.value(counter).and_then(Value::as_u64);
                done.unwrap_or(0) < rounds
            };
            builder.branch(name, goes_on, [(true, again), (false, on)])
        }
        Way::Routes(routes) => routes.iter().fold(builder, |builder, (label, target)| {
            builder.route(name, label, [target])
        }),
        Way::Commands(targets) => {
            builder.commands(name, targets.iter().map(String::as_str).chain([END]))
        }
        Way::Sends(target, _) => builder.commands(name, [target]),
    }
}

fn spec(policy: &Policy) -> NodeSpec {
    let mut spec = NodeSpec::new();
    if policy.deferred {
        spec = spec.deferred();
    }
    if let Some(tries) = policy.tries {
        spec = spec.retry(RetryPolicy::new().tries(tries));
    }
    if let Some(timed) = policy.timed {
        spec = spec.timeout(match timed {
            Timed::Run => Timeout::run(PATIENCE),
            Timed::Idle => Timeout::idle(PATIENCE),
            Timed::Both => Timeout::run(2 * PATIENCE).and(Timeout::idle(PATIENCE)),
        });
    }
    if let Some(handler) = &policy.on_error {
        spec = spec.on_error(handler.as_str());
    }
    if policy.optional {
        spec = spec.optional();
    }
    if policy.grouped {
        spec = spec.group("few");
    }
    if policy.ask_before {
        spec = spec.ask_before();
    }
    if policy.ask_after {
        spec = spec.ask_after();
    }
    if policy.kept {
        spec = spec.keep_state();
    }
    spec
}

/// The state without what may differ between two runs, the ids of messages and what
/// no record keeps, and without most of what is large.
pub(super) fn view(state: &State) -> Value {
    let mut view = state.to_json();
    if let Some(channels) = view.as_object_mut() {
        channels.retain(|name, _| !name.starts_with("unkept-"));
    }
    let texts = state.messages("messages").iter();
    view["messages"] = texts.map(|message| message.text()).collect();
    let bulk = view["bulk"].as_str().and_then(|bulk| bulk.get(..9));
    view["bulk"] = json!(bulk);
    view
}

/// FNV-1a of the JSON form, <http://www.isthe.com/chongo/tech/comp/fnv/>.
pub(super) fn hash(value: &Value) -> u64 {
    let hash = value
        .to_string()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    hash >> 12
}

/// A node at work.
struct Worker {
    node: Arc<NodePlan>,
    world: Arc<World>,
    context: TaskContext,
    path: String,
}

async fn perform(
    node: Arc<NodePlan>,
    world: Arc<World>,
    state: Arc<State>,
    context: TaskContext,
) -> Result<NodeOutput, NodeError> {
    let Work::Script(script) = &node.work else {
        return Err(NodeError::failed("it has no script"));
    };
    let path = context.scope().namespace().to_string();
    let worker = Worker {
        node: Arc::clone(&node),
        world,
        context,
        path,
    };
    if script.cached.is_some() {
        worker.world.begin_again(&worker.path).await;
    } else {
        worker.world.begin(&worker.path).await;
    }
    let mut did = Vec::new();
    for (place, act) in script.acts.iter().enumerate() {
        worker.may_fail()?;
        did.push(worker.act(place, *act).await?);
    }
    worker.may_fail()?;
    worker.world.wait().await;
    if script.fails {
        return Err(NodeError::failed("always"));
    }
    let argument = worker.context.argument_json();
    let seen = match script.cached {
        Some(number) => seen_by_cached(number, &state, argument),
        None => json!([worker.path, argument, view(&state), did]),
    };
    Ok(worker.output(script, hash(&seen)))
}

impl Worker {
    fn may_fail(&self) -> Result<(), NodeError> {
        may_fail(&self.world, &self.path, &self.node)
    }

    async fn act(&self, place: usize, act: Act) -> Result<Value, NodeError> {
        let context = &self.context;
        let name = format!("s{place}");
        Ok(match act {
            Act::Wait => {
                self.world.wait().await;
                Value::Null
            }
            Act::Beat => {
                context.heartbeat();
                self.world.wait().await;
                Value::Null
            }
            Act::Step => {
                let work = || self.work(&format!("{name}#1"));
                json!(context.step(&name, work).await?)
            }
            Act::Idempotent => {
                let work = self.work(&format!("{name}#1"));
                let options = StepOptions::new(&name).idempotent().input(&place);
                json!(context.step_with(options, |_| work).await?)
            }
            Act::Keyed(some) => {
                json!(try_join_all((0..some).map(|key| self.keyed(&name, key))).await?)
            }
            Act::MapReduce(some) => {
                let how = MapReduce::new().fail_fast().concurrency(2);
                let work = |item: u64| self.work(&format!("{name}:{item}#1"));
                let ends = context.map_reduce(&name, 0..some, how, work).await?;
                self.world.note(format!("{name} on {some} items"));
                ends.into_iter().map(ItemEnd::done).collect()
            }
            Act::Once => json!(self.once(&name, None).await?),
            Act::OnceKeyed(some) => {
                json!(try_join_all((0..some).map(|key| self.once(&name, Some(key)))).await?)
            }
            Act::Spawned => json!(self.spawned(name).await?),
            Act::Ask => context.ask(name).await?,
            Act::AskTwice => {
                let first = context.ask(format!("{name}?")).await?;
                self.world.wait().await;
                json!([first, context.ask(format!("{name}??")).await?])
            }
            Act::AskUntil => {
                let asked = context.ask_until(&name, TIME_TO_ANSWER).await?;
                let question = format!("{}/{name}", self.path);
                match asked {
                    Asked::Answered(_) => self.world.got_answer(&question),
                    Asked::Expired => self.world.got_none(&question),
                }
                Value::Null
            }
            Act::OnceWhileAsking => {
                let (paid, answer) = join!(self.once(&name, None), context.ask(&name));
                json!([paid?, answer?])
            }
        })
    }

    /// The work of an ordinary step.
    fn work(&self, label: &str) -> impl Future<Output = Result<u64, NodeError>> + use<> {
        let step = format!("{}/{label}", self.path);
        let (world, node, path) = (
            Arc::clone(&self.world),
            Arc::clone(&self.node),
            self.path.clone(),
        );
        let tries = self.context.tries();
        async move {
            world.wait().await;
            may_fail(&world, &path, &node)?;
            world.done(&step, tries).await;
            world.wait().await;
            may_fail(&world, &path, &node)?;
            Ok(hash(&json!(step)))
        }
    }

    async fn keyed(&self, name: &str, key: u64) -> Result<u64, NodeError> {
        let work = || self.work(&format!("{name}:{key}#1"));
        self.context.step_keyed(name, key, work).await
    }

    /// Pays once, and anew where a person says that it did not happen.
    async fn once(&self, name: &str, key: Option<u64>) -> Result<u64, NodeError> {
        let key_part = key.map(|key| format!(":{key}")).unwrap_or_default();
        let payment = format!("{}/{name}{key_part}", self.path);
        loop {
            match self.pay(name, key, &payment).await {
                Err(NodeError::Failed(failure)) if failure.code == Code::StepNotExecuted => {
                    self.world.note(format!("{payment} is made anew"));
                }
                paid => return paid,
            }
        }
    }

    async fn pay(&self, name: &str, key: Option<u64>, payment: &str) -> Result<u64, NodeError> {
        let step = payment.to_owned();
        let (world, node, path) = (
            Arc::clone(&self.world),
            Arc::clone(&self.node),
            self.path.clone(),
        );
        let mut options = StepOptions::new(name).once();
        if let Some(key) = key {
            options = options.key(key);
        }
        let work = |context: rustagents_graph::StepContext| async move {
            world.wait().await;
            if world.fails(&path, &node) {
                if world.any(2) == 0 {
                    context.changed_nothing();
                }
                return Err(NodeError::failed(CHAOS));
            }
            world.paid(&step).await;
            world.wait().await;
            may_fail(&world, &path, &node)?;
            Ok(hash(&json!(step)))
        };
        let paid = self.context.step_with(options, work).await?;
        self.world.given(payment);
        Ok(paid)
    }

    async fn spawned(&self, name: String) -> Result<u64, NodeError> {
        let (context, world) = (self.context.clone(), Arc::clone(&self.world));
        let work = self.work(&format!("{name}#1"));
        let spawned = self.context.spawn(async move {
            world.wait().await;
            context.step(&name, || work).await
        })?;
        spawned.await?
    }

    fn output(&self, script: &Script, seen: u64) -> NodeOutput {
        let mut output = NodeOutput::new();
        if let Some(unkept) = &script.unkept {
            output = output.write(unkept.clone(), Update::Value(json!(UNKEPT)));
        }
        for (place, channel) in script.writes.iter().enumerate() {
            let value = seen >> place;
            output = match *channel {
                "messages" => {
                    let id = self.context.scope().mint_message();
                    let message = Message::user(id, value.to_string());
                    output.write("messages", Update::Messages(vec![message.into()]))
                }
                "gate" => {
                    let name = if value.is_multiple_of(2) { "x" } else { "y" };
                    output.write("gate", Update::Value(json!(name)))
                }
                "log=" => output.write("log", Update::Replace(json!([value]))),
                "log-" => output.write("log", Update::Clear),
                channel => output.write(channel, Update::Value(json!(value % 1_000))),
            };
        }
        self.on(script, output, seen)
    }

    /// Where it says that the graph goes on.
    fn on(&self, script: &Script, output: NodeOutput, seen: u64) -> NodeOutput {
        let output = match script.parent.get(usize::from(seen.is_multiple_of(2))) {
            Some(target) => {
                self.world.note(format!("{} leads out", self.path));
                output.goto_parent(target)
            }
            None => output,
        };
        match &self.node.way {
            Way::Next(_) => output,
            Way::Loop { counter, .. } => output.write(*counter, Update::Value(json!(1))),
            Way::Routes(_) => output.route(seen % 2),
            Way::Commands(targets) => {
                let both = seen.is_multiple_of(5);
                let at = usize::from(seen.is_multiple_of(2));
                let chosen = targets.iter().enumerate();
                let chosen = chosen.filter(|(place, _)| both || *place == at);
                chosen.fold(output, |output, (_, target)| output.goto(target))
            }
            Way::Sends(target, most) => {
                let arguments = (0..=seen % most).map(|item| json!({ "item": item % 2 }));
                output.send_each(target, arguments)
            }
        }
    }
}

fn may_fail(world: &World, path: &str, node: &NodePlan) -> Result<(), NodeError> {
    if !world.fails(path, node) {
        return Ok(());
    }
    if world.any(5) == 0 {
        // As a panic, but without its message on the screen.
        std::panic::resume_unwind(Box::new(CHAOS));
    }
    Err(NodeError::failed(CHAOS))
}
