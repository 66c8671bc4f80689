#![allow(unused)]
use rustagents_graph::{GraphState, Messages, state::field::Arrivals};

#[derive(Clone, Debug, GraphState)]
struct Notes {
    notes: String,
    clear_notes: bool,
}

fn main() {}
