//! Builds the report of a run: chooses what is analysed and puts the chapters in their order.

use std::collections::BTreeMap;

use results::{AnswerNumbers, AnswerValue, ResultRow, Wish};
use samples::{Run, SiteKind, Warning};

use crate::analysis::Analysis;
use crate::by_clock::ByClock;
use crate::causes::Slowness;
use crate::chapter::Chapter;
use crate::processors::both;
use crate::report::Report;
use crate::screen::{are_shown, typical_wait};
use crate::stretches::Stretch;
use crate::subject::Subject;
use crate::tail_of::Tail;
use crate::{answers, assumptions, causes, page_cache, table, throughput, views, words};

/// Gates besides the first that are analysed in full.
const MOST_FURTHER: usize = 12;

/// What to report.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// Which site to analyse: a label, an operation, or `label/operation`. Without it the program's
    /// own hint decides, then the site with the most time.
    pub site: Option<String>,
    /// Whether T is the maximum over ranks. Without it the program's hint decides, then: with several ranks, yes.
    pub gate: Option<bool>,
    /// Options of the statistics.
    pub fit: tail::assess::AssessOptions,
    /// Whether the figures of the distribution are drawn: a page and a document with figures need them, and each costs simulations.
    pub distribution_figures: bool,
}

impl Default for ReportOptions {
    fn default() -> Self {
        let fit =
            tail::assess::AssessOptions { non_finite: tail::assess::NonFinite::Drop, ..Default::default() };
        ReportOptions { site: None, gate: None, fit, distribution_figures: true }
    }
}

/// Where the time of each rank went. Of a run whose warm-up is left out nobody knows how much of its pauses lies in it.
fn time_of_ranks(run: &Run) -> Vec<samples::TimeUse> {
    let is_cut = run.facts.steady.as_ref().is_some_and(|steady| steady.warm_up_ns.is_some());
    if run.facts.spans.is_empty() || is_cut { Vec::new() } else { samples::time_use(run) }
}

/// Analyses a run.
pub fn build(run: &Run, options: &ReportOptions) -> Report {
    build_telling(run, options, |_| ())
}

/// The same; `tell` gets what is known before distributions are fitted, which takes longest: [`Report::first_lines`] are then those of the
/// whole. It gets nothing where these depend on the rest.
pub fn build_telling(run: &Run, options: &ReportOptions, tell: impl FnOnce(&Report)) -> Report {
    let found = run.judgements().into_owned();
    let mut warnings = words::judgement::warnings(&found);
    warnings.extend(run.facts.steady.as_ref().and_then(words::steady::warning));
    // Files of earlier versions tell of short transfers twice.
    let told = warnings.iter().any(|one| one.code == words::judgement::SHORT_TRANSFER);
    let is_news = |one: &&Warning| !told || one.code != words::judgement::SHORT_TRANSFER;
    warnings.extend(run.facts.warnings.iter().filter(is_news).cloned());
    if !run.facts.counted.is_empty() {
        return of_counted(run, warnings, options);
    }
    // A tour measures many things once: it has no main subject.
    let is_tour = run.facts.tour.is_some() && options.site.is_none();
    // On two processors, who waits for the first lines waits for the longer of both.
    let (results, (seen, time)) =
        both(|| results::of_run(run), || (views::Seen::of(run), time_of_ranks(run)));
    let subject = match chosen(run, &results, options) {
        _ if is_tour || is_of_failures(&results, run, options) => None,
        Ok(subject) => {
            warnings.extend(of_subject(&subject));
            Some(subject)
        }
        // That nothing was done is the outcome of the run, which every output tells.
        Err(_) if results.is_empty() && options.site.is_none() => None,
        Err(why) => {
            warnings.push(warning("nothing-to-analyse", &why, "name a site of the program"));
            None
        }
    };
    warnings.extend(views::unknown(run).map(of_unknown_view));
    let answer = declared_answer(&seen, &results, options, &mut warnings);
    let (chapters, further) = views::chapters(&seen, &time);
    drop(seen);
    // What the program is about comes first: its gate, or its curves.
    let has_curves = |chapters: &[Chapter]| chapters.iter().any(|chapter| !chapter.brief.is_empty());
    let gate = subject.as_ref().is_some_and(|subject| subject.gate);
    let curves = !gate && options.site.is_none() && (has_curves(&chapters) || has_curves(&further));
    let briefs = || chapters.iter().chain(&further).map(|chapter| chapter.brief.clone());
    let brief = match &answer {
        Some(answer) => answer.brief().to_vec(),
        None if curves => briefs().filter(|brief| !brief.is_empty()).collect(),
        None => Vec::new(),
    };
    let wish = Wish { of: options.site.as_deref(), gate: options.gate };
    let numbers = AnswerNumbers::of(&results, &run.facts, wish);
    let is_apart = subject.as_ref().is_some_and(|subject| are_apart(&numbers, subject));
    if !is_apart {
        warnings.splice(0..0, page_cache::warning(&numbers, &results, &run.facts));
    }
    let mut report = Report {
        title: title(run),
        facts: run.facts.clone(),
        numbers: if are_shown(&found) { numbers } else { numbers.without_times() },
        judgements: found,
        unwritten: Vec::new(),
        warnings,
        results,
        main: subject.map(Analysis::to_come),
        answer,
        brief,
        chapters,
        causes: Vec::new(),
        assumptions: Vec::new(),
        timed_lines: run.sites.iter().map(|site| site.line as usize).collect(),
        time,
    };
    if !is_apart {
        tell(&report);
    }
    let main = report.main.take().map(|main| main.subject);
    let analysed_alone = main.as_ref().map(AnalysedSites::of);
    let beside = || if is_tour { Beside::default() } else { Beside::of(run, analysed_alone, &options.fit) };
    let (main, beside) = both(|| main.map(|subject| first_analysis(run, subject, options)), beside);
    report.main = main;
    if is_apart {
        with_steps_apart(&mut report, options);
    }
    let about_curves = report.answer.is_some() || curves;
    analysed(&mut report, (run, options), (further, about_curves, is_tour), beside);
    report
}

/// What is found beside the analysis of what a run is about, and needs nothing of it.
#[derive(Default)]
struct Beside {
    /// The far tail of single operations.
    single: Option<Chapter>,
    causes: Vec<Slowness>,
}

impl Beside {
    fn of(run: &Run, analysed: Option<AnalysedSites>, options: &tail::assess::AssessOptions) -> Beside {
        Beside { single: single_operations(run, analysed, options), causes: causes::of(run) }
    }
}

/// Puts into a report what distributions and causes say; `further` are chapters that go first where the run is about them.
fn analysed(
    report: &mut Report,
    (run, options): (&Run, &ReportOptions),
    (further, about_curves, is_tour): (Vec<Chapter>, bool, bool),
    Beside { single, causes }: Beside,
) {
    let (results, main, numbers) = (&report.results, report.main.as_ref(), &report.numbers);
    let mut chapters = std::mem::take(&mut report.chapters);
    let mut durations =
        Chapter::new("durations", "All durations", "Every place of the program that was timed.")
            .with([], [table::sites(run, results, main)])
            .repeating();
    let mut of_subject: Vec<Chapter> = main.iter().flat_map(|main| main.chapters("")).collect();
    of_subject.extend(single);
    if about_curves {
        chapters.extend(further);
        durations.on_page_only = true;
        of_subject.iter_mut().for_each(|chapter| chapter.on_page_only = true);
        if let (Some(main), Some(first)) = (main, of_subject.first_mut()) {
            first.title = format!("One of them: {}", main.subject.describe());
            first.lead = main.tail.as_ref().map(Tail::text).unwrap_or_default();
        }
        chapters.push(durations);
        chapters.extend(of_subject);
        if let Some(answer) = &report.answer {
            answer.lead(&mut chapters);
        }
    } else {
        chapters.push(durations);
        chapters.extend(of_subject);
        chapters.extend(further);
    }
    if !is_tour {
        let part = numbers.parts.first().map(|part| &results[part.row]);
        // Behind what the program itself asks to show.
        let at = chapters.iter().position(|chapter| chapter.id == "durations").unwrap_or(0);
        let mut chapter = throughput::chapter(results, part);
        if report.answer.is_some() {
            chapter.iter_mut().for_each(Chapter::put_below_answer);
        }
        chapters.splice(at..at, chapter);
    }
    let assumptions = assumptions::of(run, results, main, &causes, options.fit.level);
    chapters.extend(assumptions::chapter(&assumptions, about_curves));
    chapters.extend(causes::chapter(run, &causes));
    chapters.extend(further_gates(run, main, options));
    in_order_of_reading(&mut chapters, main.filter(|_| !about_curves), numbers, results);
    // Folded parts come last.
    chapters.sort_by_key(|chapter| chapter.folded);
    keep_apart(&mut chapters);
    (report.chapters, report.causes, report.assumptions) = (chapters, causes, assumptions);
    report.warnings.extend(typical_wait(report));
}

/// What is analysed first: what was asked for, else what carries the most time, of safe writes the calls that make them so.
fn chosen(run: &Run, results: &[ResultRow], options: &ReportOptions) -> Result<Subject, String> {
    let found = Subject::choose_among(run, results, options.site.as_deref(), options.gate)?;
    Ok(if options.site.is_some() { found } else { found.made_safe(run, results).0 })
}

/// Whether no operation succeeded: how long it takes to fail is analysed only where it was asked for.
fn is_of_failures(results: &[ResultRow], run: &Run, options: &ReportOptions) -> bool {
    options.site.is_none() && AnswerNumbers::of(results, &run.facts, Wish::default()).all_failed()
}

/// First what changed over time, with the picture of what the headline counts, then how slow, why, who, the tail, and the rest.
/// A rate that leaves pauses out has no picture over time: that of the steps shows them.
fn in_order_of_reading(
    chapters: &mut [Chapter],
    main: Option<&Analysis>,
    numbers: &AnswerNumbers,
    rows: &[ResultRow],
) {
    let Some(main) = main else { return };
    const ORDER: [&str; 8] = [
        "measured",
        throughput::ID,
        "durations",
        "causes",
        "ranks",
        "law",
        "threshold",
        "operation-threshold",
    ];
    let counts_pauses = numbers.parts.first().is_some_and(|part| rows[part.row].series_counts_pauses());
    let find = |chapters: &[Chapter], id: &str| chapters.iter().position(|chapter| chapter.id == id);
    if let (Some(first), Some(rates)) = (find(chapters, "measured"), find(chapters, throughput::ID)) {
        let rates = std::mem::take(&mut chapters[rates].figures);
        let is_step = main.subject.gate && main.subject.ranks.len() > 1;
        if !is_step && !counts_pauses {
            chapters[first].figures.splice(0..0, rates);
        }
    }
    // What the program asks to show stands before these, all else behind.
    let asked = chapters.iter().position(|chapter| ORDER.contains(&chapter.id.as_str())).unwrap_or(0);
    chapters[asked..]
        .sort_by_key(|chapter| ORDER.iter().position(|id| *id == chapter.id).unwrap_or(ORDER.len()));
}

/// What is analysed first has more than others: the clock of its steps and the stretches between changes.
fn first_analysis(run: &Run, subject: Subject, options: &ReportOptions) -> Analysis {
    let by_clock = ByClock::of(run, &subject);
    let found = Analysis::of(subject, &options.fit, options.distribution_figures);
    let assessed = found.tail.as_ref().and_then(|tail| tail.assessment.as_ref());
    let stretches = assessed
        .map(|assessed| {
            Stretch::all(assessed, (&found.subject.values(), &found.subject.takers()), &options.fit)
        })
        .unwrap_or_default();
    Analysis { by_clock, stretches, ..found }
}

/// What the program is called.
fn title(run: &Run) -> String {
    if run.facts.name.is_empty() { "run".into() } else { run.facts.name.clone() }
}

/// Whether a user wishes to see as a gate what no row has the steps of.
fn are_apart(numbers: &AnswerNumbers, subject: &Subject) -> bool {
    let is_gate = subject.gate && subject.ranks.len() > 1;
    is_gate && matches!(numbers.parts.as_slice(), [part] if part.value != AnswerValue::Step)
}

/// Gives the numbers of a report the steps that no row has: those are analysed anyway.
fn with_steps_apart(report: &mut Report, options: &ReportOptions) {
    let wish = Wish { of: options.site.as_deref(), gate: options.gate };
    let mut found = AnswerNumbers::of(&report.results, &report.facts, wish);
    if let ([part], Some(main)) = (found.parts.as_mut_slice(), &report.main) {
        (part.value, part.from_schedule) = (AnswerValue::Step, main.subject.from_schedule);
        part.count = main.subject.steps.len() as u64;
        (part.quantiles_seconds, part.intervals) = (main.quantiles.clone(), main.intervals.clone());
    }
    report.warnings.splice(0..0, page_cache::warning(&found, &report.results, &report.facts));
    report.numbers = if are_shown(&report.judgements) { found } else { found.without_times() };
}

/// The answer that the program declares, unless a place was asked for; a warning where it cannot be given.
fn declared_answer(
    seen: &views::Seen<'_>,
    results: &[ResultRow],
    options: &ReportOptions,
    warnings: &mut Vec<Warning>,
) -> Option<answers::Answer> {
    let declared = answers::of(seen, results).filter(|_| options.site.is_none())?;
    let advice = "see docs/answers.md for what each form of answer needs";
    declared.map_err(|why| warnings.push(warning("no-answer", &why, advice))).ok()
}

fn of_unknown_view(name: &str) -> Warning {
    warning(
        "unknown-view",
        &format!("`define report` asks to show `{name}`, which there is not."),
        &format!("there are {}", listed(views::names())),
    )
}

/// `a, b and c`.
fn listed(names: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        all => all.concat(),
    }
}

/// The report of a run that counted: what histograms and the slowest samples can say, and no more.
fn of_counted(run: &Run, mut warnings: Vec<Warning>, options: &ReportOptions) -> Report {
    if let Some(site) = &options.site {
        warnings.push(warning(
            "counted",
            &format!("`{site}` cannot be analysed on its own: this run counted its operations."),
            "run it with `--record samples` to keep every one",
        ));
    }
    let results = results::of_run(run);
    let wish = Wish { of: options.site.as_deref(), gate: options.gate };
    let numbers = AnswerNumbers::of(&results, &run.facts, wish);
    warnings.splice(0..0, page_cache::warning(&numbers, &results, &run.facts));
    // The sentence is about the row that the numbers are of.
    let (chapters, brief) = views::counted(run, numbers.parts.first().map(|part| &results[part.row]));
    Report {
        title: title(run),
        facts: run.facts.clone(),
        judgements: run.judgements().into_owned(),
        unwritten: Vec::new(),
        warnings,
        numbers,
        results,
        main: None,
        answer: None,
        brief,
        chapters,
        causes: Vec::new(),
        assumptions: Vec::new(),
        timed_lines: run.sites.iter().map(|site| site.line as usize).collect(),
        time: Vec::new(),
    }
}

/// Gives a number to every name that stands twice: two labels may read alike once they are made into names.
fn keep_apart(chapters: &mut [Chapter]) {
    fn number(known: &mut BTreeMap<String, usize>, id: &mut String) {
        let count = known.entry(id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            *id = format!("{id}.{count}");
        }
    }
    let (mut of_chapters, mut of_figures) = (BTreeMap::new(), BTreeMap::new());
    for chapter in chapters {
        number(&mut of_chapters, &mut chapter.id);
        chapter.figures.iter_mut().for_each(|figure| number(&mut of_figures, &mut figure.id));
    }
}

/// Which samples are analysed anyway.
struct AnalysedSites {
    site: u32,
    /// All of them, where a value is one sample.
    one_by_one: Vec<u32>,
}

impl AnalysedSites {
    fn of(subject: &Subject) -> AnalysedSites {
        let one_by_one = !subject.gate || subject.ranks.len() == 1;
        let sites = if one_by_one { subject.sites.clone() } else { Vec::new() };
        AnalysedSites { site: subject.site, one_by_one: sites }
    }
}

/// The far tail of the operation that took the most time, of those below the analysed label if there are any.
/// None where it is what is analysed anyway.
fn single_operations(
    run: &Run,
    analysed: Option<AnalysedSites>,
    options: &tail::assess::AssessOptions,
) -> Option<Chapter> {
    let mut totals = vec![(0u128, 0usize); run.sites.len()];
    for sample in run.samples.iter().filter(|sample| !sample.failed()) {
        if let Some((time, count)) = totals.get_mut(sample.site as usize) {
            *time += u128::from(sample.duration_ps);
            *count += 1;
        }
    }
    let around = analysed.as_ref().and_then(|analysed| run.sites.get(analysed.site as usize));
    let labels = around.map_or(&[][..], |site| &site.labels);
    let site = (0..run.sites.len())
        .filter(|&site| run.sites[site].kind == SiteKind::Operation && totals[site].1 >= 1_000)
        .max_by_key(|&site| (run.sites[site].labels.starts_with(labels), totals[site].0))
        .filter(|&site| analysed.is_none_or(|analysed| !analysed.one_by_one.contains(&(site as u32))))?;
    let found = Analysis::of_far_tail(Subject::of_site(run, site as u32, false)?, options);
    let name = format!("The far tail of {}", found.subject.describe());
    Some(found.far_tail("operation-", &name)).filter(|chapter| !chapter.is_empty())
}

/// All gates of a run besides the first: a table of them, and a folded chapter for each.
fn further_gates(run: &Run, main: Option<&Analysis>, options: &ReportOptions) -> Vec<Chapter> {
    let Some(main) = main.filter(|main| main.subject.gate) else { return Vec::new() };
    let mut gates: Vec<(u128, Subject)> = Vec::new();
    for site in 0..run.sites.len() as u32 {
        let kind = run.sites[site as usize].kind;
        let known = main.subject.sites.contains(&site)
            || gates.iter().any(|(_, gate): &(_, Subject)| gate.sites.contains(&site));
        if known || !matches!(kind, SiteKind::Time | SiteKind::Phase) {
            continue;
        }
        if let Some(gate) = Subject::of_site(run, site, main.subject.gate) {
            let time = gate.samples(run).map(|sample| u128::from(sample.duration_ps)).sum();
            gates.push((time, gate));
        }
    }
    gates.retain(|(time, _)| *time > 0);
    if gates.is_empty() {
        return Vec::new();
    }
    gates.sort_by_key(|(time, gate)| (std::cmp::Reverse(*time), gate.site));
    let total = gates.len();
    gates.truncate(MOST_FURTHER);
    let found: Vec<Analysis> = gates
        .into_iter()
        .map(|(_, subject)| Analysis::of(subject, &options.fit, options.distribution_figures))
        .collect();
    let lead = "Each opens with its own figures and tables.";
    let mut chapters = vec![
        Chapter::new("gates", "All gates", lead)
            .with([], [table::gates(std::iter::once(main).chain(&found), total - found.len())]),
    ];
    for (number, gate) in found.iter().enumerate() {
        let prefix = format!("gate{}-", number + 2);
        let verdict = gate.tail.as_ref().map(Tail::text).unwrap_or_default();
        let mut chapter = Chapter::new(&prefix, &gate.subject.name, &verdict);
        for part in gate.chapters(&prefix) {
            chapter.figures.extend(part.figures);
            chapter.tables.extend(part.tables);
        }
        chapter.folded = true;
        chapters.push(chapter);
    }
    chapters
}

fn warning(code: &str, text: &str, advice: &str) -> Warning {
    Warning { code: code.into(), text: text.into(), advice: advice.into() }
}

fn of_subject(subject: &Subject) -> Vec<Warning> {
    let mut warnings = Vec::new();
    // Failures of single operations are told as such.
    if subject.failed > 0 && subject.gate {
        warnings.push(warning(
            "failed-steps",
            &match subject.failed {
                1 => format!("In one {} an operation failed; it is left out.", subject.value_name()),
                n => format!("In {n} {}s an operation failed; they are left out.", subject.value_name()),
            },
            "column `errno` of the run file says with what error",
        ));
    }
    if subject.unfinished > 0 {
        warnings.push(warning(
            "unfinished-steps",
            &format!(
                "{} steps were not reached by every rank; their maximum is unknown.",
                subject.unfinished
            ),
            "a rank ended early: see the failures in the facts",
        ));
    }
    warnings
}
