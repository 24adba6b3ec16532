//! Reads the numbers of a file: durations of a run, a CSV column, or one number a line.

use std::path::Path;

use anyhow::{Context, bail};
use intake::Taken;
use report::words::unsound::Unsound;
use report::{PlaceKey, Subject};
use results::ResultRow;
use samples::{Facts, Run};
use tail::Series;

use crate::asked::{explained, not_read};
use crate::cli::{Choice, TimeUnit};
use crate::soundness::{blamed_on, unsound_of};

/// Numbers, what they are called, and whether they are durations in seconds.
pub struct Values {
    /// In time order.
    pub numbers: Vec<f64>,
    /// The rank that took each, where ranks took them in turns; else empty.
    pub takers: Vec<u32>,
    /// For titles and errors.
    pub name: String,
    /// Durations in seconds: from a run, or because `--unit` said so.
    pub seconds: bool,
    /// What of a run they are.
    pub subject: Option<Subject>,
    /// What is known of that run.
    pub facts: Option<Facts>,
    /// The rows of its result, where two runs are compared.
    pub rows: Option<Vec<ResultRow>>,
    /// The runs that they are of and whose times are not those of the work that they were to do.
    pub unsound: Vec<Unsound>,
    /// One line that says what was taken of a file that another tool made.
    pub took: Option<String>,
    /// What limits all that is said of them: values that a condition about themselves left out, runs of several programs.
    pub limit: Option<String>,
    /// The unit that the file of plain numbers names for them.
    pub plain_unit: Option<intake::Unit>,
}

/// Whether a file is a run, and no Parquet of another tool.
pub fn is_run(file: &Path) -> bool {
    store::is_run(file) && !store::is_foreign(file)
}

/// Read what is wanted; options that do not fit the kind of file are refused.
pub fn read(file: &Path, choice: &Choice) -> anyhow::Result<Values> {
    if file == Path::new("-") {
        reject_run_options(file, choice)?;
        let taken = intake::read_from(std::io::stdin().lock(), "standard input", &choice.wanted())?;
        return Values::plain(taken, "standard input".into(), choice);
    }
    if !is_run(file) {
        reject_run_options(file, choice)?;
        let taken = intake::read(file, &choice.wanted()).map_err(|error| not_read(error, file))?;
        return Values::plain(taken, file.display().to_string(), choice);
    }
    of_run(open(file)?, file, choice)
}

/// Read a run, and say on standard error where its file is not one of this version.
pub fn open(file: &Path) -> anyhow::Result<Run> {
    told(store::read(file), file)
}

/// As [`open`], with the warm-up.
pub fn open_whole(file: &Path) -> anyhow::Result<Run> {
    told(store::read_whole(file), file)
}

fn told(read: Result<Run, store::Error>, file: &Path) -> anyhow::Result<Run> {
    let run = read.map_err(|error| explained(error, file))?;
    for warning in run.facts.warnings.iter().filter(|warning| warning.code == store::OTHER_FILE) {
        eprintln!("note: {}: {}", file.display(), warning.text);
    }
    Ok(run)
}

/// The durations that are wanted of a run, which came from `file`.
pub fn of_run(run: Run, file: &Path, choice: &Choice) -> anyhow::Result<Values> {
    let (subject, instead_of) = made_safe(&run, subject(&run, file, choice)?, choice);
    let took = instead_of.map(|writes| {
        format!("These are the calls that make data safe; --of '{writes}' takes the writes alone, which end in memory.")
    });
    Ok(Values { took, ..Values::of_subject(subject, run, file) })
}

/// Of writes that are made safe the calls that do so, and what the writes are called; all else as it is, and so is what was
/// chosen.
fn made_safe(run: &Run, writes: Subject, choice: &Choice) -> (Subject, Option<String>) {
    if choice.label.is_some() { (writes, None) } else { writes.made_safe(run, &results::of_run(run)) }
}

/// What is wanted of a run.
fn subject(run: &Run, file: &Path, choice: &Choice) -> anyhow::Result<Subject> {
    if let Some(column) = choice.column() {
        bail!("--column {column} is for CSV files; {} is a run: choose samples with --label", file.display());
    }
    let is_plain = choice.filters.is_empty() && choice.missing.is_none() && choice.decimal.is_none();
    if !is_plain || choice.skip > 0 || choice.no_header || choice.failed {
        bail!(
            "--where, --missing, --decimal, --skip, --no-header and --failed are for files of other tools; {} is a run",
            file.display()
        );
    }
    if choice.unit.is_some() {
        bail!("--unit is for plain numbers; {} is a run, whose durations are known", file.display());
    }
    every_sample(run, file)?;
    let gate = if choice.gate { Some(true) } else { choice.label.as_ref().map(|_| false) };
    Subject::choose(run, choice.label.as_deref(), gate)
        .map_err(|why| blamed_on(&unsound_of(run, file), anyhow::anyhow!("{}: {why}", file.display())))
}

/// The same of two files that are compared. Of two runs, samples are matched by label and operation: what has no
/// counterpart in the other run is left out, and told in the notes.
pub fn read_pair(files: [&Path; 2], choice: &Choice) -> anyhow::Result<([Values; 2], Vec<String>)> {
    if !files.iter().all(|file| *file != Path::new("-") && is_run(file)) {
        // Standard input is read once, by the file that comes first.
        return match files.contains(&Path::new("-")) {
            true => Ok(([read(files[0], choice)?, read(files[1], choice)?], Vec::new())),
            false => Ok((both(|at| read_beside([files[at], files[1 - at]], choice))?, Vec::new())),
        };
    }
    let runs = both(|at| open(files[at]))?;
    let (one, instead_of) = made_safe(&runs[0], subject(&runs[0], files[0], choice)?, choice);
    let mut notes = Vec::new();
    if let Some(writes) = instead_of {
        notes.push(format!(
            "compared are the calls that make data safe, `{}`; --of '{writes}' compares the writes alone",
            one.name
        ));
    }
    let gate = Some(one.gate);
    // Without a label the second run is asked for what the first one gave.
    let other = if choice.label.is_some() {
        subject(&runs[1], files[1], choice)?
    } else {
        every_sample(&runs[1], files[1])?;
        Subject::of_keys(&runs[1], one.keys.clone(), gate).ok_or_else(|| {
            let why = has_none(files[1], &one.name, &files[0].display());
            let unsound = [unsound_of(&runs[0], files[0]), unsound_of(&runs[1], files[1])].concat();
            blamed_on(&unsound, anyhow::anyhow!(why))
        })?
    };
    let shared: Vec<PlaceKey> = one.keys.iter().filter(|key| other.keys.contains(key)).cloned().collect();
    for (keys, file, without) in [(&one.keys, files[0], files[1]), (&other.keys, files[1], files[0])] {
        for key in keys.iter().filter(|key| !shared.contains(key)) {
            notes.push(left_out(key, file, &without.display()));
        }
    }
    let none = || {
        format!(
            "{} and {} have nothing of this in common: {}",
            files[0].display(),
            files[1].display(),
            notes.join("; ")
        )
    };
    let [quiet, new] = runs;
    let again = |run: &Run, whole: Subject| match whole.keys.len() == shared.len() {
        true => Some(whole),
        false => Subject::of_keys(run, shared.clone(), gate),
    };
    let one = again(&quiet, one).with_context(none)?;
    let other = again(&new, other).with_context(none)?;
    let [old_rows, new_rows] = both(|at| Ok(Some(results::of_run([&quiet, &new][at]))))?;
    let one = Values { rows: old_rows, ..Values::of_subject(one, quiet, files[0]) };
    let other = Values { rows: new_rows, ..Values::of_subject(other, new, files[1]) };
    Ok(([one, other], notes))
}

/// One of two files: of options that are for one kind of file those that it takes, and `--unit` only where its numbers have
/// none by themselves and those of the other one have.
fn read_beside([file, other]: [&Path; 2], choice: &Choice) -> anyhow::Result<Values> {
    let own = match (is_run(file), is_run(other)) {
        (true, false) => Choice { label: choice.label.clone(), gate: choice.gate, ..Choice::default() },
        (false, true) => Choice { label: None, gate: false, ..choice.clone() },
        _ => choice.clone(),
    };
    let by_itself = Choice { unit: None, ..own.clone() };
    let has_unit = |file: &Path| is_run(file) || read(file, &by_itself).is_ok_and(|found| found.seconds);
    match own.unit.is_some() && has_unit(file) && !has_unit(other) {
        true => read(file, &by_itself),
        false => read(file, &own),
    }
}

/// What `make` gives for the first and for the second of two, made at the same time.
fn both<T: Send>(make: impl Fn(usize) -> anyhow::Result<T> + Sync) -> anyhow::Result<[T; 2]> {
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| make(1));
        (make(0), other.join())
    });
    Ok([one?, other.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?])
}

fn has_none(file: &Path, name: &str, other: &dyn std::fmt::Display) -> String {
    format!(
        "{} has no sample of `{name}`, which {other} is about: choose with --label what both have",
        file.display()
    )
}

fn left_out(key: &PlaceKey, file: &Path, other: &dyn std::fmt::Display) -> String {
    format!("`{key}` of {} has no counterpart in {other} and is left out", file.display())
}

/// The durations of a run that stand against those of an earlier one, matched by label and operation; what of this run
/// has no counterpart is left out, and told in the notes. Plain numbers stand against whatever is wanted.
///
/// # Errors
/// Where this run lacks something that the earlier one has, or has another number of ranks.
pub fn of_run_like(
    run: Run,
    file: &Path,
    choice: &Choice,
    quiet: &Values,
) -> anyhow::Result<(Values, Vec<String>)> {
    let Some(like) = &quiet.subject else { return Ok((of_run(run, file, choice)?, Vec::new())) };
    let found = if choice.label.is_some() {
        subject(&run, file, choice)?
    } else {
        every_sample(&run, file)?;
        Subject::of_keys(&run, like.keys.clone(), Some(like.gate)).ok_or_else(|| {
            let why = has_none(file, &like.name, &quiet.name);
            blamed_on(&unsound_of(&run, file), anyhow::anyhow!(why))
        })?
    };
    if let Some(key) = like.keys.iter().find(|key| !found.keys.contains(key)) {
        bail!(
            "`{key}` of {} has no counterpart in {}: choose with --label what both have",
            quiet.name,
            file.display()
        );
    }
    let extra = found.keys.iter().filter(|key| !like.keys.contains(key));
    let notes: Vec<String> = extra.map(|key| left_out(key, file, &quiet.name)).collect();
    let matched = match notes.is_empty() {
        true => found,
        false => Subject::of_keys(&run, like.keys.clone(), Some(found.gate))
            .with_context(|| has_none(file, &like.name, &quiet.name))?,
    };
    let found = Values::of_subject(matched, run, file);
    match why_not_comparable(quiet, &found) {
        Some(why) => bail!("{why}"),
        None => Ok((found, notes)),
    }
}

/// Refuses a run that counted its operations: its samples are the slowest only.
pub fn every_sample(run: &Run, file: &Path) -> anyhow::Result<()> {
    if run.facts.counted.is_empty() {
        return Ok(());
    }
    bail!(
        "{} was recorded with --record histogram and holds the slowest samples only: `lastrank report` shows \
         what it came to; for this, run it with --record samples",
        file.display()
    )
}

/// Refuses `--label` and `--gate`, which are for run files.
pub fn reject_run_options(file: &Path, choice: &Choice) -> anyhow::Result<()> {
    let what = match (&choice.label, choice.gate) {
        (Some(_), _) => "--label",
        (None, true) => "--gate",
        (None, false) => return Ok(()),
    };
    bail!("{what} is for run files; {} holds plain numbers", file.display())
}

/// The same for a stream; if its baseline is a run, the options are for that.
pub fn reject_run_options_of_stream(
    file: &Path,
    choice: &Choice,
    baseline_is_run: bool,
) -> anyhow::Result<()> {
    if baseline_is_run { Ok(()) } else { reject_run_options(file, choice) }
}

/// Why values of the same label and operation of two runs cannot be compared: single samples and slowest ranks, or the
/// slowest of other numbers of ranks. Plain numbers can be compared with anything.
pub fn why_not_comparable(one: &Values, other: &Values) -> Option<String> {
    let (a, b) = (one.subject.as_ref()?, other.subject.as_ref()?);
    let ranks = |subject: &Subject| if subject.gate { subject.ranks.len() } else { 1 };
    let alike = a.gate == b.gate && ranks(a) == ranks(b);
    (!alike).then(|| {
        format!(
            "{} cannot be compared with {}: choose the same samples with --label and --gate, of runs with as \
             many ranks",
            other.name, one.name
        )
    })
}

/// The runs that are not sound of all that an answer rests on.
pub fn unsound<'a>(of: impl IntoIterator<Item = &'a Values>) -> Vec<Unsound> {
    of.into_iter().flat_map(|values| values.unsound.iter().cloned()).collect()
}

impl Values {
    /// Of a subject of a run, which came from `file`.
    pub fn of_subject(subject: Subject, run: Run, file: &Path) -> Self {
        let found = run.judgements().into_owned();
        let name = file.display().to_string();
        let unsound = Unsound::of(&name, &found).into_iter().collect();
        let facts = Facts { judgements: Some(found), ..run.facts };
        Values {
            numbers: subject.values(),
            takers: subject.takers(),
            name: format!("{name}, {}", subject.describe()),
            seconds: true,
            subject: Some(subject),
            facts: Some(facts),
            rows: None,
            took: None,
            limit: None,
            plain_unit: None,
            unsound,
        }
    }

    fn plain(taken: Taken, name: String, choice: &Choice) -> anyhow::Result<Self> {
        let unit = unit_of(taken.unit, &name, choice)?;
        let Taken { values: mut numbers, told: took, series, cut, unit: plain_unit, .. } = taken;
        let negative = unit.and_then(|_| numbers.iter().position(|number| *number < 0.0));
        if let Some(at) = negative {
            let value = numbers[at];
            let column = if series.is_empty() { "COLUMN" } else { &series };
            let way_out = match choice.unit {
                Some(_) => "leave it out, or read the numbers without --unit".to_owned(),
                None => format!("--where '{column}!={value}' leaves it out"),
            };
            bail!("value {} of {name} is {value}, and a duration is not negative: {way_out}", at + 1);
        }
        let factor = unit.unwrap_or(1.0);
        tail::can_be_squared(&numbers).with_context(|| format!("cannot compute with {name}"))?;
        numbers.iter_mut().for_each(|number| *number *= factor);
        Ok(Self {
            numbers,
            takers: Vec::new(),
            name,
            seconds: unit.is_some(),
            subject: None,
            facts: None,
            rows: None,
            took,
            limit: cut,
            plain_unit,
            unsound: Vec::new(),
        })
    }

    /// The numbers with who took them: as `report` analyses them.
    pub fn series(&self) -> Series {
        Series::taken_by(&self.numbers, &self.takers)
    }

    /// The unit in which they read well.
    pub fn unit(&self, typical: f64) -> report::Unit {
        if self.seconds { report::Unit::of_duration(typical) } else { report::Unit::NONE }
    }

    /// How many ranks each value is the slowest of, where they are maxima.
    pub fn parts(&self) -> Option<usize> {
        self.subject.as_ref().filter(|subject| subject.gate).map(|subject| subject.ranks.len())
    }

    /// What makes them less reliable, without what the headline about a run that is not sound says.
    pub fn cautions(&self) -> Vec<String> {
        self.warned(self.unsound.is_empty())
    }

    /// What makes them less reliable: an incomplete run, failed operations.
    pub fn warnings(&self) -> Vec<String> {
        self.warned(true)
    }

    fn warned(&self, with_judgements: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        let found = self.facts.iter().filter_map(|facts| facts.judgements.as_ref());
        let found = found.filter(|_| with_judgements);
        for one in found.flat_map(report::words::judgement::warnings) {
            warnings.push(format!("{}: {}", self.name, one.text.trim_end_matches('.')));
        }
        warnings.extend(self.limit.clone());
        if let Some(subject) = &self.subject {
            let what = subject.value_name();
            let are = |count: usize| if count == 1 { "is" } else { "are" };
            if subject.failed > 0 {
                warnings.push(format!(
                    "{}: {} of the {what}s failed and {} left out",
                    self.name,
                    subject.failed,
                    are(subject.failed)
                ));
            }
            if subject.unfinished > 0 {
                warnings.push(format!(
                    "{}: {} step{} not reached by every rank and {} left out",
                    self.name,
                    subject.unfinished,
                    if subject.unfinished == 1 { " was" } else { "s were" },
                    are(subject.unfinished)
                ));
            }
        }
        warnings
    }
}

/// The unit of numbers in seconds, as the file or `--unit` says it.
pub fn unit_of(known: Option<intake::Unit>, name: &str, choice: &Choice) -> anyhow::Result<Option<f64>> {
    match (known, choice.unit) {
        (Some(known), Some(asked)) if !asked.is(known) => {
            bail!("--unit: {name} is in {} by itself; leave the option out", known.symbol())
        }
        (Some(known), _) => Ok(Some(known.seconds())),
        (None, asked) => Ok(asked.map(TimeUnit::seconds)),
    }
}
