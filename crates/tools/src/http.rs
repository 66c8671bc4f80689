//! One HTTP request as a tool, to a host that the declaration fixes.
//!
//! Reading order: `declaration` (what is declared), `template` (the URL, and how
//! arguments get into it), `hosts` and `address` (where a call may lead),
//! `headers`, `tool` (the contract), `exchange` (one call, hop by hop), and what
//! it uses: `client`, `resolver`, `body`, `outcome`, `flight`, `failure`.
//!
//! Invariant: arguments change one segment of the path or one value of the query,
//! and the body; never where a request goes, what its headers are, or how many
//! segments its path has.
//!
//! Invariant: each connection goes to an address that was checked after it was
//! resolved, and no name is resolved again in between.
//!
//! Invariant: what is reported as not executed sent nothing.
//!
//! Invariant: a secret is in the headers of a request to its own origin, and in
//! no result, message or debug output.

mod address;
mod body;
mod client;
mod declaration;
mod exchange;
mod failure;
mod flight;
mod headers;
mod hosts;
mod outcome;
mod resolver;
mod template;
mod tool;

pub use declaration::{Declaration, Header, HeaderText, Method};
pub use rustagents_http::Secret;
pub use tool::HttpTool;

/// The longest URL, in bytes; few servers take more.
const MAX_URL: usize = 8 << 10;

/// What stands in the place of a secret.
const MASK: &str = "***";

/// The smallest limit of a result: the status and the marks of a cut body fit.
pub(crate) const LEAST_OUTPUT: usize = 128;
