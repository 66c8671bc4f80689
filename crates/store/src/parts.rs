//! Long texts in parts, so that what is large in them is stored once.
//!
//! A body that holds a large value is a *recipe*: its text, with the large values
//! replaced by the digests of contents. Two bodies that hold the same value, such as a
//! checkpoint and the one that a fork makes of it, then name the same content. A
//! recipe gives back the text to the byte, so nobody who reads records knows of it.

use rustagents_core::{digest::Digest, journal::Content};
use serde::{Deserialize, Serialize};

/// The longest text that is no content of its own, in bytes.
pub const INLINE_BYTES: usize = 16 << 10;

/// A text in parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recipe(Vec<Part>);

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Part {
    /// The text itself.
    Text(String),
    /// The bytes of this content.
    Content {
        /// Its digest.
        content: Digest,
    },
}

/// A part of a text that is not stored yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: usize,
    end: usize,
    is_content: bool,
}

impl Recipe {
    /// Takes a text apart that is longer than [`INLINE_BYTES`]: the recipe, and the
    /// contents that it names. `None` for a shorter one.
    ///
    /// In JSON, a content is the innermost value that is too long; what remains between
    /// them is one as well if it is. What is no JSON is a single content.
    pub fn of(text: &str) -> Option<(Self, Vec<Content>)> {
        if text.len() <= INLINE_BYTES {
            return None;
        }
        let mut contents: Vec<Content> = Vec::new();
        let parts = spans(text.as_bytes()).into_iter().filter_map(|span| {
            let part = text.get(span.start..span.end)?;
            if !span.is_content {
                return Some(Part::Text(part.to_owned()));
            }
            let digest = Digest::of(part.as_bytes());
            if !contents.iter().any(|content| content.digest == digest) {
                let bytes = part.as_bytes().to_vec();
                contents.push(Content { digest, bytes });
            }
            Some(Part::Content { content: digest })
        });
        let parts = parts.collect();
        Some((Self(parts), contents))
    }

    /// The contents that it names.
    pub fn contents(&self) -> impl Iterator<Item = Digest> {
        self.0.iter().filter_map(|part| match part {
            Part::Content { content } => Some(*content),
            Part::Text(_) => None,
        })
    }

    /// The text, of the contents that `content` finds.
    ///
    /// # Errors
    /// Those of `content`.
    pub fn text<E>(
        &self,
        mut content: impl FnMut(Digest) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E> {
        let mut text = Vec::new();
        for part in &self.0 {
            match part {
                Part::Text(part) => text.extend_from_slice(part.as_bytes()),
                Part::Content { content: digest } => text.extend(content(*digest)?),
            }
        }
        Ok(text)
    }
}

/// The parts of a text: all of it, in order.
fn spans(text: &[u8]) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut end = 0;
    for cut in large(text) {
        between(&mut spans, end, cut.start);
        end = cut.end;
        spans.push(cut);
    }
    between(&mut spans, end, text.len());
    spans
}

fn between(spans: &mut Vec<Span>, start: usize, end: usize) {
    if start < end {
        spans.push(Span {
            start,
            end,
            is_content: end - start > INLINE_BYTES,
        });
    }
}

/// The innermost values of a JSON text that are too long, in order. A text that is no
/// JSON may have any, or none; none overlaps another one, and each begins and ends
/// beside a bracket or a quote.
fn large(json: &[u8]) -> Vec<Span> {
    let mut found: Vec<Span> = Vec::new();
    // Where the values around begin, and how many were found before each.
    let mut around = Vec::new();
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        let (start, before) = match byte {
            b'"' => {
                let start = at;
                at = string_end(json, at);
                (start, found.len())
            }
            b'{' | b'[' => {
                around.push((at, found.len()));
                at += 1;
                continue;
            }
            b'}' | b']' => {
                at += 1;
                let Some(opened) = around.pop() else {
                    continue;
                };
                opened
            }
            _ => {
                at += 1;
                continue;
            }
        };
        if found.len() == before && at - start > INLINE_BYTES {
            found.push(Span {
                start,
                end: at,
                is_content: true,
            });
        }
    }
    found
}

/// The place behind the string that begins at `at`, or that of the end.
fn string_end(json: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(byte) = json.get(end) {
        match byte {
            b'"' => return end + 1,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The text again, from the stored form of its recipe.
    fn again(text: &str) -> (Vec<u8>, Vec<Content>) {
        let (recipe, contents) = Recipe::of(text).unwrap();
        let stored = serde_json::to_string(&recipe).unwrap();
        let recipe: Recipe = serde_json::from_str(&stored).unwrap();
        let held: BTreeMap<_, _> = contents.iter().map(|c| (c.digest, &c.bytes)).collect();
        assert!(recipe.contents().all(|digest| held.contains_key(&digest)));
        let text = recipe.text(|digest| held.get(&digest).copied().cloned().ok_or(()));
        (text.unwrap(), contents)
    }

    #[test]
    fn a_short_text_has_no_recipe() {
        assert_eq!(Recipe::of(&"x".repeat(INLINE_BYTES)), None);
        assert!(Recipe::of(&"x".repeat(INLINE_BYTES + 1)).is_some());
    }

    #[test]
    fn the_same_value_in_another_body_is_the_same_content() {
        let value = json!({ "page": "é\\\"".repeat(9_000), "number": 7 });
        let one = json!({ "checkpoint": 1, "deltas": [["doc", { "set": value }]] });
        let other = json!({ "state": [["n", 1], ["doc", { "set": value }]], "at": 12 });
        let (text, contents) = again(&one.to_string());
        assert_eq!(text, one.to_string().into_bytes());
        assert_eq!(contents.len(), 1);
        assert_eq!(contents, again(&other.to_string()).1);
        // The string, and not what stands around it.
        assert_eq!(contents[0].bytes[0], b'"');
    }

    #[test]
    fn a_value_that_stands_twice_is_one_content() {
        let value = "long ".repeat(9_000);
        let (_, contents) = again(&json!([value, { "again": value }]).to_string());
        assert_eq!(contents.len(), 1);
    }

    #[test]
    fn many_small_values_are_a_content_together() {
        let list: Vec<_> = (0..9_000).collect();
        let (_, contents) = again(&json!({ "a": 1, "list": list }).to_string());
        assert_eq!(contents.len(), 1);
        assert_eq!(contents[0].bytes[..4], *b"[0,1");
        let pages = vec!["x".repeat(INLINE_BYTES - 10); 40];
        let (_, contents) = again(&json!({ "a": 1, "pages": pages }).to_string());
        assert_eq!(contents.len(), 1);
    }

    #[test]
    fn what_is_left_between_large_values_is_a_content_if_it_is_large() {
        let mut body = serde_json::Map::new();
        body.insert("a".into(), "x".repeat(20_000).into());
        for number in 0..40 {
            body.insert(format!("b{number:02}"), "y".repeat(1_000).into());
        }
        body.insert("c".into(), "z".repeat(20_000).into());
        let (recipe, contents) = Recipe::of(&json!(body).to_string()).unwrap();
        assert_eq!(contents.len(), 3);
        assert!(serde_json::to_string(&recipe).unwrap().len() < 400);
    }

    proptest! {
        #[test]
        fn any_text_comes_back_and_nothing_long_stays(
            pieces in prop::collection::vec(
                (
                    prop_oneof![
                        Just("\""), Just("\\"), Just("\\\""), Just("{"), Just("}"), Just("["),
                        Just("]"), Just("é"), Just("a"), Just(","), Just("\"k\":"),
                    ],
                    prop_oneof![4 => 1..4_usize, 1 => 8_000..20_000_usize],
                ),
                0..12,
            )
        ) {
            let text: String = pieces.iter().map(|(piece, times)| piece.repeat(*times)).collect();
            if let Some((recipe, contents)) = Recipe::of(&text) {
                prop_assert_eq!(again(&text).0, text.as_bytes());
                prop_assert!(!contents.is_empty());
                for part in &recipe.0 {
                    if let Part::Text(part) = part {
                        prop_assert!(part.len() <= INLINE_BYTES);
                    }
                }
            } else {
                prop_assert!(text.len() <= INLINE_BYTES);
            }
        }
    }
}
