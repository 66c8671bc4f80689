//! A table of the file, read key by key.

use toml::de::{DeTable, DeValue};

use crate::{declaration::Position, error::ConfigError, source::Source};

/// A table with its dotted name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    source: &'a Source<'a>,
    table: &'a DeTable<'a>,
    /// The keys that lead here; none for the top level.
    parents: [&'a str; 4],
    /// Where the table's own name starts.
    start: usize,
}

/// A key and its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) source: &'a Source<'a>,
    pub(crate) key: &'a str,
    /// Where the key starts.
    pub(crate) key_start: usize,
    pub(crate) value: &'a DeValue<'a>,
    /// Where the value starts.
    pub(crate) start: usize,
}

impl<'a> Section<'a> {
    /// The whole file.
    pub(crate) fn top(source: &'a Source<'a>, table: &'a DeTable<'a>) -> Self {
        Self {
            source,
            table,
            parents: [""; 4],
            start: 0,
        }
    }

    /// The table that `field` holds.
    pub(crate) fn child(&self, field: Field<'a>) -> Result<Self, ConfigError> {
        let DeValue::Table(table) = field.value else {
            return Err(field.wrong_type("a table"));
        };
        let mut parents = self.parents;
        if let Some(parent) = parents.iter_mut().find(|parent| parent.is_empty()) {
            *parent = field.key;
        }
        Ok(Self {
            source: self.source,
            table,
            parents,
            start: field.key_start,
        })
    }

    /// All fields in the order of the file.
    pub(crate) fn fields(&self) -> Vec<Field<'a>> {
        let mut fields: Vec<Field<'a>> = self
            .table
            .iter()
            .map(|(key, value)| Field {
                source: self.source,
                key: key.get_ref(),
                key_start: key.span().start,
                value: value.get_ref(),
                start: value.span().start,
            })
            .collect();
        fields.sort_by_key(|field| field.key_start);
        fields
    }

    /// Refuses the first key that is not in `known`.
    pub(crate) fn only(&self, known: &[&'static str]) -> Result<(), ConfigError> {
        let unknown = self
            .fields()
            .into_iter()
            .find(|field| !known.contains(&field.key));
        unknown.map_or(Ok(()), |field| {
            Err(ConfigError::UnknownKey {
                place: self.source.place(field.key_start),
                key: field.key.to_owned(),
                table_name: self.name(),
                known: known.to_vec(),
            })
        })
    }

    /// The field with this key.
    pub(crate) fn field(&self, key: &str) -> Option<Field<'a>> {
        self.fields().into_iter().find(|field| field.key == key)
    }

    /// The field with this key, which must be there.
    pub(crate) fn require(&self, key: &'static str) -> Result<Field<'a>, ConfigError> {
        self.field(key).ok_or_else(|| ConfigError::MissingKey {
            place: self.source.place(self.start),
            key,
            table_name: self.name(),
        })
    }

    fn name(&self) -> String {
        let parents = self.parents.iter().filter(|parent| !parent.is_empty());
        parents.copied().collect::<Vec<_>>().join(".")
    }
}

impl<'a> Field<'a> {
    /// Where the value stands.
    pub(crate) fn at(&self) -> Position {
        self.source.position(self.start)
    }

    /// The value as a text.
    pub(crate) fn text(&self) -> Result<&'a str, ConfigError> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong_type("a string")),
        }
    }

    /// The value as a text that says something.
    pub(crate) fn words(&self) -> Result<&'a str, ConfigError> {
        let text = self.text()?;
        if text.trim().is_empty() {
            return Err(self.blank());
        }
        Ok(text)
    }

    /// The values of the list, each under the list's key.
    pub(crate) fn items(&self) -> Result<Vec<Self>, ConfigError> {
        let DeValue::Array(items) = self.value else {
            return Err(self.wrong_type("an array"));
        };
        let items = items.iter().map(|item| Self {
            value: item.get_ref(),
            start: item.span().start,
            ..*self
        });
        Ok(items.collect())
    }

    /// The list's values as texts.
    pub(crate) fn texts(&self) -> Result<Vec<String>, ConfigError> {
        let texts = self.items()?.into_iter();
        texts.map(|item| item.text().map(str::to_owned)).collect()
    }

    /// The meaning of the value, which is one of the `known` words.
    pub(crate) fn word<T: Copy, const N: usize>(
        &self,
        known: &'static [&'static str; N],
        meanings: [T; N],
    ) -> Result<T, ConfigError> {
        let found = self.text()?;
        let meaning = known.iter().zip(meanings).find(|(word, _)| **word == found);
        meaning
            .map(|(_, meaning)| meaning)
            .ok_or_else(|| ConfigError::UnknownWord {
                place: self.source.place(self.start),
                key: self.key.to_owned(),
                found: found.to_owned(),
                known,
            })
    }

    /// The value as a whole number that is not negative.
    pub(crate) fn whole(&self, least: u64) -> Result<u64, ConfigError> {
        let DeValue::Integer(number) = self.value else {
            return Err(self.wrong_type("a whole number"));
        };
        let value = u64::from_str_radix(number.as_str(), number.radix()).ok();
        value.filter(|value| *value >= least).ok_or_else(|| {
            let expected = if least == 0 { "0 or more" } else { "1 or more" };
            self.out_of_range(number.to_string(), expected)
        })
    }

    /// The value as a yes or a no.
    pub(crate) fn boolean(&self) -> Result<bool, ConfigError> {
        match self.value {
            DeValue::Boolean(value) => Ok(*value),
            _ => Err(self.wrong_type("a boolean")),
        }
    }

    /// The value as a list of texts that say something.
    pub(crate) fn list(&self) -> Result<Vec<String>, ConfigError> {
        let items = self.items()?;
        items
            .iter()
            .map(|item| item.words().map(str::to_owned))
            .collect()
    }

    pub(crate) fn blank(&self) -> ConfigError {
        ConfigError::Blank {
            place: self.source.place(self.start),
            key: self.key.to_owned(),
        }
    }

    pub(crate) fn out_of_range(&self, found: String, expected: &'static str) -> ConfigError {
        ConfigError::OutOfRange {
            place: self.source.place(self.start),
            key: self.key.to_owned(),
            found,
            expected,
        }
    }

    pub(crate) fn wrong_type(&self, expected: &'static str) -> ConfigError {
        ConfigError::WrongType {
            place: self.source.place(self.start),
            key: self.key.to_owned(),
            found: type_name(self.value),
            expected,
        }
    }
}

/// The type of a value with its article.
fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date-time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
