//! Commands as tools, with real processes.

mod end;
mod left;
mod process;
mod result;
mod start;
