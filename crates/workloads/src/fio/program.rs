//! Writes the program of one job, its numbers as parameters.

use super::access::BlockSizes;
use super::job::{Job, OpenSync};
use super::section::{Block, Section};
use super::terms::Terms;
use crate::Refusal;
use crate::quantity::{bytes_literal, time_literal};
use crate::text::{ProgramText, escaped, one_line, quoted};

/// Where a job's file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this directory each process makes a file, and removes it.
    Directory(String),
    /// A file of this name does not exist in the directory: the first process makes it for all, and removes it.
    NewFile {
        /// Where it goes.
        directory: String,
        /// What it is called there.
        name: String,
    },
    /// A file of this name exists in the directory: it is used as it is, and stays.
    OldFile {
        /// Where it is.
        directory: String,
        /// What it is called there.
        name: String,
    },
}

impl Place {
    /// Files of its own in a directory.
    pub fn in_directory(directory: &str) -> Self {
        Self::Directory(directory.to_owned())
    }

    fn directory(&self) -> &str {
        match self {
            Self::Directory(directory)
            | Self::NewFile { directory, .. }
            | Self::OldFile { directory, .. } => directory,
        }
    }
}

/// The file that a process of a job without a name for it has. One that is removed carries the run: two may work in one
/// directory. One that stays has the same name in each run.
fn own_file(job: &Job) -> String {
    format!("\"$dir/lastrank-io-{}$$rank\"", if job.keep { "" } else { "$$run-" })
}

/// The program of `job` with its file at `place`; `command` is told in its first line. The job's own directories and given
/// names are not looked at.
///
/// # Errors
/// A job without a size; a name that no program can spell.
pub fn program(job: &Job, place: &Place, command: &str) -> Result<String, Refusal> {
    let size = job
        .region()
        .ok_or(Refusal::Nothing("the size of the file is missing: give size, such as size=1GiB"))?;
    let label = job.access.word();
    let mut text = ProgramText::default();
    text.line(format!("# {label}: {}.", job.in_words()));
    text.line("#");
    text.comment(&format!("Made by `{}`.", one_line(command)));
    job.notes.iter().for_each(|note| text.comment(note));
    text.gap();
    parameters(&mut text, job, size, place)?;
    let first =
        if job.access.reads && !(job.access.writes && job.read_share == 0) { "fread" } else { "fwrite" };
    text.line(format!("define ranks {}", job.jobs));
    if !matches!(place, Place::OldFile { .. }) {
        let files = if matches!(place, Place::Directory(_)) { job.jobs } else { 1 };
        let times = if files > 1 { format!(" * {files}") } else { String::new() };
        text.line(format!("define space \"$dir\" $size{times}"));
    }
    let title = format!(", \"title\": \"{}\"", how(job));
    let steady = job.steady.hints();
    let comma = if steady.is_empty() { "" } else { ", " };
    let laid_out = laid_out(job, place)?;
    text.line(format!(
        "define report {{\"samples\": \"{label} / {first}\"{title}{laid_out}{comma}{steady}}}"
    ));
    text.gap();
    text.line("on_error stop;");
    text.gap();
    let section = Section { job, terms: Terms::parameters() };
    let file = match place {
        Place::Directory(_) if job.is_imported => {
            format!("\"$dir/{}\"", job.names.own_file(&job.name, "$$rank", "0")?)
        }
        Place::Directory(_) => own_file(job),
        Place::NewFile { name, .. } | Place::OldFile { name, .. } => format!("\"$dir/{}\"", escaped(name)?),
    };
    text.line(format!("$file = {file};"));
    text.gap();
    body(&mut text, &section, place, label);
    Ok(text.finish())
}

/// How it works, for the title of its screen and for lists of runs: through the page cache or past it (what the cache then
/// served is measured, not asked for), what makes writes safe, how many are in flight.
fn how(job: &Job) -> String {
    let mut how = vec![if job.direct { "direct" } else { "buffered" }.to_owned()];
    match job.sync {
        OpenSync::Sync if job.access.writes => how.push("O_SYNC".into()),
        OpenSync::DataSync if job.access.writes => how.push("O_DSYNC".into()),
        _ => {}
    }
    for (call, every) in [("fsync", job.fsync), ("fdatasync", job.fdatasync)] {
        if job.access.writes && every > 0 {
            how.push(format!("{call} every {every}"));
        }
    }
    how.extend((job.access.writes && job.end_fsync).then(|| "fsync at the end".to_owned()));
    how.extend((job.in_flight() > 1).then(|| "depth $depth".to_owned()));
    how.join(", ")
}

/// What is filled before the load, for its screen; empty where nothing is.
fn laid_out(job: &Job, place: &Place) -> Result<String, Refusal> {
    let what = match place {
        Place::NewFile { name, .. } => format!("{} first ($size)", escaped(name)?),
        Place::Directory(_) if job.jobs > 1 => format!("{} files first ($size each)", job.jobs),
        Place::Directory(_) => "a file of its own first ($size)".to_owned(),
        Place::OldFile { .. } => return Ok(String::new()),
    };
    let many = matches!(place, Place::Directory(_)) && job.jobs > 1;
    let after = match (job.keep, many) {
        (true, _) => "",
        (false, true) => " and removed them at its end",
        (false, false) => " and removed it at its end",
    };
    Ok(if job.needs_content() { format!(", \"laid_out\": \"{what}{after}\"") } else { String::new() })
}

/// The statements: content, load, removal.
fn body(text: &mut ProgramText, section: &Section<'_>, place: &Place, label: &str) {
    let job = section.job;
    let is_old = matches!(place, Place::OldFile { .. });
    let is_shared = matches!(place, Place::NewFile { .. }) && job.jobs > 1;
    let who = if is_shared { "master " } else { "" };
    // A job of a job file begins with a file that is there, as fio has it.
    let is_made_first = !is_old && (job.needs_content() || is_shared || job.is_imported);
    if is_made_first && job.needs_content() {
        text.line("# The file is filled first. This is no part of the result.");
        text.line(format!("{who}time[\"lay out\"] {{"));
        Section::lay_out(text, "$file", &section.end());
        text.line("}");
        text.gap();
    } else if is_made_first {
        text.line(format!("{who}time[\"lay out\"] {{"));
        section.make(text, "$file", &section.end());
        text.line("}");
    }
    if is_shared {
        text.line("barrier;");
    }
    text.line(format!("$f = fopen($file, \"{}\");", section.flags(!is_old && !is_made_first)));
    section.prepare(text);
    let block = if job.jobs > 1 { Block::Phase } else { Block::Time };
    section.load(text, block, label);
    text.line("fclose($f);");
    if !is_old && !job.keep {
        if is_shared {
            text.line("barrier;");
        }
        text.line(format!("{who}delete($file);"));
    }
}

fn parameters(text: &mut ProgramText, job: &Job, size: u64, place: &Place) -> Result<(), Refusal> {
    let most = bytes_literal(job.sizes.most());
    text.parameter("size", &bytes_literal(size), &format!("from {most}"), "bytes of the file that are used");
    match job.sizes {
        BlockSizes::One(block) => {
            text.parameter("bs", &bytes_literal(block), "from 1", "bytes of an operation");
        }
        BlockSizes::Range(low, _) => {
            text.parameter("bs", &bytes_literal(low), "from 1", "operations begin at multiples of this");
        }
        BlockSizes::Split(_) => {
            let least = bytes_literal(job.sizes.least());
            text.parameter("bs", &least, "from 1", "operations begin at multiples of this");
        }
    }
    if job.in_flight() > 1 {
        text.parameter("depth", &job.depth.to_string(), "from 1 to 4096", "operations in flight");
    }
    if let Some(ramp) = job.ramp {
        text.parameter("ramp", &time_literal(ramp), "", "the same before it counts");
    }
    if let Some(time) = job.time {
        text.parameter("time", &time_literal(time), "", "how long it lasts");
    }
    if let Some(rate) = job.operations_a_second() {
        text.parameter("rate", &rate.to_string(), "from 1", "operations a second");
    }
    text.parameter("dir", &quoted(place.directory())?, "", "where the file is");
    text.gap();
    Ok(())
}
