#![allow(unused)]
use rustagents_graph::{GraphState, Messages, state::field::Arrivals};

#[derive(Clone, Debug, GraphState)]
struct Notes {
    notes: String,
    #[channel(append, rename = "notes")]
    list: Vec<String>,
}

fn main() {}
