//! Lists the tokens and comments of a text, with the line ends between them.

use crate::syntax::{Lexer, TokenKind};

/// A comment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comment {
    pub start: u32,
    pub end: u32,
    /// Line ends between it and the previous token or comment.
    pub lines_before: u32,
    /// Whether it is a line comment, `# …`.
    pub to_line_end: bool,
}

/// A token with the comments before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub kind: TokenKind,
    pub start: u32,
    pub end: u32,
    /// Line ends between it and the previous token or comment.
    pub lines_before: u32,
    /// Its comments: first and one past the last in the list of comments.
    pub comments: (u32, u32),
}

impl Item {
    pub fn is_sign(&self, sign: u8) -> bool {
        self.kind == TokenKind::Sign(sign)
    }

    pub fn has_comments(&self) -> bool {
        self.comments.0 < self.comments.1
    }
}

/// All tokens, the end of the text as the last one, and all comments.
pub(super) fn scan(text: &str, classic: bool) -> (Vec<Item>, Vec<Comment>) {
    let mut lexer = Lexer::with_trivia(text).classic(classic);
    let mut items = Vec::new();
    let mut comments: Vec<Comment> = Vec::new();
    let mut lines_before = 0;
    let mut first = 0;
    loop {
        let token = lexer.token();
        let found = &text.as_bytes()[token.start as usize..token.end as usize];
        match token.kind {
            TokenKind::Blank => {
                lines_before += found.iter().filter(|byte| **byte == b'\n').count() as u32;
            }
            TokenKind::Comment => {
                let to_line_end = found.first() == Some(&b'#');
                comments.push(Comment { start: token.start, end: token.end, lines_before, to_line_end });
                lines_before = 0;
            }
            kind => {
                let last = comments.len() as u32;
                items.push(Item {
                    kind,
                    start: token.start,
                    end: token.end,
                    lines_before,
                    comments: (first, last),
                });
                first = last;
                lines_before = 0;
                if kind == TokenKind::End {
                    return (items, comments);
                }
            }
        }
    }
}
