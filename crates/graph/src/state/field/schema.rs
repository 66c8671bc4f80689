//! JSON Schemas of states.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::{Arrivals, Distinct};
use crate::state::Messages;

/// The schema of an object that has all of `properties`.
pub fn schema(
    title: &str,
    properties: Vec<(&'static str, Schema)>,
    mut generator: SchemaGenerator,
) -> Value {
    let required: Vec<_> = properties.iter().map(|(name, _)| *name).collect();
    let properties = properties.into_iter();
    let properties: serde_json::Map<_, _> = properties
        .map(|(name, schema)| (name.to_owned(), schema.to_value()))
        .collect();
    let mut object = json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": properties,
        "required": required,
    });
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        object.insert("$defs".into(), definitions.into());
    }
    object.to_value()
}

impl JsonSchema for Messages {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Messages".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": { "type": "string" },
                    "role": { "enum": ["user", "assistant", "tool"] },
                    "content": { "type": "array", "items": { "type": "object" } },
                },
                "required": ["id", "role", "content"],
            },
        })
    }
}

impl JsonSchema for Arrivals {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Arrivals".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": { "type": "string" },
            "uniqueItems": true,
        })
    }
}

impl<T: JsonSchema> JsonSchema for Distinct<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Distinct_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": generator.subschema_for::<T>(),
            "uniqueItems": true,
        })
    }
}
