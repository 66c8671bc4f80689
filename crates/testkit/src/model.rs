//! A model that does as it is told, and checks what it is asked.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::{StreamExt, stream, stream::BoxStream};
use rustagents_core::{
    message::{MessageBody, Role, Usage},
    model::{FinishReason, Model, ModelDelta, ModelError, ModelRequest, StreamItem},
};

/// What the model does in one turn.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Says a text, word by word.
    Text(&'static str),
    /// Says a text that ends for another reason than that it is complete.
    Ends(&'static str, FinishReason),
    /// Asks for calls: names and arguments as raw text.
    Calls(Vec<(&'static str, String)>),
    /// Fails.
    Fail(ModelError),
    /// Never answers.
    Hang,
}

/// A model whose turn number `n` is its reply number `n`.
///
/// The turn is counted from the assistant's messages in the request, so the same
/// request gets the same reply, whatever happened to the process in between.
///
/// It panics where a request breaks a promise: each call has exactly one result,
/// in call order, before anybody else speaks; and a request starts with the
/// messages of the one before it.
pub struct FakeModel {
    replies: Vec<Reply>,
    calls: AtomicUsize,
    seen: Mutex<HashMap<String, Vec<String>>>,
}

impl std::fmt::Debug for FakeModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FakeModel")
            .field("replies", &self.replies.len())
            .finish_non_exhaustive()
    }
}

impl FakeModel {
    /// A model with these replies; a turn beyond them says `done`.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self {
            replies: replies.into_iter().collect(),
            calls: AtomicUsize::new(0),
            seen: Mutex::default(),
        }
    }

    /// How often it was asked.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn check(&self, request: &ModelRequest<'_>) {
        check_pairs(request);
        let now: Vec<String> = request
            .messages
            .iter()
            .map(|message| serde_json::to_string(message).expect("a message serialises"))
            .collect();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let first = now.first().cloned().unwrap_or_default();
        let key = format!("{}\n{first}", request.instructions);
        if let Some(before) = seen.get(&key) {
            let same = now.iter().zip(before).all(|(now, before)| now == before);
            assert!(
                same,
                "a request starts with the messages of the one before it"
            );
        }
        seen.insert(key, now);
    }
}

fn check_pairs(request: &ModelRequest<'_>) {
    let mut open: std::collections::VecDeque<_> = std::collections::VecDeque::new();
    for message in request.messages {
        if let MessageBody::Tool { call, .. } = &message.body {
            assert_eq!(
                open.pop_front().as_ref(),
                Some(call),
                "results stand in call order"
            );
            continue;
        }
        assert!(
            open.is_empty(),
            "each call has its result before anybody else speaks: {open:?}"
        );
        open.extend(message.calls().iter().map(|call| call.id.clone()));
    }
    assert!(
        open.is_empty(),
        "each call has its result before the next request: {open:?}"
    );
}

impl Model for FakeModel {
    fn id(&self) -> &'static str {
        "fake:model"
    }

    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, StreamItem> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.check(&request);
        let turns = request
            .messages
            .iter()
            .filter(|m| m.role() == Role::Assistant)
            .count();
        match self
            .replies
            .get(turns)
            .cloned()
            .unwrap_or(Reply::Text("done"))
        {
            Reply::Text(text) => stream::iter(said(text, FinishReason::Stop)).boxed(),
            Reply::Ends(text, reason) => stream::iter(said(text, reason)).boxed(),
            Reply::Calls(calls) => stream::iter(asked(&calls)).boxed(),
            Reply::Fail(error) => stream::iter([Err(error)]).boxed(),
            Reply::Hang => stream::pending().boxed(),
        }
    }
}

fn end(finish: FinishReason) -> [StreamItem; 2] {
    let usage = Usage {
        input_tokens: 10,
        output_tokens: 2,
        ..Usage::default()
    };
    [Ok(ModelDelta::Usage(usage)), Ok(ModelDelta::Finish(finish))]
}

fn said(text: &str, finish: FinishReason) -> Vec<StreamItem> {
    let words = text
        .split_inclusive(' ')
        .map(|word| Ok(ModelDelta::Text(word.to_owned())));
    words.chain(end(finish)).collect()
}

fn asked(calls: &[(&'static str, String)]) -> Vec<StreamItem> {
    let calls = calls.iter().enumerate().map(|(index, (name, arguments))| {
        Ok(ModelDelta::Call {
            index,
            wire_id: None,
            name: Some((*name).to_owned()),
            arguments: arguments.clone(),
        })
    });
    calls.chain(end(FinishReason::ToolCalls)).collect()
}
