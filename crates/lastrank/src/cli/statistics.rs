//! Command-line arguments of `watch`, `scale` and `plan-runs`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Choice;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank watch good.parquet today.parquet --label write --gate\n  \
    tail -f latencies.txt | lastrank watch baseline.txt - --unit ms --json\n  \
    lastrank watch good.parquet runs/ --follow --prometheus /var/lib/node_exporter/write.prom\n  \
    lastrank watch good/ probes/ --statistic p99 --per run --state probe.state --quiet\n  \
    echo \"$seconds\" | lastrank watch good.txt - --state write.state --quiet || mail -s slow root\n\n\
    Exit status: 0 no alarm · 1 alarmed · 2 usage or baseline · 3 the stream cannot be read, or a run in it is not sound")]
pub struct WatchArgs {
    /// Baseline, measured on the healthy system: a run file, a CSV file or a file with one number a line
    pub baseline: PathBuf,
    /// What to watch: a file with one number a line, a run file, a directory of run files, or `-`
    pub stream: PathBuf,
    #[command(flatten)]
    pub choice: Choice,
    /// Only these values of the baseline, counted from 1: a part in which nothing changed, such as 1-227 or 228-
    #[arg(long, value_name = "FROM-TO")]
    pub values: Option<String>,
    /// Watch one number of each run file, not each of its values: median, p90, p99, p999, mean or max. The baseline is then
    /// a directory of runs, or such numbers
    #[arg(long, value_name = "median|p90|p99|p999|mean|max")]
    pub statistic: Option<String>,
    /// Of what the statistic is
    #[arg(long, value_enum, value_name = "run", requires = "statistic")]
    pub per: Option<Per>,
    /// Share of the values of a healthy system that may give a spike alarm [default: 0.001, more from a short baseline]
    #[arg(long, value_name = "RATE")]
    pub false_alarm_rate: Option<f64>,
    /// Mean number of healthy values between two false alarms of a changed level
    #[arg(long, value_name = "VALUES", default_value_t = 1000.0)]
    pub run_length: f64,
    /// The slow-down to be found soonest, as a factor (1.05) or in percent (5%)
    #[arg(long, value_name = "FACTOR", default_value = "5%")]
    pub shift: String,
    /// Keep the false-alarm rate in 90% of baselines, not only on average over them
    #[arg(long)]
    pub guaranteed: bool,
    /// Take a new level that lasted for N values (at least 50) as the new baseline
    #[arg(long, value_name = "N")]
    pub rebaseline: Option<usize>,
    /// Go on as the file or directory grows, until Ctrl-C
    #[arg(long, short = 'f')]
    pub follow: bool,
    /// Seconds between two looks at it
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, requires = "follow")]
    pub every: f64,
    /// Remember in this file what was seen, and go on from there in the next call
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Keep this file up to date for the text-file collector of Prometheus' node_exporter
    #[arg(long, value_name = "FILE.prom")]
    pub prometheus: Option<PathBuf>,
    /// One JSON object a line (schema lastrank.watch-event/1) instead of words
    #[arg(long)]
    pub json: bool,
    /// Only what happens: no words about the baseline and at the end
    #[arg(long, short = 'q')]
    pub quiet: bool,
    /// Seed of the bootstrap that calibrates the threshold
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Of what a statistic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Per {
    /// Of each run file
    Run,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank scale run16.parquet --to 64 --to 128\n  \
    lastrank scale run4.parquet run16.parquet run64.parquet --to 4096\n  \
    lastrank scale slowest.txt --parts 16 --unit ms --to 64\n\n\
    Three or more sizes show how far the ranks depend on one another; one size takes them as\n\
    independent. Exit status 1 where the data do not carry the prediction.")]
pub struct ScaleArgs {
    /// Runs of one experiment at one or several numbers of ranks
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// Number of ranks to predict the slowest of (repeatable)
    #[arg(long, value_name = "RANKS", required = true)]
    pub to: Vec<f64>,
    #[command(flatten)]
    pub choice: Choice,
    /// How many ranks each value is the slowest of, one for each file [default: as the runs say]
    #[arg(long, value_name = "RANKS")]
    pub parts: Vec<f64>,
    /// Show the level that one in STEPS exceeds (repeatable) [default: 10, 100, 1000]
    #[arg(long, value_name = "STEPS")]
    pub period: Vec<f64>,
    /// The result as JSON (schema lastrank.scale/1)
    #[arg(long)]
    pub json: bool,
    /// Confidence level of all intervals
    #[arg(long, default_value_t = 0.95)]
    pub level: f64,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank plan-runs pilot.parquet 'width(p99) < 5%'\n  \
    lastrank plan-runs pilot.parquet 'width(return-level(100)) < 1%'\n  \
    lastrank plan-runs pilot.parquet 'width(location) < 1%' 'factor > 1.02'\n  \
    lastrank plan-runs --location 11.2 --scale 0.21 --shape 0 'width(shape) < 0.1'\n\n\
    width(…): the whole width of the interval, in percent or in the unit of the values (11ms, 0.05), of\n\
    p50, p90, p99, p99.9, p99.99 (quantiles of the values, measured where the pilot reaches so far),\n\
    location, scale, shape, return-level(N). factor > 1.01: find a system that is 1% slower (--power).\n\
    p99=5% and k=1%, as earlier versions wrote it, still mean half the width, and factor > 1.01.")]
pub struct PlanArgs {
    /// A pilot: a run file, a CSV file or a file with one number a line, or `-`
    pub pilot: Option<PathBuf>,
    /// What is wanted how precisely: 'width(p99) < 5%', 'width(location) < 1%', …
    #[arg(value_name = "CONDITION")]
    pub goals: Vec<String>,
    /// The same as an option (repeatable)
    #[arg(long, value_name = "CONDITION")]
    pub precision: Vec<String>,
    #[command(flatten)]
    pub choice: Choice,
    /// Without a pilot: location of the distribution
    #[arg(long, requires = "scale", allow_negative_numbers = true)]
    pub location: Option<f64>,
    /// Without a pilot: scale of the distribution
    #[arg(long, requires = "location", allow_negative_numbers = true)]
    pub scale: Option<f64>,
    /// Without a pilot: shape of the distribution, positive for a heavy tail [default: 0]
    #[arg(long, requires = "scale", allow_negative_numbers = true)]
    pub shape: Option<f64>,
    /// Variance inflation by resemblance of neighbours [default: as the pilot shows, else 1]
    #[arg(long, value_name = "FACTOR")]
    pub inflation: Option<f64>,
    /// Chance of finding the slow-down that `factor > …` asks for
    #[arg(long, default_value_t = 0.8)]
    pub power: f64,
    /// The result as JSON (schema lastrank.plan/1)
    #[arg(long)]
    pub json: bool,
    /// Confidence level of the intervals
    #[arg(long, default_value_t = 0.95)]
    pub level: f64,
}
