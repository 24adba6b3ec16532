//! Writes the assessment of bare numbers as text for a terminal.

use tail::assess::Assessment;

use crate::table::{self, Table};
use crate::text::sentence;
use crate::unit::Unit;
use crate::words;

/// The assessment of `found` as text: verdict, values, tests, distribution, levels and rivals. `what` is what one value
/// is called: `value`, `step`, `block`.
pub fn fit_text(found: &Assessment, unit: Unit, what: &str) -> String {
    let mut out = String::new();
    // The verdict says whether the levels below may be used.
    let word = words::capital(words::verdict::usability(found.verdict.usability));
    out.push_str(&sentence("Verdict: ", &format!("{word}. {}", words::verdict::text(found))));
    if let Some(outlier) = words::verdict::outlier(found) {
        out.push_str(&sentence("Outlier: ", &outlier));
    }
    for advice in words::verdict::advice(found, what) {
        out.push_str(&sentence("       → ", &advice));
    }
    for table in [
        values(found, unit),
        table::tests(&found.diagnostics.independence),
        table::parameters(found, unit),
        table::levels(found, unit, what),
        table::models(found),
    ] {
        out.push('\n');
        out.push_str(&table.text());
    }
    out
}

fn values(found: &Assessment, unit: Unit) -> Table {
    let summary = &found.summary;
    let mut table = Table::new("Values", &["n", "mean", "minimum"]);
    let mut cells =
        vec![samples::units::count(found.n as u64), unit.plain(summary.mean), unit.plain(summary.minimum)];
    for quantile in &summary.quantiles {
        table.columns.push(crate::Column { name: name(quantile.probability), number: true });
        cells.push(unit.plain(quantile.value));
    }
    table.columns.push(crate::Column { name: "maximum".into(), number: true });
    cells.push(unit.plain(summary.maximum));
    table.push(true, cells);
    table
}

fn name(p: f64) -> String {
    if p == 0.5 { "median".into() } else { format!("p{}", (p * 1e6).round() / 1e4) }
}

#[cfg(test)]
mod tests {
    use tail::assess::{AssessOptions, assess};

    use super::*;

    #[test]
    fn levels_of_a_distribution_that_is_not_shown_are_not_to_be_relied_on() {
        let distribution = tail::Gev::new(10.0, 0.3, 0.05).unwrap();
        let text = |second: f64| {
            let mut random = tail::Xoshiro::new(5);
            let values: Vec<f64> = (0..400)
                .map(|_| if random.uniform() < 0.4 { second } else { 1.0 } * distribution.sample(&mut random))
                .collect();
            let options = AssessOptions { bootstrap: 99, ..AssessOptions::default() };
            let found = assess(&values, &options).unwrap();
            (found.verdict.is_distribution_shown(), fit_text(&found, Unit::NONE, "step"))
        };
        for (second, shown) in [(1.0, true), (3.0, false)] {
            let (is_shown, text) = text(second);
            assert_eq!(is_shown, shown, "{text}");
            assert_eq!(text.replace('\n', " ").contains("do not rely on them"), !shown, "{text}");
        }
    }
}
