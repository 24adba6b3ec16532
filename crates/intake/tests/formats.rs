//! Each format has an example file and its right values: made by the tool itself where that is said, else in its documented
//! layout.

use std::path::Path;

use intake::{Error as ReadError, Unit, Wanted, read};

/// What is right.
enum Right {
    /// Series, unit, values of rows, the first value and the last.
    Values(&'static str, Option<Unit>, [u64; 2], [f64; 2]),
    /// Series, unit, values and bins that hold some, and bounds of the median, p90, p99 and the largest value.
    Bins(&'static str, Option<Unit>, [u64; 2], [[f64; 2]; 4]),
    /// An error, and words of its way out.
    Error(&'static str),
}

use Right::{Bins, Error, Values};

const NS: Option<Unit> = Some(Unit::Ns);
const US: Option<Unit> = Some(Unit::Us);
const MS: Option<Unit> = Some(Unit::Ms);
const S: Option<Unit> = Some(Unit::S);

/// File, series, format, what is right. By the tools themselves: hyperfine 1.15, pytest-benchmark, Google Benchmark 1.7, fio
/// 3.33, hey 0.1.4, ApacheBench 2.4, wrk 4.1, vegeta 12.13, iputils ping, iperf 3.12, pgbench 15, sysbench 1.0, Redis 7.
const TABLE: &[(&str, Option<&str>, &str, Right)] = &[
    (
        "hyperfine.json",
        Some("true"),
        "hyperfine JSON",
        Values("true", S, [12, 24], [0.002802357, 0.000634873]),
    ),
    ("hyperfine.json", None, "hyperfine JSON", Error("choose one with --column: `true`, `ls /`")),
    ("hyperfine.csv", None, "hyperfine CSV", Error("`hyperfine --export-json FILE` keeps")),
    (
        "pytest-benchmark.json",
        Some("test_b.py::test_sort"),
        "pytest-benchmark JSON",
        Values("test_b.py::test_sort", S, [8, 18], [2.9249931685626507e-06, 1.0920048225671053e-06]),
    ),
    (
        "google-benchmark.json",
        Some("BM_Sum"),
        "Google Benchmark JSON",
        Values("BM_Sum", US, [4, 8], [0.033136050165919535, 0.024964864570971777]),
    ),
    (
        "jmh.json",
        Some("org.example.Copy.small 64 avgt"),
        "JMH JSON",
        Values("org.example.Copy.small 64 avgt", US, [4, 8], [49.0, 50.0]),
    ),
    ("criterion-sample.json", None, "Criterion sample.json", Values("", NS, [3, 3], [100.0, 110.0])),
    ("criterion-sample.json", Some("mean"), "Criterion sample.json", Error("no `mean`: leave --column out")),
    ("criterion-estimates.json", None, "Criterion estimates.json", Error("sample.json beside it")),
    ("benchmarkdotnet.json", None, "BenchmarkDotNet JSON", Values("Copy.Small", NS, [3, 3], [105.5, 104.0])),
    ("fio.json", None, "fio JSON", Error("`fio --write_lat_log=NAME` writes the latency of each operation")),
    ("mix_lat.1.log", Some("write"), "fio latency log", Values("write", NS, [16, 30], [7702.0, 2053.0])),
    ("mix_lat.1.log", None, "fio latency log", Error("choose one with --column: `read`, `write`")),
    ("mix_bw.1.log", None, "fio bandwidth or IOPS log", Error("rates, not durations")),
    ("k6.csv", None, "k6 CSV", Values("http_req_duration", MS, [2, 9], [21.5, 23.125])),
    ("k6.csv", Some("http_req_waiting"), "k6 CSV", Values("http_req_waiting", MS, [2, 9], [20.25, 22.0])),
    ("k6.csv", Some("http_reqs"), "k6 CSV", Values("http_reqs", None, [2, 9], [1.0, 1.0])),
    ("k6.json", None, "k6 JSON", Values("http_req_duration", MS, [2, 4], [21.5, 23.125])),
    ("k6-summary.json", None, "k6 summary", Error("`k6 run --out csv=FILE` keeps each request")),
    ("oha.csv", None, "oha CSV", Values("request-duration", S, [2, 3], [0.0032, 0.0041])),
    ("oha.json", None, "oha JSON", Error("`oha --output-format csv` keeps each request")),
    ("hey.csv", None, "hey CSV", Values("response-time", S, [16, 20], [0.0014, 0.0006])),
    ("hey.txt", None, "summary of hey", Error("`hey -o csv` keeps each request")),
    ("vegeta.csv", None, "vegeta CSV", Values("", NS, [12, 15], [1849647.0, 1556106.0])),
    ("vegeta.json", None, "vegeta JSON", Values("", NS, [12, 15], [1849647.0, 1556106.0])),
    ("vegeta-report.json", None, "vegeta report", Error("`vegeta encode --to csv`")),
    ("wrk.txt", None, "wrk output", Error("`hey -o csv` do")),
    ("jmeter.jtl", Some("login"), "JMeter JTL", Values("login", MS, [2, 4], [120.0, 135.0])),
    ("jmeter.jtl", None, "JMeter JTL", Error("choose one with --column: `login`, `home`")),
    ("ghz.json", None, "ghz JSON", Values("", NS, [2, 3], [3000000.0, 4000000.0])),
    ("ab.tsv", None, "ApacheBench times", Values("ttime", MS, [20, 20], [0.0, 5.0])),
    ("ab.csv", None, "ApacheBench quantiles", Error("`ab -g FILE` keeps each request")),
    ("locust.csv", None, "locust statistics", Error("`events.request`")),
    ("gatling.log", Some("home"), "Gatling log", Values("home", MS, [2, 4], [45.0, 50.0])),
    ("ping.txt", None, "ping output", Values("", MS, [12, 12], [0.088, 0.044])),
    (
        "iperf3.json",
        None,
        "iperf3 JSON",
        Values("", None, [12, 12], [16572482840.797873, 12286255090.399069]),
    ),
    ("pgbench_log.26409", None, "pgbench log", Values("", US, [16, 16], [19646.0, 1362.0])),
    ("pgbench.txt", None, "pgbench output", Error("`pgbench -l` writes each transaction")),
    ("sysbench.txt", None, "sysbench output", Error("keeps no single operation")),
    ("redis.csv", None, "redis-benchmark CSV", Error("keeps no single request")),
    ("ior.txt", Some("write"), "IOR output", Values("write", S, [3, 6], [0.000833, 0.000870])),
    ("ior.txt", None, "IOR output", Error("choose one with --column: `write`, `read`")),
    ("mdtest.txt", None, "mdtest output", Error("`lastrank mdtest` with the same options")),
    ("ping-fast.txt", None, "ping output", Values("", MS, [12, 12], [0.064, 0.027])),
];

/// By the tools themselves: perf 6.1, sysstat 12.6, nfs-utils 2.6, asv 0.6; the others in their documented layout.
const MORE: &[(&str, Option<&str>, &str, Right)] = &[
    ("perf-trace.txt", Some("mmap"), "perf trace", Values("mmap", MS, [2, 11], [0.023, 0.014])),
    ("perf-trace-summary.txt", None, "perf trace summary", Error("`perf trace` without -s")),
    ("perf-stat.txt", None, "perf stat", Error("counts of events")),
    ("perf-stat.csv", None, "perf stat", Error("counts of events")),
    ("perf-script.txt", None, "perf script of system calls", Values("read", NS, [5, 5], [5000.0, 2000.0])),
    (
        "perf-script-raw.txt",
        Some("NR 9"),
        "perf script of system calls",
        Values("NR 9", NS, [2, 6], [13500.0, 6890.0]),
    ),
    ("dxt.txt", Some("POSIX write"), "Darshan DXT", Values("POSIX write", S, [4, 7], [0.0003, 0.0012])),
    ("dxt.txt", Some("MPIIO write"), "Darshan DXT", Values("MPIIO write", S, [1, 7], [0.0005, 0.0005])),
    ("iostat.txt", Some("vda w_await"), "iostat", Values("vda w_await", MS, [3, 10], [0.14, 0.07])),
    ("iostat.json", Some("vda r_await"), "iostat JSON", Values("vda r_await", MS, [3, 10], [0.26, 0.2])),
    (
        "nfsiostat.txt",
        Some("/mnt/data read RTT"),
        "nfsiostat",
        Values("/mnt/data read RTT", MS, [3, 8], [2.05, 2.25]),
    ),
    (
        "nfsiostat.txt",
        Some("/mnt/data write exe"),
        "nfsiostat",
        Values("/mnt/data write exe", MS, [1, 8], [2.6, 2.6]),
    ),
    ("biosnoop.txt", None, "biosnoop", Values("LAT(ms)", MS, [3, 3], [0.31, 2.64])),
    ("jmeter.xml", Some("login & go"), "JMeter XML", Values("login & go", MS, [2, 4], [120.0, 135.0])),
    ("jmeter.xml", None, "JMeter XML", Error("choose one with --column: `login & go`, `query`")),
    (
        "asv.json",
        Some("b.Suite.time_sum(100, 'a')"),
        "asv JSON",
        Values("b.Suite.time_sum(100, 'a')", S, [5, 25], [7.950947107650986e-07, 1.4332859511852788e-06]),
    ),
    (
        "prometheus-range.json",
        Some("probe_duration_seconds{instance=\"a:9115\"}"),
        "Prometheus range query",
        Values("probe_duration_seconds{instance=\"a:9115\"}", S, [3, 4], [0.0125, 0.011]),
    ),
    ("elbencho.csv", None, "elbencho CSV", Error("`elbencho --lathisto --jsonfile FILE`")),
    ("elbencho.json", None, "elbencho JSON", Error("`elbencho --lathisto --jsonfile FILE`")),
    ("elbencho-operations.json", None, "elbencho log of operations", Error("whole milliseconds")),
];

/// Bins, and bounds from the values that were recorded: by HdrHistogram of Python, by fio 3.33 (whose own percentiles lie
/// within), by the clients of Prometheus and OpenTelemetry for Python; of bpftrace, bcc and elbencho as they document it.
const BINNED: &[(&str, Option<&str>, &str, Right)] = &[
    (
        "wrk2.hgrm",
        None,
        "HdrHistogram percentiles",
        Bins("", None, [100, 3], [[0.921, 1.512], [1.512, 4.812], [1.512, 4.812], [1.512, 4.812]]),
    ),
    (
        "wrk2.txt",
        None,
        "HdrHistogram percentiles",
        Bins("", MS, [100, 3], [[0.921, 1.512], [1.512, 4.815], [1.512, 4.815], [1.512, 4.815]]),
    ),
    (
        "hdr.hgrm",
        None,
        "HdrHistogram percentiles",
        Bins("", None, [500, 21], [[949.0, 1286.0], [2647.0, 3027.0], [6319.0, 7379.0], [10007.0, 10327.0]]),
    ),
    (
        "hdr.hgrm.csv",
        None,
        "HdrHistogram percentiles",
        Bins("", None, [500, 21], [[0.949, 1.286], [2.647, 3.027], [6.319, 7.379], [10.007, 10.327]]),
    ),
    (
        "hdr.hlog",
        None,
        "HdrHistogram log",
        Bins(
            "",
            None,
            [350, 330],
            [[1154.0, 1154.0], [3242.0, 3243.0], [7920.0, 7923.0], [10320.0, 10327.0]],
        ),
    ),
    (
        "fio-plus.json",
        Some("mix read clat"),
        "fio JSON+",
        Bins(
            "mix read clat",
            NS,
            [60, 53],
            [[75776.0, 76799.0], [1556480.0, 1572863.0], [4915200.0, 4980735.0], [4915200.0, 4980735.0]],
        ),
    ),
    (
        "fio-plus.json",
        None,
        "fio JSON+",
        Error("choose one with --column: `mix read clat`, `mix write clat`"),
    ),
    (
        "mix_clat_hist.1.log",
        Some("write"),
        "fio histogram log",
        Bins(
            "write",
            NS,
            [43, 11],
            [[6144.0, 7167.0], [10240.0, 12287.0], [14336.0, 16383.0], [14336.0, 16383.0]],
        ),
    ),
    (
        "bpftrace.txt",
        Some("@read_us[sda]"),
        "bpftrace histogram",
        Bins("@read_us[sda]", US, [50, 6], [[2.0, 4.0], [512.0, 1024.0], [1024.0, 2048.0], [1024.0, 2048.0]]),
    ),
    (
        "bpftrace.txt",
        Some("@size"),
        "bpftrace histogram",
        Bins("@size", None, [25, 3], [[0.0, 100.0], [100.0, INF], [100.0, INF], [100.0, INF]]),
    ),
    (
        "biolatency.txt",
        Some("disk = b'sda'"),
        "bcc histogram",
        Bins(
            "disk = b'sda'",
            US,
            [40, 4],
            [[128.0, 256.0], [128.0, 256.0], [1024.0, 2048.0], [1024.0, 2048.0]],
        ),
    ),
    (
        "prometheus.txt",
        Some("read_duration_seconds{device=\"nvme0\"}"),
        "Prometheus text",
        Bins(
            "read_duration_seconds{device=\"nvme0\"}",
            S,
            [200, 5],
            [[0.001, 0.002], [0.005, 0.01], [0.01, 0.05], [0.01, 0.05]],
        ),
    ),
    (
        "otlp.json",
        Some("read{device=\"nvme0\"}"),
        "OTLP JSON",
        Bins("read{device=\"nvme0\"}", MS, [120, 5], OTLP_READ),
    ),
    (
        "otlp-delta.json",
        Some("read{device=\"nvme0\"}"),
        "OTLP JSON",
        Bins("read{device=\"nvme0\"}", MS, [120, 7], OTLP_READ),
    ),
    (
        "elbencho-histogram.json",
        Some("WRITE IO"),
        "elbencho JSON with histograms",
        Bins("WRITE IO", US, [100, 4], [[22.0, 26.0], [26.0, 32.0], [362.0, 430.0], [362.0, 430.0]]),
    ),
    (
        "elbencho-histogram.json",
        Some("READ IO"),
        "elbencho JSON with histograms",
        Bins(
            "READ IO",
            US,
            [10, 2],
            [[4.0, 5.0], [268435456.0, INF], [268435456.0, INF], [268435456.0, INF]],
        ),
    ),
];

const INF: f64 = f64::INFINITY;

const OTLP_READ: [[f64; 2]; 4] =
    [[2.0, 5.0], [5.0, 10.0], [10.0, 14.751921067662515], [10.0, 14.751921067662515]];

fn all() -> impl Iterator<Item = &'static (&'static str, Option<&'static str>, &'static str, Right)> {
    TABLE.iter().chain(MORE).chain(BINNED)
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats")
}

fn found(file: &str, column: Option<&str>, wanted: Wanted) -> Result<intake::Taken, intake::Error> {
    read(&folder().join(file), &Wanted { column: column.map(Into::into), ..wanted })
}

#[test]
fn each_format_gives_its_right_values_or_the_way_out() {
    for (file, column, format, right) in all() {
        match (found(file, *column, Wanted::default()), right) {
            (Ok(taken), Values(series, unit, [values, rows], ends)) => {
                assert_eq!(taken.format, Some(*format), "{file}");
                assert_eq!((taken.series.as_str(), taken.unit), (*series, *unit), "{file}");
                assert_eq!((taken.values.len() as u64, taken.rows), (*values, *rows), "{file}");
                assert_eq!([taken.values[0], *taken.values.last().unwrap()], *ends, "{file}");
                assert!(taken.told.unwrap().starts_with(&format!("{format}: ")), "{file}");
            }
            (Err(ReadError::Binned { histogram, .. }), Bins(series, unit, counts, bounds)) => {
                assert_eq!(histogram.format, *format, "{file}");
                assert_eq!((histogram.series.as_str(), histogram.unit), (*series, *unit), "{file}");
                assert_eq!([histogram.count, histogram.bins.len() as u64], *counts, "{file}");
                let found = [0.5, 0.9, 0.99, 1.0].map(|share| histogram.quantile(share).unwrap());
                let is_near = |(a, b): (&f64, &f64)| a == b || (a / b - 1.0).abs() < 1e-15;
                let all = found.as_flattened().iter().zip(bounds.as_flattened());
                assert!(all.clone().all(is_near), "{file} {series}: {found:?}");
                assert!(histogram.told.starts_with(&format!("{format}: ")), "{file}");
            }
            (Err(error), Error(words)) => {
                let said = error.to_string();
                assert!(said.contains(format) && said.contains(words), "{file}: {said}");
            }
            (found, _) => panic!("{file}: {found:?}"),
        }
    }
}

#[test]
fn each_format_has_an_example_and_each_example_a_row() {
    let page = intake::page();
    let names = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains(" | `"))
        .map(|line| line.trim_start_matches("| ").split(" | ").next().unwrap_or_default().to_owned());
    let named: Vec<String> = names.filter(|name| !name.starts_with('`')).collect();
    assert!(named.len() > 30, "{named:?}");
    for name in &named {
        assert!(all().any(|(_, _, format, _)| format == name), "{name} has no example");
    }
    for file in std::fs::read_dir(folder()).unwrap() {
        let file = file.unwrap().file_name();
        assert!(all().any(|(name, ..)| file == *name), "{file:?} has no right values");
    }
}

#[test]
fn what_was_taken_and_left_out_is_told() {
    let told = |file, column, wanted| found(file, column, wanted).unwrap().told.unwrap();
    assert_eq!(
        told("k6.csv", None, Wanted::default()),
        "k6 CSV: http_req_duration in ms, 2 of 9 rows (2 other series; 1 failed left out: --failed keeps them)"
    );
    let failed = Wanted { failed: true, ..Wanted::default() };
    assert_eq!(
        told("k6.csv", None, failed.clone()),
        "k6 CSV: http_req_duration in ms, 3 of 9 rows (2 other series)"
    );
    assert_eq!(told("hey.csv", None, failed.clone()), "hey CSV: response-time in s, 20 rows");
    assert_eq!(found("ghz.json", None, failed.clone()).unwrap().values.len(), 3);
    assert_eq!(found("vegeta.csv", None, failed.clone()).unwrap().values.len(), 15);
    assert_eq!(found("gatling.log", Some("home"), failed).unwrap().values, [45.0, 2.0, 50.0]);
    // A column of the table itself is what it is.
    let taken = found("k6.csv", Some("timestamp"), Wanted::default()).unwrap();
    assert_eq!((taken.values.len(), taken.format, taken.unit), (9, None, None));
    let of = Wanted { filters: vec!["status=200".parse().unwrap()], ..Wanted::default() };
    assert!(told("k6.csv", None, of).contains("2 of 9 rows (2 other series; 1 left out by --where)"));
}

#[test]
fn a_log_of_fio_under_another_name_is_a_table_that_asks() {
    let text = std::fs::read(folder().join("mix_lat.1.log")).unwrap();
    let said = intake::read_from(&text[..], "numbers.txt", &Wanted::default()).unwrap_err().to_string();
    assert!(said.contains("it has 5 columns and no header: choose one by position"), "{said}");
}

/// What is said of the first example of each format, read here.
fn examples() -> String {
    let mut text = "\n## What is said of an example of each\n\n| command | answer |\n|---|---|\n".to_owned();
    let (mut known, mut rows) = (Vec::new(), Vec::new());
    for (file, column, format, _) in all() {
        let said = match found(file, *column, Wanted::default()) {
            Ok(taken) => taken.told.unwrap(),
            Err(ReadError::Binned { histogram, .. }) => histogram.told,
            Err(error @ ReadError::Refused { .. }) => error.to_string(),
            // A choice is open.
            Err(_) => continue,
        };
        if known.contains(format) {
            continue;
        }
        known.push(*format);
        let said = said.replace(&format!("{}/", folder().display()), "");
        let quote = |column: &str| match column {
            plain if !plain.contains([' ', '"', '(', '\'']) => plain.to_owned(),
            column if column.contains('\'') => format!("\"{column}\""),
            column => format!("'{column}'"),
        };
        let option = column.map_or(String::new(), |column| format!(" --column {}", quote(column)));
        rows.push(format!("| `lastrank fit {file}{option}` | {said} |\n"));
    }
    rows.sort_unstable();
    text += &rows.concat();
    text
}

#[test]
fn the_page_of_formats_is_that_of_the_table() {
    let page = intake::page() + &examples();
    let formats =
        page.split("## What is said").next().unwrap().lines().filter(|line| line.contains(" | `")).count();
    assert!(examples().lines().count() > 55 && formats > 55);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&file, &page).unwrap();
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(there, page, "INSTA_UPDATE=always cargo test -p lastrank-intake writes it");
}
