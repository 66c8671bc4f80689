//! The graph machine: channels, builder, supersteps, asks, driver.
//!
//! Reading order: [`state`] (channels, updates and the deltas that records
//! keep; `state::field` where a state is a type of one's own), [`builder`] (what a
//! graph is made of, and every fault that it can have), [`node`] (what a node is
//! given and gives back), [`question`], [`effect`] (what a task does once, over all
//! its attempts), [`subgraph`], `kept` (the state of a graph inside, from call to call), [`inside`] (where the graphs inside a graph stand), [`edit`] (changes from outside), [`migration`] (threads of older programs), [`schedule`] (the pure
//! half of a superstep), [`record`], `snapshot` (when a chain gets one), [`graph`] with its driver, and [`topology`]
//! (what a graph looks like from outside).
//!
//! All tasks of a superstep see the same committed state; their writes are
//! reduced in task order when all are done, and recorded as one checkpoint. A
//! task that finished keeps its write as a fact, so that it is not run again
//! when a sibling fails, asks or crashes.
//!
//! Invariant: this crate knows no agent, no provider and no store.

pub mod builder;
pub mod cache;
mod driver;
mod dropping;
pub mod edit;
pub mod effect;
pub mod graph;
pub mod inside;
mod kept;
pub mod map_reduce;
pub mod migration;
pub mod node;
pub mod policy;
pub mod question;
pub mod record;
pub mod schedule;
mod snapshot;
pub mod state;
pub mod subgraph;
mod task;
pub mod topology;
mod way_out;

pub use builder::{END, GraphBuilder, GraphFault, GraphFaults, START};
pub use cache::{MemoryCache, NodeCache};
pub use driver::Failure;
pub use dropping::Lost;
pub use edit::Edit;
pub use effect::{Spawned, StepContext, StepError, StepOptions};
pub use graph::{Frame, Frameless, Graph, GraphEnd, Outcome, Position};
pub use inside::{ChildState, Children, KeptState};
pub use map_reduce::{ItemEnd, MapReduce};
pub use migration::{Channels, Migration, MigrationError};
pub use node::{MAX_FAILURE_BYTES, Node, NodeError, NodeFailure, NodeOutput, TaskContext, node_fn};
pub use policy::{NodeSpec, RetryPolicy, Timeout};
pub use question::{AskOptions, Asked};
pub use record::Goto;
/// Makes a struct the state of a graph: each field is a channel.
///
/// `#[channel(…)]` on a field says how it takes writes; without it, the field is
/// overwritten. Beside [`GraphState`](trait@GraphState), the derive makes the type
/// of what nodes write, with methods of the fields' names.
///
/// ```
/// use rustagents_graph::{GraphBuilder, GraphState, Messages};
///
/// #[derive(Clone, Debug, GraphState)]
/// struct Research {
///     question: String,
///     #[channel(append)]
///     notes: Vec<String>,
///     #[channel(counter)]
///     searches: u64,
///     #[channel(messages)]
///     messages: Messages,
/// }
///
/// let graph = GraphBuilder::<Research>::typed("research")
///     .function("search", |state, _| async move {
///         let note = format!("nothing about {}", state.question);
///         Ok(Research::update().notes(note).searches(1).into())
///     })
///     .start(["search"])
///     .branch(
///         "search",
///         |state: &Research| state.searches < 3,
///         [(true, "search"), (false, rustagents_graph::END)],
///     )
///     .compile()?;
/// assert_eq!(graph.empty_state().notes.len(), 0);
/// # Ok::<(), rustagents_graph::GraphFaults>(())
/// ```
///
/// # Fields
///
/// | attribute | type of the field | methods of the update, for a field `f` |
/// |---|---|---|
/// | none, or `overwrite` | any | `f(value)`, `replace_f(value)`, `clear_f()` |
/// | `append`, `topic` | `Vec<T>` | `f(item)`, `extend_f(items)`, `replace_f(items)`, `clear_f()` |
/// | `union` | `BTreeSet<T>`, [`Distinct<T>`](state::field::Distinct) | the same |
/// | `messages` | [`Messages`] | `f(messages)`, `extend_f(messages)`, `remove_f(ids)`, `swap_f(old, new)`, `clear_f()` |
/// | `min`, `max`, `ephemeral` | `Option<T>` | `f(value)`, `replace_f(value)`, `clear_f()` |
/// | `counter` | `i64`, `u64`, `f64` | `f(number)`, `replace_f(number)`, `clear_f()` |
/// | `untracked` | any | `f(value)`, `replace_f(value)`, `clear_f()` |
/// | `barrier("a", "b")` | [`Arrivals`](state::field::Arrivals) | `f(name)`, `clear_f()` |
/// | `reduce = path` | any | `f(write)`, `replace_f(value)`, `clear_f()` |
///
/// Types are `Serialize`, `DeserializeOwned`, `Default` where a field has no value
/// at first, and `Clone`; their JSON form must be read back as an equal value.
/// `rename = "name"` says the channel's name where it is not the field's: a
/// renamed field keeps what is recorded of it by that.
///
/// A function of one's own is called with the value and each write of a step, in
/// the order of the tasks. It takes what the field has, unless `takes` says
/// otherwise:
///
/// ```
/// use std::collections::BTreeMap;
///
/// use rustagents_graph::GraphState;
///
/// #[derive(Clone, Debug, GraphState)]
/// struct Votes {
///     #[channel(reduce = count, takes = String)]
///     votes: BTreeMap<String, u64>,
/// }
///
/// fn count(votes: &BTreeMap<String, u64>, vote: String) -> Result<BTreeMap<String, u64>, String> {
///     if vote.is_empty() {
///         return Err("a vote is for somebody".into());
///     }
///     let mut votes = votes.clone();
///     *votes.entry(vote).or_default() += 1;
///     Ok(votes)
/// }
///
/// let update = Votes::update().votes("ada").votes("grace");
/// # let _: rustagents_graph::Writes = update.into();
/// ```
///
/// # The whole
///
/// `#[state(…)]` on the struct takes
///
/// - `update = Name`: the name of the update type, `<Struct>Update` unless set;
/// - `input(field, …)`: a struct `<Struct>Input` of these fields, which becomes an
///   update. What it has is written as a node would write it: items are added,
///   numbers counted. A field with a function of one's own is replaced;
/// - `output(field, …)`: a struct `<Struct>Output`, made of `&Struct`;
/// - `derive(Trait, …)`: what input and output derive beside `Clone` and `Debug`;
/// - `schema`: an associated function `schema()`, the JSON Schema of the state as
///   JSON. The types of the fields are `schemars::JsonSchema` then;
/// - `crate = path`: where this crate is found, if not at `::rustagents_graph`.
///
/// ```
/// use rustagents_graph::{GraphState, Writes};
///
/// #[derive(Clone, Debug, GraphState)]
/// #[state(update = Change, input(question), output(answer), derive(PartialEq), schema)]
/// struct Talk {
///     question: String,
///     answer: Option<String>,
/// }
///
/// let input = TalkInput { question: "why?".into() };
/// let writes: Writes = Change::from(input).into();
/// assert!(!writes.is_empty());
/// let state = Talk { answer: Some("because".into()), ..Talk::empty(&[]) };
/// assert_eq!(TalkOutput::from(&state), TalkOutput { answer: Some("because".into()) });
/// assert_eq!(Talk::schema()["required"][0], "question");
/// ```
pub use rustagents_macros::GraphState;
pub use state::{GraphState, Messages, Reducer, State, Update, Writes};
pub use topology::{
    GraphTopology, TopologyChannel, TopologyEdge, TopologyEdgeKind, TopologyNode, TopologyPolicies,
};
