//! The subcommands and their command-line arguments.

use std::path::PathBuf;

mod choice;
mod fit;
mod overview;
mod shell;
mod statistics;
mod tips;
mod traces;
mod workloads;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use choice::{Choice, PinTo, ProgressKind, Record, TimeUnit, WithMore};
pub use fit::{CompareArgs, FitArgs, Model};
pub use shell::{CompletionsArgs, EchoArgs, ManArgs};
pub use statistics::{PlanArgs, ScaleArgs, WatchArgs};
pub use tips::parse;
pub use traces::{FidelityArgs, ImportArgs, LEAST_GAP_US, RecordArgs, ReplayArgs, TraceChoice};
pub use workloads::{AbArgs, Io500Args, IoArgs, LineArgs, LsArgs, MemArgs, MemoryKind};

/// What `--version` prints.
const BUILD: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("LASTRANK_COMMIT"),
    ")\ntarget: ",
    env!("LASTRANK_TARGET"),
    "\nfeatures: ",
    env!("LASTRANK_FEATURES"),
    "\nbuilt: ",
    env!("LASTRANK_BUILT")
);

/// How long do operations on this machine really take, and is that tail normal?
///
/// lastrank runs a small program of file, memory or system operations on one process or many
/// ranks, keeps every single operation with its own time, and explains the slow operations with
/// extreme-value statistics. Start with `lastrank run parallel_write`.
#[derive(Debug, Parser)]
#[command(name = "lastrank", version, long_version = BUILD, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Exit status: 0 ok · 1 the answer is no · 2 usage or program error · \
                        3 incomplete or failed operations", override_help = overview::text())]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// A tour of this machine in under a minute: one rung a line, from L1 to fsync
    Try(TryArgs),
    /// What this machine is, and whether it is fit to measure (exit status 1: not)
    Machine(MachineArgs),
    /// List the experiments that ship with lastrank, or print one to read and change
    Experiments(ExperimentsArgs),
    /// Run a program or a shipped experiment; keep every sample; fit the tail; write a report
    Run(RunArgs),
    /// Make run files of the samples that killed runs left, and remove the files that they had made
    Recover(RecoverArgs),
    /// Read and write files as fio does: `lastrank io randread --bs 4k --depth 16 --time 10s`
    Io(Box<IoArgs>),
    /// Create, ask for and remove files and directories as mdtest does, with mdtest's options
    Meta(LineArgs),
    /// Write and read from many ranks as IOR does, with IOR's options
    Ior(LineArgs),
    /// The twelve phases of IO500 by its configuration file, with its scores: `lastrank io500 --config config.ini`
    Io500(Box<Io500Args>),
    /// Latency and bandwidth of memory
    Mem(MemArgs),
    /// Is B slower than A? Interleaved runs of two commands or programs until that is decided
    Ab(AbArgs),
    /// The runs of a folder as a table
    Ls(LsArgs),
    /// Make the report of a run file again
    Report(ReportArgs),
    /// Fit extreme-value models to a run, a CSV file or a file with one number a line
    Fit(FitArgs),
    /// By what factor is a new run slower than a quiet one, with its interval?
    Compare(CompareArgs),
    /// Has this system become slow? Alarms on a stream, with a stated rate of false ones
    Watch(WatchArgs),
    /// How long would the slowest of many more ranks take?
    Scale(ScaleArgs),
    /// How many runs are needed for a wanted precision?
    PlanRuns(PlanArgs),
    /// Check a program without running it
    Check(CheckArgs),
    /// Say what a program will do: ranks, layouts, meetings, operations, bytes, space
    Explain(ExplainArgs),
    /// Write programs in their one layout, keeping every comment
    Fmt(FmtArgs),
    /// Serve an editor: diagnostics, hover, completion, definitions, formatting (on stdin and stdout)
    Lsp,
    /// Write a run in the formats of Parabench (text, XML, report) or as CSV
    Export(ExportArgs),
    /// Run an application and record every call on files that it and its children make
    Record(RecordArgs),
    /// Make a program of what an application did (a recording, or a trace of another tool), of a job file of fio, or of
    /// a command line of IOR or mdtest
    Import(ImportArgs),
    /// Do again what an application did, with its pauses, faster or without them
    Replay(ReplayArgs),
    /// How like the application is its replay: operations, bytes, durations, with intervals
    Fidelity(FidelityArgs),
    /// Answer round trips through the network: the other end of `net_pingpong`
    Echo(EchoArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank run parallel_write\n  \
    lastrank run parallel_write --set size=512MiB --set dir=/mnt/lustre --set striped=yes\n  \
    lastrank run my.ppl -n 4 -g writers:2 -o my.parquet\n  \
    lastrank run my.ppl --until 'width(p99) < 5%' --time 10m\n  \
    lastrank run parallel_write --backend 'simulate:gev(10ms,1ms,0.1)'")]
pub struct RunArgs {
    /// A program file (*.ppl) or the name of a shipped experiment
    pub program: String,
    /// Parameters of the program as NAME=VALUE, the classic way
    pub parameters: Vec<String>,
    /// End the run after this time, whatever the program says: `30s`, `5m`. It is real time, also of a simulated run
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    #[command(flatten)]
    pub options: RunOptions,
    /// The text of the program, where lastrank made it and `program` is its name
    #[arg(skip)]
    pub made: Option<String>,
    /// It may make links that lead elsewhere: those that an application made
    #[arg(skip)]
    pub links: bool,
    /// Where the command was given, where the program works elsewhere
    #[arg(skip)]
    pub began_in: Option<PathBuf>,
}

impl std::ops::Deref for RunArgs {
    type Target = RunOptions;

    fn deref(&self) -> &RunOptions {
        &self.options
    }
}

/// How any program is run, whether it came from a file or was made by `io` and its like.
#[derive(Clone, Debug, Args)]
pub struct RunOptions {
    /// Number of ranks (processes on this machine) [default: what the program says, else 1]
    #[arg(short = 'n', long, value_name = "RANKS")]
    pub ranks: Option<u32>,
    /// Set a parameter of the program
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Give a group its number of ranks
    #[arg(short = 'g', long, value_name = "GROUP:SIZE")]
    pub group: Vec<String>,
    /// End the run as soon as its answer is precise enough: `width(p99) < 5%` (the 95% interval is that narrow), or `n_eff > 400`
    /// (the values tell as much of p99 as 400 independent ones)
    #[arg(long, value_name = "CONDITION")]
    pub until: Option<String>,
    /// Leave out what comes before the load is steady: `iops 5% over 30s` (each second of 30 s within 5% of their mean,
    /// and no slope above it); `--until steady` ends the run then
    #[arg(long, value_name = "RULE")]
    pub steady: Option<String>,
    /// Where the samples go [default: PROGRAM-DATE-TIME.parquet]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where the report goes, or `none` [default: next to the run file, ending in .html]
    #[arg(long, value_name = "FILE|none")]
    pub report: Option<PathBuf>,
    /// A sentence that is kept with the run and shown by `lastrank ls`
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// A name with a value that is kept with the run (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub tag: Vec<String>,
    /// Say what would be done (operations, bytes, files, space for each rank) and stop
    #[arg(long, short = 'd')]
    pub dry_run: bool,
    /// `posix`, `simulate:DISTRIBUTION` for durations drawn on a virtual clock, or `nfs://SERVER/EXPORT` through
    /// libnfs
    #[arg(long, value_name = "BACKEND", default_value = "posix")]
    pub backend: String,
    /// Seed of all random draws
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// So much of what is written can be compressed (zeros in each 512 bytes), at most 80%
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent::<80>)]
    pub compressible: u8,
    /// So many of all blocks of 128 KiB are copies of each other, for storage that deduplicates
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent::<100>)]
    pub dedupe: u8,
    /// Keep every sample (64 bytes each), or count them in a histogram of each place and keep the slowest
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Record::Samples)]
    pub record: Record,
    /// Do not look for the causes of slow operations, as other tools do not: one that waits for a disk is then 5 to
    /// 12 µs faster
    #[arg(long)]
    pub no_causes: bool,
    /// Give each rank a processor of its own [default: auto: several ranks are pinned where there is a
    /// processor for each, a rank alone is left to the scheduler]
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = PinTo::Auto, hide_default_value = true)]
    pub pin: PinTo,
    /// Give up on a barrier that a rank does not reach within this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
    /// Let the program do what it likes below this directory, or with this device: also remove what the run did not
    /// make, and use hidden names (repeatable)
    #[arg(long, value_name = "PATH")]
    pub allow: Vec<PathBuf>,
    /// Let the program start other programs and make files executable
    #[arg(long)]
    pub allow_spawn: bool,
    /// Let one write take more than nine tenths of what is free
    #[arg(long)]
    pub fill: bool,
    /// Confine the program to this directory tree
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// For a program that you do not trust at all: a new folder, DIR or one with a name of its own here, is all that it sees and
    /// changes. No run where the kernel cannot keep that, or under an MPI launcher
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    #[arg(conflicts_with_all = ["root", "allow", "allow_spawn", "fill", "unconfined"])]
    pub room: Option<Option<PathBuf>>,
    /// Confine nothing: for a program of your own; opening and making files is then some 0.4 µs faster
    #[arg(long, conflicts_with_all = ["root", "require_confinement"])]
    pub unconfined: bool,
    /// Do not run where the kernel cannot confine the program
    #[arg(long)]
    pub require_confinement: bool,
    /// Remove what the run created, and only that, when it ends
    #[arg(long, short = 'c')]
    pub clean: bool,
    /// Pass over sleep and think
    #[arg(long, short = 'a')]
    pub skip_sleep: bool,
    /// Begin at SIGUSR1, when the program was checked and everything is ready
    #[arg(long, short = 'w')]
    pub wait: bool,
    /// Only what the program prints and errors
    #[arg(long, short = 's', conflicts_with_all = ["verbose", "one_line"])]
    pub quiet: bool,
    /// All tables and sentences, not only the first screen
    #[arg(long, short = 'v', conflicts_with = "one_line")]
    pub verbose: bool,
    /// The answer in one line
    #[arg(long, short = 'q')]
    pub one_line: bool,
    /// What is shown while it runs, on standard error: a line on a terminal, or JSON, a line a second
    #[arg(long, value_enum, value_name = "HOW", default_value_t = ProgressKind::Auto)]
    pub progress: ProgressKind,
    /// The result as one JSON document on standard output (schema lastrank.run/1); what the program prints goes to
    /// standard error
    #[arg(long)]
    pub json: bool,
    /// With more in the JSON: every value (`steps`), all `figures`, every rank (`ranks`), all `tables` of the page
    #[arg(long, value_enum, value_name = "PARTS", value_delimiter = ',', requires = "json")]
    pub with: Vec<WithMore>,
    /// Append one row for each part of the answer to a table of many runs: CSV, or JSON lines to `*.json` and `*.jsonl`
    #[arg(long, value_name = "FILE")]
    pub append: Option<PathBuf>,
    /// MPI library to use, or `none` [default: found by the launcher's environment]
    #[arg(long, value_name = "PATH|none")]
    pub mpi: Option<String>,
    /// Hide host, command line, paths and user in the run file and the report
    #[arg(long)]
    pub redact: bool,
    /// Accept the original's lexing: unknown words and characters are ignored with a warning
    #[arg(long)]
    pub classic: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lastrank recover\n  lastrank recover results\n  lastrank recover --all\n\n\
    Samples lie in /dev/shm until their run file is written; a restart or the last logout may lose them."
)]
pub struct RecoverArgs {
    /// Runs and recordings that were started in this folder or were to be written there; they are written into it
    /// [default: the working directory]
    pub directory: Option<PathBuf>,
    /// Those of all your folders, into this one
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank experiments\n  \
    lastrank experiments disk > my.ppl")]
pub struct ExperimentsArgs {
    /// Print the text of this experiment
    pub name: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum DiagnosticFormat {
    Text,
    Json,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Without -n and -g, what only a run must have is not asked for, and the number of ranks may be \
    any unless the program defines it.\n\nExamples:\n  \
    lastrank check my.ppl\n  \
    lastrank check my.ppl -n 6 -g writers:2 --set size=512MiB"
)]
pub struct CheckArgs {
    /// A program file (*.ppl), `-` for standard input, or the name of a shipped experiment
    pub program: String,
    /// Parameters of the program as NAME=VALUE, the classic way
    pub parameters: Vec<String>,
    /// Look at a run with this many ranks
    #[arg(short = 'n', long, value_name = "RANKS")]
    pub ranks: Option<u32>,
    /// Set a parameter of the program
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Give a group its number of ranks
    #[arg(short = 'g', long, value_name = "GROUP:SIZE")]
    pub group: Vec<String>,
    /// How diagnostics are written
    #[arg(long, value_enum, default_value_t = DiagnosticFormat::Text)]
    pub format: DiagnosticFormat,
    /// Accept the original's lexing: unknown words and characters are ignored with a warning
    #[arg(long)]
    pub classic: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank explain parallel_write\n  \
    lastrank explain my.ppl -n 6 -g writers:2 --set size=512MiB")]
pub struct ExplainArgs {
    /// A program file (*.ppl), `-` for standard input, or the name of a shipped experiment
    pub program: String,
    /// Parameters of the program as NAME=VALUE, the classic way
    pub parameters: Vec<String>,
    /// Number of ranks [default: what the program says, else 1]
    #[arg(short = 'n', long, value_name = "RANKS")]
    pub ranks: Option<u32>,
    /// Set a parameter of the program
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Give a group its number of ranks
    #[arg(short = 'g', long, value_name = "GROUP:SIZE")]
    pub group: Vec<String>,
    /// As JSON (schema lastrank.explain/1)
    #[arg(long)]
    pub json: bool,
    /// Accept the original's lexing: unknown words and characters are ignored with a warning
    #[arg(long)]
    pub classic: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank fmt *.ppl\n  \
    lastrank fmt --check --diff *.ppl\n  \
    lastrank fmt - < program.ppl")]
pub struct FmtArgs {
    /// Program files, written in place; `-` for standard input, written to standard output
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// Write nothing; exit with status 1 and name the files that are not formatted
    #[arg(long)]
    pub check: bool,
    /// Write nothing; show what would change
    #[arg(long)]
    pub diff: bool,
    /// Accept the original's lexing: unknown words and characters are ignored
    #[arg(long)]
    pub classic: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank report run.parquet\n  \
    lastrank report run.parquet --label write/fwrite -o page.html\n  \
    lastrank report run.parquet --json")]
pub struct ReportArgs {
    /// A run file, or a directory of parts
    pub run: PathBuf,
    /// Where the page goes [default: next to the run file, ending in .html]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Analyse this label, operation or LABEL/OPERATION first
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,
    /// All tables and sentences on standard output, not only the first screen
    #[arg(long, short = 'v', visible_alias = "text", overrides_with = "verbose")]
    pub verbose: bool,
    /// The answer in one line, and a page only where -o names one
    #[arg(long, short = 'q', conflicts_with = "verbose")]
    pub one_line: bool,
    /// The JSON document of `run --json` on standard output (schema lastrank.run/1), and a page only where -o names one
    #[arg(long, conflicts_with_all = ["verbose", "one_line"])]
    pub json: bool,
    /// With more in the JSON: every value (`steps`), all `figures`, every rank (`ranks`), all `tables` of the page
    #[arg(long, value_enum, value_name = "PARTS", value_delimiter = ',', requires = "json")]
    pub with: Vec<WithMore>,
    /// With every figure of every operation, and the kernel's command line, on the page
    #[arg(long)]
    pub details: bool,
    /// End with status 0 whatever was found in the run, for those who only want the page
    #[arg(long)]
    pub exit_zero: bool,
    /// Hide host, command line, paths and user
    #[arg(long)]
    pub redact: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ExportFormat {
    /// `rank;id;seconds`, a line each time a `time` or `ctime` block was run
    ParabenchText,
    /// Times, calls and commands as XML
    ParabenchXml,
    /// Times by rank and event, calls of `ctime` blocks, commands succeeded and failed
    ParabenchReport,
    /// A line a sample
    Csv,
    /// `alloc=… open=… write=… close=… free=… total=…`, a line each run of a timed parallel write
    TimedWrite,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank export run.parquet --to parabench-report -o -\n  \
    lastrank export run.parquet --to csv")]
pub struct ExportArgs {
    /// A run file, or a directory of parts
    pub run: PathBuf,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: ExportFormat,
    /// Where it goes, or `-` for standard output [default: next to the run file]
    #[arg(short, long, value_name = "FILE|-")]
    pub output: Option<PathBuf>,
    /// Hide host, command line, paths and user
    #[arg(long)]
    pub redact: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank machine\n  \
    lastrank machine /mnt/scratch --json")]
pub struct MachineArgs {
    /// Directories whose file systems are described too [default: the working directory]
    pub paths: Vec<PathBuf>,
    /// As JSON (schema lastrank.machine/1)
    #[arg(long)]
    pub json: bool,
    /// Look at this MPI library, or at `none` [default: every family that is found]
    #[arg(long, value_name = "PATH|none")]
    pub mpi: Option<String>,
    /// Hide names and paths
    #[arg(long)]
    pub redact: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank try\n  \
    lastrank try /mnt/ssd --limit 20 -o ssd.parquet")]
pub struct TryArgs {
    /// A directory on the disk to be tried
    #[arg(default_value = ".")]
    pub directory: PathBuf,
    /// Seconds it may take
    #[arg(long, value_name = "SECONDS", default_value_t = 42)]
    pub limit: u64,
    /// The run file with every sample; `none`: keep none [default: try-TIME.parquet]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The page; `none`: make none [default: next to the run file]
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// All of it, where a terminal has a choice of rungs
    #[arg(short, long)]
    pub verbose: bool,
    /// The result as JSON (schema lastrank.tour/1)
    #[arg(long)]
    pub json: bool,
}

/// `30%`, a whole number up to `MOST`.
fn percent<const MOST: u8>(words: &str) -> Result<u8, String> {
    let number = words.strip_suffix('%').and_then(|number| number.trim().parse::<u8>().ok());
    number.filter(|number| *number <= MOST).ok_or_else(|| format!("write a whole number from 0% to {MOST}%"))
}
