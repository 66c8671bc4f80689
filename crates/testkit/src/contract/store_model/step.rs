//! Random steps.

use std::time::Duration;

use rustagents_core::store::{
    Address, Delete, Expect, Filter, NamespacePath, NamespaceQuery, Put, PutOptions, Reading,
    SearchQuery, Test, Write,
};
use serde_json::json;

/// Something that happens to a store.
#[derive(Clone, Debug)]
pub enum Step {
    /// Writes are performed together.
    Write(Vec<Write>),
    /// An item is read.
    Get(Address, Reading),
    /// Items are looked for, and read page by page.
    Search(SearchQuery),
    /// Namespaces are listed page by page.
    Namespaces(NamespaceQuery),
    /// Some of what is over is removed.
    Sweep(usize),
    /// Time passes.
    Wait(Duration),
    /// The store is closed and opened again.
    Reopen,
}

/// The digits of a number, of which each choice takes one.
struct Choices(u64);

impl Choices {
    fn of(&mut self, count: u64) -> u64 {
        let chosen = self.0 % count;
        self.0 /= count;
        chosen
    }

    fn among<T: Copy>(&mut self, choices: &[T]) -> T {
        let count = u64::try_from(choices.len()).expect("a short list");
        let chosen = usize::try_from(self.of(count)).expect("a small number");
        *choices.get(chosen).expect("one of them")
    }

    fn namespace(&mut self) -> NamespacePath {
        let text = self.among(&["", "a", "a/b", "a!", "b"]);
        NamespacePath::new(text.split('/').filter(|part| !part.is_empty())).expect("valid")
    }

    fn address(&mut self) -> Address {
        let (namespace, key) = (self.namespace(), self.among(&["k", "l"]));
        Address::new(namespace.parts(), key).expect("valid")
    }

    fn expect(&mut self) -> Expect {
        match self.of(4) {
            0 => Expect::Absent,
            1 => Expect::Version(1 + self.of(4)),
            _ => Expect::Any,
        }
    }

    fn write(&mut self) -> Write {
        let (address, expect) = (self.address(), self.expect());
        if self.of(4) == 0 {
            return Write::Delete(Delete { address, expect });
        }
        let mut options = PutOptions::default().expecting(expect);
        if self.of(2) == 0 {
            options = options.live_for(Duration::from_millis(self.of(4) * 10));
        }
        let value = json!({"n": self.of(3)});
        Write::Put(Put {
            address,
            value,
            options,
        })
    }
}

impl Step {
    /// The step that a number stands for.
    pub fn of(number: u64) -> Self {
        let mut choices = Choices(number);
        match choices.of(16) {
            0..=5 => Self::Write(vec![choices.write()]),
            6 | 7 => {
                let mut writes = vec![choices.write(), choices.write()];
                writes.dedup_by(|one, other| one.address() == other.address());
                Self::Write(writes)
            }
            8 | 9 => {
                let reading = choices.among(&[Reading::Plain, Reading::Refresh]);
                Self::Get(choices.address(), reading)
            }
            10 | 11 => Self::Search(search(&mut choices)),
            12 => {
                let query = NamespaceQuery::under(choices.namespace()).limit(2);
                Self::Namespaces(match choices.among(&[None, Some(0), Some(1)]) {
                    Some(depth) => query.depth(depth),
                    None => query,
                })
            }
            13 => Self::Sweep(choices.among(&[1, 2, 100])),
            14 => Self::Wait(Duration::from_millis(10 * (1 + choices.of(3)))),
            _ => Self::Reopen,
        }
    }
}

fn search(choices: &mut Choices) -> SearchQuery {
    let test = match choices.of(3) {
        0 => Test::Equal(json!(1)),
        1 => Test::AtLeast(json!(1)),
        _ => Test::Exists(true),
    };
    let filter = Filter::default().and("n", test).expect("a valid path");
    let limit = choices.among(&[1, 2, 100]);
    SearchQuery::under(choices.namespace())
        .key_prefix(choices.among(&["", "k", "l"]))
        .filter(filter)
        .limit(limit)
}
