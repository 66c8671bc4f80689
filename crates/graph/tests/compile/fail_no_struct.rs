#![allow(unused)]
use rustagents_graph::{GraphState, Messages, state::field::Arrivals};

#[derive(Clone, Debug, GraphState)]
struct Pair(String, String);

#[derive(Clone, Debug, GraphState)]
enum Either {
    Left,
    Right,
}

#[derive(Clone, Debug, GraphState)]
struct Nothing;

#[derive(Clone, Debug, GraphState)]
struct Generic<T> {
    value: T,
}

fn main() {}
