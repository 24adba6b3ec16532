//! `lastrank fidelity`: how like an application its replays are.

use std::path::Path;

use report::{Table, duration};
use samples::SiteKind;
use trace::fidelity::{Compared, Done, Fidelity, Ratio, Side, compare};
use trace::import::Options;
use trace::program::SETUP;

use super::import;
use crate::cli::FidelityArgs;
use crate::exit::{BrokenInput, Status};
use crate::output;

/// Compares, and prints a page of text. The status says whether the same operations and bytes were done.
pub fn run(args: &FidelityArgs) -> anyhow::Result<Status> {
    let (mut trace, _) = import::read(&args.application, &args.choice)?;
    let options = Options { choice: import::choice(&args.choice)?, ..Options::default() };
    let made = trace::import(&mut trace, &options);
    import::usable(&made, &args.application)?;
    let mut application = Side::of_trace(&trace, &made.done);
    let mut replays = Vec::new();
    for path in &args.replays {
        replays.push(side(path)?);
    }
    let found = compare(&mut application, &mut replays, trace.cost_ns.unwrap_or(0));
    output::print(&words(&found, &application, trace.cost_ns))?;
    let same = found.same_calls && found.same_bytes && found.failures == 0;
    Ok(if same { Status::Ok } else { Status::No })
}

/// What a run file holds, without what made the files before.
fn side(path: &Path) -> anyhow::Result<Side> {
    let run = store::read(path).map_err(|error| BrokenInput(error.to_string()))?;
    let mut side = Side::default();
    for sample in &run.samples {
        let Some(site) = run.sites.get(sample.site as usize) else { continue };
        if site.kind != SiteKind::Operation || site.labels.first().is_some_and(|label| label == SETUP) {
            continue;
        }
        // A read at the end of the file is a failure with ENODATA in the language, and 0 bytes to the application.
        let at_end = sample.errno == ppl::errno::number("ENODATA").unwrap_or(0);
        side.add(&Done {
            command: &site.operation,
            start: sample.start_ns,
            duration: Some(sample.duration_ps / 1000),
            bytes: sample.bytes,
            failed: sample.errno != 0 && !at_end,
        });
    }
    Ok(side)
}

fn words(found: &Fidelity, application: &Side, cost_ns: Option<u64>) -> String {
    let replays = found.elapsed.len();
    let first = match (found.same_calls && found.same_bytes, found.failures) {
        (true, 0) => {
            "The replay does the same operations and moves the same bytes, and none fails.".to_owned()
        }
        (true, failures) => format!("The replay does the same operations, but {failures} more fail."),
        (false, failures) => format!(
            "The replay differs: see the rows marked ≠{}.",
            if failures > 0 { format!(", and {failures} more operations fail") } else { String::new() }
        ),
    };
    let mut out = format!("{first}\n");
    let ratios: Vec<String> = found.elapsed.iter().map(|ratio| format!("{ratio:.2}")).collect();
    out += &format!(
        "It takes {} times as long as the application ({}).\n",
        ratios.join(", "),
        duration(application.elapsed as f64 / 1e9)
    );
    out += &match found.deviance {
        Some((low, high)) => format!(
            "Interval of deviance: one more replay takes {low:.2} to {high:.2} times as long (95 %, {replays} replays).\n"
        ),
        None => "From three replays on there is an interval of deviance.\n".to_owned(),
    };
    let mut table = Table::new(
        "Operations",
        &["<operation", "<", "application", "replay", "bytes", "median", "replay", "<ratio, 95 %"],
    );
    for row in &found.rows {
        table.push(false, cells(row));
    }
    out += &table.text();
    if let Some(cost) = cost_ns.filter(|_| found.rows.iter().any(|row| row.unusable)) {
        out += &format!(
            "\nShorter than what recording costs ({} a call): these durations of the application say nothing.\n",
            duration(cost as f64 / 1e9)
        );
    }
    out
}

fn cells(row: &Compared) -> [String; 8] {
    let same = row.calls.1.iter().all(|calls| *calls == row.calls.0)
        && row.bytes.1.iter().all(|bytes| *bytes == row.bytes.0);
    let time = |ns: u64| duration(ns as f64 / 1e9);
    let ratio = |ratio: Ratio| match ratio.interval {
        Some((low, high)) => format!("{:.2} ({low:.2} to {high:.2})", ratio.value),
        None => format!("{:.2}", ratio.value),
    };
    [
        row.command.clone(),
        if same { "=".into() } else { "≠".into() },
        row.calls.0.to_string(),
        row.calls.1.iter().map(u64::to_string).collect::<Vec<_>>().join(" "),
        row.bytes.0.to_string(),
        row.medians.map_or(String::new(), |(own, _)| time(own)),
        row.medians.map_or(String::new(), |(_, theirs)| time(theirs)),
        match (row.unusable, row.median) {
            (true, _) => "unusable".into(),
            (false, Some(median)) => ratio(median),
            (false, None) => String::new(),
        },
    ]
}
