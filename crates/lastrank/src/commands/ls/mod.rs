//! `lastrank ls`: the runs of a folder, and the files of other tools, as tables.

mod columns;
mod foreign;
mod lines;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use report::Table;
use report::shell::{file_argument, quoted};
use results::{AnswerNumbers, AnswerPart, Columns, Wish};
use samples::{Facts, JudgementKind, Judgements, Run};
use serde::Serialize;

use crate::cli::LsArgs;
use crate::exit::Status;
use crate::working::Working;
use crate::{kept_answer, output, system};

/// One run of a folder.
#[derive(Debug, Serialize)]
struct ListedRun {
    #[serde(serialize_with = "output::path_in_json")]
    file: PathBuf,
    started: Option<String>,
    /// A simulated run is of no date.
    #[serde(skip)]
    is_simulated: bool,
    host: Option<String>,
    program: String,
    ranks: u32,
    complete: bool,
    note: String,
    tags: BTreeMap<String, String>,
    parameters: BTreeMap<String, String>,
    /// What the program names as directories, where that is known.
    directories: Vec<String>,
    /// How its load was set: what its program says (`direct`, `depth 16`), and what sets it apart from the other runs of the
    /// same program here.
    settings: Vec<String>,
    /// What the numbers are of: `read / fread`; of several parts all of them.
    of: Option<String>,
    errors: u64,
    /// The exit status that the run asks for, and what was found in it, in words.
    status: u8,
    found: Vec<String>,
    /// Where a rule of steadiness was given: what came of it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    steady: Option<String>,
    #[serde(skip)]
    judgements: Judgements,
    /// Of all that the run measured, with its errors.
    operations: u64,
    operations_per_second: Option<f64>,
    bytes_per_second: Option<f64>,
    p50_seconds: Option<f64>,
    p99_seconds: Option<f64>,
    /// The numbers of the run's first screen.
    numbers: AnswerNumbers,
}

/// Lists the runs of a folder, oldest first, and the files of other tools.
pub fn run(args: &LsArgs) -> anyhow::Result<Status> {
    let _working = Working::at("reading runs");
    if args.directory.is_file() && !crate::values::is_run(&args.directory) {
        return of_file(args);
    }
    let mut runs = Vec::new();
    let mut facts = Vec::new();
    let mut unreadable = Vec::new();
    for path in candidates(&args.directory)? {
        match with_numbers(&path) {
            Ok((run, numbers, judgements)) => {
                runs.push(listed(path, numbers, judgements, &run));
                facts.push(run.facts);
            }
            Err(_) if std::fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == 0) => {
                let why = format!("{} is empty: of a run that is under way, or was killed", path.display());
                unreadable.push((path, why));
            }
            Err(why) => unreadable.push((path, why.to_string())),
        }
    }
    set_apart(&mut runs, &facts);
    // Starts are told to the second; of runs that began in one, the file that was written first comes first.
    let written = |file: &Path| std::fs::metadata(file).and_then(|found| found.modified()).ok();
    runs.sort_by_cached_key(|run| (run.started.clone(), written(&run.file), run.file.clone()));
    let are_listed = !args.csv && args.columns.is_none();
    let (files, unread) = if are_listed { foreign::of_folder(&args.directory) } else { (Vec::new(), 0) };
    for (_, why) in unreadable.iter().filter(|(path, _)| files.iter().all(|other| other.file != *path)) {
        eprintln!("note: {why}");
    }
    tell_killed(&args.directory);
    let others = match files.is_empty() {
        true => String::new(),
        false => foreign::table("Files of other tools, for fit and compare", &files, unread),
    };
    if args.json {
        output::json(&serde_json::json!({ "schema": "lastrank.ls/1", "runs": runs, "files": files }))?;
    } else if args.csv {
        output::print_whole(&csv_of(&runs)?)?;
    } else if runs.is_empty() && !others.is_empty() {
        output::print(&others)?;
    } else if runs.is_empty() {
        output::print(&format!(
            "no run in {}; `lastrank run PROGRAM` keeps one\n",
            args.directory.display()
        ))?;
    } else {
        let chosen = args.columns.as_deref().map(|list| columns::of(list, &runs)).transpose()?;
        output::print(&match chosen {
            Some(chosen) => chosen_table(&args.directory, &runs, &chosen),
            None => table(args, &runs),
        })?;
        if !others.is_empty() {
            output::print(&format!("\n{others}"))?;
        }
    }
    Ok(Status::Ok)
}

/// The line of one file of another tool.
fn of_file(args: &LsArgs) -> anyhow::Result<Status> {
    let Some(found) = foreign::of_file(args.directory.clone(), false) else {
        let why = intake::read(&args.directory, &intake::Wanted::default()).err();
        bail!(
            "{} is a file, and none of another tool that is read; `ls` lists the runs of a directory{}",
            args.directory.display(),
            why.map_or(String::new(), |why| format!(": {why}"))
        );
    };
    let files = [found];
    match args.json {
        true => output::json(&serde_json::json!({ "schema": "lastrank.ls/1", "runs": [], "files": files }))?,
        false => output::print(&foreign::table("A file of another tool, for fit and compare", &files, 0))?,
    }
    Ok(Status::Ok)
}

/// Names the command that makes runs of what killed ones left.
fn tell_killed(directory: &Path) {
    let killed = system::killed_runs(directory);
    let what = match killed.as_slice() {
        [] => return,
        [one] => format!("a run of {one} was killed and left its samples: it is listed when"),
        all => format!("{} runs were killed and left their samples: they are listed when", all.len()),
    };
    let place = match directory == Path::new(".") {
        true => String::new(),
        false => format!(" {}", quoted(&file_argument(&directory.to_string_lossy()))),
    };
    eprintln!("note: {what} `lastrank recover{place}` has made run files");
}

/// Tells runs of one program from each other, by the settings that not all of them have.
fn set_apart(runs: &mut [ListedRun], facts: &[Facts]) {
    let mut of_program: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, facts) in facts.iter().enumerate() {
        of_program.entry(&facts.name).or_default().push(at);
    }
    for numbers in of_program.values() {
        let group: Vec<&Facts> = numbers.iter().map(|at| &facts[*at]).collect();
        for (at, differing) in numbers.iter().zip(results::differing_settings(&group)) {
            let said = results::settings(&facts[*at]);
            let others = differing.into_iter().filter(|one| !said.contains(one)).collect::<Vec<_>>();
            runs[*at].settings = [said, others].concat();
        }
    }
}

/// Files that look like runs, and directories of parts.
fn candidates(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if directory.is_file() {
        return Ok(vec![directory.to_path_buf()]);
    }
    if !directory.exists() {
        bail!(
            "there is no directory {}: name a directory with runs, or none for this one",
            directory.display()
        );
    }
    let entries =
        std::fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}", directory.display()))?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        // What is called as runs are is told of, also where it is none.
        let is_called_so = || path.extension().is_some_and(|ending| ending == "parquet");
        let is_run =
            if path.is_dir() { store::has_parts(&path) } else { is_called_so() || store::is_run(&path) };
        if is_run && !is_hidden {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A run without its samples, the numbers of its first screen and what was found in it: of its footer, or else of its
/// samples.
fn with_numbers(file: &Path) -> Result<(Run, AnswerNumbers, Judgements), store::Error> {
    if let Some((run, numbers)) = kept_answer::of_file(file)
        && let Some(judgements) = run.facts.judgements.clone()
    {
        return Ok((run, numbers, judgements));
    }
    let mut columns = Columns::default();
    let run = store::scan(file, &mut |samples| columns.push(samples))?;
    let rows = results::of_columns(columns, &run.facts, &run.sites);
    let numbers = AnswerNumbers::of(&rows, &run.facts, Wish::default());
    let judgements = results::judgements(&run, &rows);
    Ok((run, numbers, judgements))
}

fn listed(file: PathBuf, numbers: AnswerNumbers, judgements: Judgements, run: &Run) -> ListedRun {
    let facts = &run.facts;
    let names: Vec<String> = numbers.parts.iter().map(AnswerPart::told).collect();
    // As on the screen: no rate and no time of a run with wrong data.
    let is_shown = report::are_shown(&judgements);
    let only = numbers.only().filter(|_| is_shown);
    let quantiles = only.and_then(|part| part.quantiles_seconds.as_ref());
    let in_all = numbers.operations_per_second.filter(|_| is_shown);
    ListedRun {
        file,
        started: facts.began().map(str::to_owned),
        is_simulated: facts.is_simulated(),
        host: facts.machine.as_ref().and_then(|machine| machine.host.clone()),
        program: facts.name.clone(),
        ranks: facts.ranks,
        complete: facts.complete,
        note: facts.note.clone(),
        tags: facts.tags.clone(),
        parameters: facts.parameters.clone(),
        directories: facts.file_systems.iter().map(|path| path.path.clone()).collect(),
        settings: results::settings(facts),
        of: (!names.is_empty()).then(|| names.join(" + ")),
        errors: numbers.errors,
        status: judgements.status(),
        found: found_words(&judgements),
        steady: facts.steady.as_ref().map(report::words::steady::in_short),
        judgements,
        operations: numbers.operations,
        operations_per_second: only.map_or(in_all, |part| part.operations_per_second),
        bytes_per_second: only.and_then(|part| part.bytes_per_second),
        p50_seconds: quantiles.map(|quantiles| quantiles.p50),
        p99_seconds: quantiles.and_then(|quantiles| quantiles.p99),
        numbers,
    }
}

fn found_words(found: &Judgements) -> Vec<String> {
    report::words::judgement::lines(found).into_iter().map(|one| one.head).collect()
}

/// The table: on a terminal a line for each run unless `-v` asks for all of each; the host, and the program, are in its title
/// where all runs have the same.
fn table(args: &LsArgs, runs: &[ListedRun]) -> String {
    let directory = &args.directory;
    let hosts: BTreeSet<&str> = runs.iter().filter_map(|run| run.host.as_deref()).collect();
    let one_host = hosts.len() < 2;
    let on = hosts.first().filter(|_| one_host).map_or(String::new(), |host| format!(" on {host}"));
    let title = format!("{}{on}", directory.display());
    if let Some(room) = output::columns().filter(|_| !args.verbose) {
        let program = &runs[0].program;
        let is_one = runs.iter().all(|run| run.program == *program)
            && !runs.iter().all(|run| cells(run)[0].starts_with(program.as_str()));
        let of = if is_one { format!(": {}", in_one_line(program)) } else { String::new() };
        if let Some(found) = lines::in_lines(&format!("{title}{of}"), runs, room) {
            return found;
        }
    }
    let columns = [
        "<file",
        "<started (UTC)",
        "<machine",
        "<program",
        "<settings",
        "ops/s",
        "throughput",
        "p50",
        "p99",
        "<note",
    ];
    let mut rows: Vec<[String; 10]> = runs.iter().map(cells).collect();
    if args.verbose {
        rows.iter_mut().zip(runs).for_each(|(row, run)| row[9] = note_of(run, usize::MAX));
    }
    // What the names of all files say needs no column, nor what no run has.
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let says_more = |at: usize| match columns[at] {
        "<started (UTC)" => rows.iter().any(|row| !digits(&row[0]).contains(&digits(&row[at]))),
        "<machine" => !one_host,
        "<program" => rows.iter().any(|row| !row[0].starts_with(&row[at])),
        "<note" | "<settings" => rows.iter().any(|row| !row[at].is_empty()),
        "throughput" => rows.iter().any(|row| row[at] != "–"),
        _ => true,
    };
    let kept: Vec<usize> = (0..columns.len()).filter(|at| says_more(*at)).collect();
    let of = |kept: &[usize]| {
        let heads: Vec<&str> = kept.iter().map(|at| columns[*at]).collect();
        let mut table = Table::new(&title, &heads);
        for row in &rows {
            table.push(false, kept.iter().map(|at| row[*at].clone()));
        }
        table
    };
    let Some(room) = output::columns() else { return of(&kept).in_whole_lines() };
    // Words stand above the numbers where both do not fit; then the throughput, too.
    let apart = ["file", "program", "settings", "started (UTC)", "machine", "note", "throughput"];
    let fits = |text: &str| text.lines().all(|line| report::text_width(line) <= room);
    let whole = of(&kept).stacked(room, &apart[..apart.len() - 1]);
    if fits(&whole) { whole } else { of(&kept).stacked(room, &apart) }
}

/// The table with the columns that a user names.
fn chosen_table(directory: &Path, runs: &[ListedRun], chosen: &[columns::Column]) -> String {
    let heads: Vec<String> = chosen.iter().map(columns::Column::head).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(&directory.display().to_string(), &heads);
    for run in runs {
        table.push(false, chosen.iter().map(|column| column.cell(run)));
    }
    match output::columns() {
        Some(columns) => table.stacked(columns, &["file", "program", "machine", "directory", "note"]),
        None => table.text(),
    }
}

/// The cells of a row of the table.
fn cells(run: &ListedRun) -> [String; 10] {
    let [rate, throughput, p50, p99] = report::answer_cells(&run.numbers, &run.judgements);
    let started = match run.is_simulated {
        true => "simulated".into(),
        false => run.started.as_deref().unwrap_or_default().replace('T', " ").chars().take(16).collect(),
    };
    // The start, which says it too, is a column that may be left out.
    let simulated = run.is_simulated.then_some("simulated");
    let settings: Vec<&str> = simulated.into_iter().chain(run.settings.iter().map(String::as_str)).collect();
    [
        run.file.file_name().map_or(String::new(), |name| in_one_line(&name.to_string_lossy())),
        started,
        run.host.clone().unwrap_or_default(),
        in_one_line(&run.program),
        in_one_line(&settings.join(", ")),
        rate,
        throughput,
        p50,
        p99,
        note_of(run, 1),
    ]
}

/// What is said of a run in a line, what went wrong first, so that its sign stands where nothing is cut; so many of the
/// findings.
fn note_of(run: &ListedRun, most: usize) -> String {
    let mut parts = Vec::new();
    let says_so = run.found.iter().any(|found| found.to_lowercase().contains("incomplete"));
    parts.extend(run.found.iter().take(most).cloned());
    if !run.complete && !says_so {
        // Nothing is worse than wrong data.
        let behind = run.judgements.count(JudgementKind::WrongContent) > 0 && !parts.is_empty();
        parts.insert(usize::from(behind), "incomplete".to_owned());
    }
    if let Some(first) = parts.first_mut() {
        first.insert_str(0, "✖ ");
    }
    if let (Some(last), more @ 1..) = (parts.last_mut(), run.found.len().saturating_sub(most)) {
        *last += &format!(" (1 of {} findings)", more + most);
    }
    parts.extend(run.steady.clone());
    parts.extend(Some(run.note.clone()).filter(|note| !note.is_empty()));
    let mut note = parts.join("; ");
    for (name, value) in &run.tags {
        note += &format!(" {name}={value}");
    }
    in_one_line(note.trim())
}

/// A text of a user whose line feeds and other control characters break no row.
fn in_one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

fn csv_of(runs: &[ListedRun]) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "file",
        "started",
        "host",
        "program",
        "ranks",
        "complete",
        "of",
        "operations",
        "errors",
        "status",
        "found",
        "operations_per_second",
        "bytes_per_second",
        "p50_seconds",
        "p99_seconds",
        "note",
        "tags",
        "steady",
        "settings",
    ])?;
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for run in runs {
        let tags: Vec<String> = run.tags.iter().map(|(name, value)| format!("{name}={value}")).collect();
        writer.write_record([
            run.file.display().to_string(),
            run.started.clone().unwrap_or_default(),
            run.host.clone().unwrap_or_default(),
            run.program.clone(),
            run.ranks.to_string(),
            run.complete.to_string(),
            run.of.clone().unwrap_or_default(),
            run.operations.to_string(),
            run.errors.to_string(),
            run.status.to_string(),
            run.found.join("; "),
            number(run.operations_per_second),
            number(run.bytes_per_second),
            number(run.p50_seconds),
            number(run.p99_seconds),
            run.note.clone(),
            tags.join(" "),
            run.steady.clone().unwrap_or_default(),
            run.settings.join(", "),
        ])?;
    }
    Ok(String::from_utf8(writer.into_inner().context("the table cannot be written")?)?)
}
