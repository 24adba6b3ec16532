//! The bare words of the language: keywords, commands, functions.

use crate::commands::{Command, Function, mode};
use crate::errno;

macro_rules! keywords {
    ($($name:ident $text:literal $form:literal $what:literal example $example:literal;)*) => {
        /// A word with a meaning in the grammar. Case-insensitive.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Keyword { $($name,)* }

        impl Keyword {
            /// All keywords with their spelling.
            pub const ALL: &[(Keyword, &str)] = &[$((Keyword::$name, $text),)*];

            pub(super) const SPECS: &[KeywordSpec] =
                &[$(KeywordSpec { name: $text, form: $form, text: $what, example: $example },)*];
        }
    };
}

/// A keyword: its form and documentation.
#[derive(Clone, Copy, Debug)]
pub struct KeywordSpec {
    /// As it is written.
    pub name: &'static str,
    /// The forms of its statement, a line each; `S` is a statement or a block.
    pub form: &'static str,
    /// What it does, in Markdown.
    pub text: &'static str,
    /// A program that uses it and runs as it stands.
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
        Define "define" "define param \"name\" $v default [from a] [to b] [in [a, b, …]]\ndefine groups {\"a\":S, \"b\":D/1, \"c\"};\ndefine pattern {\"p\", iterations, element, level[, \"group\"]};\ndefine ranks n\ndefine space [\"dir\"] bytes\ndefine report {\"gate\": \"label\"}\ndefine hints {\"cb_nodes\": \"4\"}"
            "Says something about the whole program before it starts: a parameter, groups of ranks, a pattern of MPI-IO, the number of ranks, the free space it needs, what its report shows first, hints for MPI-IO. Stands at the top level, anywhere; its values are constant expressions. A semicolon may follow. A parameter outside of `from` and `to` (both included), or not in the list behind `in`, is refused before anything is done."
            example "define param \"size\" $size 4KiB from 1 to 1GiB\ndefine param \"mode\" $mode \"w\" in [\"w\", \"a\"]\ndefine ranks 1\nwrite(\"a.dat\", $size); delete(\"a.dat\");";
        Repeat "repeat" "repeat n S\nrepeat $v n S\nrepeat ($v, n) S"
            "Does the statement n times. The counter runs from 0 and has its old value again after the loop."
            example "repeat $i 3 print(\"round $i\");";
        Time "time" "time S\ntime[\"label\"] S"
            "Times the statement as a whole: a sample of wall time for each pass, under its label. Operations inside carry the label too."
            example "time[\"both\"] { write(\"a.dat\", 4k); delete(\"a.dat\"); }";
        Ctime "ctime" "ctime S\nctime[\"label\"] S"
            "As `time`, but only the time inside the calls counts."
            example "ctime[\"write\"] { write(\"a.dat\", 4k); $x = 2 ^ 10; } delete(\"a.dat\");";
        Barrier "barrier" "barrier;\nbarrier(\"group\");"
            "All ranks, or all of a group, wait for each other. A place that only some of them can reach is an error."
            example "barrier; barrier(\"world\");";
        Master "master" "master S"
            "Only the first rank of the group around it, or of all, does the statement."
            example "master print(\"once\");";
        Group "group" "group \"name\" S\ngroup (\"name\") S"
            "Only the ranks of the group do the statement."
            example "define groups {\"writers\"};\ngroup \"writers\" { write(\"w-$$rank\", 1k); delete(\"w-$$rank\"); }";
        If "if" "if c S\nif c S else S"
            "Does the first statement where the condition is not 0 (or not an empty string), otherwise the second. An `else` belongs to the nearest `if`."
            example "$f = fcreat(\"a.dat\"); if $f < 0 print(\"errno $$errno\"); else fclose($f);\ndelete(\"a.dat\");";
        Else "else" "if c S else S"
            "What `if` does where its condition is 0."
            example "if 0 print(\"no\"); else print(\"yes\");";
        While "while" "while c S"
            "Does the statement as long as the condition is not 0."
            example "$n = 3; while $n > 0 { $n = $n - 1; }";
        For "for" "for $i in a..b [step c] S\nfor $x in list S\nfor 60s S"
            "Counts from a up to, not including, b; or takes each item of a list; or repeats until the time has passed. The variable has its old value again after the loop. A loop over time goes by each rank's own clock; where ranks meet inside (a barrier, a phase, a collective command), they begin it together, meet before each round as well, and the first whose time is over ends it for all, so that everyone does the same number of rounds."
            example "for $i in 0..10 step 5 print($i);\nfor $x in [1k, 4k] print($x);\nfor 1ms getpid();\nfor 1ms { getpid(); barrier; }";
        Break "break" "break;"
            "Ends the innermost loop."
            example "repeat $i 10 { if $i == 2 break; print($i); }";
        Continue "continue" "continue;"
            "Continues with the next round of the innermost loop."
            example "repeat $i 3 { if $i == 1 continue; print($i); }";
        Def "def" "def name($a, $b = 4k) S"
            "Defines a function. Parameters, and variables of `let`, are its own; other variables are those of the program. Defaults are constant. Functions may call each other, also before they are defined. Stands at the top level."
            example "def area($a, $b = 2) { return $a * $b; }\nprint(area(3), area(3, 3));";
        Return "return" "return;\nreturn value;"
            "Ends the function with a value, 0 where none is given."
            example "def one() { return 1; }\nprint(one());";
        Let "let" "let $v = value;"
            "A variable of the block in a function; elsewhere the same as an assignment."
            example "def f() { let $x = 1; return $x; }\nprint(f());";
        Include "include" "include \"file\";"
            "Puts the statements of another file here. The path counts from the including program; files may include files, 16 deep. Stands at the top level."
            example "";
        Parallel "parallel" "parallel n S"
            "So many workers (threads) of each rank do the statement at once, each with variables of its own; `$$worker` tells them apart. It ends when the last is done."
            example "parallel 2 { write(\"p-$$worker\", 4k); delete(\"p-$$worker\"); }";
        Async "async" "async depth=n S"
            "Operations inside are started without waiting for those before, up to n under way at once."
            example "$f = fcreat(\"a.dat\"); async depth=4 { repeat $i 8 fwrite($f, 4k, $i * 4k); } fclose($f); delete(\"a.dat\");";
        Phase "phase" "phase \"name\" S\nphase \"name\" stonewall S\nphase \"name\" stonewall time S"
            "A barrier, the statement, timed as a whole, and a barrier, of the group around it. The time of each rank is that of its own work: how long it waits for the others at the end is a sample of the barrier. The phase lasts as long as its slowest rank: the gate. With `stonewall`, loops in it end early; see there."
            example "phase \"write\" { write(\"a-$$rank\", 4k); } phase \"delete\" { delete(\"a-$$rank\"); }";
        Rate "rate" "rate n/s S\nrate n/s poisson S"
            "Starts the statement n times a second where a loop repeats it: at even intervals, or with exponential gaps. It does not wait for what is late; each sample carries its intended start, so that the response time counts from there."
            example "repeat 5 rate 1000/s getpid();";
        Think "think" "think time;"
            "Waits so long, outside of every sample."
            example "think 1ms; think exp(10us);";
        At "at" "at time S"
            "Starts the statement so long after the start of the run: for replays. A late start is kept with the sample."
            example "at 1ms getpid();";
        Choose "choose" "choose { weight: S … }"
            "Does one of the statements, drawn by weight."
            example "write(\"a.dat\", 4k);\nrepeat 10 choose { 70: read(\"a.dat\"); 30: stat(\"a.dat\"); }\ndelete(\"a.dat\");";
        Expect "expect" "expect errno == ENOENT S"
            "The commands inside should fail with this errno: those that do are not counted as failed, those that do not are."
            example "expect errno == ENOENT stat(\"none\");";
        Assert "assert" "assert condition;\nassert each condition;"
            "Where the condition is 0 the run's answer is no: exit status 1, and a message that names the place and what was found. `p99(\"label\")` and its kin stand for the samples of all ranks of the group around it, up to here, and are judged when the run is over; with `each`, every rank judges its own samples at once. A condition without them is judged by every rank."
            example "repeat 10 getpid(); assert p99(\"getpid\") < 1s; assert each count(\"getpid\") == 10;";
        OnError "on_error" "on_error stop;\non_error continue;"
            "Does a failed command end the program? At first it does not: failures are counted, and the exit status is 3."
            example "on_error stop;";
        Verify "verify" "verify S"
            "Reads inside compare what they read with what this program, or an earlier run, wrote there."
            example "write(\"a.dat\", 4k); verify read(\"a.dat\"); delete(\"a.dat\");";
        Stonewall "stonewall" "phase \"name\" stonewall S\nphase \"name\" stonewall time S"
            "Ranks that are still at work when others have finished measure an idle machine. With a stonewall, all loops in the phase end, at their next round, as soon as one rank is through with the phase, or when the time is over, whichever comes first; what stands behind a loop is still done, so that files are closed. How much the ranks did is noted, the least and the most. Nothing collective may stand in a loop there."
            example "phase \"write\" stonewall 1s { repeat $i 100 append(\"a-$$rank\", 4k); }\nphase \"delete\" { delete(\"a-$$rank\"); }";
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

/// The constant that a word spells, in any case: the name of an errno, of a flag of `open`, of a position.
pub(crate) fn constant(word: &str) -> Option<&'static str> {
    let positions = ["SEEK_SET", "SEEK_CUR", "SEEK_END"];
    let mut known = positions.into_iter().chain(mode::FLAGS.iter().copied()).chain(errno::names());
    known.find(|name| name.eq_ignore_ascii_case(word))
}

/// Is it a word that means something inside a certain statement, and nothing elsewhere?
pub(crate) fn is_part_of_a_form(word: &str) -> bool {
    const WORDS: [&str; 17] = [
        "param", "groups", "pattern", "ranks", "space", "report", "hints", "from", "to", "in", "each",
        "stop", "step", "s", "poisson", "depth", "errno",
    ];
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Every word that can begin a statement.
pub(crate) fn statement_words() -> impl Iterator<Item = &'static str> {
    Keyword::ALL.iter().map(|(_, text)| *text).chain(Command::all().map(Command::name))
}
