//! Writes that come between two steps, and end none.

use super::ScheduleError;
use crate::{
    graph::Compiled,
    record::{Task, TaskWrite},
    state::{ChannelName, Delta, GraphState, Reducer, Written},
};

impl<S: GraphState> Compiled<S> {
    /// As [`reduce`](Self::reduce), where tasks of the step before stay pending: what
    /// that left for them stays, and the writes come to it.
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    pub(crate) fn reduce_between(
        &self,
        state: &S,
        tasks: &[Task],
        writes: &mut [Option<TaskWrite>],
    ) -> Result<Vec<(ChannelName, Delta)>, ScheduleError> {
        let left = self.left_by_step(state, writes);
        let mut deltas = self.reduce(state, tasks, writes)?;
        for (channel, reducer) in left {
            unend(&channel, reducer, &mut deltas);
        }
        Ok(deltas)
    }

    /// The channels that would end what they hold now, and are not given all that they
    /// hold from here on.
    fn left_by_step(&self, state: &S, writes: &[Option<TaskWrite>]) -> Vec<(ChannelName, Reducer)> {
        let mut over = Vec::new();
        if self.has_fleeting {
            state.settle(&|_| false, &mut over);
        }
        let over = over.into_iter().filter_map(|(channel, _)| {
            let spec = self.channels.iter().find(|spec| spec.name == channel)?;
            let all = writes.iter().flatten().flat_map(|write| &write.writes);
            let mut own = all.filter(|(written, _)| *written == channel);
            let holds_last = spec.reducer.holds_last();
            let is_whole = |(_, written): &(ChannelName, Written)| {
                holds_last || matches!(written, Written::Replace(_))
            };
            (!own.any(is_whole)).then_some((channel, spec.reducer))
        });
        over.collect()
    }
}

/// Takes the end of the step out of the changes of a channel, which begin with it. A
/// barrier that was complete has all names already.
fn unend(channel: &ChannelName, reducer: Reducer, deltas: &mut Vec<(ChannelName, Delta)>) {
    let (mut is_first, mut is_full) = (true, reducer == Reducer::Barrier);
    deltas.retain(|(other, delta)| {
        if other != channel {
            return true;
        }
        if std::mem::take(&mut is_first) {
            return false;
        }
        is_full &= !matches!(delta, Delta::Clear);
        !is_full
    });
}
