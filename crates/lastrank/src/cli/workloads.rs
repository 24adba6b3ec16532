//! The arguments of commands that make a program of well-known workloads, compare two, and list runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::RunOptions;

#[derive(Debug, Args)]
#[command(
    after_help = "Words are fio's where fio has them; `--bs=4k` and `--bs 4k` are the same. A file at PATH is read as it \
    is, and written only with --overwrite-existing; what lastrank makes it removes, but for --keep. Reads need content: \
    a new file is filled first, which is no part of the result.\n\nExamples:\n  \
    lastrank io randread --bs 4k --depth 16 --time 10s --size 1GiB --direct /mnt/ssd\n  \
    lastrank io randrw --rwmixread 70 --rate 1000/s --time 1m /mnt/nfs\n  \
    lastrank io write --bs 1m --fsync 1 --size 4GiB\n  \
    lastrank io randread --depth 32 --print-program > mine.ppl"
)]
pub struct IoArgs {
    /// read, write, randread, randwrite, rw or randrw
    #[arg(value_name = "ACCESS")]
    pub access: Option<String>,
    /// A file, or a directory in which one is made [default: the working directory]
    pub path: Option<PathBuf>,
    /// ACCESS as fio has it
    #[arg(long, visible_alias = "readwrite", value_name = "ACCESS")]
    pub rw: Option<String>,
    /// Bytes of an operation [default: 4k]
    #[arg(long, alias = "blocksize", value_name = "SIZE", allow_hyphen_values = true)]
    pub bs: Option<String>,
    /// Sizes from the first to the second
    #[arg(long, alias = "blocksize_range", value_name = "SIZE-SIZE", conflicts_with = "bs")]
    pub bsrange: Option<String>,
    /// Sizes with their shares in percent
    #[arg(long, value_name = "SIZE/SHARE:…", conflicts_with_all = ["bs", "bsrange"])]
    pub bssplit: Option<String>,
    /// Bytes of the file [default: 1GiB, or all of a file that exists]
    #[arg(long, alias = "filesize", value_name = "SIZE", allow_hyphen_values = true)]
    pub size: Option<String>,
    /// Where in the file to begin
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    pub offset: Option<String>,
    /// Operations in flight [default: 1]
    #[arg(long, visible_alias = "iodepth", value_name = "N", allow_hyphen_values = true)]
    pub depth: Option<String>,
    /// Processes that do the same, each in a file of its own [default: 1]
    #[arg(long, visible_alias = "numjobs", value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<String>,
    /// How long; a bare number is seconds [default: 10s where neither --ops nor --io-size says how much]
    #[arg(long, visible_alias = "runtime", value_name = "TIME", allow_hyphen_values = true)]
    pub time: Option<String>,
    /// The same for this time before it counts; a bare number is seconds
    #[arg(long, visible_alias = "ramp_time", alias = "ramp-time", value_name = "TIME")]
    pub warmup: Option<String>,
    /// Operations in all
    #[arg(
        long,
        visible_alias = "number_ios",
        alias = "number-ios",
        value_name = "N",
        allow_hyphen_values = true
    )]
    pub ops: Option<String>,
    /// Bytes in all
    #[arg(long, alias = "io_size", value_name = "SIZE", allow_hyphen_values = true)]
    pub io_size: Option<String>,
    /// Past the page cache (O_DIRECT)
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_missing_value = "1", require_equals = true)]
    pub direct: Option<String>,
    /// Each write is safe when it returns: `sync` (O_SYNC) or `dsync` (O_DSYNC)
    #[arg(long, value_name = "MODE")]
    pub sync: Option<String>,
    /// An fsync after every N writes
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub fsync: Option<String>,
    /// An fdatasync after every N writes
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub fdatasync: Option<String>,
    /// An fsync at the end
    #[arg(long, alias = "end_fsync", value_name = "0|1", num_args = 0..=1, default_missing_value = "1", require_equals = true)]
    pub end_fsync: Option<String>,
    /// Operations begin at this rate: `1000/s`, or bytes a second as `10m`
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub rate: Option<String>,
    /// Operations a second, as fio spells it
    #[arg(long, alias = "rate_iops", value_name = "N", conflicts_with = "rate")]
    pub rate_iops: Option<String>,
    /// `linear`, or `poisson`: with random gaps
    #[arg(long, alias = "rate_process", value_name = "PROCESS")]
    pub rate_process: Option<String>,
    /// Pause between operations; without a unit in microseconds
    #[arg(long, visible_alias = "thinktime", value_name = "TIME")]
    pub think: Option<String>,
    /// Reads among 100 operations of a mix [default: 50]
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub rwmixread: Option<String>,
    /// Where random accesses go: random, zipf:THETA, pareto:H, normal:PERCENT, zoned:ACCESSES/SIZE:…
    #[arg(long, alias = "random_distribution", value_name = "LAW")]
    pub random_distribution: Option<String>,
    /// Draw random offsets independently, instead of each block once a pass
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_missing_value = "1", require_equals = true)]
    pub norandommap: Option<String>,
    /// Fill the file before it is written, so that writes find their blocks
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_missing_value = "1", require_equals = true)]
    pub overwrite: Option<String>,
    /// Write over the content of the file at PATH
    #[arg(long)]
    pub overwrite_existing: bool,
    /// Whether the page cache forgets the file first [default: 1]
    #[arg(long, value_name = "0|1")]
    pub invalidate: Option<String>,
    /// `native`: reserve the space of a new file that is written
    #[arg(long, value_name = "none|native")]
    pub fallocate: Option<String>,
    /// Accepted as fio has it: the synchronous ones have one operation in flight
    #[arg(long, value_name = "ENGINE")]
    pub ioengine: Option<String>,
    /// The file that was made stays
    #[arg(long)]
    pub keep: bool,
    /// Print the program instead of running it
    #[arg(long)]
    pub print_program: bool,
    #[command(flatten)]
    pub run: RunOptions,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Beside the tool's own options take the long ones of `lastrank run` (--json, --output FILE, --report \
    FILE|none, --ranks N, --dry-run …) and --print-program, which prints the program instead of running it.\n\n\
    IOR:    -a POSIX|MPIIO -b -t -s -i -N -o -F -C -Q -c -e -Y -w -r -R -W -z -k -E -B -D -d -g -v\n\
    mdtest: -n -I -z -b -d -i -N -p -w -e -C -T -E -r -F -D -L -R -u -y -v\n\nExamples:\n  \
    lastrank ior -a POSIX -b 16m -t 1m -s 4 -C -e --ranks 4\n  \
    lastrank meta -n 1000 -z 2 -b 3 -u -d /mnt/scratch/md --ranks 4"
)]
pub struct LineArgs {
    /// The tool's options, as on its own command line
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Each key of the configuration is carried out, only says what is reported, or is refused by name; what it does \
    not say is as in IO500. [global] resultdir gets result_summary.txt, result.txt, the configuration, every sample and the \
    page. A result says what makes it invalid by the rules; no result of lastrank can be submitted to the list.\n\nExamples:\n  \
    lastrank io500 --config config.ini --ranks 4\n  \
    mpirun -n 64 lastrank io500 --config config.ini --timestamp $(date +%Y.%m.%d-%H.%M.%S)\n  \
    lastrank io500 --config config.ini --dry-run"
)]
pub struct Io500Args {
    /// A configuration of IO500 (ini)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The same, as IO500 takes it
    #[arg(value_name = "FILE", conflicts_with = "config")]
    pub file: Option<PathBuf>,
    /// The name of the directories that `timestamp-datadir` and `timestamp-resultdir` make [default: the time, in UTC]
    #[arg(long, value_name = "NAME")]
    pub timestamp: Option<String>,
    #[command(flatten)]
    pub run: RunOptions,
}

/// What of memory is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemoryKind {
    /// Nanoseconds of one load, by the amount of memory
    Latency,
    /// Bytes a second that are read, written and copied, by one worker and by more
    Bandwidth,
    /// Nanoseconds of one load while other workers read
    Loaded,
    /// Nanoseconds of a cache line from one processor to another, for each two
    Cores,
    /// Nanoseconds of one load from each memory node (NUMA) in the memory of each
    Nodes,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank mem\n  \
    lastrank mem bandwidth --workers 8\n  \
    lastrank mem cores --time 20ms\n  \
    lastrank mem loaded --size 1GiB --print-program")]
pub struct MemArgs {
    /// What is measured
    #[arg(value_enum, default_value_t = MemoryKind::Latency)]
    pub kind: MemoryKind,
    /// The largest amount of memory
    #[arg(long, value_name = "SIZE", default_value = "256MiB", allow_hyphen_values = true)]
    pub size: String,
    /// The most workers at once [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub workers: Option<u32>,
    /// How long each row lasts
    #[arg(long, value_name = "TIME", default_value = "200ms", allow_hyphen_values = true)]
    pub time: String,
    /// Pages of 2 MiB
    #[arg(long)]
    pub huge: bool,
    /// Print the program instead of running it
    #[arg(long)]
    pub print_program: bool,
    #[command(flatten)]
    pub run: RunOptions,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A and B are command lines (timed as a whole), programs (*.ppl, or experiments; compared by their \
    samples), or, with --program, two directories. Runs go in blocks A B B A or B A A B, by the toss of a seeded coin, so \
    that neither drift nor a period looks like a difference. The comparison may end after 8, 12, 16, 24, 32 and 48 blocks.\n\n\
    Exit status: 0 B is the same, faster, or not decided after all blocks · 1 with --fail-if-slower: B is slower · 2 wrong usage · \
    3 a run failed, or with --fail-if-slower: --time ended it before the first interim analysis\n\nExamples:\n  \
    lastrank ab './old --x' './new --x'\n  \
    lastrank ab a.ppl b.ppl --value p99\n  \
    lastrank ab --program disk /mnt/a /mnt/b --fail-if-slower"
)]
pub struct AbArgs {
    /// The first command line, program or directory
    pub a: String,
    /// The second one
    pub b: String,
    /// Run this program, with A and B as its parameter `dir`
    #[arg(long, value_name = "PROGRAM")]
    pub program: Option<String>,
    /// What of a program's run is compared
    #[arg(long, value_name = "median|p90|p99|mean|max", default_value = "median")]
    pub value: String,
    /// The samples of this label, operation or LABEL/OPERATION of a program [default: what its report is about]
    #[arg(long, value_name = "LABEL")]
    pub of: Option<String>,
    /// Runs of each before any counts
    #[arg(long, value_name = "RUNS", default_value_t = 1)]
    pub warmup: u32,
    /// Give up after this time, at the end of a block
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// Call them equal within this many percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    pub equal_within: f64,
    /// Seed of the order, and of programs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Exit with status 1 if B is slower
    #[arg(long)]
    pub fail_if_slower: bool,
    /// Keep the run files of programs in this directory
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Set a parameter of both programs
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Number of ranks of both programs
    #[arg(short = 'n', long, value_name = "RANKS")]
    pub ranks: Option<u32>,
    /// The answer in one line
    #[arg(long, short = 'q', visible_alias = "quiet", short_alias = 's', conflicts_with = "json")]
    pub one_line: bool,
    /// As JSON (schema lastrank.ab/1)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  lastrank ls\n  lastrank ls results --csv > runs.csv")]
pub struct LsArgs {
    /// Folder of run files and of files of other tools, or one of these
    #[arg(default_value = ".")]
    pub directory: PathBuf,
    /// The columns, separated by commas: file, started, machine, program, ranks, directory, of, operations, bytes, settings, ops/s,
    /// throughput, p50, p99, max, note, and names of tags and parameters
    #[arg(long, value_name = "LIST", conflicts_with_all = ["csv", "json"])]
    pub columns: Option<String>,
    /// All that is known of each run, on as many lines as that takes
    #[arg(long, short = 'v', conflicts_with_all = ["csv", "json", "columns"])]
    pub verbose: bool,
    /// As JSON (schema lastrank.ls/1)
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// As CSV, times in seconds
    #[arg(long)]
    pub csv: bool,
}
