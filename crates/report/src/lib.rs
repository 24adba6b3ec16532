//! The numbers of every figure, tables and words, and the one-file HTML page.
//!
//! [`build`] turns a run into a [`Report`]: what was analysed, the fitted law, tables, figures. A report
//! prints itself for a terminal ([`Report::terminal_text`]), as one HTML page that opens without a
//! network ([`Report::html`]) and as JSON ([`Report::json`]). Every figure is data first
//! ([`figures::Numbers`]) and a Plotly figure made from it, so a notebook shows the same.
//!
//! ```
//! let run = samples::example::parallel_write(16, 400, 7);
//! let report = report::build(&run, &report::Options::default());
//! assert!(report.terminal_text().contains("T = write: the slowest of 16 ranks"));
//! assert!(report.html().starts_with("<!doctype html>"));
//! ```
#![forbid(unsafe_code)]

pub mod figures;
mod page;
mod plain_fit;
mod subject;
mod summary;
mod table;
mod tail_of;
mod text;
mod unit;

use samples::{Facts, Run, TimeUse, Warning};
use serde::Serialize;
use serde_json::{Value, json};

pub use figures::Figure;
pub use plain_fit::fit_text;
pub use subject::{Step, Subject};
pub use summary::{Summary, quantile};
pub use table::{Column, Row, Table};
pub use tail_of::Tail;
pub use unit::{Unit, duration, percent, probability, significant};

/// What to report.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which site to analyse: a label, an operation, or `label/operation`. Without it the program's
    /// own hint decides, then the site with the most time.
    pub site: Option<String>,
    /// Is T the maximum over ranks? Without it the program's hint decides, then: with several ranks, yes.
    pub gate: Option<bool>,
    /// Options of the statistics.
    pub fit: tail::assess::Options,
}

impl Default for Options {
    fn default() -> Self {
        let fit = tail::assess::Options { non_finite: tail::assess::NonFinite::Drop, ..Default::default() };
        Options { site: None, gate: None, fit }
    }
}

/// Everything a reader sees of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the program.
    pub title: String,
    /// What was run, on what, how.
    pub facts: Facts,
    /// Anything that makes the result less trustworthy: the run's own warnings and the report's.
    pub warnings: Vec<Warning>,
    /// What was analysed; none where there was nothing to analyse.
    pub subject: Option<Subject>,
    /// Unit of the durations in figures and in the law.
    pub unit: Unit,
    /// Summary of T.
    pub summary: Option<Summary>,
    /// Summary of T without the wait on the run queue, where that was read.
    pub corrected: Option<Summary>,
    /// The fitted law, levels, rivals, verdict.
    pub tail: Option<Tail>,
    /// Durations of all sites; parameters, levels and models of the law.
    pub tables: Vec<Table>,
    /// Lines of the program that yield samples, from 1.
    pub timed_lines: Vec<usize>,
    /// Where the wall time of each rank went; empty where the run does not know.
    pub time: Vec<TimeUse>,
    /// Figures in the order of reading.
    pub figures: Vec<Figure>,
}

/// Analyses a run.
pub fn build(run: &Run, options: &Options) -> Report {
    let mut warnings = of_completeness(&run.facts);
    warnings.extend(run.facts.warnings.iter().cloned());
    let subject = match Subject::choose(run, options.site.as_deref(), options.gate) {
        Ok(subject) => Some(subject),
        Err(why) => {
            warnings.push(warning("nothing-to-analyse", &why, "name a site of the program"));
            None
        }
    };
    if let Some(subject) = &subject {
        warnings.extend(of_subject(subject));
    }
    let values = subject.as_ref().map(Subject::values).unwrap_or_default();
    let summary = Summary::of(&values);
    let unit = summary.as_ref().map_or(Unit::NONE, |summary| Unit::of_duration(summary.median));
    let corrected = subject.as_ref().filter(|subject| subject.has_correction()).and_then(|subject| {
        Summary::of(&subject.steps.iter().map(|step| step.corrected).collect::<Vec<_>>())
    });
    let tail = summary.is_some().then(|| Tail::of(&values, &options.fit));
    let mut tables = vec![table::sites(run, subject.as_ref())];
    if let (Some(tail), Some(subject)) = (&tail, &subject) {
        tables.extend(table::independence(tail));
        if let Some(found) = &tail.assessment {
            tables.push(table::parameters(found, unit));
            let mut levels = table::levels(found, unit, subject.value_name());
            if !tail.is_usable() {
                levels.note =
                    "These levels come from a law that does not describe the values (see the verdict): \
                               do not rely on them."
                        .into();
            }
            tables.push(levels);
            tables.push(table::models(found));
        }
    }
    let figures =
        subject.as_ref().map(|subject| figures::all(subject, tail.as_ref(), unit)).unwrap_or_default();
    let title = if run.facts.name.is_empty() { "run".into() } else { run.facts.name.clone() };
    Report {
        title,
        facts: run.facts.clone(),
        warnings,
        subject,
        unit,
        summary,
        corrected,
        tail,
        tables,
        time: if run.facts.spans.is_empty() { Vec::new() } else { samples::time_use(run) },
        timed_lines: run.sites.iter().map(|site| site.line as usize).collect(),
        figures,
    }
}

impl Report {
    /// The report for a terminal: what was run on what, tables, verdict. Plain text of at most about
    /// 110 columns, without colours.
    pub fn terminal_text(&self) -> String {
        text::of(self)
    }

    /// The report as one HTML page that needs no network: everything is inside.
    pub fn html(&self) -> String {
        page::of(self)
    }

    /// The report as JSON, schema `lastrank.report/1`. Durations are in seconds, but for the `plot` of a
    /// figure, whose axes name their unit.
    pub fn json(&self) -> Value {
        let mut value = json!({"schema": "lastrank.report/1"});
        if let (Some(out), Ok(Value::Object(all))) = (value.as_object_mut(), serde_json::to_value(self)) {
            out.extend(all);
        }
        value
    }
}

fn warning(code: &str, text: &str, advice: &str) -> Warning {
    Warning { code: code.into(), text: text.into(), advice: advice.into() }
}

fn of_completeness(facts: &Facts) -> Vec<Warning> {
    if facts.complete {
        return Vec::new();
    }
    let why = if facts.failures.is_empty() {
        "not every rank reached the end".into()
    } else {
        facts.failures.join("; ")
    };
    vec![warning(
        "incomplete",
        &format!("The run is incomplete: {why}."),
        "the report shows what was measured until then; run it again before you draw conclusions",
    )]
}

fn of_subject(subject: &Subject) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if subject.failed > 0 {
        warnings.push(warning(
            "failed-operations",
            &match subject.failed {
                1 => format!("One {} failed and is left out.", subject.value_name()),
                n => format!("{n} {}s failed and are left out.", subject.value_name()),
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
