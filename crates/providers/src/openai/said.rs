//! What a server says when it fails, in a few words.

use serde_json::Value;

/// The most characters of it that are shown.
const MAX_CHARACTERS: usize = 400;

/// Where servers put the words, the most telling first.
const PLACES: [&str; 4] = ["error", "message", "detail", "msg"];

/// What says that an account may use nothing more.
const USED_UP: [&str; 2] = ["insufficient_quota", "billing_hard_limit_reached"];

/// Whether an error's body says by its code or type that what the account may use is
/// used up. What stands in its words is for people.
pub(super) fn is_used_up(body: &str) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        return false;
    };
    // Some servers put the fields beside the words, and some in a list.
    let outer = value.get(0).unwrap_or(&value);
    let error = outer.get("error").filter(|error| error.is_object());
    let fields = error.unwrap_or(outer);
    let names = ["code", "type"]
        .iter()
        .filter_map(|key| fields.get(*key)?.as_str());
    names.into_iter().any(|name| USED_UP.contains(&name))
}

/// The words in an error's body, be it JSON, HTML or something else.
pub(super) fn in_body(body: &str) -> String {
    if let Ok(value) = serde_json::from_str(body) {
        return in_value(&value).unwrap_or_else(|| body.to_owned());
    }
    match title(body) {
        Some(title) => title.to_owned(),
        None if body.trim().is_empty() => "it says nothing more".to_owned(),
        None => body.to_owned(),
    }
}

/// The words in an error object, or whatever stands in for one.
fn in_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Array(items) => items.iter().find_map(in_value),
        Value::Object(fields) => {
            let words = PLACES
                .iter()
                .find_map(|place| in_value(fields.get(*place)?))?;
            let kind = ["code", "type"]
                .iter()
                .find_map(|key| fields.get(*key)?.as_str());
            Some(match kind {
                Some(kind) if !words.contains(kind) => format!("{words} ({kind})"),
                _ => words,
            })
        }
        _ => None,
    }
}

/// The title of a page.
fn title(page: &str) -> Option<&str> {
    // Only ASCII letters change, so places in the one are places in the other.
    let lower = page.to_ascii_lowercase();
    let tag = lower.find("<title")?;
    let start = tag + lower.get(tag..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find("</title")?;
    let title = page.get(start..end)?.trim();
    (!title.is_empty()).then_some(title)
}

/// `text` on one line, without control characters, and not too long.
pub(super) fn abbreviated(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let mut line = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some((cut, _)) = line.char_indices().nth(MAX_CHARACTERS) {
            line.truncate(cut);
            line.push('…');
            break;
        }
    }
    line
}
