//! One hop of an agent: the model asks for a typed tool, the result is added.
//!
//! Ours runs with schema validation, limits and events on and nobody listening,
//! on the in-memory journal. The limit is a loop by hand: a list of messages,
//! arguments parsed once, a table of tools; no journal, no validation, no limits.

use std::{collections::BTreeMap, sync::Arc};

use futures::{StreamExt, stream, stream::BoxStream};
use rustagents_agent::{Agent, AgentInput, ToolSet, TypedTool};
use rustagents_core::{
    event::Events,
    message::Message,
    model::{FinishReason, Model, ModelDelta, ModelRequest, StreamItem},
    recorder::Durability,
    scope::Write,
    tool::{EffectClass, ToolContext, ToolError},
};
use rustagents_store::MemoryJournal;

use crate::{
    drive,
    row::{self, Side, Sides},
};

/// How many runs one measurement makes.
const RUNS: u32 = 50;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

struct Add;

impl TypedTool for Add {
    const NAME: &'static str = "add";
    const DESCRIPTION: &'static str = "Add two whole numbers.";
    const EFFECT: EffectClass = EffectClass::Repeatable;
    type Args = Sum;
    type Output = i64;

    async fn run(&self, sum: Sum, _: ToolContext) -> Result<i64, ToolError> {
        Ok(sum.a + sum.b)
    }
}

/// Asks for `hops` sums, then answers.
struct Asking {
    hops: usize,
}

impl Model for Asking {
    fn id(&self) -> &'static str {
        "bench:asking"
    }

    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, StreamItem> {
        let asked = request.messages.len() / 2;
        let (first, finish) = if asked < self.hops {
            let call = ModelDelta::Call {
                index: 0,
                wire_id: None,
                name: Some("add".into()),
                arguments: r#"{"a":1,"b":2}"#.into(),
            };
            (call, FinishReason::ToolCalls)
        } else {
            (ModelDelta::Text("done".into()), FinishReason::Stop)
        };
        stream::iter([Ok(first), Ok(ModelDelta::Finish(finish))]).boxed()
    }
}

pub(crate) fn sides(hops: u32, measure: &mut dyn FnMut(Sides<'_>)) {
    let runtime = row::runtime();
    let runs = (2_000 / hops).clamp(5, RUNS);
    let agent = asking(hops as usize);
    let ours = Side {
        units: runs * hops,
        work: Box::new(|| {
            for _ in 0..runs {
                runtime.block_on(run(&agent, hops as usize));
            }
        }),
    };
    let limit = Side {
        units: runs * hops,
        work: Box::new(|| {
            for _ in 0..runs {
                by_hand(hops as usize);
            }
        }),
    };
    measure(Sides {
        unit: "us/hop",
        ours,
        limit,
    });
}

fn asking(hops: usize) -> Agent {
    let tools = ToolSet::new().register(Add).build().unwrap();
    Agent::builder("bench")
        .model(Arc::new(Asking { hops }))
        .tools(tools)
        .build()
        .unwrap()
}

async fn run(agent: &Agent, hops: usize) {
    let journal = Arc::new(MemoryJournal::new());
    let (scope, _claim) = drive::scope(journal, Durability::Sync, Events::default()).await;
    let message = Arc::new(Message::user(scope.mint_message(), "add"));
    let mut write = Write::new();
    write.message(Arc::clone(&message));
    scope.append(write).await.unwrap();
    let input = AgentInput {
        messages: vec![message],
        run_start: 0,
    };
    let end = Box::pin(agent.drive(&scope, input)).await.unwrap();
    assert_eq!(end.messages.len(), 2 * hops + 1);
}

enum Said {
    User(String),
    Call { name: String, arguments: String },
    Result(String),
    Answer(String),
}

/// The practical limit: what somebody would write for exactly this.
fn by_hand(hops: usize) {
    type Tool = Box<dyn Fn(&str) -> String>;
    let mut tools: BTreeMap<&str, Tool> = BTreeMap::new();
    tools.insert(
        "add",
        Box::new(|arguments| {
            let sum: Sum = serde_json::from_str(arguments).unwrap();
            serde_json::to_string(&(sum.a + sum.b)).unwrap()
        }),
    );
    let mut history = vec![Said::User("add".to_owned())];
    loop {
        match hand_model(&history, hops) {
            Said::Call { name, arguments } => {
                let result = tools
                    .get(name.as_str())
                    .map(|tool| tool(&arguments))
                    .unwrap();
                history.push(Said::Call { name, arguments });
                history.push(Said::Result(result));
            }
            answer => {
                history.push(answer);
                break;
            }
        }
    }
    assert_eq!(history.len(), 2 * hops + 2);
    let text: usize = history.iter().map(Said::len).sum();
    assert!(text > 0);
}

fn hand_model(history: &[Said], hops: usize) -> Said {
    if history.len() / 2 < hops {
        Said::Call {
            name: "add".to_owned(),
            arguments: r#"{"a":1,"b":2}"#.to_owned(),
        }
    } else {
        Said::Answer("done".to_owned())
    }
}

impl Said {
    fn len(&self) -> usize {
        match self {
            Self::User(text) | Self::Result(text) | Self::Answer(text) => text.len(),
            Self::Call { arguments, .. } => arguments.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Allocations of a whole run, its opening and its end included.
    fn allocations(hops: usize) -> u64 {
        let (agent, runtime) = (asking(hops), row::runtime());
        row::allocations(|| runtime.block_on(run(&agent, hops)))
    }

    #[test]
    fn a_hop_allocates_at_most_sixty_times() {
        for hops in [10, 100] {
            let allocated = allocations(hops);
            assert!(allocated <= 60 * hops as u64, "{allocated} in {hops} hops");
        }
    }

    #[test]
    fn a_hop_of_a_long_conversation_allocates_what_one_of_a_short_one_does() {
        let short = allocations(20) - allocations(10);
        let long = allocations(110) - allocations(100);
        // A list or a table may grow in one of the two, and not in the other.
        assert!(long <= short + 10, "{short} from 10 hops, {long} from 100");
    }
}
