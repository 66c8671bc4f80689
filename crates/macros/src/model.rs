//! What the attributes of a state say.

mod channel;

use std::collections::BTreeMap;

use proc_macro2::Span;
use quote::format_ident;
use syn::{
    Data, DeriveInput, Fields, Ident, Path, Token, Visibility, ext::IdentExt,
    meta::ParseNestedMeta, punctuated::Punctuated, spanned::Spanned,
};

pub(crate) use channel::{Channel, Function, Reducer};

/// A struct whose fields are channels.
pub(crate) struct State<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) visibility: &'a Visibility,
    pub(crate) channels: Vec<Channel<'a>>,
    pub(crate) options: Options,
}

/// What `#[state(…)]` says.
pub(crate) struct Options {
    /// The type of what nodes write.
    pub(crate) update: Ident,
    /// Where the graph crate is found.
    pub(crate) krate: Path,
    pub(crate) input: Option<Vec<Ident>>,
    pub(crate) output: Option<Vec<Ident>>,
    /// What the input and the output derive beside `Clone` and `Debug`.
    pub(crate) derives: Vec<Path>,
    pub(crate) has_schema: bool,
}

/// Adds one mistake to those before it.
fn note(errors: &mut Option<syn::Error>, error: syn::Error) {
    match errors {
        Some(errors) => errors.combine(error),
        None => *errors = Some(error),
    }
}

impl<'a> State<'a> {
    /// Reads a struct with its attributes.
    ///
    /// # Errors
    /// Every mistake in it.
    pub(crate) fn parse(input: &'a DeriveInput) -> syn::Result<Self> {
        let fields = fields(input)?;
        let mut errors = None;
        let options = Options::parse(input).unwrap_or_else(|error| {
            note(&mut errors, error);
            Options::new(&input.ident)
        });
        let mut channels = Vec::new();
        for (field, name) in &fields {
            match Channel::parse(field, name) {
                Ok(channel) => channels.push(channel),
                Err(error) => note(&mut errors, error),
            }
        }
        let state = Self {
            name: &input.ident,
            visibility: &input.vis,
            channels,
            options,
        };
        state.check_names(&mut errors);
        state.check_views(&fields, &mut errors);
        errors.map_or(Ok(state), Err)
    }

    /// Two channels of one name would be one channel.
    fn check_names(&self, errors: &mut Option<syn::Error>) {
        let mut seen: BTreeMap<&str, &Ident> = BTreeMap::new();
        for channel in &self.channels {
            if let Some(other) = seen.insert(&channel.name, channel.field) {
                let (name, span) = (&channel.name, channel.name_span);
                let message = format!("field `{other}` is the channel `{name}` already");
                note(errors, syn::Error::new(span, message));
            }
        }
    }

    /// The views are made of fields, each once.
    fn check_views(&self, fields: &[(&syn::Field, &Ident)], errors: &mut Option<syn::Error>) {
        let views = [&self.options.input, &self.options.output];
        for view in views.into_iter().flatten() {
            let mut seen = Vec::new();
            for name in view {
                if !fields.iter().any(|(_, field)| *field == name) {
                    let message = format!("`{}` has no field `{name}`", self.name);
                    note(errors, syn::Error::new(name.span(), message));
                } else if seen.contains(&name) {
                    let message = format!("`{name}` is named twice");
                    note(errors, syn::Error::new(name.span(), message));
                }
                seen.push(name);
            }
        }
    }

    /// The channels of a view, in its order.
    pub(crate) fn view(&self, names: &'a [Ident]) -> impl Iterator<Item = &Channel<'a>> {
        let channel = |name: &Ident| self.channels.iter().find(|channel| channel.field == name);
        names.iter().filter_map(channel)
    }
}

fn fields(input: &DeriveInput) -> syn::Result<Vec<(&syn::Field, &Ident)>> {
    if !input.generics.params.is_empty() {
        let message = format!(
            "a state has no generic parameters: give the fields of `{}` the types that they have in the graph",
            input.ident
        );
        return Err(syn::Error::new(input.generics.span(), message));
    }
    let Data::Struct(data) = &input.data else {
        return Err(no_struct(input.ident.span()));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(no_struct(input.ident.span()));
    };
    let fields = fields.named.iter();
    Ok(fields
        .filter_map(|field| Some((field, field.ident.as_ref()?)))
        .collect())
}

fn no_struct(span: Span) -> syn::Error {
    syn::Error::new(
        span,
        "a state is a struct with named fields: each of them is a channel",
    )
}

impl Options {
    fn new(name: &Ident) -> Self {
        Self {
            update: format_ident!("{}Update", name.unraw()),
            krate: syn::parse_quote!(::rustagents_graph),
            input: None,
            output: None,
            derives: Vec::new(),
            has_schema: false,
        }
    }

    fn parse(input: &DeriveInput) -> syn::Result<Self> {
        let mut options = Self::new(&input.ident);
        for attribute in &input.attrs {
            if attribute.path().is_ident("state") {
                attribute.parse_nested_meta(|meta| options.add(&meta))?;
            }
        }
        Ok(options)
    }

    fn add(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let key = meta.path.get_ident().map(Ident::to_string);
        match key.as_deref() {
            Some("update") => self.update = meta.value()?.parse()?,
            Some("crate") => self.krate = meta.value()?.call(Path::parse_mod_style)?,
            Some("schema") => self.has_schema = true,
            Some("input") => self
                .input
                .get_or_insert_default()
                .extend(list::<Ident>(meta)?),
            Some("output") => self
                .output
                .get_or_insert_default()
                .extend(list::<Ident>(meta)?),
            Some("derive") => self.derives.extend(list::<Path>(meta)?),
            _ => {
                return Err(meta.error(
                    "a state takes `update = NAME`, `crate = PATH`, `schema`, `input(FIELD, …)`, \
                     `output(FIELD, …)` and `derive(TRAIT, …)`",
                ));
            }
        }
        Ok(())
    }
}

/// What stands in parentheses, separated by commas.
fn list<T: syn::parse::Parse>(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<T>> {
    if !meta.input.peek(syn::token::Paren) {
        return Err(meta.error("this takes a list in parentheses"));
    }
    let content;
    syn::parenthesized!(content in meta.input);
    let items = Punctuated::<T, Token![,]>::parse_terminated(&content)?;
    Ok(items.into_iter().collect())
}
