//! The formats that count the values of bins.

use crate::format::{Bins, Format, JsonBins, Mark, Take};
use crate::{bpf, elbencho, fio_bins, hdr, metrics};

pub(super) const ROWS: &[Format] = &[
    Format {
        name: "HdrHistogram percentiles",
        made_by: "outputPercentileDistribution (.hgrm), wrk2 --latency",
        mark: Mark::Lines(hdr::are_percentiles),
        take: Take::Bins(Bins {
            make: || Box::<hdr::Percentiles>::default(),
            what: "a row counts the values up to its own; of wrk2 in ms, else as recorded (`--unit`)",
            out: "record the single values, or give them one a line",
        }),
    },
    Format {
        name: "HdrHistogram log",
        made_by: "HistogramLogWriter (.hlog, V2), memtier_benchmark --hdr-file-prefix",
        mark: Mark::Lines(hdr::is_log),
        take: Take::Bins(Bins {
            make: || Box::<hdr::Log>::default(),
            what: "the histograms of all intervals added up, as recorded (`--unit`); series by `Tag`",
            out: "record the single values, or give them one a line",
        }),
    },
    Format {
        name: "fio JSON+",
        made_by: "fio --output-format=json+",
        mark: Mark::Paths(&["fio version", "jobs.*.*.bins"]),
        take: Take::JsonBins(JsonBins {
            read: fio_bins::json_plus,
            what: "`jobs.read.clat_ns.bins` and its like (ns); series by job, direction and kind",
            out: "`fio --write_lat_log=NAME` writes the latency of each operation into NAME_lat.1.log",
        }),
    },
    Format {
        name: "fio histogram log",
        made_by: "fio --write_hist_log=NAME --log_hist_msec=1000 (NAME_clat_hist.1.log)",
        mark: Mark::Lines(fio_bins::is_log),
        take: Take::Bins(Bins {
            make: || Box::<fio_bins::HistogramLog>::default(),
            what: "the counts of all intervals added up (ns); series `read`, `write`, `trim`",
            out: "`fio --write_lat_log=NAME` writes the latency of each operation into NAME_lat.1.log",
        }),
    },
    Format {
        name: "bpftrace histogram",
        made_by: "bpftrace with hist() or lhist()",
        mark: Mark::Lines(bpf::is_bpftrace),
        take: Take::Bins(Bins {
            make: || Box::<bpf::Bpftrace>::default(),
            what: "the rows of a map; its name says the unit (`@usecs`, `@read_ns`); series by map",
            out: "`printf` in the script prints each value",
        }),
    },
    Format {
        name: "bcc histogram",
        made_by: "biolatency, runqlat, ext4dist and others of bcc",
        mark: Mark::Lines(bpf::is_bcc),
        take: Take::Bins(Bins {
            make: || Box::<bpf::Bcc>::default(),
            what: "the tables of all intervals added up (unit: `usecs` above the table); series by the line above",
            out: "`biosnoop`, `runqslower` and `ext4slower` print each value",
        }),
    },
    Format {
        name: "Prometheus text",
        made_by: "curl HOST/metrics",
        mark: Mark::Lines(metrics::is_exposition),
        take: Take::Bins(Bins {
            make: || Box::<metrics::Exposition>::default(),
            what: "`NAME_bucket{le=…}`; the name says the unit (`_seconds`); series by name and labels",
            out: "a service exposes no single values; its log or its traces may hold them",
        }),
    },
    Format {
        name: "OTLP JSON",
        made_by: "the file exporter of the OpenTelemetry Collector",
        mark: Mark::Paths(&["resourceMetrics.scopeMetrics.metrics"]),
        take: Take::JsonBins(JsonBins {
            read: metrics::otlp,
            what: "`histogram` and `exponentialHistogram` (unit: `unit`); series by name and attributes; points of \
                   delta are added up, of cumulative ones the last counts",
            out: "metrics hold no single values; traces (spans) do",
        }),
    },
    Format {
        name: "elbencho JSON with histograms",
        made_by: "elbencho --lathisto --jsonfile FILE",
        mark: Mark::Paths(&["phase_type", "config.block_size", "last_done.latency.*.histogram"]),
        take: Take::JsonBins(JsonBins {
            read: elbencho::phase,
            what: "`last_done.latency.IO.histogram.buckets` and its like (µs); series by phase",
            out: "elbencho keeps no single operation; `lastrank run` does",
        }),
    },
];
