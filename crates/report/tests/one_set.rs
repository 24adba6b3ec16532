//! Reads the numbers of an answer back from every output, and compares them with those of the samples.

use proptest::prelude::*;
use report::{Report, ReportOptions, ScreenOptions, WrittenFiles, answer_cells, build};
use samples::{Facts, Run, Sample, Site, SiteKind};

/// A number as a text has it: `1,420`, with a prefix `22.9 M`.
fn number(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok()
}

/// All numbers with one of these units behind them, times its factor.
fn with_units(text: &str, units: &[(&str, f64)]) -> Vec<f64> {
    let words: Vec<&str> = text.split([' ', '\n']).filter(|word| !word.is_empty()).collect();
    let unit = |word: &str| {
        let word = word.trim_end_matches([',', ';', '.', '?']);
        units.iter().find(|(name, _)| *name == word).map(|(_, factor)| *factor)
    };
    words.windows(2).filter_map(|pair| Some(number(pair[0])? * unit(pair[1])?)).collect()
}

fn times(text: &str) -> Vec<f64> {
    with_units(text, &[("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)])
}

fn bytes(text: &str) -> Vec<f64> {
    let rates = [("KiB/s", 1024.0), ("MiB/s", 1048576.0), ("GiB/s", 1073741824.0)];
    with_units(text, &rates)
}

/// Whether one of the numbers is this one, rounded to three digits.
fn has(found: &[f64], wanted: f64) -> bool {
    found.iter().any(|found| (found - wanted).abs() <= 5.001e-3 * wanted)
}

/// The value of rank ⌈p·n⌉.
fn looked_up(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}

/// Writes of one rank in passes of a block, each behind a pause and with time for itself; in microseconds.
fn run(passes: &[(u64, Vec<u64>, u64)]) -> Run {
    let site = |operation: &str, kind| Site {
        line: 1,
        labels: vec!["write".into()],
        operation: operation.into(),
        kind,
        ..Site::default()
    };
    let sample = |site: u32, start_us: u64, us: u64, bytes: u64| Sample {
        site,
        start_ns: start_us * 1_000,
        duration_ps: us * 1_000_000,
        bytes,
        batch: 1,
        ..Sample::default()
    };
    let (mut samples, mut now) = (Vec::new(), 0);
    for (pause, writes, rest) in passes {
        now += pause;
        let begin = now;
        for us in writes {
            samples.push(sample(0, now, *us, 65_536));
            now += us;
        }
        now += rest;
        samples.push(sample(1, begin, now - begin, 0));
    }
    let facts = Facts {
        complete: true,
        elapsed_s: now as f64 * 1e-6,
        ranks: 1,
        report: [("samples".to_owned(), "write / fwrite".to_owned())].into(),
        ..Facts::default()
    };
    Run { facts, sites: vec![site("fwrite", SiteKind::Operation), site("time", SiteKind::Time)], samples }
}

fn built(run: &Run) -> Report {
    let mut options = ReportOptions::default();
    options.fit.bootstrap = 0;
    build(run, &options)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_output_has_the_numbers_of_the_samples(
        passes in prop::collection::vec((0_u64..90_000, prop::collection::vec(10_u64..3_000, 40..80), 0_u64..40_000), 3..6)
    ) {
        let run = run(&passes);
        let of_site = |site: u32| run.samples.iter().filter(move |one| one.site == site);
        let durations: Vec<f64> = of_site(0).map(Sample::seconds).collect();
        let wall: f64 = of_site(1).map(Sample::seconds).sum();
        let (p50, p99) = (looked_up(&durations, 50), looked_up(&durations, 99));
        let rate = durations.len() as f64 / wall;

        let report = built(&run);
        let files = WrittenFiles { run: Some("run.parquet"), page: None };
        let screen = report.first_screen(files, ScreenOptions { width: 120, colour: false });
        let lines: Vec<&str> = screen.lines().collect();
        let row = lines.iter().find(|line| line.contains("write / fwrite 64 KiB")).expect("its row");
        let answer = lines.iter().find(|line| line.contains("writes/s")).expect("the answer");
        let in_short = report.one_line();
        let cells = answer_cells(&report.numbers, &report.judgements);
        let page = report.terminal_text();
        let page_row = page.lines().find(|line| line.trim_start().starts_with("write / fwrite ")).expect("its row");

        for (name, text) in [("screen", *answer), ("-q", in_short.as_str()), ("ls", cells[1].as_str())] {
            prop_assert!(has(&bytes(text), 65_536.0 * rate), "{}: {} of {}", name, text, 65_536.0 * rate);
        }
        for (name, text) in [("screen", *answer), ("-q", in_short.as_str())] {
            prop_assert!(has(&with_units(text, &[("writes/s", 1.0)]), rate), "{}: {} of {}", name, text, rate);
        }
        let in_list = format!("{} writes/s", cells[0]);
        prop_assert!(has(&with_units(&in_list, &[("writes/s", 1.0)]), rate), "ls: {} of {}", in_list, rate);
        for (name, text) in [("row", *row), ("table", page_row), ("-q", in_short.as_str())] {
            let found = times(text);
            prop_assert!(has(&found, p50) && has(&found, p99), "{}: {} of {} {}", name, text, p50, p99);
        }
        prop_assert!(has(&times(&cells[2]), p50) && has(&times(&cells[3]), p99), "{:?}", cells);
        prop_assert!(lines.iter().any(|line| has(&times(line), p50) && line.contains(" takes ")), "{}", screen);
        prop_assert_eq!(answer.contains("while writing"), wall < 0.9 * run.facts.elapsed_s);

        // The same to the last digit where outputs are numbers.
        let part = report.numbers.only().expect("one part");
        let summary = report.main.as_ref().and_then(|main| main.summary.clone()).expect("values");
        let found = part.quantiles_seconds.clone().expect("values");
        prop_assert_eq!((summary.median, summary.p99, summary.max), (found.p50, found.p99, found.max));
        let json = serde_json::to_value(&report.numbers).expect("plain data");
        prop_assert_eq!(json["parts"][0]["operations_per_second"].as_f64(), part.operations_per_second);
        prop_assert!((part.operations_per_second.expect("a rate") - rate).abs() <= 1e-9 * rate);
    }
}
