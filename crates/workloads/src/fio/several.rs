//! Writes the program of a job file: jobs side by side as ranks, one after the other where they wait.

use std::collections::BTreeMap;

use super::job::Job;
use super::program::{self, Place};
use super::section::{Block, Section, Terms};
use crate::Refusal;
use crate::text::{ProgramText, escaped, one_line, quoted};

/// A job with its place among the ranks.
struct Placed<'a> {
    job: &'a Job,
    size: u64,
    /// Its first rank.
    first: u64,
    /// Its file as an expression.
    file: String,
}

/// The program of `jobs`.
pub(super) fn program(jobs: &[Job], made_by: &str) -> Result<String, Refusal> {
    if let [job] = jobs {
        return alone(job, made_by);
    }
    let stages = stages(jobs)?;
    let ranks = stages.iter().flatten().map(|one| one.first + one.job.jobs).max().unwrap_or(1);
    let mut text = ProgramText::default();
    text.comment(&format!("Made by `{}`.", one_line(made_by)));
    text.line("#");
    for job in jobs {
        text.comment(&format!("{}: {}.", one_line(&job.name), job.in_words()));
        job.notes.iter().for_each(|note| text.comment(note));
    }
    text.gap();
    text.parameter("dir", &directory(jobs)?, "", "where the files go");
    text.line(format!("define ranks {ranks}"));
    text.line(format!("define space \"$dir\" {}", crate::quantity::bytes_literal(space(&stages))));
    text.line("on_error stop;");
    text.gap();
    text.line("# Files are made first. This is no part of the result.");
    for one in by_file(&stages) {
        let mut users = stages.iter().flatten().filter(|user| user.file == one.file);
        prepare_file(&mut text, one, ranks, users.any(|user| user.job.needs_content()));
    }
    for stage in &stages {
        text.gap();
        text.line("barrier;");
        for one in stage {
            measured(&mut text, one, ranks)?;
        }
    }
    text.gap();
    text.line("barrier;");
    for one in by_file(&stages).into_iter().filter(|one| !one.job.keep) {
        text.line(on_ranks(one, ranks, one.job.file.is_some(), &format!("delete({});", one.file)));
    }
    Ok(text.finish())
}

/// Each file once, with the first job that uses it.
fn by_file<'a, 'b>(stages: &'b [Vec<Placed<'a>>]) -> Vec<&'b Placed<'a>> {
    let mut first: Vec<&Placed<'_>> = Vec::new();
    for one in stages.iter().flatten() {
        if first.iter().all(|other| other.file != one.file) {
            first.push(one);
        }
    }
    first
}

/// A job file with one job becomes the same program as that of `lastrank io`.
fn alone(job: &Job, made_by: &str) -> Result<String, Refusal> {
    let directory = job.directory.clone().unwrap_or_else(|| ".".into());
    let place = match &job.file {
        None => Place::Directory(directory),
        Some(file) => {
            let (directory, name) = match file.rsplit_once('/') {
                Some(("", name)) => ("/".to_owned(), name),
                Some((folder, name)) => (folder.to_owned(), name),
                None => (directory, file.as_str()),
            };
            let name = name.to_owned();
            if directory.starts_with("/dev") {
                Place::OldFile { directory, name }
            } else {
                Place::NewFile { directory, name }
            }
        }
    };
    program::program(job, &place, made_by)
}

/// Jobs by stages: those of one stage run at the same time.
fn stages(jobs: &[Job]) -> Result<Vec<Vec<Placed<'_>>>, Refusal> {
    let mut stages: Vec<Vec<Placed<'_>>> = Vec::new();
    for job in jobs {
        let refuse = |why| Refusal::Section { section: job.name.clone(), why: Box::new(why) };
        let size =
            job.size.ok_or_else(|| refuse(Refusal::Nothing("the size of the file is missing: give size")))?;
        if stages.is_empty() || job.stonewall {
            stages.push(Vec::new());
        }
        let Some(stage) = stages.last_mut() else { continue };
        let first = stage.last().map_or(0, |last| last.first + last.job.jobs);
        let file = match &job.file {
            Some(file) if file.starts_with('/') => {
                let why = "several jobs work below one directory; write the name of the file alone";
                let option = format!("filename={file}");
                return Err(refuse(Refusal::Unsupported { tool: "fio", option, why }));
            }
            Some(file) => format!("\"$dir/{}\"", escaped(file)?),
            None => format!("\"$dir/{}.$$rank\"", escaped(&job.name.replace('/', "_"))?),
        };
        stage.push(Placed { job, size, first, file });
    }
    Ok(stages)
}

/// The one directory of all jobs.
fn directory(jobs: &[Job]) -> Result<String, Refusal> {
    let mut named = jobs.iter().filter_map(|job| job.directory.as_deref());
    let first = named.next().unwrap_or(".");
    if let Some(other) = named.find(|other| *other != first) {
        return Err(Refusal::Together(format!(
            "the jobs have different directories, {first} and {other}: import them as files of their own"
        )));
    }
    quoted(first)
}

/// Bytes that all files take.
fn space(stages: &[Vec<Placed<'_>>]) -> u64 {
    let mut files: BTreeMap<&str, u64> = BTreeMap::new();
    for one in stages.iter().flatten() {
        let count = if one.job.file.is_some() { 1 } else { one.job.jobs };
        let bytes = (one.size + one.job.offset).saturating_mul(count);
        let kept = files.entry(&one.file).or_default();
        *kept = bytes.max(*kept);
    }
    files.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes)).min(i64::MAX as u64)
}

/// A statement that only the job's ranks do, or only its first one.
fn on_ranks(one: &Placed<'_>, ranks: u64, only_first: bool, statements: &str) -> String {
    let last = if only_first { one.first } else { one.first + one.job.jobs - 1 };
    match (one.first, last) {
        (0, last) if last + 1 == ranks => statements.to_owned(),
        (first, last) if first == last => format!("if $$rank == {first} {{\n{statements}\n}}"),
        (0, last) => format!("if $$rank <= {last} {{\n{statements}\n}}"),
        (first, last) => format!("if $$rank >= {first} && $$rank <= {last} {{\n{statements}\n}}"),
    }
}

fn prepare_file(text: &mut ProgramText, one: &Placed<'_>, ranks: u64, filled: bool) {
    let section = Section { job: one.job, terms: Terms::literal(one.job, one.size) };
    let mut lines = ProgramText::default();
    lines.line("time[\"lay out\"] {");
    if filled {
        section.lay_out(&mut lines, &one.file);
    } else {
        lines.line(format!("$f = fopen({}, \"O_WRONLY|O_CREAT|O_EXCL\");\nfclose($f);", one.file));
    }
    lines.line("}");
    text.line(on_ranks(one, ranks, one.job.file.is_some(), lines.as_str().trim_end()));
}

fn measured(text: &mut ProgramText, one: &Placed<'_>, ranks: u64) -> Result<(), Refusal> {
    let section = Section { job: one.job, terms: Terms::literal(one.job, one.size) };
    let mut lines = ProgramText::default();
    lines.line(format!("$f = fopen({}, \"{}\");", one.file, section.flags(false)));
    section.prepare(&mut lines);
    section.load(&mut lines, Block::Time, &escaped(&one.job.name)?);
    lines.line("fclose($f);");
    text.line(on_ranks(one, ranks, false, lines.as_str().trim_end()));
    Ok(())
}
