//! A trace as every format gives it: the calls of each process in the language's terms.

use std::collections::BTreeMap;

use crate::cli::ImportArgs;

/// A format of traces.
pub struct Format {
    /// What made the trace, in a word.
    pub name: &'static str,
    /// How a user makes one.
    pub made_by: &'static str,
    /// Whether a text is of this format.
    pub detect: fn(text: &str) -> bool,
    /// Reads a text of this format.
    pub parse: fn(text: &str, args: &ImportArgs) -> anyhow::Result<Trace>,
}

/// What an application did, rank by rank.
#[derive(Debug, Default)]
pub struct Trace {
    pub ranks: Vec<TracedRank>,
    /// Calls that have no place in the program, with their number.
    pub left_out: BTreeMap<String, u64>,
}

/// What one process did, in the order of time.
#[derive(Debug, Default)]
pub struct TracedRank {
    pub name: String,
    pub calls: Vec<TracedCall>,
}

/// One call; times are seconds since an origin that the whole trace shares.
#[derive(Debug)]
pub struct TracedCall {
    pub start: f64,
    pub end: f64,
    pub op: Op,
    /// The errno with which it failed, by name.
    pub failed: Option<String>,
}

/// A call in the language's terms. Files are numbered by rank.
#[derive(Debug)]
pub enum Op {
    Open {
        file: usize,
        path: String,
        flags: String,
    },
    Close {
        file: usize,
    },
    /// `bytes` were read at the offset `at`, without one at the file's position; 0 bytes: the end of the file.
    Read {
        file: usize,
        bytes: u64,
        at: Option<u64>,
    },
    Write {
        file: usize,
        bytes: u64,
        at: Option<u64>,
    },
    Seek {
        file: usize,
        to: u64,
    },
    Sync {
        file: usize,
        data_only: bool,
    },
    Truncate {
        file: usize,
        length: u64,
    },
    /// A command that takes a name.
    Name {
        command: NameCommand,
        path: String,
    },
    /// A command that takes an old name and a new one.
    TwoNames {
        command: TwoNamesCommand,
        from: String,
        to: String,
    },
}

/// The commands of the language that take one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameCommand {
    Stat,
    Lookup,
    Unlink,
    Mkdir,
    Rmdir,
    Readdir,
}

/// The commands of the language that take two names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TwoNamesCommand {
    Rename,
    Link,
}

impl NameCommand {
    /// As a program spells it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stat => "stat",
            Self::Lookup => "lookup",
            Self::Unlink => "unlink",
            Self::Mkdir => "mkdir",
            Self::Rmdir => "rmdir",
            Self::Readdir => "readdir",
        }
    }

    /// Whether the name must be that of a directory.
    pub fn needs_directory(self) -> bool {
        match self {
            Self::Rmdir | Self::Readdir => true,
            Self::Stat | Self::Lookup | Self::Unlink | Self::Mkdir => false,
        }
    }
}

impl TwoNamesCommand {
    /// As a program spells it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rename => "rename",
            Self::Link => "link",
        }
    }
}

impl Op {
    /// The names it works on.
    pub fn paths(&self) -> Vec<&str> {
        match self {
            Self::Open { path, .. } | Self::Name { path, .. } => vec![path],
            Self::TwoNames { from, to, .. } => vec![from, to],
            Self::Close { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::Seek { .. }
            | Self::Sync { .. }
            | Self::Truncate { .. } => Vec::new(),
        }
    }
}

impl Trace {
    /// Counts a call that has no place in the program.
    pub fn leave_out(&mut self, what: &str) {
        *self.left_out.entry(what.to_owned()).or_default() += 1;
    }

    /// All calls of all ranks, with the number of the rank.
    pub fn calls(&self) -> impl Iterator<Item = (usize, &TracedCall)> {
        self.ranks
            .iter()
            .enumerate()
            .flat_map(|(rank, of_rank)| of_rank.calls.iter().map(move |call| (rank, call)))
    }
}
