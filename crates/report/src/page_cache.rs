//! Says where a run measured memory in place of a device, and how to reach the device.

use results::{AnswerNumbers, AnswerValue, FromMemory, ResultRow};
use samples::{Facts, Warning, units};

/// The code of the warning.
pub(crate) const PAGE_CACHE: &str = "page-cache";

/// From this share of the bytes on, memory answers a median too.
const MIXED: f64 = 0.5;

/// From this share on, it is memory that was measured.
const ALL: f64 = 0.9;

/// Where the answer is about reads that the page cache served, or about writes that end there.
pub(crate) fn warning(numbers: &AnswerNumbers, rows: &[ResultRow], facts: &Facts) -> Option<Warning> {
    // A program that measures both, and says which row is which; where no device is, that stays to be told.
    let both = facts.report.get("page_cache").is_some_and(|said| said == "intended");
    if facts.is_simulated() || (both && !facts.file_systems.iter().any(|on| on.in_memory)) {
        return None;
    }
    // Where the table is the answer, it is about each operation in it.
    let in_table = |is: fn(&str) -> bool| rows.iter().any(|row| row.timings > 0 && is(&row.operation));
    let is_about = |is: fn(&str) -> bool| match numbers.parts.is_empty() {
        true => in_table(is),
        false => numbers.parts.iter().any(|part| is(&part.operation)),
    };
    let from_memory = results::from_memory(rows, facts);
    let reads = is_about(results::is_read)
        .then(|| from_memory.as_ref().and_then(of_reads).or_else(|| of_durations(rows, facts)));
    // Zeros in place of what was never written come from no cache, and that warning says so.
    let are_holes = is_direct(facts) && facts.warnings.iter().any(|one| one.code == "never-written");
    let reads = reads.flatten().filter(|_| !are_holes);
    let is_safe = numbers.parts.iter().any(|part| part.value == AnswerValue::Safe);
    let is_of_plain = is_about(results::is_write) && !is_safe;
    let writes = match is_of_plain && results::writes_end_in_memory(rows, facts) {
        true => Some(of_plain_writes(rows)),
        false => is_of_plain.then(|| of_durations_of_writes(rows, facts)).flatten(),
    };
    let verified = from_memory.as_ref().and_then(|found| of_verified(numbers, found));
    let is_of_writes = writes.is_some();
    let parts: Vec<String> = [reads, writes, verified].into_iter().flatten().collect();
    if parts.is_empty() {
        return None;
    }
    let is_timed_read = |row: &&ResultRow| row.timings > 0 && results::is_read(&row.operation);
    let mut timed_reads = rows.iter().filter(is_timed_read).peekable();
    let by_touch =
        timed_reads.peek().is_some() && timed_reads.all(|row| results::is_read_by_touch(&row.operation));
    let advice = match by_touch && !is_of_writes {
        true => way_out_of_maps(facts),
        false => way_out(facts, is_of_writes),
    };
    Some(Warning { code: PAGE_CACHE.into(), text: parts.join("; "), advice })
}

/// What is known of writes that nothing takes to the device; what a program syncs is in the times of its syncs.
fn of_plain_writes(rows: &[ResultRow]) -> String {
    let syncs = rows.iter().find(|row| row.timings > 0 && row.is_sync());
    match syncs {
        Some(row) => {
            format!("writes ended in memory (the page cache); the device's part is in `{}`", row.operation)
        }
        None => "writes ended in memory (the page cache), not on the device".into(),
    }
}

/// What is known of the reads: by their bytes, and where the kernel read ahead by their number.
fn of_reads(found: &FromMemory) -> Option<String> {
    let served = format!("the page cache served {} of the bytes read", part(found.bytes));
    match (found.bytes, found.calls.filter(|calls| calls.share() >= MIXED)) {
        (ALL.., _) => Some(format!("this measured memory, not the device: {served}")),
        (MIXED.., _) => Some(format!("{served}: these times mix memory and device")),
        (_, Some(calls)) => Some(format!(
            "the kernel read ahead: it asked the device {} times for {} reads, so at least {} of them found their data in the \
             page cache: the bytes are from the device, {}",
            units::count(calls.of_device),
            units::count(calls.reads),
            part(calls.share()),
            match calls.share() >= ALL {
                true => "the times are those of memory",
                false => "the times mix memory and device",
            }
        )),
        _ => None,
    }
}

/// What the durations alone say: faster than any device.
fn of_durations(rows: &[ResultRow], facts: &Facts) -> Option<String> {
    let median = crate::unit::duration(results::median_of_memory(rows, facts)?);
    Some(format!(
        "half of the reads took at most {median}, and no device answers so fast: they found their data in the page cache, where \
         earlier reads, writes or the kernel's reading ahead had put them, so these times mix memory and device"
    ))
}

/// The same of writes of a program that makes some of its writes safe, these or others.
fn of_durations_of_writes(rows: &[ResultRow], facts: &Facts) -> Option<String> {
    let median = crate::unit::duration(results::median_of_memory_writes(rows, facts)?);
    Some(format!(
        "half of the writes took at most {median}, and no device answers so fast: they ended in the page cache, and what makes \
         them safe later is not in these times"
    ))
}

/// Begins what is said of verified reads, whose own times may be those of a device.
pub(crate) const OF_VERIFIED: &str = "what `verify` compared";

/// That comparing what memory returns proves nothing of a device.
fn of_verified(numbers: &AnswerNumbers, found: &FromMemory) -> Option<String> {
    // Wrong content, wherever it came from, proves something.
    let is_verified = numbers.errors == 0 && numbers.verified.is_some_and(|verified| verified.bytes > 0);
    (is_verified && found.bytes >= MIXED).then(|| {
        format!(
            "{OF_VERIFIED} came from memory ({} of the bytes read), so it proves nothing of the storage",
            part(found.bytes)
        )
    })
}

/// A share in percent, never rounded up to all.
fn part(share: f64) -> String {
    match share < 1.0 {
        true => crate::percent((1_000.0 * share).floor() / 1_000.0),
        false => "all".into(),
    }
}

/// How to reach the device where files are mapped, which is always through the page cache.
fn way_out_of_maps(facts: &Facts) -> String {
    match facts.file_systems.iter().any(|on| on.in_memory) {
        true => way_out(facts, false),
        false => {
            "write `fadvise($file, \"dontneed\");` before each `mmap` of synced data (a map has no O_DIRECT)"
                .into()
        }
    }
}

/// Whether the load was asked for past the page cache.
fn is_direct(facts: &Facts) -> bool {
    results::settings(facts).iter().any(|word| word == "direct")
}

/// How to reach the device: the option of the command that was typed, or what a program writes.
fn way_out(facts: &Facts, writes: bool) -> String {
    if facts.file_systems.iter().any(|on| on.in_memory) {
        return "choose a directory on a disk (these files are on a file system in memory)".into();
    }
    match facts.command_line.get(1).map(String::as_str) {
        Some("io") if is_direct(facts) => {
            "choose a directory on another file system: O_DIRECT was on, and this one answers from memory all the same".into()
        }
        Some("io") if writes => "--direct, or --fsync 1 to time writes until they are safe".into(),
        Some("io") => "--direct".into(),
        Some("ior") => "-B (O_DIRECT)".into(),
        // What the program opens is not its reader's choice.
        Some("replay") => {
            "a replay opens files as the application did, which met the page cache as well: replay more data than memory \
             holds to meet the device"
                .into()
        }
        _ if writes => {
            "open the files with O_SYNC, or O_DIRECT, or write `fsync($file);` after the writes".into()
        }
        _ => "open the files with O_DIRECT, as in `fopen(\"FILE\", \"O_RDONLY|O_DIRECT\")`".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::{BlockDevice, PathFacts, SiteKind, VerifiedFacts};

    /// What is told of a load of one operation, whose program says how it works.
    fn told(operation: &str, said: &str, read: Option<u64>, command: &str) -> Option<String> {
        told_of(operation, (said, command), (read, None), None)
    }

    /// The same with the reads that the device was asked for, and with what was verified.
    fn told_of(
        operation: &str,
        (said, command): (&str, &str),
        (read, asked): (Option<u64>, Option<u64>),
        verified: Option<VerifiedFacts>,
    ) -> Option<String> {
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
            device: Some(BlockDevice { name: "vda".into(), ..BlockDevice::default() }),
            ..PathFacts::default()
        };
        let facts = Facts {
            device_read_bytes: read,
            device_reads: asked.map(|asked| [("vda".to_owned(), asked)].into()),
            verified,
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
                "this measured memory, not the device: the page cache served 99.5% of the bytes read. Fix: --direct"
            )
        );
        let mixed = told("fread", "cached", Some(400_000), "ior").unwrap();
        assert!(
            mixed.starts_with("the page cache served 60.0% of the bytes read: these times mix"),
            "{mixed}"
        );
        assert!(mixed.ends_with("Fix: -B (O_DIRECT)"), "{mixed}");
        assert!(told("fread", "cached", Some(10), "run").unwrap().contains("99.9% of the bytes"));
        assert!(told("fread", "cached", Some(0), "run").unwrap().contains("served all of the bytes"));
        // The device read them, or nobody knows.
        assert_eq!(told("fread", "cached", Some(700_000), "io"), None);
        assert_eq!(told("fread", "direct", Some(1_000_000), "io"), None);
        assert_eq!(told("fread", "cached", None, "io"), None);
        // It is no advice where it is on.
        let direct = told("fread", "direct, depth 8", Some(5_000), "io").unwrap();
        assert!(direct.contains("another file system") && !direct.contains("--direct"), "{direct}");
    }

    #[test]
    fn pages_of_a_mapped_file_from_memory_are_told_with_a_way_out_of_their_own() {
        let told = told("mmap", "", Some(0), "run").expect("a warning");
        assert!(told.starts_with("this measured memory, not the device"), "{told}");
        assert!(told.contains("fadvise($file, \"dontneed\")") && !told.contains("open the files"), "{told}");
    }

    #[test]
    fn reads_that_the_kernel_read_ahead_are_told_by_their_number() {
        let of = |asked| told_of("fread", ("cached", "io"), (Some(1_100_000), Some(asked)), None);
        let few = of(20).unwrap();
        assert!(
            few.starts_with(
                "the kernel read ahead: it asked the device 20 times for 1,000 reads, so at least 98.0%"
            ),
            "{few}"
        );
        assert!(few.contains("the bytes are from the device, the times are those of memory"), "{few}");
        assert!(of(300).unwrap().contains("from the device, the times mix memory and device"));
        assert_eq!(of(700), None);
        // Where the bytes say it already, they say it.
        let both = told_of("fread", ("cached", "io"), (Some(0), Some(0)), None).unwrap();
        assert!(both.starts_with("this measured memory") && !both.contains("of the reads"), "{both}");
    }

    #[test]
    fn a_comparison_of_what_memory_returned_is_no_proof_of_the_storage() {
        let verified = Some(VerifiedFacts { operations: 9, bytes: 9_000, unknown_bytes: 0 });
        let of = |read, verified| told_of("fread", ("cached", "io"), (Some(read), None), verified);
        assert!(of(0, verified).unwrap().contains("proves nothing of the storage"));
        assert!(!of(0, None).unwrap().contains("proves nothing"));
        assert!(!of(0, Some(VerifiedFacts::default())).unwrap().contains("proves nothing"));
        assert_eq!(of(900_000, verified), None);
    }

    #[test]
    fn a_program_whose_text_takes_no_write_to_the_device_is_told_the_same() {
        let of = |program: &str, parameter: &str, operation: &str| {
            let row = ResultRow {
                operation: operation.into(),
                kind: SiteKind::Operation,
                timings: 1_000,
                operations: Some(1_000),
                busy_seconds: Some(1.0),
                ..ResultRow::default()
            };
            let facts = Facts {
                program: program.into(),
                backend: "posix".into(),
                parameters: [("how".to_owned(), parameter.to_owned())].into(),
                command_line: vec!["lastrank".into(), "run".into()],
                ..Facts::default()
            };
            let rows = [row];
            let numbers = AnswerNumbers::of(&rows, &facts, results::Wish::default());
            warning(&numbers, &rows, &facts)
        };
        let told = of("fwrite($f, 4k);", "", "fwrite").expect("a warning");
        let as_of_io = told_of("fwrite", ("cached", "io"), (None, None), None).unwrap();
        assert!(as_of_io.starts_with(&told.text), "{told:?} {as_of_io}");
        assert!(told.advice.contains("O_SYNC") && told.advice.contains("fsync"), "{told:?}");
        // A sync, wherever it stands, takes no write to the device.
        assert!(of("fsync($f); fwrite($f, 4k);", "", "fwrite").is_some());
        for (program, parameter, operation) in [
            ("fopen(\"f\", \"O_WRONLY|O_SYNC\");", "", "fwrite"),
            ("fopen(\"f\", $how);", "O_WRONLY|O_DSYNC", "fwrite"),
            ("dwrite(\"f\", 4k);", "", "dwrite"),
            ("fread($f, 4k);", "", "fread"),
            ("", "", "fwrite"),
        ] {
            assert_eq!(of(program, parameter, operation), None, "{program}");
        }
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
