//! Tests that the shipped experiments compile without a diagnostic and describe themselves.

mod common;

use common::{plan_with, printed};
use ppl::plan::Settings;
use ppl::{Source, compile};

#[test]
fn every_shipped_experiment_compiles_cleanly_and_describes_itself() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../lastrank/experiments");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the experiments").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "ppl") {
            continue;
        }
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a plain name");
        let text = std::fs::read_to_string(&path).expect("text");
        assert!(text.starts_with(&format!("# {name}: ")), "{name} does not open with what it is");
        let mut source = Source::new(name, &text);
        match compile(&mut source, &Settings::default(), false, None) {
            Ok((_, remarks)) => assert!(remarks.is_empty(), "{name}: {remarks:#?}"),
            Err(errors) => panic!("{name}: {errors:#?}"),
        }
        count += 1;
    }
    assert!(count >= 5);
}

/// The bytes that a line of a trace such as `fread(, 4096, 8192)` reads.
fn read_bytes(line: &str) -> Option<std::ops::Range<u64>> {
    let mut numbers =
        line.strip_prefix("fread(")?.trim_end_matches(')').rsplit(", ").map(|word| word.parse().ok());
    let (at, bytes): (u64, u64) = (numbers.next()??, numbers.next()??);
    Some(at..at + bytes)
}

/// What an experiment does with these parameters, line by line.
fn trace_of(text: &str, parameters: &[(&str, &str)]) -> Vec<String> {
    let parameters = parameters.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let settings = Settings { parameters, ..Settings::default() };
    let plan = common::plan_with(text, &settings).expect("compiles").0;
    common::execute(&plan).trace
}

#[test]
fn a_cold_read_is_not_of_what_an_earlier_one_brought_into_memory() {
    let shipped = [
        ("local_remote", include_str!("../../lastrank/experiments/local_remote.ppl"), 8),
        ("disk", include_str!("../../lastrank/experiments/disk.ppl"), 1),
    ];
    for (name, text, fewest) in shipped {
        let trace = trace_of(text, &[("size", "2MiB"), ("reads", "2000")]);
        // What is read between an eviction and the next; before the first, files are in memory on purpose.
        let evictions = trace.split(|line| line.starts_with("fadvise(") && line.contains("dontneed")).skip(1);
        let mut counted = 0;
        for lines in evictions {
            let mut places: Vec<_> = lines.iter().filter_map(|line| read_bytes(line)).collect();
            places.sort_by_key(|place| place.start);
            counted += usize::from(places.len() > 1);
            for pair in places.windows(2) {
                assert!(pair[0].end <= pair[1].start, "{name} reads twice: {pair:?}");
            }
        }
        assert!(counted >= fewest, "{name}: {counted}");
    }
}

#[test]
fn a_striped_file_is_made_where_the_stripes_are_chosen_for_reads_as_for_writes() {
    let text = include_str!("../../lastrank/experiments/parallel_write.ppl");
    for access in ["write", "read"] {
        let trace = trace_of(text, &[("access", access), ("striped", "yes"), ("repeat", "2"), ("dir", "d")]);
        let first = |what: &str| trace.iter().position(|line| line.starts_with(what));
        let made = first("fopen(d/lastrank-striped-$$run/0.dat").unwrap_or_else(|| panic!("{trace:#?}"));
        assert!(
            first("stripe(d/lastrank-striped-$$run, 16, 1048576").is_some_and(|at| at < made),
            "{trace:#?}"
        );
        assert_eq!(trace.last().map(String::as_str), Some("rmdir(d/lastrank-striped-$$run)"), "{access}");
    }
}

#[test]
fn the_stripes_of_one_target_are_written_by_one_rank() {
    let text = include_str!("../../lastrank/experiments/parallel_write.ppl");
    let parameters = [("size", "8MiB"), ("targets", "4"), ("striped", "targets"), ("repeat", "1")];
    let trace = trace_of(text, &parameters);
    let writes = trace.iter().filter(|line| line.starts_with("fwrite("));
    let places: Vec<u64> =
        writes.filter_map(|line| line.trim_end_matches(')').rsplit(", ").next()?.parse().ok()).collect();
    // Stripes of 1 MiB on four targets: the first two of rank 0, then those of the others, as far as they have the file.
    assert_eq!(places.get(..2), Some(&[0, 4 << 20][..]), "{trace:#?}");
    // Reads are of ranks, whatever starts writes.
    let read = [("by", "async"), ("access", "read"), ("size", "8MiB"), ("targets", "4"), ("repeat", "1")];
    let trace = trace_of(text, &read);
    assert_eq!(trace.iter().filter(|line| line.starts_with("fread(")).count(), 4, "{trace:#?}");
}

#[test]
fn the_name_of_a_run_is_text_that_stands_for_itself_where_nothing_runs() {
    assert_eq!(printed("print(\"x-$$run-$$rank\", $$run); delete(\"x-$$run\");"), ["[0] x-$$run-0 $$run"]);
    // It is the same on all ranks, so those that ask for it decide alike.
    let settings = Settings { ranks: Some(2), ..Settings::default() };
    let found = plan_with("if $$run == \"x\" barrier;", &settings).unwrap().1;
    assert!(found.is_empty(), "{found:?}");
}
