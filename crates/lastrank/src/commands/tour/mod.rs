//! `lastrank try`: this machine from L1 to fsync, one rung a line.

mod left_out;
mod lines;
mod short;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use probes::{Tour, TourProgress, tour};
use samples::{FACTS_SCHEMA, Facts, Judgements, MachineFacts, Run, RungFacts, TourFacts, Warning, units};

use crate::cli::TryArgs;
use crate::commands::redact::sections;
use crate::commands::report::write_page;
use crate::commands::run::{stamped, versions};
use crate::commands::way_on;
use crate::exit::Status;
use crate::{built, output, terminal};

/// Climb the ladder, printing each rung as it is done; keep every sample, write the page.
pub fn run(args: &TryArgs) -> anyhow::Result<Status> {
    let directory: &Path = &args.directory;
    if !directory.is_dir() {
        bail!("{} is no directory; name one on the disk to be tried", directory.display());
    }
    if !(5..=3600).contains(&args.limit) {
        bail!("--limit {}: a tour takes 5 to 3600 seconds", args.limit);
    }
    let (samples, page) = places(args)?;
    built::warn();
    let described = machine::describe_before(&[directory]);
    // On a terminal as much as it has room for; whoever reads a pipe has all.
    let columns = terminal::columns().unwrap_or(usize::MAX);
    let is_short = !args.verbose && terminal::is_watched(terminal::Stream::Output);
    if !args.json {
        let heading = if is_short { short::heading(columns) } else { lines::heading() };
        output::print(&format!("{}\n\n{heading}", machine::lines(&described).join("\n")))?;
    }
    let started = SystemTime::now();
    let mut lost = Ok(());
    let found = tour(&described, directory, Duration::from_secs(args.limit), &mut |progress| {
        if let (TourProgress::Rung(rung), false, true) = (progress, args.json, lost.is_ok()) {
            let line = if is_short { short::rung(rung, columns) } else { Some(lines::rung(rung)) };
            lost = line.map_or(Ok(()), |line| output::print(&line));
        }
    });
    lost?;
    let after = machine::describe(&[directory]);
    let warnings = warnings(&described, &after, &found.facts);
    if args.json {
        output::json(&found.facts)?;
    } else if is_short {
        output::print(&short::after(&found.facts, &warnings, "-v"))?;
    } else {
        output::print(&lines::after(&found.facts, &warnings))?;
    }
    let Some(samples) = samples else { return Ok(Status::Ok) };
    let run = as_run(&described, &found, started, warnings);
    store::write(&samples, &run)
        .with_context(|| format!("the samples could not be kept in {}", samples.display()))?;
    let gap = if is_short { "" } else { "\n" };
    if let Some(page) = &page {
        write_page(&report::build(&run, &report::ReportOptions::default()), page)?;
    }
    let (kept, page) = (samples.display().to_string(), page.map(|page| page.display().to_string()));
    let files = report::WrittenFiles { run: Some(&kept), page: page.as_deref() };
    let saved = report::saved(files, output::screen_options().width);
    if !args.json {
        output::print(&format!("{gap}{saved}"))?;
        // That has all rungs with what one operation is, and figures of their tails.
        output::print_whole(&way_on::text("report", &kept, &["-v"]))?;
    }
    Ok(Status::Ok)
}

/// The run file and the page; without a run file there is no page either, unless it is named. With
/// `--json` alone nothing is written.
fn places(args: &TryArgs) -> anyhow::Result<(Option<PathBuf>, Option<PathBuf>)> {
    let none = |path: &PathBuf| path.as_os_str() == "none";
    let samples = match &args.output {
        Some(path) if none(path) => None,
        Some(path) => Some(path.clone()),
        None if args.json => None,
        None => Some(stamped("try")),
    };
    let page = match (&args.report, &samples) {
        (Some(path), _) if none(path) => None,
        (Some(_), None) => bail!("--report needs the samples: leave `-o none` out, or name a file with `-o`"),
        (Some(path), Some(_)) => Some(path.clone()),
        (None, samples) => samples.as_ref().map(|path| path.with_extension("html")),
    };
    samples.as_deref().map_or(Ok(()), output::refuse_other_kind)?;
    for (path, option) in samples.iter().map(|path| (path, "-o")).chain(page.iter().map(|p| (p, "--report")))
    {
        output::refuse_overwriting(path, option, &[])?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            bail!("there is no directory {}; name another place with `{option} FILE`", folder.display());
        }
    }
    Ok((samples, page))
}

fn warnings(before: &MachineFacts, after: &MachineFacts, found: &TourFacts) -> Vec<Warning> {
    let judged = MachineFacts { clock: Some(found.clock.clone()), ..before.clone() };
    let findings = machine::judge(&judged).into_iter();
    // What limits a number that is shown is told before what may.
    let mut all: Vec<Warning> = few_values(found).into_iter().chain(mostly_waited(found)).collect();
    all.extend(findings.filter(|one| one.severity > machine::Severity::Note).map(Warning::from));
    all.extend(machine::compare(before, after));
    all.extend(shared_processor(found));
    all.extend(single_against_many(found));
    all
}

/// Rungs that could be timed a few times only: their median is hardly more than one value.
fn few_values(found: &TourFacts) -> Option<Warning> {
    const FEW: usize = 20;
    let few = found.rungs.iter().filter(|rung| rung.n < FEW && rung.headline_ps > 0.0);
    let all: Vec<String> = few.map(|rung| format!("{} ({})", rung.name, rung.n)).collect();
    (!all.is_empty()).then(|| Warning {
        code: "few-values".into(),
        text: format!("timed a few times only, so that no time of it is typical: {}", all.join(", ")),
        advice: "give it more time (--limit), or try again on a quieter machine".into(),
    })
}

/// Rungs whose typical time is in good part a wait for a processor.
fn mostly_waited(found: &TourFacts) -> Option<Warning> {
    const TIMES: f64 = 1.5;
    let told = |rung: &RungFacts| {
        let less = rung.corrected.as_ref()?.median_ps;
        let waited = less > 0.0 && rung.raw.median_ps > TIMES * less;
        waited.then(|| {
            format!(
                "{} {} of {}",
                rung.name,
                units::duration(less * 1e-12),
                units::duration(rung.raw.median_ps * 1e-12)
            )
        })
    };
    let all: Vec<String> = found.rungs.iter().filter_map(told).collect();
    (!all.is_empty()).then(|| Warning {
        code: "typical-wait".into(),
        text: format!("typical times are in part a wait for a processor; without it: {}", all.join(", ")),
        advice: "try again on a quieter machine".into(),
    })
}

/// That the quietest processor was not there for the measurement alone.
fn shared_processor(found: &TourFacts) -> Option<Warning> {
    let quiet = found.noise.first().filter(|quiet| quiet.lost > lines::MUCH_LOST)?;
    let text =
        format!("processor {} gave {:.0}% of its time to something else", quiet.cpu, 100.0 * quiet.lost);
    Some(Warning { code: "shared-processor".into(), text, advice: "try again on a quieter machine".into() })
}

/// Rungs of which one operation alone takes a quarter longer than one of many, in one warning. A smaller difference is in
/// the JSON.
fn single_against_many(found: &TourFacts) -> Option<Warning> {
    const LONGER: f64 = 1.25;
    let show = |ps: f64| units::duration(ps * 1e-12);
    let told = |rung: &RungFacts| {
        let check = rung.check.filter(|check| check.single_ps > LONGER * check.amortised_ps)?;
        Some(format!("{} {} for {}", rung.name, show(check.single_ps), show(check.amortised_ps)))
    };
    let all: Vec<String> = found.rungs.iter().filter_map(told).collect();
    (!all.is_empty()).then(|| Warning {
        code: "single-against-amortised".into(),
        text: format!("one operation alone takes longer than one of many in a row: {}", all.join(", ")),
        advice:
            "either many in a row overlap, which only the processor knows, or something else was at work: \
                 try again on a quieter machine"
                .into(),
    })
}

/// The tour as a run: every observation a sample, what is not a sample among the facts.
fn as_run(machine: &MachineFacts, found: &Tour, started: SystemTime, warnings: Vec<Warning>) -> Run {
    let (sites, samples) = found.samples();
    let (described, file_systems) = sections(machine);
    let seconds = started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let facts = Facts {
        schema: FACTS_SCHEMA.into(),
        name: "try".into(),
        seed: 1,
        ranks: 1,
        backend: "posix".into(),
        communicator: "single".into(),
        started: units::utc(seconds),
        elapsed_s: found.facts.elapsed_s,
        command_line: crate::output::command_line().collect(),
        machine: Some(described),
        coverage: Some(found.facts.coverage.clone()),
        clock: Some(found.facts.clock.clone()),
        file_systems,
        versions: versions(),
        complete: true,
        judgements: Some(Judgements::default()),
        warnings,
        tour: Some(found.facts.clone()),
        report: [("samples".to_owned(), "Disk read".to_owned())].into(),
        ..Facts::default()
    };
    Run { facts, sites, samples }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::RungQuantiles;

    #[test]
    fn typical_times_of_few_values_and_of_waits_are_named() {
        let of = |median_ps: f64| RungQuantiles { median_ps, ..RungQuantiles::default() };
        let rung = |name: &str, n: usize, less: Option<f64>| RungFacts {
            name: name.into(),
            n,
            headline_ps: 26e6,
            raw: of(26e6),
            corrected: less.map(of),
            ..RungFacts::default()
        };
        let rungs = vec![rung("fork", 1, None), rung("stat", 20, Some(1e6)), rung("pipe", 900, Some(25e6))];
        let found = TourFacts { rungs, ..TourFacts::default() };
        let [few, waited] =
            [few_values(&found), mostly_waited(&found)].map(|one| one.expect("a warning").text);
        assert_eq!(few, "timed a few times only, so that no time of it is typical: fork (1)");
        assert_eq!(
            waited,
            "typical times are in part a wait for a processor; without it: stat 1.00 µs of 26.0 µs"
        );
    }
}
