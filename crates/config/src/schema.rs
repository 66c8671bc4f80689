//! A TOML table as a JSON Schema.

use serde_json::{Map, Number, Value};
use toml::de::{DeFloat, DeInteger, DeValue};

use crate::{error::ConfigError, section::Field, source::Source};

/// The schema that `field` holds, for the tool `tool`.
pub(crate) fn object_schema(field: Field<'_>, tool: &str) -> Result<Value, ConfigError> {
    let DeValue::Table(table) = field.value else {
        return Err(field.wrong_type("a table"));
    };
    let schema = Converter {
        source: field.source,
        key: field.key,
    }
    .json(field.value, field.start)?;
    if schema.get("type").and_then(Value::as_str) == Some("object") {
        return Ok(schema);
    }
    let start = table
        .get("type")
        .map_or(field.start, |value| value.span().start);
    Err(ConfigError::SchemaRoot {
        place: field.source.place(start),
        tool: tool.to_owned(),
    })
}

/// Turns values into JSON, and remembers the nearest key for messages.
#[derive(Clone, Copy)]
struct Converter<'a> {
    source: &'a Source<'a>,
    key: &'a str,
}

impl<'a> Converter<'a> {
    /// Recursion ends with the parser's own limit on nesting.
    fn json(self, value: &'a DeValue<'a>, start: usize) -> Result<Value, ConfigError> {
        match value {
            DeValue::String(text) => Ok(Value::from(text.as_ref())),
            DeValue::Boolean(value) => Ok(Value::Bool(*value)),
            DeValue::Integer(number) => self.integer(number, start),
            DeValue::Float(number) => self.float(number, start),
            DeValue::Datetime(_) => Err(self.not_json("a date-time".into(), start)),
            DeValue::Array(items) => {
                let items = items
                    .iter()
                    .map(|item| self.json(item.get_ref(), item.span().start));
                items.collect::<Result<_, _>>().map(Value::Array)
            }
            DeValue::Table(table) => {
                let entries = table.iter().map(|(key, value)| {
                    let inner = Self {
                        key: key.get_ref(),
                        ..self
                    };
                    let value = inner.json(value.get_ref(), value.span().start)?;
                    Ok((inner.key.to_owned(), value))
                });
                entries.collect::<Result<Map<_, _>, _>>().map(Value::Object)
            }
        }
    }

    fn integer(self, number: &DeInteger<'_>, start: usize) -> Result<Value, ConfigError> {
        let (text, radix) = (number.as_str(), number.radix());
        let signed = i64::from_str_radix(text, radix).map(Value::from);
        signed
            .or_else(|_| u64::from_str_radix(text, radix).map(Value::from))
            .map_err(|_| self.not_json(format!("`{number}`"), start))
    }

    fn float(self, number: &DeFloat<'_>, start: usize) -> Result<Value, ConfigError> {
        let value = number.as_str().parse().ok().and_then(Number::from_f64);
        value
            .map(Value::Number)
            .ok_or_else(|| self.not_json(format!("`{number}`"), start))
    }

    fn not_json(self, found: String, start: usize) -> ConfigError {
        ConfigError::NotJson {
            place: self.source.place(start),
            key: self.key.to_owned(),
            found,
        }
    }
}
