//! What all places of a run make together: curves, tables, causes, response times.

use report::figures::CauseStacks;
use report::{Report, ReportOptions, build};
use report::{Sizes, TimeShares};
use samples::{Cause, ClockFacts, RankSpan, Run, Sample, Site, SiteKind, TourFacts};

/// A run whose places are `(label, operation, batch, bytes, duration in ps of the n-th sample)`.
struct Maker(Run);

impl Maker {
    fn new() -> Maker {
        let mut run = Run::default();
        run.facts.name = "made".into();
        run.facts.ranks = 1;
        run.facts.complete = true;
        run.facts.clock = Some(ClockFacts { quantum_ps: 10_000, ..ClockFacts::default() });
        Maker(run)
    }

    /// A place of 200 samples that move `bytes` in batches of `batch` operations.
    fn place(
        mut self,
        label: &str,
        operation: &str,
        (batch, bytes): (u32, u64),
        of: impl Fn(u64) -> u64,
    ) -> Maker {
        let site = self.0.sites.len() as u32;
        self.0.sites.push(Site {
            line: 7 + site,
            column: 1,
            labels: vec![label.into()],
            operation: operation.into(),
            kind: SiteKind::Operation,
            group: String::new(),
            expects: None,
        });
        for n in 0..200 {
            self.0.samples.push(Sample {
                start_ns: u64::from(site) * 1_000_000_000 + n * 4_000_000,
                duration_ps: of(n),
                bytes: bytes * u64::from(batch),
                site,
                batch,
                ..Sample::default()
            });
        }
        self
    }

    /// The same line for all places, as a loop in a program has it.
    fn in_one_line(mut self) -> Maker {
        self.0.sites.iter_mut().for_each(|site| site.line = 7);
        self
    }

    fn shows(mut self, what: &str) -> Maker {
        self.0.facts.report.insert("show".into(), what.into());
        self
    }

    fn report(&self) -> Report {
        let mut options = ReportOptions::default();
        options.fit.bootstrap = 19;
        build(&self.0, &options)
    }
}

/// A few percent of noise that is the same every time.
fn noise(n: u64) -> f64 {
    1.0 + 0.03 * ((n * 7919 % 1009) as f64 / 1009.0 - 0.5)
}

fn table<'a>(report: &'a Report, title: &str) -> &'a report::Table {
    let titles: Vec<&str> = report.tables().map(|table| table.title.as_str()).collect();
    report.tables().find(|table| table.title == title).unwrap_or_else(|| panic!("no {title} in {titles:?}"))
}

fn transfers() -> Maker {
    let mut made = Maker::new();
    for path in ["near", "far"] {
        let (latency, rate) = if path == "near" { (100e-6, 400e6) } else { (900e-6, 12.5e6) };
        for bytes in [64u64, 1024, 16384, 262_144, 1_048_576] {
            let seconds = latency + bytes as f64 / rate;
            made = made.place(&format!("{path} {bytes}"), "fwrite", (1, bytes), |n| {
                (seconds * 1e12 * noise(n)) as u64
            });
        }
    }
    made.in_one_line()
}

#[test]
fn latency_and_bandwidth_of_two_paths_are_found_again() {
    let report = transfers().report();
    insta::assert_snapshot!(table(&report, "Latency and bandwidth").text());
    assert!(report.brief[0].contains("near / fwrite: 100 µs and 38"), "{:?}", report.brief);
    let figure = report.figures().find(|figure| figure.id.starts_with("transfer-")).unwrap();
    let numbers: &Sizes = figure.numbers.get().unwrap();
    assert_eq!(numbers.families.iter().map(|f| f.size.len()).collect::<Vec<_>>(), [5, 5]);
    let line = numbers.families[1].line.unwrap();
    assert!(line.latency_interval[0] < 900e-6 && 900e-6 < line.latency_interval[1], "{line:?}");
    assert!(line.per_byte_interval[0] < 1.0 / 12.5e6 && 1.0 / 12.5e6 < line.per_byte_interval[1], "{line:?}");
}

#[test]
fn working_sets_are_a_curve_with_the_caches_marked_and_a_table_of_moments() {
    let mut made = Maker::new();
    for (size, ns) in [("1KiB", 1), ("1MiB", 8), ("64MiB", 140)] {
        made = made.place(&format!("memory {size} single"), "chase", (1, 0), |n| {
            20_000 + ns * 1000 + n % 3 * 10_000
        });
    }
    let mut made = made.in_one_line();
    let machine = serde_json::json!({"processor": {"caches": [
        {"level": 1, "kind": "Data", "bytes": 49152}, {"level": 1, "kind": "Instruction", "bytes": 32768},
        {"level": 2, "kind": "Unified", "bytes": 1_048_576}
    ]}});
    made.0.facts.machine = serde_json::from_value(machine).unwrap();
    let report = made.report();
    insta::assert_snapshot!(format!(
        "{}\n{}",
        table(&report, "Mean and standard deviation by size").text(),
        table(&report, "memory single / chase").text()
    ));
    let figure = report.figures().find(|figure| figure.id == "by-size").unwrap();
    assert_eq!(figure.plot["layout"]["shapes"].as_array().unwrap().len(), 2, "two caches of data");
    assert!(report.figures().any(|figure| figure.id.starts_with("normal-memory-1kib")));
}

#[test]
fn batches_give_calls_a_second_and_single_calls_the_tail() {
    let mut made = Maker::new();
    for (index, operation) in ["getpid", "stat", "pipe"].iter().enumerate() {
        let ps = 100_000 * (index as u64 + 1);
        made = made.place("single", operation, (1, 0), |n| ps + 20_000 + n % 2 * 10_000);
    }
    for (index, operation) in ["getpid", "stat", "pipe"].iter().enumerate() {
        let ps = 100_000 * (index as u64 + 1);
        made = made.place("batch", operation, (1000, 0), |n| ps * 1000 + n);
    }
    insta::assert_snapshot!(table(&made.report(), "Calls a second").text());
}

#[test]
fn the_papers_table_of_operations_comes_first_where_a_program_asks_for_it() {
    let made = Maker::new()
        .place("index create", "delete", (1, 0), |_| 150_000_000)
        .place("index create", "write", (1, 65_536), |n| 300_000_000 + n * 1_000_000)
        .place("index create", "write", (1, 65_536), |_| 200_000_000)
        .place("indexing", "read", (1, 65_536), |_| 100_000_000)
        .shows("operations");
    let report = made.report();
    assert_eq!(report.chapters[0].id, "operations");
    insta::assert_snapshot!(table(&report, "Operations").text());
}

#[test]
fn a_view_that_there_is_not_is_told() {
    let report = transfers().shows("operatoins, sizes").report();
    assert!(
        report.warnings.iter().any(|warning| warning.text.contains("`operatoins`")),
        "{:?}",
        report.warnings
    );
}

#[test]
fn a_pause_under_rate_shows_in_the_response_time_and_not_in_the_service_time() {
    let mut made =
        Maker::new().place("steady", "stat", (1, 0), |n| if n == 50 { 500_000_000_000 } else { 10_000_000 });
    // A thousand a second: whatever was due during the pause begins late.
    for (n, sample) in made.0.samples.iter_mut().enumerate() {
        let due = n as u64 * 1_000_000;
        let free = if n > 50 { 550_000_000 + (n as u64 - 50) * 10_000 } else { 0 };
        sample.start_ns = due.max(free);
        sample.late_ns = sample.start_ns - due;
    }
    let report = made.report();
    insta::assert_snapshot!(table(&report, "Response time and service time").text());
    let caption = &report.figures().find(|figure| figure.id == "response-0").unwrap().caption;
    assert!(caption.contains("Of 200, 1 took more than") && caption.contains("but 150 from"), "{caption}");
}

#[test]
fn slow_operations_are_put_down_to_what_was_seen() {
    let mut made = Maker::new()
        .place("disk", "fread", (1, 4096), |n| if n % 50 == 0 { 900_000_000 } else { 50_000_000 });
    for sample in made.0.samples.iter_mut().filter(|sample| sample.duration_ps > 100_000_000) {
        sample.queue_ns = 800_000;
        sample.causes = Cause::Preempted as u16;
    }
    let report = made.report();
    let figure = report.figures().find(|figure| figure.id == "causes").unwrap();
    let numbers: &CauseStacks = figure.numbers.get().unwrap();
    assert_eq!(numbers.rows[0].shares, report.causes[0].shares);
    assert_eq!(numbers.rows[0].shares[0].0, "run_queue");
    assert!((numbers.rows[0].shares[0].1 - 800.0 / 850.0).abs() < 1e-9, "{numbers:?}");
}

#[test]
fn the_time_of_every_rank_adds_up_and_names_whom_the_others_wait_for() {
    let mut run = samples::example::parallel_write(4, 50, 1);
    run.facts.spans =
        (0..4).map(|rank| RankSpan { rank, begin_ns: 0, end_ns: 1_500_000_000, paused_ns: 0 }).collect();
    let mut options = ReportOptions::default();
    options.fit.bootstrap = 19;
    let report = build(&run, &options);
    let figure = report.figures().find(|figure| figure.id == "time-use").unwrap();
    let numbers: &TimeShares = figure.numbers.get().unwrap();
    for rank in 0..4 {
        let sum: f64 = numbers.parts.iter().map(|(_, seconds)| seconds[rank]).sum();
        assert!((sum - 1.5).abs() < 1e-9, "{numbers:?}");
    }
    assert_eq!(table(&report, "Time of every rank").rows.len(), 4);
}

#[test]
fn every_gate_of_a_run_has_its_chapter() {
    let mut run = samples::example::parallel_write(4, 60, 1);
    let mut second = run.sites[3].clone();
    second.labels = vec!["read".into()];
    second.line += 20;
    run.sites.push(second);
    let site = run.sites.len() as u32 - 1;
    let more: Vec<Sample> = run.of_site(3).map(|sample| Sample { site, ..*sample }).collect();
    run.samples.extend(more);
    let mut options = ReportOptions::default();
    options.fit.bootstrap = 19;
    let report = build(&run, &options);
    assert_eq!(table(&report, "All gates").rows.len(), 2);
    let folded: Vec<&str> = report
        .chapters
        .iter()
        .filter(|chapter| chapter.folded)
        .map(|chapter| chapter.title.as_str())
        .collect();
    assert_eq!(folded, ["read"]);
    let mut ids: Vec<&str> = report.figures().map(|figure| figure.id.as_str()).collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "every figure has a name of its own");
}

#[test]
fn a_tour_is_shown_as_rungs_and_a_curve() {
    let mut made = Maker::new().place("L1 cache", "l1", (1, 0), |n| 20_000 + n);
    let tour = serde_json::json!({
        "schema": "lastrank.tour/1",
        "rungs": [
            {"name": "L1 cache", "what": "one dependent load", "group": "memory", "batch": 100, "n": 200,
             "headline_ps": 1080.0, "raw": {"median_ps": 1090.0, "p99_ps": 1200.0, "p999_ps": null, "max_ps": 9000.0},
             "corrected": null, "causes": [["timer", 0.6], ["unattributed", 0.4]],
             "survival": [[1080.0, 0.99], [1090.0, 0.5], [1200.0, 0.01], [9000.0, 0.005]]},
            {"name": "Disk read", "what": "4 KiB past the page cache", "group": "disk", "batch": 1, "n": 200,
             "headline_ps": 5e7, "raw": {"median_ps": 5e7, "p99_ps": 9e7, "p999_ps": null, "max_ps": 4e9},
             "corrected": {"median_ps": 5e7, "p99_ps": 8e7, "p999_ps": null, "max_ps": 2e8},
             "causes": [["run_queue", 0.95], ["unattributed", 0.05]],
             "survival": [[4e7, 0.99], [5e7, 0.5], [9e7, 0.01], [4e9, 0.005]]}
        ],
        "curve": [{"bytes": 4096, "huge": false, "ps": 1080.0}, {"bytes": 65536, "huge": false, "ps": 3800.0},
                  {"bytes": 1048576, "huge": false, "ps": 13000.0}, {"bytes": 1048576, "huge": true, "ps": 12000.0}],
        "bandwidths": [{"level": "l1", "kind": "read", "threads": 1, "bytes": 24576, "bytes_per_second": 1.5e11}],
        "skipped": ["fork: no time was left"]
    });
    made.0.facts.tour = serde_json::from_value(tour).unwrap();
    let report = made.report();
    insta::assert_snapshot!(format!(
        "{}\n{}\n{}",
        report.brief.join("\n"),
        table(&report, "Rungs").text(),
        table(&report, "Bandwidth").text()
    ));
    for id in ["ranges", "working-set-curve", "tail-memory", "tail-disk", "causes"] {
        assert!(report.figures().any(|figure| figure.id == id), "{id}");
    }
    assert!(report.html().contains("From the first cache to the disk"));
}

#[test]
fn labels_that_read_alike_as_names_have_names_of_their_own() {
    let mut made = Maker::new();
    for path in ["/mnt/a", "/mnt-a"] {
        for size in ["1KiB", "4KiB", "16KiB"] {
            made = made.place(&format!("{path} {size}"), "fread", (1, 8), |n| 1_000_000 + n);
        }
    }
    let report = made.in_one_line().report();
    let mut ids: Vec<&str> = report.figures().map(|figure| figure.id.as_str()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn damaged_tours_make_no_trouble() {
    // One of another form is left out where the file is read.
    assert!(serde_json::from_str::<TourFacts>(r#"{"rungs": "none"}"#).is_err());
    for tour in [
        serde_json::json!({"rungs": [{"name": "x", "headline_ps": -1.0, "raw": {"median_ps": -5.0}}], "curve": [{}, {}, {}]}),
        serde_json::json!({"rungs": [{"survival": [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]}]}),
    ] {
        let mut made = Maker::new().place("a", "b", (1, 0), |n| n + 1);
        made.0.facts.tour = serde_json::from_value(tour).unwrap();
        assert!(made.report().html().contains("</html>"));
    }
}

#[test]
fn a_share_that_takes_longer_is_drawn_as_steps() {
    let report = transfers().report();
    let overlay = report.figures().find(|figure| figure.id.starts_with("overlay-")).expect("distributions");
    let lines = overlay.plot["data"].as_array().unwrap();
    assert!(lines.len() > 1 && lines.iter().all(|line| line["line"]["shape"] == "hv"), "{lines:?}");
}

#[test]
fn a_number_after_a_preposition_is_told_as_a_number() {
    let mut made = Maker::new();
    for workers in [1u64, 2, 4] {
        made = made
            .place(&format!("read by {workers}"), "stream", (1, 1 << 24), |n| 1_000_000 * workers + n % 7);
    }
    let report = made.in_one_line().report();
    let chapter = report.chapters.iter().find(|chapter| chapter.id == "by-number").expect("a chapter");
    assert_eq!(chapter.title, "By number");
    assert!(chapter.brief.starts_with("Medians by number: read / stream from "), "{}", chapter.brief);
}
