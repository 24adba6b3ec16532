//! IOR's options as a type.

use crate::Refusal;
use crate::command_line::{Letter, bad, options};
use crate::like::IorShape;
use crate::quantity::{Prefixes, SECOND, bytes, bytes_in_words, count};

/// Through which interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `open`, `pwrite`, `pread`.
    Posix,
    /// MPI-IO.
    MpiIo,
}

/// A command line of IOR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ior {
    /// `-a`.
    pub api: Api,
    /// `-b`: contiguous bytes of a rank in a segment.
    pub block: u64,
    /// `-t`: bytes of a transfer.
    pub transfer: u64,
    /// `-s`: segments.
    pub segments: u64,
    /// `-i`: repetitions.
    pub repetitions: u64,
    /// `-N`: ranks, where the command line says so.
    pub ranks: Option<u64>,
    /// `-F`: a file a rank.
    pub file_per_rank: bool,
    /// `-C`: a rank reads what its neighbour wrote.
    pub reorder: bool,
    /// `-Q`: which neighbour.
    pub distance: u64,
    /// `-c`: collective.
    pub collective: bool,
    /// `-e`: an fsync before the file is closed.
    pub fsync: bool,
    /// `-Y`: an fsync after each write.
    pub fsync_each: bool,
    /// `-w`.
    pub writes: bool,
    /// `-r`.
    pub reads: bool,
    /// `-z`: transfers in random order.
    pub random: bool,
    /// `-k`: files stay.
    pub keep: bool,
    /// `-E`: the file exists and is used as it is.
    pub existing: bool,
    /// `-B`: `O_DIRECT`.
    pub direct: bool,
    /// `-R`: what is read is compared with what was written.
    pub verify_reads: bool,
    /// `-W`: what was written is read back and compared.
    pub verify_writes: bool,
    /// `-Z`: a rank reads what a random other one wrote.
    pub shuffled_ranks: bool,
    /// `-m`: each repetition has files of its own.
    pub own_files_each: bool,
    /// `-D`: nanoseconds after which a phase ends; 0: none.
    pub deadline: u64,
    /// `-O stoneWallingWearOut=1`: after the deadline ranks go on until each has done as much as the one that had done the most.
    pub wear_out: bool,
    /// `-d`: nanoseconds between repetitions.
    pub delay: u64,
    /// `-g`: barriers between open, transfers and close. Phases have these barriers anyway.
    pub barriers: bool,
    /// `-o`.
    pub file: String,
}

const SIZE: &str = "a size of 1 byte to 1 EiB, such as 1m";
const NUMBER: &str = "a number of at least 1";

/// The options of IOR that are recognised.
const KNOWN: &[Letter] = &[
    Letter::with('a', "POSIX or MPIIO"),
    Letter::with('b', SIZE),
    Letter::with('t', SIZE),
    Letter::with('s', NUMBER),
    Letter::with('i', NUMBER),
    Letter::with('N', NUMBER),
    Letter::with('o', "the name of the file"),
    Letter::with('D', "seconds"),
    Letter::with('d', "seconds"),
    Letter::with('Q', "a number of tasks"),
    Letter::switch('v'),
    Letter::switch('B'),
    Letter::switch('F'),
    Letter::switch('C'),
    Letter::switch('c'),
    Letter::switch('e'),
    Letter::switch('Y'),
    Letter::switch('w'),
    Letter::switch('r'),
    Letter::switch('R'),
    Letter::switch('W'),
    Letter::switch('z'),
    Letter::switch('k'),
    Letter::switch('K'),
    Letter::switch('E'),
    Letter::switch('g'),
    Letter::switch('m'),
    Letter::switch('x'),
    Letter::switch('Z'),
    Letter::with('G', "a number"),
    Letter::with('O', "NAME=VALUE"),
    Letter::refused_with('A', "reference numbers have no use; write `--tag`"),
    Letter::refused_with('f', "import the script's lines one by one"),
    Letter::refused('h', "see `lastrank ior --help`"),
    Letter::refused('H', "hints of MPI-IO are written in the program: `define hints`"),
    Letter::refused_with('U', "hints of MPI-IO are written in the program: `define hints`"),
    Letter::refused_with('j', "slow operations are in every report; leave it out"),
    Letter::refused_with('J', "alignment of a data set is for HDF5"),
    Letter::refused_with(
        'l',
        "content describes itself; see `--compressible` and `--dedupe` of `lastrank run`",
    ),
    Letter::refused_with('M', "memory is not filled up; start lastrank in a control group with less memory"),
    Letter::refused('n', "files are filled; leave it out"),
    Letter::refused('p', "space is not preallocated; leave it out"),
    Letter::refused('q', "a run ends at the first failure; leave it out"),
    Letter::refused('S', "views are strided by patterns: `define pattern` in a program"),
    Letter::refused_with('T', "give seconds with -D"),
    Letter::refused('u', "files lie in one directory; leave it out"),
    Letter::refused('V', "a pattern's level says so: `define pattern` in a program"),
    Letter::refused_with('X', "the seed of random numbers is `--seed` of `lastrank run`"),
    Letter::refused('y', "use -C"),
];

impl Ior {
    /// What the lines of IOR tell besides results, for so many ranks, all and of a node.
    pub fn shape(&self, tasks: u64, tasks_of_node: u64) -> IorShape {
        IorShape {
            tasks,
            tasks_of_node,
            block: self.block,
            transfer: self.transfer,
            segments: self.segments,
            repetitions: self.repetitions,
            own_files: self.file_per_rank,
            reorders: self.reorder,
            api: match self.api {
                Api::Posix => "POSIX",
                Api::MpiIo => "MPIIO",
            },
        }
    }

    /// The options of a command line, without IOR's name.
    ///
    /// # Errors
    /// An option that is unknown, unsupported or has no right value; options that do not go together.
    pub fn of_words(words: &[String]) -> Result<Self, Refusal> {
        let words: Vec<String> = words.iter().map(|word| of_long(word)).collect::<Result<_, _>>()?;
        let mut ior = Self {
            api: Api::Posix,
            block: 1 << 20,
            transfer: 1 << 18,
            segments: 1,
            repetitions: 1,
            ranks: None,
            file_per_rank: false,
            reorder: false,
            distance: 1,
            collective: false,
            fsync: false,
            fsync_each: false,
            writes: false,
            reads: false,
            random: false,
            keep: false,
            existing: false,
            direct: false,
            verify_reads: false,
            verify_writes: false,
            shuffled_ranks: false,
            own_files_each: false,
            deadline: 0,
            wear_out: false,
            delay: 0,
            barriers: false,
            file: "testFile".into(),
        };
        let words: Vec<String> = words.into_iter().filter(|word| !is_verbose(word)).collect();
        let (options, mut wrong) = options("IOR", KNOWN, &words);
        for (letter, value) in options {
            wrong.extend(ior.set(letter, &value).err());
        }
        Refusal::of_all(wrong)?;
        ior.reads |= ior.verify_reads;
        if ![ior.writes, ior.reads, ior.verify_writes].contains(&true) {
            (ior.writes, ior.reads) = (true, true);
        }
        // What is only read is there, as with -E, and stays.
        ior.existing |= !ior.writes;
        ior.check()?;
        Ok(ior)
    }

    fn set(&mut self, letter: char, value: &str) -> Result<(), Refusal> {
        let size =
            || bytes(value, Prefixes::Plain).filter(|size| *size > 0).ok_or_else(|| bad(letter, value, SIZE));
        let number = || {
            let number = count(value).filter(|number| (1..=1 << 32).contains(number));
            number.ok_or_else(|| bad(letter, value, NUMBER))
        };
        let seconds = || {
            let seconds = count(value).filter(|seconds| *seconds < 1 << 30);
            seconds
                .map(|seconds| seconds * SECOND)
                .ok_or_else(|| bad(letter, value, "a whole number of seconds"))
        };
        match letter {
            'a' => {
                self.api = match value.to_ascii_uppercase().as_str() {
                    "POSIX" => Api::Posix,
                    "MPIIO" => Api::MpiIo,
                    _ => return Err(bad(letter, value, "POSIX and MPIIO are supported")),
                }
            }
            'b' => self.block = size()?,
            't' => self.transfer = size()?,
            's' => self.segments = number()?,
            'i' => self.repetitions = number()?,
            'N' => self.ranks = Some(number()?.min(u64::from(u32::MAX))),
            'Q' => self.distance = number()?,
            'D' => self.deadline = seconds()?,
            'd' => self.delay = seconds()?,
            'o' if value.contains('@') => return Err(bad(letter, value, "one file")),
            'o' => self.file = value.to_owned(),
            'B' => self.direct = true,
            'F' => self.file_per_rank = true,
            'C' => self.reorder = true,
            'c' => self.collective = true,
            'e' => self.fsync = true,
            'Y' => self.fsync_each = true,
            'w' => self.writes = true,
            'r' => self.reads = true,
            'R' => self.verify_reads = true,
            'W' => self.verify_writes = true,
            'Z' => self.shuffled_ranks = true,
            'm' => self.own_files_each = true,
            'z' if self.random => {
                return Err(bad(letter, "-z", "once: each transfer comes once, in random order"));
            }
            'z' => self.random = true,
            'k' | 'K' => self.keep = true,
            'E' => self.existing = true,
            'g' => self.barriers = true,
            'O' => self.wear_out = wear_out(value)?,
            // -v: what IOR prints. -x: one transfer a call, so it is here. -G: content says by itself who wrote it and when,
            // as a signature does.
            _ => {}
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Refusal> {
        let together = |words: String| Err(Refusal::Together(words));
        if !self.block.is_multiple_of(self.transfer) {
            return together(format!(
                "-b {} is no multiple of -t {}; the next one is {}",
                bytes_in_words(self.block),
                bytes_in_words(self.transfer),
                bytes_in_words(self.block.next_multiple_of(self.transfer))
            ));
        }
        let whole = u128::from(self.block) * u128::from(self.segments) * u128::from(self.ranks.unwrap_or(1));
        if whole > 1 << 56 {
            return together("-b, -s and -N make a file of more than 64 PiB".into());
        }
        if self.random && self.block / self.transfer > 1 << 33 {
            return together("-z takes at most 8 thousand million transfers of a block".into());
        }
        if self.wear_out && self.deadline == 0 {
            return together("-O stoneWallingWearOut=1 is for -D: give the seconds, or leave it out".into());
        }
        if self.deadline > 0 && !self.wear_out && self.writes && (self.reads || self.verify_writes) {
            return together(
                "-D ends writing early, and -r and -W would miss what was not written: add -O stoneWallingWearOut=1, or give -w -k \
                 alone, and -r in a second command"
                    .into(),
            );
        }
        if self.shuffled_ranks && self.reorder {
            return together("-C and -Z exclude each other".into());
        }
        if self.random && self.deadline > 0 && !self.file_per_rank {
            return together("-z with -D is for files of each rank: add -F".into());
        }
        if self.collective && self.api == Api::Posix {
            return together("-c is for -a MPIIO: POSIX has no collective calls".into());
        }
        if self.api == Api::MpiIo {
            return self.check_mpiio();
        }
        Ok(())
    }

    /// Options that a pattern of the language cannot express.
    fn check_mpiio(&self) -> Result<(), Refusal> {
        let together = |words: &str| Err(Refusal::Together(words.into()));
        if self.file_per_rank
            || self.random
            || self.reorder
            || self.shuffled_ranks
            || self.direct
            || self.fsync_each
        {
            return together(
                "-F, -z, -C, -Z, -B and -Y are for -a POSIX: a pattern of MPI-IO is one shared file in order",
            );
        }
        if self.block != self.transfer {
            return together(
                "with -a MPIIO blocks are transferred whole: make -t as large as -b, and -s as many as there are transfers",
            );
        }
        if self.deadline > 0 {
            return together("-D is for -a POSIX: a pattern is transferred whole");
        }
        Ok(())
    }
}

/// Whether a directive (`-O NAME=VALUE`) asks for the wear-out; the others are not carried out.
fn wear_out(text: &str) -> Result<bool, Refusal> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let why = match name.to_ascii_lowercase().as_str() {
        "stonewallingwearout" if ["0", "1"].contains(&value) => return Ok(value == "1"),
        "stonewallingwearout" => "its value is 0 or 1",
        "stonewallingwearoutiterations" => "the number is that of the fastest rank: leave it out",
        "stonewallingstatusfile" => {
            "the run says how much each rank did, and -w -r in one command read so much: leave it out"
        }
        "summaryfile" | "summaryformat" | "saverankperformancedetailscsv" => {
            "summaries are those of lastrank: --json, or `lastrank export`"
        }
        _ => "write the option with its letter, such as -b 16m",
    };
    Err(Refusal::Unsupported { tool: "IOR", option: format!("-O {text}"), why })
}

/// IOR has three long options that people use; each has a letter here.
fn of_long(word: &str) -> Result<String, Refusal> {
    match word {
        "--posix.odirect" => Ok("-B".into()),
        word if word.starts_with("--") => {
            let nearest = word.starts_with("--posix").then(|| "--posix.odirect".to_owned());
            Err(Refusal::Unknown { tool: "IOR", option: word.into(), nearest })
        }
        word => Ok(word.into()),
    }
}

/// `-v`, `-vv`: how much IOR prints.
fn is_verbose(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|letters| !letters.is_empty() && letters.chars().all(|c| c == 'v'))
}
