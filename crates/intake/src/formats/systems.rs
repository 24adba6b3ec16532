//! The formats of tracers, of reports about devices, and of what no single path or column reads.

use crate::Unit;
use crate::format::{Column, Format, JsonRows, LineTake, Mark, Sections, Take, UnitOf};
use crate::{calls, documents, reports};

const OF_INTERVALS: &str = "each value is the mean of an interval; the report since boot and intervals without requests are left out";

pub(super) const ROWS: &[Format] = &[
    Format {
        name: "perf trace",
        made_by: "perf trace -o FILE COMMAND",
        mark: Mark::Lines(calls::is_perf_trace),
        take: Take::Lines(LineTake {
            read: calls::perf_trace,
            what: "the time of each system call (ms); its series is its name; failed ones left out",
        }),
    },
    Format {
        name: "perf trace summary",
        made_by: "perf trace -s",
        mark: Mark::Lines(calls::is_perf_trace_summary),
        take: Take::Refused("it holds means and extremes only; `perf trace` without -s prints each call"),
    },
    Format {
        name: "perf stat",
        made_by: "perf stat, perf stat -x,",
        mark: Mark::Lines(calls::is_perf_stat),
        take: Take::Refused(
            "it holds counts of events, no times of single runs; `hyperfine --export-json FILE COMMAND` keeps the time of \
             each run, `perf trace COMMAND` that of each system call",
        ),
    },
    Format {
        name: "perf script of system calls",
        made_by: "perf record -e 'raw_syscalls:*' COMMAND; perf script --ns",
        mark: Mark::Lines(calls::is_perf_script),
        take: Take::Sections(Sections {
            make: || Box::<calls::PerfScript>::default(),
            what: "from `sys_enter` to `sys_exit` of a thread (ns); series by call (`read`, `NR 0`); failed ones left out",
            note: None,
            without: "without a call that begins and ends: record sys_enter and sys_exit",
        }),
    },
    Format {
        name: "Darshan DXT",
        made_by: "darshan-dxt-parser FILE.darshan",
        mark: Mark::Lines(calls::is_dxt),
        take: Take::Lines(LineTake {
            read: calls::dxt,
            what: "from start to end of each segment (s); series by layer and direction (`POSIX write`)",
        }),
    },
    Format {
        name: "iostat",
        made_by: "iostat -x 1",
        mark: Mark::Lines(reports::is_iostat),
        take: Take::Sections(Sections {
            make: || Box::<reports::Iostat>::default(),
            what: "`r_await`, `w_await` and others of each device and interval (ms)",
            note: Some(OF_INTERVALS),
            without: "without waiting times of intervals: `iostat -x 1 60` reports them",
        }),
    },
    Format {
        name: "iostat JSON",
        made_by: "iostat -x -o JSON 1 60",
        mark: Mark::Paths(&["sysstat.hosts.statistics"]),
        take: Take::JsonRows(JsonRows {
            read: documents::iostat,
            what: "`r_await`, `w_await` and others of each device and interval (ms)",
            note: Some(OF_INTERVALS),
            without: "without waiting times of intervals: `iostat -x -o JSON 1 60` reports them",
        }),
    },
    Format {
        name: "nfsiostat",
        made_by: "nfsiostat 1",
        mark: Mark::Lines(reports::is_nfsiostat),
        take: Take::Sections(Sections {
            make: || Box::<reports::Nfsiostat>::default(),
            what: "`avg RTT` and `avg exe` of each mount, operation and interval (ms)",
            note: Some(
                "each value is the mean of an interval; the report since mounting and intervals without requests are left out",
            ),
            without: "without operations of intervals: `nfsiostat 1 60` reports them",
        }),
    },
    Format {
        name: "biosnoop",
        made_by: "biosnoop of bcc",
        mark: Mark::Columns(&["TIME(s)", "COMM", "PID", "DISK", "T", "SECTOR", "BYTES", "LAT(ms)"]),
        take: Take::Column(Column {
            value: "LAT(ms)",
            series: None,
            default: None,
            unit: UnitOf::Fixed(Unit::Ms),
            failed: &[],
        }),
    },
    Format {
        name: "JMeter XML",
        made_by: "jmeter -Jjmeter.save.saveservice.output_format=xml -n -t PLAN -l FILE",
        mark: Mark::Lines(reports::is_jmeter_xml),
        take: Take::Sections(Sections {
            make: || Box::<reports::JmeterXml>::default(),
            what: "`t` of each sample (ms); series by `lb`; samples within others are parts of them; failed ones left out",
            note: None,
            without: "without samples",
        }),
    },
    Format {
        name: "asv JSON",
        made_by: "asv run --record-samples (results/MACHINE/COMMIT.json)",
        mark: Mark::Paths(&["commit_hash", "result_columns", "results"]),
        take: Take::JsonRows(JsonRows {
            read: documents::asv,
            what: "`samples` (`time_…` in s); series by benchmark and parameters",
            note: None,
            without: "without samples: `asv run --record-samples` keeps them",
        }),
    },
    Format {
        name: "Prometheus range query",
        made_by: "curl 'HOST/api/v1/query_range?query=…'",
        mark: Mark::Paths(&["status", "data.resultType", "data.result.values"]),
        take: Take::JsonRows(JsonRows {
            read: documents::range_query,
            what: "`data.result.values`; the name says the unit (`_seconds`); series by name and labels",
            note: None,
            without: "without values over time: ask query_range, not query",
        }),
    },
    Format {
        name: "elbencho CSV",
        made_by: "elbencho --csvfile FILE",
        mark: Mark::Columns(&[
            "ISO date",
            "label",
            "path type",
            "operation",
            "time ms [first]",
            "time ms [last]",
        ]),
        take: Take::Refused(
            "it holds rates and means of whole phases only; `elbencho --lathisto --jsonfile FILE` keeps histograms, and \
             `lastrank run` each operation",
        ),
    },
    Format {
        name: "elbencho JSON",
        made_by: "elbencho --jsonfile FILE",
        mark: Mark::Paths(&["phase_type", "config.block_size", "last_done.elapsed_time_ms"]),
        take: Take::Refused(
            "it holds rates and means of whole phases only; `elbencho --lathisto --jsonfile FILE` keeps histograms, and \
             `lastrank run` each operation",
        ),
    },
    Format {
        name: "elbencho log of operations",
        made_by: "elbencho --opslog FILE",
        mark: Mark::Paths(&["worker_rank", "op_name", "entry_name", "is_finished"]),
        take: Take::Refused(
            "its stamps are whole milliseconds, too coarse for the time of one operation; `elbencho --lathisto --jsonfile \
             FILE` keeps histograms, and `lastrank run` each operation",
        ),
    },
];
