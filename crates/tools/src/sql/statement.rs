//! The scanner: which parameters a statement has, and that it is one statement.
//!
//! It follows the rules of SQLite's own tokenizer as far as these questions
//! need them. Whether the statement makes sense is SQLite's to say.

use crate::DeclarationError;

/// How a statement about data starts.
pub(crate) const KEYWORDS: [&str; 7] = [
    "SELECT", "WITH", "VALUES", "INSERT", "UPDATE", "DELETE", "REPLACE",
];

/// One statement.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    /// As it was declared.
    pub(super) text: String,
    /// The names of its parameters without the mark, each once.
    pub(super) parameters: Vec<String>,
}

enum Token<'a> {
    /// White space or a comment.
    Blank,
    /// An unquoted word or a number.
    Word(&'a str),
    /// The name of a parameter.
    Parameter(&'a str),
    /// The end of a statement.
    Semicolon,
    /// Anything else, such as an operator or a quoted text.
    Other(&'a str),
}

impl Statement {
    /// Reads `text` as exactly one statement about data.
    pub(super) fn scan(text: &str) -> Result<Self, DeclarationError> {
        if text.contains('\0') {
            return Err(DeclarationError::ZeroByte);
        }
        let mut parameters: Vec<String> = Vec::new();
        let mut rest = text;
        let (mut started, mut ended) = (false, false);
        while let Some(token) = next(&mut rest)? {
            match token {
                Token::Blank => {}
                Token::Semicolon if started => ended = true,
                _ if ended => return Err(DeclarationError::SeveralStatements),
                first if !started => started = starts(&first)?,
                Token::Parameter(name) if !parameters.iter().any(|known| known == name) => {
                    parameters.push(name.to_owned());
                }
                _ => {}
            }
        }
        if !started {
            return Err(DeclarationError::Empty);
        }
        Ok(Self {
            text: text.to_owned(),
            parameters,
        })
    }
}

/// Refuses a first token that starts no statement about data.
fn starts(first: &Token<'_>) -> Result<bool, DeclarationError> {
    let found = match first {
        Token::Word(word)
            if KEYWORDS
                .iter()
                .any(|known| known.eq_ignore_ascii_case(word)) =>
        {
            return Ok(true);
        }
        Token::Word(text) | Token::Other(text) => (*text).to_owned(),
        Token::Parameter(name) => format!(":{name}"),
        Token::Semicolon | Token::Blank => ";".to_owned(),
    };
    Err(DeclarationError::Keyword { found })
}

/// Takes the next token off `rest`; `None` at the end.
fn next<'a>(rest: &mut &'a str) -> Result<Option<Token<'a>>, DeclarationError> {
    let Some(first) = rest.chars().next() else {
        return Ok(None);
    };
    let token = match first {
        '-' if rest.starts_with("--") => blank(take(rest, to_end_of(rest, "\n", 2))),
        '/' if rest.starts_with("/*") => blank(take(rest, to_end_of(rest, "*/", 2))),
        '\'' | '"' | '`' => Token::Other(quoted(rest, first, first)?),
        '[' => Token::Other(quoted(rest, first, ']')?),
        ':' | '@' | '$' | '?' => Token::Parameter(parameter(rest)?),
        ';' => {
            take(rest, 1);
            Token::Semicolon
        }
        _ if first.is_ascii_whitespace() => blank(take(rest, 1)),
        _ if in_word(first) => Token::Word(take(rest, word_length(rest))),
        _ => Token::Other(take(rest, first.len_utf8())),
    };
    Ok(Some(token))
}

fn blank(_: &str) -> Token<'_> {
    Token::Blank
}

/// The first `length` bytes of `rest`, which loses them.
fn take<'a>(rest: &mut &'a str, length: usize) -> &'a str {
    let (taken, left) = rest.split_at_checked(length).unwrap_or((rest, ""));
    *rest = left;
    taken
}

/// The length up to and with the first `end` that starts at `from` or later.
fn to_end_of(text: &str, end: &str, from: usize) -> usize {
    let found = text.get(from..).and_then(|tail| tail.find(end));
    found.map_or(text.len(), |at| from + at + end.len())
}

/// A doubled quote inside reads as two quoted texts, which ends in the same place.
fn quoted<'a>(rest: &mut &'a str, open: char, close: char) -> Result<&'a str, DeclarationError> {
    let inside = rest.get(1..).unwrap_or_default();
    let end = inside
        .find(close)
        .ok_or(DeclarationError::OpenQuote { quote: open })?;
    Ok(take(rest, end + 2))
}

/// SQLite also takes `?1`, `@a`, `$a`, `:a::b` and `:a(b)`; those are refused.
fn parameter<'a>(rest: &mut &'a str) -> Result<&'a str, DeclarationError> {
    let mark = take(rest, 1);
    let name = take(rest, word_length(rest));
    if mark == ":" && !name.is_empty() && !rest.starts_with("::") && !rest.starts_with('(') {
        return Ok(name);
    }
    Err(DeclarationError::Parameter {
        found: format!("{mark}{name}"),
    })
}

fn word_length(text: &str) -> usize {
    text.find(|c| !in_word(c)).unwrap_or(text.len())
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(sql: &str) -> Vec<String> {
        Statement::scan(sql).unwrap().parameters
    }

    #[test]
    fn parameters_are_found_once_and_in_order() {
        assert_eq!(parameters("SELECT :b, :a, :b"), ["b", "a"]);
        assert_eq!(
            parameters("select a$b from t where x=:é_1+:y;"),
            ["é_1", "y"]
        );
    }

    #[test]
    fn quotes_and_comments_hide_what_looks_like_a_parameter() {
        for sql in [
            "SELECT ':a'",
            "SELECT 'it''s :a', \"x\"\":a\", `:a`, [:a]",
            "SELECT 1 -- :a",
            "SELECT /* :a ' */ 1",
            "/* ; */ SELECT /**/ 1",
            "SELECT 1 /* :a",
            "SELECT x'00', 'a;b' ; -- done ;\n ; /* ; */",
        ] {
            assert!(parameters(sql).is_empty(), "{sql}");
        }
        assert_eq!(parameters("SELECT '/*', :a, '*/'"), ["a"]);
        assert_eq!(parameters("SELECT '--', :a"), ["a"]);
        assert_eq!(parameters("SELECT /*/ :b */ :a"), ["a"]);
        assert_eq!(parameters("SELECT 5--:b\n+:a"), ["a"]);
    }

    #[test]
    fn only_names_after_a_colon_are_parameters() {
        for (sql, found) in [
            ("SELECT ?", "?"),
            ("SELECT ?12", "?12"),
            ("SELECT @a", "@a"),
            ("SELECT $a", "$a"),
            ("SELECT :", ":"),
            ("SELECT a::text", ":"),
            ("SELECT :a::text", ":a"),
            ("SELECT :a(b)", ":a"),
        ] {
            let expected = DeclarationError::Parameter {
                found: found.into(),
            };
            assert_eq!(Statement::scan(sql).unwrap_err(), expected, "{sql}");
        }
    }

    #[test]
    fn there_is_exactly_one_statement_about_data() {
        let keyword = |found: &str| DeclarationError::Keyword {
            found: found.into(),
        };
        for (sql, expected) in [
            ("", DeclarationError::Empty),
            (" -- nothing\n/* at all */", DeclarationError::Empty),
            ("SELECT 1; SELECT 2", DeclarationError::SeveralStatements),
            ("SELECT 1;\n--\nx", DeclarationError::SeveralStatements),
            ("SELECT 1; 'x'", DeclarationError::SeveralStatements),
            ("; SELECT 1", keyword(";")),
            ("ATTACH 'x' AS y", keyword("ATTACH")),
            ("pragma user_version = 1", keyword("pragma")),
            ("EXPLAIN SELECT 1", keyword("EXPLAIN")),
            ("BEGIN", keyword("BEGIN")),
            ("VACUUM INTO 'x'", keyword("VACUUM")),
            ("(SELECT 1)", keyword("(")),
            (":a", keyword(":a")),
            ("SELECT 'a", DeclarationError::OpenQuote { quote: '\'' }),
            ("SELECT [a", DeclarationError::OpenQuote { quote: '[' }),
            ("SELECT 1\0; DROP", DeclarationError::ZeroByte),
        ] {
            assert_eq!(Statement::scan(sql).unwrap_err(), expected, "{sql}");
        }
        for sql in [
            "select 1",
            "With x AS (SELECT 1) DELETE FROM t",
            "/**/VALUES(1);;",
        ] {
            assert!(Statement::scan(sql).is_ok(), "{sql}");
        }
    }
}
