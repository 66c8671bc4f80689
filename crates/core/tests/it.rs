//! Behaviour of the contracts.

mod canonical;
