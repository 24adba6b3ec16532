//! Reads the numbers of answers of several ranks, mixes, sizes and failures back from every output, and compares them with
//! those of the samples.

use proptest::prelude::*;
use report::{Report, ReportOptions, ScreenOptions, With, WrittenFiles, answer_cells, build};
use samples::{Facts, Run, Sample, Site, SiteKind};

/// A number as a text has it: `1,420`, with a prefix `22.9 M`.
fn number(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok()
}

/// All numbers with one of these units behind them, times its factor.
fn with_units(text: &str, units: &[(&str, f64)]) -> Vec<f64> {
    let words: Vec<&str> = text.split([' ', '\n']).filter(|word| !word.is_empty()).collect();
    let unit = |word: &str| {
        let word = word.trim_end_matches([',', ';', '.', ':', '?']);
        units.iter().find(|(name, _)| *name == word).map(|(_, factor)| *factor)
    };
    words.windows(2).filter_map(|pair| Some(number(pair[0])? * unit(pair[1])?)).collect()
}

fn times(text: &str) -> Vec<f64> {
    with_units(text, &[("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)])
}

fn bytes(text: &str) -> Vec<f64> {
    with_units(text, &[("B/s", 1.0), ("KiB/s", 1024.0), ("MiB/s", 1048576.0), ("GiB/s", 1073741824.0)])
}

/// Whether one of the numbers is this one, rounded to three digits.
fn has(found: &[f64], wanted: f64) -> bool {
    found.iter().any(|found| (found - wanted).abs() <= 5.001e-3 * wanted)
}

/// Whether it is this number, which a document has with seven digits.
fn same(found: Option<f64>, wanted: f64) -> bool {
    found.is_some_and(|found| (found - wanted).abs() <= 5.01e-7 * wanted.abs())
}

/// The value of rank ⌈p·n⌉.
fn looked_up(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}

/// One operation of a plan: whether it reads, how long it takes in µs, its size in pages, whether it fails.
type Operation = (bool, u64, u64, bool);

/// Ranks that each run one block of operations, reads (site 0) and writes (site 1) in a block (site 2).
fn run(ranks: &[Vec<Operation>], idle_us: u64) -> Run {
    let site = |operation: &str, kind| Site {
        line: 1,
        labels: vec!["work".into()],
        operation: operation.into(),
        kind,
        ..Site::default()
    };
    let (mut samples, mut last) = (Vec::new(), 0);
    for (rank, operations) in (0..).zip(ranks) {
        let sample = |site: u32, start_us: u64, us: u64| Sample {
            site,
            rank,
            start_ns: start_us * 1_000,
            duration_ps: us * 1_000_000,
            batch: 1,
            ..Sample::default()
        };
        let mut now = 0;
        for (reads, us, pages, fails) in operations {
            let (bytes, errno) = if *fails { (0, 5) } else { (4096 * pages, 0) };
            samples.push(Sample { bytes, errno, ..sample(u32::from(!reads), now, *us) });
            now += us;
        }
        samples.push(sample(2, 0, now));
        last = last.max(now);
    }
    let facts = Facts {
        complete: true,
        elapsed_s: (last + idle_us) as f64 * 1e-6,
        ranks: ranks.len() as u32,
        report: [("samples".to_owned(), "work / fread".to_owned())].into(),
        ..Facts::default()
    };
    let sites = vec![
        site("fread", SiteKind::Operation),
        site("fwrite", SiteKind::Operation),
        site("time", SiteKind::Time),
    ];
    Run { facts, sites, samples }
}

/// The text of the key numbers of a page.
fn tiles(page: &str) -> String {
    let begin = page.find("<dl class=\"tiles\">").unwrap_or(page.len());
    let tiles = page[begin..].split("</dl>").next().unwrap_or_default();
    let mut inside = false;
    let text = tiles.chars().map(|c| {
        inside = c == '<' || (inside && c != '>');
        if inside || c == '>' { ' ' } else { c }
    });
    text.collect()
}

fn built(run: &Run) -> Report {
    let mut options = ReportOptions::default();
    options.fit.bootstrap = 0;
    build(run, &options)
}

/// What the samples say of one operation.
struct Wanted {
    name: &'static str,
    count: u64,
    per_second: f64,
    bytes_per_second: f64,
    p50: f64,
    p99: Option<f64>,
}

impl Wanted {
    fn of(run: &Run, site: u32, name: &'static str) -> Option<Wanted> {
        let of_site = |one: &&Sample| one.site == site;
        let done: Vec<&Sample> = run.samples.iter().filter(of_site).filter(|one| !one.failed()).collect();
        let durations: Vec<f64> = done.iter().map(|one| one.seconds()).collect();
        if done.is_empty() {
            return None;
        }
        // The block of each rank that did such an operation, all of which begin at 0.
        let took_part = |rank: u32| run.samples.iter().filter(of_site).any(|one| one.rank == rank);
        let blocks = run.samples.iter().filter(|one| one.site == 2 && took_part(one.rank));
        let wall = blocks.map(Sample::seconds).fold(0.0, f64::max);
        Some(Wanted {
            name,
            count: done.len() as u64,
            per_second: done.len() as f64 / wall,
            bytes_per_second: done.iter().map(|one| one.bytes as f64).sum::<f64>() / wall,
            p50: looked_up(&durations, 50),
            p99: (durations.len() >= 100).then(|| looked_up(&durations, 99)),
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_output_has_the_numbers_of_ranks_mixes_sizes_and_failures(
        (ranks, idle) in (any::<bool>(), any::<bool>(), any::<bool>()).prop_flat_map(|(mixed, sizes, failures)| {
            let reads = if mixed { any::<bool>().boxed() } else { Just(true).boxed() };
            let pages = if sizes { (1_u64..9).boxed() } else { Just(4_u64).boxed() };
            let fails = if failures { prop::bool::weighted(0.05).boxed() } else { Just(false).boxed() };
            let operations = prop::collection::vec((reads, 10_u64..3_000, pages, fails), 60..140);
            (prop::collection::vec(operations, 2..5), prop_oneof![Just(0_u64), 50_000_u64..400_000])
        })
    ) {
        let run = run(&ranks, idle);
        let wanted: Vec<Wanted> =
            [(0, "fread"), (1, "fwrite")].into_iter().filter_map(|(site, name)| Wanted::of(&run, site, name)).collect();
        let failed = run.samples.iter().filter(|one| one.failed()).count() as u64;
        let report = built(&run);
        let numbers = &report.numbers;
        let files = WrittenFiles { run: Some("run.parquet"), page: None };
        let screen = report.first_screen(files, ScreenOptions { width: 120, colour: false });
        let (in_short, cells) = (report.one_line(), answer_cells(numbers, &report.judgements));
        let json = report.json(With::default());
        let page = report.html();
        let tiles = &tiles(&page);

        prop_assert_eq!(numbers.parts.len(), wanted.len());
        prop_assert_eq!((numbers.errors, json["numbers"]["errors"].as_u64()), (failed, Some(failed)));
        prop_assert_eq!(numbers.operations, wanted.iter().map(|one| one.count).sum::<u64>());
        if let [first, second] = &wanted[..] {
            let sum = first.per_second + second.per_second;
            prop_assert!(same(numbers.operations_per_second, sum), "{:?} of {}", numbers.operations_per_second, sum);
            prop_assert!(same(json["numbers"]["operations_per_second"].as_f64(), sum));
            prop_assert!(has(&with_units(&in_short.replace("/s", " /s"), &[("/s", 1.0)]), sum), "{}", in_short);
        }
        for (at, one) in wanted.iter().enumerate() {
            let part = &json["numbers"]["parts"][at];
            prop_assert_eq!(part["operation"].as_str(), Some(one.name));
            prop_assert_eq!(part["count"].as_u64(), Some(one.count));
            prop_assert!(same(part["operations_per_second"].as_f64(), one.per_second), "{} {}", part, one.per_second);
            prop_assert!(same(part["bytes_per_second"].as_f64(), one.bytes_per_second), "{}", part);
            prop_assert!(same(part["quantiles_seconds"]["p50"].as_f64(), one.p50), "{}", part);
            prop_assert_eq!(part["quantiles_seconds"]["p99"].as_f64().is_some(), one.p99.is_some());
            let row = json["results"].as_array().and_then(|rows| {
                rows.iter().find(|row| row["operation"] == one.name && row["kind"] == "operation")
            });
            let of_row = |name: &str| row.and_then(|row| row[name].as_f64());
            prop_assert!(same(of_row("operations_per_second"), one.per_second), "{:?}", row);
            let row_p50 = row.and_then(|row| row["quantiles_seconds"]["p50"].as_f64());
            prop_assert!(same(row_p50, one.p50), "{:?}", row);
            for (name, text) in [("-q", in_short.as_str()), ("ls", cells[1].as_str())] {
                prop_assert!(has(&bytes(text), one.bytes_per_second), "{}: {} of {}", name, text, one.bytes_per_second);
            }
            for (name, text) in [("-q", in_short.as_str()), ("ls", cells[2].as_str())] {
                prop_assert!(has(&times(text), one.p50), "{}: {} of {}", name, text, one.p50);
            }
            if let Some(p99) = one.p99 {
                prop_assert!(same(part["quantiles_seconds"]["p99"].as_f64(), p99), "{}", part);
                for (name, text) in [("-q", in_short.as_str()), ("ls", cells[3].as_str())] {
                    prop_assert!(has(&times(text), p99), "{}: {} of {}", name, text, p99);
                }
            }
            if failed == 0 {
                prop_assert!(has(&bytes(&screen), one.bytes_per_second), "{} of {}", screen, one.bytes_per_second);
                prop_assert!(has(&times(&screen), one.p50), "{} of {}", screen, one.p50);
            }
            if wanted.len() == 1 {
                prop_assert!(has(&bytes(tiles), one.bytes_per_second), "{} of {}", tiles, one.bytes_per_second);
                prop_assert!(has(&times(tiles), one.p50), "{} of {}", tiles, one.p50);
            }
        }
    }
}
