//! How does program text become a tree?
//!
//! [`parse`] never fails: it returns a [`Tree`] and what is wrong with it. The tree keeps spans
//! into the text; comments and blanks are reachable through [`Lexer::with_trivia`], which yields
//! every token, so that a printer can put them back.

mod defines;
mod expressions;
mod lexer;
pub mod literal;
mod names;
mod outline;
mod parser;
mod statements;
pub mod template;
mod tree;
mod words;

pub use lexer::{Lexer, Token, TokenKind};
pub use names::{Names, Symbol};
pub use outline::{Defined, Definition, outline};
pub use parser::{MAX_NESTING, MAX_OPERATORS, Parse, parse, parse_with};
pub use tree::{
    BinaryOp, Callee, Expr, ExprId, ExprKind, Exprs, Range, Statement, StatementId, StatementKind,
    Statements, Stonewall, Tree, UnaryOp,
};
pub(crate) use tree::{Form, Tag};
pub use words::{Keyword, KeywordSpec, Word};
