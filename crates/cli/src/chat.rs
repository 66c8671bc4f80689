//! A conversation at a terminal.
//!
//! Reading order: [`prompt`] (what a person types), [`command`] (what is no message
//! but for the conversation itself), [`reply`] (what it means as
//! the answer to a question), [`speech`] (what the agents say, as it comes), and
//! [`screen`] (where all of it is shown).

pub(crate) mod command;
pub(crate) mod prompt;
pub(crate) mod reply;
pub(crate) mod screen;
pub(crate) mod speech;
