//! What a run or a recording was, where it began and when: in words, and of those that were not asked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::run::live;
use report::shell::{file_argument, quoted};
use samples::units;

use crate::commands::way_on;

/// Folders that are named at most.
const NAMED: usize = 8;
/// Characters of a command that are shown at most.
const LONGEST: usize = 60;

/// Where something came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOrigin {
    /// The command.
    what: String,
    /// Where it was started.
    folder: PathBuf,
    /// When, in UTC.
    started: String,
}

impl LeftOrigin {
    /// Of a run.
    pub fn of_run(manifest: &live::Manifest) -> Self {
        let facts = &manifest.facts;
        let words = facts.command_line.iter().map(String::as_str);
        let what = if facts.command_line.is_empty() { facts.name.clone() } else { command(words) };
        Self { what, folder: manifest.working_directory.clone(), started: moment(&facts.started) }
    }

    /// Of a recording.
    pub fn of_recording(manifest: &tracer::Manifest) -> Self {
        let words =
            ["lastrank", "record", "--"].into_iter().chain(manifest.command.iter().map(String::as_str));
        Self {
            what: command(words),
            folder: manifest.directory().into(),
            started: moment(&units::utc(manifest.began_ns / 1_000_000_000)),
        }
    }

    /// `lastrank run p.ppl, started in /home/you at 2026-11-26 16:30:00 UTC`.
    pub fn clause(&self) -> String {
        format!("{}, started in {} at {}", self.what, shown(&self.folder), self.started)
    }
}

/// A name as a word of a shell, in which nothing commands a terminal: who reads it may paste it, and others may have chosen it.
pub fn word(path: &Path) -> String {
    quoted(&file_argument(&path.to_string_lossy()))
}

/// A directory that others may have named, without what commands a terminal.
fn shown(folder: &Path) -> String {
    samples::visible(&folder.to_string_lossy()).into_owned()
}

/// A command in one line: the program without its folder, and no more than is worth showing.
fn command<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words
        .enumerate()
        .map(|(at, word)| {
            let name = Path::new(word).file_name().and_then(|name| name.to_str());
            if at == 0 { name.unwrap_or(word) } else { word }
        })
        .collect();
    let line = samples::visible(&words.join(" ").replace(['\n', '\r'], " ")).into_owned();
    if line.chars().count() <= LONGEST {
        return line;
    }
    line.chars().take(LONGEST).chain(['…']).collect()
}

/// `2026-11-26T16:30:00Z` for readers.
fn moment(rfc3339: &str) -> String {
    match rfc3339.strip_suffix('Z') {
        Some(moment) if moment.contains('T') && samples::visible(moment) == moment => {
            format!("{} UTC", moment.replacen('T', " ", 1))
        }
        _ if rfc3339.is_empty() => "an unknown time".into(),
        _ => samples::visible(rfc3339).into_owned(),
    }
}

/// What is said of dead runs that were not asked for; empty where there are none.
pub fn elsewhere(others: &[LeftOrigin], is_any_here: bool) -> String {
    let mut folders = BTreeMap::<&Path, Vec<&LeftOrigin>>::new();
    for other in others {
        folders.entry(&other.folder).or_default().push(other);
    }
    let Some(first) = folders.keys().next() else { return String::new() };
    let runs = if others.len() == 1 { "run" } else { "runs" };
    let mut text = format!("{} other dead {runs} of yours:\n", units::count(others.len() as u64));
    for (folder, runs) in folders.iter().take(NAMED) {
        text += &match runs[..] {
            [one] => format!("  in {}: {}, started at {}\n", shown(folder), one.what, one.started),
            _ => {
                let latest = runs.iter().map(|run| &run.started).max().expect("there are some");
                let all = units::count(runs.len() as u64);
                format!("  in {}: {all}, the latest started at {latest}\n", shown(folder))
            }
        };
    }
    if folders.len() > NAMED {
        text += &format!("  and in {} further folders\n", folders.len() - NAMED);
    }
    let head = if is_any_here { "" } else { "Nothing to recover here. " };
    text += "`lastrank recover DIR` recovers those of a folder into it, `lastrank recover --all` all of them into this one.\n";
    // One command is next: that of what was recovered here goes before.
    let next =
        if is_any_here { String::new() } else { way_on::text("recover", &first.to_string_lossy(), &[]) };
    format!("{head}{text}{next}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(folder: &str, started: &str) -> LeftOrigin {
        LeftOrigin { what: "lastrank run p.ppl".into(), folder: folder.into(), started: moment(started) }
    }

    #[test]
    fn others_are_told_by_folder_with_what_they_were_and_when() {
        let told = elsewhere(&[origin("/a", "2026-11-26T16:30:00Z")], false);
        assert!(told.starts_with("Nothing to recover here. 1 other dead run of yours:\n"), "{told}");
        assert!(told.contains("  in /a: lastrank run p.ppl, started at 2026-11-26 16:30:00 UTC\n"), "{told}");
        let two = [origin("/a", "2026-11-26T16:30:00Z"), origin("/a", "2026-11-26T17:30:00Z")];
        let told = elsewhere(&two, true);
        assert!(
            told.starts_with("2 other dead runs")
                && told.contains("in /a: 2, the latest started at 2026-11-26 17:30:00")
        );
        let many: Vec<_> = (0..10).map(|n| origin(&format!("/{n}"), "")).collect();
        assert!(elsewhere(&many, false).contains("and in 2 further folders"));
        assert_eq!(elsewhere(&[], false), "");
    }

    #[test]
    fn a_command_is_one_short_line() {
        assert_eq!(command(["/opt/bin/lastrank", "run", "/x/p.ppl"].into_iter()), "lastrank run /x/p.ppl");
        let long = "x".repeat(100);
        assert_eq!(command(["sh", "-c", "a\nb"].into_iter()), "sh -c a b");
        assert_eq!(command([long.as_str()].into_iter()).chars().count(), LONGEST + 1);
    }
}
