//! Writes the six times of each run of a timed parallel write (Henwood and others 2016) in one line: allocate, open, write, close,
//! free, and the total. `lastrank fit --column write` reads such lines.

use std::collections::BTreeMap;
use std::io::{self, Write};

use samples::{Run, Sample};

/// What a line tells, and the operation that is.
const PARTS: [(&str, &str); 5] =
    [("alloc", "alloc"), ("open", "fopen"), ("write", "fwrite"), ("close", "fclose"), ("free", "free")];

/// Seconds of each part of each run of each rank, by rank and in time order.
type Times<'a> = BTreeMap<u32, [Vec<&'a Sample>; PARTS.len()]>;

/// `alloc=0.000009000 open=0.000047000 write=11.167900000 close=… free=… total=…`, a line for each run; of several ranks with
/// `rank=N` in front, step by step. Seconds.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let times = times(run);
    let steps = times.values().next().map_or(0, |parts| parts[0].len());
    if steps == 0 || times.values().flatten().any(|part| part.len() != steps) {
        return Err(io::Error::other(
            "this run has no six times to tell: they are of a program that allocates, opens, writes, closes and frees once in \
             each step, as `parallel_write` does",
        ));
    }
    for step in 0..steps {
        for (rank, parts) in &times {
            if times.len() > 1 {
                write!(out, "rank={rank} ")?;
            }
            for ((name, _), part) in PARTS.iter().zip(parts) {
                write!(out, "{name}={:.9} ", part[step].seconds())?;
            }
            let [alloc, .., free] = parts;
            writeln!(out, "total={:.9}", from_to(alloc[step], free[step]))?;
        }
    }
    Ok(())
}

/// Seconds from the begin of one to the end of another.
fn from_to(first: &Sample, last: &Sample) -> f64 {
    last.start_ns.saturating_sub(first.start_ns) as f64 * 1e-9 + last.seconds()
}

fn times(run: &Run) -> Times<'_> {
    let mut found: Times = BTreeMap::new();
    for sample in run.samples.iter().filter(|sample| !sample.failed()) {
        let Some(site) = run.sites.get(sample.site as usize) else { continue };
        let part = PARTS.iter().position(|(_, operation)| *operation == site.operation);
        if let Some(part) = part {
            found.entry(sample.rank).or_default()[part].push(sample);
        }
    }
    for part in found.values_mut().flatten() {
        part.sort_by_key(|sample| sample.start_ns);
    }
    found
}
