//! Decides whether two tokens are separated by a blank.

use crate::syntax::TokenKind;

use super::marks::Marks;
use super::tokens::Item;

/// The spacing rules of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpacingRules {
    /// `define groups {"a":S, "b":D/1}`
    Groups,
    /// `define param "name" $variable [1, 2]`
    Param,
    /// The other definitions.
    Define,
    /// `rate 1000/s`
    Rate,
    /// `async depth=32`
    Async,
    /// `time["label"]`
    Time,
    /// Any other statement.
    Other,
}

/// State over the tokens of a statement so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spacing {
    around: SpacingRules,
    brackets: u32,
    /// Number of `?` whose `:` has not occurred yet.
    questions: u32,
    before: Option<Item>,
    before_that: Option<Item>,
}

impl Spacing {
    pub fn new(around: SpacingRules) -> Self {
        Self { around, brackets: 0, questions: 0, before: None, before_that: None }
    }

    /// The previous token.
    pub fn before(&self) -> Option<Item> {
        self.before
    }

    /// Whether the next token is the name in `$$env(NAME)`.
    pub fn is_environment_name(&self, text: &str) -> bool {
        self.before.is_some_and(|before| before.is_sign(b'('))
            && self.before_that.is_some_and(|before| is_environment(&before, text))
    }

    /// Takes the next token and returns whether it follows the previous one without a blank.
    pub fn joins(&mut self, item: &Item, marks: &Marks, text: &str) -> bool {
        let question = self.is_choice(item);
        let joins = self.before.is_none_or(|before| self.is_joined(&before, item, marks, text));
        match item.kind {
            TokenKind::Sign(b'(' | b'[' | b'{') => self.brackets += 1,
            TokenKind::Sign(b')' | b']' | b'}') => self.brackets = self.brackets.saturating_sub(1),
            TokenKind::Sign(b'?') => self.questions += 1,
            TokenKind::Sign(b':') if question => self.questions -= 1,
            _ => {}
        }
        self.before_that = self.before.replace(*item);
        joins
    }

    /// Whether it is the `:` of `a ? b : c`.
    fn is_choice(&self, item: &Item) -> bool {
        item.is_sign(b':') && self.questions > 0
    }

    fn is_joined(&self, before: &Item, item: &Item, marks: &Marks, text: &str) -> bool {
        use TokenKind::{Range, Sign, Variable, Word};
        let define = matches!(self.around, SpacingRules::Groups | SpacingRules::Define | SpacingRules::Param);
        // A slash or equals sign that belongs to the statement.
        let of_statement = |kind: TokenKind| match self.around {
            SpacingRules::Rate => kind == Sign(b'/') && self.brackets == 0,
            SpacingRules::Groups => matches!(kind, Sign(b'/' | b':')),
            SpacingRules::Async => kind == Sign(b'=') && self.brackets == 0,
            _ => false,
        };
        match before.kind {
            Sign(b'(' | b'[') | Range => return true,
            Sign(b'{') if define => return true,
            Sign(b'-' | b'!') if marks.is_unary(before.start) => return true,
            kind if of_statement(kind) => return true,
            _ => {}
        }
        // `5%`, `1000/s`
        let bound = |item: &Item| marks.is_bound(item.start);
        if (bound(before) && matches!(item.kind, Sign(b'/' | b'%')))
            || (before.is_sign(b'/') && self.before_that.as_ref().is_some_and(bound))
        {
            return true;
        }
        match item.kind {
            Sign(b';' | b',' | b')' | b']') | Range => true,
            Sign(b'}') => define,
            Sign(b':') => !self.is_choice(item),
            Sign(b'(') => marks.is_tight(before.start) || is_environment(before, text),
            Sign(b'[') => match before.kind {
                Variable => {
                    // The default of a parameter is not an index of its variable.
                    self.around != SpacingRules::Param
                        || self.before_that.is_none_or(|before| before.kind != TokenKind::Text)
                }
                Sign(b')' | b']') => true,
                Word => self.around == SpacingRules::Time && self.before_that.is_none(),
                _ => false,
            },
            kind => of_statement(kind),
        }
    }
}

fn is_environment(item: &Item, text: &str) -> bool {
    item.kind == TokenKind::Builtin
        && text[item.start as usize..item.end as usize].eq_ignore_ascii_case("$$env")
}
