//! `#[derive(GraphState)]`. Its documentation stands where it is exported:
//! `rustagents_graph::GraphState`.
//!
//! Reading order: `model` (what the attributes say, and every mistake in them),
//! `state` (the implementation of the trait), `update` (what nodes write), `views`
//! (inputs, outputs and the schema).
//!
//! Invariant: this crate knows no other crate of ours; it names paths.

mod model;
mod state;
mod update;
mod views;

use proc_macro::TokenStream;
use quote::quote;
use syn::DeriveInput;

/// Makes a struct the state of a graph. See `rustagents_graph::GraphState`.
#[proc_macro_derive(GraphState, attributes(state, channel))]
pub fn derive_graph_state(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

fn expand(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let model = model::State::parse(input)?;
    let state = state::expand(&model);
    let update = update::expand(&model)?;
    let views = views::expand(&model);
    let conversions = views::conversions(&model);
    Ok(quote! {
        #update
        #views
        const _: () = {
            #state
            #conversions
        };
    })
}
