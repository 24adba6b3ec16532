//! Which bare words does the language know?

use crate::commands::{Command, Function};

macro_rules! keywords {
    ($($name:ident $text:literal,)*) => {
        /// A word with a meaning in the grammar. Case-insensitive.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Keyword { $($name,)* }

        impl Keyword {
            /// All keywords with their spelling.
            pub const ALL: &[(Keyword, &str)] = &[$((Keyword::$name, $text),)*];

            fn find(text: &[u8]) -> Option<Self> {
                $(const $name: &[u8] = $text.as_bytes();)*
                match text {
                    $(text if text == $name => Some(Keyword::$name),)*
                    _ => None,
                }
            }
        }
    };
}

#[allow(non_upper_case_globals)]
mod list {
    use super::{Command, Function};

    keywords! {
        Define "define", Repeat "repeat", Time "time", Ctime "ctime", Barrier "barrier",
        Master "master", Group "group", If "if", Else "else", While "while", For "for",
        Break "break", Continue "continue", Def "def", Return "return", Let "let",
        Include "include", Parallel "parallel", Async "async", Phase "phase", Rate "rate",
        Think "think", At "at", Choose "choose", Expect "expect", Assert "assert",
        OnError "on_error", Verify "verify", Stonewall "stonewall",
    }

    /// A bare word that means something where a statement or a value may begin.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Word {
        /// A word of the grammar.
        Keyword(Keyword),
        /// A command.
        Command(Command),
        /// A built-in function.
        Function(Function),
    }

    impl Word {
        /// The word that `text` spells; capitals do not matter.
        pub fn find(text: &str) -> Option<Self> {
            let mut lower = [0u8; 16];
            let lower = lower.get_mut(..text.len())?;
            lower.copy_from_slice(text.as_bytes());
            lower.make_ascii_lowercase();
            let text = std::str::from_utf8(lower).ok()?;
            Command::find(text)
                .map(Word::Command)
                .or_else(|| Keyword::find(text.as_bytes()).map(Word::Keyword))
                .or_else(|| Function::find(text).map(Word::Function))
        }
    }
}

pub use list::{Keyword, Word};

/// Every word that can begin a statement.
pub(crate) fn statement_words() -> impl Iterator<Item = &'static str> {
    Keyword::ALL.iter().map(|(_, text)| *text).chain(Command::all().map(Command::name))
}
