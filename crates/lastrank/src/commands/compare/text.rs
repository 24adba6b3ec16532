//! What a comparison says below its first screen.

use report::{Table, Unit, confidence, fixed, probability, sentence, words};
use results::RowRatios;
use tail::Interval;
use tail::congestion::{Basis, ByDistribution, Comparison, Estimate};

use super::single::Single;
use crate::values::Values;

/// What a comparison says below its first screen: how sure it is, k every way, and whether it is a factor at all.
pub(super) fn text(
    [baseline, new]: [&Values; 2],
    (found, rows): (&Comparison, Option<&RowRatios>),
    single: Option<&Single>,
) -> String {
    let unit = baseline.unit(found.baseline.median);
    let mut text = String::from("\n");
    let is_sound = baseline.unsound.is_empty() && new.unsound.is_empty();
    let lead = if is_sound { "Verdict: " } else { "Measured all the same: " };
    let other_work = words::comparison::of_other_work(rows).map(|text| format!("{text}."));
    text += &sentence(lead, &other_work.unwrap_or_else(|| words::comparison::text(found)));
    let headline = found.headline();
    let from = format!("{} from", confidence(headline.interval.level));
    let mut table = Table::new("Factor k: new = k · baseline", &["<", "k", &from, "to", "<"]);
    let ratio = &found.robust;
    let without_distribution = if ratio.bootstrap {
        "no distribution, bootstrap"
    } else {
        "no distribution, order statistics and moments"
    };
    let mut row = |name: &str, value: f64, interval: &Interval, note: &str| {
        let cells = [name.into(), fixed(value, 4), fixed(interval.lower, 4), fixed(interval.upper, 4)];
        table.push(false, cells.into_iter().chain([note.to_string()]));
    };
    let note = if headline.by == Basis::Distribution {
        "profile likelihood"
    } else {
        "not to be used: see the verdict"
    };
    if let Some(distribution) = &found.distribution {
        row("by the GEV fit", distribution.factor.value, &distribution.factor.interval, note);
    }
    row("by all pairs", ratio.hodges_lehmann.value, &ratio.hodges_lehmann.interval, without_distribution);
    row(
        "by the medians",
        ratio.median_ratio.value,
        &ratio.median_ratio.interval,
        "no distribution, order statistics",
    );
    let mean = &ratio.mean_ln_k;
    let natural =
        Interval { lower: mean.interval.lower.exp(), upper: mean.interval.upper.exp(), ..mean.interval };
    row("by the means of ln T", mean.value.exp(), &natural, without_distribution);
    if let Some(single) = single {
        let k = single.duration / found.baseline.median;
        row("if there were one new run", k, &single.interval, "at its median");
    }
    text += &format!("\n{}\n{}\n", table.text(), tests(found, unit));

    // Values of one run a side are its operations or steps: they tell nothing of how runs differ.
    if baseline.subject.is_none() && new.subject.is_none() {
        text += &sentence("Random k: ", &random_factor(&ratio.variance_ln_k));
    }
    text
}

/// Whether k differs between the runs whose times were compared.
fn random_factor(spread: &Estimate) -> String {
    /// A spread that rounds to none bounds nothing.
    const LEAST: f64 = 0.00005;
    let sd = |variance: f64| format!("{}%", fixed(100.0 * variance.max(0.0).sqrt(), 2));
    let Interval { lower, upper, .. } = spread.interval;
    match (lower > 1e-12, upper.max(0.0).sqrt() >= LEAST) {
        (true, _) => format!(
            "k changes from run to run, by {} (standard deviation of ln k; {} to {}).",
            sd(spread.value),
            sd(lower),
            sd(upper)
        ),
        (false, true) => format!(
            "that k changes from run to run is not shown; by {} at most (standard deviation of ln k).",
            sd(upper)
        ),
        (false, false) => "that k changes from run to run is not shown.".into(),
    }
}

/// The tests of one distribution for both, and of what the distribution says.
fn tests(found: &Comparison, unit: Unit) -> String {
    let mut table = Table::new("Is it a factor at all?", &["<question", "<found", "p"]);
    // What only hints at dependence widens the intervals, and is not told.
    let counts = [&found.baseline, &found.new].map(|arm| if arm.independent { 1.0 } else { arm.inflation });
    let [one, other] = counts.map(|count| fixed(count, 1));
    let worth = match counts.iter().any(|count| *count >= 1.05) {
        true => format!("; {one} and {other} values count as one"),
        false => String::new(),
    };
    table.push(
        false,
        [
            "one distribution for both, whatever it is".into(),
            format!("normal scores of level and spread{worth}"),
            probability(found.p_equal),
        ],
    );
    if let Some(distribution) = &found.distribution {
        tests_by_distribution(&mut table, distribution, unit);
    }
    table.text()
}

fn tests_by_distribution(table: &mut Table, distribution: &ByDistribution, unit: Unit) {
    table.push(
        false,
        ["no difference, k = 1".into(), String::new(), probability(distribution.p_no_difference)],
    );
    table.push(
        false,
        [
            "one factor, against two distributions of their own".into(),
            format!("likelihood ratio {}, 2 df", fixed(distribution.factor.statistic, 2)),
            probability(distribution.factor.p),
        ],
    );
    let shift = &distribution.shift;
    let [value, lower, upper] = unit.with_interval(shift.value, shift.interval.lower, shift.interval.upper);
    table.push(
        false,
        [
            "one shift, against two distributions of their own".into(),
            format!(
                "{} ({lower} to {}), likelihood ratio {}, 2 df",
                unit.named(&value),
                unit.named(&upper),
                fixed(shift.statistic, 2)
            ),
            probability(shift.p),
        ],
    );
    table.note = format!(
        "A factor rather than a shift, by AIC: weight {} of 1.",
        fixed(distribution.factor_weight, 2)
    );
}
