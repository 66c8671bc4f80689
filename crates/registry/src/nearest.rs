//! The name that somebody probably meant.

/// The most edits that still count as a slip.
const MOST_EDITS: usize = 3;

/// The candidate that is a slip away from `name`; the first one wins a tie.
///
/// Case does not count. A third of the name may differ, at most three edits.
///
/// ```
/// use rustagents_registry::nearest;
/// assert_eq!(nearest("lokup_order", ["refund", "lookup_order"]), Some("lookup_order"));
/// assert_eq!(nearest("weather", ["refund", "lookup_order"]), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    candidates
        .into_iter()
        .filter_map(|candidate| Some((edits(&wanted, &candidate.to_lowercase())?, candidate)))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// How many edits lie between the two, if few enough.
fn edits(wanted: &str, candidate: &str) -> Option<usize> {
    let (wanted_chars, candidate_chars) = (wanted.chars().count(), candidate.chars().count());
    let most = (wanted_chars.max(candidate_chars) / 3).clamp(1, MOST_EDITS);
    if wanted_chars.abs_diff(candidate_chars) > most {
        return None;
    }
    let edits = strsim::osa_distance(wanted, candidate);
    (edits <= most && edits < wanted_chars).then_some(edits)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_find_their_name() {
        let names = ["default", "fast", "lookup_order"];
        for (typed, meant) in [
            ("defualt", Some("default")),
            ("Default", Some("default")),
            ("fats", Some("fast")),
            ("lookup-orders", Some("lookup_order")),
            ("slow", None),
            ("", None),
            ("f", None),
        ] {
            assert_eq!(nearest(typed, names), meant, "{typed}");
        }
    }

    #[test]
    fn one_letter_is_never_a_slip_for_another() {
        assert_eq!(nearest("x", ["y"]), None);
    }

    #[test]
    fn the_first_of_equally_near_names_wins() {
        assert_eq!(nearest("cat", ["bat", "hat"]), Some("bat"));
    }

    #[test]
    fn the_nearest_name_wins_over_an_earlier_one() {
        assert_eq!(nearest("refund", ["refunds2", "refunds"]), Some("refunds"));
    }
}
