//! `lastrank import`: makes a program of what an application did, from a trace, or of the options of another tool.
//!
//! The crate `trace` does the work; here are files, messages and the exit status. [`workload`] is for job files and
//! command lines.

mod workload;

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use samples::units::count;
use trace::Trace;
use trace::check::Difference;
use trace::description::Description;
use trace::format::Reading;
use trace::formats;
use trace::import::{Imported, Options};
use trace::ledger::Ledger;
use trace::recording::{self, About, RecordingError};
use trace::select::Choice;

use super::redact::redact_text;
use super::{ledger, way_on};
use crate::cli::{ImportArgs, TraceChoice};
use crate::exit::Status;
use crate::{output, written};

/// So much of a file is looked at to tell its format.
const HEAD: u64 = 1 << 16;
/// Buffers of the files of one trace take about so much together.
const ALL_PARTS: usize = 1 << 24;

/// Reads a trace, a job file or a command line, and writes the program.
pub fn run(args: &ImportArgs) -> anyhow::Result<Status> {
    // A directory holds the ranks of a trace.
    if args.choice.description.is_none()
        && !args.trace.is_dir()
        && let Some(program) = workload::program_of(&args.trace)?
    {
        let program = if args.redact { redacted_program(args, &program)? } else { program };
        return deliver_workload(args, &program);
    }
    let (mut trace, about) = read(&args.trace, &args.choice)?;
    let options = Options {
        choice: choice(&args.choice)?,
        anonymise: args.anonymise || args.redact,
        // A program may be run by anybody, and makes no links that lead elsewhere.
        links: false,
        verbatim: args.verbatim,
        model: args.model,
        open_loop: args.as_recorded,
        copies: 1,
        least_gap: gap_ns(args.least_gap_us),
    };
    let made = trace::import(&mut trace, &options);
    usable(&made, &args.trace)?;
    let ledger = Ledger::of(&trace, &about, &options.choice, Some(&made.done));
    match &args.output {
        Some(path) => {
            output::refuse_overwriting(path, "-o", &[&args.trace])?;
            written::program(path, &made.text)?;
            tell(args, path, &trace, (&made, &ledger));
        }
        None => {
            for note in &trace.notes {
                eprintln!("note: {note}");
            }
            if let Some(warning) = ledger::warning(&ledger) {
                eprintln!("{warning}");
                ledger::tell(&ledger);
            }
            output::print_whole(&made.text)?;
        }
    }
    Ok(ledger::status(&ledger))
}

/// The program of a job file or a command line without the paths that stand there.
fn redacted_program(args: &ImportArgs, program: &str) -> anyhow::Result<String> {
    let name = args.trace.to_string_lossy();
    // What is no file is the command line itself.
    let source = workload::text_of(&args.trace)?.unwrap_or_default();
    Ok(redact_text(program, &[&source, &name]))
}

fn deliver_workload(args: &ImportArgs, program: &str) -> anyhow::Result<Status> {
    match &args.output {
        Some(path) => {
            output::refuse_overwriting(path, "-o", &[&args.trace])?;
            written::program(path, program)?;
            let lines = program.lines().count() as u64;
            eprintln!("{}: the workload as a program of {} lines.", path.display(), count(lines));
            way_on::tell("run", &path.to_string_lossy(), &["-c"]);
        }
        None => output::print_whole(program)?,
    }
    Ok(Status::Ok)
}

/// The least gap between calls that a program keeps, in nanoseconds.
pub fn gap_ns(microseconds: f64) -> u64 {
    (microseconds.max(0.0) * 1000.0) as u64
}

/// Which files of a trace count. A relative name counts from here.
pub fn choice(args: &TraceChoice) -> anyhow::Result<Choice> {
    let here = std::env::current_dir().context("cannot tell the working directory")?;
    let whole = |text: &String| {
        let given = here.join(text);
        // As the application saw it: links in the middle are followed where the directory is there.
        let whole = given.canonicalize().unwrap_or(given);
        trace::names::resolve(b"/", whole.as_os_str().as_encoded_bytes())
    };
    let only = args.only.iter().map(whole).collect();
    Ok(Choice { only, all: args.all, read_and_write: args.read_and_write })
}

/// Refuses what came of a trace without calls, or differs from it.
pub fn usable(made: &Imported, path: &Path) -> anyhow::Result<()> {
    if made.calls == 0 {
        bail!("no call in {} works on a file; with --all, files of the system count too", path.display());
    }
    if let Some(difference) = &made.difference {
        bail!("{}; please report this trace", words(difference));
    }
    Ok(())
}

/// What came of it, on standard error.
fn tell(args: &ImportArgs, path: &Path, trace: &Trace, (made, ledger): (&Imported, &Ledger)) {
    let shown = path.display();
    let workers = if made.workers > 1 { format!(", up to {} workers", made.workers) } else { String::new() };
    let ranks = if made.ranks == 1 { "1 rank".to_owned() } else { format!("{} ranks", made.ranks) };
    let (operations, lines) = (count(made.calls), count(made.lines as u64));
    let are = if made.calls == 1 { "operation" } else { "operations" };
    eprintln!("{shown}: {operations} {are} in {lines} lines, {ranks}{workers}; checked by a dry run.");
    if made.modelled > 0 {
        eprintln!("Sizes or offsets are drawn from {} distributions: --model", made.modelled);
    }
    if let Some(warning) = ledger::warning(ledger) {
        eprintln!("{warning}");
    }
    for note in &trace.notes {
        eprintln!("note: {note}");
    }
    let told =
        |why: &str| ledger.lines.iter().any(|line| !line.what.is_empty() && why.starts_with(&line.what));
    let left: Vec<String> = trace
        .left_out
        .iter()
        .filter(|(why, _)| !told(why))
        .map(|(why, calls)| format!("{} {why}", count(*calls)))
        .collect();
    if !left.is_empty() {
        eprintln!("Left out: {}", left.join("; "));
    }
    for exception in ledger::exceptions(ledger) {
        eprintln!("{exception}");
    }
    if args.verbose {
        ledger::tell(ledger);
    }
    way_on::tell("replay", &path.to_string_lossy(), &["-c"]);
}

fn words(difference: &Difference) -> String {
    match difference {
        Difference::NoProgram(why) => format!("the program that came of it is wrong ({why})"),
        Difference::Ended(why) => format!("a dry run of the program ended early: {why}"),
        Difference::Call { rank, at, does, should } => format!(
            "a dry run of the program differs from the trace: call {at} of rank {rank}, which makes {does} calls for \
             {should}"
        ),
    }
}

/// Reads a trace of any format; what is known beside its calls where it is a recording. `%r` in the name of the file stands
/// for the numbers of ranks, whose recordings are joined.
pub fn read(path: &Path, args: &TraceChoice) -> anyhow::Result<(Trace, About)> {
    let recordings = of_ranks(path)?;
    if recordings.is_empty() {
        return read_one(path, args);
    }
    let mut parts = Vec::new();
    for path in recordings {
        let (trace, about) = read_one(&path, args)?;
        if about.began_ns == 0 {
            bail!(
                "{} does not say when it began, so that it cannot be joined: record it again",
                path.display()
            );
        }
        parts.push((trace, about));
    }
    Ok(trace::join::join(parts))
}

/// The recordings of ranks for which `%r` stands in a path, in the order of their numbers; none where it does not stand there,
/// or a file is named so. Ranks from 0 on must be there.
fn of_ranks(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let text = path.to_string_lossy();
    if !text.contains("%r") || path.exists() {
        return Ok(Vec::new());
    }
    let of = |rank: usize| PathBuf::from(text.replace("%r", &rank.to_string()));
    let found: Vec<PathBuf> = (0..).map(of).take_while(|path| path.exists()).collect();
    if found.is_empty() {
        bail!("there is no {}, the recording of rank 0", of(0).display());
    }
    Ok(found)
}

fn read_one(path: &Path, args: &TraceChoice) -> anyhow::Result<(Trace, About)> {
    let described = args.description.as_ref().map(|file| described(file)).transpose()?;
    let directory = args.cwd.as_ref().map(|cwd| cwd.as_bytes().to_vec());
    let reading = Reading { directory, description: described };
    let mut reader: Box<dyn BufRead> = match File::open(path) {
        Ok(_) if path.is_dir() => Box::new(Cursor::new(ranks(path)?)),
        Ok(file) => Box::new(BufReader::with_capacity(1 << 20, file)),
        Err(error) => match parts(path) {
            parts if parts.is_empty() => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
            parts => Box::new(merged(parts)?),
        },
    };
    let mut head = Vec::new();
    (&mut reader)
        .take(HEAD)
        .read_to_end(&mut head)
        .with_context(|| format!("cannot read {}", path.display()))?;
    if recording::detect(&head) {
        let damaged = || RecordingError::Damaged("the Parquet library cannot make sense of it".into());
        let read = match two_handles(path) {
            Some((file, again)) => store::expecting_panics(|| recording::read_from(file, &again)),
            None => {
                reader.read_to_end(&mut head).with_context(|| format!("cannot read {}", path.display()))?;
                store::expecting_panics(|| recording::read(head.into()))
            }
        };
        return read.unwrap_or_else(|_| Err(damaged())).with_context(|| format!("{}", path.display()));
    }
    if reading.description.is_none()
        && let Some(what) = formats::refused(&head)
    {
        bail!("{} is {what}", path.display());
    }
    let Some(format) = formats::detect(&head, &reading) else {
        let known: Vec<String> =
            formats::ALL.iter().map(|format| format!("{} ({})", format.name, format.made_by)).collect();
        bail!(
            "{} is no trace, no job file of fio, and no command line of ior or mdtest\n\
             traces are read of: {}\n\
             numbers, tables and results of other tools: `lastrank fit {}`",
            path.display(),
            known.join("; "),
            report::file_argument(&path.display().to_string())
        );
    };
    let mut whole = Cursor::new(head).chain(reader);
    let trace = trace::import::read(format, &mut whole, &reading);
    Ok((trace.with_context(|| format!("{}", path.display()))?, About::default()))
}

fn described(path: &Path) -> anyhow::Result<Description> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Description::read(&text).with_context(|| format!("{}", path.display()))
}

/// The files `RANK.txt` that Recorder's `recorder2text` writes to a directory, as one trace.
fn ranks(folder: &Path) -> anyhow::Result<Vec<u8>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut found: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let rank = entry.file_name().to_str()?.strip_suffix(".txt")?.parse().ok()?;
            Some((rank, entry.path()))
        })
        .collect();
    found.sort_unstable();
    if found.is_empty() {
        bail!("{} is a directory without files 0.txt, 1.txt … of recorder2text", folder.display());
    }
    Ok(formats::merge_ranks(&texts(&found)?))
}

fn texts(parts: &[(u32, PathBuf)]) -> anyhow::Result<Vec<(u32, Vec<u8>)>> {
    let text = |path: &Path| {
        let mut bytes = Vec::new();
        ordinary(path)?.read_to_end(&mut bytes).with_context(|| format!("cannot read {}", path.display()))?;
        anyhow::Ok(bytes)
    };
    parts.iter().map(|(number, path)| Ok((*number, text(path)?))).collect()
}

/// A file that nobody named, but that lies where files of a trace do.
fn ordinary(path: &Path) -> anyhow::Result<File> {
    store::open_ordinary(path).map_err(|error| match error {
        store::Error::Special { .. } => anyhow!(
            "{} would be a part of this trace and is not an ordinary file: move it away",
            path.display()
        ),
        other => other.into(),
    })
}

/// The files of `strace -ff -o PATH`: `PATH.NUMBER`.
fn parts(path: &Path) -> Vec<(u32, PathBuf)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(name) = path.file_name().map(|name| format!("{}.", name.to_string_lossy())) else {
        return Vec::new();
    };
    let number = |entry: std::fs::DirEntry| {
        let file = entry.file_name();
        let number = file.to_str()?.strip_prefix(&name)?.parse().ok()?;
        Some((number, entry.path()))
    };
    let mut all: Vec<(u32, PathBuf)> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().filter_map(number).collect();
    all.sort_unstable();
    all
}

/// The text of such files, of which some may not be open at once: a process may have some thousand descendants.
fn merged(parts: Vec<(u32, PathBuf)>) -> anyhow::Result<formats::MergedParts<BufReader<Reopened>>> {
    parts.iter().try_for_each(|(_, path)| ordinary(path).map(drop))?;
    let capacity = (ALL_PARTS / parts.len().max(1)).clamp(1 << 12, 1 << 16);
    let readers = parts
        .into_iter()
        .map(|(thread, path)| (thread, BufReader::with_capacity(capacity, Reopened { path, at: 0 })));
    Ok(formats::merge_parts(readers)?)
}

/// A file that is open only while it is read.
struct Reopened {
    path: PathBuf,
    at: u64,
}

impl Read for Reopened {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let told = |error: std::io::Error| {
            std::io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
        };
        let mut file = File::open(&self.path).map_err(told)?;
        file.seek(SeekFrom::Start(self.at)).map_err(told)?;
        let count = file.read(to).map_err(told)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// A file that can be read at any place, twice; `None` of a pipe.
fn two_handles(path: &Path) -> Option<(File, File)> {
    path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some((File::open(path).ok()?, File::open(path).ok()?))
}
