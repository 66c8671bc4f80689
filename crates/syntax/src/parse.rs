//! The entry: a source to a tree and its errors.

use rowan::{GreenNode, GreenNodeBuilder, Language, TextRange, TextSize};

use crate::{
    ast,
    error::{Errors, SyntaxError, SyntaxErrorKind},
    grammar,
    kind::{Rag, SyntaxKind, SyntaxNode},
    lexer,
    parser::Parser,
};

/// The largest source that is parsed, in bytes.
pub const MAX_SOURCE_BYTES: usize = 1 << 20;

/// A parsed source: its tree and its errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parse {
    tree: GreenNode,
    errors: Vec<SyntaxError>,
}

impl Parse {
    /// The root of the tree.
    pub fn syntax(&self) -> SyntaxNode {
        SyntaxNode::new_root(self.tree.clone())
    }

    /// The tree, by meaning.
    pub fn program(&self) -> ast::Program {
        ast::Program::of_root(self.syntax())
    }

    /// What is wrong with the source, in its order.
    pub fn errors(&self) -> &[SyntaxError] {
        &self.errors
    }
}

/// Parses `source`. There is always a tree, and its text is `source`.
///
/// A source over [`MAX_SOURCE_BYTES`] is not looked at: the tree is an empty
/// program, and the one error says so.
///
/// ```
/// let parse = rustagents_syntax::parse("graph hello { start a  node a { next END } }");
/// assert!(parse.errors().is_empty());
/// let graph = parse.program().graphs().next().ok_or("a graph")?;
/// assert_eq!(graph.name().ok_or("a name")?.text(), "hello");
///
/// let parse = rustagents_syntax::parse("graph hello { strat a }");
/// let error = &parse.errors()[0];
/// assert_eq!(
///     error.to_string(),
///     "expected `start`, `defaults`, `channel`, `node` or an edge, found `strat`"
/// );
/// assert_eq!(error.hint().as_deref(), Some("did you mean `start`?"));
/// # Ok::<(), &str>(())
/// ```
pub fn parse(source: &str) -> Parse {
    if source.len() > MAX_SOURCE_BYTES {
        return too_large(source.len());
    }
    let mut parser = Parser::new(source, lexer::lex(source));
    grammar::program(&mut parser);
    let (tree, errors) = parser.finish();
    Parse { tree, errors }
}

fn too_large(bytes: usize) -> Parse {
    let mut builder = GreenNodeBuilder::new();
    builder.start_node(Rag::kind_to_raw(SyntaxKind::Program));
    builder.finish_node();
    let mut errors = Errors::default();
    let kind = SyntaxErrorKind::SourceTooLarge {
        bytes,
        limit: MAX_SOURCE_BYTES,
    };
    errors.push(TextRange::default(), kind);
    Parse {
        tree: builder.finish(),
        errors: errors.finish(),
    }
}

/// The range between two byte offsets of a source, `start` not after `end`.
pub(crate) fn range(start: usize, end: usize) -> TextRange {
    let size = |offset: usize| TextSize::from(u32::try_from(offset).unwrap_or(u32::MAX));
    TextRange::new(size(start), size(end))
}
