//! Arguments of the commands about applications: record, import, replay, fidelity.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Shorter gaps between calls are left out of programs, in microseconds.
pub const LEAST_GAP_US: f64 = 1.0;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank record -o app.parquet -- ./app --size 3\n  \
    lastrank record --quiet -o app.parquet -- ./app --size 3\n  \
    mpirun -n 4 lastrank record -o run-%r.parquet -- ./app && lastrank import run-%r.parquet -o app.ppl\n  \
    lastrank import app.parquet -o app.ppl --only /scratch/run7")]
pub struct RecordArgs {
    /// Where the recording goes; %r is the rank, where an MPI launcher starts `record` [default: the application's name,
    /// ending in .parquet]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Record by a preloaded library: less than a tenth of a microsecond a call instead of ten, so that a replay takes as
    /// long as the application; what passes the C library by is missing, and the share that was seen is told. Static
    /// programs, Go, musl and set-user-id programs are refused
    #[arg(long)]
    pub quiet: bool,
    /// Also what becomes of each kind of call, and, before it starts, what a kill of the recorder does
    #[arg(long, short = 'v')]
    pub verbose: bool,
    /// The application with its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank record -o app.parquet -- ./app && lastrank import app.parquet -o app.ppl\n  \
    strace -f -ttt -T -o app.strace ./app && lastrank import app.strace -o app.ppl\n  \
    lastrank import app.strace --only /scratch/run7 | less\n  \
    fio --write_iolog=job.log job.fio && lastrank import job.log -o job.ppl")]
pub struct ImportArgs {
    /// A recording of `lastrank record` (with %r in its name: those of all ranks, joined), a trace of `strace -f -ttt -T -o FILE` (of `-ff`: FILE without the numbers
    /// after it), a log of `fio --write_iolog=FILE`, text of `darshan-dxt-parser` or `darshan-parser`, the directory
    /// `_text` of Recorder
    pub trace: PathBuf,
    /// Where the program goes [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub choice: TraceChoice,
    /// Gaps between calls shorter than this many microseconds are left out
    #[arg(long, value_name = "MICROSECONDS", default_value_t = LEAST_GAP_US)]
    pub least_gap_us: f64,
    /// Write every call, without loops
    #[arg(long)]
    pub verbatim: bool,
    /// Draw sizes, and offsets that are at random, from their distributions
    #[arg(long, conflicts_with = "verbatim")]
    pub model: bool,
    /// Start calls when they started in the recording, or at once where they did, instead of pauses: an open loop
    #[arg(long, conflicts_with = "model")]
    pub as_recorded: bool,
    /// Give files other names, the same for the same name, so that the program can be sent away
    #[arg(long)]
    pub anonymise: bool,
    /// Hide paths, host and user: as --anonymise, and in programs of job files and command lines too
    #[arg(long)]
    pub redact: bool,
    /// Also what becomes of each kind of call
    #[arg(long, short = 'v')]
    pub verbose: bool,
}

/// Which calls of a trace count.
#[derive(Debug, Args)]
pub struct TraceChoice {
    /// Only files in this directory (repeatable)
    #[arg(long, value_name = "DIR")]
    pub only: Vec<String>,
    /// Files of the system too (/usr, /lib, /etc …), but for /proc, /sys and /dev
    #[arg(long)]
    pub all: bool,
    /// What the kernel copied from file to file (copy_file_range, sendfile, splice) as a read and a write, where the file
    /// system of the replay cannot copy
    #[arg(long)]
    pub read_and_write: bool,
    /// What the lines of a trace mean that is of no known format: columns, or a regular expression (see docs/import.md)
    #[arg(long, value_name = "FILE")]
    pub description: Option<PathBuf>,
    /// The working directory of the application [default: what the trace says]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank replay app.ppl --set dir=/mnt/nfs/replay\n  \
    lastrank replay app.parquet --only /scratch/run7 --as-fast-as-possible -o replay.parquet\n  \
    lastrank replay app.parquet --as-recorded --speed 2 --copies 8")]
pub struct ReplayArgs {
    /// A program of `lastrank import`, or a recording or trace that is imported first
    pub application: PathBuf,
    /// Start calls when they started in the recording, however long those before it take (an open loop; late starts
    /// are recorded) [default: a closed loop with the pauses that the application made]
    #[arg(long)]
    pub as_recorded: bool,
    /// Without its pauses
    #[arg(long, conflicts_with_all = ["as_recorded", "speed"])]
    pub as_fast_as_possible: bool,
    /// So many times as fast: pauses, or with --as-recorded the times between starts, are as many times as short
    #[arg(long, value_name = "FACTOR")]
    pub speed: Option<f64>,
    /// So many copies of the application at once, each in a directory copy-0, copy-1 … of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub copies: u32,
    #[command(flatten)]
    pub choice: TraceChoice,
    /// Set a parameter of the program, such as dir=/mnt/nfs/replay
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Let the replay do what it likes below this directory, as with `run`; an empty directory is allowed anyway
    #[arg(long, value_name = "PATH")]
    pub allow: Vec<PathBuf>,
    /// Where the samples go [default: the application's name, ending in -replay.parquet]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where the report goes, or `none` [default: next to the run file, ending in .html]
    #[arg(long, value_name = "FILE|none")]
    pub report: Option<PathBuf>,
    /// Only what the program prints and errors
    #[arg(long, short = 's', conflicts_with = "one_line")]
    pub quiet: bool,
    /// The answer in one line
    #[arg(long, short = 'q')]
    pub one_line: bool,
    /// Do not look for the causes of slow operations: nearer to the application's time where many calls wait
    #[arg(long)]
    pub no_causes: bool,
    /// Confine nothing: for a program of your own; opening and making files is then some 0.4 µs faster, as in the
    /// application
    #[arg(long)]
    pub unconfined: bool,
    /// Remove what the replay created, and only that, when it ends
    #[arg(long, short = 'c')]
    pub clean: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank fidelity app.parquet replay.parquet\n  \
    lastrank fidelity app.parquet replay.parquet --tree /mnt/nfs/replay --html fidelity.html\n  \
    lastrank fidelity app.parquet replay-*.parquet --only /scratch/run7")]
pub struct FidelityArgs {
    /// The recording or trace of the application
    pub application: PathBuf,
    /// Run files of its replays; from three on there is an interval of deviance
    #[arg(required = true)]
    pub replays: Vec<PathBuf>,
    /// Further recordings of the application (repeatable): the interval of deviance then is one of both
    #[arg(long, value_name = "RECORDING")]
    pub also: Vec<PathBuf>,
    /// Compare the files that the replay left in this directory with those that the application left
    #[arg(long, value_name = "DIR")]
    pub tree: Option<PathBuf>,
    /// Write a page with both over time
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// The answer in one line
    #[arg(long, short = 'q')]
    pub one_line: bool,
    /// Print what was found as JSON
    #[arg(long, conflicts_with = "one_line")]
    pub json: bool,
    #[command(flatten)]
    pub choice: TraceChoice,
}
