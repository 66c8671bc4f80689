//! Durations and sizes: a text with a unit, or a plain number.

use std::time::Duration;

use rustagents_core::tool::MAX_OUTPUT_BYTES;
use toml::de::DeValue;

use crate::{error::ConfigError, section::Field};

/// A unit system: names, how many of the smallest unit each is, and the range.
struct Scale {
    units: &'static [&'static str],
    factors: &'static [u64],
    most: u64,
    expected: &'static str,
    range: &'static str,
}

/// Durations, in milliseconds; at most a leap year.
const TIME: Scale = Scale {
    units: &["ms", "s", "m", "h"],
    factors: &[1, 1_000, 60_000, 3_600_000],
    most: 8784 * 3_600_000,
    expected: "a duration",
    range: "`1ms` to `8784h`",
};

/// Sizes of results, in bytes; a batch of the journal takes those.
const OUTPUT_SIZE: Scale = Scale {
    units: &["B", "KB", "KiB", "MB", "MiB"],
    factors: &[1, 1_000, 1 << 10, 1_000_000, 1 << 20],
    most: MAX_OUTPUT_BYTES as u64,
    expected: "a size",
    range: "`1B` to `4MiB`",
};

/// The field as a duration; a plain number is milliseconds.
pub(crate) fn duration(field: Field<'_>) -> Result<Duration, ConfigError> {
    TIME.read(field).map(Duration::from_millis)
}

/// The field as the size of a result in bytes; a plain number is bytes.
pub(crate) fn output_size(field: Field<'_>) -> Result<usize, ConfigError> {
    let bytes = OUTPUT_SIZE.read(field)?;
    usize::try_from(bytes).map_err(|_| field.out_of_range(bytes.to_string(), OUTPUT_SIZE.range))
}

impl Scale {
    /// The field in the smallest unit.
    fn read(&self, field: Field<'_>) -> Result<u64, ConfigError> {
        let (value, found) = match field.value {
            DeValue::Integer(number) => {
                let value = u64::from_str_radix(number.as_str(), number.radix()).ok();
                (value, format!("`{number}`"))
            }
            DeValue::String(text) => (self.parse(field, text)?, format!("`{text}`")),
            _ => return Err(field.wrong_type(self.expected)),
        };
        value
            .filter(|value| (1..=self.most).contains(value))
            .ok_or_else(|| field.out_of_range(found, self.range))
    }

    /// The text in the smallest unit; `None` for a number that is far too large.
    fn parse(&self, field: Field<'_>, text: &str) -> Result<Option<u64>, ConfigError> {
        let digits_end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (digits, unit) = text.split_at(digits_end);
        let factor = self
            .units
            .iter()
            .zip(self.factors)
            .find(|(name, _)| **name == unit);
        match factor {
            Some((_, factor)) if !digits.is_empty() => Ok(digits
                .parse::<u64>()
                .ok()
                .and_then(|number| number.checked_mul(*factor))),
            _ => Err(ConfigError::Quantity {
                place: field.source.place(field.start),
                key: field.key.to_owned(),
                found: text.to_owned(),
                units: self.units,
            }),
        }
    }
}
