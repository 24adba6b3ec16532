//! Programs of job files of fio and of command lines of IOR and mdtest.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::Context;
use trace::{format::Reading, formats, recording};
use workloads::fio::{JobFile, looks_like_a_job_file};
use workloads::ior::{self, Ior};
use workloads::mdtest::{self, Mdtest};

/// A longer file is none.
const LONGEST: u64 = 1 << 20;

/// The program, if `path` is a job file or a command line, or the name of a file that holds one, and not a trace.
pub fn program_of(path: &Path) -> anyhow::Result<Option<String>> {
    let name = path.display().to_string();
    // A command line in quotes is no file.
    let Some(text) = text_of(path)? else { return program(&name, "a command line") };
    let bytes = text.as_bytes();
    let is_trace = recording::detect(bytes) || formats::detect(bytes, &Reading::default()).is_some();
    if is_trace || bytes.len() as u64 > LONGEST {
        return Ok(None);
    }
    program(&text, &name)
}

/// The beginning of the file, as text; `None` where there is none.
pub fn text_of(path: &Path) -> anyhow::Result<Option<String>> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The program, if `text` is a job file or a command line; `name` is what it is called.
fn program(text: &str, name: &str) -> anyhow::Result<Option<String>> {
    let made_by = format!("lastrank import {name}");
    if looks_like_a_job_file(text) {
        let file = JobFile::read_with(text, &|name| std::env::var(name).ok())
            .with_context(|| format!("{name} is a job file of fio that makes no program"))?;
        return Ok(Some(file.program(&made_by)?));
    }
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let [line] = lines[..] else { return Ok(None) };
    let Some(words) = ior::words(line) else { return Ok(None) };
    let ranks = launched(&words);
    if let Some(options) = ior::options_of_line(&words) {
        let mut ior = Ior::of_words(options).with_context(|| format!("`{line}` makes no program"))?;
        ior.ranks = ior.ranks.or(ranks);
        return Ok(Some(ior.program(line)?));
    }
    let Some(options) = mdtest::options_of_line(&words) else { return Ok(None) };
    let mdtest = Mdtest::of_words(options).with_context(|| format!("`{line}` makes no program"))?;
    Ok(Some(mdtest.program(line)?))
}

/// How many ranks a launcher in front of the command would start: `mpirun -n 4 ior …`.
fn launched(words: &[String]) -> Option<u64> {
    let launcher = words.first()?.rsplit('/').next()?;
    if !["mpirun", "mpiexec", "srun"].contains(&launcher) {
        return None;
    }
    let at = words.iter().position(|word| ["-n", "-np", "--np", "--ntasks"].contains(&word.as_str()))?;
    words.get(at + 1)?.parse().ok()
}
