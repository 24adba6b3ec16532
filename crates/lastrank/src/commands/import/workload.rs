//! Programs of job files of fio and of command lines of IOR and mdtest.

use anyhow::Context;
use workloads::fio::{JobFile, looks_like_a_job_file};
use workloads::ior::{self, Ior};
use workloads::mdtest::{self, Mdtest};

/// The program, if `text` is a job file or a command line; `name` is what it is called.
pub fn program(text: &str, name: &str) -> anyhow::Result<Option<String>> {
    let made_by = format!("lastrank import {name}");
    if looks_like_a_job_file(text) {
        let file = JobFile::read(text)
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
