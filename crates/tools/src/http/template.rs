//! The URL: a template that arguments fill, within narrow bounds.

use percent_encoding::{
    AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode,
};
use reqwest::Url;
use serde_json::Value;

use crate::DeclarationError;

use super::{MAX_URL, failure::Failure};

/// What an argument keeps of itself: the characters that mean nothing in a URL.
const ARGUMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What of the template itself is encoded; the rest is as it should be.
const TEXT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'\'')
    .add(b'<')
    .add(b'>')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A URL whose origin is fixed.
#[derive(Debug)]
pub(super) struct Template {
    base: Url,
    segments: Vec<Vec<Part>>,
    query: Vec<Vec<Part>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Ready to stand in a URL.
    Text(String),
    /// The name of an argument.
    Variable(String),
}

impl Template {
    /// Reads `text`. Whether the variables are arguments is not looked at.
    pub(super) fn new(text: &str) -> Result<Self, DeclarationError> {
        let parts = parts(text)?;
        let (base, rest) = origin(parts)?;
        let mut halves = split(rest, '?', 2).into_iter();
        let mut segments = split(halves.next().unwrap_or_default(), '/', usize::MAX);
        // The path starts with a slash, so that nothing stands before the first one.
        segments.remove(0);
        let query = halves.next().map(|query| split(query, '&', usize::MAX));
        let template = Self {
            base,
            segments: segments.into_iter().map(encoded).collect(),
            query: query.unwrap_or_default().into_iter().map(encoded).collect(),
        };
        template.check()?;
        Ok(template)
    }

    /// The URL's origin, with an empty path.
    pub(super) fn base(&self) -> &Url {
        &self.base
    }

    /// The names of the arguments that it uses.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        let parts = self.segments.iter().chain(&self.query).flatten();
        parts.filter_map(|part| match part {
            Part::Variable(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The URL of a call with these arguments.
    ///
    /// A value of the query that is missing or null is left out with its name.
    pub(super) fn render(&self, arguments: &Value) -> Result<Url, Failure> {
        let mut path = String::new();
        for segment in &self.segments {
            path.push('/');
            path.push_str(&rendered_segment(segment, arguments)?);
        }
        let mut query = Vec::new();
        for pair in &self.query {
            query.extend(rendered(pair, arguments)?);
        }
        let query = query.join("&");
        if path.len() + query.len() > MAX_URL {
            return Err(Failure::UrlTooLong);
        }
        let mut url = self.base.clone();
        url.set_path(&path);
        url.set_query(Some(query.as_str()).filter(|query| !query.is_empty()));
        // What the checks above let through is not read in another way.
        if url.origin() == self.base.origin() && url.path() == path {
            Ok(url)
        } else {
            Err(Failure::Elsewhere)
        }
    }

    fn check(&self) -> Result<(), DeclarationError> {
        for pair in &self.query {
            // All that stands before the first `=` is the name.
            let named = pair.iter().find_map(|part| match part {
                Part::Variable(name) => Some(Some(name)),
                Part::Text(text) => text.contains('=').then_some(None),
            });
            if let Some(Some(name)) = named {
                return Err(misplaced(name, "the name of a query value"));
            }
        }
        for segment in &self.segments {
            if let [Part::Text(text)] = segment.as_slice()
                && leads_elsewhere(text)
            {
                let reason = format!("`{text}` in its path leads elsewhere");
                return Err(DeclarationError::Url { reason });
            }
        }
        Ok(())
    }
}

/// The template's texts and variables, in order; texts are not encoded yet.
fn parts(template: &str) -> Result<Vec<Part>, DeclarationError> {
    let refused = |reason: &str| DeclarationError::Url {
        reason: reason.to_owned(),
    };
    let mut parts = Vec::new();
    let mut rest = template.trim();
    while let Some((text, after)) = rest.split_once("{{") {
        let (name, after) = after
            .split_once("}}")
            .ok_or_else(|| refused("a `{{` has no end"))?;
        let name = name.trim();
        if name.is_empty() || name.contains(['{', '}']) {
            return Err(refused("a variable has no name"));
        }
        parts.push(Part::Text(text.to_owned()));
        parts.push(Part::Variable(name.to_owned()));
        rest = after;
    }
    parts.push(Part::Text(rest.to_owned()));
    for part in &parts {
        if let Part::Text(text) = part {
            if text.contains('#') {
                return Err(refused("it has a fragment, which is never sent"));
            }
            if text.contains(|c: char| c == '\\' || c.is_control()) {
                return Err(refused("it has a character that no URL has"));
            }
        }
    }
    Ok(parts)
}

/// The origin, and the path and the query that follow it.
fn origin(parts: Vec<Part>) -> Result<(Url, Vec<Part>), DeclarationError> {
    let mut parts = parts.into_iter();
    let first = match parts.next() {
        Some(Part::Text(text)) => text,
        _ => String::new(),
    };
    let rest: Vec<Part> = parts.collect();
    let authority = first.find("://").map_or(0, |at| at + "://".len());
    let end = first
        .get(authority..)
        .and_then(|text| text.find(['/', '?']))
        .map(|end| authority + end);
    if let (None, Some(Part::Variable(name))) = (end, rest.first()) {
        return Err(misplaced(name, "the scheme, host or port"));
    }
    let (origin, path) = first
        .split_at_checked(end.unwrap_or(first.len()))
        .unwrap_or_default();
    let base = parse(origin)?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut all = vec![Part::Text(format!("{slash}{path}"))];
    all.extend(rest);
    Ok((base, all))
}

fn parse(origin: &str) -> Result<Url, DeclarationError> {
    let refused = |reason: String| DeclarationError::Url { reason };
    let url = Url::parse(origin).map_err(|error| refused(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused(
            "it starts with neither `https:` nor `http:`".into(),
        ));
    }
    if !url.username().is_empty() || url.password().is_some() || origin.contains('@') {
        let reason = "it has a user name or a password, which belong into a header";
        return Err(refused(reason.into()));
    }
    Ok(url)
}

/// Cuts `parts` at each `separator` in a text, into at most `most` pieces.
fn split(parts: Vec<Part>, separator: char, most: usize) -> Vec<Vec<Part>> {
    let mut pieces = Vec::new();
    let mut piece = Vec::new();
    for part in parts {
        let Part::Text(text) = part else {
            piece.push(part);
            continue;
        };
        let mut rest = text.as_str();
        while pieces.len() + 1 < most
            && let Some((before, after)) = rest.split_once(separator)
        {
            piece.push(Part::Text(before.to_owned()));
            pieces.push(std::mem::take(&mut piece));
            rest = after;
        }
        piece.push(Part::Text(rest.to_owned()));
    }
    pieces.push(piece);
    pieces
}

/// The same with texts that a URL can hold, and without empty ones.
fn encoded(parts: Vec<Part>) -> Vec<Part> {
    let parts = parts.into_iter().map(|part| match part {
        Part::Text(text) => Part::Text(utf8_percent_encode(&text, TEXT).to_string()),
        variable @ Part::Variable(_) => variable,
    });
    parts
        .filter(|part| *part != Part::Text(String::new()))
        .collect()
}

fn rendered_segment(segment: &[Part], arguments: &Value) -> Result<String, Failure> {
    let name = segment.iter().find_map(|part| match part {
        Part::Variable(name) => Some(name),
        Part::Text(_) => None,
    });
    let text = rendered(segment, arguments)?;
    match (text, name) {
        (Some(text), None) => Ok(text),
        (Some(text), Some(_)) if text.len() > MAX_URL => Err(Failure::UrlTooLong),
        (Some(text), Some(_)) if leads_elsewhere(&text) => Err(Failure::Elsewhere),
        (Some(text), Some(_)) if !text.is_empty() => Ok(text),
        // Without it, the path would be that of something else.
        (_, name) => Err(Failure::Missing {
            name: name.cloned().unwrap_or_default(),
        }),
    }
}

/// The parts as one text; `None` where an argument is missing or null.
fn rendered(parts: &[Part], arguments: &Value) -> Result<Option<String>, Failure> {
    let mut whole = String::new();
    for part in parts {
        match part {
            Part::Text(text) => whole.push_str(text),
            Part::Variable(name) => match arguments.get(name) {
                None | Some(Value::Null) => return Ok(None),
                Some(value) => {
                    let text = plain(name, value)?;
                    whole.extend(utf8_percent_encode(&text, ARGUMENT));
                }
            },
        }
    }
    Ok(Some(whole))
}

/// A value as a URL shows it.
fn plain(name: &str, value: &Value) -> Result<String, Failure> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(Failure::Shape {
            name: name.to_owned(),
        }),
    }
}

/// Whether some server would read `segment` as a step to another folder. Servers
/// differ in how often they decode, and in what they take for a separator.
fn leads_elsewhere(segment: &str) -> bool {
    let mut text = segment.to_owned();
    loop {
        let mut steps = text.split(['/', '\\']);
        // Some servers cut a step at its first `;`.
        let is_dots = |step: &str| matches!(step.split(';').next(), Some("." | ".."));
        if steps.any(is_dots) {
            return true;
        }
        let decoded = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        if decoded == text {
            return false;
        }
        text = decoded;
    }
}

fn misplaced(name: &str, part: &'static str) -> DeclarationError {
    DeclarationError::UrlVariable {
        name: name.to_owned(),
        part,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const SHOP: &str =
        "https://api.example.com:8443/v1/orders/{{ order }}/x{{item}}?lang={{ lang }}&q=a:{{ q }}";

    fn shop() -> Template {
        Template::new(SHOP).unwrap()
    }

    fn decoded(text: &str) -> String {
        percent_decode_str(text).decode_utf8().unwrap().into_owned()
    }

    #[test]
    fn arguments_are_encoded_where_they_stand() {
        let url = shop().render(&json!({
            "order": "ä b/c?d#e&f=g%20;h", "item": 7, "lang": true, "q": "\r\nHost: evil",
        }));
        assert_eq!(
            url.unwrap().as_str(),
            "https://api.example.com:8443/v1/orders/%C3%A4%20b%2Fc%3Fd%23e%26f%3Dg%2520%3Bh/x7\
             ?lang=true&q=a:%0D%0AHost%3A%20evil"
        );
    }

    #[test]
    fn a_value_that_is_missing_is_left_out_with_its_name() {
        let url = shop().render(&json!({"order": "A", "item": 1, "q": null}));
        assert_eq!(
            url.unwrap().as_str(),
            "https://api.example.com:8443/v1/orders/A/x1"
        );
        let url = shop().render(&json!({"order": "A", "item": 1, "q": ""}));
        assert_eq!(url.unwrap().query(), Some("q=a:"));
    }

    #[test]
    fn what_some_server_reads_as_a_step_elsewhere_is_refused() {
        let template = Template::new("https://a/{{ x }}/{{ y }}{{ z }}").unwrap();
        for step in [
            ".",
            "..",
            "../x",
            "x/..",
            "x/../y",
            "..\\x",
            "%2e",
            "%2E%2e",
            "..%2fx",
            "%252e%252e",
            "%25252e.",
            "..;",
            "..;a=b/x",
            "x/./y",
        ] {
            let refused = template.render(&json!({"x": step, "y": "a", "z": "b"}));
            assert!(matches!(refused, Err(Failure::Elsewhere)), "{step}");
        }
        let refused = template.render(&json!({"x": "a", "y": ".", "z": "."}));
        assert!(matches!(refused, Err(Failure::Elsewhere)));
        for fine in ["...", "a..b", ".a", "a.", "x/y", "a%2fb", "%"] {
            let url = template.render(&json!({"x": fine, "y": "a", "z": "b"}));
            assert_eq!(url.unwrap().path_segments().unwrap().count(), 2, "{fine}");
        }
    }

    #[test]
    fn a_path_needs_its_arguments() {
        for arguments in [json!({}), json!({"x": null}), json!({"x": ""})] {
            let refused = Template::new("https://a/{{ x }}")
                .unwrap()
                .render(&arguments);
            assert!(
                matches!(refused, Err(Failure::Missing { .. })),
                "{arguments}"
            );
        }
        for value in [json!([1]), json!({})] {
            let refused = Template::new("https://a/?x={{ x }}")
                .unwrap()
                .render(&json!({ "x": value }));
            assert!(matches!(refused, Err(Failure::Shape { .. })), "{value}");
        }
    }

    #[test]
    fn the_longest_argument_takes_no_time() {
        for unit in ["%25", "a", "../", "%"] {
            let value = unit.repeat((1 << 20) / unit.len());
            let refused = Template::new("https://a/{{ x }}")
                .unwrap()
                .render(&json!({ "x": value }));
            assert!(matches!(refused, Err(Failure::UrlTooLong)), "{unit}");
        }
    }

    #[test]
    fn a_template_keeps_its_own_text() {
        let text = "https://a.example/ü b/%41;x=1,2/[y]/a//b/?filter[a]=1&b='c'&&d";
        let url = Template::new(text).unwrap().render(&json!({})).unwrap();
        assert_eq!(
            url.as_str(),
            "https://a.example/%C3%BC%20b/%41;x=1,2/[y]/a//b/?filter[a]=1&b=%27c%27&&d"
        );
        for (text, whole) in [
            ("https://a", "https://a/"),
            ("https://a/", "https://a/"),
            ("https://a?b=c", "https://a/?b=c"),
            ("https://a:443/b?", "https://a/b"),
            (" HTTPS://A/b ", "https://a/b"),
        ] {
            let url = Template::new(text).unwrap().render(&json!({})).unwrap();
            assert_eq!(url.as_str(), whole);
        }
    }

    /// Texts with a liking for what means something in a URL.
    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<String>(),
            proptest::sample::select(vec![
                "/",
                "\\",
                "..",
                ".",
                "%2f",
                "%2e",
                "%5c",
                "?",
                "#",
                "&",
                "=",
                "@",
                ":",
                "//",
                ";",
                "%",
                "\r\n",
                "\t",
                "\0",
                "{{ lang }}",
                "://evil.example",
                " ",
                "．",
            ])
            .prop_map(str::to_owned),
        ];
        proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn no_argument_changes_more_than_its_place(
            order in hostile(), item in hostile(), lang in hostile(), q in hostile(),
        ) {
            let template = shop();
            let arguments = json!({ "order": order, "item": item, "lang": lang, "q": q });
            let Ok(url) = template.render(&arguments) else {
                return Ok(());
            };
            prop_assert_eq!(url.origin(), template.base().origin());
            prop_assert_eq!(url.username(), "");
            prop_assert_eq!(url.password(), None);
            prop_assert_eq!(url.fragment(), None);
            let segments: Vec<&str> = url.path_segments().unwrap().collect();
            prop_assert_eq!(segments.len(), 4);
            prop_assert_eq!(&segments[..2], ["v1", "orders"]);
            prop_assert_eq!(decoded(segments[2]), order);
            prop_assert_eq!(decoded(segments[3]), format!("x{item}"));
            let pairs: Vec<(String, String)> = url
                .query_pairs()
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect();
            prop_assert_eq!(
                pairs,
                [("lang".to_owned(), lang), ("q".to_owned(), format!("a:{q}"))]
            );
            prop_assert!(url.as_str().is_ascii());
            // Whoever reads the text reads the same URL.
            prop_assert_eq!(Url::parse(url.as_str()).unwrap(), url);
        }
    }
}
