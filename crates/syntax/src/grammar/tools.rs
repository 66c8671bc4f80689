//! A list of tools.

use crate::{error::Expected, keyword, kind::SyntaxKind, parser::Parser};

/// Reads `[ "NAME", … ]`. A list gets one error, however many it has.
pub(super) fn tools(parser: &mut Parser<'_>) {
    let opening = parser.range();
    let mut errors = OneError::default();
    if !parser.eat(SyntaxKind::LeftBracket) {
        errors.expected(parser, Expected::Symbol("["));
    }
    let mut wants_tool = true;
    while !ends_list(parser) {
        let kind = parser.nth(0);
        let fits = kind
            == if wants_tool {
                SyntaxKind::Text
            } else {
                SyntaxKind::Comma
            };
        if !fits {
            let expected = if wants_tool {
                Expected::Tool
            } else {
                Expected::ToolSeparator
            };
            errors.expected(parser, expected);
        }
        match kind {
            SyntaxKind::Text | SyntaxKind::Comma => parser.bump(),
            _ => parser.bump_as(SyntaxKind::Skipped),
        }
        wants_tool = kind == SyntaxKind::Comma;
    }
    if !parser.eat(SyntaxKind::RightBracket) && !errors.reported {
        parser.unclosed(opening, "[");
    }
}

/// Whether the next token is the closing bracket, or belongs to no list.
fn ends_list(parser: &Parser<'_>) -> bool {
    match parser.nth(0) {
        SyntaxKind::Word => {
            let is_keyword = parser
                .word(0)
                .is_some_and(|word| keyword::exact(word, keyword::OF_NODE).is_some());
            let is_listed = matches!(parser.nth(1), SyntaxKind::Comma | SyntaxKind::RightBracket);
            (is_keyword && !is_listed) || parser.at_arrow_after_word(0)
        }
        SyntaxKind::Text | SyntaxKind::Integer | SyntaxKind::Comma => false,
        _ => true,
    }
}

/// Reports the first error only.
#[derive(Default)]
struct OneError {
    reported: bool,
}

impl OneError {
    fn expected(&mut self, parser: &mut Parser<'_>, expected: Expected) {
        if !self.reported {
            parser.expected(expected);
        }
        self.reported = true;
    }
}
