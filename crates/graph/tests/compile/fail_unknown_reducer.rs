#![allow(unused)]
use rustagents_graph::{GraphState, Messages, state::field::Arrivals};

#[derive(Clone, Debug, GraphState)]
struct Notes {
    #[channel(appnd)]
    notes: Vec<String>,
    #[channel(min, max)]
    least: Option<i64>,
    #[channel(append)]
    #[channel(reduce = std::convert::identity)]
    list: Vec<String>,
    #[channel(append, takes = String)]
    taken: Vec<String>,
    #[channel]
    bare: String,
    #[channel(rename = "")]
    nameless: String,
}

fn main() {}
