//! Defines the commands and functions of the language as tables.
//!
//! One table serves the checker, the plan, the interpreter, the engine, the editor's hover and the reference:
//! all that they need to know about a command is in its [`CommandSpec`] and nowhere else.

mod functions;
pub mod mode;
mod table;
mod wish;

pub use functions::{Function, FunctionKind, FunctionSpec};
pub use table::{
    CollectiveCommand, Command, CommandByClass, FileCommand, KernelCommand, LanguageCommand, MessageCommand,
};
pub use wish::Wish;

/// The kind of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The name of a file or directory.
    Path,
    /// A string.
    Text,
    /// A number of bytes.
    Bytes,
    /// A number of bytes that may be negative, relative to a position in another argument.
    Distance,
    /// A repetition count: 1 or more.
    Count,
    /// A plain integer of 0 or more.
    Integer,
    /// Permissions of a file, such as `0o644`.
    Permissions,
    /// An open file, from `fopen` or a similar command.
    File,
    /// The name of a file or directory, or an open file.
    PathOrFile,
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
            Kind::PathOrFile => "a path or a file",
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

    /// The smallest and the largest integer it accepts; `None` if it is not an integer.
    #[inline]
    pub const fn bounds(self) -> Option<(i64, i64)> {
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
            | Kind::PathOrFile
            | Kind::Buffer
            | Kind::Mode
            | Kind::Whence
            | Kind::Pattern
            | Kind::Group
            | Kind::Microseconds
            | Kind::Any => None,
        }
    }

    /// Its bounds in words, for messages about an integer outside of them.
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

    /// Whether it is rendered as text before the call.
    pub fn is_text(self) -> bool {
        matches!(self, Kind::Path | Kind::Text | Kind::Mode | Kind::Whence | Kind::Pattern | Kind::Group)
    }
}

/// Default of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// It is required.
    Required,
    /// This integer is passed.
    Int(i64),
    /// No value is passed; the text describes the effect.
    Absent(&'static str),
    /// It may be repeated any number of times (`print`).
    Many,
}

/// One argument of a command.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentSpec {
    /// Its name in the documentation.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Default if it is omitted.
    pub default: Default,
    /// [`Kind::bounds`] of its kind.
    pub bounds: Option<(i64, i64)>,
}

/// Meaning of the value of a command.
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
    /// Another integer: a size, an offset, a count, an exit status.
    Int,
    /// A list of strings.
    List,
}

/// The component that executes a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The interpreter, through a separate method of the machine; makes no sample.
    Language,
    /// A driver: one call, or open, transfer and close. Most commands work on files, some on transfer buffers
    /// or the page cache.
    File,
    /// MPI-IO, by the ranks of a group together.
    Collective,
    /// MPI, by the ranks of a group together: they send each other bytes.
    Message,
    /// A native kernel: a loop of one operation, of which a sample may be a batch.
    Kernel,
}

/// The direction in which a command moves the bytes it reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moves {
    /// It moves no bytes.
    Nothing,
    /// Into memory.
    Reads,
    /// Out of memory.
    Writes,
    /// In both directions.
    Both,
}

impl Moves {
    /// Whether it moves bytes into memory.
    pub fn reads(self) -> bool {
        matches!(self, Moves::Reads | Moves::Both)
    }

    /// Whether it moves bytes out of memory.
    pub fn writes(self) -> bool {
        matches!(self, Moves::Writes | Moves::Both)
    }
}

/// The effect of a command on names, open files and memory besides moving bytes: enough to simulate a program
/// without executing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// No effect that later commands depend on.
    Nothing,
    /// Creates the first path.
    Creates,
    /// Creates a directory at the first path.
    MakesDirectory,
    /// Removes the first path.
    Removes,
    /// Renames the first path to the second.
    Renames,
    /// Appends its bytes to the first path.
    Appends,
    /// Extends the file to at least offset + size.
    Extends,
    /// Moves the position of the file.
    Seeks,
    /// Closes the file.
    Closes,
    /// Its value is the size of the first path.
    AnswersSize,
    /// Frees the buffer.
    Frees,
}

/// The origin of a command.
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
    /// Name in a program, in lower case.
    pub name: &'static str,
    /// Its arguments, in order.
    pub arguments: &'static [ArgumentSpec],
    /// Meaning of its value.
    pub yields: Yields,
    /// The component that executes it.
    pub class: Class,
    /// The direction in which it moves bytes.
    pub moves: Moves,
    /// Its other effect that later commands depend on.
    pub effect: Effect,
    /// The integer it returns in a dry run, unless its effect determines it.
    pub dry_value: i64,
    /// Whether it can be submitted inside `async` without waiting for it.
    pub submits: bool,
    /// For [`Class::Collective`]: whether ranks meet in it only at some levels of its pattern.
    pub by_pattern: bool,
    /// Of a command of the language itself: whether ranks meet in it, and all of them get the same value.
    pub agrees: bool,
    /// What it asks for, beside what its effect says; see [`CommandSpec::wish`].
    pub(crate) asks: Option<Wish>,
    /// Its origin.
    pub since: Since,
    /// Description in Markdown.
    pub text: &'static str,
    /// The likely errnos with their meanings here; `None` if it does not fail.
    pub errors: Option<&'static str>,
    /// A complete example program.
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

    /// Whether the original knew this argument. It ignored arguments that it did not know, and made files and
    /// directories with fixed permissions.
    pub fn is_in_original(&self, argument: &ArgumentSpec) -> bool {
        self.since == Since::Lastrank
            || argument.kind != Kind::Permissions && !(self.by_pattern && argument.kind == Kind::Bytes)
    }

    /// The number of required arguments.
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

    /// The index of the size argument: the first one that counts bytes, unless a pattern says how many.
    pub fn size(&self) -> Option<usize> {
        self.byte_counts().next().filter(|_| !self.by_pattern)
    }

    /// The index of the offset argument: the one after the size.
    pub fn offset(&self) -> Option<usize> {
        self.byte_counts().nth(usize::from(!self.by_pattern))
    }

    /// The indices of the arguments that are, or may be, open files.
    pub fn files(&self) -> impl Iterator<Item = usize> + use<> {
        let arguments: &'static [ArgumentSpec] = self.arguments;
        (0..arguments.len())
            .filter(move |&index| matches!(arguments[index].kind, Kind::File | Kind::PathOrFile))
    }

    /// The index of the open file to which bytes go: the last one.
    pub fn target(&self) -> Option<usize> {
        self.files().last()
    }

    /// The index of the offset in [`CommandSpec::target`]: the last one that is given.
    pub fn target_offset(&self) -> Option<usize> {
        self.byte_counts().skip(1).last()
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

    /// The specification of the `index`-th argument; the last one repeats if it is [`Default::Many`].
    pub fn argument(&self, index: usize) -> Option<&'static ArgumentSpec> {
        let arguments: &'static [ArgumentSpec] = self.arguments;
        arguments.get(index).or_else(|| arguments.last().filter(|last| last.default == Default::Many))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_its_name_and_is_documented() {
        for command in Command::all() {
            let spec = command.spec();
            assert_eq!(Command::find(spec.name), Some(command));
            assert_eq!(Command::from_index(command as usize), command);
            assert!(!spec.text.is_empty() && !spec.example.is_empty(), "{} lacks words", spec.name);
        }
    }

    #[test]
    fn the_properties_of_a_command_are_consistent() {
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
