//! What a stored body refers to: messages by id, contents by digest.
//!
//! Which bodies name which rows is not kept in tables of its own. Deleting and
//! pruning are rare, and read what they keep: whatever stands in a string there
//! counts as a reference. A text that only looks like one keeps a row too long,
//! and never loses one; a body of an unknown kind is understood as well.

use std::fmt;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use crate::digest::Digest;

/// The length of a digest as text.
const DIGEST_CHARS: usize = 64;

/// Calls `each` with every string in a JSON text, keys too.
///
/// # Errors
/// What the decoder says; `each` may have been called by then.
pub fn strings(json: &str, each: &mut dyn FnMut(&str)) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(json);
    reader.deserialize_any(Strings { each })?;
    reader.end()
}

/// Calls `each` with every digest that stands in `text`.
pub fn digests(text: &str, each: &mut dyn FnMut(Digest)) {
    let words = text.split(|c: char| !c.is_ascii_hexdigit());
    for word in words.filter(|word| word.len() == DIGEST_CHARS) {
        if let Some(digest) = Digest::from_hex(word) {
            each(digest);
        }
    }
}

struct Strings<'a> {
    each: &'a mut dyn FnMut(&str),
}

impl<'de> serde::de::DeserializeSeed<'de> for Strings<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strings<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        (self.each)(text);
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items
            .next_element_seed(Strings { each: self.each })?
            .is_some()
        {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while entries
            .next_key_seed(Strings { each: self.each })?
            .is_some()
        {
            entries.next_value_seed(Strings { each: self.each })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_is_seen_however_deep_or_escaped() {
        let mut seen = Vec::new();
        let json = r#"{"a":["m-1",{"m-\u0032":null,"n":[1,-2,0.5,true]}],"b":"m-3"}"#;
        strings(json, &mut |text| seen.push(text.to_owned())).unwrap();
        assert_eq!(seen, ["a", "m-1", "m-2", "n", "b", "m-3"]);
    }

    #[test]
    fn a_digest_is_found_inside_a_text() {
        let digest = Digest::of(b"x");
        let mut seen = Vec::new();
        let text = format!("{{\"artifact\":\"{digest}\"}} {digest}0 {}", digest.short());
        digests(&text, &mut |found| seen.push(found));
        assert_eq!(seen, [digest]);
    }

    #[test]
    fn what_is_no_json_is_an_error() {
        strings("{\"a\":", &mut |_| {}).unwrap_err();
        strings("1 2", &mut |_| {}).unwrap_err();
    }
}
