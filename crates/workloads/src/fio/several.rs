//! Writes the program of a job file: jobs side by side as ranks, one after the other where they wait.

use super::job::{ExitWhat, Job};
use super::program::{self, Place};
use super::section::{Block, Section};
use super::terms::Terms;
use crate::Refusal;
use crate::quantity::bytes_literal;
use crate::text::{ProgramText, escaped, one_line, quoted};

/// A job with its place among the ranks.
struct Placed<'a> {
    job: &'a Job,
    /// Bytes of each file.
    region: u64,
    /// Its first rank.
    first: u64,
    files: Files,
}

/// The files of a job.
#[derive(Clone, PartialEq)]
struct Files {
    /// The variable of their directory.
    directory: String,
    /// The directory of a process, where there are several to take in turn.
    turns: Vec<String>,
    /// Names that are given, as parts of strings; none: own ones.
    given: Vec<String>,
    /// The own name of file `$k` of process `$job`, as a part of a string.
    own: String,
}

/// The program of `jobs`.
pub(super) fn program(jobs: &[Job], made_by: &str) -> Result<String, Refusal> {
    if let [job] = jobs
        && is_plain(job)
    {
        return alone(job, made_by);
    }
    if jobs.len() > 1 && jobs.iter().any(|job| job.steady.criterion.is_some()) {
        return Err(Refusal::Together(
            "ss ends one job, and a run is steady as a whole: give each job that has it a file of its own"
                .into(),
        ));
    }
    let directories = directories(jobs);
    let stages = stages(jobs, &directories)?;
    check_names(&stages)?;
    let ranks = stages.iter().flatten().map(|one| one.first + one.job.jobs).max().unwrap_or(1);
    let mut text = ProgramText::default();
    text.comment(&format!("Made by `{}`.", one_line(made_by)));
    text.line("#");
    for job in jobs {
        text.comment(&format!("{}: {}.", one_line(&job.name), job.in_words()));
        job.notes.iter().for_each(|note| text.comment(note));
    }
    text.gap();
    for (number, directory) in directories.iter().enumerate() {
        text.parameter(&parameter(number), &quoted(directory)?, "", "where the files go");
    }
    text.line(format!("define ranks {ranks}"));
    for (variable, bytes) in space(&stages) {
        text.line(format!("define space \"{variable}\" {}", bytes_literal(bytes)));
    }
    for job in jobs.iter().filter(|job| job.steady.criterion.is_some()) {
        text.line(format!("define report {{{}}}", job.steady.hints()));
    }
    text.line("on_error stop;");
    text.gap();
    text.line("# Files are made first. This is no part of the result.");
    for one in by_file(&stages) {
        prepare_files(&mut text, one, ranks, &stages);
    }
    for (number, stage) in stages.iter().enumerate() {
        text.gap();
        text.line("barrier;");
        let mut lines = ProgramText::default();
        for one in stage.iter().filter(|one| !one.job.create_only) {
            measured(&mut lines, one, ranks, stage)?;
        }
        let ends = stage.iter().any(|one| one.job.exit_all);
        let busy = stage.last().map_or(0, |last| last.first + last.job.jobs);
        if ends && busy < ranks {
            // Ranks without a job would end the stage at once.
            let over = format!("\"stage {} over\"", number + 1);
            lines.line(format!("if $$rank < {busy} signal({over});\nelse await({over});"));
        }
        match ends {
            true => text.line(format!("phase \"stage {}\" stonewall {{\n{}}}", number + 1, lines.as_str())),
            false => text.line(lines.as_str()),
        }
    }
    text.gap();
    text.line("barrier;");
    for one in by_file(&stages).into_iter().filter(|one| !one.job.keep) {
        remove_files(&mut text, one, ranks);
    }
    Ok(text.finish())
}

/// The name of the parameter of a directory.
fn parameter(number: usize) -> String {
    if number == 0 { "dir".into() } else { format!("dir{}", number + 1) }
}

/// Each set of files once, with the first job that uses it.
fn by_file<'a, 'b>(stages: &'b [Vec<Placed<'a>>]) -> Vec<&'b Placed<'a>> {
    let mut first: Vec<&Placed<'_>> = Vec::new();
    for one in stages.iter().flatten().filter(|one| !one.is_old()) {
        if first.iter().all(|other| other.files != one.files) {
            first.push(one);
        }
    }
    first
}

/// Whether a job has the form of `lastrank io`: one file, one pass, its numbers as parameters.
fn is_plain(job: &Job) -> bool {
    let parts = job.names.files_are_one() && job.file_size.is_none() && job.size.is_some();
    let is_at_once = job.loops == 1 && job.start_delay == 0 && job.wait_for.is_none();
    let is_at_once = is_at_once && !job.create_only && !job.exit_all;
    parts && is_at_once && job.names.directories.len() <= 1 && job.names.has_usual_format()
}

/// A job file with one job becomes the same program as that of `lastrank io`.
fn alone(job: &Job, made_by: &str) -> Result<String, Refusal> {
    let directory = job.names.directories.first().cloned().unwrap_or_else(|| ".".into());
    let place = match job.names.given.first() {
        None => Place::Directory(directory),
        Some(file) => {
            let (directory, name) = apart(file, &directory);
            if job.existing || directory.starts_with("/dev") {
                Place::OldFile { directory, name }
            } else {
                Place::NewFile { directory, name }
            }
        }
    };
    program::program(job, &place, made_by)
}

/// The directory and the rest of a name that is given; one that begins with `/` has its own.
fn apart(file: &str, directory: &str) -> (String, String) {
    match file.rsplit_once('/') {
        Some(("", name)) => ("/".into(), name.into()),
        Some((folder, name)) if file.starts_with('/') => (folder.into(), name.into()),
        _ => (directory.into(), file.into()),
    }
}

/// The directories of all jobs, each once.
fn directories(jobs: &[Job]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for job in jobs {
        let default = job.names.directories.first().cloned().unwrap_or_else(|| ".".into());
        let mut of_job: Vec<String> = job.names.given.iter().map(|file| apart(file, &default).0).collect();
        if of_job.is_empty() {
            of_job =
                if job.names.directories.is_empty() { vec![default] } else { job.names.directories.clone() };
        }
        for directory in of_job {
            if !all.contains(&directory) {
                all.push(directory);
            }
        }
    }
    all
}

/// Jobs by stages: those of one stage run at the same time.
fn stages<'a>(jobs: &'a [Job], directories: &[String]) -> Result<Vec<Vec<Placed<'a>>>, Refusal> {
    let mut stages: Vec<Vec<Placed<'_>>> = Vec::new();
    let mut found = Vec::new();
    for job in jobs {
        let within = |why| Refusal::Section { section: job.name.clone(), why: Box::new(why) };
        if stages.is_empty() || job.stonewall {
            stages.push(Vec::new());
        }
        let Some(stage) = stages.last_mut() else { continue };
        let first = stage.last().map_or(0, |last| last.first + last.job.jobs);
        match (job.region(), files(job, directories)) {
            (Some(region), Ok(files)) => stage.push(Placed { job, region, first, files }),
            (None, _) => {
                found.push(within(Refusal::Nothing("the size of the file is missing: give size")));
            }
            (_, Err(why)) => found.push(within(why)),
        }
        if job.names.directories.len() > 1 && !job.names.given.is_empty() {
            found.push(within(Refusal::Together(
                "several directories are for files of each process: give filename with its directory".into(),
            )));
        }
    }
    check_ends(&stages, &mut found);
    check_waits(&stages, &mut found);
    Refusal::of_all(found)?;
    Ok(stages)
}

/// Refuses what `exitall` cannot end here.
fn check_ends(stages: &[Vec<Placed<'_>>], found: &mut Vec<Refusal>) {
    let mut refuse = |words: &str| found.push(Refusal::Together(words.into()));
    for (number, stage) in stages.iter().enumerate() {
        let ending: Vec<&Job> = stage.iter().map(|one| one.job).filter(|job| job.exit_all).collect();
        if ending.is_empty() {
            continue;
        }
        if ending.len() < stage.len() {
            refuse("jobs that run together have exitall, or none: put it into [global]");
        }
        let has_groups = stage.iter().skip(1).any(|one| one.job.new_group);
        if has_groups && ending.iter().any(|job| job.exit_what == ExitWhat::Group) {
            refuse(
                "exitall ends the jobs of its group alone, and new_group makes several of those that run together: give \
                 exit_what=stonewall to end them all, or leave new_group out",
            );
        }
        if number + 1 < stages.len() && ending.iter().any(|job| job.exit_what == ExitWhat::All) {
            refuse(
                "exit_what=all ends jobs that have not begun: give exit_what=stonewall, and leave those behind out",
            );
        }
        if stage.iter().any(|one| one.job.wait_for.is_some()) {
            refuse(
                "exitall ends jobs that run, and wait_for has one that does not yet: leave one of them out",
            );
        }
    }
}

/// Refuses waits for what does not come before.
fn check_waits(stages: &[Vec<Placed<'_>>], found: &mut Vec<Refusal>) {
    let all: Vec<&Job> = stages.iter().flatten().map(|one| one.job).collect();
    for (at, job) in all.iter().enumerate() {
        let Some(name) = &job.wait_for else { continue };
        if *name == job.name || all[..at].iter().all(|other| other.name != *name) {
            let why = format!("wait_for={name} names no job before this one");
            let why = Box::new(Refusal::Together(why));
            found.push(Refusal::Section { section: job.name.clone(), why });
        }
    }
}

fn files(job: &Job, directories: &[String]) -> Result<Files, Refusal> {
    let variable = |directory: &str| {
        let number = directories.iter().position(|other| other == directory).unwrap_or(0);
        format!("${}", parameter(number))
    };
    let default = job.names.directories.first().cloned().unwrap_or_else(|| ".".into());
    let given = job.names.given.iter().map(|file| {
        let (directory, name) = apart(file, &default);
        Ok(format!("{}/{}", variable(&directory), escaped(&name)?))
    });
    let given = given.collect::<Result<Vec<_>, Refusal>>()?;
    let own = job.names.own_file(&job.name, "${job}", "${k}")?;
    let turns = match job.names.directories.len() {
        0 | 1 => Vec::new(),
        _ => job.names.directories.iter().map(|directory| variable(directory)).collect(),
    };
    let directory = match job.names.given.first() {
        Some(file) => variable(&apart(file, &default).0),
        None => variable(&default),
    };
    let own = if given.is_empty() { own } else { String::new() };
    Ok(Files { directory, turns, given, own })
}

/// Refuses names that two jobs have in another way each.
fn check_names(stages: &[Vec<Placed<'_>>]) -> Result<(), Refusal> {
    let mut found = Vec::new();
    let all: Vec<&Placed<'_>> = stages.iter().flatten().collect();
    for (at, one) in all.iter().enumerate() {
        for other in &all[..at] {
            let within = |words: &str| Refusal::Section {
                section: one.job.name.clone(),
                why: Box::new(Refusal::Together(words.into())),
            };
            let shares = one.files.given.iter().any(|name| other.files.given.contains(name));
            if shares && one.files != other.files {
                found.push(within(
                    "jobs that share one of several files share all of them: name the same files",
                ));
            }
            if one.files == other.files && one.files.given.is_empty() && one.job.jobs != other.job.jobs {
                found.push(within(
                    "two sections have this name: their files would be the same; name them apart",
                ));
            }
            if one.files == other.files && one.is_old() != other.is_old() {
                found.push(within("jobs with one file have the same allow_file_create"));
            }
        }
    }
    Refusal::of_all(found)
}

/// Bytes that the new files take, by the variable of their directory.
fn space(stages: &[Vec<Placed<'_>>]) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = Vec::new();
    for one in by_file(stages) {
        let bytes = stages.iter().flatten().filter(|user| user.files == one.files).map(Placed::end).max();
        let count = one.job.files() * if one.job.names.are_own() { one.job.jobs } else { 1 };
        let bytes = bytes.unwrap_or(0).saturating_mul(count).min(i64::MAX as u64);
        match all.iter_mut().find(|(variable, _)| *variable == one.files.directory) {
            Some((_, sum)) => *sum = sum.saturating_add(bytes).min(i64::MAX as u64),
            None => all.push((one.files.directory.clone(), bytes)),
        }
    }
    all
}

impl Placed<'_> {
    /// Whether its files exist and stay.
    fn is_old(&self) -> bool {
        self.job.existing || self.job.names.are_devices()
    }

    /// Where its part of each file ends.
    fn end(&self) -> u64 {
        let last = self.job.offset_increment.saturating_mul(self.job.jobs - 1);
        self.region.saturating_add(self.job.offset).saturating_add(last)
    }

    /// Which of the job's processes a rank is.
    fn process(&self) -> String {
        if self.first == 0 { "$$rank".into() } else { format!("($$rank - {})", self.first) }
    }

    /// The file `$k` as an expression.
    fn file(&self) -> String {
        match self.files.given.as_slice() {
            [] => {
                let directory = if self.files.turns.is_empty() { &self.files.directory } else { "$turn" };
                let own = if self.job.files() == 1 {
                    self.files.own.replace("${k}", "0")
                } else {
                    self.files.own.clone()
                };
                format!("\"{directory}/{own}\"")
            }
            [one] => format!("\"{one}\""),
            _ => "$names[$k]".into(),
        }
    }

    /// Statements that the expression of a file needs.
    fn name_files(&self, text: &mut ProgramText) {
        let needs_number = self.files.own.contains("${job}") || !self.files.turns.is_empty();
        if self.files.given.is_empty() && needs_number {
            let process = self.process();
            text.line(format!("$job = {};", process.trim_matches(['(', ')'])));
        }
        if !self.files.turns.is_empty() {
            let turns = &self.files.turns;
            text.line(format!(
                "$turns = [{}];\n$turn = $turns[mod($job, {})];",
                turns.join(", "),
                turns.len()
            ));
        }
        if self.files.given.len() > 1 {
            let names: Vec<String> = self.files.given.iter().map(|name| format!("\"{name}\"")).collect();
            text.line(format!("$names = [{}];", names.join(", ")));
        }
    }

    /// A statement for each file, in which `$k` is its number.
    fn each_file(&self, text: &mut ProgramText, statements: &str) {
        match self.job.files() {
            1 => text.line(statements),
            files => text.line(format!("repeat $k {files} {{\n{statements}\n}}")),
        }
    }
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

/// Makes the files of a job, with content as far as any job needs it.
fn prepare_files(text: &mut ProgramText, one: &Placed<'_>, ranks: u64, stages: &[Vec<Placed<'_>>]) {
    let users = || stages.iter().flatten().filter(|user| user.files == one.files);
    let filled = users().filter(|user| user.job.needs_content()).map(Placed::end).max();
    let section = Section { job: one.job, terms: Terms::literal(one.job, one.region, "") };
    let mut lines = ProgramText::default();
    one.name_files(&mut lines);
    lines.line("time[\"lay out\"] {");
    let mut inner = ProgramText::default();
    match filled {
        Some(end) => Section::lay_out(&mut inner, &one.file(), &bytes_literal(end)),
        None => {
            section.make(&mut inner, &one.file(), &bytes_literal(users().map(Placed::end).max().unwrap_or(0)))
        }
    }
    one.each_file(&mut lines, inner.as_str().trim_end());
    lines.line("}");
    text.line(on_ranks(one, ranks, !one.job.names.are_own(), lines.as_str().trim_end()));
}

fn remove_files(text: &mut ProgramText, one: &Placed<'_>, ranks: u64) {
    let mut lines = ProgramText::default();
    one.name_files(&mut lines);
    one.each_file(&mut lines, &format!("delete({});", one.file()));
    text.line(on_ranks(one, ranks, !one.job.names.are_own(), lines.as_str().trim_end()));
}

/// The processes of this stage that have a name which others wait for.
fn waited_for(stage: &[Placed<'_>], name: &str) -> u64 {
    let named = stage.iter().filter(|one| one.job.name == name && !one.job.create_only);
    named.map(|one| one.job.jobs).sum()
}

fn measured(
    text: &mut ProgramText,
    one: &Placed<'_>,
    ranks: u64,
    stage: &[Placed<'_>],
) -> Result<(), Refusal> {
    let job = one.job;
    let section = Section { job, terms: Terms::literal(job, one.region, &one.process()) };
    let mut lines = ProgramText::default();
    if job.start_delay > 0 {
        lines.line(format!("think {};", crate::quantity::time_literal(job.start_delay)));
    }
    if let Some(name) = &job.wait_for {
        // One of a stage before has ended.
        match waited_for(stage, name) {
            0 => {}
            count => lines.line(format!("await(\"{} ended\", {count});", escaped(name)?)),
        }
    }
    one.name_files(&mut lines);
    let open = format!("fopen({}, \"{}\")", one.file(), section.flags(false));
    match job.files() {
        1 => lines.line(format!("$f = {open};")),
        files => lines.line(format!("$files = [];\nrepeat $k {files} $files = $files + [{open}];")),
    }
    section.prepare(&mut lines);
    section.load(&mut lines, Block::Time, &escaped(&job.name)?);
    section.each_file(&mut lines, "fclose(FILE);");
    if stage.iter().any(|other| other.job.wait_for.as_ref() == Some(&job.name)) {
        lines.line(format!("signal(\"{} ended\");", escaped(&job.name)?));
    }
    text.line(on_ranks(one, ranks, false, lines.as_str().trim_end()));
    Ok(())
}
