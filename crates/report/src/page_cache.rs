//! Says where a run measured memory in place of a device, and how to reach the device.

use results::{AnswerNumbers, AnswerValue, ResultRow};
use samples::{Facts, Warning};

/// The code of the warning.
pub(crate) const PAGE_CACHE: &str = "page-cache";

/// From this share of the bytes on, memory answers a median too.
const MIXED: f64 = 0.5;

/// From this share on, it is memory that was measured.
const ALL: f64 = 0.9;

/// Where the answer is about reads that the page cache served, or about writes that end there.
pub(crate) fn warning(numbers: &AnswerNumbers, rows: &[ResultRow], facts: &Facts) -> Option<Warning> {
    if facts.is_simulated() {
        return None;
    }
    let is_about = |is: fn(&str) -> bool| numbers.parts.iter().any(|part| is(&part.operation));
    let reads = is_about(results::is_read).then(|| results::page_cache_share(rows, facts)).flatten();
    let reads = reads.filter(|share| *share >= MIXED).map(|share| match share >= ALL {
        true => {
            format!(
                "this measured memory, not the device: the page cache served {} of the bytes read",
                part(share)
            )
        }
        false => {
            format!(
                "the page cache served {} of the bytes read: these times mix memory and device",
                part(share)
            )
        }
    });
    let writes = (is_about(results::is_write) && are_writes_cached(numbers, facts))
        .then_some("writes ended in memory (the page cache), not on the device");
    let text = match (reads, writes) {
        (Some(reads), None) => reads,
        (None, Some(writes)) => writes.to_owned(),
        (Some(reads), Some(writes)) => format!("{reads}; {writes}"),
        (None, None) => return None,
    };
    Some(Warning { code: PAGE_CACHE.into(), text, advice: way_out(facts, writes.is_some()) })
}

/// A share in percent, never rounded up to all.
fn part(share: f64) -> String {
    match share < 1.0 {
        true => crate::percent((1_000.0 * share).floor() / 1_000.0),
        false => "all".into(),
    }
}

/// The program says that it goes through the page cache, and nothing makes its writes safe.
fn are_writes_cached(numbers: &AnswerNumbers, facts: &Facts) -> bool {
    let said = results::settings(facts);
    let is_said = |word: &str| said.iter().any(|one| one.starts_with(word));
    let is_safe = numbers.parts.iter().any(|part| part.value == AnswerValue::Safe);
    is_said("cached") && !is_safe && !is_said("O_") && !is_said("fsync") && !is_said("fdatasync")
}

/// How to reach the device: the option of the command that was typed, or what a program writes.
fn way_out(facts: &Facts, writes: bool) -> String {
    if facts.file_systems.iter().any(|on| on.in_memory) {
        return "choose a directory on a disk (these files are on a file system in memory)".into();
    }
    match facts.command_line.get(1).map(String::as_str) {
        Some("io") if writes => "--direct, or --fsync 1 to time writes until they are safe".into(),
        Some("io") => "--direct".into(),
        Some("ior") => "-B (O_DIRECT)".into(),
        _ => "open the files with O_DIRECT, as in fopen(\"FILE\", \"O_RDONLY|O_DIRECT\")".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::{BlockDevice, PathFacts, SiteKind};

    /// What is told of a load of one operation, whose program says how it works.
    fn told(operation: &str, said: &str, read: Option<u64>, command: &str) -> Option<String> {
        let row = ResultRow {
            labels: vec!["load".into()],
            label: Some("load".into()),
            operation: operation.into(),
            kind: SiteKind::Operation,
            timings: 1_000,
            operations: Some(1_000),
            ranks: Some(1),
            bytes: 1_000_000,
            busy_seconds: Some(1.0),
            ..ResultRow::default()
        };
        let device = PathFacts {
            file_system: Some("ext4".into()),
            device: Some(BlockDevice::default()),
            ..PathFacts::default()
        };
        let facts = Facts {
            device_read_bytes: read,
            file_systems: vec![device],
            report: [("title".into(), said.into()), ("samples".into(), format!("load / {operation}"))].into(),
            command_line: vec!["lastrank".into(), command.into()],
            ..Facts::default()
        };
        let rows = [row];
        let numbers = AnswerNumbers::of(&rows, &facts, results::Wish::default());
        warning(&numbers, &rows, &facts).map(|found| format!("{}. Fix: {}", found.text, found.advice))
    }

    #[test]
    fn reads_from_memory_are_told_with_their_share_and_the_way_out() {
        assert_eq!(
            told("fread", "cached", Some(5_000), "io").as_deref(),
            Some(
                "this measured memory, not the device: the page cache served 99.5\u{202f}% of the bytes read. Fix: --direct"
            )
        );
        let mixed = told("fread", "cached", Some(400_000), "ior").unwrap();
        assert!(
            mixed.starts_with("the page cache served 60.0\u{202f}% of the bytes read: these times mix"),
            "{mixed}"
        );
        assert!(mixed.ends_with("Fix: -B (O_DIRECT)"), "{mixed}");
        assert!(told("fread", "cached", Some(10), "run").unwrap().contains("99.9\u{202f}% of the bytes"));
        assert!(told("fread", "cached", Some(0), "run").unwrap().contains("served all of the bytes"));
        // The device read them, or nobody knows.
        assert_eq!(told("fread", "cached", Some(700_000), "io"), None);
        assert_eq!(told("fread", "direct", Some(1_000_000), "io"), None);
        assert_eq!(told("fread", "cached", None, "io"), None);
    }

    #[test]
    fn writes_that_nothing_makes_safe_ended_in_memory() {
        let cached = told("fwrite", "cached", Some(0), "io").unwrap();
        assert!(
            cached.starts_with("writes ended in memory") && cached.contains("Fix: --direct, or --fsync 1"),
            "{cached}"
        );
        for said in ["direct", "cached, O_SYNC", "cached, O_DSYNC, depth 4", "cached, fsync every 8", ""] {
            assert_eq!(told("fwrite", said, Some(0), "io"), None, "{said}");
        }
    }
}
