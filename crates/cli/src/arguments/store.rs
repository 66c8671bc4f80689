//! The command line of `rag store`.

use clap::{Args, Subcommand};

use super::Common;

#[derive(Debug, Args)]
pub(crate) struct Store {
    #[command(subcommand)]
    pub(crate) action: Option<StoreAction>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreAction {
    /// The items of a namespace and of all below it; of all without one
    List(ListItems),
    /// One item
    Get(Item),
    /// Write a value
    Put(PutItem),
    /// Delete one item
    Delete(DeleteItem),
}

#[derive(Debug, Args)]
pub(crate) struct ListItems {
    /// Such as users/42, or its parts as a JSON list
    pub(crate) namespace: Option<String>,
    /// The most items that are listed
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: u64,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct Item {
    /// Such as users/42, or its parts as a JSON list
    pub(crate) namespace: String,
    /// The key
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct PutItem {
    /// Such as users/42, or its parts as a JSON list
    pub(crate) namespace: String,
    /// The key
    pub(crate) key: String,
    /// The value, as JSON
    pub(crate) value: String,
    /// Only in the place of this version; 0 is none
    #[arg(long, value_name = "VERSION")]
    pub(crate) expect: Option<u64>,
    /// How many seconds it lives; for ever unless given
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) ttl: Option<u64>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteItem {
    /// Such as users/42, or its parts as a JSON list
    pub(crate) namespace: String,
    /// The key
    pub(crate) key: String,
    /// Only this version
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) expect: Option<u64>,
    #[command(flatten)]
    pub(crate) common: Common,
}

impl Store {
    /// The options that stand closest to the action.
    pub(crate) fn chosen(&self) -> &Common {
        match &self.action {
            None => &self.common,
            Some(StoreAction::List(of)) => &of.common,
            Some(StoreAction::Get(of)) => &of.common,
            Some(StoreAction::Put(of)) => &of.common,
            Some(StoreAction::Delete(of)) => &of.common,
        }
    }
}
