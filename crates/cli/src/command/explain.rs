//! `rag explain`: the page of an error code.

use std::process::ExitCode;

use rustagents_core::Code;
use serde::Serialize;

use crate::{
    arguments::Explain,
    failure::Failure,
    output::{self, Output},
    pages,
};

/// How many digits a code has.
const DIGITS: usize = 4;

/// How many codes a hint names.
const NAMED: usize = 3;

/// What `rag.explain/1` is.
#[derive(Serialize)]
struct Explanation {
    schema: &'static str,
    code: &'static str,
    title: &'static str,
    page: &'static str,
}

pub(crate) fn explain(arguments: &Explain, output: &Output) -> Result<ExitCode, Failure> {
    let code = find(&arguments.code).ok_or_else(|| unknown(&arguments.code))?;
    let page = pages::page(code)
        .ok_or_else(|| Failure::internal(&format_args!("`{code}` has no page")))?;
    if output.is_json() {
        output::object(&Explanation {
            schema: "rag.explain/1",
            code: code.as_str(),
            title: code.title(),
            page,
        })?;
    } else {
        output::text(page)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The code that is meant: `RAG0102`, `rag0102`, `0102` or `102`.
fn find(given: &str) -> Option<Code> {
    Code::parse(&format!("RAG{:04}", number(given)?))
}

/// The number of a code, whether there is such a code or not.
fn number(given: &str) -> Option<u16> {
    let digits = match given.split_at_checked(3) {
        Some((start, digits)) if start.eq_ignore_ascii_case("RAG") => digits,
        _ => given,
    };
    let plain = digits.len() <= DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

fn unknown(given: &str) -> Failure {
    let failure = Failure::new(Code::Usage, format!("there is no code `{given}`"));
    match number(given) {
        Some(number) => failure.hint(format!("the nearest are {}", nearest(number))),
        None => failure.hint(format!("a code looks like `{}`", Code::UnknownTool)),
    }
}

fn nearest(wanted: u16) -> String {
    let mut codes = Code::ALL.to_vec();
    codes.sort_by_key(|code| number(code.as_str()).map(|number| number.abs_diff(wanted)));
    codes.truncate(NAMED);
    codes.sort();
    let names: Vec<_> = codes.iter().map(|code| format!("`{code}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_found_however_it_is_written() {
        for given in ["RAG0102", "rag0102", "Rag102", "0102", "102"] {
            assert_eq!(find(given), Some(Code::UnknownTool), "{given}");
        }
        assert_eq!(find("1"), Some(Code::Usage));
        for code in Code::ALL {
            assert_eq!(find(code.as_str()), Some(*code));
        }
    }

    #[test]
    fn other_words_are_no_codes() {
        for given in [
            "", "RAG", "00102", "+102", "1O2", "RAG 102", "é102", "RAG0602", "99999",
        ] {
            assert_eq!(find(given), None, "{given}");
        }
    }

    #[test]
    fn the_nearest_codes_are_near_by_number() {
        assert_eq!(nearest(602), "`RAG0601`, `RAG0603`, `RAG0604`");
        assert_eq!(nearest(9999), "`RAG0819`, `RAG0901`, `RAG0999`");
    }
}
