//! Lists the codes of diagnostics with their explanations.

use serde::{Serialize, Serializer};

macro_rules! codes {
    ($($name:ident = $code:literal, $title:literal, $text:literal;)*) => {
        /// The stable code of a diagnostic: `E…` errors, `W…` warnings, `N…` notes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DiagnosticCode {
            $(#[doc = $title] $name,)*
        }

        impl DiagnosticCode {
            /// The code: `E0101`.
            pub fn as_str(self) -> &'static str {
                match self { $(DiagnosticCode::$name => $code,)* }
            }
        }

        /// Every code with its title and explanation.
        pub const CODES: &[CodeExplanation] = &[
            $(CodeExplanation { code: DiagnosticCode::$name, title: $title, text: $text },)*
        ];
    };
}

/// The explanation of a code.
#[derive(Clone, Copy, Debug)]
pub struct CodeExplanation {
    /// The code.
    pub code: DiagnosticCode,
    /// A short title.
    pub title: &'static str,
    /// Cause and remedy: a paragraph of Markdown.
    pub text: &'static str,
}

/// The explanation of a code such as `E0101`, in any case.
pub fn explain(code: &str) -> Option<&'static CodeExplanation> {
    CODES.iter().find(|known| known.code.as_str().eq_ignore_ascii_case(code))
}

impl std::fmt::Display for DiagnosticCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for DiagnosticCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

codes! {
    UnknownCharacter = "E0101", "a character that is not part of the language",
        "The character has no meaning outside a string or a comment. The original ignored such characters; here they are errors, because they often replace a mistyped `$` or `;`. `--classic` ignores them with a warning.";
    UnclosedString = "E0102", "a string without its closing quote",
        "A string begins with `\"` and must end with `\"` on the same line. `\\\"` is a quote inside it, and `\\\\\"` a backslash and its end.";
    UnclosedComment = "E0103", "a comment without its end",
        "A comment that begins with `/*` must end with `*/`.";
    BadNumber = "E0104", "a number that cannot be read",
        "Integers have 64 bits, and are octal with `0o` or hexadecimal with `0x` in front (`0o644`, `0xff`). They may end in `k`, `m` or `g` (1024, 1024², 1024³) or in a unit: `B KB KiB MB MiB GB GiB TB TiB` for bytes, `ns us ms s min h` for time. The original read `10K` as 10; here that is an error, because 10240 was meant.";
    ExpectedToken = "E0110", "something else was expected here",
        "The grammar requires another word or sign here. The message names what was expected and what was found.";
    UnknownWord = "E0111", "a word that is neither a command nor a keyword",
        "Names of variables begin with `$`; every other word must be a keyword, a command or a function defined with `def`. The original ignored unknown words; `--classic` does so with a warning.";
    TooDeep = "E0112", "nested too deeply",
        "Blocks and brackets may be nested 200 deep, and an expression may hold 1000 operators in a row. Programs that need more are generated; generate a loop or a list instead.";
    TooManyArguments = "E0113", "more arguments than a call can hold",
        "A call holds at most 200 arguments. Put the values into a list (`[a, b, …]`), which may be of any length, and pass that.";
    Misplaced = "E0114", "a statement in a place where it has no meaning",
        "`define`, `def` and `include` are permitted at the top level only, `break` and `continue` in a loop, `return` in a function.";
    IncludeFailed = "E0115", "a file that cannot be included",
        "The file named by `include` could not be read, or files include each other in a circle.";
    UnknownVariable = "E0201", "a variable that is not defined here",
        "A variable exists after it was assigned (`$x = 1;`), inside the loop that counts with it, or after `define param`. In a string the longest defined beginning of the name counts: `\"$ia\"` is `$i` followed by `a` where only `$i` exists.";
    UnknownBuiltin = "E0202", "a built-in value that does not exist",
        "Built-in values begin with `$$`: `$$rank $$size $$group $$grank $$time $$errno $$bytes $$rand $$crand $$worker $$run $$env(NAME)`.";
    UnknownGroup = "E0203", "a group that is not defined",
        "A group must be named in `define groups {…}`. `\"world\"` always exists.";
    UnknownPattern = "E0204", "a pattern that is not defined",
        "A pattern must be named in `define pattern {…}`.";
    UnknownFunction = "E0205", "a function that does not exist",
        "The name before the parenthesis is neither a command, nor a built-in function, nor defined with `def`.";
    MissingArgument = "E0210", "an argument is missing",
        "The command needs more arguments than were given. The help line shows its form.";
    WrongKind = "E0211", "an argument of the wrong kind",
        "For instance a string where a number of bytes is required. A variable may hold a string of digits, which is read as its leading number; a literal string may not.";
    NoResult = "E0212", "a command without a value",
        "Only some commands (`fopen`, `alloc`, …) yield a value that can be assigned.";
    BadMode = "E0213", "an open mode that does not exist",
        "Modes are `r w a r+ w+ a+`, or a string of `O_…` names joined by `|`. `pfopen` takes any of the letters `c`, `r` and `w`.";
    Duplicate = "E0220", "something is defined twice",
        "Parameters, groups, patterns and functions have one definition each.";
    BadDefine = "E0221", "a definition that cannot be used",
        "The definition lacks a part or has a value out of range. The message names it.";
    BadHint = "E0224", "a hint that MPI cannot accept",
        "`define hints {\"key\": \"value\"}` is passed to MPI-IO through `MPI_Info`, which takes keys of 1 to 255 bytes and values of 1 to 1023 bytes (a library may take less). Which keys it knows depends on the library: `cb_nodes`, `cb_buffer_size`, `romio_cb_write`, `striping_factor` … Hints that it did not accept are reported after the run.";
    NotConstant = "E0222", "an expression that is not constant",
        "Definitions are evaluated before the program starts: they may use numbers, parameters and operators, but no variables that the program assigns, no commands and nothing random.";
    Evaluation = "E0223", "a definition whose value cannot be computed",
        "The value is not defined: for instance a division by zero, an index outside of a list, or kinds that an operator cannot combine.";
    BadConstant = "E0225", "a constant that a statement cannot use",
        "A number out of range for the statement, or a value that is not a number: `async depth=0`, a range with a step of 0, weights of `choose` whose sum is 0, a negative count of `repeat`. It would stop the run.";
    NulInName = "E0226", "a name with a NUL byte",
        "The system ends a name at the first NUL byte, so no file name can hold one: what is before it would be the name of another file. A NUL byte usually comes from a tool that wrote the program; write the name without it.";
    UnknownParameter = "E0301", "a parameter that the program does not define",
        "A name given on the command line must be one of those in `define param`.";
    BadParameter = "E0302", "a parameter value that cannot be used",
        "A parameter whose default is a number takes a number, with a unit where one fits: `--set size=4MiB`.";
    EnvironmentUnset = "E0303", "an environment variable that is not set",
        "`$$env(NAME)` needs the variable in the environment of the run.";
    BadRanks = "E0304", "a number of ranks that cannot be used",
        "A run has at least one rank, and at most 1,048,576.";
    GroupsDoNotFit = "E0305", "groups that do not fit the ranks",
        "The sizes of the groups (`-g name:size`) need more ranks than the run has, or name a group that does not exist. Groups tagged `S` have exclusive ranks from 0 on; groups with the same `D` tag follow them and are disjoint; groups without a tag also start after the `S` groups and may overlap.";
    Collective = "E0401", "a collective operation that only some ranks reach",
        "A barrier (or a collective transfer) waits for every rank of its group. The program would hang where some ranks never reach it: inside `master` or another group, or under a condition that differs between ranks. The same holds after a `break`, `continue` or `return` under such a condition. Move it out, or name the group that takes part: `barrier(\"writers\")`. It is an error if it is certain: with these ranks, groups and parameters a rank waits for one that never arrives. Inside `parallel` it is always an error.";
    ClassicIgnored = "W0101", "ignored as the original did",
        "`--classic` uses the lexing of the original, which ignored unknown words and characters, and letters after a number.";
    SurplusArgument = "W0102", "an argument without a meaning",
        "The command takes fewer arguments. The original ignored the others, and so does lastrank.";
    Trimmed = "W0103", "a name with blanks around it",
        "Names of groups and patterns are compared without blanks at their ends.";
    LostText = "W0104", "text that becomes part of a built-in's name",
        "In a string the name after `$$` takes every letter and digit that follows, and the original drops what is not part of a built-in: `$$rankfoo` is `$$rank`. Write `${$rank}foo` to keep the text.";
    TextUnit = "W0105", "a suffix that is ignored",
        "A string is read as its leading number, as in the original: `\"4k\"` is 4. Write the unit in full (`4KiB`), or give the parameter a number as its default, without quotes.";
    PerhapsCollective = "W0106", "a collective operation that ranks may reach differently often",
        "How often a rank reaches it depends on something that can differ between ranks: the rank's number, the result of a command, the clock, an environment variable (`$$env`, which under MPI each rank reads for itself), a group. If the ranks differ, the program hangs. It is a warning if that is possible but not certain, because only a run can show it or because the number of ranks is not known: `lastrank check -n 4 -g writers:2 program.ppl` checks a run with these.";
    LeadingComma = "W0107", "a comma without an argument before it",
        "`print(,1)` is `print(1)`: the original accepts a comma without an argument before it, and so does lastrank.";
    Unreachable = "W0108", "statements that are never reached",
        "They follow a `break`, `continue` or `return`.";
    BareTime = "W0109", "a time without a unit",
        "A bare number counts microseconds, as in the original, so `sleep 5` waits 5 µs, not 5 s. Name the unit: `5s`, `500ms`, `5us`. With `--classic` whole numbers are taken without a word.";
    LeadingZero = "W0110", "a decimal number that looks like an octal one",
        "A leading 0 has no effect: `0644` is 644, which as permissions of a file is `-w----r-T`. Octal numbers begin with `0o` (`0o644`), hexadecimal ones with `0x`.";
    ClassicGroups = "W0115", "a group that does not get the ranks it asks for, as in the original",
        "With `--classic`, as in the original, a group without a size has no ranks. One that needs more ranks than are left gets those. Sizes of unknown groups are ignored. Without `--classic`, groups without sizes share the ranks, and the rest are errors.";
    UnknownLabel = "W0116", "a label that no samples have",
        "An `assert` or `define report` refers to samples by the label of a `time` or `phase` block, by an operation, or by `label/operation`. The program has none with that name: the assertion fails because there are no samples, or the report has nothing to show.";
    GroupFile = "W0117", "a file of a group in a command of one rank",
        "`pfopen` opens a file for all ranks of a group together, and only `pfread`, `pfwrite` and `pfclose` work on it. `fclose`, `fread` and the like are commands of one rank and fail with EBADF; the file stays open. Use the command of the group, or open the file with `fopen`.";
    NulInText = "W0118", "a string with a NUL byte",
        "No file name can hold a NUL byte: a command that gets this string as a name fails with ENOENT. A NUL byte usually comes from a tool that wrote the program; write the string without it.";
    ShorterName = "W0119", "only the beginning of this name in a string is a variable",
        "In a string the longest defined beginning of a name counts, as in the original: `\"$idx\"` is the value of `$i` followed by `x` where no `$idx` exists. If you mean that, write `\"${i}x\"`; otherwise the name is misspelt. It is told once for each such name; not with `--classic`, and not of one letter after another (`$ia`), as published programs have it.";
    NoSignal = "W0120", "a signal that nothing gives",
        "`await` waits until the ranks and workers together gave the signal so often. No `signal` in the program has this name, so the wait has no end.";
    SharedGroups = "N0101", "ranks were shared among groups",
        "No size was given for these groups (`-g name:size`), so they share the ranks evenly.";
}
