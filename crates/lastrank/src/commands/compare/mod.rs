//! `lastrank compare`: estimates the factor by which a new system is slower than a baseline one.

mod fail_if;
mod markdown;
mod several;
mod sides;
mod single;
mod summed;
mod text;
mod unlike;

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use fail_if::FailIf;
use markdown::Summary;
use report::comparison::{ComparedSample, ComparisonReport};
use report::words::comparison::{OTHER_WORK, Outcome};
use report::words::unsound::headline;
use report::{AnswerSign, CompareAnswer, Table, Unit, answer_line, confidence, fixed, sentence, words};
use results::RowRatios;
use serde_json::{Value, json};
use single::{Single, measured_median};
use tail::congestion::{CompareOptions, Comparison, SCHEMA, compare_series, single_run_of};
use tail::{Gev, Interval, Likelihood, Series};

use crate::circumstances::{confined_differently, disturbed};
use crate::cli::CompareArgs;
use crate::commands::report::write_html;
use crate::exit::Status;
use crate::output;
use crate::soundness;
use crate::values::{self, Values, read_pair, why_not_comparable};
use crate::working::Working;

/// Below so many new runs each is judged by itself.
const FEWEST: usize = 10;

/// What all tables say of runs whose samples were not read.
const SUMMED: &str = "The ratio by all pairs is that of the histograms in the footers: it is off by 0.0005 at most, which its \
                      interval allows for. --exact reads the samples.";

/// Compare two runs; with `--fail-if`, the exit status says whether the new one is too slow.
pub fn run(args: &CompareArgs) -> anyhow::Result<Status> {
    let asked = args.fail_if.as_deref().map(FailIf::of).transpose()?;
    let limit = asked.as_ref().and_then(FailIf::factor);
    if let Some(page) = &args.output {
        let files = [args.quiet.as_path(), &args.new];
        let files: Vec<&Path> = files.into_iter().chain(args.more.iter().map(PathBuf::as_path)).collect();
        output::refuse_overwriting(page, "-o", &files)?;
        output::refuse_page_as(page)?;
    }
    let _working = Working::at("comparing");
    if !(args.level > 0.0 && args.level < 1.0) {
        bail!("--level {}: between 0 and 1, for example 0.95", args.level);
    }
    let is_of_two = args.more.is_empty() && !args.phases && !sides::are_folders(args)?;
    if args.markdown && !is_of_two {
        bail!("--markdown is the summary of two files; of runs row by row and of directories --json has all");
    }
    if !args.more.is_empty() || args.phases {
        return several::run(args);
    }
    if !is_of_two {
        if let Some(FailIf::OfNew(condition)) = &asked {
            bail!(
                "--fail-if {}: it is of one run, and {} holds several; directories are compared by `factor > 1.05`",
                condition.text,
                args.new.display()
            );
        }
        return sides::run(args, limit);
    }
    if args.statistic.is_some() {
        bail!(
            "--statistic makes one number of each run of a directory; two runs are compared by all their values"
        );
    }
    let is_of_new = asked.as_ref().is_some_and(|asked| asked.factor().is_none());
    let ([baseline, new], unmatched, summed) = both(args, is_of_new)?;
    if baseline.seconds != new.seconds {
        let plain = if baseline.seconds { &new } else { &baseline };
        bail!("the numbers of {} have no unit: say which, as in `--unit ms`", plain.name);
    }
    let of_values = |values: &Values| if args.json { values.warnings() } else { values.cautions() };
    let mut warnings: Vec<String> = [&baseline, &new].into_iter().flat_map(of_values).collect();
    warnings.extend(unmatched);
    warnings.extend(why_not_comparable(&baseline, &new));
    warnings.extend(confined_differently(&baseline, &new));
    warnings.extend(disturbed(&baseline, &new));
    if let Some(empty) =
        [&baseline, &new].into_iter().find(|values| values.numbers.is_empty() && summed.is_none())
    {
        let why = anyhow!("{} has no value that could be compared", empty.name);
        return Err(soundness::blamed_on(&values::unsound([&baseline, &new]), why));
    }
    let news = summed.as_ref().map_or(new.numbers.len(), |found| found.new.n);
    let compared = if news < FEWEST {
        if args.one_line && baseline.numbers.len() >= FEWEST {
            bail!(
                "-q: the fewer than {FEWEST} values of {} are judged one by one, each in a line of its own; leave out -q",
                new.name
            );
        }
        if args.output.is_some() {
            bail!(
                "-o: a page compares two samples; {} has {} of at least {FEWEST} values",
                new.name,
                new.numbers.len()
            );
        }
        single_runs(args, &baseline, &new, (&warnings, limit))
            .map(|lower| Compared { lower, other_work: None })
    } else {
        samples(args, [&baseline, &new], summed, (&warnings, limit))
    };
    let compared = compared.map_err(|why| soundness::blamed_on(&values::unsound([&baseline, &new]), why))?;
    let unsound = values::unsound([&baseline, &new]);
    // Times of other work are no reason to fail or to pass; what the new run must keep by itself is judged.
    let is_relative = asked.as_ref().is_some_and(FailIf::is_relative);
    let other_work = compared.other_work.filter(|_| is_relative);
    match (asked, headline(&unsound).or(other_work)) {
        (Some(_), Some(why)) => {
            eprintln!("error: {} is not judged: {why}", args.fail_if.as_deref().unwrap_or_default());
            Ok(Status::Incomplete)
        }
        (Some(FailIf::OfNew(condition)), None) => fail_if::of_new(&condition, args, [&baseline, &new]),
        _ => {
            let of = match news {
                // Each has an interval of its own, and the lowest decides.
                n @ 2..FEWEST => format!(
                    "the lowest interval of the {n} single values begins at {:.4} (all {n} must lie above; from {FEWEST} values on \
                     they are judged together)",
                    compared.lower
                ),
                _ => begins(compared.lower, "these two runs alone, not what differs from run to run"),
            };
            Ok(judged(args, limit, compared.lower, &of).unless(&unsound))
        }
    }
}

/// Both samples, what of them has no counterpart, and the comparison where footers tell it.
fn both(
    args: &CompareArgs,
    is_of_new: bool,
) -> anyhow::Result<([Values; 2], Vec<String>, Option<Comparison>)> {
    if let Some((both, found)) = summed::of(args, is_of_new) {
        return Ok((both, Vec::new(), Some(found)));
    }
    let (both, unmatched) = read_pair([&args.quiet, &args.new], &args.choice)?;
    Ok((both, unmatched, None))
}

/// The exit status of a condition, which fails where even the lower end of the interval is above it; `of` says where
/// that end is.
fn judged(args: &CompareArgs, limit: Option<f64>, lower: f64, of: &str) -> Status {
    let too_slow = limit.is_some_and(|limit| lower > limit);
    if let Some(condition) = &args.fail_if {
        let word = if too_slow { "yes" } else { "not shown" };
        output::say(format_args!("{condition}: {word}; {of}\n"));
    }
    if too_slow { Status::No } else { Status::Ok }
}

/// Where an interval begins, and what it `covers`.
fn begins(lower: f64, covers: &str) -> String {
    format!("the interval begins at {lower:.4} (it is about {covers})")
}

/// The condition of `--fail-if` on how much slower the new run is, and whether it failed.
fn condition_and_outcome(args: &CompareArgs, limit: Option<f64>, lower: f64) -> Option<(&str, bool)> {
    let limit = limit?;
    Some((args.fail_if.as_deref()?, lower > limit))
}

/// Compare two samples; `summed` is what their footers say, where no value was read.
fn samples(
    args: &CompareArgs,
    [baseline, new]: [&Values; 2],
    summed: Option<Comparison>,
    (warnings, limit): (&[String], Option<f64>),
) -> anyhow::Result<Compared> {
    let unsound = values::unsound([baseline, new]);
    let mut rows = unlike::rows(baseline, new);
    let options = CompareOptions { level: args.level, seed: args.seed, ..CompareOptions::default() };
    let exact = summed.is_none();
    let of_values = || {
        compare_series([&baseline.series(), &new.series()], &options)
            .with_context(|| format!("cannot compare {} with {}", new.name, baseline.name))
    };
    let found = summed.map_or_else(of_values, Ok)?;
    if let Some(rows) = &mut rows {
        rows.compared([found.baseline.median, found.new.median], found.median_ratio(), found.p99_ratio);
    }
    let lower = found.sure_factor();
    let duration = found.new.median;
    let of = |baseline_fit| single_run_of((&baseline.numbers, &baseline_fit), duration, args.level).ok();
    let single = found.baseline.distribution.and_then(of).map(|interval| Single { duration, interval });
    if args.json {
        let mut object = words::json(&found)?;
        add_source(&mut object, baseline, new, warnings);
        soundness::add_unsound(&mut object, &unsound);
        object["unlike_settings"] = json!(unlike::settings(baseline, new));
        let other_work = words::comparison::of_other_work(rows.as_ref()).map(|text| format!("{text}."));
        if let Some(text) = &other_work {
            object["code"] = OTHER_WORK.into();
            object["text"] = text.as_str().into();
        }
        object["other_work"] = json!(other_work);
        object["exact"] = exact.into();
        object["rows"] = json!(rows);
        object["single_run"] = single.as_ref().map_or(Value::Null, Single::object);
        output::json(&object)?;
    } else if args.markdown {
        let judged = condition_and_outcome(args, limit, lower);
        let summary = Summary { baseline, new, warnings, rows: rows.as_ref(), judged };
        output::print_whole(&summary.of_samples(&found))?;
    } else if args.one_line {
        output::print_whole(&in_one_line([baseline, new], rows.as_ref(), &found))?;
    } else {
        let unlike = unlike::settings(baseline, new);
        let answer = CompareAnswer {
            names: [&baseline.name, &new.name],
            seconds: baseline.seconds,
            found: &found,
            rows: rows.as_ref(),
            tripped: limit.is_some_and(|limit| lower > limit),
            unlike: &unlike,
            unsound: &unsound,
            warnings,
            verbose: args.verbose,
        };
        output::print_screen(&(took(baseline, new) + &answer.screen(output::screen_options())))?;
        if args.verbose {
            output::print(&text::text([baseline, new], (&found, rows.as_ref()), single.as_ref()))?;
            if !exact {
                output::print(&sentence("", SUMMED))?;
            }
        }
    }
    if let Some(page) = &args.output {
        let unit = baseline.unit(found.baseline.median);
        let [baseline, new] =
            [baseline, new].map(|arm| ComparedSample { name: &arm.name, values: &arm.numbers });
        let other_work = words::comparison::of_other_work(rows.as_ref());
        let report = ComparisonReport::of(&baseline, &new, &found, unit);
        write_html(&report.with_unsound(unsound).with_other_work(other_work).html(), page)?;
        if !args.json && !args.one_line && !args.markdown {
            output::print(&format!("\nSaved: {}\n", page.display()))?;
        }
    }
    let other_work = words::comparison::of_other_work(rows.as_ref());
    Ok(Compared { lower, other_work })
}

/// `3.77 times faster: k = 0.265 (0.216–0.319). ⚠ set unlike: baseline bs=4 KiB; new bs=64 KiB`
fn in_one_line([baseline, new]: [&Values; 2], rows: Option<&RowRatios>, found: &Comparison) -> String {
    if let Some(wrong) = headline(&values::unsound([baseline, new])) {
        return format!("{wrong} ✖\n");
    }
    let (outcome, answer) = words::comparison::answer(rows, found);
    let sign = match (outcome, unlike::settings(baseline, new).as_slice()) {
        (_, [old, other]) => format!("⚠ set unlike: baseline {old}; new {other}"),
        (Outcome::Caution, _) => "⚠".to_owned(),
        (Outcome::Good, _) => "✔".to_owned(),
    };
    format!("{answer}{}. {sign}\n", if rows.is_some() && !found.identical { "; one run a side" } else { "" })
}

/// What a comparison came to.
struct Compared {
    /// The lower end of the factor that is quoted.
    lower: f64,
    /// Of runs of other work: why their times are no comparison of systems.
    other_work: Option<String>,
}

/// Judge each of a few new runs alone; the smallest lower end of k.
fn single_runs(
    args: &CompareArgs,
    baseline: &Values,
    new: &Values,
    (warnings, limit): (&[String], Option<f64>),
) -> anyhow::Result<f64> {
    let cannot = || format!("cannot compare {} with {}", new.name, baseline.name);
    let distribution: Gev =
        Likelihood::new(&Series::clean(&baseline.numbers)).with_context(cannot)?.fit().distribution();
    let median = measured_median(&baseline.numbers).with_context(cannot)?;
    let mut found = Vec::new();
    for &duration in &new.numbers {
        let interval =
            single_run_of((&baseline.numbers, &distribution), duration, args.level).with_context(cannot)?;
        found.push(Single { duration, interval });
    }
    let lower = found.iter().map(|single| single.interval.lower).fold(f64::INFINITY, f64::min);
    if args.json {
        let mut object = json!({
            "schema": SCHEMA,
            "code": "single-runs",
            "level": args.level,
            "law": distribution,
            "runs": found.iter().map(Single::object).collect::<Vec<_>>(),
        });
        add_source(&mut object, baseline, new, warnings);
        soundness::add_unsound(&mut object, &values::unsound([baseline, new]));
        output::json(&object)?;
        return Ok(lower);
    }
    if args.markdown {
        let judged = condition_and_outcome(args, limit, lower);
        let summary = Summary { baseline, new, warnings, rows: None, judged };
        output::print_whole(&summary.of_singles(&found, median, args.level))?;
        return Ok(lower);
    }
    let unit = baseline.unit(median);
    let mut text = unsound_line(&[baseline, new]);
    text += &took(baseline, new);
    text += &heads(baseline, new, unit, median);
    text += &said(warnings);
    let from = format!("{} from", confidence(args.level));
    let mut table = Table::new(
        "Factor k of each new run by itself",
        &["run", "duration", "k at the median", &from, "to", "<"],
    );
    for (at, single) in found.iter().enumerate() {
        let Interval { lower, upper, .. } = single.interval;
        let verdict = match (lower > 1.0, upper < 1.0) {
            (true, _) => "slower",
            (_, true) => "faster",
            _ => "as the baseline",
        };
        table.push(
            false,
            [
                (at + 1).to_string(),
                unit.show(single.duration),
                fixed(single.duration / median, 3),
                fixed(lower, 3),
                fixed(upper, 3),
                verdict.into(),
            ],
        );
    }
    text += &format!("\n{}\n", table.text());
    text += &sentence(
        "Advice: ",
        &format!("One run says little; from {FEWEST} new runs on, they are judged together."),
    );
    output::print(&text)?;
    Ok(lower)
}

/// What was taken of files that other tools made.
fn took(baseline: &Values, new: &Values) -> String {
    let lines = [baseline, new].into_iter().filter_map(|arm| arm.took.as_ref());
    samples::visible(&lines.map(|took| sentence("", took)).collect::<String>()).into_owned()
}

fn add_source(object: &mut Value, baseline: &Values, new: &Values, warnings: &[String]) {
    object["source"] = json!({
        "quiet": baseline.name,
        "new": new.name,
        "unit": baseline.seconds.then_some("s"),
        "took": [baseline.took, new.took],
    });
    object["warnings"] = json!(warnings);
}

/// The first line where a run is not sound.
fn unsound_line(of: &[&Values]) -> String {
    let found = headline(&values::unsound(of.iter().copied()));
    found.map_or(String::new(), |text| answer_line(AnswerSign::Bad, &text, output::screen_options()))
}

fn heads(baseline: &Values, new: &Values, unit: Unit, baseline_median: f64) -> String {
    let line = |title: &str, values: &Values, median: Option<f64>| {
        let median = median.map_or(String::new(), |median| format!(", median {}", unit.show(median)));
        let count = values.numbers.len();
        let plural = if count == 1 { "" } else { "s" };
        format!("{title}: {}, {count} value{plural}{median}\n", values.name)
    };
    line("baseline", baseline, Some(baseline_median)) + &line("new", new, None)
}

fn said(warnings: &[String]) -> String {
    warnings.iter().map(|warning| sentence("warning: ", warning)).collect()
}
