//! Effects that must not be forgotten or repeated, and the tasks that they are of.

use std::collections::HashSet;

use rustagents_graph::record::Pending;

/// Tasks that are left to do.
pub(crate) struct Tasks<'a>(HashSet<&'a str>);

impl<'a> Tasks<'a> {
    pub(crate) fn of(pending: &'a Pending) -> Self {
        let tasks = pending.next.iter().chain(&pending.deferred);
        Self(tasks.map(|task| task.task.as_str()).collect())
    }

    /// Whether `name` is that of one of them, or of something inside one.
    pub(crate) fn hold(&self, name: &str) -> bool {
        around(name).any(|name| self.0.contains(name))
    }
}

/// The names of all that `name` is inside of, from the outermost to itself.
pub(crate) fn around(name: &str) -> impl Iterator<Item = &str> {
    let ends = name.match_indices('/').map(|(end, _)| end);
    let ends = ends.chain(std::iter::once(name.len()));
    ends.filter_map(|end| name.get(..end))
}
