//! The answers that programs declare: what the first screen and the tables say of runs that are known.

use report::{Report, ReportOptions, ScreenOptions, WrittenFiles, build};
use samples::{ClockFacts, Overhead, PathFacts, Run, Sample, Site, SiteKind};

const FILES: WrittenFiles = WrittenFiles { run: Some("run.parquet"), page: Some("run.html") };

/// A run whose places follow one another, each of `n` timings of nearly the same duration.
struct KnownRun {
    run: Run,
    now_ns: u64,
}

/// What the timings of a place have in common.
#[derive(Clone, Copy)]
struct Kind {
    batch: u32,
    bytes: u64,
    n: u64,
}

const ONE: Kind = Kind { batch: 1, bytes: 0, n: 400 };

impl KnownRun {
    /// A program that declares this answer, timed by a clock that costs 20 ns.
    fn new(answer: &str) -> KnownRun {
        let mut run = Run::default();
        run.facts.name = "made".into();
        run.facts.ranks = 1;
        run.facts.complete = true;
        let overhead = Overhead { p50_ps: 20_000, ..Overhead::default() };
        run.facts.clock = Some(ClockFacts { quantum_ps: 1_000, overhead, ..ClockFacts::default() });
        run.facts.report.insert("answer".into(), answer.into());
        KnownRun { run, now_ns: 0 }
    }

    /// With what its `define report` says more.
    fn says(mut self, key: &str, text: &str) -> KnownRun {
        self.run.facts.report.insert(key.into(), text.into());
        self
    }

    /// Timings of `nanoseconds` each, a hundredth of them ten times as long. Places of one operation stand in one line.
    fn place(mut self, label: &str, operation: &str, kind: Kind, nanoseconds: f64) -> KnownRun {
        let site = self.run.sites.len() as u32;
        let line = 1 + operation.bytes().map(u32::from).sum::<u32>();
        self.run.sites.push(Site {
            line,
            labels: vec![label.into()],
            operation: operation.into(),
            kind: SiteKind::Operation,
            ..Site::default()
        });
        for n in 0..kind.n {
            // Noise of three percent that is the same every time.
            let noise = 1.0 + 0.03 * ((n * 7919 % 1009) as f64 / 1009.0 - 0.5);
            let slow = if n % 97 == 96 { 10.0 } else { 1.0 };
            let duration_ps = (nanoseconds * 1e3 * noise * slow * f64::from(kind.batch)) as u64;
            self.run.samples.push(Sample {
                start_ns: self.now_ns,
                duration_ps,
                bytes: kind.bytes * u64::from(kind.batch),
                site,
                batch: kind.batch,
                ..Sample::default()
            });
            self.now_ns += duration_ps.div_ceil(1_000);
        }
        self
    }

    /// What the last place did is also done by a second rank, which begins so much later.
    fn and_by_another(mut self, nanoseconds: u64) -> KnownRun {
        let site = self.run.sites.len() as u32 - 1;
        let others: Vec<Sample> =
            self.run.samples.iter().filter(|sample| sample.site == site).copied().collect();
        let later = |sample: Sample| Sample { rank: 1, start_ns: sample.start_ns + nanoseconds, ..sample };
        self.run.samples.extend(others.into_iter().map(later));
        self.run.facts.ranks = 2;
        self.now_ns += nanoseconds;
        self
    }

    fn report(&self) -> Report {
        let mut options = ReportOptions::default();
        options.fit.bootstrap = 19;
        build(&self.run, &options)
    }
}

/// The first screen at 80 columns, and all tables of the answer.
fn shown(report: &Report) -> String {
    let screen = report.first_screen(FILES, ScreenOptions { width: 80, colour: false });
    assert!(screen.lines().count() <= 24, "{screen}");
    let answer = report.answer.as_ref().expect("an answer");
    let tables: Vec<String> = answer.tables.iter().map(report::Table::text).collect();
    format!("{screen}\n{}", tables.join("\n"))
}

fn ladder() -> KnownRun {
    let batch = Kind { batch: 1000, ..ONE };
    let mut made = KnownRun::new("ladder").place("memory 0B single", "empty", ONE, 20.0);
    for (size, ns) in [("32KiB", 1.2), ("1MiB", 5.0), ("64MiB", 90.0)] {
        made = made.place(&format!("memory {size} batch"), "chase", batch, ns).place(
            &format!("memory {size} single"),
            "chase",
            ONE,
            20.0 + ns,
        );
    }
    for (size, ns, bytes) in [("0B", 180.0, 0), ("1MiB", 400.0, 8), ("64MiB", 450.0, 8)] {
        made = made.place(&format!("file {size}"), "fread", Kind { bytes, ..ONE }, ns);
    }
    for (by, factor) in [(1, 1.0), (2, 0.6)] {
        for (size, bytes) in [("32KiB", 1u64 << 15), ("1MiB", 1 << 20), ("64MiB", 1 << 26)] {
            let label = format!("consecutive read {size} by {by}");
            made = made.place(&label, "stream", Kind { bytes, n: 20, ..ONE }, factor * bytes as f64 / 10.0);
            // 40 µs of passes over 32 KiB have no time in common.
            made = if by == 2 { made.and_by_another(600_000) } else { made };
        }
    }
    for (operation, n, ns) in [("alloc", 1, 300_000.0), ("fwrite", 40, 250_000.0), ("fsync", 1, 9e6)] {
        made = made.place("create file 40MB", operation, Kind { bytes: 1_000_000, n, ..ONE }, ns);
    }
    let machine = serde_json::json!({"processor": {"caches": [
        {"level": 1, "kind": "Data", "bytes": 49152}, {"level": 2, "kind": "Unified", "bytes": 2_097_152}
    ]}});
    made.run.facts.machine = serde_json::from_value(machine).unwrap();
    made
}

#[test]
fn the_ladder_has_memory_and_file_in_one_table_and_bandwidth_by_number() {
    let report = ladder().report();
    insta::assert_snapshot!(shown(&report));
    let chapter = &report.chapters[0];
    assert_eq!((chapter.id.as_str(), chapter.figures.len()), ("answer", 3));
    assert!(report.chapters[1..].iter().all(|chapter| chapter.folded), "all else is folded below the answer");
}

#[test]
fn one_place_against_another_says_how_much_slower_for_small_and_large() {
    let mut made = KnownRun::new("sides");
    for (side, latency, per_byte) in [("A", 10_000.0, 1.0), ("B", 180_000.0, 1.0)] {
        for bytes in [64u64, 4096, 65_536, 1_048_576] {
            let ns = latency + per_byte * bytes as f64;
            let kind = Kind { bytes, ..ONE };
            made = made.place(&format!("{side} creating O_SYNC {bytes}"), "fwrite", kind, 1.5 * ns);
            made = made.place(&format!("{side} in place O_SYNC {bytes}"), "fwrite", kind, ns);
        }
        for (size, bytes) in [("4KiB", 4096), ("64KiB", 65_536), ("1MiB", 1 << 20)] {
            let kind = Kind { bytes, ..ONE };
            made = made.place(&format!("{side} random, cold {size}"), "fread", kind, latency + bytes as f64);
            made = made.place(&format!("{side} sequential, cold {size}"), "fread", kind, bytes as f64);
        }
    }
    // Reads of another size are no measure of order.
    made = made.place("A sequential, warm 4KiB", "fread", Kind { bytes: 4096, ..ONE }, 400.0);
    made = made.place("A random, warm 4KiB", "fread", Kind { bytes: 512, ..ONE }, 400.0);
    let trip = Kind { bytes: 128, ..ONE };
    made = made.place("network tcp 64", "net_pingpong", trip, 60_000.0);
    made = made.place("network connect", "net_pingpong", ONE, 90_000.0);
    let local = shown(&made.report());
    let words = local.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("60.0 µs; no directory here is on a network file system."), "{local}");
    made.run.facts.file_systems.push(PathFacts { path: "B".into(), remote: true, ..PathFacts::default() });
    insta::assert_snapshot!(shown(&made.report()));
}

#[test]
fn one_directory_alone_is_told_without_its_name() {
    let first = "synchronous write = in place O_SYNC 64; synchronous write = in place O_SYNC 1048576; \
                 random read, cold = random, cold 4KiB; warm = random, warm 4KiB";
    let mut made = KnownRun::new("sides").says("first", first).says("alone", "One directory.");
    for bytes in [64u64, 4096, 65_536, 1_048_576] {
        let ns = 10_000.0 + bytes as f64;
        let kind = Kind { bytes, ..ONE };
        made = made.place(&format!(". creating O_SYNC {bytes}"), "fwrite", kind, 1.5 * ns);
        made = made.place(&format!(". in place O_SYNC {bytes}"), "fwrite", kind, ns);
    }
    for (size, bytes) in [("4KiB", 4096), ("1MiB", 1 << 20)] {
        let kind = Kind { bytes, ..ONE };
        made = made.place(&format!(". random, cold {size}"), "fread", kind, 10_000.0 + bytes as f64);
        made = made.place(&format!(". sequential, cold {size}"), "fread", kind, bytes as f64);
    }
    let shown = shown(&made.report());
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "A synchronous write takes 10.1 µs for 64 B, 1.06 ms for 1 MiB (867 MiB/s).",
        "Sequential reads move 3.44 times (4 KiB), 1.01 times (1 MiB) the bytes per second of random reads, cold.",
        "One directory.",
        "operation median MiB/s p99",
        "random read, cold, 4 KiB 14.1 µs",
        "more rows: -v",
    ] {
        assert!(words.contains(said), "{said}\n{shown}");
    }
}

fn calls() -> KnownRun {
    let mut made = KnownRun::new("calls").says("first", "getpid; none; create_delete");
    for (call, ns) in [("getpid", 30.0), ("read_null", 100.0), ("create_delete", 9_000.0)] {
        made = made.place("batch", call, Kind { batch: 500, ..ONE }, ns);
    }
    for (call, ns) in [("getpid", 35.0), ("read_null", 130.0), ("create_delete", 9_100.0)] {
        made = made.place("single", call, ONE, ns);
    }
    made
}

#[test]
fn calls_stand_in_one_row_single_and_in_batches_and_the_clock_is_told() {
    insta::assert_snapshot!(shown(&calls().report()));
}

#[test]
fn rows_stand_in_sections_and_a_depth_is_told_by_rate_and_latency() {
    let block = Kind { bytes: 4096, ..ONE };
    let mut made = KnownRun::new("rows")
        .place("read: cold", "fread", block, 90_000.0)
        .place("durable write: O_DSYNC", "fwrite", block, 2_000_000.0)
        .place("durable write: O_SYNC", "fwrite", block, 4_000_000.0)
        .place("read: in memory", "fread", block, 900.0);
    for (depth, ns) in [(1, 90_000.0), (4, 100_000.0), (16, 300_000.0)] {
        made = made.place(&format!("io_uring depth {depth}"), "fread", block, ns);
    }
    insta::assert_snapshot!(shown(&made.report()));
}

/// Durable writes of two kinds, reads of memory, and a curve by depth.
fn disk(fewest: u64) -> KnownRun {
    let block = Kind { bytes: 4096, ..ONE };
    let mut made = KnownRun::new("rows")
        .says("say", "A durable write takes {durable write}; a read takes [{read: direct | read: cold} from {disk}], [{read: in memory} from memory].")
        .says("first", "durable write; read: direct | read: cold; read: in memory; depth")
        .place("read: in memory", "fread", block, 900.0)
        .place("durable write: O_SYNC", "fwrite", block, 4_000_000.0)
        .place("durable write: O_DSYNC", "fwrite", Kind { n: fewest, ..block }, 2_000_000.0)
        .place("read: cold", "fread", Kind { n: fewest, ..block }, 90_000.0)
        .place("prepare", "fwrite", block, 200_000.0);
    for (depth, ns) in [(1, 90_000.0), (4, 60_000.0), (16, 300_000.0)] {
        made = made.place(&format!("io_uring depth {depth}"), "fread", block, ns);
    }
    made
}

#[test]
fn rows_that_a_program_asks_for_stand_alone_and_its_sentences_leave_out_what_is_missing() {
    let report = disk(400).report();
    insta::assert_snapshot!(shown(&report));
    for columns in [60, 120] {
        let screen = report.first_screen(FILES, ScreenOptions { width: columns, colour: false });
        assert!(screen.lines().count() <= 24 && screen.contains("\n  2 more rows: -v\n"), "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= columns), "{screen}");
    }
    // Too few timings for a row: neither the range nor the disk is named.
    let few = shown(&disk(5).report());
    let said = "A durable write takes 4.00 ms (O_SYNC); a read takes 900 ns from memory. Best read rate:";
    assert!(few.split_whitespace().collect::<Vec<_>>().join(" ").contains(said), "{few}");
    let mut in_memory = disk(400);
    let on = PathFacts { path: ".".into(), in_memory: true, ..PathFacts::default() };
    in_memory.run.facts.file_systems.push(on);
    let shown = shown(&in_memory.report());
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("a read takes 900 ns from memory.") && !words.contains("from the disk"),
        "{shown}"
    );
}

#[test]
fn numbers_of_declared_sentences_are_cells_of_the_table() {
    let screens = [
        disk(400),
        ladder().says("columns", "load = chase; file read = fread"),
        calls().says("say", "[nothing {nothing}], [getpid {getpid}], [creation {create_delete}] (means)."),
    ];
    for made in screens {
        let report = made.report();
        let screen = report.first_screen(FILES, ScreenOptions { width: 120, colour: false });
        let table = screen.split_once("\n\n").expect("a table").1;
        let answer = report.answer.as_ref().expect("an answer");
        let words: Vec<&str> = answer.sentences[0].split([' ', ',', ';']).collect();
        let times = words.windows(2).filter(|two| matches!(two[1].trim_end_matches('.'), "ns" | "µs" | "ms"));
        let times: Vec<String> =
            times.map(|two| format!("{} {}", two[0], two[1].trim_end_matches('.'))).collect();
        assert!(times.len() > 1 && times.iter().all(|time| table.contains(time)), "{times:?}\n{screen}");
    }
}

#[test]
fn phases_have_all_their_operations_and_what_they_moved() {
    let mut made = KnownRun::new("phases");
    for (phase, operation, bytes, ns) in [
        ("create", "mkdir", 0, 30_000.0),
        ("create", "write", 16_384, 60_000.0),
        ("delete", "delete", 0, 20_000.0),
    ] {
        made = made.place(phase, operation, Kind { bytes, ..ONE }, ns);
    }
    // Blocks around the operations of each phase.
    for phase in ["create", "delete"] {
        let of: Vec<u32> = (0..made.run.sites.len() as u32)
            .filter(|site| made.run.sites[*site as usize].labels == [phase])
            .collect();
        let inside = || made.run.samples.iter().filter(|sample| of.contains(&sample.site));
        let begin = inside().map(|sample| sample.start_ns).min().unwrap();
        let end = inside().map(|sample| sample.start_ns + sample.duration_ps / 1_000).max().unwrap();
        let site = made.run.sites.len() as u32;
        let (labels, kind) = (vec![phase.to_owned()], SiteKind::Time);
        made.run.sites.push(Site { line: 900, labels, operation: "time".into(), kind, ..Site::default() });
        let duration_ps = 1_000 * (end - begin);
        made.run.samples.push(Sample { start_ns: begin, duration_ps, site, batch: 1, ..Sample::default() });
    }
    insta::assert_snapshot!(shown(&made.report()));
}

#[test]
fn each_two_of_a_kind_stand_in_a_matrix_and_one_node_says_what_cannot_be_shown() {
    let batch = Kind { batch: 1000, ..ONE };
    let cores = [(0, 1, 45.0), (0, 2, 90.0), (1, 2, 120.0)];
    let made = cores.iter().fold(KnownRun::new("matrix"), |made, (from, to, ns)| {
        made.place(&format!("processor {from} to {to}"), "core_pingpong", batch, *ns)
    });
    let nodes = [(0, 0, 90.0), (0, 1, 150.0), (1, 0, 153.0), (1, 1, 91.0)];
    let of_nodes = nodes.iter().fold(KnownRun::new("matrix"), |made, (from, to, ns)| {
        made.place(&format!("node {from} to {to}"), "numa_chase", batch, *ns)
    });
    let one = KnownRun::new("matrix").place("node 0 to 0", "numa_chase", batch, 90.0);
    let all = [made, of_nodes, one].map(|made| shown(&made.report()));
    insta::assert_snapshot!(all.join("\n---\n"));
}

#[test]
fn an_operation_under_load_stands_beside_what_others_move() {
    let (batch, pass) = (Kind { batch: 1000, ..ONE }, Kind { bytes: 1 << 20, ..ONE });
    let made = KnownRun::new("load")
        .place("alone", "chase", batch, 90.0)
        .place("others pause 1 ms", "chase", batch, 110.0)
        .place("others pause 1 ms", "stream", pass, 200_000.0)
        .place("others read on", "chase", batch, 180.0)
        .place("others read on", "stream", pass, 60_000.0);
    insta::assert_snapshot!(shown(&made.report()));
}

#[test]
fn an_answer_that_is_unknown_or_impossible_is_a_warning_and_the_usual_screen() {
    let said = |made: KnownRun| {
        let report = made.place("x", "stat", ONE, 900.0).report();
        assert!(report.answer.is_none());
        let found = report.warnings.iter().find(|warning| warning.code == "no-answer").expect("a warning");
        found.text.clone()
    };
    assert!(
        said(KnownRun::new("lader")).contains("there are ladder, sides, calls, rows, phases, matrix, load")
    );
    assert!(said(KnownRun::new("ladder")).contains("needs operations that this run does not have"));
}

#[test]
fn who_names_a_place_wants_that_and_not_the_answer() {
    let made = ladder();
    let mut options = ReportOptions { site: Some("chase".into()), ..ReportOptions::default() };
    options.fit.bootstrap = 19;
    let report = build(&made.run, &options);
    assert!(report.answer.is_none() && report.chapters.iter().all(|chapter| chapter.id != "answer"));
    assert!(report.main.is_some());
}
