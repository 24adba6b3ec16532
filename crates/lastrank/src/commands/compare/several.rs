//! Several runs beside each other, row by row.

use std::path::PathBuf;

use anyhow::bail;
use report::many::{NamedRun, SeveralRuns};
use report::words::unsound::Unsound;
use results::{Columns, ResultRow};
use samples::Facts;

use crate::cli::CompareArgs;
use crate::commands::report::write_html;
use crate::exit::Status;
use crate::output;

/// In which settings the runs differ, each in its own words; none where they do not.
fn unlike(runs: &[NamedRun], facts: &[Facts]) -> Option<String> {
    let found = results::differing_settings(&facts.iter().collect::<Vec<_>>());
    let told = |(run, settings): (&NamedRun, &Vec<String>)| match settings.is_empty() {
        true => format!("{} as the program has it", run.file),
        false => format!("{} {}", run.file, settings.join(", ")),
    };
    let all: Vec<String> = runs.iter().zip(&found).map(told).collect();
    let differ = found.iter().any(|settings| !settings.is_empty());
    differ.then(|| format!("The runs were set unlike: {}. Differences may come from that", all.join("; ")))
}

/// Compares all runs of the command line with the first.
pub fn run(args: &CompareArgs) -> anyhow::Result<Status> {
    if args.fail_if.is_some() {
        bail!("--fail-if judges two runs; name two");
    }
    if args.one_line {
        bail!("-q is for two runs, whose answer is one line; several are compared row by row");
    }
    if args.choice.label.is_some()
        || args.choice.gate
        || args.choice.column.is_some()
        || args.choice.unit.is_some()
    {
        bail!("several runs are compared row by row: leave --label, --gate, --column and --unit out");
    }
    let files: Vec<&PathBuf> = [&args.quiet, &args.new].into_iter().chain(&args.more).collect();
    let (mut runs, mut rows, mut facts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut warnings, mut unsound) = (Vec::new(), Vec::new());
    for file in files {
        if !store::is_run(file) {
            bail!(
                "{} holds plain numbers; several files are compared as runs, row by row: name two",
                file.display()
            );
        }
        let mut columns = Columns::default();
        let run = store::scan(file, &mut |samples| columns.push(samples))?;
        crate::values::every_sample(&run, file)?;
        let name = file.display().to_string();
        let of_run: Vec<ResultRow> = results::of_columns(columns, &run.facts, &run.sites);
        let found = results::judgements(&run, &of_run);
        unsound.extend(Unsound::of(&name, &found));
        let told = report::words::judgement::warnings(&found);
        warnings.extend(told.iter().map(|one| format!("{name}: {}", one.text.trim_end_matches('.'))));
        rows.push(of_run);
        runs.push(NamedRun {
            file: name,
            host: run.facts.machine.as_ref().and_then(|machine| machine.host.clone()),
            program: run.facts.name.clone(),
            ranks: run.facts.ranks,
            started: run.facts.began().unwrap_or_default().to_owned(),
            settings: String::new(),
        });
        facts.push(run.facts);
    }
    let settings = results::apart(&facts.iter().collect::<Vec<_>>());
    runs.iter_mut().zip(settings).for_each(|(run, settings)| run.settings = settings);
    if let Some(other) = runs.iter().find(|run| run.program != runs[0].program) {
        warnings.push(format!(
            "{} ran `{}` and {} `{}`: rows of the same name may be other work",
            runs[0].file, runs[0].program, other.file, other.program
        ));
    }
    warnings.extend(unlike(&runs, &facts));
    let of_each: Vec<&[ResultRow]> = rows.iter().map(Vec::as_slice).collect();
    let by_phase = results::phases_of_runs(&of_each);
    let found = SeveralRuns { rows: results::compare_runs(&of_each), by_phase, runs, warnings, unsound };
    if args.json {
        output::json(&found.json())?;
    } else if args.phases {
        output::print(&found.phases())?;
    } else if args.verbose {
        output::print(&found.text())?;
    } else {
        output::print_screen(&found.screen(output::screen_options()))?;
    }
    if let Some(page) = &args.output {
        write_html(&found.html(), page)?;
        if !args.json {
            output::print(&format!("\nSaved: {}\n", page.display()))?;
        }
    }
    Ok(Status::Ok.unless(&found.unsound))
}
