//! The analysis of one subject: its law, its far tail, its ranks, as chapters of figures and tables.

use serde::Serialize;
use tail::Series;
use tail::latency::Latency;
use tail::targets::Targets;

use crate::by_clock::ByClock;
use crate::figures::{Figure, curves, ranks, sample, targets, threshold, time};
use crate::subject::Subject;
use crate::summary::Summary;
use crate::tail_of::Tail;
use crate::unit::Unit;
use crate::{Chapter, table, words};

/// Fewest values whose far tail is fitted beyond a threshold.
const FEWEST_FAR: usize = 1_000;

/// How rare a value the far tail is asked for: once in so many.
const PERIODS: [f64; 5] = [1e2, 1e3, 1e4, 1e5, 1e6];

/// Everything that is said of one subject.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// What is analysed.
    pub subject: Subject,
    /// Unit of the durations in its figures and its law.
    pub unit: Unit,
    /// Summary of T; none without a value.
    pub summary: Option<Summary>,
    /// Summary of T without the wait on the run queue, where that was read.
    pub corrected: Option<Summary>,
    /// The steps of a gate from the first begin to the last end over ranks; of what is analysed first only.
    pub by_clock: Option<ByClock>,
    /// The fitted law, levels, rivals, verdict.
    pub tail: Option<Tail>,
    /// The tail beyond a threshold (schema `lastrank.latency/1`), from 1,000 values on.
    #[serde(serialize_with = "words::serialize")]
    pub far: Option<Latency>,
    /// The ranks of a gate against each other (schema `lastrank.targets/1`).
    #[serde(serialize_with = "words::serialize")]
    pub targets: Option<Targets>,
}

impl Analysis {
    /// Analyses all of a subject.
    pub(crate) fn of(subject: Subject, options: &tail::assess::AssessOptions) -> Analysis {
        let values = subject.values();
        let series = Series::clean(&values);
        let tail = (!values.is_empty()).then(|| Tail::of_series(&series, &values, options));
        let targets = (subject.gate && subject.ranks.len() > 1)
            .then(|| tail::targets::analyse(&subject.of_rank, options.level).ok())
            .flatten()
            .filter(|found| found.residual_sd > 0.0);
        Analysis { tail, targets, ..Analysis::far(subject, &series, options) }
    }

    /// Analyses the far tail only: what single operations are asked for.
    pub(crate) fn of_far_tail(subject: Subject, options: &tail::assess::AssessOptions) -> Analysis {
        let series = Series::clean(&subject.values());
        Analysis::far(subject, &series, options)
    }

    /// The same of a subject whose values are `series`.
    fn far(subject: Subject, series: &Series, options: &tail::assess::AssessOptions) -> Analysis {
        let summary = Summary::of_sorted(series.sorted());
        let unit = summary.as_ref().map_or(Unit::NONE, |summary| Unit::of_duration(summary.median));
        let corrected = subject
            .has_correction()
            .then(|| Summary::of(&subject.steps.iter().map(|step| step.corrected).collect::<Vec<_>>()))
            .flatten();
        let far = (series.len() >= FEWEST_FAR)
            .then(|| {
                let reach = 100.0 * series.len() as f64;
                let periods: Vec<f64> = PERIODS.into_iter().filter(|period| *period <= reach).collect();
                tail::latency::analyse_series(series, &periods, options.level, options.seed).ok()
            })
            .flatten();
        Analysis { subject, unit, summary, corrected, by_clock: None, tail: None, far, targets: None }
    }

    /// Its chapters in the order of reading; `prefix` keeps the names of several analyses apart.
    pub(crate) fn chapters(&self, prefix: &str) -> Vec<Chapter> {
        let values = self.subject.values();
        if values.is_empty() {
            return Vec::new();
        }
        let mut chapters = vec![self.measured(prefix), self.law(prefix, &values)];
        chapters.push(self.far_tail(prefix, "Beyond a threshold"));
        chapters.push(self.ranks(prefix));
        chapters.retain(|chapter| !chapter.is_empty());
        chapters
    }

    fn measured(&self, prefix: &str) -> Chapter {
        let (subject, unit, what) = (&self.subject, self.unit, self.subject.axis_name());
        let tail = self.tail.as_ref();
        let mut figures = vec![
            time::series(prefix, subject, tail, unit, &what),
            sample::survival(prefix, subject, tail, unit, &what),
        ];
        figures.extend(tail.and_then(|tail| time::autocorrelation(prefix, tail)));
        Chapter::new(
            &format!("{prefix}measured"),
            "What was measured",
            "Every value in time order: the laws below assume that time plays no part.",
        )
        .with(figures, tail.and_then(table::independence))
    }

    fn law(&self, prefix: &str, values: &[f64]) -> Chapter {
        let (unit, what) = (self.unit, self.subject.axis_name());
        let chapter = Chapter::new(
            &format!("{prefix}law"),
            "Does the law fit, and what does it foretell?",
            "The maximum of many parts follows an extreme-value law (GEV). Four views of the same comparison, the \
             first three as in Henwood et al. 2016, Figure 2.",
        );
        let Some(tail) = &self.tail else { return chapter };
        let figures: Vec<Figure> = [
            curves::probability(prefix, tail),
            curves::return_levels(prefix, tail, unit, &what),
            curves::density(prefix, values, tail, unit, &what),
            curves::quantiles(prefix, tail, unit, &what),
        ]
        .into_iter()
        .flatten()
        .collect();
        let mut tables = Vec::new();
        if let Some(found) = &tail.assessment {
            tables.push(table::parameters(found, unit));
            let mut levels = table::levels(found, unit, self.subject.value_name());
            if !tail.is_usable() {
                levels.note =
                    "These levels come from a law that does not describe the values (see the verdict): do \
                               not rely on them."
                        .into();
            }
            tables.push(levels);
            tables.push(table::models(found));
        }
        chapter.with(figures, tables)
    }

    /// The far tail beyond a threshold.
    pub(crate) fn far_tail(&self, prefix: &str, title: &str) -> Chapter {
        let chapter = Chapter::new(
            &format!("{prefix}threshold"),
            title,
            "Among very many values the largest say more than maxima: what lies beyond a high threshold follows a \
             Pareto law (GPD), if the threshold is high enough.",
        );
        let Some(far) = &self.far else { return chapter };
        let what = self.subject.axis_name();
        let figures = threshold::all(prefix, &self.subject.values(), far, self.unit, &what);
        chapter.with(
            figures,
            [table::far_levels(far, self.unit, self.subject.value_name(), &self.subject.describe())],
        )
    }

    fn ranks(&self, prefix: &str) -> Chapter {
        let subject = &self.subject;
        let chapter = Chapter::new(
            &format!("{prefix}ranks"),
            "Who is slow?",
            "S is what one rank took, T what the step took: the slowest S.",
        );
        if !subject.gate || subject.ranks.len() < 2 {
            return chapter;
        }
        let last = ranks::Last::of(subject);
        let mut figures = vec![ranks::last(prefix, &last)];
        let mut tables = Vec::new();
        if let Some(found) = &self.targets {
            figures.push(targets::effects(prefix, subject, found));
            figures.push(targets::shared(prefix, found));
            tables.push(table::targets(&targets::Effects::of(subject, found), &last));
        }
        figures.push(ranks::spread(prefix, subject, self.unit));
        let mut chapter = chapter.with(figures, tables);
        // A terminal has it where there is something to say.
        chapter.on_page_only =
            self.targets.as_ref().is_none_or(|found| found.targets.iter().all(|target| !target.slow));
        chapter
    }
}
