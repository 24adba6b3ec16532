//! The arguments that choose values of a file and their unit, shared by several subcommands.

use clap::{Args, ValueEnum};
use intake::{Filter, Wanted};

/// What of a file is wanted.
#[derive(Clone, Debug, Default, Args)]
pub struct Choice {
    /// The column of a table by name, or by place (#2); of other files the series, or a path in JSON (requests.latency)
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
    /// Only rows where this holds of a column: status=200, node!=a, load>0.5 (repeatable)
    #[arg(long = "where", value_name = "COL=VALUE", help_heading = FOREIGN)]
    pub filters: Vec<Filter>,
    /// What becomes of rows without a value [default: refuse]
    #[arg(long, value_enum, value_name = "drop|refuse", help_heading = FOREIGN)]
    pub missing: Option<Missing>,
    /// The sign before the fraction of numbers [default: .]
    #[arg(long, value_name = "SIGN", help_heading = FOREIGN)]
    pub decimal: Option<char>,
    /// The sign between groups of three digits: `,` of 1,234,567
    #[arg(long, value_name = "SIGN", help_heading = FOREIGN)]
    pub thousands: Option<char>,
    /// Leave out this many lines before the table
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, help_heading = FOREIGN)]
    pub skip: usize,
    /// The first line holds values, not names
    #[arg(long, help_heading = FOREIGN)]
    pub no_header: bool,
    /// With what failed (requests, runs), where a format tells that
    #[arg(long, help_heading = FOREIGN)]
    pub failed: bool,
}

/// Above the options for files that are no runs.
const FOREIGN: &str = "Files of other tools";

/// What becomes of rows without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Missing {
    /// They are left out, and their number is said
    Drop,
    /// They are an error
    Refuse,
}

impl Choice {
    /// The column of a CSV file.
    pub fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }

    /// The same options for runs, which have neither columns nor another unit.
    pub fn of_run(&self) -> Choice {
        Choice { label: self.label.clone(), gate: self.gate, ..Choice::default() }
    }

    /// What is wanted of a file that is no run.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            column: self.column.clone(),
            filters: self.filters.clone(),
            drop_missing: self.missing == Some(Missing::Drop),
            decimal: self.decimal.unwrap_or('.'),
            thousands: self.thousands,
            skip: self.skip,
            failed: self.failed,
            header: self.no_header.then_some(false),
            beside: None,
            dates: false,
            bare: false,
        }
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

    /// Whether it is the same as one that a file names.
    pub fn is(self, unit: intake::Unit) -> bool {
        self.seconds() == unit.seconds()
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
    /// Quantiles within 0.4% and the far tail, in constant memory: for runs of billions
    Histogram,
}
