//! `lastrank fidelity`: how like an application its replays are, as text and as a page.

mod chosen;
mod ratio;
mod said;
mod tree;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use report::words::unsound::{Unsound, headline};
use report::{AnswerSign, ReplayPage, SideOverTime, Table, answer_line, duration};
use samples::{Run, SiteKind};
use trace::fidelity::{Compared, Done, Fidelity, Known, Side, compare};
use trace::import::{Imported, Options};
use trace::ledger::{Ledger, Missing};
use trace::names::escape;
use trace::program::is_setup;
use trace::select::{Choice, ToldChoice};
use trace::undisturbed::Undisturbed;

use super::{import, ledger};
use crate::cli::FidelityArgs;
use crate::exit::{BrokenInput, Status};
use crate::output;
use crate::soundness;

/// Bins of the time of the longest side on the page.
const BINS: u64 = 200;

/// Compares, and prints a page of text. The status says whether the same operations and bytes were done.
pub fn run(args: &FidelityArgs) -> anyhow::Result<Status> {
    let (mut replays, mut told, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    let mut cut_short = Vec::new();
    for path in &args.replays {
        let run = store::read_whole(path).map_err(|error| BrokenInput(error.to_string()))?;
        let (of_run, at_end) = side(&run);
        cut_short.extend(soundness::unsound_of(&run, path).into_iter().filter(Unsound::is_incomplete));
        replays.push(of_run);
        ends.push(at_end);
        told.push(ToldChoice::of(&run.facts.program));
    }
    let (choice, of_program) = chosen::choice(args, &told)?;
    let (mut trace, about) = import::read(&args.application, &args.choice)?;
    let options = Options { choice, ..Options::default() };
    let made = trace::import(&mut trace, &options);
    import::usable(&made, &args.application)?;
    let mut application = Side::of_trace(&trace, &made.done);
    let further = further(args, &options)?;
    let cost_ns = trace.cost_ns.unwrap_or(0);
    let known = Known { cost_ns, further: &further, overlapping: &made.overlapping };
    let found = compare(&mut application, &mut replays, known);
    let tree = args.tree.as_ref().map(|folder| tree::compare(&trace, &made, folder)).transpose()?;
    let ledger = Ledger::of(&trace, &about, &options.choice, Some(&made.done));
    let missing = ledger.missing();
    let mut answer = headline(&cut_short).map_or(String::new(), |why| why + "\n")
        + &tree.as_ref().map_or(String::new(), tree::in_short)
        + &said::words((&found, missing), &application, further.len())
        + &ended(&ends)
        + &of_program;
    answer += &ledger::words(&ledger);
    answer += &ledger::several_calls(&ledger, found.rows.iter().map(|row| row.calls.0).sum());
    let ran = about.elapsed_ns.saturating_sub(Undisturbed::of(&trace).total());
    answer += &said::in_flight(&application, ran);
    if let Some(tree) = &tree {
        answer += &tree::words(tree);
    }
    let table = operations(&found);
    let mut text = format!("{answer}\n{}", table.text());
    if found.rows.iter().any(|row| row.unusable) {
        text += &format!(
            "\nunusable: shorter than four times what recording costs ({} a call), or than the step of a clock; such durations are not told.\n",
            duration(cost_ns as f64 / 1e9)
        );
    }
    if let Some(path) = &args.html {
        let inputs: Vec<&Path> = args.replays.iter().chain([&args.application]).map(|path| &**path).collect();
        output::refuse_overwriting(path, "--html", &inputs)?;
        let page = page(args, (&answer, table), (&application, &replays));
        store::replace(path, page.html().as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
        text += &format!("Page: {}\n", path.display());
    }
    if args.json {
        let of_ledger = (&found, &options.choice, &ledger);
        let mut told = document(of_ledger, &application, (ran, about.elapsed_ns), tree.as_ref());
        soundness::add_unsound(&mut told, &cut_short);
        output::json(&told)?;
    } else {
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let sign = match cut_short.is_empty() {
            true => sign(&found, missing, tree.as_ref()),
            false => AnswerSign::Bad,
        };
        if args.one_line {
            output::print(&format!("{first} {}\n", sign.mark()))?;
        } else {
            output::print_below(&answer_line(sign, first, output::screen_options()), rest)?;
        }
    }
    let same = found.same_calls && found.same_bytes && found.failures + found.successes == 0;
    let same_tree = tree.is_none_or(|tree| tree.differences.is_empty());
    Ok(match cut_short.is_empty() {
        false => Status::Incomplete,
        true if same && same_tree => ledger::status(&ledger),
        true => Status::No,
    })
}

/// The sign of the answer, which the exit status follows.
fn sign(found: &Fidelity, missing: Missing, tree: Option<&tree::Tree>) -> AnswerSign {
    let same_work = found.same_calls && found.same_bytes && found.failures + found.successes == 0;
    let same_tree = tree.is_none_or(|tree| tree.differences.is_empty());
    match missing {
        _ if !same_work || !same_tree => AnswerSign::Bad,
        Missing::Changes => AnswerSign::Bad,
        Missing::Reads => AnswerSign::Caution,
        Missing::Nothing => AnswerSign::Good,
    }
}

/// What was found, as documented in `docs/json.md`; times in seconds.
fn document(
    (found, choice, ledger): (&Fidelity, &Choice, &Ledger),
    application: &Side,
    (ran, recorded): (u64, u64),
    tree: Option<&tree::Tree>,
) -> serde_json::Value {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let operations: Vec<_> = found
        .rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "operation": row.command,
                "application": { "calls": row.calls.0, "bytes": row.bytes.0 },
                "replays": { "calls": row.calls.1, "bytes": row.bytes.1 },
                "median_ratio": row.median.map(|ratio| ratio.value),
                "unusable": row.unusable,
            })
        })
        .collect();
    serde_json::json!({
        "schema": "lastrank.fidelity/1",
        "application": {
            "elapsed_s": seconds(application.elapsed),
            "operations_s": seconds(application.busy()),
            "recorder_s": seconds(application.recorder),
            "ran_s": (ran > 0).then(|| seconds(ran)),
            "recorded_s": (recorded > 0).then(|| seconds(recorded)),
        },
        "only": choice.only.iter().map(|name| escape(name)).collect::<Vec<_>>(),
        "replays": found
            .elapsed
            .iter()
            .zip(&found.excess)
            .map(|(ratio, excess)| serde_json::json!({
                "elapsed_s": seconds(application.elapsed) * ratio,
                "ratio": ratio,
                "operations_ratio": excess.ratio,
                "within_5_percent": excess.within,
                "more_in_operations_s": excess.operations as f64 / 1e9,
                "more_between_s": excess.between as f64 / 1e9,
                "more_by_operation_s": excess.by_operation.iter().map(|(name, more)| {
                    (name.clone(), serde_json::json!(*more as f64 / 1e9))
                }).collect::<serde_json::Map<_, _>>(),
                "clock_s": seconds(excess.clock),
                "computed_behind_waits_s": excess.elsewhere.map(|found| seconds(found.behind_waits)),
                "at_most_ratio_elsewhere": excess.elsewhere.map(|found| found.at_most),
                "threads_waited": excess.threads_waited,
            }))
            .collect::<Vec<_>>(),
        "deviance": found.deviance.map(|(low, high)| [low, high]),
        "same_calls": found.same_calls,
        "same_bytes": found.same_bytes,
        "same_order": found.same_order,
        "failed_as_recorded": found.failed_as_recorded,
        "more_failures": found.failures,
        "more_successes": found.successes,
        "calls": ledger::document(ledger),
        "same_tree": tree.map(|tree| tree.differences.is_empty()),
        "operations": operations,
    })
}

/// For how long operations of further recordings of the application were in flight, in nanoseconds.
fn further(args: &FidelityArgs, options: &Options) -> anyhow::Result<Vec<u64>> {
    let busy = |path| {
        let (mut trace, _) = import::read(path, &args.choice)?;
        let made: Imported = trace::import(&mut trace, options);
        import::usable(&made, path)?;
        Ok(Side::of_trace(&trace, &made.done).busy())
    };
    args.also.iter().map(|path| busy(path)).collect()
}

/// The page: both over time, and the operations.
fn page(args: &FidelityArgs, (answer, table): (&str, Table), sides: (&Side, &[Side])) -> ReplayPage {
    let (application, replays) = sides;
    let longest = replays.iter().map(|one| one.elapsed).max().unwrap_or(0).max(application.elapsed);
    let bin = (longest / BINS).max(1);
    let bin_s = bin as f64 / 1e9;
    let over_time = |name: String, side: &Side| {
        let found = side.over_time(bin);
        SideOverTime {
            name,
            mebibytes: found.bytes.iter().map(|bytes| *bytes as f64 / bin_s / f64::from(1 << 20)).collect(),
            operations: found.operations.iter().map(|count| *count as f64 / bin_s).collect(),
            in_flight: found.in_flight,
        }
    };
    let mut all = vec![over_time("application".to_owned(), application)];
    all.extend((1..).zip(replays).map(|(number, side)| over_time(format!("replay {number}"), side)));
    let elapsed = |side: &Side| duration(side.elapsed as f64 / 1e9);
    let first = replays.first();
    let tiles = [
        Some(["Application".to_owned(), elapsed(application), "first operation to last".to_owned()]),
        first.map(|side| ["Replay".to_owned(), elapsed(side), "the first one".to_owned()]),
        Some([
            "In flight".to_owned(),
            format!("{:.2}", application.in_flight()),
            "application, mean".to_owned(),
        ]),
        first.map(|side| {
            ["In flight".to_owned(), format!("{:.2}", side.in_flight()), "replay, mean".to_owned()]
        }),
    ];
    let names = args.replays.iter().map(|path| format!("replay: {}", path.display()));
    ReplayPage {
        answer: answer.trim_end().to_owned(),
        place: std::iter::once(format!("application: {}", args.application.display())).chain(names).collect(),
        tiles: tiles.into_iter().flatten().collect(),
        operations: table,
        bin_s,
        sides: all,
    }
}

/// Why the screen of a replay counts more failures.
fn ended(ends: &[u64]) -> String {
    match ends.iter().max() {
        None | Some(0) => String::new(),
        Some(most) => format!(
            "A run counts {most} more as failed, as expected: reads at the end of a file (ENODATA), which gave the application \
             0 bytes.\n"
        ),
    }
}

/// What a run holds, without what made the files before, and how many of its reads were at the end of a file.
fn side(run: &Run) -> (Side, u64) {
    let mut at_ends = 0;
    let mut side = Side::default();
    let readings_ps = run.facts.clock.as_ref().map_or(0, |clock| clock.overhead.mean_ps.saturating_mul(2));
    let mut samples_of_rank: BTreeMap<u32, u64> = BTreeMap::new();
    for sample in &run.samples {
        let Some(site) = run.sites.get(sample.site as usize) else { continue };
        if site.kind != SiteKind::Operation || site.labels.first().is_some_and(|label| is_setup(label)) {
            continue;
        }
        *samples_of_rank.entry(sample.rank).or_default() += 1;
        // A read, or a copy, at the end of the file is a failure with ENODATA in the language, and 0 bytes to the application.
        let reads = matches!(site.operation.as_str(), "fread" | "fcopy");
        let at_end = reads && sample.errno == ppl::errno::number("ENODATA").unwrap_or(0);
        at_ends += u64::from(at_end);
        side.add(&Done {
            command: &site.operation,
            start: sample.start_ns,
            duration: Some(sample.duration_ps / 1000),
            bytes: sample.bytes,
            errno: if at_end { 0 } else { sample.errno },
            rank: sample.rank,
        });
    }
    side.clock = samples_of_rank.into_values().max().unwrap_or(0).saturating_mul(readings_ps) / 1000;
    (side, at_ends)
}

fn operations(found: &Fidelity) -> Table {
    let mut table = Table::new(
        "Operations",
        &["<operation", "<", "calls", "replay", "bytes", "median", "replay", "<ratio (95%)"],
    );
    for row in &found.rows {
        table.push(false, cells(row));
    }
    table
}

/// The counts of all replays; once where they are the same.
fn each(counts: &[u64]) -> String {
    let (one, further) = counts.split_first().unwrap_or((&0, &[]));
    let all: Vec<String> = counts.iter().map(u64::to_string).collect();
    if further.iter().all(|other| other == one) { one.to_string() } else { all.join(" ") }
}

fn cells(row: &Compared) -> [String; 8] {
    let same = row.calls.1.iter().all(|calls| *calls == row.calls.0)
        && row.bytes.1.iter().all(|bytes| *bytes == row.bytes.0);
    let time = |ns: u64| duration(ns as f64 / 1e9);
    [
        row.command.clone(),
        if same { "=".into() } else { "≠".into() },
        row.calls.0.to_string(),
        each(&row.calls.1),
        row.bytes.0.to_string(),
        row.medians.filter(|_| !row.unusable).map_or("–".into(), |(own, _)| time(own)),
        row.medians.filter(|(_, theirs)| *theirs > 0).map_or("–".into(), |(_, theirs)| time(theirs)),
        match (row.unusable, row.median) {
            (true, _) => "unusable".into(),
            (false, Some(median)) => ratio::told(median),
            (false, None) => String::new(),
        },
    ]
}
