//! What nodes write: a type with a method for each thing that a channel takes.

use std::collections::BTreeMap;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Path, Type, ext::IdentExt, spanned::Spanned};

use crate::model::{Channel, Reducer, State};

/// Types of which a literal has to find out by itself that it is one.
const LITERAL: &[&str] = &[
    "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize", "f32",
    "f64", "bool", "char",
];

/// What each method does that replaces.
const REPLACES: &str = "Says what, whatever others write, is after the step in";

/// A method of the update type.
struct Method {
    name: Ident,
    doc: String,
    parameters: TokenStream,
    body: TokenStream,
}

/// The update type, with what it becomes.
///
/// # Errors
/// Two methods would have one name.
pub(crate) fn expand(state: &State<'_>) -> syn::Result<TokenStream> {
    let krate = &state.options.krate;
    let (name, update, visibility) = (state.name, &state.options.update, state.visibility);
    let methods = methods(state)?;
    let methods = methods.iter().map(|method| {
        let Method {
            name,
            doc,
            parameters,
            body,
        } = method;
        quote! {
            #[doc = #doc]
            #visibility fn #name(mut self, #parameters) -> Self {
                #body
                self
            }
        }
    });
    let about = format!("What a node writes to a [`{name}`].");
    let begins = format!("Writes nothing yet; each method of [`{update}`] adds to it.");
    Ok(quote! {
        #[doc = #about]
        #[derive(Clone, Debug, Default)]
        #[must_use = "writes do nothing until a node gives them back"]
        #visibility struct #update {
            writes: #krate::Writes,
        }

        #[automatically_derived]
        impl #name {
            #[doc = #begins]
            #[allow(dead_code)]
            #visibility fn update() -> #update {
                #update::default()
            }
        }

        #[automatically_derived]
        #[allow(dead_code, private_interfaces)]
        impl #update {
            #(#methods)*
        }

        #[automatically_derived]
        impl ::core::convert::From<#update> for #krate::Writes {
            fn from(update: #update) -> Self {
                update.writes
            }
        }

        #[automatically_derived]
        impl ::core::convert::From<#update> for #krate::NodeOutput<#name> {
            fn from(update: #update) -> Self {
                Self::of(update)
            }
        }
    })
}

fn methods(state: &State<'_>) -> syn::Result<Vec<Method>> {
    let mut seen: BTreeMap<String, &Ident> = BTreeMap::new();
    let mut methods = Vec::new();
    for channel in &state.channels {
        for method in Writer::new(state, channel).methods() {
            let name = method.name.unraw().to_string();
            if let Some(other) = seen.insert(name.clone(), channel.field) {
                let message = format!(
                    "`{}` would have two methods `{name}`: one for this field, one for `{other}`; \
                     name this field something else, and keep the channel's name with `rename`",
                    state.options.update
                );
                return Err(syn::Error::new(channel.field.span(), message));
            }
            methods.push(method);
        }
    }
    Ok(methods)
}

/// What a method takes: a value of a type, or what becomes one.
struct Taken {
    ty: Type,
    /// What the parameter is called in its type.
    given: TokenStream,
}

impl Taken {
    /// A value: text is what becomes text.
    fn value(ty: Type) -> Self {
        let given = if is_one_of(&ty, &["String"]) {
            quote!(impl ::core::convert::Into<#ty>)
        } else {
            ty.to_token_stream()
        };
        Self { ty, given }
    }

    /// An item: whatever becomes one, where a literal alone cannot be several types.
    fn item(ty: Type) -> Self {
        let given = if is_one_of(&ty, LITERAL) {
            ty.to_token_stream()
        } else {
            quote!(impl ::core::convert::Into<#ty>)
        };
        Self { ty, given }
    }
}

fn is_one_of(ty: &Type, names: &[&str]) -> bool {
    let Type::Path(path) = ty else {
        return false;
    };
    let last = path.path.segments.last();
    last.is_some_and(|last| names.iter().any(|name| last.ident == name))
}

/// Makes the methods of one channel.
struct Writer<'a> {
    krate: &'a Path,
    channel: &'a Channel<'a>,
}

impl<'a> Writer<'a> {
    fn new(state: &'a State<'_>, channel: &'a Channel<'_>) -> Self {
        Self {
            krate: &state.options.krate,
            channel,
        }
    }

    fn methods(&self) -> Vec<Method> {
        let ty = self.channel.ty;
        match &self.channel.reducer {
            Reducer::Overwrite | Reducer::Untracked => self.value("Sets", ty.clone()),
            Reducer::Counter => self.value("Adds to", ty.clone()),
            Reducer::Custom(function) => {
                self.value("Writes to", function.takes.as_ref().unwrap_or(ty).clone())
            }
            Reducer::Min => self.value("Offers a smaller value to", self.item(&quote!(Min))),
            Reducer::Max => self.value("Offers a larger value to", self.item(&quote!(Max))),
            Reducer::Ephemeral => self.value("Sets", self.item(&quote!(Ephemeral))),
            Reducer::Append => self.list(self.item(&quote!(Append))),
            Reducer::Topic => self.list(self.item(&quote!(Topic))),
            Reducer::Union => self.list(self.item(&quote!(Union))),
            Reducer::Messages => self.messages(),
            Reducer::Barrier(_) => self.barrier(),
        }
    }

    /// The type of one item, as the field's type spells it where it does.
    fn item(&self, marker: &TokenStream) -> Type {
        let names = ["Vec", "BTreeSet", "Distinct", "Option"];
        let (krate, ty) = (self.krate, self.channel.ty);
        self.channel.argument(&names).cloned().unwrap_or_else(|| {
            syn::parse_quote_spanned! {ty.span()=>
                <#krate::state::field::#marker as #krate::state::field::Reduce<#ty>>::Item
            }
        })
    }

    /// A method of the field's name behind `prefix`; `does` says what it does to
    /// the channel.
    fn method(
        &self,
        prefix: &str,
        does: &str,
        parameters: TokenStream,
        body: TokenStream,
    ) -> Method {
        let field = self.channel.field;
        let name = match prefix {
            "" => field.clone(),
            prefix => format_ident!("{prefix}_{}", field.unraw(), span = field.span()),
        };
        Method {
            name,
            doc: format!("{does} channel `{}`.", self.channel.name),
            parameters,
            body,
        }
    }

    fn clear(&self) -> Method {
        let (krate, name) = (self.krate, &self.channel.name);
        let body = quote!(self.writes.push(#name, #krate::Update::Clear););
        self.method("clear", "Empties", quote!(), body)
    }

    /// The methods of a channel that takes one value.
    fn value(&self, does: &str, takes: Type) -> Vec<Method> {
        let name = &self.channel.name;
        let Taken { ty, given } = Taken::value(takes);
        let set = quote! {
            let value: #ty = ::core::convert::Into::into(value);
            self.writes.push_value(#name, &value);
        };
        let whole = match &self.channel.reducer {
            Reducer::Min | Reducer::Max | Reducer::Ephemeral => ty,
            _ => self.channel.ty.clone(),
        };
        let Taken {
            ty: whole,
            given: replacement,
        } = Taken::value(whole);
        let replace = quote! {
            let value: #whole = ::core::convert::Into::into(value);
            self.writes.push_replacement(#name, &value);
        };
        vec![
            self.method("", does, quote!(value: #given), set),
            self.method("replace", REPLACES, quote!(value: #replacement), replace),
            self.clear(),
        ]
    }

    /// The methods of a channel that takes items.
    fn list(&self, item: Type) -> Vec<Method> {
        let name = &self.channel.name;
        let Taken { ty, given } = Taken::item(item);
        let one = quote! {
            let item: #ty = ::core::convert::Into::into(item);
            self.writes.push_value(#name, &item);
        };
        let items = quote!(items: impl ::core::iter::IntoIterator<Item = #given>);
        let all = quote! {
            let items = ::core::iter::IntoIterator::into_iter(items);
            let items = items.map(::core::convert::Into::<#ty>::into);
        };
        let extend = quote!(#all self.writes.push_items(#name, items););
        let replace = quote! {
            #all
            let items: ::std::vec::Vec<#ty> = items.collect();
            self.writes.push_replacement(#name, &items);
        };
        vec![
            self.method("", "Adds an item to", quote!(item: #given), one),
            self.method("extend", "Adds items to", items.clone(), extend),
            self.method("replace", REPLACES, items, replace),
            self.clear(),
        ]
    }

    fn messages(&self) -> Vec<Method> {
        let (krate, name) = (self.krate, &self.channel.name);
        let field = quote!(#krate::state::field);
        let one = quote!(impl ::core::convert::Into<::std::sync::Arc<#field::Message>>);
        let add = quote! {
            let messages = #field::IntoMessages::into_messages(messages);
            self.writes.push(#name, #krate::Update::Messages(messages));
        };
        let extend = quote! {
            let messages = ::core::iter::IntoIterator::into_iter(messages);
            let messages = messages.map(::core::convert::Into::into).collect();
            self.writes.push(#name, #krate::Update::Messages(messages));
        };
        let remove = quote! {
            let ids = ::core::iter::IntoIterator::into_iter(ids).collect();
            self.writes.push(#name, #krate::Update::Remove(ids));
        };
        let swap = quote! {
            let new = ::core::convert::Into::into(new);
            self.writes.push(#name, #krate::Update::Swap(old, new));
        };
        let messages = quote!(messages: impl #field::IntoMessages);
        let many = quote!(messages: impl ::core::iter::IntoIterator<Item = #one>);
        let ids = quote!(ids: impl ::core::iter::IntoIterator<Item = #field::MessageId>);
        let two = quote!(old: #field::MessageId, new: #one);
        vec![
            self.method("", "Adds a message, or several, to", messages, add),
            self.method("extend", "Adds messages to", many, extend),
            self.method("remove", "Takes messages out of", ids, remove),
            self.method(
                "swap",
                "Puts a message where another one stands in",
                two,
                swap,
            ),
            self.clear(),
        ]
    }

    fn barrier(&self) -> Vec<Method> {
        let name = &self.channel.name;
        let arrive = quote! {
            let name: ::std::string::String = ::core::convert::Into::into(name);
            self.writes.push_value(#name, &name);
        };
        let given = quote!(name: impl ::core::convert::Into<::std::string::String>);
        vec![
            self.method("", "Says that somebody arrived at", given, arrive),
            self.clear(),
        ]
    }
}
