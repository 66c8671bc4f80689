#![allow(unused)]
use rustagents_agent::{
    AgentRuntime, FailFast, ToolSet,
    evidence::{FinalAnswer, Observations, ValidatedAction},
    runtime::{Acting, Completed, Idle, Observing, Thinking},
    state::Conversation,
};

type At<Phase> = AgentRuntime<Conversation, ToolSet, FailFast, Phase>;

fn acts(thinking: At<Thinking>) {
    thinking.act(ValidatedAction { text: String::new(), calls: [].into() });
}

fn main() {}
