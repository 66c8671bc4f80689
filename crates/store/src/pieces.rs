//! A list that grows in pieces: adding to a long one moves nothing that is in it.

/// How many items are in a piece.
const PIECE: usize = 64;

/// Items in order. All pieces but the last one are full.
#[derive(Clone, Debug)]
pub(crate) struct Pieces<T>(Vec<Vec<T>>);

impl<T> Default for Pieces<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Pieces<T> {
    pub(crate) fn len(&self) -> usize {
        match self.0.split_last() {
            Some((last, full)) => full.len() * PIECE + last.len(),
            None => 0,
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        self.0.get(index / PIECE)?.get(index % PIECE)
    }

    pub(crate) fn push(&mut self, item: T) {
        match self.0.last_mut() {
            Some(last) if last.len() < PIECE => last.push(item),
            last => {
                // The first piece grows with what is in it: most lists are short.
                let is_first = last.is_none();
                let mut piece = Vec::with_capacity(if is_first { 4 } else { PIECE });
                piece.push(item);
                self.0.push(piece);
            }
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.0.iter().flatten()
    }

    /// The items at `from..to`, as far as there are any.
    pub(crate) fn range(&self, from: usize, to: usize) -> impl DoubleEndedIterator<Item = &T> {
        let to = to.min(self.len());
        (from.min(to)..to).filter_map(|index| self.get(index))
    }

    /// Where the first item is that is not `before`; those that are come first.
    pub(crate) fn partition_point(&self, before: impl Fn(&T) -> bool) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from.midpoint(to);
            if self.get(middle).is_some_and(&before) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }
}

impl<T> IntoIterator for Pieces<T> {
    type Item = T;
    type IntoIter = std::iter::Flatten<std::vec::IntoIter<Vec<T>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_list(
            items in 0_usize..3 * PIECE,
            (from, to) in (0_usize..4 * PIECE, 0_usize..4 * PIECE),
        ) {
            let list: Vec<usize> = (0..items).map(|item| item * 2).collect();
            let mut pieces = Pieces::default();
            for item in &list {
                pieces.push(*item);
            }
            prop_assert_eq!(pieces.len(), items);
            prop_assert_eq!(pieces.get(from), list.get(from));
            prop_assert!(pieces.iter().eq(&list));
            prop_assert!(pieces.iter().rev().eq(list.iter().rev()));
            let within = list.get(from..to.min(items)).unwrap_or_default();
            prop_assert!(pieces.range(from, to).eq(within));
            prop_assert!(pieces.range(from, to).rev().eq(within.iter().rev()));
            let place = list.partition_point(|item| *item < to);
            prop_assert_eq!(pieces.partition_point(|item| *item < to), place);
            prop_assert!(pieces.into_iter().eq(list));
        }
    }
}
