//! Why a write is not taken.

/// Why a write does not fit its channel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// There is no such channel.
    #[error("there is no channel `{channel}`")]
    UnknownChannel {
        /// The name.
        channel: String,
    },
    /// The channel takes something else.
    #[error("channel `{channel}` takes {takes}")]
    Kind {
        /// The channel.
        channel: String,
        /// What it takes.
        takes: &'static str,
    },
    /// What is written is not one of the channel's values.
    #[error("channel `{channel}` takes {takes}: {reason}")]
    Value {
        /// The channel.
        channel: String,
        /// What it takes.
        takes: String,
        /// What is wrong.
        reason: String,
    },
    /// What is written has no JSON form.
    #[error("what was written to channel `{channel}` has no JSON form: {reason}")]
    Encode {
        /// The channel.
        channel: String,
        /// Why.
        reason: String,
    },
}

/// Why the writes of a step to one channel cannot be put together. Tasks are named
/// by their place in the step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReduceError {
    /// Two tasks wrote what only one may.
    #[error("tasks {} and {} both wrote it in one step", .0, .1)]
    Concurrent(usize, usize),
    /// The reducer did not take a write.
    #[error("{reason}")]
    Refused {
        /// The task.
        task: usize,
        /// Why.
        reason: String,
    },
}
