//! Judges by a rule when a load became steady, and so where its warm-up ends.

use samples::{
    CommonClock, Run, Sample, Site, SiteKind, SteadyFacts, SteadyLimit, SteadyOutcome, SteadyQuantity,
    SteadyRule, SteadyWindow, WarmUp, quantile_rank,
};

use crate::answer::{AnswerNumbers, Wish};
use crate::row::ResultRow;
use crate::rows::of_run_alone;

/// Values beyond a quantile, on average, from which on it is told of a bin.
const BEYOND: f64 = 10.0;

/// Bins of a run at most: of longer ones the rule is too fine.
const MOST_BINS: u64 = 10_000_000;

/// Moments that are tried to part the passes of all ranks.
const MOST_MOMENTS: usize = 10_000;

/// What came of the rule that was asked for in a run, whose samples are by rank and in time order for each rank and site.
pub fn judge_steady(run: &Run, asked: &SteadyFacts) -> SteadyFacts {
    let rule = &asked.rule;
    let mut found = SteadyFacts { ended_the_run: asked.ended_the_run, ..SteadyFacts::asked(rule.clone()) };
    let load = match Load::of(run, rule, &of_run_alone(run)) {
        Ok(load) => load,
        Err(why) => {
            found.outcome = why;
            return found;
        }
    };
    let Some(bins) = Bins::of(run, rule, &load) else {
        found.outcome = SteadyOutcome::TooShort;
        return found;
    };
    let windows = bins.values.len().checked_sub(bins.each).map_or(0, |more| more + 1);
    let window = |at: usize| bins.window(at).filter(|window| holds(rule, window));
    let Some(last) = windows.checked_sub(1) else {
        found.outcome = SteadyOutcome::TooShort;
        return found;
    };
    let Some((_, first)) = (0..windows).find_map(|at| Some((at, window(at)?))) else {
        found.window = bins.window(last);
        let none = (0..windows).all(|at| bins.window(at).is_none());
        found.outcome = if none { SteadyOutcome::TooFewValues } else { SteadyOutcome::Never };
        return found;
    };
    found.window = Some(first);
    // A run that ends as soon as it is steady has hardly a window more.
    let holds_still = found.ended_the_run || window(last).is_some();
    found.last = bins.window(last).filter(|_| !holds_still);
    found.outcome = if holds_still { SteadyOutcome::Steady } else { SteadyOutcome::NotAtTheEnd };
    if i64::try_from(first.begin_ns).is_ok_and(|begin| begin <= load.begin) {
        return found;
    }
    let Some((end, cut)) = load.parted(run, first.begin_ns as i64) else {
        found.outcome = SteadyOutcome::RanksApart;
        return found;
    };
    found.warm_up_ns = Some([load.begin.max(0) as u64, end as u64]);
    found.cut_sites = cut;
    count_left_out(run, &mut found);
    found
}

/// Newest samples of a rank that say what a run under way is about.
const NEWEST: usize = 20_000;

/// Whether the rule held of a window of a run that is under way, whose samples are by rank.
pub fn was_steady(run: &Run, rule: &SteadyRule) -> bool {
    let newest = run.samples.chunk_by(|a, b| a.rank == b.rank);
    let newest = newest.flat_map(|rank| &rank[rank.len().saturating_sub(NEWEST)..]).copied().collect();
    let recent = Run { facts: run.facts.clone(), sites: run.sites.clone(), samples: newest };
    let Ok(load) = Load::of(run, rule, &of_run_alone(&recent)) else { return false };
    let Some(bins) = Bins::of(run, rule, &load) else { return false };
    let mut windows = 0..(bins.values.len() + 1).saturating_sub(bins.each);
    windows.any(|at| bins.window(at).is_some_and(|window| holds(rule, &window)))
}

fn count_left_out(run: &Run, found: &mut SteadyFacts) {
    let facts = samples::Facts {
        steady: Some(found.clone()),
        clock_offsets: run.facts.clock_offsets.clone(),
        ..Default::default()
    };
    let Some(warm_up) = WarmUp::of(&facts) else { return };
    for sample in &run.samples {
        let kind = run.sites[sample.site as usize].kind;
        if kind == SiteKind::Operation && !warm_up.keeps(kind, &mut sample.clone()) {
            found.left_out += u64::from(sample.batch.max(1));
            found.left_out_failed += u64::from(sample.failed());
        }
    }
}

/// Whether the rule holds of a window.
fn holds(rule: &SteadyRule, window: &SteadyWindow) -> bool {
    let within = |found: f64, limit: Option<SteadyLimit>| match limit {
        None => true,
        Some(SteadyLimit::Share(share)) => found <= share,
        Some(SteadyLimit::Absolute(most)) => found * window.mean <= most,
    };
    window.mean > 0.0
        && within(window.deviation, rule.deviation)
        && within(window.range, rule.range)
        && within(window.slope.abs(), rule.slope)
}

/// What a rule watches in a run.
struct Load {
    clock: CommonClock,
    /// For each site, whether its samples count.
    counts: Vec<bool>,
    /// The labels around what counts.
    labels: Vec<String>,
    /// When it begins and ends, in ns on rank 0's clock.
    begin: i64,
    end: i64,
}

impl Load {
    fn of(run: &Run, rule: &SteadyRule, rows: &[ResultRow]) -> Result<Load, SteadyOutcome> {
        let wanted = wanted(run, rows, rule);
        let labels = wanted.first().ok_or(SteadyOutcome::NothingCounted)?.labels.clone();
        if wanted.iter().any(|row| row.labels != labels) {
            return Err(SteadyOutcome::SeveralLoads);
        }
        let is_of = |site: &Site, row: &ResultRow| {
            site.kind == row.kind && site.operation == row.operation && site.labels == row.labels
        };
        let counts: Vec<bool> =
            run.sites.iter().map(|site| wanted.iter().any(|row| is_of(site, row))).collect();
        let clock = CommonClock::of(&run.facts);
        let mut load = Load { clock, counts, labels, begin: i64::MAX, end: i64::MIN };
        for sample in &run.samples {
            let site = &run.sites[sample.site as usize];
            let counts = load.counts[sample.site as usize];
            // The block around the load begins a moment before it.
            let around = is_block(site) && !site.labels.is_empty() && site.labels == load.labels;
            if counts || around {
                load.begin = load.begin.min(load.begin_of(sample));
            }
            if counts && !sample.failed() {
                load.end = load.end.max(load.end_of(sample));
            }
        }
        if load.end < load.begin { Err(SteadyOutcome::NothingCounted) } else { Ok(load) }
    }

    fn begin_of(&self, sample: &Sample) -> i64 {
        self.clock.common_ns(sample.rank, sample.start_ns)
    }

    fn end_of(&self, sample: &Sample) -> i64 {
        self.begin_of(sample).saturating_add(i64::try_from(sample.duration_ps / 1000).unwrap_or(i64::MAX))
    }

    /// The first moment from `from` on at which the warm-up may end, and the blocks that are then cut: passes of several
    /// ranks are compared by their number, so that as many of them must be left out on each rank.
    fn parted(&self, run: &Run, from: i64) -> Option<(i64, Vec<u32>)> {
        let passes = self.passes(run);
        let mut moments: Vec<i64> = passes
            .iter()
            .flat_map(|of| &of.ranks)
            .flat_map(|rank| rank.iter().map(|(begin, _)| *begin))
            .filter(|begin| *begin > from)
            .collect();
        moments.sort_unstable();
        moments.dedup();
        let moments = std::iter::once(from).chain(moments.into_iter().take(MOST_MOMENTS));
        moments.into_iter().filter(|moment| *moment < self.end).find_map(|moment| {
            let cut: Vec<u32> = passes.iter().filter(|of| of.is_cut(moment)).map(|of| of.site).collect();
            let parted = |of: &RankPasses| cut.contains(&of.site) || of.is_parted(moment, self.begin);
            passes.iter().all(parted).then_some((moment, cut))
        })
    }

    /// The blocks of the run, and what its program calls its gate.
    fn passes(&self, run: &Run) -> Vec<RankPasses> {
        let gate = run.facts.report.get("gate").map_or("", String::as_str);
        let mut found: Vec<RankPasses> = Vec::new();
        for sample in &run.samples {
            let site = &run.sites[sample.site as usize];
            let is_gate = site.kind == SiteKind::Operation && !gate.is_empty() && site.matches(gate);
            if !(is_block(site) || is_gate) {
                continue;
            }
            let at = found.iter().position(|of| of.site == sample.site).unwrap_or_else(|| {
                found.push(RankPasses {
                    site: sample.site,
                    is_block: is_block(site),
                    ranks: Vec::new(),
                    last: None,
                });
                found.len() - 1
            });
            found[at].add(sample.rank, (self.begin_of(sample), self.end_of(sample)));
        }
        found
    }
}

fn is_block(site: &Site) -> bool {
    matches!(site.kind, SiteKind::Time | SiteKind::Phase)
}

/// The rows that a rule watches.
fn wanted<'a>(run: &Run, rows: &'a [ResultRow], rule: &SteadyRule) -> Vec<&'a ResultRow> {
    if let Some(of) = &rule.of {
        let named = |kind: bool| {
            rows.iter().filter(move |row| row.is_called(of) && (row.kind == SiteKind::Operation) == kind)
        };
        let operations: Vec<&ResultRow> = named(true).collect();
        return if operations.is_empty() { named(false).collect() } else { operations };
    }
    let numbers = AnswerNumbers::of(rows, &run.facts, Wish::default());
    let parts: Vec<&ResultRow> = numbers.parts.iter().map(|part| &rows[part.row]).collect();
    if parts.is_empty() { numbers.shown.iter().map(|at| &rows[*at]).collect() } else { parts }
}

/// The passes of a block over its ranks.
struct RankPasses {
    site: u32,
    is_block: bool,
    /// Begin and end of each pass, rank by rank.
    ranks: Vec<Vec<(i64, i64)>>,
    last: Option<u32>,
}

impl RankPasses {
    /// Adds a pass; those of a rank come one after the other.
    fn add(&mut self, rank: u32, pass: (i64, i64)) {
        if self.last != Some(rank) {
            self.ranks.push(Vec::new());
            self.last = Some(rank);
        }
        self.ranks.last_mut().expect("one was pushed").push(pass);
    }

    /// Whether it is under way at the moment on some rank, and for the last time on each: it is then shortened.
    fn is_cut(&self, moment: i64) -> bool {
        let later = |rank: &Vec<(i64, i64)>| rank.iter().rev().take_while(|(_, end)| *end > moment).count();
        let under_way =
            |rank: &Vec<(i64, i64)>| rank.last().is_some_and(|(begin, end)| *begin < moment && *end > moment);
        self.is_block && self.ranks.iter().any(under_way) && self.ranks.iter().all(|rank| later(rank) <= 1)
    }

    /// Whether as many of its passes lie between the moments on each rank.
    fn is_parted(&self, moment: i64, begin: i64) -> bool {
        let before = |rank: &Vec<(i64, i64)>, moment: i64| rank.partition_point(|(begin, _)| *begin < moment);
        let mut left_out = self.ranks.iter().map(|rank| before(rank, moment) - before(rank, begin));
        let first = left_out.next();
        left_out.all(|count| Some(count) == first)
    }
}

/// The quantity over time.
struct Bins {
    begin: i64,
    bin_ns: i64,
    /// Bins of a window.
    each: usize,
    /// The quantity in each bin; `None` where it cannot be told.
    values: Vec<Option<f64>>,
}

impl Bins {
    /// `None` where there is not one whole bin, or too many.
    fn of(run: &Run, rule: &SteadyRule, load: &Load) -> Option<Bins> {
        let begin = load.begin.saturating_add(i64::try_from(rule.after_ns).ok()?);
        let bin_ns = i64::try_from(rule.bin_ns).ok().filter(|bin| *bin > 0)?;
        let whole = load.end.checked_sub(begin).filter(|length| *length >= bin_ns)? / bin_ns;
        let count = usize::try_from(whole).ok().filter(|count| *count as u64 <= MOST_BINS)?;
        let mut filling = BinTally::new(rule.quantity, count);
        for sample in
            run.samples.iter().filter(|sample| load.counts[sample.site as usize] && !sample.failed())
        {
            filling.add([load.begin_of(sample) - begin, load.end_of(sample) - begin], bin_ns, sample);
        }
        let values = filling.finish(rule.bin_ns as f64 * 1e-9);
        Some(Bins { begin, bin_ns, each: (rule.window_ns / rule.bin_ns) as usize, values })
    }

    /// The window that begins with this bin; `None` where a bin of it cannot be told.
    fn window(&self, at: usize) -> Option<SteadyWindow> {
        let values: Vec<f64> = self.values.get(at..at + self.each)?.iter().copied().collect::<Option<_>>()?;
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let [least, most] = values.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[least, most], value| {
            [least.min(*value), most.max(*value)]
        });
        // Least squares over the middles of the bins; the line runs from the first bin's begin to the last one's end.
        let middle = (n - 1.0) / 2.0;
        let across: f64 = values.iter().enumerate().map(|(x, y)| (x as f64 - middle) * (y - mean)).sum();
        let slope = 12.0 * across / (n * n * n - n);
        let share = |value: f64| if mean > 0.0 { value / mean } else { 0.0 };
        let ns = |bin: usize| (self.begin + bin as i64 * self.bin_ns).max(0) as u64;
        Some(SteadyWindow {
            begin_ns: ns(at),
            end_ns: ns(at + self.each),
            mean,
            deviation: share((most - mean).max(mean - least)),
            range: share(most - least),
            slope: share(slope * n),
        })
    }
}

/// Fills bins.
enum BinTally {
    /// Sums: of operations, of bytes.
    Sums(fn(&Sample) -> f64, Vec<f64>),
    /// Durations: sum and number.
    Means(Vec<(f64, f64)>),
    /// All durations, for a quantile.
    Quantiles(f64, Vec<Vec<u64>>),
}

impl BinTally {
    fn new(quantity: SteadyQuantity, bins: usize) -> BinTally {
        match quantity {
            SteadyQuantity::Iops => BinTally::Sums(|sample| f64::from(sample.batch.max(1)), vec![0.0; bins]),
            SteadyQuantity::Bandwidth => BinTally::Sums(|sample| sample.bytes as f64, vec![0.0; bins]),
            SteadyQuantity::Latency => BinTally::Means(vec![(0.0, 0.0); bins]),
            SteadyQuantity::Quantile(probability) => BinTally::Quantiles(probability, vec![Vec::new(); bins]),
        }
    }

    /// Adds an operation that lasted from one moment to the other. Of a rate each bin has the part of it that lies in the bin,
    /// since few operations in a bin would make steps of their own; of a latency the bin in which it ends has it.
    fn add(&mut self, [from, to]: [i64; 2], bin_ns: i64, sample: &Sample) {
        let last = to.div_euclid(bin_ns);
        match self {
            BinTally::Sums(of, sums) => {
                let whole = of(sample);
                let length = (to - from).max(1) as f64;
                let most = sums.len() as i64 - 1;
                for bin in from.div_euclid(bin_ns).max(0)..=last.min(most) {
                    let inside = (to.min((bin + 1) * bin_ns) - from.max(bin * bin_ns)) as f64;
                    sums[bin as usize] += if to > from { whole * inside / length } else { whole };
                }
            }
            BinTally::Means(sums) => {
                if let Some(sum) = usize::try_from(last).ok().and_then(|at| sums.get_mut(at)) {
                    sum.0 += sample.seconds();
                    sum.1 += f64::from(sample.batch.max(1));
                }
            }
            BinTally::Quantiles(_, all) => {
                if let Some(values) = usize::try_from(last).ok().and_then(|at| all.get_mut(at)) {
                    values.push(sample.duration_ps / u64::from(sample.batch.max(1)));
                }
            }
        }
    }

    fn finish(self, bin_seconds: f64) -> Vec<Option<f64>> {
        match self {
            BinTally::Sums(_, sums) => sums.into_iter().map(|sum| Some(sum / bin_seconds)).collect(),
            BinTally::Means(sums) => sums.into_iter().map(|(sum, n)| (n > 0.0).then(|| sum / n)).collect(),
            BinTally::Quantiles(probability, all) => {
                all.into_iter().map(|values| quantile(values, probability)).collect()
            }
        }
    }
}

/// `None` of too few values.
fn quantile(mut values: Vec<u64>, probability: f64) -> Option<f64> {
    let beyond = values.len() as f64 * (1.0 - probability).min(probability);
    if beyond + 1e-9 < BEYOND {
        return None;
    }
    let rank = quantile_rank(values.len(), probability)?;
    Some(*values.select_nth_unstable(rank).1 as f64 * 1e-12)
}
