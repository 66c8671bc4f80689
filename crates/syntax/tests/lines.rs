//! Lines and columns.

use rustagents_syntax::LineIndex;

fn at(source: &str, offset: u32) -> (u32, u32) {
    let place = LineIndex::new(source).line_column(offset.into());
    (place.line, place.column)
}

#[test]
fn columns_are_counted_in_scalar_values() {
    let source = "añ😀b\r\nc\n\nd";
    let cases = [
        (0, (1, 1)),
        (1, (1, 2)),
        (3, (1, 3)),
        (7, (1, 4)),
        (8, (1, 5)),
        (9, (1, 6)),
        (10, (2, 1)),
        (11, (2, 2)),
        (12, (3, 1)),
        (13, (4, 1)),
        (14, (4, 2)),
    ];
    for (offset, expected) in cases {
        assert_eq!(at(source, offset), expected, "at {offset}");
    }
}

#[test]
fn an_offset_inside_of_a_character_means_that_character() {
    assert_eq!([at("a😀", 2), at("a😀", 4)], [(1, 2), (1, 2)]);
}

#[test]
fn an_offset_after_the_end_means_the_end() {
    assert_eq!(at("ab", 100), (1, 3));
    assert_eq!(at("", 100), (1, 1));
}

#[test]
fn a_byte_order_mark_takes_no_column() {
    assert_eq!(
        [
            at("\u{feff}ab", 0),
            at("\u{feff}ab", 3),
            at("\u{feff}ab", 4)
        ],
        [(1, 1), (1, 1), (1, 2)]
    );
}
