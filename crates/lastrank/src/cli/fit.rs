//! Command-line arguments of `fit` and `compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Choice;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank fit run.parquet --label write --gate\n  \
    lastrank fit latencies.csv --column seconds --unit s --json\n  \
    lastrank fit latencies.txt --unit us --model gpd --threshold 99%\n  \
    lastrank fit run.parquet --label fsync --model r-largest --block 10s --r 5\n  \
    lastrank fit run.parquet --gate --covariate trend --covariate scale:load\n  \
    lastrank fit sea-level.csv --column level --block '1 year'\n  \
    lastrank fit latencies.csv --column seconds --unit s --by node\n  \
    lastrank fit run.parquet -o fit.pdf --figure return_levels --width ieee\n  \
    seq 1 100 | lastrank fit -")]
pub struct FitArgs {
    /// A run file, a CSV file with a header, a file with one number a line, or `-`
    pub file: PathBuf,
    #[command(flatten)]
    pub choice: Choice,
    /// Only these values, counted from 1: a part in which nothing changed, such as 1-227 or 228-
    #[arg(long, value_name = "FROM-TO")]
    pub values: Option<String>,
    /// The distribution to fit
    #[arg(long, value_enum, default_value_t = Model::Gev)]
    pub model: Model,
    /// Fit the maxima of blocks: of N values (100), or of a time of the run or of the dates of a table (10s, 1h, 1d, '1 year')
    #[arg(long, value_name = "N|TIME")]
    pub block: Option<String>,
    /// The column with the date of each value, for blocks of time, where several hold dates, or numbers since 1970
    #[arg(long, value_name = "COLUMN", requires = "block")]
    pub dates: Option<String>,
    /// Where the tail begins, for gpd and point-process: a value, with its unit where the values have
    /// one (12ms), a share of the values (99%), or `auto` [default: auto from 1000 values on, else 90%]
    #[arg(long, value_name = "VALUE|SHARE|auto")]
    pub threshold: Option<String>,
    /// Largest values of each block, for r-largest [default: 5, or fewer where blocks are smaller]
    #[arg(long)]
    pub r: Option<usize>,
    /// Let the location follow trend, hour, load, a column of the CSV file (numbers, or dates in days), or a file with
    /// one number for each value; `scale:trend` moves the scale, `shape:trend` the shape (repeatable)
    #[arg(long, value_name = "WHAT")]
    pub covariate: Vec<String>,
    /// Compare the groups that this column of a CSV file gives (`node`, `host`), or the ranks of a run (`rank`): which are
    /// slower than the others, with p-values adjusted for their number
    #[arg(long, value_name = "COLUMN")]
    pub by: Option<String>,
    /// Show the return levels where the covariates have these values, one for each of them: load=0.5
    /// (trend: 0 at the first value, 1 at the last; hour: 0 to 24) (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub at: Vec<String>,
    /// Show the level exceeded once in N values or blocks (repeatable) [default: 10, 100, 1000]
    #[arg(long, value_name = "N")]
    pub period: Vec<f64>,
    /// One line: the answer
    #[arg(short = 'q', long, conflicts_with_all = ["verbose", "json"])]
    pub one_line: bool,
    /// All tables, not only the first screen
    #[arg(long, short = 'v')]
    pub verbose: bool,
    /// A page with all figures and tables (FILE.html), or a figure for print (FILE.pdf, FILE.svg, FILE.png), drawn by
    /// Python with matplotlib
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The figure for print: diagnostic (four panels), return_levels, quantiles, probability, density, survival, series,
    /// far_tail … [default: diagnostic]
    #[arg(long, value_name = "KIND", requires = "output")]
    pub figure: Option<String>,
    /// Its width: a column of acm, ieee or elsevier, both columns (ieee:2), or inches [default: acm]
    #[arg(long, value_name = "WIDTH", requires = "output")]
    pub width: Option<String>,
    /// Print the whole page into FILE.pdf or FILE.png instead, through Chromium
    #[arg(long, requires = "output")]
    pub page: bool,
    /// The result as JSON (schema lastrank.fit/1, see docs/fit-json.md)
    #[arg(long)]
    pub json: bool,
    /// With all figures in the JSON: their numbers, and the drawing for Plotly
    #[arg(long, requires = "json")]
    pub figures: bool,
    /// Confidence level of all intervals
    #[arg(long, default_value_t = 0.95)]
    pub level: f64,
    /// Seed of the bootstrap
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// What is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Model {
    /// The distribution of maxima (GEV), with its rivals, tests and verdict
    Gev,
    /// The same with shape 0
    Gumbel,
    /// The distribution of what exceeds a threshold
    Gpd,
    /// The distribution of maxima from the r largest values of each block
    RLargest,
    /// The distribution of block maxima from all values above a threshold
    PointProcess,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank compare baseline.parquet today.parquet --label write --gate\n  \
    lastrank compare baseline.parquet today.parquet -o compare.html\n  \
    lastrank compare before.csv after.csv --column seconds --fail-if 'factor > 1.05'\n  \
    lastrank compare ext4.parquet xfs.parquet btrfs.parquet -o file-systems.html\n\n\
    Run old and new in turns where you can (lastrank ab): drift is otherwise read as a difference.")]
pub struct CompareArgs {
    /// What to compare with: a run file, a CSV file or a file with one number a line; or a directory of several runs
    #[arg(value_name = "BASELINE")]
    pub quiet: PathBuf,
    /// The new sample, or a directory of several new runs
    pub new: PathBuf,
    /// Further runs: with them all runs are compared with the first, row by row
    pub more: Vec<PathBuf>,
    #[command(flatten)]
    pub choice: Choice,
    /// A page with k, its likelihood and both samples
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exit with status 1 where this is certain, for the whole interval: `factor > 1.05`, of the new run `p99 > 5ms`, `iops < 1000`, or of
    /// its change `p99 > +20%`, `iops < -10%`. What was found is told on standard error
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Option<String>,
    /// Of directories: the one number of each run that is compared: median, p90, p99, p999, mean, max
    #[arg(long, value_name = "NUMBER")]
    pub statistic: Option<String>,
    /// Of runs: phase by phase, each operation with its number, avg, min, max and MiB/s, and its share of calls and time
    #[arg(long)]
    pub phases: bool,
    /// Read every sample of large runs, whose footers tell the ratio over all pairs within 0.0005
    #[arg(long)]
    pub exact: bool,
    /// One line: the answer
    #[arg(short = 'q', long, conflicts_with_all = ["verbose", "json"])]
    pub one_line: bool,
    /// A table in Markdown, for the summary of a CI job
    #[arg(long, conflicts_with_all = ["verbose", "json", "one_line"])]
    pub markdown: bool,
    /// All tables, not only the first screen
    #[arg(long, short = 'v')]
    pub verbose: bool,
    /// The result as JSON (schema lastrank.compare/2)
    #[arg(long)]
    pub json: bool,
    /// Confidence level of all intervals
    #[arg(long, default_value_t = 0.95)]
    pub level: f64,
    /// Seed of the bootstrap
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}
