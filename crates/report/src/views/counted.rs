//! The chapter of a run that counted its operations instead of keeping every one.

use results::ResultRow;
use samples::histogram::{RELATIVE_ERROR, edges};
use samples::{Counted, CountedResponses, Run, units};

use super::distributions::{Overlay, survival_figure};
use crate::figures::Curve;
use crate::table::site_name;
use crate::unit::{Unit, duration, fixed, significant};
use crate::{Chapter, Table};

/// Lines in the figure, and rows in the tables.
const MOST_LINES: usize = 8;
const MOST_ROWS: usize = 60;

/// Places whose far tail is fitted: each takes up to a second, most of it for the tests of twenty thresholds.
const MOST_FITTED: usize = 8;
/// Fewer slow operations than this are not fitted.
const LEAST: usize = 50;

/// Quantiles of every place from its histogram, its far tail from the samples that were kept, and a sentence
/// about the place with the most time.
pub(crate) fn chapters(run: &Run, about: Option<&ResultRow>) -> (Vec<Chapter>, Vec<String>) {
    let mut places: Vec<&Counted> = run.facts.counted.iter().collect();
    places.retain(|place| (place.site as usize) < run.sites.len() && place.histogram.count() > 0);
    places.sort_by(|a, b| b.total_s.total_cmp(&a.total_s).then(a.site.cmp(&b.site)));
    let Some(first) = places.first() else { return (Vec::new(), Vec::new()) };
    let tails: Vec<(&Counted, FarTail)> =
        places.iter().take(MOST_FITTED).map(|place| (*place, FarTail::of(run, place))).collect();
    let unit = Unit::of_duration(first.quantile_s(0.5));
    let curves = places.iter().take(MOST_LINES).map(|place| curve(run, place)).collect();
    let overlay = Overlay {
        id: "counted".into(),
        title: "How often it takes longer".into(),
        curves,
        unit,
        look_for: match places.iter().any(|place| place.responses.is_some()) {
            true => "Once begun, not from the schedule. Steep: always alike; a long slope: at times slow.",
            false => "From the histograms. Steep: always alike; a long slope: at times slow.",
        },
    };
    let figure = survival_figure(run, overlay);
    let lead = "Every operation was counted; only the slowest were kept whole.";
    let chapter = Chapter::new("counted", "All durations, counted", lead)
        .with([figure], [durations(run, &places), far_tails(run, &tails)]);
    let is_it = |place: &Counted, row: &ResultRow| {
        let site = &run.sites[place.site as usize];
        site.kind == row.kind && site.labels == row.labels && site.operation == row.operation
    };
    let sentence = about.map(|row| {
        let mut of_row = places.iter().filter(|place| is_it(place, row));
        let tail = match (of_row.next(), of_row.next()) {
            // Of several places each has a tail of its own.
            (Some(only), None) => {
                tails.iter().find(|(place, _)| place.site == only.site).map(|(_, tail)| tail)
            }
            _ => None,
        };
        brief(row, tail.unwrap_or(&FarTail::Few))
    });
    (vec![chapter], sentence.into_iter().collect())
}

/// The share that takes longer than the upper edge of each bucket that holds something.
fn curve(run: &Run, place: &Counted) -> Curve {
    let n = place.histogram.count() as f64;
    let mut left = place.histogram.count();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for (bucket, count) in place.histogram.buckets() {
        left -= count;
        let (_, high) = edges(bucket);
        x.push(high.min(place.most_ps) as f64 * 1e-12);
        // The slowest of all has none above it; half of it stands for the chance of another.
        y.push(if left == 0 { 0.5 / n } else { left as f64 / n });
    }
    Curve { name: site_name(run, place.site as usize), x, y }
}

fn durations(run: &Run, places: &[&Counted]) -> Table {
    let mut table = Table::new(
        "Durations, from histograms",
        &["<what", "<line", "n", "mean", "median", "p90", "p99", "p99.9", "p99.99", "max", "failed"],
    );
    for (index, place) in places.iter().take(MOST_ROWS).enumerate() {
        let n = place.histogram.count();
        // A quantile that fewer than ten operations lie above is chance.
        let far =
            |q: f64| if n as f64 * (1.0 - q) > 9.99 { duration(place.quantile_s(q)) } else { "–".into() };
        let line = run.sites[place.site as usize].line;
        table.push(
            index == 0,
            [
                site_name(run, place.site as usize),
                if line == 0 { String::new() } else { line.to_string() },
                units::count(n),
                duration(place.mean_s()),
                duration(place.quantile_s(0.5)),
                far(0.9),
                far(0.99),
                far(0.999),
                far(0.9999),
                duration(place.most_ps as f64 * 1e-12),
                if place.failed == 0 { String::new() } else { units::count(place.failed) },
            ],
        );
        if let Some(responses) = &place.responses {
            table.push(false, response_cells(responses));
        }
    }
    table.note = format!(
        "A quantile is the middle of a bucket and at most {}% wrong by that; n, mean and max are exact.{}",
        fixed(100.0 * RELATIVE_ERROR, 2),
        match places.len().saturating_sub(MOST_ROWS) {
            0 => String::new(),
            more => format!(" {more} further places took less time and are left out."),
        }
    );
    table
}

/// The cells of response times, below those of the service times of the same place.
fn response_cells(responses: &CountedResponses) -> [String; 11] {
    let n = responses.histogram.count();
    let at = |q: f64| responses.histogram.quantile(q).unwrap_or(0).min(responses.most_ps) as f64 * 1e-12;
    let far = |q: f64| if n as f64 * (1.0 - q) > 9.99 { duration(at(q)) } else { "–".into() };
    [
        "  from its scheduled start".into(),
        String::new(),
        units::count(n),
        "–".into(),
        duration(at(0.5)),
        far(0.9),
        far(0.99),
        far(0.999),
        far(0.9999),
        duration(responses.most_ps as f64 * 1e-12),
        String::new(),
    ]
}

/// What is known of the slowest operations of a place.
enum FarTail {
    /// They are too few to say.
    Few,
    /// There is no threshold beyond which they follow a Pareto distribution; so many were kept.
    NoDistribution(usize),
    ParetoTail(ParetoTail),
}

/// A generalised Pareto distribution of the slowest operations of a place.
struct ParetoTail {
    fit: tail::gpd::GpdFit,
    /// What one operation in ten times as many as were done is expected to exceed.
    beyond_s: f64,
    kept: usize,
}

impl FarTail {
    fn of(run: &Run, place: &Counted) -> Self {
        let n = place.histogram.count();
        let kept: Vec<f64> = run
            .of_site(place.site)
            .filter(|sample| !sample.failed() && sample.duration_ps >= place.kept_from_ps)
            .map(samples::Sample::seconds)
            .collect();
        if kept.len() < LEAST || n < 10 * LEAST as u64 {
            return Self::Few;
        }
        match tail::latency::of_slowest(&kept, n, 1) {
            Ok(Some(fit)) => {
                let beyond_s = fit.distribution().upper_quantile((0.1 / n as f64 / fit.rate).min(1.0));
                Self::ParetoTail(ParetoTail { fit, beyond_s, kept: kept.len() })
            }
            Ok(None) | Err(_) => Self::NoDistribution(kept.len()),
        }
    }
}

impl ParetoTail {
    fn shape(&self) -> String {
        match self.fit.standard_errors {
            Some([_, error]) => {
                format!("{} ± {}", fixed(self.fit.shape, 2), significant(1.96 * error, 1))
            }
            None => fixed(self.fit.shape, 2),
        }
    }

    /// The lower end of the shape's 95% interval is above 0.
    /// As the GEV of a run: nothing is extrapolated with a tail that has no mean.
    fn has_no_mean(&self) -> bool {
        self.fit.shape >= 1.0
    }

    fn is_heavy(&self) -> bool {
        self.fit.standard_errors.is_some_and(|[_, error]| self.fit.shape - 1.96 * error > 0.0)
    }
}

fn far_tails(run: &Run, tails: &[(&Counted, FarTail)]) -> Table {
    let mut table = Table::new(
        "The far tail, from the slowest operations, which were kept whole",
        &["<what", "<line", "kept", "fitted beyond", "fitted", "shape", "once in 10 n"],
    );
    for (place, tail) in tails {
        let (kept, cells) = match tail {
            FarTail::Few => continue,
            FarTail::NoDistribution(kept) => {
                (*kept, ["–".into(), "–".into(), "no distribution fits".into(), "–".into()])
            }
            FarTail::ParetoTail(distribution) => {
                let cells = [
                    duration(distribution.fit.threshold),
                    units::count(distribution.fit.exceedances as u64),
                    distribution.shape(),
                    if distribution.has_no_mean() { "–".into() } else { duration(distribution.beyond_s) },
                ];
                (distribution.kept, cells)
            }
        };
        let line = run.sites[place.site as usize].line;
        let line = if line == 0 { String::new() } else { line.to_string() };
        let [beyond, fitted, shape, once] = cells;
        let kept = units::count(kept as u64);
        table.push(false, [site_name(run, place.site as usize), line, kept, beyond, fitted, shape, once]);
    }
    table.note = "A generalised Pareto distribution beyond the lowest threshold above which one fits (Pickands 1975; \
                  Anderson-Darling tests, ForwardStop), as if operations did not depend on each other; ± 1.96 \
                  standard errors. Shape above 0: heavy tail, the slowest grows like a power of n."
        .into();
    if tails.iter().any(|(place, _)| place.responses.is_some()) {
        table.note += " Under `rate`: of durations once begun, not from the scheduled start.";
    }
    if table.rows.is_empty() {
        table.note = "Nowhere are there enough slow operations to fit a distribution.".into();
    }
    table
}

/// What the histogram of a row says, and the tail of its slowest.
fn brief(row: &ResultRow, tail: &FarTail) -> String {
    let n = row.operations.unwrap_or(row.timings);
    let Some(found) = row.headline() else { return format!("No {} succeeded.", row.name()) };
    let is_response = row.response_quantiles_seconds.is_some();
    let far = [(10_000, found.p9999), (1_000, found.p999), (100, found.p99)];
    let far = far.into_iter().find_map(|(one_in, seconds)| Some((one_in, seconds?)));
    let quantile = far.map_or(String::new(), |(one_in, seconds)| {
        format!(", one in {} longer than {}", units::count(one_in), duration(seconds))
    });
    let heavy = match tail {
        FarTail::Few => String::new(),
        // What was kept, and fitted, is what took long once it had begun.
        _ if is_response => String::new(),
        FarTail::NoDistribution(_) => {
            " No Pareto distribution fits its slowest beyond any threshold: more than one thing makes it slow, and what \
             more operations would bring cannot be predicted."
                .into()
        }
        // A distribution that the slowest value contradicts makes no predictions.
        FarTail::ParetoTail(distribution) if distribution.beyond_s < found.max => {
            " The slowest lies beyond what the distribution of its far tail expects of ten times as many: more than one \
             thing makes it slow."
                .into()
        }
        FarTail::ParetoTail(distribution) if distribution.has_no_mean() => format!(
            " Its tail has no limit in sight (shape {}, so that the mean is infinite): how slow the slowest of more \
             operations would be cannot be told.",
            distribution.shape()
        ),
        FarTail::ParetoTail(distribution) => format!(
            " Its tail {} (shape {}): of ten times as many, the slowest is expected near {}.",
            if distribution.is_heavy() { "is heavy" } else { "shows no heavier than exponential" },
            distribution.shape(),
            duration(distribution.beyond_s)
        ),
    };
    let from = if is_response { " of their scheduled start" } else { "" };
    format!(
        "{}: {} operations, half of them within {}{from}{quantile}, the slowest {}.{heavy}",
        row.name(),
        units::count(n),
        duration(found.p50),
        duration(found.max)
    )
}
