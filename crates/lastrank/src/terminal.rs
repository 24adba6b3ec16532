//! What the terminal takes: width, colours, a line that is drawn over.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use report::ScreenOptions;
use terminal_size::terminal_size_of;

use crate::system;

/// How wide the lines may be; any width for a pipe.
pub fn columns() -> Option<usize> {
    has_width().then(|| screen_options().width)
}

/// Whether lines are to be as long as somebody's terminal is wide.
fn has_width() -> bool {
    let is_asked = std::env::var_os("COLUMNS").is_some_and(|columns| !columns.is_empty());
    is_asked || is_watched(Stream::Output)
}

/// Whether standard error is a terminal on which a line can be drawn over.
pub fn progress_is_seen() -> bool {
    Stream::Error.is_terminal() && said("TERM").is_none_or(|term| term != "dumb")
}

/// A stream that may be a terminal.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

impl Stream {
    /// Whether it is a terminal that somebody looks at. Launchers of MPI may give a rank one of their own, whose output they
    /// collect: it has no size.
    fn is_terminal(self) -> bool {
        let is_terminal = match self {
            Self::Output => io::stdout().is_terminal(),
            Self::Error => io::stderr().is_terminal(),
        };
        is_terminal && (self.own_columns().is_some() || !system::is_launched())
    }

    /// Columns of the terminal, where it has a size.
    fn own_columns(self) -> Option<usize> {
        let size = match self {
            Self::Output => terminal_size_of(io::stdout()),
            Self::Error => terminal_size_of(io::stderr()),
        };
        size.map(|(columns, _)| columns.0.into())
    }

    /// Columns of the terminal on which the launcher of this process shows the stream.
    fn launcher_columns(self) -> Option<usize> {
        static SEEN: [OnceLock<Option<usize>>; 2] = [OnceLock::new(), OnceLock::new()];
        *SEEN[self as usize].get_or_init(|| {
            let terminal = system::is_launched().then(|| system::terminal_of_launcher(self as u32 + 1));
            let size = terminal.flatten().and_then(terminal_size_of);
            size.map(|(columns, _)| columns.0.into())
        })
    }

    fn columns(self) -> Option<usize> {
        self.own_columns().or_else(|| self.launcher_columns())
    }
}

/// Whether a user sees the stream on a terminal: its own, or that of the launcher of this process.
pub fn is_watched(stream: Stream) -> bool {
    stream.is_terminal() || stream.launcher_columns().is_some()
}

/// How wide lines of standard error may be; any width for a pipe.
pub fn error_columns() -> Option<usize> {
    is_watched(Stream::Error).then(|| clamped(Stream::Error.columns()))
}

fn clamped(columns: Option<usize>) -> usize {
    columns.unwrap_or(80).clamp(report::LEAST_COLUMNS, 160)
}

/// How wide a screen may be and whether it may have colours: what the terminal takes, or 80 columns without colours in
/// a pipe. `COLUMNS` sets the width of a pipe; a `NO_COLOR` that is not empty (no-color.org) and `TERM=dumb` take the
/// colours away, `CLICOLOR_FORCE` (bixense.com/clicolors) gives them to a pipe too.
pub fn screen_options() -> ScreenOptions {
    let asked = said("COLUMNS").and_then(|columns| columns.parse().ok());
    let width = clamped(Stream::Output.columns().or(asked));
    ScreenOptions { width, colour: may_colour(is_watched(Stream::Output)) }
}

/// Are standard output and standard error both a terminal, so that a reader sees either?
pub fn is_one_terminal() -> bool {
    Stream::Output.is_terminal() && Stream::Error.is_terminal()
}

/// Whether text for a stream that is a terminal, or is none, has colours.
pub fn may_colour(is_terminal: bool) -> bool {
    let is_forced = said("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let is_able = is_terminal && said("TERM").is_none_or(|term| term != "dumb");
    said("NO_COLOR").is_none() && (is_forced || is_able)
}

/// A variable of the environment that says something.
fn said(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
