//! JSON arguments as SQL values.

use rusqlite::{Statement, types::Value as SqlValue};
use rustagents_core::canonical::Canonical;
use serde_json::{Number, Value};

use super::failure::Failure;

/// Binds each parameter of `statement` to the argument of its name.
pub(super) fn arguments(statement: &mut Statement<'_>, arguments: &Value) -> Result<(), Failure> {
    for index in 1..=statement.parameter_count() {
        let name = statement.parameter_name(index).unwrap_or_default();
        let name = name.trim_start_matches(':').to_owned();
        let value = sql_value(&name, arguments.get(&name))?;
        statement.raw_bind_parameter(index, value)?;
    }
    Ok(())
}

/// A missing argument is NULL; lists and objects are their canonical JSON text.
fn sql_value(name: &str, value: Option<&Value>) -> Result<SqlValue, Failure> {
    Ok(match value {
        None | Some(Value::Null) => SqlValue::Null,
        Some(Value::Bool(value)) => SqlValue::Integer(i64::from(*value)),
        Some(Value::Number(number)) => sql_number(name, number)?,
        Some(Value::String(text)) => SqlValue::Text(text.clone()),
        Some(nested) => SqlValue::Text(Canonical::of(nested).text().to_owned()),
    })
}

/// An integer that SQLite cannot hold is refused, for a REAL would change it.
fn sql_number(name: &str, number: &Number) -> Result<SqlValue, Failure> {
    if let Some(integer) = number.as_i64() {
        return Ok(SqlValue::Integer(integer));
    }
    match number.as_f64() {
        Some(real) if number.is_f64() => Ok(SqlValue::Real(real)),
        _ => Err(Failure::Integer {
            name: name.to_owned(),
        }),
    }
}
