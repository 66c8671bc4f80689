//! Tasks that are left to do, under the names that their nodes have now.

use rustagents_core::ids::NodeName;

use super::Migration;
use crate::{
    graph::{Graph, Join},
    record::Pending,
    state::GraphState,
};

/// Names of before with those of now, in the order in which they came to be.
struct Renames<'m>(Vec<&'m (NodeName, NodeName)>);

impl<'m> Renames<'m> {
    fn of(owed: &'m [Migration]) -> Self {
        let renames = owed.iter();
        Self(renames.filter_map(|one| one.node.as_ref()).collect())
    }

    fn now(&self, name: &mut NodeName) {
        for (old, new) in &self.0 {
            if name == old {
                name.clone_from(new);
            }
        }
    }

    fn before<'n>(&self, name: &'n str) -> &'n str
    where
        'm: 'n,
    {
        let renames = self.0.iter().rev();
        renames.fold(name, |name, (old, new)| {
            if new.as_str() == name {
                old.as_str()
            } else {
                name
            }
        })
    }

    /// What records of before call `join`.
    fn join_before(&self, join: &Join) -> String {
        let sources = join.sources.iter();
        let sources: Vec<_> = sources
            .map(|source| self.before(source.as_str()).to_owned())
            .collect();
        let target = join.target.to_string();
        Join::new(&sources, self.before(&target)).name
    }
}

impl<S: GraphState> Graph<S> {
    pub(super) fn rename_tasks(&self, pending: &mut Pending, owed: &[Migration]) {
        let renames = Renames::of(owed);
        if renames.0.is_empty() {
            return;
        }
        for task in pending.next.iter_mut().chain(&mut pending.deferred) {
            renames.now(&mut task.node);
        }
        let joins = &self.compiled().joins;
        for waiting in &mut pending.waiting {
            waiting
                .reached
                .iter_mut()
                .for_each(|node| renames.now(node));
            let mut now = joins.iter();
            if let Some(join) = now.find(|join| renames.join_before(join) == waiting.join) {
                waiting.join.clone_from(&join.name);
            }
        }
    }
}
