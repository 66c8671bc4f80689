//! Literals: from how they are written to what they mean.

pub(crate) mod escape;
pub(crate) mod integer;
pub(crate) mod text;
