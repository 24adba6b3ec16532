//! The arguments that choose values of a file and their unit, shared by several subcommands.

use clap::{Args, ValueEnum};

/// What of a file is wanted.
#[derive(Debug, Default, Args)]
pub struct Choice {
    /// The column of a CSV file, by name or by position from 1
    #[arg(long, value_name = "NAME")]
    pub column: Option<String>,
    /// The samples of this label, operation or LABEL/OPERATION of a run
    #[arg(long, value_name = "LABEL", visible_alias = "of")]
    pub label: Option<String>,
    /// The maximum over ranks of each iteration, not every rank's own sample
    #[arg(long)]
    pub gate: bool,
    /// The unit of plain numbers, which are then shown as durations
    #[arg(long, value_enum)]
    pub unit: Option<TimeUnit>,
}

impl Choice {
    /// The column of a CSV file.
    pub fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimeUnit {
    Ns,
    Us,
    Ms,
    S,
}

impl TimeUnit {
    /// Its length in seconds.
    pub fn seconds(self) -> f64 {
        match self {
            TimeUnit::Ns => 1e-9,
            TimeUnit::Us => 1e-6,
            TimeUnit::Ms => 1e-3,
            TimeUnit::S => 1.0,
        }
    }
}

/// What a JSON document may have besides the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WithMore {
    /// Every value of what is analysed first: `subject.steps`
    Steps,
    /// The figures of the page: `chapters[].figures`
    Figures,
    /// Every rank, not only the slowest, every row of tables, and series in fine bins
    Ranks,
    /// The tables of the page whose numbers have fields of their own: `chapters[].tables`
    Tables,
}

/// Whether ranks are pinned to processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PinTo {
    /// Several ranks are, where there is a processor for each
    Auto,
    /// Each rank to one, in turn where there are more ranks
    Cores,
    /// None is
    None,
}

/// What is shown while a run runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgressKind {
    /// Rates and the time to go in one line, where somebody watches
    Auto,
    /// One JSON object a line (schema lastrank.progress/1)
    Json,
    /// Nothing
    None,
}

/// What is kept of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Record {
    /// Every one: any analysis, 64 bytes each
    Samples,
    /// Quantiles within 0.4 % and the far tail, in constant memory: for runs of billions
    Histogram,
}
