#![allow(unused)]
use rustagents_graph::{GraphState, Messages, state::field::Arrivals};

#[derive(Clone, Debug, GraphState)]
struct Gates {
    #[channel(barrier)]
    bare: Arrivals,
    #[channel(barrier())]
    nobody: Arrivals,
    #[channel(barrier("a", "b", "a"))]
    twice: Arrivals,
    #[channel(barrier(a))]
    no_text: Arrivals,
}

fn main() {}
