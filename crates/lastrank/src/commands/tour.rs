//! `lastrank try`: this machine from L1 to fsync, one rung a line.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use engine::kernels::{Progress, Rung, tour};
use engine::machine;
use samples::units::duration;

use crate::cli::TryArgs;
use crate::exit::Status;
use crate::output;

/// Climb the ladder, printing each rung as it is done.
pub fn run(args: &TryArgs) -> anyhow::Result<Status> {
    let directory: &Path = &args.directory;
    if !directory.is_dir() {
        bail!("{} is no directory; name one on the disk to be tried", directory.display());
    }
    if !(5..=3600).contains(&args.limit) {
        bail!("--limit {}: a tour takes 5 to 3600 seconds", args.limit);
    }
    let described = machine::describe(&[directory]);
    if !args.json {
        output::print(&format!("{}\n\n{}", described.lines().join("\n"), heading()))?;
    }
    let mut lost = Ok(());
    let found = tour(&described, directory, Duration::from_secs(args.limit), &mut |progress| {
        if let (Progress::Rung(rung), false, true) = (progress, args.json, lost.is_ok()) {
            lost = output::print(&line(rung));
        }
    });
    lost?;
    if args.json {
        output::json(&found)?;
        return Ok(Status::Ok);
    }
    let mut text = String::from("\n");
    for bandwidth in &found.bandwidths {
        let rate = bandwidth.bytes_per_second / 1e9;
        text +=
            &format!("{:28} {rate:9.1} GB/s\n", format!("{} {}", level(&bandwidth.level), bandwidth.kind));
    }
    for skipped in &found.skipped {
        text += &format!("left out: {skipped}\n");
    }
    text += &format!(
        "\n{:.0} s in all. Times are less the clock's own; `--json` has every number.\n",
        found.elapsed_s
    );
    output::print(&text)?;
    Ok(Status::Ok)
}

/// `l1` as `L1 cache`.
fn level(code: &str) -> String {
    if code.starts_with('l') { format!("{} cache", code.to_uppercase()) } else { "Memory".into() }
}

fn heading() -> String {
    format!(
        "{:28} {:>9} {:>9} {:>9} {:>9} {:>9}  {}\n",
        "", "typical", "median", "p99", "p99.9", "max", "what the slowest hundredth waited for"
    )
}

fn line(rung: &Rung) -> String {
    let quantiles = rung.corrected.as_ref().unwrap_or(&rung.raw);
    let show = |ps: Option<f64>| ps.map_or("–".into(), |ps| duration(ps.max(0.0) * 1e-12));
    let causes: Vec<String> = rung
        .causes
        .iter()
        .filter(|(_, share)| *share >= 0.05)
        .take(3)
        .map(|(cause, share)| format!("{} {:.0} %", cause.replace('_', " "), 100.0 * share))
        .collect();
    let mark = if rung.corrected.is_some() { "*" } else { " " };
    format!(
        "{:28} {:>9} {:>9} {:>9} {:>9} {:>9}{mark} {}\n",
        rung.name,
        show(Some(rung.headline_ps)),
        show(Some(quantiles.median_ps)),
        show(quantiles.p99_ps),
        show(quantiles.p999_ps),
        show(Some(quantiles.max_ps)),
        causes.join(", ")
    )
}
