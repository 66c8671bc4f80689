//! Names in messages: how they are shown, and which one was probably meant.

use rustagents_registry::nearest;

/// The most characters of a name that are shown.
const MOST_CHARACTERS: usize = 40;

/// The most names that are listed.
const MOST_LISTED: usize = 6;

/// How many names are compared with a wrong one.
const MOST_COMPARED: usize = 1_000;

/// `text` in backticks, on one line and not too long.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::from("`");
    for (index, character) in text.chars().enumerate() {
        match character {
            _ if index == MOST_CHARACTERS => {
                shown.push('…');
                break;
            }
            '`' => shown.push('\''),
            '"' | '\'' => shown.push(character),
            // What cannot be seen is shown by its number.
            _ => shown.extend(character.escape_debug()),
        }
    }
    shown.push('`');
    shown
}

/// Help for an unknown `name`: the candidate that was probably meant, or else
/// the candidates, which `plural` are.
pub(crate) fn suggestion<'a>(
    name: &str,
    plural: &str,
    candidates: impl Iterator<Item = &'a str> + Clone,
) -> String {
    if let Some(meant) = nearest(name, candidates.clone().take(MOST_COMPARED)) {
        return format!("did you mean {}?", shown(meant));
    }
    let listed: Vec<_> = candidates.clone().take(MOST_LISTED).map(shown).collect();
    if listed.is_empty() {
        return format!("there are no {plural}");
    }
    let more = candidates.skip(MOST_LISTED).count();
    let rest = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    format!("known {plural}: {}{rest}", listed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shown_on_one_line() {
        for (text, expected) in [
            ("refund", "`refund`"),
            ("a\n\u{1b}b", r"`a\n\u{1b}b`"),
            ("a`\"'é", "`a'\"'é`"),
            ("", "``"),
        ] {
            assert_eq!(shown(text), expected);
        }
        assert_eq!(shown(&"x".repeat(41)), format!("`{}…`", "x".repeat(40)));
    }

    #[test]
    fn a_suggestion_is_a_slip_away_or_a_list() {
        let few = ["refund", "lookup_order"];
        for (name, expected) in [
            ("refnd", "did you mean `refund`?"),
            ("weather", "known tools: `refund`, `lookup_order`"),
        ] {
            assert_eq!(suggestion(name, "tools", few.into_iter()), expected);
        }
        assert_eq!(
            suggestion("x", "tools", [].into_iter()),
            "there are no tools"
        );
        let many = ["one", "two", "six", "ten", "eleven", "twelve", "thirteen"];
        assert_eq!(
            suggestion("zzzzzz", "tools", many.into_iter()),
            "known tools: `one`, `two`, `six`, `ten`, `eleven`, `twelve` and 1 more"
        );
    }
}
