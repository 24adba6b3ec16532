//! Chooses where run file and page go, writes them, and prints the result.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail};
use engine::run::{Options, RunOutcome};
use ranks::{HeldSignals, RankEnd};
use record::claim::Claim;
use record::live::LiveFolder;
use samples::{Facts, JudgementKind, units};
use store::PartsFolder;

use super::{append, requeued, silence};
use crate::cli::RunArgs;
use crate::commands::explain::things;
use crate::commands::report::{Told, WrittenPaths, document, with, write_page};
use crate::exit::{Misplaced, Status};
use crate::program::Planned;
use crate::screen::Screen;
use crate::{kept_answer, output, written};

/// How long ranks of a killed run may still be there.
const DYING: Duration = Duration::from_secs(2);

/// Where the run file and the page go.
pub struct OutputPaths {
    /// Held until the run ends; none where names make themselves unique, and on ranks of a job other than 0.
    _claim: Option<Claim>,
    /// In a job: where parts go, if it was there before.
    parts: Option<PartsFolder>,
    run: PathBuf,
    page: Option<PathBuf>,
    /// Whether the name was made of the program's name, and gets a number where another run has it.
    numbered: bool,
}

impl OutputPaths {
    /// Chooses names, and checks before the measurement that they can be written.
    pub fn choose(
        args: &RunArgs,
        planned: &Planned,
        options: &Options,
        in_job: bool,
    ) -> anyhow::Result<Self> {
        let run = args.output.clone().unwrap_or_else(|| default_name(&planned.name, options, in_job));
        let run = args.began_in.as_ref().map_or(run.clone(), |folder| folder.join(&run));
        let page = match &args.report {
            Some(path) if path == Path::new("none") => None,
            Some(path) => Some(path.clone()),
            None => Some(run.with_extension("html")),
        };
        output::refuse_other_kind(&run)?;
        for (path, option) in std::iter::once((&run, "-o")).chain(page.iter().map(|page| (page, "--report")))
        {
            output::refuse_overwriting(path, option, &[Path::new(&args.program)])?;
            // Made beside it and removed again.
            store::Replacement::of(path).map(drop).with_context(|| {
                let folder = folder_of(path).display();
                format!("cannot write below {folder}; name another place with `{option} FILE`")
            })?;
        }
        if args.output.is_some() && store::facts(&run).is_ok_and(|facts| is_recovered(&facts)) {
            bail!(
                "{} is what `lastrank recover` made of a run that was killed; name another file with `-o FILE`, or remove it",
                run.display()
            );
        }
        // The name of a program is its author's choice; without `-o` a job puts no time into that of its run.
        let is_run = || run.metadata().is_ok_and(|found| found.len() == 0) || store::facts(&run).is_ok();
        if args.output.is_none() && run.is_file() && !is_run() {
            bail!("{} is there and is no run of lastrank; name another place with `-o FILE`", run.display());
        }
        if let (Some(page), None) = (&page, &args.report) {
            written::refuse_strange_page(page)?;
        }
        if page.as_ref() == Some(&run) {
            bail!(
                "the page would be written over the samples in {}; name another place with `--report FILE`",
                run.display()
            );
        }
        args.append.iter().try_for_each(|path| append::check(path))?;
        let numbered = args.output.is_none() && !in_job;
        let claim = match &args.output {
            Some(_) if !in_job && !args.dry_run => Some(Self::claim(&run)?),
            _ => None,
        };
        // What is wrong with it rank 0 tells.
        let parts = run.with_extension("parts");
        let parts = if in_job { PartsFolder::open(&parts).ok().flatten() } else { None };
        Ok(Self { _claim: claim, parts, run, page, numbered })
    }

    /// Claims the name for a job, and looks whether its ranks may write parts. Rank 0 does, for all.
    pub fn claim_for_job(&mut self) -> anyhow::Result<()> {
        self._claim = Some(Self::claim(&self.run)?);
        requeued::keep_earlier_attempt(&self.run);
        let checked = PartsFolder::open(&self.run.with_extension("parts"))
            .and_then(|parts| parts.map_or(Ok(()), |parts| parts.check()));
        checked.map_err(|error| {
            anyhow!("{error}; ranks would write their samples there: name another file with `-o FILE`, or move it away")
        })
    }

    /// Where parts go: what was there before the run, as long as it has the name.
    fn parts(&self) -> Result<PartsFolder, store::Error> {
        match self.parts.as_ref().filter(|parts| parts.has_its_name()) {
            Some(parts) => Ok(parts.clone()),
            None => PartsFolder::make(&self.run.with_extension("parts")),
        }
    }

    /// The same paths, or numbered ones if another run has the name: one that began in the same second, or an earlier
    /// simulated one. An empty file reserves the name until the samples are written.
    pub fn still_free(mut self, args: &RunArgs) -> Self {
        let stem = self.run.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_taken = |path: &Path| {
            let made = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
            made.is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists)
        };
        for number in 2.. {
            if !self.numbered || !is_taken(&self.run) {
                break;
            }
            self.run = self.run.with_file_name(format!("{stem}-{number}.parquet"));
            if args.report.is_none() {
                self.page = Some(self.run.with_extension("html"));
            }
        }
        self
    }

    fn claim(run: &Path) -> anyhow::Result<Claim> {
        // The ranks of a run that was just killed hold the name until the kernel has taken them apart.
        let begin = Instant::now();
        loop {
            let claimed =
                Claim::of(run).with_context(|| format!("cannot claim {} for this run", run.display()))?;
            match claimed {
                Some(claim) => return Ok(claim),
                None if begin.elapsed() < DYING => std::thread::sleep(Duration::from_millis(20)),
                None => bail!(
                    "another run that is under way writes to {}; name another file with `-o FILE`",
                    run.display()
                ),
            }
        }
    }

    /// The run file.
    pub fn run_file(&self) -> &Path {
        &self.run
    }

    /// All that may be written: run file, parts, page, rows.
    pub fn all(&self, args: &RunArgs) -> Vec<PathBuf> {
        let parts = self.run.with_extension("parts");
        [&self.run, &parts].into_iter().chain(&self.page).chain(&args.append).cloned().collect()
    }

    /// The directory of the run file.
    pub fn directory(&self) -> &Path {
        folder_of(&self.run)
    }
}

/// Whether `lastrank recover` made it: nobody can make it again.
fn is_recovered(facts: &Facts) -> bool {
    let cut = facts.judgements.iter().flat_map(|found| found.of(JudgementKind::CutShort));
    cut.into_iter().any(|one| one.what == "whoever killed lastrank itself")
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name with the time in it, so that nothing is overwritten. In a job without, since all its processes must
/// choose the same name, and of a simulated run, which is the same at any time.
fn default_name(name: &str, options: &Options, in_job: bool) -> PathBuf {
    if in_job {
        return format!("{name}.parquet").into();
    }
    if options.backend.capabilities().virtual_time {
        return format!("{name}-simulated.parquet").into();
    }
    stamped(name)
}

/// `NAME-20260801-120000.parquet`.
pub fn stamped(name: &str) -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let stamp: String = units::utc(seconds).chars().filter(|c| c.is_ascii_digit() || *c == 'T').collect();
    format!("{name}-{}.parquet", stamp.replace('T', "-")).into()
}

/// Where the samples are now.
enum Kept {
    There,
    /// Somewhere else, and why.
    Elsewhere(PathBuf, store::Error),
    Nowhere(store::Error),
}

/// Writes the samples to `path`; where that fails, below the directory for temporary files or the home directory.
fn keep(path: &Path, run: &samples::Run) -> Kept {
    match store::write(path, run) {
        Ok(()) => Kept::There,
        Err(error) => keep_elsewhere(path, run, error),
    }
}

fn keep_elsewhere(path: &Path, run: &samples::Run, error: store::Error) -> Kept {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let moment = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let name = format!("{name}-{moment:x}.parquet");
    let home = std::env::var_os("HOME").map(PathBuf::from);
    for folder in std::iter::once(std::env::temp_dir()).chain(home) {
        let other = folder.join(&name);
        if store::write(&other, run).is_ok() {
            return Kept::Elsewhere(other, error);
        }
    }
    Kept::Nowhere(error)
}

impl Kept {
    /// The run file, meant for `path`; `None`: there is none.
    fn file<'a>(&'a self, path: &'a Path) -> Option<&'a Path> {
        match self {
            Kept::There => Some(path),
            Kept::Elsewhere(other, _) => Some(other),
            Kept::Nowhere(_) => None,
        }
    }
}

/// What a reader is told where the samples are not in `path`.
fn misplaced(path: &Path, kept: Kept, still_live: bool) -> Result<(), Misplaced> {
    let words = match kept {
        Kept::There => return Ok(()),
        Kept::Elsewhere(other, why) => {
            format!(
                "the samples could not be kept in {} ({why}); they are in {}",
                path.display(),
                other.display()
            )
        }
        Kept::Nowhere(why) if still_live => format!(
            "the samples could not be kept in {} ({why}), nor in TMPDIR or HOME; they are in memory: make room, \
             then `lastrank recover`",
            path.display()
        ),
        Kept::Nowhere(why) => {
            format!("the samples could not be kept in {} ({why}), nor in TMPDIR or HOME", path.display())
        }
    };
    Err(Misplaced(words))
}

/// Writes the run file and the page, and prints the result. Signals that `held` keeps back are delivered as soon
/// as the samples are in their file.
pub fn deliver(
    args: &RunArgs,
    paths: &OutputPaths,
    outcome: &mut RunOutcome,
    (held, live): (Option<HeldSignals>, Option<LiveFolder>),
) -> anyhow::Result<()> {
    // What is told is made of samples and facts as they are in the file, so that `lastrank report` says the same to the
    // last digit.
    store::arrange(&mut outcome.run.samples);
    if let Some(asked) = &outcome.run.facts.steady {
        outcome.run.facts.steady = Some(results::judge_steady(&outcome.run, asked));
    }
    // The samples first: printing may fail or block.
    let kept = keep(&paths.run, &outcome.run);
    let stored = matches!(kept, Kept::There);
    if let Some(facts) = stored.then(|| store::facts(&paths.run).ok()).flatten() {
        outcome.run.facts = facts;
    }
    if !stored && paths.numbered {
        drop(std::fs::remove_file(&paths.run));
    }
    let still_live = live.is_some();
    if let Some(live) = live.filter(|_| !matches!(kept, Kept::Nowhere(_))) {
        live.remove();
    }
    drop(held);
    outcome.run.leave_out_warm_up();
    output::print_whole(&outcome.printed)?;
    // A quiet run without a page needs no analysis; `lastrank report` can make it later.
    let read = paths.page.is_some() || args.append.is_some() || args.json || !args.quiet;
    let told = Told { verbose: args.verbose, one_line: args.one_line };
    let mut screen = Screen::default();
    // That the samples are not where they should be is in these lines as well, and is known with the rest.
    let begins = stored && told.is_screen() && !args.quiet && !args.json;
    let tell = |report: &report::Report| {
        if begins {
            screen.begin(&report.first_lines(output::screen_options()));
        }
    };
    let mut report = read.then(|| report::build_telling(&outcome.run, &report_options(paths, args), tell));
    if let (true, Some(report)) = (stored, &report) {
        kept_answer::keep(&paths.run, &outcome.run.facts, report);
    }
    let page = match (&paths.page, &report) {
        (Some(path), Some(report)) => write_page(report, path),
        _ => Ok(()),
    };
    let appended = match (&args.append, &report) {
        (Some(path), Some(report)) => append::append(report, &paths.run, path),
        _ => Ok(()),
    };
    let written =
        WrittenPaths { run: kept.file(&paths.run), page: paths.page.as_deref().filter(|_| page.is_ok()) };
    if let Some(report) = &mut report {
        let lost = [
            (!stored, report::RUN_FILE),
            (page.is_err(), "the page"),
            (appended.is_err(), "the appended rows"),
        ];
        let lost = lost.iter().filter(|(is_lost, _)| *is_lost);
        report.unwritten = lost.map(|(_, what)| (*what).into()).collect();
    }
    if let (true, Some(report)) = (args.json, &report) {
        output::json(&document(report, with(&args.with), written))?;
    } else if let (false, Some(report)) = (args.quiet, &mut report) {
        // How the screen begins stands already, and is of the operations.
        let lost = if begins { std::mem::take(&mut report.unwritten) } else { Vec::new() };
        let mut whole = told.of(report, written);
        if written.run.is_none() && still_live && !args.one_line {
            whole.push_str("Next:  lastrank recover   (when there is room)\n");
        }
        if !lost.is_empty() {
            whole.push_str(&format!("✖ {} could not be written\n", lost.join(" and ")));
        }
        screen.finish(&whole)?;
    }
    // On one terminal the screen has told it already.
    if !(output::is_one_terminal() && !args.quiet && !args.json && !args.one_line) {
        complain(outcome, true);
    }
    tell_aside(outcome);
    // Report what failed only now: the page is written although the samples could not be, and vice versa.
    misplaced(&paths.run, kept, still_live)?;
    page.and(appended).map_err(|error| anyhow!(Misplaced(format!("{error:#}"))))
}

/// What is analysed: the figures of the distribution only where they are shown.
fn report_options(paths: &OutputPaths, args: &RunArgs) -> report::ReportOptions {
    let distribution_figures = paths.page.is_some() || args.json || args.verbose;
    report::ReportOptions { distribution_figures, ..Default::default() }
}

/// Writes what this process's own rank recorded as one part of a directory: for a run that broke off or is large.
pub fn deliver_part(paths: &OutputPaths, outcome: &RunOutcome, rank: u32) -> anyhow::Result<()> {
    let parts = paths.run.with_extension("parts");
    // Each rank prints its own failure; that of another rank is printed there, and by rank 0.
    let left = outcome.ends.iter().any(|end| matches!(end, RankEnd::Left(_) | RankEnd::Stopped(_)));
    complain(outcome, !left);
    tell_aside(outcome);
    if outcome.run.facts.job.is_empty() && outcome.run.samples.is_empty() {
        // It ended before MPI had started: there is nothing to write, and an earlier run stays.
        return Ok(());
    }
    let written = paths.parts().and_then(|folder| {
        if rank == 0 {
            remove_earlier_parts(&folder, &parts, &outcome.run.facts.job);
        }
        folder.write(rank, &outcome.run)
    });
    if let Err(error) = written {
        let path = parts.with_file_name(format!("part-{rank}"));
        misplaced(&parts, keep_elsewhere(&path, &outcome.run, error), false)?;
    }
    if rank == 0 {
        let why = match outcome.run.facts.failures.first() {
            _ if outcome.run.facts.complete => "is large".to_owned(),
            Some(reason) if left => format!("broke off because {reason}"),
            _ => "broke off".to_owned(),
        };
        eprintln!("note: the run {why}; each rank's samples are in {}", parts.display());
        if paths.run.exists() {
            eprintln!("note: {} is an earlier run, not this one", paths.run.display());
        }
    }
    Ok(())
}

/// How long rank 0 waits for the parts of the other ranks, whose files may lie on a slow file system.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tells the result of a complete run that is too large to be gathered, from the parts that the ranks wrote. Returns how it ended:
/// where parts are missing, it is incomplete.
pub fn deliver_from_parts(args: &RunArgs, paths: &OutputPaths, known: &Facts) -> anyhow::Result<Status> {
    let parts = paths.run.with_extension("parts");
    if args.quiet && !args.json && paths.page.is_none() && args.append.is_none() {
        return Ok(Status::Ok);
    }
    let (begun, mut missing) = (Instant::now(), Vec::new());
    while begun.elapsed() < PATIENCE {
        missing = store::missing_parts(&parts, known);
        if missing.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    if !missing.is_empty() {
        silence::tell(&known.nodes, &missing, known.ranks);
    }
    let run = store::read(&parts)?;
    let told = Told { verbose: args.verbose, one_line: args.one_line };
    let mut screen = Screen::default();
    let tell = |report: &report::Report| {
        if told.is_screen() && !args.quiet && !args.json {
            screen.begin(&report.first_lines(output::screen_options()));
        }
    };
    let report = report::build_telling(&run, &report_options(paths, args), tell);
    kept_answer::keep(&parts, &run.facts, &report);
    if let Some(path) = &paths.page {
        write_page(&report, path)?;
    }
    if args.json {
        output::json(&document(
            &report,
            with(&args.with),
            WrittenPaths { run: Some(&parts), page: paths.page.as_deref() },
        ))?;
    } else if !args.quiet {
        screen.finish(&told.of(&report, WrittenPaths { run: Some(&parts), page: paths.page.as_deref() }))?;
    }
    args.append.iter().try_for_each(|path| append::append(&report, &parts, path))?;
    Ok(if missing.is_empty() { Status::Ok } else { Status::Incomplete })
}

/// Removes the parts of an earlier run of the same name, after a complete run was written as one file.
pub fn replace_parts(paths: &OutputPaths, job: &str) {
    let Some(parts) = &paths.parts else { return };
    remove_earlier_parts(parts, &paths.run.with_extension("parts"), job);
    // Fails if other files are in it, which is right.
    parts.remove_empty();
}

/// Removes parts that do not belong to `job`.
fn remove_earlier_parts(parts: &PartsFolder, path: &Path, job: &str) {
    match parts.remove_others(job) {
        Ok(0) => {}
        Ok(removed) => {
            eprintln!("note: removed {} of an earlier run from {}", plural(removed, "part"), path.display());
        }
        Err(error) => eprintln!("warning: parts of an earlier run remain: {error}"),
    }
}

/// Prints what was found on standard error as well; why ranks ended only if this process reports it (`own`).
fn complain(outcome: &RunOutcome, own: bool) {
    let of_ends = |kind| matches!(kind, JudgementKind::RankLost | JudgementKind::CutShort);
    let told = report::words::judgement::lines(&outcome.judgements());
    for one in told.iter().filter(|one| own || !of_ends(one.kind)) {
        eprintln!("error: {}", one.head);
        one.examples.iter().for_each(|example| eprintln!("  {example}"));
    }
}

/// Says what standard output lacks, which files of the run are gone, and which are not.
fn tell_aside(outcome: &RunOutcome) {
    let is_told = |code: &str| matches!(code, "print-lost" | "print-limit");
    for told in outcome.run.facts.warnings.iter().filter(|warning| is_told(&warning.code)) {
        eprintln!("warning: {}; {}", told.text, told.advice);
    }
    if let Some(cleaned) = &outcome.cleaned {
        if cleaned.removed() > 0 {
            let what = things(cleaned.files as u64, cleaned.directories as u64);
            eprintln!("note: removed {what} that the run had created");
        }
        if let Some(why) = &cleaned.forgotten {
            eprintln!(
                "note: what this run leaves is not remembered ({why}): a later run may change it only with --allow"
            );
        }
        for (path, why) in &cleaned.left {
            eprintln!("warning: {} could not be removed: {why}", path.display());
        }
    }
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
