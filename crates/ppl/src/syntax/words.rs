//! Lists the bare words of the language: keywords, commands, functions.

use crate::commands::{Command, Function, mode};
use crate::errno;

macro_rules! keywords {
    ($($name:ident $text:literal $form:literal $what:literal example $example:literal;)*) => {
        /// A word with a meaning in the grammar. Case-insensitive.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Keyword { $($name,)* }

        impl Keyword {
            /// All keywords with their spellings.
            pub const ALL: &[(Keyword, &str)] = &[$((Keyword::$name, $text),)*];

            pub(super) const SPECS: &[KeywordSpec] =
                &[$(KeywordSpec { name: $text, form: $form, text: $what, example: $example },)*];
        }
    };
}

/// A keyword: its form and documentation.
#[derive(Clone, Copy, Debug)]
pub struct KeywordSpec {
    /// Spelling in a program.
    pub name: &'static str,
    /// The forms of its statement, a line each; `S` is a statement or a block.
    pub form: &'static str,
    /// Description in Markdown.
    pub text: &'static str,
    /// A complete example program.
    pub example: &'static str,
}

impl Keyword {
    /// Its form and documentation.
    pub fn spec(self) -> &'static KeywordSpec {
        &Self::SPECS[self as usize]
    }
}

mod list {
    use std::collections::HashMap;
    use std::hash::BuildHasherDefault;
    use std::sync::LazyLock;

    use super::{Command, Function, KeywordSpec};
    use crate::syntax::names::WordHasher;

    keywords! {
        Define "define" "define param \"name\" $v default [from a] [to b] [in [a, b, …]]\ndefine place \"name\" $v \"default\"\ndefine groups {\"a\":S, \"b\":D/1, \"c\"};\ndefine pattern {\"p\", iterations, element, level[, \"group\"]};\ndefine pattern {\"p\", \"subarray\", [sizes], [subsizes], [starts], element, level};\ndefine pattern {\"p\", \"darray\", [sizes], [blocks], [ranks], element, level};\ndefine pattern {\"p\", \"nested\", start, [counts], [strides], element, level};\ndefine pattern {\"p\", \"diagonal\", [sizes], element, level};\ndefine pattern {\"p\", \"list\", [offsets], [lengths], level};\ndefine ranks n\ndefine space [\"dir\"] bytes\ndefine content \"copied\"\ndefine report {\"gate\": \"label\"}\ndefine hints {\"cb_nodes\": \"4\"}"
            "Defines a property of the whole program: a parameter, groups of ranks, a pattern or hints of MPI-IO, or the number of ranks. Others are the free space it needs, what its writes contain, and what its report shows first. Permitted anywhere at the top level; its values are constant expressions. A semicolon may follow. With the content \"copied\" a write takes what its rank read just before, as programs that copy do. That must be at least as many bytes, of a file of this run or of a place where the program may do what it likes. Each byte is written once. Other writes, with \"own\" all of them, have content that encodes their place. A parameter outside of `from` and `to` (both inclusive), or not in the list after `in`, is refused before the program starts. What the shapes of a pattern mean is in `docs/language.md`; their lists may name `$$grank` and `$$rank`, and a group may follow the level. `define place` is a parameter that names directories or files (several between commas): where the user gives it (`--set`), the program may read and write there, and change a file that it names; no other parameter grants anything."
            example "define param \"size\" $size 4KiB from 1 to 1GiB\ndefine param \"mode\" $mode \"w\" in [\"w\", \"a\"]\ndefine ranks 1\nwrite(\"a.dat\", $size); delete(\"a.dat\");";
        Repeat "repeat" "repeat n S\nrepeat $v n S\nrepeat ($v, n) S"
            "Executes the statement n times. The counter starts at 0; after the loop the variable has its earlier value."
            example "repeat $i 3 print(\"round $i\");";
        Time "time" "time S\ntime[\"label\"] S"
            "Times the statement as a whole: one sample of wall time for each execution, under its label. Operations inside have the label too."
            example "time[\"both\"] { write(\"a.dat\", 4k); delete(\"a.dat\"); }";
        Ctime "ctime" "ctime S\nctime[\"label\"] S"
            "As `time`, but only the time inside the calls counts."
            example "ctime[\"write\"] { write(\"a.dat\", 4k); $x = 2 ^ 10; } delete(\"a.dat\");";
        Barrier "barrier" "barrier;\nbarrier(\"group\");"
            "All ranks, or all of a group, wait for each other. A place that only some of them can reach is an error."
            example "barrier; barrier(\"world\");";
        Master "master" "master S"
            "Only the first rank of the enclosing group, or of all ranks, executes the statement."
            example "master print(\"once\");";
        Group "group" "group \"name\" S\ngroup (\"name\") S"
            "Only the ranks of the group execute the statement."
            example "define groups {\"writers\"};\ngroup \"writers\" { write(\"w-$$rank\", 1k); delete(\"w-$$rank\"); }";
        If "if" "if c S\nif c S else S"
            "Executes the first statement if the condition is not 0 (or not an empty string), otherwise the second. An `else` belongs to the nearest `if`."
            example "$f = fcreat(\"a.dat\"); if $f < 0 print(\"errno $$errno\"); else fclose($f);\ndelete(\"a.dat\");";
        Else "else" "if c S else S"
            "The statement of `if` for a condition of 0."
            example "if 0 print(\"no\"); else print(\"yes\");";
        While "while" "while c S"
            "Executes the statement while the condition is not 0."
            example "$n = 3; while $n > 0 { $n = $n - 1; }";
        For "for" "for $i in a..b [step c] S\nfor $x in list S\nfor 60s S"
            "Counts from a up to, not including, b; or takes each item of a list; or repeats until the time has passed. After the loop the variable has its earlier value. A loop over time uses each rank's own clock. If ranks meet inside (a barrier, a phase, a collective command), they begin the loop together and meet before each round as well. The first rank whose time has passed ends it for all, so every rank executes the same number of rounds."
            example "for $i in 0..10 step 5 print($i);\nfor $x in [1k, 4k] print($x);\nfor 1ms getpid();\nfor 1ms { getpid(); barrier; }";
        Break "break" "break;"
            "Ends the innermost loop."
            example "repeat $i 10 { if $i == 2 break; print($i); }";
        Continue "continue" "continue;"
            "Continues with the next round of the innermost loop."
            example "repeat $i 3 { if $i == 1 continue; print($i); }";
        Def "def" "def name($a, $b = 4k) S"
            "Defines a function. Parameters and variables of `let` are local; other variables are those of the program. Defaults are constant. Functions may call each other, also before their definition. Only permitted at the top level."
            example "def area($a, $b = 2) { return $a * $b; }\nprint(area(3), area(3, 3));";
        Return "return" "return;\nreturn value;"
            "Ends the function with a value, 0 if none is given."
            example "def one() { return 1; }\nprint(one());";
        Let "let" "let $v = value;"
            "Defines a variable of the block in a function; elsewhere the same as an assignment."
            example "def f() { let $x = 1; return $x; }\nprint(f());";
        Include "include" "include \"file\";"
            "Inserts the statements of another file. The path is relative to the including program; files may include files, 16 deep. Only permitted at the top level."
            example "";
        Parallel "parallel" "parallel n S"
            "Executes the statement in n concurrent workers (threads) of each rank, each with its own variables; `$$worker` is the number of the worker. It ends when the last worker has ended."
            example "parallel 2 { write(\"p-$$worker\", 4k); delete(\"p-$$worker\"); }";
        Async "async" "async depth=n S"
            "Starts operations inside without waiting for earlier ones, with up to n in flight."
            example "$f = fcreat(\"a.dat\"); async depth=4 { repeat $i 8 fwrite($f, 4k, $i * 4k); } fclose($f); delete(\"a.dat\");";
        Phase "phase" "phase \"name\" S\nphase \"name\" stonewall S\nphase \"name\" stonewall time S"
            "A barrier of the enclosing group, the statement, timed as a whole, and another barrier. The time of each rank is that of its own work: its wait for the others at the end is a sample of the barrier. The phase lasts as long as its slowest rank: the gate. With `stonewall`, loops in it end early; see `stonewall`."
            example "phase \"write\" { write(\"a-$$rank\", 4k); } phase \"delete\" { delete(\"a-$$rank\"); }";
        Rate "rate" "rate n/s S\nrate n/s poisson S"
            "Starts the statement n times a second when a loop repeats it: at even intervals, or with exponential gaps. A late start does not delay later ones; each sample has its intended start, from which the response time counts."
            example "repeat 5 rate 1000/s getpid();";
        Think "think" "think time;"
            "Waits outside of every sample, so that the next operation begins the given time after the one before has ended. What lastrank itself takes in between is part of it, up to 1 ms."
            example "think 1ms; think exp(10us);";
        At "at" "at time S"
            "Starts the statement at the given time after the start of the run, for replays. The lateness of a late start is kept in the sample."
            example "at 1ms getpid();";
        Choose "choose" "choose { weight: S … }"
            "Executes one of the statements, drawn by weight."
            example "write(\"a.dat\", 4k);\nrepeat 10 choose { 70: read(\"a.dat\"); 30: stat(\"a.dat\"); }\ndelete(\"a.dat\");";
        Expect "expect" "expect errno == ENOENT S"
            "Expects the commands inside to fail with this errno: commands that do are not counted as failed, others are."
            example "expect errno == ENOENT stat(\"none\");";
        Assert "assert" "assert condition;\nassert each condition;"
            "If the condition is 0, the run fails with exit status 1 and a message that names the position and the values. `p99(\"label\")` and similar functions refer to the samples of all ranks of the enclosing group so far, and are judged after the run; with `each`, every rank judges its own samples immediately. A condition without them is judged by every rank. Quantities have no parentheses here, as in other [conditions](conditions.md): `p99 < 5ms`, `iops > 1000/s`, `bw > 1GiB/s`, `width(p99) < 5%`. They are then those of the answer that the run shows: of the last timed block or phase before the assertion, or of the run where there is none; `iops of read` and `iops(\"read\")` are of what is named."
            example "time[\"w\"] repeat 10 getpid(); assert p99 < 1s; assert iops > 1/s; assert p99(\"getpid\") < 1s; assert each count(\"getpid\") == 10;";
        OnError "on_error" "on_error stop;\non_error continue;"
            "Sets whether a failed command ends the program. By default it does not: failures are counted, and the exit status is 3."
            example "on_error stop;";
        Verify "verify" "verify S"
            "Compares what reads inside return with what this program, or an earlier run, wrote there."
            example "write(\"a.dat\", 4k); verify read(\"a.dat\"); delete(\"a.dat\");";
        Stonewall "stonewall" "phase \"name\" stonewall S\nphase \"name\" stonewall time S"
            "Ranks that still work when others have finished measure a partly idle machine. With a stonewall, all loops in the phase end at their next round as soon as one rank has completed the phase, or when the time has passed. Statements after a loop are still executed, so that files are closed. The smallest and the largest amount of work of the ranks are noted. Collective operations are not permitted in its loops."
            example "phase \"write\" stonewall 1s { repeat $i 100 append(\"a-$$rank\", 4k); }\nphase \"delete\" { delete(\"a-$$rank\"); }";
    }

    /// All words by their letters, for one look-up instead of a hundred comparisons.
    static TABLE: LazyLock<HashMap<u128, Word, BuildHasherDefault<WordHasher>>> = LazyLock::new(|| {
        let functions = Function::all().map(|function| (function.spec().name, Word::Function(function)));
        let keywords = Keyword::ALL.iter().map(|(keyword, text)| (*text, Word::Keyword(*keyword)));
        let commands = Command::all().map(|command| (command.name(), Word::Command(command)));
        // The last entry of a name is used.
        let all = functions.chain(keywords).chain(commands);
        all.filter_map(|(name, word)| Some((letters(name)?, word))).collect()
    });

    /// The bytes of a word as one number, letters in lower case; `None` if it is longer than all words.
    fn letters(text: &str) -> Option<u128> {
        let bytes = (text.len() <= 16).then(|| text.bytes())?;
        Some(bytes.fold(0, |all, byte| all << 8 | u128::from(byte.to_ascii_lowercase())))
    }

    /// A bare word with a meaning where a statement or a value may begin.
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
        /// The word that `text` spells, in any case.
        pub fn find(text: &str) -> Option<Self> {
            TABLE.get(&letters(text)?).copied()
        }
    }
}

pub use list::{Keyword, Word};

/// The constant that a word spells, in any case: the name of an errno, of a flag of `open`, of a position.
pub(crate) fn constant(word: &str) -> Option<&'static str> {
    let positions = ["SEEK_SET", "SEEK_CUR", "SEEK_END"];
    let mut known = positions.into_iter().chain(mode::FLAGS.iter().copied()).chain(errno::names());
    known.find(|name| name.eq_ignore_ascii_case(word))
}

/// Whether the word has a meaning only inside a certain statement.
pub(crate) fn is_part_of_a_form(word: &str) -> bool {
    const WORDS: [&str; 19] = [
        "param", "place", "groups", "pattern", "ranks", "space", "content", "report", "hints", "from", "to",
        "in", "each", "stop", "step", "s", "poisson", "depth", "errno",
    ];
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Every word that can begin a statement.
pub(crate) fn statement_words() -> impl Iterator<Item = &'static str> {
    Keyword::ALL.iter().map(|(_, text)| *text).chain(Command::all().map(Command::name))
}
