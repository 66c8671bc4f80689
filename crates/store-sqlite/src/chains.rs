//! What is known of the chains of a thread that is written to.

use rusqlite::{Statement, params};
use rustagents_core::journal::{Chain, Seq};

/// A chain as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChainRow {
    pub(crate) id: i64,
    pub(crate) head: Option<Seq>,
}

/// The chains that were looked at; `None` for one that is not there yet. The last one
/// that was used stands at the end: mostly it is asked for again.
#[derive(Debug, Default)]
pub(crate) struct Chains(Vec<(Chain, Option<ChainRow>)>);

impl Chains {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// What is known of a chain, if it was looked at.
    pub(crate) fn find(&mut self, chain: &Chain) -> Option<&mut Option<ChainRow>> {
        let last = self.0.len().checked_sub(1)?;
        let at = self.0.iter().rposition(|(known, _)| known == chain)?;
        self.0.swap(at, last);
        self.0.last_mut().map(|(_, row)| row)
    }

    /// Keeps what was just found, or written.
    pub(crate) fn set(&mut self, chain: &Chain, row: Option<ChainRow>) {
        match self.find(chain) {
            Some(known) => *known = row,
            None => self.0.push((chain.clone(), row)),
        }
    }
}

/// Makes a chain.
pub(crate) const NEW_CHAIN: &str =
    "INSERT INTO chains(thread, branch, namespace) VALUES(?1, ?2, ?3)";

/// Makes a chain of a thread by [`NEW_CHAIN`].
pub(crate) fn new_chain(
    insert: &mut Statement<'_>,
    thread: i64,
    chain: &Chain,
) -> rusqlite::Result<ChainRow> {
    let id = insert.insert(params![
        thread,
        chain.branch.as_str(),
        chain.namespace.as_str()
    ])?;
    Ok(ChainRow { id, head: None })
}

#[cfg(test)]
mod tests {
    use rustagents_core::ids::{Branch, Namespace};

    use super::*;

    fn chain(namespace: &str) -> Chain {
        Chain {
            branch: Branch::main(),
            namespace: Namespace::from(namespace),
        }
    }

    #[test]
    fn each_chain_has_what_was_kept_of_it_last_in_whatever_order() {
        let mut chains = Chains::default();
        assert_eq!(chains.find(&chain("a:0.0")), None);
        let row = |id, head| Some(ChainRow { id, head });
        let is = |chains: &mut Chains, name, row| {
            assert_eq!(chains.find(&chain(name)).copied(), Some(row), "{name}");
        };
        chains.set(&chain("a:0.0"), row(1, None));
        chains.set(&chain("b:0.0"), None);
        chains.set(&chain("c:0.0"), row(3, Some(7)));
        is(&mut chains, "a:0.0", row(1, None));
        chains.set(&chain("b:0.0"), row(2, Some(9)));
        chains.set(&chain("a:0.0"), row(1, Some(4)));
        is(&mut chains, "c:0.0", row(3, Some(7)));
        is(&mut chains, "b:0.0", row(2, Some(9)));
        is(&mut chains, "a:0.0", row(1, Some(4)));
        assert_eq!(chains.find(&chain("d:0.0")), None);
        assert_eq!(chains.len(), 3);
    }
}
