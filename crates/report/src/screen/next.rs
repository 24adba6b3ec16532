//! What to do next: one command that can be pasted.

use results::ResultRow;
use samples::SiteKind;

use super::answer;
use crate::Report;

/// The command: the run again where it failed, the law of what takes the most time, how many operations settle its p99.
pub(super) fn command(report: &Report, file: &str) -> String {
    let file = quoted(file);
    if report.judgements.status() != 0 || !report.facts.complete {
        return again(report).unwrap_or_else(|| format!("lastrank report {file}"));
    }
    match answer::subject(report) {
        Some(_) => format!("lastrank fit {file}"),
        None => match busiest(report) {
            Some(name) => format!("lastrank fit {file} --of {}", quoted(&name)),
            None => format!("lastrank report {file}"),
        },
    }
}

/// The command line of the run; none where a launcher or another program started it.
fn again(report: &Report) -> Option<String> {
    let facts = &report.facts;
    let words = facts.command_line.get(1..).filter(|words| !words.is_empty() && facts.mpi.is_none())?;
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    Some(format!("lastrank {}", words.join(" ")))
}

/// The operation that took the most time of those that succeeded often enough for a law, as `--of` calls it.
fn busiest(report: &Report) -> Option<String> {
    /// Fewest samples that are assessed.
    const FEWEST: u64 = tail::assess::FEWEST as u64;
    let rows = report.results.iter().filter(|row| row.kind == SiteKind::Operation && row.timings >= FEWEST);
    let busy = |row: &ResultRow| row.busy_seconds.unwrap_or(0.0);
    let row = rows.max_by(|a, b| busy(a).total_cmp(&busy(b)))?;
    Some(match row.label.as_deref().filter(|label| !label.is_empty()) {
        Some(label) => format!("{label}/{}", row.operation),
        None => row.operation.clone(),
    })
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_each_word_as_it_was() {
        let words = ["a b", "plain-1.parquet", "it's", "", "simulate:gev(10ms,1ms,0.1)", "$HOME", "ü/x"];
        for word in words {
            let done = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", quoted(word))])
                .output();
            assert_eq!(String::from_utf8(done.unwrap().stdout).unwrap(), word);
        }
    }
}
