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
        }
    };
}

mod list {
    use std::collections::HashMap;
    use std::hash::BuildHasherDefault;
    use std::sync::LazyLock;

    use super::{Command, Function};
    use crate::syntax::names::WordHasher;

    keywords! {
        Define "define", Repeat "repeat", Time "time", Ctime "ctime", Barrier "barrier",
        Master "master", Group "group", If "if", Else "else", While "while", For "for",
        Break "break", Continue "continue", Def "def", Return "return", Let "let",
        Include "include", Parallel "parallel", Async "async", Phase "phase", Rate "rate",
        Think "think", At "at", Choose "choose", Expect "expect", Assert "assert",
        OnError "on_error", Verify "verify", Stonewall "stonewall",
    }

    /// All words: one look-up instead of a hundred comparisons.
    static TABLE: LazyLock<HashMap<&'static str, Word, BuildHasherDefault<WordHasher>>> =
        LazyLock::new(|| {
            let functions = Function::all().map(|function| (function.spec().name, Word::Function(function)));
            let keywords = Keyword::ALL.iter().map(|(keyword, text)| (*text, Word::Keyword(*keyword)));
            let commands = Command::all().map(|command| (command.name(), Word::Command(command)));
            // The last of a name counts.
            functions.chain(keywords).chain(commands).collect()
        });

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
            TABLE.get(std::str::from_utf8(lower).ok()?).copied()
        }
    }
}

pub use list::{Keyword, Word};

/// Every word that can begin a statement.
pub(crate) fn statement_words() -> impl Iterator<Item = &'static str> {
    Keyword::ALL.iter().map(|(_, text)| *text).chain(Command::all().map(Command::name))
}
