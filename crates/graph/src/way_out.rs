//! Where the nodes that hold a graph may go, as the nodes inside know it: so one that
//! goes on further out than its own graph is refused before its step is recorded.

use std::sync::Arc;

use rustagents_core::ids::NodeName;

use crate::{
    graph::{CompiledNode, Target, Way},
    record::TaskWrite,
    schedule::ScheduleError,
    state::GraphState,
};

/// The node around a graph.
#[derive(Debug)]
pub(crate) struct WayOut {
    node: NodeName,
    targets: Vec<Target>,
    /// The node around its own graph.
    around: Option<Arc<WayOut>>,
}

impl WayOut {
    /// For the graph that `node` holds.
    pub(crate) fn of<S: GraphState>(
        node: &CompiledNode<S>,
        around: Option<&Arc<Self>>,
    ) -> Arc<Self> {
        let targets = match &node.way {
            Way::Commands(targets) => targets.clone(),
            _ => Vec::new(),
        };
        Arc::new(Self {
            node: node.name.clone(),
            targets,
            around: around.cloned(),
        })
    }

    /// Says whether `write` goes on only where that is allowed. Of a graph that a node
    /// runs in its middle nobody knows, and the node says it.
    pub(crate) fn check(&self, write: &TaskWrite) -> Result<(), ScheduleError> {
        for goto in write.parent.iter().flatten() {
            let further = (0..goto.levels()).try_fold(self, |way, _| way.around.as_deref());
            let Some(way) = further else { continue };
            if !way.targets.iter().any(|to| to.is(goto.target())) {
                return Err(ScheduleError::Goto {
                    node: way.node.clone(),
                    target: Some(goto.target().to_owned()),
                    known: way.targets.iter().map(Target::to_string).collect(),
                });
            }
        }
        Ok(())
    }
}
