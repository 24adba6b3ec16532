//! Ends a run when its answer stands: `--until 'width(p99) < 5%'`, `--until 'n_eff = 400'`, `--time 30s`.
//!
//! Looks are taken at numbers of samples that grow by 15%, since looking often for a narrow interval costs coverage; the
//! interval allows for slow operations that come together, without which it would be far too narrow.

use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use engine::run::{Keep, Options, RunOutcome};
use ppl::condition::{Bound, Compared, Condition, Estimate, Relation};
use ppl::plan::Plan;
use ranks::{RankEnd, RanksView};
use report::Subject;
use results::{QuantileInterval, ResultRow};
use samples::{EndedBy, Facts, Run, Sample, Site, SiteKind, SteadyFacts, SteadyRule, UntilFacts};

use crate::cli::{RunArgs, RunOptions};

/// How many times as many samples there are at the next look.
const GROWTH: f64 = 1.15;

/// No look before: a run warms up.
const EARLIEST: Duration = Duration::from_secs(3);

/// Quantiles that results have intervals of.
const WITH_INTERVALS: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];

/// A look takes at most this part of the time.
const SHARE_OF_LOOKING: u32 = 10;

/// What `--until` is given for a rule of steadiness.
const STEADY: &str = "steady";

/// Between two looks whether a load is steady lies at least this.
const LEAST_BETWEEN: Duration = Duration::from_millis(200);

/// Samples at which a run ends in any case: they are held a second time in memory to be watched (1 GiB).
const MOST_SAMPLES: usize = 1 << 24;

/// What must hold of a quantile.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Goal {
    /// The whole width of its interval is less than this share of it.
    Width(f64),
    /// So many independent values tell as much of it.
    EffectiveN(f64),
}

/// `width(p99 of read/fread) < 5%`, as far as it can be watched.
#[derive(Clone, Debug, PartialEq)]
struct Watched {
    text: String,
    probability: f64,
    of: Option<String>,
    goal: Goal,
}

fn is_rate(estimate: Estimate) -> bool {
    matches!(estimate, Estimate::Iops | Estimate::Bandwidth)
}

impl Watched {
    fn of(text: &str) -> anyhow::Result<Watched> {
        let what = "--until watches `width(p99) < 5%` (p50, p90, p99, p99.9 or p99.99, if need be `p99 of \
                    LABEL/OPERATION`), or `n_eff > 400` (of p99; `n_eff(p50) > 400`)";
        let condition = Condition::parse(text).map_err(|why| anyhow!("--until {text}: {why}\n{what}"))?;
        if let (Compared::Width(of), Bound::Number(number)) = (condition.quantity, condition.bound)
            && number >= 1.0
        {
            bail!(
                "--until {text}: the width is a share of {of}, and {number} of it is {}%; write \
                 `width({of}) < {number}%`",
                100.0 * number
            );
        }
        let elsewhere = match (condition.quantity, condition.bound) {
            (Compared::Value(estimate), Bound::Share(share)) if estimate.is_time() => {
                format!("; how well it is known is its width: `width({estimate}) < {}%`", 100.0 * share)
            }
            (Compared::Value(_), Bound::Change(_)) => {
                format!("; a change is against an earlier run: `lastrank compare OLD NEW --fail-if '{text}'`")
            }
            (Compared::Value(estimate), _) if estimate.is_time() || is_rate(estimate) => {
                format!("; what a run must reach is judged at its end: `assert {text};` in the program")
            }
            (Compared::Value(Estimate::Count), _) => {
                "; a loop counts: `repeat 10000 { … }`, and `--time 30s` ends it".to_owned()
            }
            _ => String::new(),
        };
        Self::watchable(condition)
            .ok_or_else(|| anyhow!("--until {text}: this is not watched during a run{elsewhere}\n{what}"))
    }

    /// `None` of what is not watched.
    fn watchable(condition: Condition) -> Option<Watched> {
        let Condition { text, quantity, of, relation, bound } = condition;
        let (estimate, goal) = match (quantity, relation, bound) {
            (Compared::Width(of), Relation::Below, Bound::Share(share) | Bound::Number(share)) => {
                (of, Goal::Width(share))
            }
            (Compared::EffectiveN(of), Relation::Equal | Relation::Above, Bound::Number(n)) => {
                (of, Goal::EffectiveN(n))
            }
            _ => return None,
        };
        let Estimate::Quantile(probability) = estimate else { return None };
        WITH_INTERVALS.contains(&probability).then_some(Watched { text, probability, of, goal })
    }

    /// The figure that the goal is about; none where it is not known.
    fn figure(&self, interval: &QuantileInterval) -> Option<f64> {
        match self.goal {
            Goal::EffectiveN(_) => Some(interval.effective_n),
            Goal::Width(_) => Some(interval.width_to_stop_at()).filter(|width| width.is_finite()),
        }
    }

    fn holds(&self, figure: f64) -> bool {
        match self.goal {
            Goal::Width(limit) => figure < limit,
            Goal::EffectiveN(limit) => figure >= limit,
        }
    }

    /// How many times as many values it will take.
    fn times_as_many(&self, figure: f64) -> f64 {
        match self.goal {
            Goal::Width(limit) => (figure / limit).powi(2),
            Goal::EffectiveN(limit) => limit / figure.max(1.0),
        }
    }
}

/// When a run is to end.
#[derive(Clone, Debug, Default)]
pub struct Until {
    condition: Option<Watched>,
    /// The rule by which the run is to be steady (`--until steady`).
    steady: Option<SteadyRule>,
    limit: Option<Duration>,
}

impl Until {
    /// As the command line says.
    ///
    /// # Errors
    /// What cannot be read, or watched in such a run.
    pub fn of(args: &RunArgs, plan: &Plan, rule: Option<&SteadyRule>, in_job: bool) -> anyhow::Result<Until> {
        // What a program asks for is not asked of ranks that nobody sees: it then ends by itself.
        let of_program = plan.report.get("until").filter(|_| !in_job);
        let asked = args.until.as_ref().or(of_program).map(|text| text.trim());
        let is_steady = asked == Some(STEADY);
        let condition = asked.filter(|_| !is_steady).map(Watched::of).transpose()?;
        let steady = rule.filter(|_| is_steady).cloned();
        if is_steady && steady.is_none() {
            bail!("--until steady: say when it is, as in --steady 'iops 5% over 30s'");
        }
        let limit = args.time.as_deref().map(seconds).transpose()?;
        Self::possible(&args.options, asked.is_some(), limit.is_some(), in_job)?;
        Ok(Until { condition, steady, limit })
    }

    fn possible(options: &RunOptions, until: bool, time: bool, in_job: bool) -> anyhow::Result<()> {
        let option = if until { "--until" } else { "--time" };
        if (until || time) && in_job {
            bail!(
                "{option} is for ranks that lastrank starts: under a launcher nobody sees the samples of all ranks \
                 while they run; let the program end by itself (`for 30s {{ … }}`)"
            );
        }
        if until && options.record == crate::cli::Record::Histogram {
            bail!("--until needs every sample: leave --record histogram out");
        }
        Ok(())
    }

    /// Whether anything was asked for.
    pub fn is_asked(&self) -> bool {
        self.needs_samples() || self.limit.is_some()
    }

    /// Whether samples must be seen for it.
    pub fn needs_samples(&self) -> bool {
        self.condition.is_some() || self.steady.is_some()
    }

    fn text(&self) -> String {
        let time = || self.limit.map(|limit| samples::units::duration(limit.as_secs_f64()));
        let steady = || self.steady.as_ref().map(|_| STEADY.to_owned());
        self.condition.as_ref().map(|one| one.text.clone()).or_else(steady).or_else(time).unwrap_or_default()
    }
}

/// A time of the command line.
fn seconds(text: &str) -> anyhow::Result<Duration> {
    let nanoseconds = workloads::quantity::nanoseconds(text, workloads::quantity::SECOND);
    let nanoseconds = nanoseconds.filter(|time| *time > 0);
    let nanoseconds =
        nanoseconds.with_context(|| format!("--time {text}: a time above 0, such as 30s or 5m"))?;
    Ok(Duration::from_nanos(nanoseconds))
}

/// Watches a run and ends it when its answer stands.
pub struct Watcher {
    until: Until,
    /// The samples so far, with what is known of the run.
    run: Run,
    began: Instant,
    next_n: usize,
    next_look: Instant,
    figure: Option<f64>,
    looks: u32,
    /// Why the run was ended, once it was.
    ended_by: Option<EndedBy>,
}

impl Watcher {
    /// Begins now; `facts` say what the run is about.
    pub fn new(until: Until, facts: Facts, is_virtual: bool) -> Watcher {
        let began = Instant::now();
        Watcher {
            until,
            run: Run { facts, ..Run::default() },
            began,
            next_n: 1,
            next_look: if is_virtual { began } else { began + EARLIEST },
            figure: None,
            looks: 0,
            ended_by: None,
        }
    }

    /// Takes samples as they come.
    pub fn take(&mut self, sites: &[Site], samples: &[Sample]) {
        if self.until.needs_samples() && self.run.samples.len() < MOST_SAMPLES {
            if self.run.sites.len() < sites.len() {
                self.run.sites = sites.to_vec();
            }
            self.run.samples.extend_from_slice(samples);
        }
    }

    /// Looks whether the answer stands, and ends the run if so.
    pub fn look(&mut self, view: &RanksView) {
        if self.ended_by.is_some() {
            return;
        }
        let out_of_time = self.until.limit.is_some_and(|limit| self.began.elapsed() >= limit);
        let full = self.until.needs_samples() && self.run.samples.len() >= MOST_SAMPLES;
        self.ended_by = match () {
            () if self.stands(out_of_time || full) => Some(EndedBy::Condition),
            () if out_of_time => Some(EndedBy::Time),
            () if full => Some(EndedBy::Samples),
            () => None,
        };
        if self.ended_by.is_some() {
            view.stop();
        }
    }

    /// Whether the condition holds, if it is time for a look or the `last` one.
    fn stands(&mut self, last: bool) -> bool {
        if !self.until.needs_samples() {
            return false;
        }
        let n = self.run.samples.len();
        let now = Instant::now();
        if !last && (n < self.next_n || now < self.next_look) {
            return false;
        }
        if let Some(rule) = &self.until.steady {
            return self.is_steady(&rule.clone(), now);
        }
        let Some(condition) = &self.until.condition else { return false };
        self.figure = interval(&mut self.run, condition).and_then(|found| condition.figure(&found));
        self.looks += 1;
        self.next_n = (n as f64 * GROWTH) as usize + 1;
        self.next_look = Instant::now() + SHARE_OF_LOOKING * now.elapsed();
        self.figure.is_some_and(|figure| condition.holds(figure))
    }

    /// Whether the load is steady by now.
    fn is_steady(&mut self, rule: &SteadyRule, now: Instant) -> bool {
        // Ranks come one after the other in each piece; a run has each rank as a whole.
        self.run.samples.sort_by_key(|sample| sample.rank);
        self.looks += 1;
        let found = results::was_steady(&self.run, rule);
        self.next_look = Instant::now() + (SHARE_OF_LOOKING * now.elapsed()).max(LEAST_BETWEEN);
        found
    }

    /// Seconds to go at the pace so far; none where that is not known.
    pub fn left_s(&self) -> Option<f64> {
        let elapsed = self.began.elapsed().as_secs_f64();
        let limit = self.until.limit.map(|limit| (limit.as_secs_f64() - elapsed).max(0.0));
        let condition = self.until.condition.as_ref();
        let wanted = self
            .figure
            .zip(condition)
            .map(|(figure, one)| elapsed * (one.times_as_many(figure) - 1.0).max(0.0));
        match (limit, wanted) {
            (Some(limit), Some(wanted)) => Some(limit.min(wanted)),
            (limit, wanted) => limit.or(wanted),
        }
    }

    /// Notes in the facts what came of it. A run that was ended because its answer stands is complete, unless a rank was
    /// lost besides.
    pub fn tell(self, outcome: &mut RunOutcome) {
        if !self.until.is_asked() {
            return;
        }
        let ended = self.ended_by.is_some() && outcome.ends.iter().all(as_asked);
        // What is reached only when all ranks are through ended nothing.
        let is_through = outcome.ends.iter().all(|end| matches!(end, RankEnd::Finished));
        let ended_by = self.ended_by.filter(|_| !is_through);
        let facts = &mut outcome.run.facts;
        if ended {
            facts.complete = true;
            facts.failures.clear();
            // It was stopped as it was to be.
            if let Some(found) = &mut facts.judgements {
                found.found.retain(|one| one.kind != samples::JudgementKind::CutShort);
                found.progress = None;
            }
            outcome.stopped = None;
        }
        facts.steady = self.until.steady.as_ref().map(|rule| SteadyFacts {
            ended_the_run: self.ended_by == Some(EndedBy::Condition),
            ..SteadyFacts::asked(rule.clone())
        });
        facts.until = Some(UntilFacts {
            condition: self.until.text(),
            reached: match ended_by {
                Some(EndedBy::Condition) => true,
                Some(EndedBy::Time) => !self.until.needs_samples(),
                Some(EndedBy::Samples | EndedBy::Program) | None => self.ended_by == Some(EndedBy::Condition),
            },
            ended_by: Some(ended_by.unwrap_or_default()),
            limit_seconds: self.until.limit.map(|limit| limit.as_secs_f64()),
            found: self.figure,
            looks: self.looks,
        });
    }
}

fn as_asked(end: &RankEnd) -> bool {
    matches!(end, RankEnd::Finished | RankEnd::Stopped(_))
}

/// The interval of the condition's quantile, as the result of the run so far has it.
fn interval(run: &mut Run, condition: &Watched) -> Option<QuantileInterval> {
    // Ranks come one after the other in each piece; a run has each rank as a whole.
    run.samples.sort_by_key(|sample| sample.rank);
    let subject = Subject::choose(run, condition.of.as_deref(), None).ok()?;
    let found =
        |list: &[QuantileInterval]| list.iter().find(|one| one.probability == condition.probability).copied();
    if subject.gate && subject.ranks.len() > 1 {
        return found(&results::of_values(&subject.values()).1);
    }
    let key = subject.keys.first()?;
    let is_it = |row: &&ResultRow| {
        row.operation == key.operation()
            && row.label.as_deref().unwrap_or_default() == key.label()
            && (row.kind == SiteKind::Operation) == key.is_operation()
    };
    results::of_run_alone(run).iter().find(is_it).and_then(|row| found(&row.intervals))
}

/// Options of a run that is watched: samples are shown while it runs.
pub fn watched(options: &Options, wanted: bool) -> Options {
    let tap = (wanted && options.keep == Keep::Samples).then(Default::default);
    Options { tap, ..options.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_as_one_writes_them() {
        let read = |text: &str| Watched::of(text).ok().map(|one| (one.probability, one.of, one.goal));
        assert_eq!(read("width(p99) < 5%"), Some((0.99, None, Goal::Width(0.05))));
        assert_eq!(
            read(" width( p99.9 of read/fread )<=0.1 "),
            Some((0.999, Some("read/fread".into()), Goal::Width(0.1)))
        );
        assert_eq!(read("n_eff = 400"), Some((0.99, None, Goal::EffectiveN(400.0))));
        assert_eq!(read("n_eff(median) >= 50"), Some((0.5, None, Goal::EffectiveN(50.0))));
        assert_eq!(read("n_eff > 400"), read("n_eff = 400"));
        for wrong in [
            "",
            "p99 < 5%",
            "width(mean) < 5%",
            "width(p99) < 5ms",
            "n_eff < 9",
            "width(p99) > 5%",
            "width(p98) < 5%",
            "width(p99 < 5%",
            "n_eff = -1",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let said = |text: &str| Watched::of(text).unwrap_err().to_string();
        assert!(said("x").contains("width(p99) < 5%") && said("p99 < 5%").contains("not watched"));
    }

    #[test]
    fn a_width_is_believed_from_ten_values_beyond_on_and_says_how_many_more_it_takes() {
        let one = Watched::of("width(p99) < 5%").unwrap();
        let interval = |effective_n: f64, half: f64| QuantileInterval {
            probability: 0.99,
            seconds: 1.0,
            lower_seconds: Some(1.0 - half),
            upper_seconds: Some(1.0 + half),
            effective_n,
        };
        assert_eq!(one.figure(&interval(999.0, 0.01)), None);
        let found = one.figure(&interval(1_000.0, 0.05)).unwrap();
        assert!((found - 0.1).abs() < 1e-12 && !one.holds(found));
        assert!((one.times_as_many(found) - 4.0).abs() < 1e-9);
        assert!(one.holds(one.figure(&interval(4_000.0, 0.02)).unwrap()));
    }

    #[test]
    fn the_figure_is_that_of_the_result() {
        let mut run = samples::example::parallel_write(1, 2_000, 3);
        let one = Watched::of("width(p50) < 5%").unwrap();
        let rows = results::of_run(&run);
        let found = interval(&mut run, &one).expect("an interval");
        assert!(rows.iter().any(|row| row.interval(0.5) == Some(&found)));
        let gates = interval(&mut samples::example::parallel_write(4, 300, 3), &one).expect("an interval");
        assert!(gates.effective_n <= 300.0);
    }
}
