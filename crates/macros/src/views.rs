//! Parts of a state: what a run takes and gives, and the schema of it all.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{ext::IdentExt, spanned::Spanned};

use crate::{
    model::{Channel, State},
    state::function,
};

fn input(state: &State<'_>) -> Ident {
    format_ident!("{}Input", state.name.unraw())
}

fn output(state: &State<'_>) -> Ident {
    format_ident!("{}Output", state.name.unraw())
}

/// The types of the input and the output, where they are asked for.
pub(crate) fn expand(state: &State<'_>) -> TokenStream {
    let about_input = format!("What a run with a [`{}`] takes.", state.name);
    let about_output = format!("What a run with a [`{}`] gives.", state.name);
    let options = &state.options;
    let input = options.input.as_deref();
    let input = input.map(|fields| view(state, &self::input(state), &about_input, fields));
    let output = options.output.as_deref();
    let output = output.map(|fields| view(state, &self::output(state), &about_output, fields));
    quote!(#input #output)
}

fn view(state: &State<'_>, name: &Ident, about: &str, fields: &[Ident]) -> TokenStream {
    let (visibility, derives) = (state.visibility, &state.options.derives);
    let fields = state.view(fields).map(|channel| {
        let Channel {
            field,
            visibility,
            ty,
            name,
            ..
        } = channel;
        let about = format!("Channel `{name}`.");
        quote! {
            #[doc = #about]
            #visibility #field: #ty
        }
    });
    quote! {
        #[doc = #about]
        #[derive(Clone, Debug, #(#derives),*)]
        #visibility struct #name {
            #(#fields),*
        }
    }
}

/// What makes writes of an input, an output of a state, and a schema.
pub(crate) fn conversions(state: &State<'_>) -> TokenStream {
    let options = &state.options;
    let input = options
        .input
        .as_deref()
        .map(|fields| from_input(state, fields));
    let output = options
        .output
        .as_deref()
        .map(|fields| to_output(state, fields));
    let schema = options.has_schema.then(|| schema(state));
    quote!(#input #output #schema)
}

fn from_input(state: &State<'_>, fields: &[Ident]) -> TokenStream {
    let (update, input) = (&state.options.update, input(state));
    let writes = state.view(fields).map(|channel| {
        let (function, name, field) = (
            function(state, channel, "write"),
            &channel.name,
            channel.field,
        );
        quote!(#function(input.#field, #name, &mut update.writes);)
    });
    quote! {
        #[automatically_derived]
        impl ::core::convert::From<#input> for #update {
            fn from(input: #input) -> Self {
                let mut update = Self::default();
                #(#writes)*
                update
            }
        }
    }
}

fn to_output(state: &State<'_>, fields: &[Ident]) -> TokenStream {
    let (name, output) = (state.name, output(state));
    let fields = fields.iter();
    quote! {
        #[automatically_derived]
        impl ::core::convert::From<&#name> for #output {
            fn from(state: &#name) -> Self {
                Self {
                    #(#fields: ::core::clone::Clone::clone(&state.#fields)),*
                }
            }
        }
    }
}

fn schema(state: &State<'_>) -> TokenStream {
    let krate = &state.options.krate;
    let (name, visibility) = (state.name, state.visibility);
    let title = name.unraw().to_string();
    let properties = state.channels.iter().map(|channel| {
        let (ty, name) = (channel.ty, &channel.name);
        quote_spanned!(ty.span()=> (#name, generator.subschema_for::<#ty>()))
    });
    quote! {
        #[automatically_derived]
        impl #name {
            /// The JSON Schema of the whole state as JSON.
            #[allow(dead_code)]
            #visibility fn schema() -> #krate::state::field::Value {
                let mut generator = #krate::state::field::SchemaGenerator::default();
                let properties = ::std::vec![#(#properties),*];
                #krate::state::field::schema(#title, properties, generator)
            }
        }
    }
}
