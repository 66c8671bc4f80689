//! The implementation of the trait: each channel is left to its reducer.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Path, ext::IdentExt, spanned::Spanned};

use crate::model::{Channel, Function, Reducer, State};

/// A function of the reducer of a channel. A type that the reducer is not for is
/// an error at the field.
pub(crate) fn function(state: &State<'_>, channel: &Channel<'_>, name: &str) -> TokenStream {
    let (ty, own) = (channel.ty, own_marker(channel.field));
    let name = Ident::new(name, ty.span());
    let krate = at(ty.span(), state.options.krate.to_token_stream());
    let marker = match &channel.reducer {
        Reducer::Overwrite => quote!(Overwrite),
        Reducer::Append => quote!(Append),
        Reducer::Messages => quote!(MessagesById),
        Reducer::Union => quote!(Union),
        Reducer::Min => quote!(Min),
        Reducer::Max => quote!(Max),
        Reducer::Counter => quote!(Counter),
        Reducer::Topic => quote!(Topic),
        Reducer::Ephemeral => quote!(Ephemeral),
        Reducer::Untracked => quote!(Untracked),
        Reducer::Barrier(_) => quote!(Barrier<#own>),
        Reducer::Custom(_) => quote!(Custom<#own>),
    };
    let marker = at(ty.span(), marker);
    quote_spanned! {ty.span()=>
        <#krate::state::field::#marker as #krate::state::field::Reduce<#ty>>::#name
    }
}

/// The same tokens, as if they stood at `span`.
fn at(span: Span, tokens: TokenStream) -> TokenStream {
    let tokens = tokens.into_iter().map(|mut token| {
        token.set_span(span);
        token
    });
    tokens.collect()
}

/// The type that stands for the names, or the function, of one channel.
fn own_marker(field: &Ident) -> Ident {
    format_ident!("__Of_{}", field.unraw())
}

fn own_type(krate: &Path, channel: &Channel<'_>) -> Option<TokenStream> {
    let name = own_marker(channel.field);
    let ty = channel.ty;
    let body = match &channel.reducer {
        Reducer::Barrier(names) => quote! {
            impl #krate::state::field::Awaited for #name {
                const NAMES: &'static [&'static str] = &[#(#names),*];
            }
        },
        Reducer::Custom(function) => {
            let Function { path, takes } = &**function;
            let takes = takes.as_ref().unwrap_or(ty);
            let call = quote_spanned!(path.span()=> #path(current, write));
            quote! {
                impl #krate::state::field::Folds<#ty> for #name {
                    type Write = #takes;

                    fn fold(
                        current: &#ty,
                        write: #takes,
                    ) -> ::core::result::Result<#ty, ::std::string::String> {
                        #call
                    }
                }
            }
        }
        _ => return None,
    };
    Some(quote! {
        #[allow(non_camel_case_types, missing_debug_implementations)]
        struct #name;

        #body
    })
}

/// The implementation, with the types that it needs.
pub(crate) fn expand(state: &State<'_>) -> TokenStream {
    let krate = &state.options.krate;
    let (name, update) = (state.name, &state.options.update);
    let own = state
        .channels
        .iter()
        .filter_map(|channel| own_type(krate, channel));
    let (making, writing, reading) = (making(state), writing(state), reading(state));
    quote! {
        #(#own)*

        #[automatically_derived]
        #[allow(unused_variables, unused_mut)]
        impl #krate::GraphState for #name {
            type Update = #update;

            #making
            #writing
            #reading
        }
    }
}

/// How a state comes to be.
fn making(state: &State<'_>) -> TokenStream {
    let krate = &state.options.krate;
    let specs = state.channels.iter().map(|channel| {
        let (function, name) = (function(state, channel, "spec"), &channel.name);
        quote_spanned!(channel.ty.span()=> #function(#name))
    });
    let empty = state.channels.iter().map(|channel| {
        let (function, field) = (function(state, channel, "empty"), channel.field);
        quote_spanned!(channel.ty.span()=> #field: #function())
    });
    quote! {
        fn declared() -> ::std::vec::Vec<#krate::state::ChannelSpec> {
            ::std::vec![#(#specs),*]
        }

        fn empty(_: &[#krate::state::ChannelSpec]) -> Self {
            Self { #(#empty),* }
        }
    }
}

/// What becomes of writes.
fn writing(state: &State<'_>) -> TokenStream {
    let krate = &state.options.krate;
    let check = state.channels.iter().map(|channel| {
        let (function, name) = (function(state, channel, "check"), &channel.name);
        quote!(#name => #function(channel, written))
    });
    let reduce = state.channels.iter().map(|channel| {
        let (function, name, field) = (
            function(state, channel, "reduce"),
            &channel.name,
            channel.field,
        );
        quote!(#name => #function(&self.#field, writes, &mut put))
    });
    let settle = state.channels.iter().map(|channel| {
        let (function, name, field) = (
            function(state, channel, "is_over"),
            &channel.name,
            channel.field,
        );
        quote! {
            if #function(&self.#field) && !is_written(#name) {
                let name = #krate::state::ChannelName::Borrowed(#name);
                deltas.push((name, #krate::state::Delta::Clear));
            }
        }
    });
    quote! {
        fn check(
            &self,
            channel: &str,
            written: &#krate::state::Written,
        ) -> ::core::result::Result<(), #krate::state::UpdateError> {
            match channel {
                #(#check,)*
                _ => ::core::result::Result::Err(#krate::state::UpdateError::UnknownChannel {
                    channel: channel.to_owned(),
                }),
            }
        }

        fn reduce(
            &self,
            channel: &#krate::state::ChannelName,
            writes: #krate::state::TaskWrites,
            deltas: &mut ::std::vec::Vec<(#krate::state::ChannelName, #krate::state::Delta)>,
        ) -> ::core::result::Result<(), #krate::state::ReduceError> {
            let mut put = |delta: #krate::state::Delta| deltas.push((channel.clone(), delta));
            match channel.as_ref() {
                #(#reduce,)*
                _ => ::core::result::Result::Ok(()),
            }
        }

        fn settle(
            &self,
            is_written: &dyn ::core::ops::Fn(&str) -> bool,
            deltas: &mut ::std::vec::Vec<(#krate::state::ChannelName, #krate::state::Delta)>,
        ) {
            #(#settle)*
        }
    }
}

/// What records and people see.
fn reading(state: &State<'_>) -> TokenStream {
    let krate = &state.options.krate;
    let apply = state.channels.iter().map(|channel| {
        let (function, name, field) = (
            function(state, channel, "apply"),
            &channel.name,
            channel.field,
        );
        quote!(#name => #function(&mut self.#field, channel, delta, message)?)
    });
    let deltas = state.channels.iter().map(|channel| {
        let (function, name, field) = (
            function(state, channel, "delta"),
            &channel.name,
            channel.field,
        );
        quote! {
            if let ::core::option::Option::Some(delta) = #function(&self.#field) {
                deltas.push((#krate::state::ChannelName::Borrowed(#name), delta));
            }
        }
    });
    let json = state.channels.iter().map(|channel| {
        let (function, name, field) = (
            function(state, channel, "to_json"),
            &channel.name,
            channel.field,
        );
        quote!((::std::string::String::from(#name), #function(&self.#field)))
    });
    quote! {
        fn apply(
            &mut self,
            channel: &str,
            delta: &#krate::state::Delta,
            message: &mut #krate::state::FindMessage<'_>,
        ) -> ::core::result::Result<#krate::state::Applied, #krate::state::field::JournalError> {
            match channel {
                #(#apply,)*
                _ => return ::core::result::Result::Ok(#krate::state::Applied::Unknown),
            }
            ::core::result::Result::Ok(#krate::state::Applied::Here)
        }

        fn deltas(
            &self,
        ) -> ::std::vec::Vec<(#krate::state::ChannelName, #krate::state::Delta)> {
            let mut deltas = ::std::vec::Vec::new();
            #(#deltas)*
            deltas
        }

        fn to_json(&self) -> #krate::state::field::Value {
            #krate::state::field::Value::Object(
                [#(#json),*].into_iter().collect(),
            )
        }
    }
}
