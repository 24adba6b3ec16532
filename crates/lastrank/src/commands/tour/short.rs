//! The tour as a terminal has room for it: the rungs that most people ask for, and the answer below them.

use report::words;
use samples::units::duration;
use samples::{RungFacts, TourFacts, Warning};

use super::left_out::left_out;

/// The rungs that are shown, by their codes.
const SHOWN: [&str; 13] = [
    "l1",
    "l2",
    "l3",
    "memory",
    "page_fault",
    "getpid",
    "open_close",
    "context_switch",
    "fork",
    "page_cache",
    "disk_read",
    "disk_write",
    "fsync",
];

/// What the answer calls some of them, in its order.
const ANSWERED: [(&str, &str); 5] = [
    ("l1", "a load from L1"),
    ("memory", "from memory"),
    ("getpid", "getpid"),
    ("disk_read", "a disk read"),
    ("fsync", "write + fsync"),
];

/// Names of the columns, in one line.
pub fn heading(columns: usize) -> String {
    let line = |cause: &str| format!("{:15} {:>9} {:>9} {:>9}  {cause}", "", "typical", "p99", "max");
    let whole = line("slowest 1%: cause");
    if whole.chars().count() <= columns { whole + "\n" } else { line("cause") + "\n" }
}

/// One rung in a line of so many columns: the number to quote, p99, the slowest, the causes that there is room for.
pub fn rung(rung: &RungFacts, columns: usize) -> Option<String> {
    if !SHOWN.contains(&rung.code.as_str()) {
        return None;
    }
    let show = |ps: f64| duration(ps.max(0.0) * 1e-12);
    let mark = if rung.corrected.is_some() { "*" } else { " " };
    let mut line = format!(
        "{:15} {:>9} {:>9} {:>9}{mark}",
        rung.name,
        show(rung.headline_ps),
        // One of calls timed one by one, where the typical time is of many together, can be below it: it says nothing.
        rung.raw.p99_ps.filter(|p99| *p99 >= rung.headline_ps).map_or("–".into(), show),
        show(rung.raw.max_ps)
    );
    let causes = rung.causes.iter().filter(|(_, share)| *share >= 0.05);
    let told =
        causes.map(|(cause, share)| format!("{} {:.0}%", report::words_of_cause(cause), 100.0 * share));
    for (at, cause) in told.enumerate() {
        let more = format!("{} {cause}", if at == 0 { "" } else { "," });
        if line.chars().count() + more.chars().count() > columns {
            break;
        }
        line += &more;
    }
    Some(line.trim_end().to_owned() + "\n")
}

/// Below the rungs: the answer, what limits it, how to see the rest.
pub fn after(found: &TourFacts, warnings: &[Warning], rest: &str) -> String {
    let of = |code: &str| found.rungs.iter().find(|rung| rung.code == code);
    let told = ANSWERED.iter().filter_map(|(code, name)| {
        Some(format!("{name} {}", duration(of(code)?.headline_ps.max(0.0) * 1e-12)))
    });
    let told: Vec<String> = told.collect();
    let mut text = String::new();
    if !told.is_empty() {
        text += &format!("Typical: {}.\n", told.join(", "));
    }
    // Rows that are not there nobody misses who does not know them.
    if SHOWN.iter().any(|code| of(code).is_none()) {
        // Sizes are in no row of these.
        let rungs: Vec<String> =
            found.skipped.iter().filter(|one| !one.contains(": from ")).cloned().collect();
        let lines = left_out(&rungs);
        text += &lines.lines().map(|line| format!("⚠ {}\n", words::capital(line))).collect::<String>();
    }
    text.extend(warnings.first().map(|first| format!("⚠ {}\n", words::capital(&first.text))));
    let further = match warnings.len() {
        0 | 1 => String::new(),
        2 => " 1 more warning,".into(),
        all => format!(" {} more warnings,", all - 1),
    };
    let hidden = found.rungs.iter().filter(|rung| !SHOWN.contains(&rung.code.as_str())).count();
    let waited = found.rungs.iter().any(|rung| rung.corrected.is_some());
    let mark = if waited { " * some of it was a wait for a processor." } else { "" };
    text + &format!(
        "{:.0} s.{mark}{further} {hidden} more rung{}, bandwidths, what was left out: {rest}\n",
        found.elapsed_s,
        if hidden == 1 { "" } else { "s" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str, headline_ps: f64) -> RungFacts {
        let raw =
            samples::RungQuantiles { p99_ps: Some(2.0 * headline_ps), max_ps: 9e9, ..Default::default() };
        let causes = vec![("run_queue".to_owned(), 0.6), ("unattributed".to_owned(), 0.4)];
        RungFacts { code: code.into(), name: code.into(), headline_ps, raw, causes, ..RungFacts::default() }
    }

    #[test]
    fn a_rung_has_one_line_at_any_width_and_the_causes_that_fit() {
        for columns in [60, 80, 120] {
            let line = rung(&of("l1", 1.2e3), columns).expect("it is shown");
            assert!(line.trim_end().chars().count() <= columns && line.contains("1.20 ns"), "{line}");
            assert_eq!(line.contains(','), columns > 60, "{line}");
        }
        assert_eq!(rung(&of("spawn", 1.0), 80), None);
        assert!([60, 80].iter().all(|columns| heading(*columns).trim_end().chars().count() <= *columns));
    }

    #[test]
    fn the_answer_is_the_last_that_stands_there() {
        let rungs = vec![of("l1", 1.2e3), of("memory", 3e5), of("spawn", 1e9), of("fsync", 4e9)];
        let skipped = vec!["getpid: no time was left".into(), "Disk read: no time was left".into()];
        let found = TourFacts { rungs, skipped, elapsed_s: 41.6, ..TourFacts::default() };
        let warning =
            |code: &str| Warning { code: code.into(), text: format!("{code} is"), advice: "wait".into() };
        let text = after(&found, &[warning("processor-busy"), warning("load-changed")], "-v");
        assert_eq!(
            text,
            "Typical: a load from L1 1.20 ns, from memory 300 ns, write + fsync 4.00 ms.\n⚠ Left out, no time was left: getpid, Disk \
             read\n⚠ Processor-busy is\n42 s. 1 more warning, 1 more rung, bandwidths, what was left out: -v\n"
        );
    }
}
