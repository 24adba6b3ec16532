//! Renders the rungs of the tour, one line each, and the notes below them.

use report::words;
use samples::units::duration;
use samples::{RungFacts, RungGroup, TourFacts, Warning};

use super::left_out::left_out;

/// A processor that gave a larger share of its time to something else is warned of.
pub const MUCH_LOST: f64 = 0.05;

/// Of fewer observations their number is told.
const FEW: usize = 20;

/// Names of the columns.
pub fn heading() -> String {
    format!(
        "{:18} {:>9} {:>9} {:>9} {:>9} {:>9}  {:8}  {}\n",
        "", "typical", "median", "p99", "p99.9", "max", "tail", "what the slowest hundredth waited for"
    )
}

/// One rung: the number to quote, quantiles, a picture of the tail, causes.
pub fn rung(rung: &RungFacts) -> String {
    // As it was, like the typical time: what it was without the wait stands below.
    let quantiles = &rung.raw;
    let show = |ps: Option<f64>| ps.map_or("–".into(), |ps| duration(ps.max(0.0) * 1e-12));
    let causes: Vec<String> = rung
        .causes
        .iter()
        .filter(|(_, share)| *share >= 0.05)
        .take(3)
        .map(|(cause, share)| format!("{} {:.0}%", report::words_of_cause(cause), 100.0 * share))
        .collect();
    // So few are no distribution, and their median is hardly typical.
    let few = (rung.n < FEW).then(|| format!("of {}", rung.n));
    let causes: Vec<String> = few.into_iter().chain(causes).collect();
    let mark = if rung.corrected.is_some() { "*" } else { " " };
    format!(
        "{:18} {:>9} {:>9} {:>9} {:>9} {:>9}{mark} {:8}  {}",
        rung.name,
        show(Some(rung.headline_ps)),
        show(Some(quantiles.median_ps)),
        show(quantiles.p99_ps),
        show(quantiles.p999_ps),
        show(Some(quantiles.max_ps)),
        picture(&rung.survival),
        causes.join(", ")
    )
    .trim_end()
    .to_owned()
        + "\n"
}

/// Eight bars: the level that one in 2, 8, 32 … 32,768 observations exceeds, as a multiple of the median. A bar of
/// full height is 3,000 times and more; a blank means too few observations.
fn picture(survival: &[[f64; 2]]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let level = |share: f64| {
        let reached = survival.iter().filter(|point| point[1] >= share * 0.999);
        reached.map(|point| point[0]).fold(0.0, f64::max)
    };
    let (median, rarest) = (level(0.5).max(1.0), survival.last().map_or(1.0, |point| point[1]));
    let shares = (0..8).map(|index| 0.5 / 4f64.powi(index));
    let bar = |share: f64| {
        if share < rarest {
            return ' ';
        }
        let decades = (level(share) / median).max(1.0).log10();
        BARS[((decades * 2.0) as usize).min(7)]
    };
    shares.map(bar).collect()
}

/// What comes below the rungs: bandwidths, what was left out, what could not be seen, warnings.
pub fn after(found: &TourFacts, warnings: &[Warning]) -> String {
    let mut text = String::from("\n");
    let threads = found.bandwidths.iter().map(|one| one.threads).max().unwrap_or(1);
    let mut seen: Vec<&str> = Vec::new();
    for bandwidth in &found.bandwidths {
        if seen.contains(&bandwidth.level.as_str()) {
            continue;
        }
        seen.push(&bandwidth.level);
        let rates = |threads: u32| {
            let of = |kind: &str| {
                let mut all = found.bandwidths.iter();
                let one = all
                    .find(|one| one.level == bandwidth.level && one.kind == kind && one.threads == threads);
                one.map_or("–".into(), |one| format!("{:.1}", one.bytes_per_second / 1e9))
            };
            format!("{:>7} read {:>7} write {:>7} copy GB/s", of("read"), of("write"), of("copy"))
        };
        text += &format!("{:10} 1 thread   {}\n", level(&bandwidth.level), rates(1));
        let is_known = |threads: u32| {
            found.bandwidths.iter().any(|one| one.level == bandwidth.level && one.threads == threads)
        };
        if threads > 1 && is_known(threads) {
            text += &format!("{:10} {threads:<2} threads {}\n", "", rates(threads));
        }
    }
    text += "\n";
    // Whoever compares a disk with another asks for size and way first; of the others the names say enough.
    let on_disk: Vec<&RungFacts> = found.rungs.iter().filter(|rung| rung.group == RungGroup::Disk).collect();
    for alike in on_disk.chunk_by(|a, b| a.what == b.what) {
        let names: Vec<&str> = alike.iter().map(|rung| rung.name.as_str()).collect();
        text += &format!("{:24} {}\n", names.join(", "), alike[0].what);
    }
    if !on_disk.is_empty() {
        text += "\n";
    }
    text += &left_out(&found.skipped);
    for blind in &found.coverage.blind {
        text += &format!("not seen: {blind}\n");
    }
    for warning in warnings {
        let said = |text: &str| words::capital(text);
        text += &format!("⚠ {}\n  {}\n", said(&warning.text), said(&warning.advice));
    }
    // More of it is a warning.
    if let Some(quiet) = found.noise.first().filter(|quiet| quiet.lost <= MUCH_LOST) {
        text += &format!(
            "Measured on processor {}, which gave {:.2}% of its time to something else.\n",
            quiet.cpu,
            100.0 * quiet.lost
        );
    }
    text += &format!(
        "{:.0} s in all. Times are less the clock's own; of those with * some was a wait for a processor (`lastrank report -v` has both).\n\
         Typical: the median of blocks of a millisecond. Tail: what one in 2, 8, 32 … 32,768 exceeds,\n\
         ▁ about the median, █ 3,000 times as much or more; `--json` has every number.\n",
        found.elapsed_s
    );
    text
}

/// `l1` as `L1 cache`.
fn level(code: &str) -> String {
    if code.starts_with('l') { format!("{} cache", code.to_uppercase()) } else { "Memory".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_times_of_one_kind() {
        let quantiles = |scale: f64| samples::RungQuantiles {
            median_ps: 4e9 * scale,
            p99_ps: Some(5e9 * scale),
            p999_ps: None,
            max_ps: 6e9 * scale,
        };
        let of = RungFacts {
            name: "switch".into(),
            headline_ps: 4e9,
            raw: quantiles(1.0),
            corrected: Some(quantiles(0.1)),
            ..RungFacts::default()
        };
        let row = rung(&of);
        assert!(row.contains("4.00 ms") && row.contains("6.00 ms*") && !row.contains("600"), "{row}");
    }

    #[test]
    fn a_short_tail_is_flat_a_long_one_rises_and_what_is_not_known_is_blank() {
        assert_eq!(picture(&[[100.0, 1.0], [101.0, 0.5], [102.0, 0.1], [110.0, 1e-5]]), "▁▁▁▁▁▁▁▁");
        let rising = picture(&[[100.0, 1.0], [100.0, 0.5], [1e3, 0.1], [1e5, 0.01]]);
        assert_eq!(rising, "▁▁▃     ");
        assert_eq!(picture(&[]), " ".repeat(8));
    }
}
