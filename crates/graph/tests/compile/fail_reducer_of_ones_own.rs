#![allow(unused)]
use rustagents_graph::{GraphState, Messages, state::field::Arrivals};

#[derive(Clone, Debug, GraphState)]
struct Notes {
    #[channel(reduce = add)]
    sum: i64,
}

fn add(current: &i64, write: String) -> Result<i64, String> {
    Ok(*current)
}

fn main() {}
