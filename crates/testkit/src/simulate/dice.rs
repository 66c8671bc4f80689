//! Chance that comes out the same for the same seed.

/// A stream of numbers from a seed (SplitMix64, <https://prng.di.unimi.it/splitmix64.c>).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A stream of its own, for a part whose rolls shall not shift those of others.
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self(self.roll())
    }

    /// A number from 0 up to, and without, `end`; 0 where `end` is.
    pub fn below(&mut self, end: u64) -> u64 {
        self.roll().checked_rem(end).unwrap_or(0)
    }

    /// A place in a list of `len` items; 0 where it is empty.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// Whether what happens `percent` times in a hundred happens now.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `items`.
    ///
    /// # Panics
    /// There are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        items.get(self.index(items.len())).expect("an item")
    }

    /// Puts `items` into some order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_rolls_and_a_part_of_its_own_shifts_none() {
        let mut one = Dice::new(7);
        let mut part = one.split();
        let rolled = [one.roll(), one.roll()];
        let mut again = Dice::new(7);
        let mut other = again.split();
        assert_eq!(part.roll(), other.roll());
        other.roll();
        assert_eq!([again.roll(), again.roll()], rolled);
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u64> = (0..20).collect();
        Dice::new(1).shuffle(&mut items);
        assert_ne!(items, (0..20).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..20).collect::<Vec<_>>());
    }
}
