//! Going back, trying again, and changing the state.

mod beside;
mod retry;
mod rewind;
mod start_at;
mod update;

use rustagents_runtime::{
    RunError, StateEdit, UpdateState, Updated,
    threads::{Rewind, Rewound, StateAt, whole_at},
};

use crate::{
    bench::Bench,
    threads::{MIXED, name},
};

impl Bench {
    /// Goes back in a thread, whatever may be repeated then.
    pub(crate) async fn go_back(&self, thread: &str, to: u64) -> Result<Rewound, RunError> {
        self.rewind(thread, to, true).await
    }

    pub(crate) async fn rewind(
        &self,
        thread: &str,
        to: u64,
        repeats: bool,
    ) -> Result<Rewound, RunError> {
        let rewind = Rewind {
            thread: name(thread),
            checkpoint: to,
            target: None,
            repeats,
        };
        self.live().rewind(&self.program(MIXED), rewind).await
    }

    pub(crate) async fn update(
        &self,
        thread: &str,
        edits: Vec<StateEdit>,
    ) -> Result<Updated, RunError> {
        self.update_of(MIXED, thread, edits).await
    }

    pub(crate) async fn update_of(
        &self,
        source: &str,
        thread: &str,
        edits: Vec<StateEdit>,
    ) -> Result<Updated, RunError> {
        let update = UpdateState {
            thread: name(thread),
            edits,
        };
        self.live()
            .update_state(&self.program(source), update)
            .await
    }

    /// How a thread stood at a checkpoint, or stands.
    pub(crate) async fn stood(&self, at: impl Into<Option<u64>>) -> StateAt {
        whole_at(&*self.journal, &name("t"), at.into())
            .await
            .unwrap()
    }
}
