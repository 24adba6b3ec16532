//! Reads a job file: sections of options, with what `[global]` says for those after it.

use super::job::{Extent, Job};
use super::option;
use super::several;
use crate::Refusal;
use crate::quantity::Prefixes;

/// A job file of fio.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    /// Its jobs in their order.
    pub jobs: Vec<Job>,
}

/// Whether a text looks like a job file: its first line that is neither empty nor a comment is a section.
pub fn looks_like_a_job_file(text: &str) -> bool {
    let first = text.lines().map(without_comment).find(|line| !line.is_empty());
    first.is_some_and(|line| line.starts_with('[') && line.ends_with(']'))
}

/// A line without its comment. fio begins one at `;` or `#` wherever it stands.
fn without_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or("").trim()
}

impl JobFile {
    /// Reads the text of a job file.
    ///
    /// # Errors
    /// What [`Job::of_options`] refuses, with the section; lines that are no options; a file without a job.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        let mut global = Job::named("global");
        let mut jobs: Vec<Job> = Vec::new();
        let mut section: Option<Job> = None;
        let mut is_global = true;
        for (number, line) in text.lines().enumerate() {
            let line = without_comment(line);
            if line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                jobs.extend(section.take());
                is_global = name.trim() == "global";
                if !is_global {
                    section = Some(Job { name: name.trim().to_owned(), ..global.clone() });
                }
                continue;
            }
            let (name, value) =
                line.split_once('=').map_or((line, "1"), |(name, value)| (name.trim(), value.trim()));
            if name.is_empty() || name.contains(char::is_whitespace) {
                return Err(Refusal::Line { line: number + 1, text: line.to_owned() });
            }
            let job = if is_global { &mut global } else { section.as_mut().unwrap_or(&mut global) };
            set(job, name, value)
                .map_err(|why| in_section(if is_global { "global" } else { &job.name }, why))?;
        }
        jobs.extend(section);
        if jobs.is_empty() {
            return Err(Refusal::Nothing("the job file has no section of a job, such as `[randread]`"));
        }
        for job in &mut jobs {
            stop_at_size(job);
            job.check().map_err(|why| in_section(&job.name, why))?;
        }
        Ok(Self { jobs })
    }

    /// The program of all its jobs; `made_by` is told in its first line.
    ///
    /// # Errors
    /// A job without a size; names that no program can spell.
    pub fn program(&self, made_by: &str) -> Result<String, Refusal> {
        several::program(&self.jobs, made_by)
    }
}

/// fio stops at the size of the file even if `number_ios` is more.
fn stop_at_size(job: &mut Job) {
    if let (Extent::Operations(count), Some(size)) = (job.extent, job.size) {
        job.extent = Extent::Operations(count.min((size / job.sizes.least()).max(1)));
    }
}

fn set(job: &mut Job, name: &str, value: &str) -> Result<(), Refusal> {
    if value.contains("${") {
        let why = "write the value of the environment variable in its place";
        return Err(Refusal::Unsupported { tool: "fio", option: format!("{name}={value}"), why });
    }
    if value.contains('$') && (value.contains("$jobname") || value.contains("$jobnum")) {
        let why = "name the file without fio's keywords";
        return Err(Refusal::Unsupported { tool: "fio", option: format!("{name}={value}"), why });
    }
    option::set(job, name, value, Prefixes::Fio)
}

fn in_section(section: &str, why: Refusal) -> Refusal {
    Refusal::Section { section: section.to_owned(), why: Box::new(why) }
}
