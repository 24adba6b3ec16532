//! The commands and functions of the language, as tables.
//!
//! One table serves the checker, the plan, the interpreter, the engine, the editor's hover and the reference:
//! what any of them needs to know about a command stands in its [`CommandSpec`] and nowhere else.

mod functions;
pub mod mode;
mod table;

pub use functions::{Function, FunctionKind, FunctionSpec};
pub use table::{CollectiveCommand, Command, CommandByClass, FileCommand, KernelCommand, LanguageCommand};

/// What an argument must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The name of a file or directory.
    Path,
    /// A string.
    Text,
    /// A number of bytes.
    Bytes,
    /// A number of bytes that may be negative: from where it counts is another argument.
    Distance,
    /// How often: 1 or more.
    Count,
    /// A plain integer of 0 or more.
    Integer,
    /// Permissions of a file, such as `0o644`.
    Permissions,
    /// A file from `fopen` and its kin.
    File,
    /// Memory from `alloc`.
    Buffer,
    /// A number of bytes, or a buffer whose content is written.
    BytesOrBuffer,
    /// An open mode or `O_…` flags.
    Mode,
    /// `SEEK_SET`, `SEEK_CUR` or `SEEK_END`.
    Whence,
    /// The name of a pattern.
    Pattern,
    /// The name of a group.
    Group,
    /// A time: an integer counts microseconds.
    Microseconds,
    /// Anything.
    Any,
}

impl Kind {
    /// The kind, for messages and the reference.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Path => "a path",
            Kind::Text => "a string",
            Kind::Bytes | Kind::Distance => "a number of bytes",
            Kind::Count | Kind::Integer => "a number",
            Kind::Permissions => "permissions",
            Kind::File => "a file",
            Kind::Buffer => "a buffer",
            Kind::BytesOrBuffer => "a number of bytes or a buffer",
            Kind::Mode => "an open mode",
            Kind::Whence => "SEEK_SET, SEEK_CUR or SEEK_END",
            Kind::Pattern => "the name of a pattern",
            Kind::Group => "the name of a group",
            Kind::Microseconds => "a time (µs, or with a unit)",
            Kind::Any => "anything",
        }
    }

    /// The least and the largest integer that it takes; `None` where it takes none.
    #[inline]
    pub fn bounds(self) -> Option<(i64, i64)> {
        const WORD: i64 = u32::MAX as i64;
        match self {
            Kind::Bytes | Kind::BytesOrBuffer => Some((0, i64::MAX)),
            Kind::Distance => Some((i64::MIN, i64::MAX)),
            Kind::Count => Some((1, WORD)),
            Kind::Integer => Some((0, WORD)),
            Kind::Permissions => Some((0, 0o7777)),
            Kind::Path
            | Kind::Text
            | Kind::File
            | Kind::Buffer
            | Kind::Mode
            | Kind::Whence
            | Kind::Pattern
            | Kind::Group
            | Kind::Microseconds
            | Kind::Any => None,
        }
    }

    /// What it takes instead of an integer outside of its bounds, for messages.
    pub fn bounds_in_words(self) -> &'static str {
        match self {
            Kind::Bytes | Kind::BytesOrBuffer => "0 or more",
            Kind::Distance => "of 64 bits",
            Kind::Count => "from 1 to 4294967295",
            Kind::Integer => "from 0 to 4294967295",
            Kind::Permissions => "from 0 to 0o7777 (octal numbers begin with 0o)",
            _ => self.name(),
        }
    }

    /// Is it rendered as text before the call?
    pub fn is_text(self) -> bool {
        matches!(self, Kind::Path | Kind::Text | Kind::Mode | Kind::Whence | Kind::Pattern | Kind::Group)
    }
}

/// What happens where an argument is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// It may not be left out.
    Required,
    /// This integer is passed.
    Int(i64),
    /// Nothing is passed; the words say what that means.
    Absent(&'static str),
    /// It may be repeated any number of times (`print`).
    Many,
}

/// One argument of a command.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentSpec {
    /// Its name in the documentation.
    pub name: &'static str,
    /// What it must be.
    pub kind: Kind,
    /// What happens where it is left out.
    pub default: Default,
}

/// What the value of a command means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yields {
    /// Nothing that can be assigned.
    Nothing,
    /// An open file, or a negative errno.
    File,
    /// Memory, or a negative errno.
    Buffer,
    /// The number of bytes that were moved: `bytes` of its samples.
    Bytes,
    /// Another integer: a size, a position, a count, an exit status.
    Int,
    /// A list of strings.
    List,
}

/// Who carries a command out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The interpreter, through a method of the machine of its own: no sample.
    Language,
    /// A driver: one call, or open, transfer and close. Most work on files, some on memory for transfers or on
    /// the page cache.
    File,
    /// MPI-IO, by the ranks of a group together.
    Collective,
    /// A native kernel: a loop of one operation, of which a sample may be a batch.
    Kernel,
}

/// Which way a command moves the bytes that it reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moves {
    /// It moves none.
    Nothing,
    /// Into memory.
    Reads,
    /// Out of memory.
    Writes,
    /// Both ways.
    Both,
}

impl Moves {
    /// Does it bring bytes into memory?
    pub fn reads(self) -> bool {
        matches!(self, Moves::Reads | Moves::Both)
    }

    /// Does it take bytes out of memory?
    pub fn writes(self) -> bool {
        matches!(self, Moves::Writes | Moves::Both)
    }
}

/// What a command does to names, open files and memory besides moving bytes: enough to follow a program without
/// doing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing that later commands depend on.
    Nothing,
    /// Creates the first path.
    Creates,
    /// Makes a directory of the first path.
    MakesDirectory,
    /// Removes the first path.
    Removes,
    /// The first path becomes the second.
    Renames,
    /// Its bytes go behind the end of the first path.
    Appends,
    /// The file reaches at least to offset + size.
    Extends,
    /// Moves the position of the file.
    Seeks,
    /// Closes the file.
    Closes,
    /// Its value is the size of the first path.
    AnswersSize,
    /// Gives the buffer back.
    Frees,
}

/// Where a command comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The paper of 2010.
    Paper,
    /// The grammar published in 2013.
    Grammar,
    /// An addition of lastrank.
    Lastrank,
}

/// One command.
#[derive(Clone, Copy, Debug)]
pub struct CommandSpec {
    /// As it is written, in lower case.
    pub name: &'static str,
    /// Its arguments, in order.
    pub arguments: &'static [ArgumentSpec],
    /// What its value means.
    pub yields: Yields,
    /// Who carries it out.
    pub class: Class,
    /// Which way it moves bytes.
    pub moves: Moves,
    /// What else it does that later commands depend on.
    pub effect: Effect,
    /// The integer it gives in a dry run, where its effect says none.
    pub dry_value: i64,
    /// Can it be handed over inside `async` without waiting for it?
    pub submits: bool,
    /// Of [`Class::Collective`]: ranks meet in it only where the level of its pattern says so.
    pub by_pattern: bool,
    /// Where it comes from.
    pub since: Since,
    /// What it does, in Markdown.
    pub text: &'static str,
    /// The errnos that it is likely to meet, with what they mean here; `None` where it does not fail.
    pub errors: Option<&'static str>,
    /// A program that uses it and runs as it stands.
    pub example: &'static str,
}

impl CommandSpec {
    /// The form of a call: `fseek($file, offset[, whence = SEEK_SET])`.
    pub fn form(&self) -> String {
        let mut out = String::from(match self.yields {
            Yields::Nothing => "",
            Yields::File => "$file = ",
            Yields::Buffer => "$buffer = ",
            Yields::Bytes | Yields::Int => "[$number =] ",
            Yields::List => "$list = ",
        });
        out.push_str(self.name);
        out.push('(');
        for (index, argument) in self.arguments.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let sigil = if matches!(argument.kind, Kind::File | Kind::Buffer) { "$" } else { "" };
            let name = argument.name;
            match argument.default {
                Default::Required => out.push_str(&format!("{comma}{sigil}{name}")),
                Default::Int(value) => out.push_str(&format!("[{comma}{name} = {value}]")),
                Default::Absent(text) => out.push_str(&format!("[{comma}{name} = {text}]")),
                Default::Many => out.push_str(&format!("{comma}{name}, …")),
            }
        }
        out.push(')');
        out
    }

    /// How many arguments must be there.
    pub fn required(&self) -> usize {
        self.arguments.iter().filter(|argument| argument.default == Default::Required).count()
    }

    /// The indices of the arguments that name files or directories.
    pub fn paths(&self) -> impl Iterator<Item = usize> + use<> {
        self.positions(Kind::Path)
    }

    /// The index of the first argument of a kind.
    pub fn position(&self, kind: Kind) -> Option<usize> {
        self.positions(kind).next()
    }

    /// The index of the argument that says how many bytes: the first one that counts bytes.
    pub fn size(&self) -> Option<usize> {
        self.byte_counts().next()
    }

    /// The index of the argument that says from where: the one behind the size.
    pub fn offset(&self) -> Option<usize> {
        self.byte_counts().nth(1)
    }

    fn byte_counts(&self) -> impl Iterator<Item = usize> + use<> {
        let arguments: &'static [ArgumentSpec] = self.arguments;
        (0..arguments.len())
            .filter(move |&index| matches!(arguments[index].kind, Kind::Bytes | Kind::BytesOrBuffer))
    }

    fn positions(&self, kind: Kind) -> impl Iterator<Item = usize> + use<> {
        let arguments: &'static [ArgumentSpec] = self.arguments;
        (0..arguments.len()).filter(move |&index| arguments[index].kind == kind)
    }

    /// The specification of the `index`-th argument; the last one repeats if it may.
    pub fn argument(&self, index: usize) -> Option<&'static ArgumentSpec> {
        let arguments: &'static [ArgumentSpec] = self.arguments;
        arguments.get(index).or_else(|| arguments.last().filter(|last| last.default == Default::Many))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_its_name_and_explains_itself() {
        for command in Command::all() {
            let spec = command.spec();
            assert_eq!(Command::find(spec.name), Some(command));
            assert_eq!(Command::from_index(command as usize), command);
            assert!(!spec.text.is_empty() && !spec.example.is_empty(), "{} lacks words", spec.name);
        }
    }

    #[test]
    fn what_the_table_says_of_a_command_fits_together() {
        for command in Command::all() {
            let spec = command.spec();
            let name = spec.name;
            assert_eq!(spec.yields == Yields::Bytes, spec.moves != Moves::Nothing, "{name}");
            assert!(!spec.submits || spec.class == Class::File, "{name}");
            assert!(!spec.by_pattern || spec.position(Kind::Pattern).is_some(), "{name}");
            assert!(spec.position(Kind::Pattern).is_none() || command.is_collective(), "{name}");
        }
        for command in Command::all().filter(|command| command.spec().effect != Effect::Seeks) {
            let spec = command.spec();
            let named = |index: Option<usize>| index.map_or("", |index| spec.arguments[index].name);
            assert!(["", "size", "resident"].contains(&named(spec.size())), "{}", spec.name);
            assert!(["", "offset"].contains(&named(spec.offset())), "{}", spec.name);
        }
        let spec = Command::Rename.spec();
        assert_eq!(spec.paths().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(Command::Spawn.spec().paths().next(), None);
    }

    #[test]
    fn the_form_of_a_call_shows_defaults() {
        assert_eq!(Command::Fseek.spec().form(), "[$number =] fseek($file, offset[, whence = SEEK_SET])");
        assert_eq!(Command::Fopen.spec().form(), "$file = fopen(name, mode[, permissions = 420])");
    }
}
