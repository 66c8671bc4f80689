#![allow(unused)]
use rustagents_agent::{
    AgentRuntime, FailFast, ToolSet,
    evidence::{FinalAnswer, Observations, ValidatedAction},
    runtime::{Acting, Completed, Idle, Observing, Thinking},
    state::Conversation,
};

type At<Phase> = AgentRuntime<Conversation, ToolSet, FailFast, Phase>;

fn turn(idle: At<Idle>, action: ValidatedAction, results: Observations, answer: FinalAnswer) -> At<Completed> {
    idle.think().act(action).observe(&results).think().complete(answer)
}

fn main() {}
