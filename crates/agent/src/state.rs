//! What an agent remembers while it works.

use std::sync::Arc;

use rustagents_core::{
    digest::{Chained, Digest},
    message::{Message, Role, Usage},
};

use crate::transition::Edit;

/// The least that the runtime asks of a state.
pub trait AgentState {
    /// What the agent ends with.
    type FinalOutput;
    /// What is noted on the way.
    type ScratchpadEntry;
    /// What numbers a step.
    type StepId: Copy + Eq + std::fmt::Debug;

    /// The request that the agent works on.
    fn user_input(&self) -> String;
    /// Notes an entry.
    fn append_scratchpad(&mut self, entry: Self::ScratchpadEntry);
    /// Sets what the agent ends with.
    fn set_final_output(&mut self, output: Self::FinalOutput);
    /// How many steps were begun.
    fn step_count(&self) -> u32;
    /// The current step.
    fn step(&self) -> Self::StepId;
    /// Counts a step up.
    fn begin_step(&mut self);
    /// What ties everything that belongs to this agent's run together.
    fn correlation_id(&self) -> &str;
}

/// A conversation: the messages that the agent was given, then its own.
///
/// It only grows, so each request starts with the bytes of the one before it.
#[derive(Clone, Debug)]
pub struct Conversation {
    messages: Vec<Arc<Message>>,
    run_start: usize,
    given: usize,
    sent: usize,
    turn: u32,
    repairs: u32,
    usage: Usage,
    answer: Option<String>,
    request: Chained,
    correlation: String,
}

impl Conversation {
    /// A conversation that starts with `messages`, of which those from index
    /// `run_start` on belong to this run. `prefix` is the digest so far, of
    /// instructions and tools.
    pub fn new(
        messages: Vec<Arc<Message>>,
        run_start: usize,
        prefix: Chained,
        correlation: impl Into<String>,
    ) -> Self {
        let mut conversation = Self {
            given: messages.len(),
            messages: Vec::with_capacity(messages.len() + 8),
            run_start,
            sent: 0,
            turn: 0,
            repairs: 0,
            usage: Usage::default(),
            answer: None,
            request: prefix,
            correlation: correlation.into(),
        };
        for message in messages {
            conversation.push(message);
        }
        conversation
    }

    fn push(&mut self, message: Arc<Message>) {
        self.request.push(|part| message.body.digest(part));
        self.messages.push(message);
    }

    /// All messages: given ones first.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The messages that the agent made.
    pub fn own(&self) -> &[Arc<Message>] {
        self.messages.get(self.given..).unwrap_or_default()
    }

    /// The index of the first message that belongs to this run.
    pub fn run_start(&self) -> usize {
        self.run_start
    }

    /// The digest of the request that the next model call makes.
    pub fn request_digest(&self) -> Digest {
        self.request.digest()
    }

    /// How the next request follows from the last one; the first one, from what the
    /// agent was given.
    pub fn edit(&self) -> Edit {
        let given = if self.sent == 0 { self.given } else { 0 };
        let new = self.messages.iter().skip(self.sent + given);
        Edit {
            given,
            keep: self.sent,
            insert: new.map(|message| message.id.clone()).collect(),
        }
    }

    /// Notes that a request with all messages was answered.
    pub(crate) fn answered(&mut self, usage: Option<Usage>) {
        self.sent = self.messages.len();
        self.usage += usage.unwrap_or_default();
    }

    /// Counts a repair.
    pub(crate) fn repaired(&mut self) {
        self.repairs += 1;
    }

    /// Forgets the repairs: another try begins.
    pub(crate) fn renewed(&mut self) {
        self.repairs = 0;
    }

    /// How often a refused answer went back to the model.
    pub fn repairs(&self) -> u32 {
        self.repairs
    }

    /// What all model calls consumed.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// What the agent ended with.
    pub fn answer(&self) -> Option<&str> {
        self.answer.as_deref()
    }
}

impl AgentState for Conversation {
    type FinalOutput = String;
    type ScratchpadEntry = Arc<Message>;
    type StepId = u32;

    fn user_input(&self) -> String {
        let users = self
            .messages
            .iter()
            .rev()
            .find(|message| message.role() == Role::User);
        users.map(|message| message.text()).unwrap_or_default()
    }

    fn append_scratchpad(&mut self, entry: Arc<Message>) {
        self.push(entry);
    }

    fn set_final_output(&mut self, output: String) {
        self.answer = Some(output);
    }

    fn step_count(&self) -> u32 {
        self.turn
    }

    fn step(&self) -> u32 {
        self.turn
    }

    fn begin_step(&mut self) {
        self.turn += 1;
    }

    fn correlation_id(&self) -> &str {
        &self.correlation
    }
}
