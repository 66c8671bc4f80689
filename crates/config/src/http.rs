//! What `[tools.NAME]` says beside the common keys where `kind` is `http`.

use rustagents_core::tool::EffectClass;
use toml::de::DeValue;

use crate::{
    declaration::{HeaderDeclaration, HeaderText, HttpDeclaration},
    error::ConfigError,
    section::{Field, Section},
};

const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/// The most redirects that a tool may follow.
const MOST_REDIRECTS: u8 = 10;

/// The request that `section` declares.
pub(crate) fn read(section: &Section<'_>) -> Result<HttpDeclaration, ConfigError> {
    Ok(HttpDeclaration {
        method: method(section)?,
        url: section.require("url")?.words()?.to_owned(),
        hosts: section
            .field("hosts")
            .map_or(Ok(Vec::new()), |hosts| hosts.list())?,
        headers: headers(section)?,
        private: section
            .field("private")
            .map_or(Ok(false), |private| private.boolean())?,
        redirects: section.field("redirects").map(redirects).transpose()?,
    })
}

/// What a tool does to the world that does not say it: a GET and a HEAD only read,
/// by their own definition.
pub(crate) fn effect(section: &Section<'_>) -> Result<EffectClass, ConfigError> {
    match method(section)? {
        "GET" | "HEAD" => Ok(EffectClass::Repeatable),
        _ => Ok(EffectClass::Once),
    }
}

fn method(section: &Section<'_>) -> Result<&'static str, ConfigError> {
    let method = section.field("method");
    method.map_or(Ok("GET"), |method| method.word(&METHODS, METHODS))
}

fn redirects(field: Field<'_>) -> Result<u8, ConfigError> {
    let number = field.whole(0)?;
    let few = u8::try_from(number).ok();
    few.filter(|few| *few <= MOST_REDIRECTS)
        .ok_or_else(|| field.out_of_range(number.to_string(), "0 to 10"))
}

fn headers(section: &Section<'_>) -> Result<Vec<HeaderDeclaration>, ConfigError> {
    let Some(field) = section.field("headers") else {
        return Ok(Vec::new());
    };
    let headers = section.child(field)?;
    let fields = headers.fields().into_iter();
    fields.map(|field| header(&headers, field)).collect()
}

fn header<'a>(headers: &Section<'a>, field: Field<'a>) -> Result<HeaderDeclaration, ConfigError> {
    let text = match field.value {
        DeValue::String(_) => HeaderText::Plain(field.words()?.to_owned()),
        DeValue::Table(_) => environment(&headers.child(field)?)?,
        _ => return Err(field.wrong_type("a string or a table")),
    };
    Ok(HeaderDeclaration {
        name: field.key.to_owned(),
        text,
        at: field.at(),
    })
}

fn environment(section: &Section<'_>) -> Result<HeaderText, ConfigError> {
    section.only(&["env", "prefix"])?;
    let prefix = section.field("prefix");
    Ok(HeaderText::Environment {
        variable: section.require("env")?.words()?.to_owned(),
        prefix: prefix.map_or(Ok(""), |prefix| prefix.text())?.to_owned(),
    })
}
