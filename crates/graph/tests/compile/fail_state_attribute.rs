#![allow(unused)]
use rustagents_graph::{GraphState, Messages, state::field::Arrivals};

#[derive(Clone, Debug, GraphState)]
#[state(updates = Change)]
struct Notes {
    notes: String,
}

#[derive(Clone, Debug, GraphState)]
#[state(input(notes, lost), output(notes, notes))]
struct Views {
    notes: String,
}

#[derive(Clone, Debug, GraphState)]
#[state(input)]
struct Bare {
    notes: String,
}

fn main() {}
