//! Parses text to tokens and to a tree.
//!
//! [`parse`] never fails: it returns a [`Tree`] and diagnostics. The tree keeps spans into the text;
//! [`Lexer::with_trivia`] yields comments and blanks too, for a formatter.

mod ast;
mod children;
mod compound;
mod conditions;
mod defines;
mod expressions;
mod habits;
mod lexer;
mod names;
mod outline;
mod parse;
mod parser;
mod statements;
pub mod template;
mod tree;
mod words;

pub use ast::{
    BinaryOp, BoundUnit, Callee, Define, ExprId, ExprKind, ExprNode, Exprs, Range, Statement, StatementId,
    StatementKind, Statements, Stonewall, UnaryOp,
};
pub use children::Children;
pub use lexer::{Lexer, Token, TokenKind, is_closed};
pub use names::{Names, Symbol};
pub use outline::{Defined, Definition, outline};
pub use parse::{Parse, parse, parse_with};
pub use parser::{MAX_NESTING, MAX_OPERATORS};
pub use tree::Tree;
pub(crate) use tree::put_behind;
pub use words::{Keyword, KeywordSpec, Word};
