//! Reads a job file: sections of options, with what `[global]` says for those after it.

use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;

use super::access::BlockSizes;
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

/// What is put together while a file is read.
struct Reading {
    global: Job,
    jobs: Vec<Job>,
    section: Option<Job>,
    is_global: bool,
    found: Vec<Refusal>,
}

impl JobFile {
    /// Reads the text of a job file; no variable of the environment is known.
    ///
    /// # Errors
    /// What [`Job::of_options`] refuses, with the section; lines that are no options; a file without a job. All mistakes are
    /// told at once.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        Self::read_with(text, &|_| None)
    }

    /// The same, with the values of environment variables (`size=${SIZE}`).
    ///
    /// # Errors
    /// As those of [`JobFile::read`].
    pub fn read_with(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<Self, Refusal> {
        let mut reading = Reading {
            global: Job::imported("global"),
            jobs: Vec::new(),
            section: None,
            is_global: true,
            found: Vec::new(),
        };
        for (number, line) in text.lines().enumerate() {
            let line = without_comment(line);
            if !line.is_empty() {
                reading.line(number + 1, line, environment);
            }
        }
        reading.finish()
    }

    /// The program of all its jobs; `made_by` is told in its first line.
    ///
    /// # Errors
    /// A job without a size; names that no program can spell.
    pub fn program(&self, made_by: &str) -> Result<String, Refusal> {
        several::program(&self.jobs, made_by)
    }
}

impl Reading {
    fn line(&mut self, number: usize, line: &str, environment: &dyn Fn(&str) -> Option<String>) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            self.jobs.extend(self.section.take());
            self.is_global = name.trim() == "global";
            if !self.is_global {
                self.section = Some(Job { name: name.trim().to_owned(), ..self.global.clone() });
            }
            return;
        }
        let (name, value) =
            line.split_once('=').map_or((line, "1"), |(name, value)| (name.trim(), value.trim()));
        if name.is_empty() || name.contains(char::is_whitespace) {
            self.found.push(Refusal::Line { line: number, text: line.to_owned() });
            return;
        }
        let job = match &mut self.section {
            Some(job) if !self.is_global => job,
            _ => &mut self.global,
        };
        let done = with_values(name, value, environment)
            .and_then(|value| option::set(job, name, &value, Prefixes::Fio));
        if let Err(why) = done {
            let section = job.name.clone();
            self.found.push(in_section(&section, why));
        }
    }

    fn finish(mut self) -> Result<JobFile, Refusal> {
        self.jobs.extend(self.section.take());
        if self.jobs.is_empty() && self.found.is_empty() {
            let words = "the job file has no section of a job, such as `[randread]`";
            return Err(Refusal::Nothing(words));
        }
        // An engine that is not here has options that are not known here.
        if self.found.iter().any(is_of_an_engine) {
            self.found.retain(|why| !is_unknown(why));
        }
        let was_read = self.found.is_empty();
        for job in &mut self.jobs {
            let mut found = vec![job.of_direction().err(), job.names.check_format(job.jobs).err()];
            // A device that is not here is told in any case; what goes together is judged where all of it was understood.
            found.push(take_size_of_device(job).and_then(|()| take_share_of_file(job)).err());
            if was_read {
                stop_at_size(job);
                found.push(job.check().err());
            }
            self.found.extend(found.into_iter().flatten().map(|why| in_section(&job.name, why)));
        }
        Refusal::of_all(self.found)?;
        Ok(JobFile { jobs: self.jobs })
    }
}

fn is_of_an_engine(why: &Refusal) -> bool {
    match why {
        Refusal::Section { why, .. } => is_of_an_engine(why),
        Refusal::Unsupported { option, .. } => option.starts_with("ioengine="),
        _ => false,
    }
}

fn is_unknown(why: &Refusal) -> bool {
    match why {
        Refusal::Section { why, .. } => is_unknown(why),
        Refusal::Unknown { nearest, .. } => nearest.is_none(),
        _ => false,
    }
}

/// A job on a whole device is as large as the device: from its offset to its end.
fn take_size_of_device(job: &mut Job) -> Result<(), Refusal> {
    if job.size.is_some() || job.file_size.is_some() {
        return Ok(());
    }
    let [device] = job.names.given.as_slice() else { return Ok(()) };
    if !job.names.are_devices() {
        return Ok(());
    }
    let device = match job.names.directories.first() {
        Some(directory) if !device.starts_with('/') => format!("{directory}/{device}"),
        _ => device.clone(),
    };
    let unknown =
        |why: String| Refusal::Together(format!("the size of {device} is not known here ({why}): give size"));
    if job.offset_increment > 0 {
        return Err(Refusal::Together("offset_increment on a whole device needs a size: give it".into()));
    }
    let is_block = std::fs::metadata(&device).map(|found| found.file_type().is_block_device());
    if !is_block.map_err(|error| unknown(error.to_string()))? {
        return Err(unknown("it is no block device".into()));
    }
    let end = std::fs::File::open(&device).and_then(|mut file| file.seek(SeekFrom::End(0)));
    let end = end.map_err(|error| unknown(error.to_string()))?;
    let rest = end.saturating_sub(job.offset);
    let bytes = job.size_share.take().map_or(rest, |share| share_of(end, share).min(rest));
    let size = bytes / job.sizes.least() * job.sizes.least();
    job.size = (size > 0).then_some(size);
    Ok(())
}

fn share_of(bytes: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(bytes) * u128::from(percent) / 100).unwrap_or(u64::MAX)
}

/// A job on a share of files of a given size: fio makes each only as large as what it works on, in whole blocks.
fn take_share_of_file(job: &mut Job) -> Result<(), Refusal> {
    let Some(share) = job.size_share.take() else { return Ok(()) };
    let told = |why: &str| Refusal::Together(format!("size={share}%: {why}"));
    let Some(size) = job.file_size else {
        return Err(told(
            "the size of which it is a share is not known: give filesize too, or size in bytes",
        ));
    };
    if share == 100 {
        return Ok(());
    }
    if job.offset > 0 || job.offset_increment > 0 {
        return Err(told("with an offset, give size in bytes"));
    }
    let least = job.write_sizes.as_ref().map_or(u64::MAX, BlockSizes::least).min(job.sizes.least());
    let bytes = share_of(size, share) / least * least;
    if bytes == 0 {
        return Err(told("that is less than one operation: give more, or size in bytes"));
    }
    job.file_size = Some(bytes);
    Ok(())
}

/// fio stops at the size of the file even if `number_ios` is more.
fn stop_at_size(job: &mut Job) {
    if let (Extent::Operations(count), Some(size)) = (job.extent, job.pass()) {
        job.extent = Extent::Operations(count.min((size / job.sizes.least()).max(1)));
    }
}

/// A value with those of environment variables in it; fio's own keywords are refused but where a name is made of them.
fn with_values(
    name: &str,
    value: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<String, Refusal> {
    let refuse = |why| Refusal::Unsupported { tool: "fio", option: format!("{name}={value}"), why };
    let mut text = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((variable, after)) = after.split_once('}') else {
            return Err(refuse("`${` needs a name and `}`"));
        };
        let known = environment(variable);
        text += before;
        text += &known
            .ok_or_else(|| refuse("the environment has no such variable: set it, or write its value"))?;
        rest = after;
    }
    text += rest;
    let is_format = name == "filename_format";
    if !is_format && ["$jobname", "$jobnum", "$filenum", "$clientuid"].iter().any(|word| text.contains(word))
    {
        return Err(refuse("fio has such keywords in filename_format alone; write the name"));
    }
    if ["$ncpus", "$mb_memory", "$pagesize"].iter().any(|word| text.contains(word)) {
        return Err(refuse("write the number in place of fio's keyword"));
    }
    Ok(text)
}

fn in_section(section: &str, why: Refusal) -> Refusal {
    Refusal::Section { section: section.to_owned(), why: Box::new(why) }
}
