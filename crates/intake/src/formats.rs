//! The table of formats: a row says how a format is recognised, where its values are, in which unit, and what failed.
//!
//! A new format is a row here, or of histograms and system tools in `formats/`, an example in `tests/formats` with its
//! right values in `tests/formats.rs`, and the page that `docs/formats.md` then is. Code is only for text that is no table.

mod histograms;
mod systems;

use crate::Unit;
use crate::format::{Column, Format, Json, LineTake, Mark, NONE, Take, UnitOf};
use crate::text;
use crate::wanted::How;

/// All formats; the first one that fits is taken.
pub(crate) fn all() -> impl Iterator<Item = &'static Format> {
    [histograms::ROWS, systems::ROWS, ROWS].into_iter().flatten()
}

/// The unit of a metric of k6, by its name.
fn of_k6(metric: &str) -> Option<Unit> {
    const TIMES: [&str; 8] = [
        "_duration",
        "_waiting",
        "_blocked",
        "_connecting",
        "_handshaking",
        "_sending",
        "_receiving",
        "_session_duration",
    ];
    TIMES.iter().any(|end| metric.ends_with(end)).then_some(Unit::Ms)
}

const SERVER_SAYS_ERROR: (&str, How, &str) = ("status-code", How::AtLeast, "400");

/// Tools that measure commands, requests, functions and files.
const ROWS: &[Format] = &[
    Format {
        name: "hyperfine JSON",
        made_by: "hyperfine --export-json FILE",
        mark: Mark::Paths(&["results.command", "results.mean"]),
        take: Take::Json(Json {
            each: "results",
            series: &["command"],
            values: "times",
            unit: UnitOf::Fixed(Unit::S),
            failed: Some(("exit_codes", How::Unequal, "0")),
            without: "without its `times`: export it anew with --export-json",
            ..NONE
        }),
    },
    Format {
        name: "hyperfine CSV",
        made_by: "hyperfine --export-csv FILE",
        mark: Mark::Columns(&["command", "mean", "stddev", "median", "user", "system"]),
        take: Take::Refused("it holds means only; `hyperfine --export-json FILE` keeps the time of each run"),
    },
    Format {
        name: "pytest-benchmark JSON",
        made_by: "pytest --benchmark-json=FILE",
        mark: Mark::Paths(&["benchmarks.stats.rounds", "machine_info"]),
        take: Take::Json(Json {
            each: "benchmarks",
            series: &["fullname"],
            values: "stats.data",
            unit: UnitOf::Fixed(Unit::S),
            without: "without the times of its rounds: `--benchmark-save-data` keeps them",
            ..NONE
        }),
    },
    Format {
        name: "Google Benchmark JSON",
        made_by: "BENCHMARK --benchmark_repetitions=30 --benchmark_out=FILE",
        mark: Mark::Paths(&["benchmarks.real_time", "benchmarks.time_unit", "context"]),
        take: Take::Json(Json {
            each: "benchmarks",
            only: Some(("run_type", "iteration")),
            series: &["run_name"],
            values: "real_time",
            unit: UnitOf::Field("time_unit"),
            without: "with aggregates only: leave out --benchmark_report_aggregates_only, which drops each repetition",
            ..NONE
        }),
    },
    Format {
        name: "JMH JSON",
        made_by: "java -jar benchmarks.jar -rf json -rff FILE",
        mark: Mark::Paths(&["jmhVersion", "primaryMetric.rawData"]),
        take: Take::Json(Json {
            series: &["benchmark", "params.*", "mode"],
            values: "primaryMetric.rawData",
            unit: UnitOf::Field("primaryMetric.scoreUnit"),
            without: "without its `rawData`",
            ..NONE
        }),
    },
    Format {
        name: "Criterion sample.json",
        made_by: "cargo bench (target/criterion/NAME/new/sample.json)",
        mark: Mark::Paths(&["sampling_mode", "iters", "times"]),
        take: Take::Json(Json { values: "times", per: Some("iters"), unit: UnitOf::Fixed(Unit::Ns), ..NONE }),
    },
    Format {
        name: "Criterion estimates.json",
        made_by: "cargo bench (target/criterion/NAME/new/estimates.json)",
        mark: Mark::Paths(&["mean.point_estimate", "median.point_estimate"]),
        take: Take::Refused("it holds estimates only; sample.json beside it holds the measured times"),
    },
    Format {
        name: "BenchmarkDotNet JSON",
        made_by: "[JsonExporterAttribute.Full]",
        mark: Mark::Paths(&["Benchmarks.Statistics", "HostEnvironmentInfo"]),
        take: Take::Json(Json {
            each: "Benchmarks",
            series: &["FullName"],
            values: "Statistics.OriginalValues",
            unit: UnitOf::Fixed(Unit::Ns),
            without: "without its measurements: export it with JsonExporter.Full",
            ..NONE
        }),
    },
    Format {
        name: "fio JSON",
        made_by: "fio --output-format=json",
        mark: Mark::Paths(&["fio version", "jobs.jobname"]),
        take: Take::Refused(
            "it holds quantiles and counts of bins only; `fio --write_lat_log=NAME` writes the latency of each \
             operation into NAME_lat.1.log (without --log_avg_msec), and `lastrank run` of the job file keeps each one too",
        ),
    },
    Format {
        name: "fio latency log",
        made_by: "fio --write_lat_log=NAME (NAME_lat.1.log, NAME_clat.1.log, NAME_slat.1.log)",
        mark: Mark::Lines(text::is_fio_latencies),
        take: Take::Lines(LineTake {
            read: text::fio_latency,
            what: "the latency of `read`, `write` or `trim` (ns)",
        }),
    },
    Format {
        name: "fio bandwidth or IOPS log",
        made_by: "fio --write_bw_log=NAME, --write_iops_log=NAME",
        mark: Mark::Lines(text::is_fio_rates),
        take: Take::Refused("it holds rates, not durations; `fio --write_lat_log=NAME` keeps the latencies"),
    },
    Format {
        name: "k6 CSV",
        made_by: "k6 run --out csv=FILE",
        mark: Mark::Columns(&["metric_name", "timestamp", "metric_value"]),
        take: Take::Column(Column {
            value: "metric_value",
            series: Some("metric_name"),
            default: Some("http_req_duration"),
            unit: UnitOf::Series(of_k6),
            failed: &[("expected_response", How::Equal, "false"), ("error_code", How::Unequal, "")],
        }),
    },
    Format {
        name: "k6 JSON",
        made_by: "k6 run --out json=FILE",
        mark: Mark::Paths(&["type", "metric", "data"]),
        take: Take::Json(Json {
            only: Some(("type", "Point")),
            series: &["metric"],
            default: Some("http_req_duration"),
            values: "data.value",
            unit: UnitOf::Series(of_k6),
            failed: Some(("data.tags.expected_response", How::Equal, "false")),
            without: "without points",
            ..NONE
        }),
    },
    Format {
        name: "k6 summary",
        made_by: "k6 run --summary-export=FILE",
        mark: Mark::Paths(&["root_group", "metrics"]),
        take: Take::Refused("it holds means and quantiles only; `k6 run --out csv=FILE` keeps each request"),
    },
    Format {
        name: "oha CSV",
        made_by: "oha --output-format csv",
        mark: Mark::Columns(&["request-start", "DNS+dialup", "request-duration", "status"]),
        take: Take::Column(Column {
            value: "request-duration",
            series: None,
            default: None,
            unit: UnitOf::Fixed(Unit::S),
            failed: &[("status", How::AtLeast, "400")],
        }),
    },
    Format {
        name: "oha JSON",
        made_by: "oha --output-format json",
        mark: Mark::Paths(&["summary", "responseTimeHistogram", "latencyPercentiles"]),
        take: Take::Refused("it holds quantiles and bins only; `oha --output-format csv` keeps each request"),
    },
    Format {
        name: "hey CSV",
        made_by: "hey -o csv",
        mark: Mark::Columns(&["response-time", "DNS+dialup", "status-code", "offset"]),
        take: Take::Column(Column {
            value: "response-time",
            series: None,
            default: None,
            unit: UnitOf::Fixed(Unit::S),
            failed: &[SERVER_SAYS_ERROR],
        }),
    },
    Format {
        name: "summary of hey",
        made_by: "hey",
        mark: Mark::Lines(text::is_summary_of_hey),
        take: Take::Refused("it holds a histogram and quantiles only; `hey -o csv` keeps each request"),
    },
    Format {
        name: "vegeta JSON",
        made_by: "vegeta encode FILE",
        mark: Mark::Paths(&["attack", "seq", "code", "latency"]),
        take: Take::Json(Json {
            values: "latency",
            unit: UnitOf::Fixed(Unit::Ns),
            failed: Some(("error", How::Unequal, "")),
            ..NONE
        }),
    },
    Format {
        name: "vegeta CSV",
        made_by: "vegeta encode --to csv FILE",
        mark: Mark::Lines(text::is_vegeta),
        take: Take::Lines(LineTake { read: text::vegeta, what: "the latency of each request (ns)" }),
    },
    Format {
        name: "vegeta report",
        made_by: "vegeta report --type json",
        mark: Mark::Paths(&["latencies.50th", "status_codes"]),
        take: Take::Refused(
            "it holds quantiles only; `vegeta encode --to csv` of the results keeps each request",
        ),
    },
    Format {
        name: "wrk output",
        made_by: "wrk",
        mark: Mark::Lines(text::is_wrk),
        take: Take::Refused(
            "it holds quantiles only, and wrk keeps no single request: `oha --output-format csv` and `hey -o csv` do",
        ),
    },
    Format {
        name: "JMeter JTL",
        made_by: "jmeter -n -t PLAN -l FILE",
        mark: Mark::Columns(&["timeStamp", "elapsed", "label", "success"]),
        take: Take::Column(Column {
            value: "elapsed",
            series: Some("label"),
            default: None,
            unit: UnitOf::Fixed(Unit::Ms),
            failed: &[("success", How::Equal, "false")],
        }),
    },
    Format {
        name: "ghz JSON",
        made_by: "ghz -O json",
        mark: Mark::Paths(&["details.latency", "latencyDistribution"]),
        take: Take::Json(Json {
            each: "details",
            values: "latency",
            unit: UnitOf::Fixed(Unit::Ns),
            failed: Some(("status", How::Unequal, "OK")),
            ..NONE
        }),
    },
    Format {
        name: "ApacheBench times",
        made_by: "ab -g FILE",
        mark: Mark::Columns(&["starttime", "seconds", "ctime", "dtime", "ttime", "wait"]),
        take: Take::Column(Column {
            value: "ttime",
            series: None,
            default: None,
            unit: UnitOf::Fixed(Unit::Ms),
            failed: &[],
        }),
    },
    Format {
        name: "ApacheBench quantiles",
        made_by: "ab -e FILE",
        mark: Mark::Columns(&["Percentage served", "Time in ms"]),
        take: Take::Refused("it holds quantiles only; `ab -g FILE` keeps each request"),
    },
    Format {
        name: "locust statistics",
        made_by: "locust --csv=NAME",
        mark: Mark::Columns(&["Type", "Name", "Request Count", "Median Response Time"]),
        take: Take::Refused(
            "it holds means and quantiles only; a listener of `events.request` in the locust file can write each request",
        ),
    },
    Format {
        name: "Gatling log",
        made_by: "gatling (simulation.log before 3.12)",
        mark: Mark::Lines(text::is_gatling),
        take: Take::Lines(LineTake {
            read: text::gatling,
            what: "the time of each request (ms); its series is its name",
        }),
    },
    Format {
        name: "ping output",
        made_by: "ping HOST",
        mark: Mark::Lines(text::is_ping),
        take: Take::Lines(LineTake { read: text::ping, what: "the round trip of each answer (ms)" }),
    },
    Format {
        name: "iperf3 JSON",
        made_by: "iperf3 --json",
        mark: Mark::Paths(&["start.test_start", "intervals"]),
        take: Take::Json(Json {
            each: "intervals",
            values: "sum.bits_per_second",
            unit: UnitOf::Other("bit/s"),
            without: "without intervals: leave -i at 1 second",
            ..NONE
        }),
    },
    Format {
        name: "pgbench log",
        made_by: "pgbench -l (pgbench_log.PID)",
        mark: Mark::Lines(text::is_pgbench),
        take: Take::Lines(LineTake {
            read: text::pgbench,
            what: "the time of each transaction (µs), failed and skipped ones left out",
        }),
    },
    Format {
        name: "pgbench output",
        made_by: "pgbench",
        mark: Mark::Lines(text::is_pgbench_summary),
        take: Take::Refused("it holds means only; `pgbench -l` writes each transaction into pgbench_log.PID"),
    },
    Format {
        name: "sysbench output",
        made_by: "sysbench",
        mark: Mark::Lines(text::is_sysbench),
        take: Take::Refused(
            "it holds means, one quantile and bins only, and sysbench keeps no single operation; of files \
             `lastrank run` keeps each one",
        ),
    },
    Format {
        name: "redis-benchmark CSV",
        made_by: "redis-benchmark --csv",
        mark: Mark::Columns(&["test", "rps", "avg_latency_ms", "p50_latency_ms"]),
        take: Take::Refused(
            "it holds means and quantiles only, and redis-benchmark keeps no single request; `redis-cli --latency \
             --raw` samples, and memtier_benchmark --hdr-file-prefix keeps its histogram",
        ),
    },
    Format {
        name: "IOR output",
        made_by: "ior -i 10",
        mark: Mark::Lines(text::is_ior),
        take: Take::Lines(LineTake {
            read: text::ior,
            what: "the total time of `write` or `read` of each repetition (s)",
        }),
    },
    Format {
        name: "mdtest output",
        made_by: "mdtest",
        mark: Mark::Lines(text::is_mdtest),
        take: Take::Refused(
            "it holds rates of whole phases only; `lastrank mdtest` with the same options keeps each operation",
        ),
    },
];
