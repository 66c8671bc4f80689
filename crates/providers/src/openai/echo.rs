//! What a server says beside the model's words must not say the key back: it becomes
//! part of errors and records.

use super::Secret;

/// The fewest bytes of a key that is taken out. A shorter one stands for none, as
/// servers without keys are given, and may well be a part of a tool's name.
const LEAST: usize = 8;

/// Takes the key out of the words of one answer.
#[derive(Debug, Default)]
pub(super) struct Echo {
    key: Option<Secret>,
    /// The end of a refusal so far that may be the start of the key.
    held: String,
}

impl Echo {
    pub(super) fn of(key: Option<&Secret>) -> Self {
        Self {
            key: key.filter(|key| key.expose().len() >= LEAST).cloned(),
            held: String::new(),
        }
    }

    /// A word of the wire, such as a tool's name, without the key.
    pub(super) fn word(&self, word: String) -> String {
        match &self.key {
            Some(key) => key.masked_in(&word),
            None => word,
        }
    }

    /// More of a refusal without the key, which may come in pieces.
    pub(super) fn refusal(&mut self, more: String) -> String {
        let Some(key) = &self.key else {
            return more;
        };
        let mut said = key.masked_in(&(std::mem::take(&mut self.held) + &more));
        let start = key.expose();
        let starts = start.char_indices().rev().map(|(at, _)| at);
        let held = starts.filter_map(|at| start.get(..at));
        let held = held.map(str::len).find(|len| {
            let part = start.get(..*len).unwrap_or_default();
            said.ends_with(part)
        });
        self.held = said.split_off(said.len() - held.unwrap_or_default());
        said
    }

    /// What was held of a refusal that says no more.
    pub(super) fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_key_that_stands_for_none_changes_no_name() {
        let mut echo = Echo::of(Some(&Secret::new("order")));
        assert_eq!(echo.word("lookup_order".to_owned()), "lookup_order");
        assert_eq!(echo.refusal("no order".to_owned()), "no order");
    }

    proptest! {
        #[test]
        fn a_key_in_a_refusal_is_taken_out_wherever_it_is_split(
            before in "(ab|ac|a){0,6}", after in "(ab|ac|b){0,6}", cuts in prop::collection::vec(0..40_usize, 0..6)
        ) {
            let key = "abacabab";
            let whole = format!("{before}{key}{after}");
            let mut cuts = cuts.into_iter().filter(|cut| *cut < whole.len()).collect::<Vec<_>>();
            cuts.extend([0, whole.len()]);
            cuts.sort_unstable();
            let mut echo = Echo::of(Some(&Secret::new(key)));
            let mut told = String::new();
            for cut in cuts.windows(2) {
                told += &echo.refusal(whole[cut[0]..cut[1]].to_owned());
            }
            told += &echo.rest();
            prop_assert_eq!(told, whole.replace(key, "***"));
        }
    }
}
