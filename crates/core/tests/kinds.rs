//! The kinds of records: each name is one kind's, and the page tells of each.

use std::collections::BTreeSet;

use rustagents_core::journal::kind;

const SOURCE: &str = include_str!("../src/journal.rs");
const PAGE: &str = include_str!("../../../docs/reference/journal-format.md");

/// The names in `journal::kind`, as they are written: a list of constants could lack
/// one.
fn names() -> Vec<&'static str> {
    let (_, kinds) = SOURCE.split_once("pub mod kind {").unwrap();
    let (kinds, _) = kinds.split_once("\n}\n").unwrap();
    let names: Vec<_> = kinds
        .lines()
        .filter_map(|line| line.trim().strip_prefix("name: \"")?.strip_suffix("\","))
        .collect();
    let declared = kinds.matches(": Kind = Kind {").count();
    assert!(declared >= 20, "{declared} kinds");
    assert_eq!(names.len(), declared, "each constant has a name");
    names
}

#[test]
fn the_list_of_all_kinds_lacks_none() {
    let listed: Vec<_> = kind::ALL.iter().map(|kind| kind.name).collect();
    assert_eq!(listed, names());
}

#[test]
fn no_two_kinds_of_records_have_one_name() {
    let names = names();
    let distinct: BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
}

#[test]
fn the_page_of_the_format_has_each_kind_of_record_and_no_other() {
    let told: BTreeSet<_> = PAGE
        .lines()
        .filter_map(|line| line.strip_prefix("### `")?.split_once('`'))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(told, names().into_iter().collect());
}
