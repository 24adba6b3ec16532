//! Splits text into tokens.

use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A keyword, a command or another bare word.
    Word,
    /// `$name`
    Variable,
    /// `$$name`
    Builtin,
    /// `10`, `4k`, `1.5`, `5ms`
    Number,
    /// `"…"`
    Text,
    /// One of `( ) { } [ ] , ; : ? = + - * / % ^ < > !` by its character.
    Sign(u8),
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `..`
    Range,
    /// `# …` or `/* … */`; only with trivia.
    Comment,
    /// Blanks and line ends; only with trivia.
    Blank,
    /// A character that is not part of the language.
    Unknown,
    /// The end of the text.
    End,
}

/// A token with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Token {
    /// Its span.
    pub fn span(self) -> Span {
        Span::new(self.start, self.end)
    }
}

/// Splits text into tokens. Cheap to clone, which the parser does to look ahead.
#[derive(Clone)]
pub struct Lexer<'a> {
    text: &'a [u8],
    position: usize,
    trivia: bool,
    classic: bool,
}

impl<'a> Lexer<'a> {
    /// Yields tokens without comments and blanks.
    pub fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), position: 0, trivia: false, classic: false }
    }

    /// Yields every token including comments and blanks, which together are the whole text.
    pub fn with_trivia(text: &'a str) -> Self {
        Self { trivia: true, ..Self::new(text) }
    }

    /// Uses the rules of the original: strings may contain line ends, and a backslash always escapes a quote.
    pub(crate) fn classic(self, classic: bool) -> Self {
        Self { classic, ..self }
    }

    /// The next token; at the end of the text always `End`.
    pub fn token(&mut self) -> Token {
        loop {
            let start = self.position;
            let kind = self.advance();
            if self.trivia || !matches!(kind, TokenKind::Comment | TokenKind::Blank) {
                return Token { kind, start: start as u32, end: self.position as u32 };
            }
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.position + ahead).copied().unwrap_or(0)
    }

    #[inline]
    fn skip_while(&mut self, keep: impl Fn(u8) -> bool) {
        while let Some(&byte) = self.text.get(self.position) {
            if !keep(byte) {
                break;
            }
            self.position += 1;
        }
    }

    fn advance(&mut self) -> TokenKind {
        let start = self.position;
        let Some(&first) = self.text.get(start) else { return TokenKind::End };
        self.position += 1;
        match first {
            b' ' | b'\t' | b'\r' | b'\n' | 0x0c => {
                self.skip_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0c));
                TokenKind::Blank
            }
            b'#' => {
                self.skip_while(|byte| byte != b'\n');
                TokenKind::Comment
            }
            b'/' if self.peek(0) == b'*' => {
                self.position += 1;
                while self.position < self.text.len() && !(self.peek(0) == b'*' && self.peek(1) == b'/') {
                    self.position += 1;
                }
                self.position = (self.position + 2).min(self.text.len());
                TokenKind::Comment
            }
            b'"' => self.string(),
            b'$' if self.peek(0) == b'$' => {
                self.position += 1;
                self.skip_while(is_name);
                TokenKind::Builtin
            }
            b'$' => {
                self.skip_while(is_name);
                TokenKind::Variable
            }
            b'0'..=b'9' => self.number(),
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => {
                self.skip_while(is_name);
                // `p99.9`, a quantity of conditions: nothing else has a point behind a word.
                if matches!(first, b'p' | b'P') && !self.classic && self.ends_in_point(start) {
                    self.position += 1;
                    self.skip_while(|byte| byte.is_ascii_digit());
                }
                TokenKind::Word
            }
            b'=' if self.peek(0) == b'=' => self.two(TokenKind::Equal),
            b'!' if self.peek(0) == b'=' => self.two(TokenKind::NotEqual),
            b'<' if self.peek(0) == b'=' => self.two(TokenKind::AtMost),
            b'>' if self.peek(0) == b'=' => self.two(TokenKind::AtLeast),
            b'&' if self.peek(0) == b'&' => self.two(TokenKind::And),
            b'|' if self.peek(0) == b'|' => self.two(TokenKind::Or),
            b'.' if self.peek(0) == b'.' => self.two(TokenKind::Range),
            b'(' | b')' | b'{' | b'}' | b'[' | b']' | b',' | b';' | b':' | b'?' | b'=' | b'+' | b'-'
            | b'*' | b'/' | b'%' | b'^' | b'<' | b'>' | b'!' => TokenKind::Sign(first),
            _ => {
                // Take all bytes of a multi-byte character.
                self.skip_while(|byte| byte & 0xc0 == 0x80);
                TokenKind::Unknown
            }
        }
    }

    /// Whether a word from `start` is `p` and digits, with a point and a digit behind.
    fn ends_in_point(&self, start: usize) -> bool {
        let digits = &self.text[start + 1..self.position];
        self.peek(0) == b'.'
            && self.peek(1).is_ascii_digit()
            && !digits.is_empty()
            && digits.iter().all(u8::is_ascii_digit)
    }

    fn two(&mut self, kind: TokenKind) -> TokenKind {
        self.position += 1;
        kind
    }

    fn string(&mut self) -> TokenKind {
        let classic = self.classic;
        loop {
            self.skip_while(|byte| !matches!(byte, b'"' | b'\\') && (classic || byte != b'\n'));
            match self.peek(0) {
                b'"' => {
                    self.position += 1;
                    break;
                }
                b'\\' => {
                    let from = self.position;
                    self.skip_while(|byte| byte == b'\\');
                    if self.peek(0) == b'"' && is_escaped(self.position - from, classic) {
                        self.position += 1;
                    }
                }
                _ => break,
            }
        }
        TokenKind::Text
    }

    fn number(&mut self) -> TokenKind {
        self.skip_while(|byte| byte.is_ascii_digit());
        if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            self.position += 1;
            self.skip_while(|byte| byte.is_ascii_digit());
        }
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.peek(1 + sign).is_ascii_digit() {
                self.position += 1 + sign;
                self.skip_while(|byte| byte.is_ascii_digit());
            }
        }
        // The unit; there are two characters for micro, with two bytes each.
        loop {
            self.skip_while(is_name);
            if !matches!((self.peek(0), self.peek(1)), (0xc2, 0xb5) | (0xce, 0xbc)) {
                break;
            }
            self.position += 2;
        }
        TokenKind::Number
    }
}

/// Whether a quote after so many backslashes is part of the string. Two backslashes before a quote are one
/// backslash and the end of the string; the original had no such pair.
fn is_escaped(backslashes: usize, classic: bool) -> bool {
    if classic { backslashes > 0 } else { backslashes % 2 == 1 }
}

/// Whether the string token has its closing quote.
pub fn is_closed(token: &str, classic: bool) -> bool {
    let Some(inside) = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return false };
    !is_escaped(inside.bytes().rev().take_while(|byte| *byte == b'\\').count(), classic)
}

/// Bytes of names, so that most bytes of a program cost one load.
const NAME: [bool; 256] = {
    let mut name = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        name[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    name
};

#[inline]
fn is_name(byte: u8) -> bool {
    NAME[usize::from(byte)]
}

/// The error of a comment that is never closed.
pub(crate) fn unclosed_comment(text: &str, classic: bool) -> Option<Diagnostic> {
    // Most texts have none, and a forward search is several times faster.
    if !text.contains("/*") {
        return None;
    }
    // Only the last comment of a text can be open.
    let open = text.rfind("/*")?;
    if text[open..].contains("*/") {
        return None;
    }
    let mut lexer = Lexer::with_trivia(text).classic(classic);
    loop {
        let token = lexer.token();
        if token.kind == TokenKind::End {
            return None;
        }
        let found = &text[token.start as usize..token.end as usize];
        if token.kind == TokenKind::Comment
            && found.starts_with("/*")
            && !(found.len() >= 4 && found.ends_with("*/"))
        {
            return Some(
                Diagnostic::error(
                    DiagnosticCode::UnclosedComment,
                    Span::new(token.start, token.start + 2),
                    "this comment is never closed",
                )
                .help("end it with `*/`"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_before_a_quote_makes_it_part_of_the_string() {
        let strings = |text: &str, classic| {
            let mut lexer = Lexer::new(text).classic(classic);
            let token = lexer.token();
            let cut = text[token.start as usize..token.end as usize].to_owned();
            let closed = is_closed(&cut, classic);
            (cut, closed)
        };
        for classic in [false, true] {
            assert_eq!(strings(r#""a \"b\" c" d"#, classic), (r#""a \"b\" c""#.into(), true));
            assert_eq!(strings(r#""a\n\t" d"#, classic), (r#""a\n\t""#.into(), true));
            assert_eq!(strings(r#""a\""#, classic), (r#""a\""#.into(), false));
        }
        assert_eq!(strings(r#""a\\" "b""#, false), (r#""a\\""#.into(), true));
        assert_eq!(strings(r#""a\\" "b""#, true), (r#""a\\" ""#.into(), true));
    }

    #[test]
    fn all_tokens_together_are_the_text() {
        let text = "a \"b\n c # d\n /* e */ 4k..7 $x$$y µ /* open";
        let mut lexer = Lexer::with_trivia(text);
        let mut seen = String::new();
        loop {
            let token = lexer.token();
            if token.kind == TokenKind::End {
                break;
            }
            seen.push_str(&text[token.start as usize..token.end as usize]);
        }
        assert_eq!(seen, text);
    }
}
