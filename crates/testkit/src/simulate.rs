//! What a simulation of a machine is made of: chance, time and a journal, all from
//! one seed, on one thread.
//!
//! [`Dice`] decides, [`VirtualClock`] is the time and runs a future on it, and
//! [`StormyJournal`] takes its time and dies at a chosen append. The same seed gives
//! the same run.

mod clock;
mod dice;
mod journal;

pub use clock::{Stuck, VirtualClock};
pub use dice::Dice;
pub use journal::{Death, Storm, StormyJournal};
