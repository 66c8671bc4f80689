//! Each kind of error, how it reads, and how many there can be.

use rustagents_syntax::{MAX_ERRORS, MAX_SOURCE_BYTES, SyntaxErrorKind, TextRange, parse};

use crate::{check, rendered};

const GRAPH_ITEM: &str = "expected `start`, `defaults`, `channel`, `node` or an edge, found";
const NODE_ITEM: &str =
    "expected `kind`, `model`, `prompt`, `tools`, `output`, `next` or `routes`, found";

/// Checks sources that have one error each, without its place.
#[track_caller]
fn check_one(cases: &[(&str, String)]) {
    for (source, expected) in cases {
        let errors = parse(source);
        let messages: Vec<_> = errors.errors().iter().map(ToString::to_string).collect();
        assert_eq!(messages, [expected.as_str()], "in {source:?}");
    }
}

#[test]
fn an_unknown_item_says_what_could_stand_there() {
    check_one(&[
        (
            "workflow g { start a }",
            "expected `graph`, found `workflow`".into(),
        ),
        (
            "node a { kind agent }",
            "expected `graph`, found `node`".into(),
        ),
        ("{", "expected `graph`, found `{`".into()),
        ("graph g { strt a }", format!("{GRAPH_ITEM} `strt`")),
        ("graph g { foo \"x\" 3 [,] }", format!("{GRAPH_ITEM} `foo`")),
        ("graph g { { a b { c } } }", format!("{GRAPH_ITEM} `{{`")),
        ("graph g { -> a }", format!("{GRAPH_ITEM} `->`")),
        (
            "graph g { node n { promt \"x\" } }",
            format!("{NODE_ITEM} `promt`"),
        ),
        (
            "graph g { node n { \"x\" kind a } }",
            format!("{NODE_ITEM} a string"),
        ),
        (
            "graph g { node n { 3 } }",
            format!("{NODE_ITEM} an integer"),
        ),
        (
            "graph g { node n { a -> b, c } }",
            format!("{NODE_ITEM} `a`"),
        ),
        (
            "graph g { defaults { 3 } }",
            "expected a setting or `}`, found an integer".into(),
        ),
        (
            "graph g { node n { routes { , } } }",
            "expected a route or `}`, found `,`".into(),
        ),
    ]);
}

#[test]
fn a_missing_part_says_what_it_is() {
    check(&[
        (
            "graph",
            &["1:6 expected a name for the graph, found the end of the file"],
        ),
        ("graph g", &["1:8 expected `{`, found the end of the file"]),
        (
            "graph { }",
            &["1:7 expected a name for the graph, found `{`"],
        ),
        (
            "graph \"g\" { }",
            &["1:7 expected a name for the graph, found a string"],
        ),
        (
            "graph g { node { } }",
            &["1:16 expected a name for the node, found `{`"],
        ),
        (
            "graph g { start }",
            &["1:17 expected the name of a node, found `}`"],
        ),
        (
            "graph g { start a, }",
            &["1:20 expected the name of a node, found `}`"],
        ),
        (
            "graph g { start a,, b }",
            &["1:19 expected the name of a node, found `,`"],
        ),
        (
            "graph g { start \"a\" }",
            &["1:17 expected the name of a node, found a string"],
        ),
        (
            "graph g { channel }",
            &["1:19 expected the name of a channel, found `}`"],
        ),
        (
            "graph g { channel c }",
            &["1:21 expected the name of a reducer, found `}`"],
        ),
        (
            "graph g { a -> }",
            &["1:16 expected the name of a node, found `}`"],
        ),
        (
            "graph g { defaults { a } }",
            &["1:24 expected an integer, a string or a word, found `}`"],
        ),
        (
            "graph g { defaults { a b 3 } }",
            &["1:24 expected an integer, a string or a word, found `b`"],
        ),
        (
            "graph g { node n { kind } }",
            &["1:25 expected a kind, found `}`"],
        ),
        (
            "graph g { node n { model x } }",
            &["1:26 expected a string, found `x`"],
        ),
        (
            "graph g { node n { prompt } }",
            &["1:27 expected a string, found `}`"],
        ),
        (
            "graph g { node n { output } }",
            &["1:27 expected the name of a channel, found `}`"],
        ),
        (
            "graph g { node n { routes { a b } } }",
            &["1:31 expected `->`, found `b`"],
        ),
        (
            "graph g { node n { routes } }",
            &["1:27 expected `{`, found `}`"],
        ),
    ]);
}

#[test]
fn a_missing_name_before_the_next_item_is_seen_as_such() {
    check(&[
        (
            "graph g { start\n a -> b }",
            &["2:2 expected the name of a node, found the next item, `a`"],
        ),
        (
            "graph g { start a,\n a -> b }",
            &["2:2 expected the name of a node, found the next item, `a`"],
        ),
        (
            "graph g { start node n { } }",
            &["1:17 expected the name of a node, found the next item, `node`"],
        ),
        (
            "graph g { channel c start n }",
            &["1:21 expected the name of a reducer, found the next item, `start`"],
        ),
        (
            "graph g { channel node n { } }",
            &["1:19 expected the name of a channel, found the next item, `node`"],
        ),
        (
            "graph g { node n { kind model \"x\" } }",
            &["1:25 expected a kind, found the next item, `model`"],
        ),
    ]);
}

#[test]
fn a_list_of_tools_has_one_error() {
    check(&[
        (
            "graph g { node n { tools } }",
            &["1:26 expected `[`, found `}`"],
        ),
        (
            "graph g { node n { tools \"a\", \"b\" } }",
            &["1:26 expected `[`, found a string"],
        ),
        (
            "graph g { node n { tools a b kind c } }",
            &["1:26 expected `[`, found `a`"],
        ),
        (
            "graph g { node n { tools [a, b, 3] } }",
            &["1:27 expected a string or `]`, found `a`"],
        ),
        (
            "graph g { node n { tools [,,] } }",
            &["1:27 expected a string or `]`, found `,`"],
        ),
        (
            "graph g { node n { tools [\"a\" \"b\" \"c\"] } }",
            &["1:31 expected `,` or `]`, found a string"],
        ),
        (
            "graph g { node n { tools [\"a\", \"b\" next c } }",
            &["1:26 `[` is not closed before `next`"],
        ),
    ]);
}

#[test]
fn brackets_are_matched() {
    check(&[
        (
            "graph g {",
            &["1:9 `{` is not closed before the end of the file"],
        ),
        (
            "graph g { node n { routes { a -> b",
            &["1:27 `{` is not closed before the end of the file"],
        ),
        (
            "graph g { node n { node m { } }",
            &["1:18 `{` is not closed before `node`"],
        ),
        (
            "graph g { graph h { }",
            &["1:9 `{` is not closed before `graph`"],
        ),
        (
            "graph g { defaults { a 3 start b }",
            &["1:20 `{` is not closed before `start`"],
        ),
        ("graph g { } }", &["1:13 `}` closes nothing"]),
        ("graph g { } } } graph h { }", &["1:13 `}` closes nothing"]),
    ]);
}

#[test]
fn an_edge_has_one_arrow() {
    check(&[
        (
            "graph g { a -> b -> c -> d }",
            &["1:18 targets cannot be followed by `->`"],
        ),
        (
            "graph g { start a -> b }",
            &["1:19 targets cannot be followed by `->`"],
        ),
        (
            "graph g { a -> -> b }",
            &["1:16 expected the name of a node, found `->`"],
        ),
    ]);
}

#[test]
fn characters_that_mean_nothing_are_one_error_a_run() {
    check(&[
        ("@@@", &["1:1 unexpected character `@`"]),
        (
            "graph g { start a; ;; }",
            &[
                "1:18 unexpected character `;`",
                "1:20 unexpected character `;`",
            ],
        ),
        ("graph g { a => b }", &["1:13 unexpected character `=`"]),
        (
            "graph g { defaults { a = 3 b: 4 } }",
            &[
                "1:24 unexpected character `=`",
                "1:29 unexpected character `:`",
            ],
        ),
        (
            "graph g\u{a0}{ }\u{0}`",
            &[
                "1:8 unexpected character U+00A0",
                "1:12 unexpected character U+0000",
            ],
        ),
        ("graph g { }\u{feff}", &["1:12 unexpected character U+FEFF"]),
        ("`", &["1:1 unexpected character U+0060 (a backtick)"]),
    ]);
}

#[test]
fn a_word_with_a_bad_character_stays_one_word() {
    check(&[
        (
            "graph my-graph { a.b -> naïve }",
            &[
                "1:9 a name cannot have the character `-`",
                "1:19 a name cannot have the character `.`",
                "1:27 a name cannot have the character `ï`",
            ],
        ),
        ("graph g { a->b c->d }", &[]),
    ]);
}

#[test]
fn strings_are_closed_and_have_known_escapes() {
    let source = |text: &str| format!("graph g {{ node n {{ prompt {text}\n}} }}");
    let cases: &[(&str, &[&str])] = &[
        (r#""x"#, &["1:27 the string is not closed"]),
        (r#""x\""#, &["1:27 the string is not closed"]),
        (r#""x\"#, &["1:27 the string is not closed"]),
        (r#""""x""#, &["1:27 the string is not closed"]),
        (
            r#""a\q\é""#,
            &[
                r"1:29 unknown escape: `\` and `q`",
                r"1:31 unknown escape: `\` and `é`",
            ],
        ),
        (
            "\"\"\"a\\\nb\"\"\"",
            &[r"1:31 unknown escape: `\` and the line end"],
        ),
        (
            r#""\u" "#,
            &[r"1:28 `\u` takes one to six hex digits in braces"],
        ),
        (
            r#""\u{}""#,
            &[r"1:28 `\u` takes one to six hex digits in braces"],
        ),
        (
            r#""\u{x}""#,
            &[r"1:28 `\u` takes one to six hex digits in braces"],
        ),
        (
            r#""\u{0000041}""#,
            &[r"1:28 `\u` takes one to six hex digits in braces"],
        ),
        (r#""\u{d800}""#, &["1:28 there is no character `U+D800`"]),
        (
            r#""\u{110000}""#,
            &["1:28 there is no character `U+110000`"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(rendered(&source(text)), *expected, "{text}");
    }
}

#[test]
fn the_range_of_a_bad_escape_is_inside_of_its_string() {
    let source = r#"graph g { node n { prompt "é\u{zz}" model "\q" } }"#;
    let parse = parse(source);
    let said: Vec<_> = parse
        .errors()
        .iter()
        .map(|error| &source[error.range])
        .collect();
    assert_eq!(said, [r"\u{", r"\q"]);
}

#[test]
fn integers_are_well_formed_and_fit() {
    let source = |integer: &str| format!("graph g {{ defaults {{ a {integer} }} }}");
    for good in [
        "0",
        "-0",
        "007",
        "1_000",
        "9223372036854775807",
        "-9223372036854775808",
    ] {
        assert_eq!(rendered(&source(good)), [""; 0], "{good}");
    }
    for bad in ["1_", "1__0", "12ab", "0x10", "-1_"] {
        assert_eq!(
            rendered(&source(bad)),
            ["1:24 the integer is malformed"],
            "{bad}"
        );
    }
    for large in [
        "9223372036854775808",
        "-9223372036854775809",
        &"9".repeat(100),
    ] {
        let expected = ["1:24 the integer does not fit into 64 bits"];
        assert_eq!(rendered(&source(large)), expected, "{large}");
    }
}

#[test]
fn hints_say_what_to_write_instead() {
    let cases = [
        ("graph g { strat a }", "did you mean `start`?"),
        ("graph g { Node n { } }", "did you mean `node`?"),
        (
            "graph g { node n { promt \"x\" } }",
            "did you mean `prompt`?",
        ),
        (
            "graph g { model \"x\" }",
            "`model` belongs inside of a `node`",
        ),
        (
            "graph g { node n { channel a b } }",
            "`channel` belongs inside of a `graph`, outside of its nodes",
        ),
        (
            "graph g { graph h { } }",
            "`graph` belongs outside of other graphs",
        ),
        (
            "graph g { node n { model fast } }",
            "strings are quoted: `\"fast\"`",
        ),
        (
            "graph g { node n { tools [find] } }",
            "strings are quoted: `\"find\"`",
        ),
        ("# graph", "comments start with `//`"),
    ];
    for (source, hint) in cases {
        assert_eq!(
            parse(source).errors()[0].hint().as_deref(),
            Some(hint),
            "in {source:?}"
        );
    }
    assert_eq!(parse("graph g { something }").errors()[0].hint(), None);
}

#[test]
fn the_number_of_errors_is_bounded() {
    for part in ["$ ", "foo start a ", "\"\\q\" ", "node { } "] {
        let parse = parse(&format!("graph g {{ {}", part.repeat(1_000)));
        let (last, errors) = parse.errors().split_last().unwrap();
        assert_eq!(errors.len(), MAX_ERRORS, "{part}");
        assert_eq!(
            last.kind,
            SyntaxErrorKind::TooManyErrors { limit: MAX_ERRORS }
        );
        assert!(
            errors
                .iter()
                .all(|error| error.range.start() <= last.range.start())
        );
    }
}

#[test]
fn exactly_the_limit_of_errors_has_no_marker() {
    let parse = parse(&"$ ".repeat(MAX_ERRORS));
    assert_eq!(parse.errors().len(), MAX_ERRORS);
    assert_eq!(
        parse.errors()[MAX_ERRORS - 1].kind,
        SyntaxErrorKind::UnexpectedCharacter { character: '$' }
    );
}

#[test]
fn a_long_word_is_cut_in_errors() {
    let parse = parse(&"a".repeat(100_000));
    assert!(parse.errors()[0].to_string().len() < 100);
}

#[test]
fn a_source_over_the_limit_is_one_error_and_an_empty_program() {
    let parse = parse(&"$".repeat(MAX_SOURCE_BYTES + 1));
    let [error] = parse.errors() else {
        panic!("one error")
    };
    assert_eq!(
        error.to_string(),
        "the source has 1048577 bytes, the limit is 1048576"
    );
    assert_eq!(error.range, TextRange::default());
    assert_eq!(parse.syntax().text(), "");
    assert_eq!(parse.program().graphs().count(), 0);
}

#[test]
fn a_source_at_the_limit_is_parsed() {
    let mut source = "graph g { }".to_owned();
    source.push_str(&" ".repeat(MAX_SOURCE_BYTES - source.len()));
    let parse = parse(&source);
    assert_eq!(parse.errors(), []);
    assert_eq!(parse.syntax().text(), source.as_str());
}

#[test]
fn a_deep_source_makes_no_deep_tree() {
    for part in [
        "{",
        "[",
        "graph g { node n { ",
        "defaults {",
        "a -> ",
        "routes { a -> b ",
    ] {
        let source = format!("graph g {{ node n {{ {}", part.repeat(1_000));
        let tree = parse(&source).syntax();
        let depth = tree
            .descendants()
            .map(|node| node.ancestors().count())
            .max();
        assert!(depth <= Some(8), "{part}");
        assert_eq!(tree.text(), source.as_str());
    }
}
