//! Writes a run as CSV: one line per sample.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use samples::{Run, Site, SiteKind, WarmUp, field};
use serde::Serialize;

/// The columns of the run file but for those that point into its footer.
#[derive(Serialize)]
struct SampleRow<'a> {
    label: Cow<'a, str>,
    operation: Cow<'a, str>,
    kind: SiteKind,
    line: u32,
    group: Cow<'a, str>,
    rank: u32,
    iteration: u64,
    start_ns: u64,
    duration_ps: u64,
    late_ns: u64,
    bytes: u64,
    errno: i32,
    batch: u32,
    /// -1 where it is unknown.
    cpu: i32,
    causes: u16,
    queue_ns: u64,
    blocked_ns: u32,
    /// 1 where it is left out of results; only of a run with a warm-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    warm_up: Option<u8>,
}

/// The names of the columns; [`SampleRow`] has them in the same order. The CSV library would write a header with the
/// first row only, and a run may have none.
const COLUMNS: [&str; 17] = [
    "label",
    "operation",
    "kind",
    "line",
    "group",
    "rank",
    "iteration",
    "start_ns",
    "duration_ps",
    "late_ns",
    "bytes",
    "errno",
    "batch",
    "cpu",
    "causes",
    "queue_ns",
    "blocked_ns",
];

/// Writes a header and the samples.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut out = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    let warm_up = WarmUp::of(&run.facts);
    out.write_record(COLUMNS.iter().copied().chain(warm_up.as_ref().map(|_| "warm_up"))).map_err(said)?;
    let unknown = Site::default();
    let mut iterations = HashMap::<(u32, u32), u64>::new();
    for sample in &run.samples {
        let site = run.sites.get(sample.site as usize).unwrap_or(&unknown);
        let iteration = iterations.entry((sample.rank, sample.site)).or_default();
        out.serialize(SampleRow {
            label: field(site.labels.last().map(String::as_str).unwrap_or_default()),
            operation: field(&site.operation),
            kind: site.kind,
            line: site.line,
            group: field(&site.group),
            rank: sample.rank,
            iteration: *iteration,
            start_ns: sample.start_ns,
            duration_ps: sample.duration_ps,
            late_ns: sample.late_ns,
            bytes: sample.bytes,
            errno: sample.errno,
            batch: sample.batch,
            cpu: if sample.cpu == u16::MAX { -1 } else { i32::from(sample.cpu) },
            causes: sample.causes,
            queue_ns: sample.queue_ns,
            blocked_ns: sample.blocked_ns,
            warm_up: warm_up.as_ref().map(|warm_up| u8::from(!warm_up.keeps(site.kind, &mut sample.clone()))),
        })
        .map_err(said)?;
        *iteration += 1;
    }
    out.flush()
}

/// What the operating system said, as it said it: whether there was room is told by its kind.
fn said(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
