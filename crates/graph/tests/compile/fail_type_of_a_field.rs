#![allow(unused)]
use std::collections::BTreeSet;

use rustagents_graph::{
    GraphState, Messages,
    state::field::{Arrivals, Distinct},
};

#[derive(Clone, Debug, GraphState)]
struct Notes {
    #[channel(counter)]
    count: String,
    #[channel(append)]
    list: BTreeSet<String>,
    #[channel(union)]
    set: Vec<String>,
    #[channel(min)]
    least: i64,
}

#[derive(Clone, Debug, GraphState)]
struct Bare {
    messages: Messages,
    gate: Arrivals,
    set: Distinct<String>,
}

fn main() {}
