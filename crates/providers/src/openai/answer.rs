//! Reads one answer off its connection.

use std::{collections::VecDeque, time::Duration};

use reqwest::{Response, header::CONTENT_TYPE};
use rustagents_core::model::ModelDelta;
use tokio::time::timeout;

use super::{
    Secret,
    client::Bounds,
    failure::Failure,
    fold::{Fold, More},
    sse::{Decoder, Event, TooLong},
};

/// How long the end of the body may take after the end of the answer.
const LINGER: Duration = Duration::from_millis(100);

/// An answer that is being read. It holds no more than what one read brought.
#[derive(Debug)]
pub(super) struct Answer {
    response: Response,
    bounds: Bounds,
    form: Form,
    fold: Fold,
    ready: VecDeque<ModelDelta>,
    /// How it ends, once what is ready was taken.
    end: Option<Result<(), Failure>>,
}

/// How an answer is written.
#[derive(Debug)]
enum Form {
    /// As events.
    Events(Decoder),
    /// As one document, read so far.
    Document(Vec<u8>),
}

impl Answer {
    /// The answer to a request that was sent with `key`.
    pub(super) fn new(
        response: Response,
        bounds: Bounds,
        key: Option<&Secret>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            form: Form::of(&response, bounds.line_bytes)?,
            response,
            bounds,
            fold: Fold::keeping(key),
            ready: VecDeque::new(),
            end: None,
        })
    }

    /// The next delta; `None` after the last one.
    pub(super) async fn next(&mut self) -> Result<Option<ModelDelta>, Failure> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Ok(Some(delta));
            }
            if let Some(end) = self.end.take() {
                return end.map(|()| None);
            }
            let after = self.bounds.idle;
            let read = timeout(after, self.response.chunk()).await;
            let end = match read {
                Ok(Ok(Some(bytes))) => match self.take(&bytes) {
                    Ok(More::Maybe) => continue,
                    Ok(More::No) => {
                        self.linger().await;
                        Ok(())
                    }
                    Err(failure) => Err(failure),
                },
                Ok(Ok(None)) => self.drain(),
                // What is whole stays so, whatever becomes of the connection.
                _ if self.fold.is_finished() => Ok(()),
                Ok(Err(error)) => Err(Failure::Network(error.without_url())),
                Err(_) => Err(Failure::Silence { after }),
            };
            self.end = Some(end);
        }
    }

    /// Reads to the end of the body if that is near: only then the connection can
    /// serve another call.
    async fn linger(&mut self) {
        let rest = async { while let Ok(Some(_)) = self.response.chunk().await {} };
        // Whether it came to the end or not, the answer is whole.
        let _ = timeout(LINGER, rest).await;
    }

    fn take(&mut self, mut bytes: &[u8]) -> Result<More, Failure> {
        let limit = self.bounds.line_bytes;
        match &mut self.form {
            Form::Document(document) if document.len() + bytes.len() > limit => {
                return Err(Failure::TooLong { limit });
            }
            Form::Document(document) => document.extend_from_slice(bytes),
            Form::Events(decoder) => {
                let too_long = |TooLong| Failure::TooLong { limit };
                while let Some(event) = decoder.next(&mut bytes).map_err(too_long)? {
                    if self.fold.event(&event, &mut self.ready)? == More::No {
                        return Ok(More::No);
                    }
                }
            }
        }
        Ok(More::Maybe)
    }

    /// Takes in what is left when no more bytes come.
    fn drain(&mut self) -> Result<(), Failure> {
        let limit = self.bounds.line_bytes;
        let last = match &mut self.form {
            Form::Document(document) => {
                let document = String::from_utf8_lossy(document);
                return self.fold.whole(&document, &mut self.ready);
            }
            Form::Events(decoder) => decoder
                .last()
                .map_err(|TooLong| Failure::TooLong { limit })?,
        };
        match last {
            Some(last) => self.last(&last),
            None if self.fold.is_finished() => Ok(()),
            None => Err(Failure::Cut),
        }
    }

    /// Takes in an event that no blank line ended: it may be half of one.
    fn last(&mut self, event: &Event) -> Result<(), Failure> {
        match self.fold.event(event, &mut self.ready) {
            Err(Failure::Unreadable { .. }) | Ok(_) if !self.fold.is_finished() => {
                Err(Failure::Cut)
            }
            Err(Failure::Unreadable { .. }) | Ok(_) => Ok(()),
            Err(failure) => Err(failure),
        }
    }
}

impl Form {
    fn of(response: &Response, limit: usize) -> Result<Self, Failure> {
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        match essence.to_ascii_lowercase().as_str() {
            "application/json" => Ok(Self::Document(Vec::new())),
            "text/html" => Err(Failure::NotEvents {
                content_type: kind.to_owned(),
            }),
            // Servers say little about their streams, and not always the truth.
            _ => Ok(Self::Events(Decoder::new(limit))),
        }
    }
}
