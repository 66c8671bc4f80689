//! What the attributes of a field say.

use proc_macro2::Span;
use syn::{
    Field, GenericArgument, Ident, LitStr, Path, PathArguments, Type, ext::IdentExt,
    meta::ParseNestedMeta, spanned::Spanned,
};

use super::list;

/// What a reducer can be.
const KNOWN: &str = "`overwrite`, `append`, `messages`, `union`, `min`, `max`, `counter`, `topic`, \
                     `ephemeral`, `untracked`, `barrier(\"NAME\", …)` and `reduce = PATH`";

/// A field that is a channel.
pub(crate) struct Channel<'a> {
    pub(crate) field: &'a Ident,
    pub(crate) visibility: &'a syn::Visibility,
    pub(crate) ty: &'a Type,
    pub(crate) name: String,
    pub(crate) name_span: Span,
    pub(crate) reducer: Reducer,
}

/// How it takes writes.
pub(crate) enum Reducer {
    Overwrite,
    Append,
    Messages,
    Union,
    Min,
    Max,
    Counter,
    Topic,
    Ephemeral,
    Untracked,
    Barrier(Vec<LitStr>),
    Custom(Box<Function>),
}

/// A reducer of one's own.
pub(crate) struct Function {
    pub(crate) path: Path,
    /// What it takes, where that is not the type of the field.
    pub(crate) takes: Option<Type>,
}

impl Reducer {
    /// The reducer of that name that needs nothing else.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "overwrite" => Self::Overwrite,
            "append" => Self::Append,
            "messages" => Self::Messages,
            "union" => Self::Union,
            "min" => Self::Min,
            "max" => Self::Max,
            "counter" => Self::Counter,
            "topic" => Self::Topic,
            "ephemeral" => Self::Ephemeral,
            "untracked" => Self::Untracked,
            _ => return None,
        })
    }
}

/// What the attributes of one field say so far.
#[derive(Default)]
struct Said {
    reducer: Option<(String, Reducer)>,
    takes: Option<Type>,
    rename: Option<LitStr>,
}

impl<'a> Channel<'a> {
    /// Reads a field with its attributes.
    ///
    /// # Errors
    /// The first mistake in them.
    pub(crate) fn parse(field: &'a Field, ident: &'a Ident) -> syn::Result<Self> {
        let mut said = Said::default();
        for attribute in &field.attrs {
            if attribute.path().is_ident("channel") {
                attribute.parse_nested_meta(|meta| said.add(&meta))?;
            }
        }
        let (name, name_span) = match &said.rename {
            Some(name) => (name.value(), name.span()),
            None => (ident.unraw().to_string(), ident.span()),
        };
        let channel = Self {
            field: ident,
            visibility: &field.vis,
            ty: &field.ty,
            name,
            name_span,
            reducer: said.reducer()?,
        };
        channel.check_type()?;
        Ok(channel)
    }

    /// Some types have one reducer only.
    fn check_type(&self) -> syn::Result<()> {
        let Type::Path(path) = self.ty else {
            return Ok(());
        };
        let last = path.path.segments.last().map(|last| last.ident.to_string());
        let needed = match (last.as_deref(), &self.reducer) {
            (Some("Messages"), Reducer::Overwrite) => "messages",
            (Some("Arrivals"), Reducer::Overwrite) => "barrier(\"NAME\", …)",
            (Some("Distinct"), Reducer::Overwrite) => "union",
            _ => return Ok(()),
        };
        let message = format!("a channel of this type has the reducer `{needed}`");
        Err(syn::Error::new(self.ty.span(), message))
    }

    /// The one type argument of the field's type, if the type is one of `names`.
    pub(crate) fn argument(&self, names: &[&str]) -> Option<&Type> {
        let Type::Path(path) = self.ty else {
            return None;
        };
        let last = path.path.segments.last()?;
        let PathArguments::AngleBracketed(arguments) = &last.arguments else {
            return None;
        };
        let mut arguments = arguments.args.iter();
        match (arguments.next(), arguments.next()) {
            (Some(GenericArgument::Type(argument)), None)
                if names.iter().any(|name| last.ident == name) =>
            {
                Some(argument)
            }
            _ => None,
        }
    }
}

impl Said {
    fn add(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let key = meta.path.get_ident().map(Ident::to_string);
        match key.as_deref() {
            Some("rename") => {
                let name: LitStr = meta.value()?.parse()?;
                if name.value().is_empty() {
                    return Err(syn::Error::new(name.span(), "a channel has a name"));
                }
                once(&mut self.rename, name, meta)
            }
            Some("takes") => {
                let takes = meta.value()?.parse()?;
                once(&mut self.takes, takes, meta)
            }
            Some("barrier") => self.reduced("barrier", Reducer::Barrier(awaited(meta)?), meta),
            Some("reduce") => {
                let path = meta.value()?.parse()?;
                let function = Function { path, takes: None };
                self.reduced("reduce", Reducer::Custom(Box::new(function)), meta)
            }
            Some(name) => match Reducer::named(name) {
                Some(reducer) => self.reduced(name, reducer, meta),
                None => Err(meta.error(format!(
                    "there is no reducer `{name}`; there are {KNOWN}, and beside them `takes = TYPE` \
                     and `rename = \"NAME\"`"
                ))),
            },
            None => Err(meta.error(format!("a channel takes {KNOWN}"))),
        }
    }

    fn reduced(
        &mut self,
        name: &str,
        reducer: Reducer,
        meta: &ParseNestedMeta<'_>,
    ) -> syn::Result<()> {
        if let Some((other, _)) = &self.reducer {
            let message = format!("a channel has one reducer, and this one has `{other}` already");
            return Err(syn::Error::new(meta.path.span(), message));
        }
        self.reducer = Some((name.to_owned(), reducer));
        Ok(())
    }

    fn reducer(self) -> syn::Result<Reducer> {
        match (self.reducer, self.takes) {
            (Some((_, Reducer::Custom(mut function))), takes) => {
                function.takes = takes;
                Ok(Reducer::Custom(function))
            }
            (_, Some(takes)) => Err(syn::Error::new(
                takes.span(),
                "`takes` says what a function of one's own takes: it stands beside `reduce = PATH`",
            )),
            (reducer, None) => Ok(reducer.map_or(Reducer::Overwrite, |(_, reducer)| reducer)),
        }
    }
}

fn once<T>(place: &mut Option<T>, value: T, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
    if place.replace(value).is_some() {
        return Err(syn::Error::new(meta.path.span(), "this is said twice"));
    }
    Ok(())
}

/// The names that a barrier waits for.
fn awaited(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<LitStr>> {
    let nobody = || {
        let message = "a barrier waits for names: `barrier(\"first\", \"second\")`";
        syn::Error::new(meta.path.span(), message)
    };
    if !meta.input.peek(syn::token::Paren) {
        return Err(nobody());
    }
    let names = list::<LitStr>(meta)?;
    if names.is_empty() {
        return Err(nobody());
    }
    let mut seen = Vec::new();
    for name in &names {
        if name.value().is_empty() || seen.contains(&name.value()) {
            let message = "a barrier waits for each name once, and no name is empty";
            return Err(syn::Error::new(name.span(), message));
        }
        seen.push(name.value());
    }
    Ok(names)
}
