//! What people write who come from other languages and tools, and how the same is written here.

use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::literal;

use super::ast::{ExprKind, ExprNode, StatementKind};
use super::lexer::{Token, TokenKind};
use super::parser::Parser;
use super::words::Word;

/// Tokens that are looked at for the block of a statement whose head is wrong.
const FAR: usize = 64;

/// Words that begin a function elsewhere.
const FUNCTIONS: [&str; 6] = ["function", "func", "fn", "fun", "proc", "sub"];

/// The remedy for a word that begins a statement elsewhere.
pub(super) fn of_statement(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        word if FUNCTIONS.contains(&word) => "a function is defined with `def name($a, $b = 4k) { … }`",
        "elif" | "elsif" | "elseif" => "write `else if`, in two words",
        "foreach" => "write `for $x in [1k, 4k] { … }`",
        "loop" => "write `repeat 10 { … }`, or `while 1 { … }` without an end",
        "var" | "const" | "int" | "float" | "string" | "auto" => {
            "a variable is defined by its value: `$x = 1;`"
        }
        "import" | "require" | "use" => "write `include \"file\";`",
        "echo" | "puts" => "write `print(…);`",
        _ => return None,
    })
}

/// The remedy for a word in place of a value.
fn of_value(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "true" | "false" => "truth is a number: 1 is true and 0 is false",
        "null" | "nil" | "none" | "nullptr" => "there is no empty value: use 0 or \"\"",
        "not" => "`!` means not",
        _ => return None,
    })
}

impl Parser<'_, '_> {
    /// How what stands here, behind the token before it, is written in this language.
    pub(super) fn habit(&self) -> Option<String> {
        let (before, token, next) = (self.last_token, self.token, self.peek());
        let doubled = next.kind == token.kind && next.start == token.end;
        let assigns = next.kind == TokenKind::Sign(b'=') && next.start == token.end;
        let after_variable = before.kind == TokenKind::Variable;
        let variable = self.text_of(before);
        let sign = self.word();
        Some(match token.kind {
            TokenKind::Sign(b'/') if doubled || before.kind == token.kind => {
                "a comment begins with `#`".into()
            }
            TokenKind::Sign(b'+' | b'-') if doubled && after_variable => {
                format!("write `{variable} = {variable} {sign} 1`")
            }
            TokenKind::Sign(b'+' | b'-' | b'*' | b'/' | b'%') if assigns && after_variable => {
                format!("write `{variable} = {variable} {sign} …`")
            }
            TokenKind::Sign(b':') if assigns => "`=` assigns".into(),
            TokenKind::Equal if after_variable => "one `=` assigns, two compare".into(),
            TokenKind::Sign(b'=') => "`==` compares, `=` assigns to a variable".into(),
            TokenKind::Range => "a range stands in `for $i in 0..10 { … }` only".into(),
            TokenKind::Sign(b':') if before.kind != TokenKind::Text => {
                "leave `:` out: the statement or block follows at once".into()
            }
            TokenKind::Sign(b':') => {
                "pairs such as `\"a\": 2` stand in `define report` and `define hints` only".into()
            }
            TokenKind::Word => match sign.to_ascii_lowercase().as_str() {
                "then" | "do" | "begin" | "times" => {
                    format!("leave `{sign}` out: the body follows at once, as in `repeat 10 {{ … }}`")
                }
                "in" => "`for $i in 0..10 { … }` counts through a range".into(),
                "and" => "`&&` means and".into(),
                "or" => "`||` means or".into(),
                "depth" => "`async depth=8 { … }` keeps 8 operations in flight".into(),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The number here with a unit behind a blank, as in `5 ms`: reports it, takes the number, and gives both in one word.
    pub(super) fn unit_apart(&mut self) -> Option<String> {
        let number = self.token;
        let (unit, after) = self.peek_two();
        // `repeat 10 min(1, 2);` is a call.
        if self.classic || unit.kind != TokenKind::Word || after.kind == TokenKind::Sign(b'(') {
            return None;
        }
        let joined = literal::with_unit(self.text_of(number), self.text_of(unit))?;
        let span = self.place(number).to(self.place(unit));
        if self.slice(span).contains('\n') {
            return None;
        }
        let message = format!("a unit stands at its number, without a blank: `{joined}`");
        self.error_here(
            Diagnostic::error(DiagnosticCode::BadNumber, span, message).did_you_mean(&joined, Some(span)),
        );
        self.take();
        Some(joined)
    }

    /// The error for a word in place of a value, and whether the word stands alone there, so that what follows can be read.
    pub(super) fn no_value(&self, error: Diagnostic) -> (Diagnostic, bool) {
        let word = self.word();
        let next = self.peek();
        let in_arguments = matches!(self.last_token.kind, TokenKind::Sign(b'(' | b','));
        let help = match next.kind {
            TokenKind::Sign(b'=') if in_arguments => {
                format!(
                    "arguments have no names: give the value alone, in its place (a variable is `${word}`)"
                )
            }
            _ => match of_value(word) {
                Some(help) => help.to_owned(),
                None => self.habit().unwrap_or_else(|| {
                    format!("a variable begins with a dollar sign, text is in double quotes: `${word}`, `\"{word}\"`")
                }),
            },
        };
        let alone = matches!(
            next.kind,
            TokenKind::Sign(
                b',' | b')' | b']' | b';' | b'{' | b'?' | b':' | b'+' | b'-' | b'*' | b'%' | b'<' | b'>'
            ) | TokenKind::Equal
                | TokenKind::NotEqual
                | TokenKind::AtMost
                | TokenKind::AtLeast
                | TokenKind::And
                | TokenKind::Or
                | TokenKind::Range
        );
        (error.help(help), alone && Word::find(word).is_none())
    }

    /// Whether a statement may begin here.
    pub(super) fn begins_statement(&self) -> bool {
        match self.token.kind {
            TokenKind::Sign(b'{' | b';') | TokenKind::Variable => true,
            TokenKind::Word => {
                self.classic || Word::find(self.word()).is_some() || self.peek().kind == TokenKind::Sign(b'(')
            }
            _ => false,
        }
    }

    /// Whether a block begins before the statement ends.
    pub(super) fn has_block_ahead(&self) -> bool {
        let mut lexer = self.lexer_at_next();
        let mut token = self.token;
        for _ in 0..FAR {
            match token.kind {
                TokenKind::Sign(b'{') => return true,
                TokenKind::Sign(b';' | b'}') | TokenKind::End => return false,
                _ => token = lexer.token(),
            }
        }
        false
    }

    /// Skips to the block of a statement whose head is wrong: mistakes inside it are found too.
    pub(super) fn skip_to_block(&mut self) {
        while !self.is_sign(b'{') && self.token.kind != TokenKind::End {
            self.take();
        }
    }

    /// The name of a loop's variable without its dollar sign: reports it, and takes it as the variable that it means. `counts`
    /// says whether what follows belongs to a loop.
    pub(super) fn loop_variable_without_dollar(
        &mut self,
        counts: impl Fn(&Self, Token) -> bool,
    ) -> Option<ExprNode> {
        let word = self.word();
        if self.token.kind != TokenKind::Word || Word::find(word).is_some() || !counts(self, self.peek()) {
            return None;
        }
        let start = self.offset();
        let error = self.expectation("a variable");
        self.error_here(error.did_you_mean(&format!("${word}"), Some(self.here())));
        let symbol = self.intern(word);
        self.take();
        Some(self.node(start, ExprKind::Variable(symbol)))
    }

    /// `for ($i = 0; $i < 10; $i++) S`: reports it, and reads its body.
    pub(super) fn for_of_c(&mut self) -> Option<StatementKind> {
        let (first, second) = self.peek_two();
        let has_variable = first.kind == TokenKind::Variable && second.kind == TokenKind::Sign(b'=');
        let has_type = first.kind == TokenKind::Word && second.kind == TokenKind::Word;
        if !self.is_sign(b'(') || !(has_variable || has_type) {
            return None;
        }
        let help = "write `for $i in 0..10 { … }`, or `repeat $i 10 { … }`: both count from 0 to 9";
        self.expected("a time or a variable", Some(help.into()));
        self.take();
        let variable = if has_variable { self.variable() } else { self.absent() };
        let mut open = 1_u32;
        while open > 0 && !matches!(self.token.kind, TokenKind::End | TokenKind::Sign(b'{' | b'}')) {
            match self.token.kind {
                TokenKind::Sign(b'(') => open += 1,
                TokenKind::Sign(b')') => open -= 1,
                _ => {}
            }
            self.take();
        }
        let variable = self.push_expr(variable);
        let [from, to] = [self.absent(), self.absent()].map(|part| self.push_expr(part));
        Some(StatementKind::ForRange { variable, from, to, step: None, body: self.body() })
    }

    /// `{…}` in place of a value: reports it, and skips it as one value.
    pub(super) fn braces_of_others(&mut self) -> bool {
        let opens = matches!(self.last_token.kind, TokenKind::Sign(b'(' | b',' | b'[' | b'='));
        if !self.is_sign(b'{') || !opens {
            return false;
        }
        self.expected("a value", Some("a list is written in square brackets: `[1, 2]`".into()));
        let mut open = 0_u32;
        while self.token.kind != TokenKind::End {
            match self.token.kind {
                TokenKind::Sign(b'{') => open += 1,
                TokenKind::Sign(b'}') => open -= 1,
                _ => {}
            }
            self.take();
            if open == 0 {
                break;
            }
        }
        true
    }

    /// `function f() S`: reports it, and reads it as the definition that it means.
    pub(super) fn function_of_others(&mut self) -> bool {
        let is_named = self.peek().kind == TokenKind::Word;
        let is_one = FUNCTIONS.contains(&self.word().to_ascii_lowercase().as_str());
        if !is_one || !is_named || self.classic {
            return false;
        }
        let message = format!("unknown word `{}`", self.word());
        let error = Diagnostic::error(DiagnosticCode::UnknownWord, self.here(), message);
        self.error_here(error.help_maybe(of_statement(self.word()).map(str::to_owned)));
        self.take();
        true
    }

    /// `time("label") S`: the label, reported, where its brackets are round.
    pub(super) fn label_in_parentheses(&mut self) -> Option<ExprNode> {
        let (first, second) = self.peek_two();
        let is_one = first.kind == TokenKind::Text && second.kind == TokenKind::Sign(b')');
        if self.classic || !self.is_sign(b'(') || !is_one {
            return None;
        }
        let word = self.text_of(self.last_token);
        let help = format!("the label stands in square brackets: `{word}[{}]`", self.text_of(first));
        self.expected("a statement, a block or `[`", Some(help));
        self.take();
        let label = self.text();
        self.take();
        Some(label)
    }
}
