//! Which task of a superstep begins next.

use std::{
    collections::{BTreeMap, VecDeque},
    vec::IntoIter,
};

use super::superstep::Superstep;
use crate::{graph::Compiled, state::GraphState};

/// The tasks that have not begun, by their place in the step: in task order, but
/// for those whose group is full.
#[derive(Default)]
pub(super) struct Queue<'g> {
    open: IntoIter<usize>,
    groups: BTreeMap<&'g str, Group>,
    /// The group of each task that is in one.
    members: BTreeMap<usize, &'g str>,
    /// Tasks that their group let go on.
    let_on: VecDeque<usize>,
}

/// The tasks of a group.
struct Group {
    limit: usize,
    running: usize,
    held: VecDeque<usize>,
}

impl<'g> Queue<'g> {
    pub(super) fn new<S: GraphState>(graph: &'g Compiled<S>, step: &Superstep<'g, S>) -> Self {
        let open = step.writes.iter().enumerate();
        let open = open.filter(|(_, write)| write.is_none());
        let open: Vec<usize> = open.map(|(index, _)| index).collect();
        let mut queue = Self {
            open: open.into_iter(),
            ..Self::default()
        };
        if graph.groups.is_empty() {
            return queue;
        }
        let groups = graph.groups.iter().map(|(name, limit)| {
            let group = Group {
                limit: *limit,
                running: 0,
                held: VecDeque::new(),
            };
            (name.as_str(), group)
        });
        queue.groups = groups.collect();
        let members = step.nodes.iter().enumerate().filter_map(|(index, node)| {
            let group = node.spec.group.as_deref()?;
            Some((index, group))
        });
        queue.members = members.collect();
        queue
    }

    /// The next task that may begin.
    pub(super) fn next(&mut self) -> Option<usize> {
        if let Some(index) = self.let_on.pop_front() {
            return Some(index);
        }
        loop {
            let index = self.open.next()?;
            let group = self.members.get(&index);
            match group.and_then(|group| self.groups.get_mut(group)) {
                Some(group) if group.running >= group.limit => group.held.push_back(index),
                Some(group) => {
                    group.running += 1;
                    return Some(index);
                }
                None => return Some(index),
            }
        }
    }

    /// A task that had begun is over.
    pub(super) fn over(&mut self, index: usize) {
        let group = self.members.get(&index);
        if let Some(group) = group.and_then(|group| self.groups.get_mut(group)) {
            // Its place goes to the next one that waits for it.
            match group.held.pop_front() {
                Some(next) => self.let_on.push_back(next),
                None => group.running -= 1,
            }
        }
    }
}
