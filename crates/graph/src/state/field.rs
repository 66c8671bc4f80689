//! Channels that are fields of a type: a reducer as a type, for the type of a field.
//!
//! The semantics are those of the [`State`](super::State) of the builder's
//! channels. Writes and recorded changes are JSON there and here; a field holds
//! what they come to in its own type, and takes nothing that does not fit it. The
//! JSON form of a field's type must be read back as an equal value.

mod barrier;
mod custom;
mod list;
mod messages;
mod number;
mod schema;
mod value;

use serde::{Serialize, de::DeserializeOwned};

use super::{
    ChannelSpec, Delta, FindMessage, ReduceError, Reducer, TaskWrites, UpdateError, Writes, Written,
};

pub use barrier::{Arrivals, Awaited, Barrier};
pub use custom::{Custom, Folds};
pub use list::{Append, Distinct, Topic, Union};
pub use messages::{IntoMessages, MessagesById};
pub use number::{Count, Counter, Extreme, Max, Min};
pub use value::{Ephemeral, Overwrite, Untracked};

/// What the code of `#[derive(GraphState)]` names.
#[doc(hidden)]
pub use {
    rustagents_core::{ids::MessageId, journal::JournalError, message::Message},
    schema::schema,
    schemars::SchemaGenerator,
    serde_json::Value,
};

/// A reducer, for a channel that is a field of type `T`. `#[derive(GraphState)]`
/// calls it; nobody else needs to.
#[diagnostic::on_unimplemented(
    message = "a channel of type `{T}` cannot have the reducer `{Self}`",
    label = "not a type for this reducer",
    note = "`append` and `topic` are for `Vec<_>`, `union` for `BTreeSet<_>` and `Distinct<_>`, \
            `messages` for `Messages`, `min`, `max` and `ephemeral` for `Option<_>`, `counter` for \
            `i64`, `u64` and `f64`, `barrier` for `Arrivals`",
    note = "every other type must be `Serialize`, `DeserializeOwned`, `Default` and `Clone`"
)]
pub trait Reduce<T> {
    /// The reducer, as the graph knows it.
    const REDUCER: Reducer;

    /// What one write adds, or sets.
    type Item;

    /// The declaration of a channel.
    fn spec(name: &'static str) -> ChannelSpec {
        ChannelSpec::new(name, Self::REDUCER)
    }

    /// The value of a channel that nobody wrote.
    fn empty() -> T;

    /// As [`GraphState::check`](super::GraphState::check).
    ///
    /// # Errors
    /// [`UpdateError`]: the channel takes something else.
    fn check(channel: &str, written: &Written) -> Result<(), UpdateError>;

    /// Puts what the writes of a step come to.
    ///
    /// # Errors
    /// [`ReduceError`]: the writes exclude each other, or one is refused.
    fn reduce(value: &T, writes: TaskWrites, put: &mut dyn FnMut(Delta))
    -> Result<(), ReduceError>;

    /// Whether what the channel holds ends with a step that does not write it.
    fn is_over(_: &T) -> bool {
        false
    }

    /// Makes a recorded change.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`]: it is not one of this channel.
    fn apply(
        value: &mut T,
        channel: &str,
        delta: &Delta,
        message: &mut FindMessage<'_>,
    ) -> Result<(), JournalError>;

    /// The change that makes the value of an empty one; none where it is empty, or
    /// records do not keep it.
    fn delta(value: &T) -> Option<Delta>;

    /// The value as JSON.
    fn to_json(value: &T) -> Value;

    /// Adds the write of a value of an input, if there is anything to write.
    fn write(value: T, channel: &'static str, writes: &mut Writes);
}

/// A value of `T`, or what is wrong with it.
fn decode<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error| error.to_string())
}

/// The JSON form of a value that came from one.
fn encode<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Says whether `value` is a `T`.
fn fits<T: DeserializeOwned>(channel: &str, value: &Value) -> Result<(), UpdateError> {
    decode::<T>(value)
        .map(drop)
        .map_err(|reason| UpdateError::Value {
            channel: channel.to_owned(),
            takes: format!("`{}`", type_name::<T>()),
            reason,
        })
}

/// A `T` of a recorded change.
fn recorded<T: DeserializeOwned>(channel: &str, value: &Value) -> Result<T, JournalError> {
    decode(value).map_err(|reason| corrupt::<T>(channel, &reason))
}

fn corrupt<T>(channel: &str, reason: &str) -> JournalError {
    JournalError::Corrupt {
        place: format!("channel `{channel}`"),
        reason: format!("a recorded change is no `{}`: {reason}", type_name::<T>()),
    }
}

/// The name of a type, without the paths in it.
fn type_name<T>() -> String {
    let mut name = String::new();
    let mut start = 0;
    for c in std::any::type_name::<T>().chars() {
        match c {
            ':' => name.truncate(start),
            c => {
                name.push(c);
                if !c.is_alphanumeric() && c != '_' {
                    start = name.len();
                }
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::type_name;

    #[test]
    fn names_of_types_have_no_paths() {
        assert_eq!(type_name::<u8>(), "u8");
        assert_eq!(
            type_name::<Vec<(Option<String>, &'static str)>>(),
            "Vec<(Option<String>, &str)>"
        );
    }
}
