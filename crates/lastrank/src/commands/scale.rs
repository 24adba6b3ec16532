//! `lastrank scale`: predicts the slowest of more ranks than were measured.

use anyhow::{Context, bail};
use report::{AnswerSign, Table, Unit, answer_line, fixed, probability, words};
use serde_json::json;
use tail::scale::{Joint, ScaleOptions, Scaled, Trust, joint, scale_at};
use tail::{End, Series};

use crate::cli::ScaleArgs;
use crate::exit::Status;
use crate::output;
use crate::soundness;
use crate::values::{self, Values, read};

/// The periods whose levels are shown where none are asked for.
const PERIODS: [f64; 3] = [10.0, 100.0, 1000.0];

/// One measured size.
struct Size {
    parts: f64,
    values: Values,
}

/// Predict from one size, or from three and more together.
pub fn run(args: &ScaleArgs) -> anyhow::Result<Status> {
    if let Some(to) = args.to.iter().find(|to| !(**to >= 1.0 && to.is_finite())) {
        bail!("--to {to}: a number of ranks, at least 1");
    }
    let periods = if args.period.is_empty() { PERIODS.to_vec() } else { args.period.clone() };
    if let Some(period) = periods.iter().find(|period| !(**period > 1.0 && period.is_finite())) {
        bail!("--period {period}: a number of steps above 1");
    }
    let sizes = sizes(args)?;
    let unsound = values::unsound(sizes.iter().map(|size| &size.values));
    let probabilities: Vec<f64> =
        [0.5, 0.95, 0.99].into_iter().chain(periods.iter().map(|period| 1.0 - 1.0 / period)).collect();
    let predicted = predict(args, &sizes, &probabilities);
    let (several, predictions) = predicted.map_err(|why| soundness::blamed_on(&unsound, why))?;
    let refused = predictions.iter().any(|found| found.trust == Trust::Refused);
    let typical = predictions.first().and_then(|found| found.quantiles.first()).map_or(1.0, |q| q.value);
    let unit = sizes[0].values.unit(typical);
    if args.json {
        let mut object = json!({
            "schema": "lastrank.scale/1",
            "level": args.level,
            "sizes": sizes.iter().map(|size| json!({
                "name": size.values.name,
                "parts": size.parts,
                "n": size.values.numbers.len(),
                "seconds": size.values.seconds,
                "warnings": size.values.warnings(),
            })).collect::<Vec<_>>(),
            "joint": words::json(&several)?,
            "periods": periods,
            "predictions": words::json(&predictions)?,
            "answers": answers(&sizes, &predictions, unit).into_iter().map(|(_, text)| text).collect::<Vec<_>>(),
        });
        soundness::add_unsound(&mut object, &unsound);
        output::json(&object)?;
    } else {
        let wrong = words::unsound::headline(&unsound).map(|text| (AnswerSign::Bad, text));
        let head: String = wrong
            .iter()
            .chain(&answers(&sizes, &predictions, unit))
            .map(|(sign, text)| answer_line(*sign, text, output::screen_options()))
            .collect();
        output::print_below(
            &head,
            &text(&sizes, several.as_ref(), (&predictions, unit), &periods, args.level),
        )?;
    }
    Ok(if refused { Status::No } else { Status::Ok }.unless(&unsound))
}

/// The distribution of all sizes together where there are several, and what is predicted for each size that is asked for.
fn predict(
    args: &ScaleArgs,
    sizes: &[Size],
    probabilities: &[f64],
) -> anyhow::Result<(Option<Joint>, Vec<Scaled>)> {
    let several = joint_of(sizes, args.level)?;
    let one = |to: &f64| match &several {
        Some(joint) => Ok(joint.predict(*to, probabilities, args.level)?),
        None => {
            let Size { parts, values } = &sizes[0];
            let options = ScaleOptions { exponent: 1.0, probabilities, level: args.level };
            scale_at(&values.numbers, *parts, *to, options)
                .with_context(|| format!("cannot predict from {}", values.name))
        }
    };
    let predictions = args.to.iter().map(one).collect::<anyhow::Result<_>>()?;
    Ok((several, predictions))
}

/// All files with the number of ranks that each of their values is the slowest of, smallest first.
fn sizes(args: &ScaleArgs) -> anyhow::Result<Vec<Size>> {
    if !args.parts.is_empty() && args.parts.len() != args.runs.len() {
        bail!("{} files and {} --parts: give one for each file", args.runs.len(), args.parts.len());
    }
    let mut sizes = Vec::new();
    for (index, file) in args.runs.iter().enumerate() {
        let values = read(file, &args.choice)?;
        let parts = match (args.parts.get(index), values.parts()) {
            (Some(parts), _) if !(*parts >= 1.0 && parts.is_finite()) => {
                bail!("--parts {parts}: a number of ranks, at least 1")
            }
            (Some(parts), _) => *parts,
            (None, Some(parts)) => parts as f64,
            (None, None) if values.facts.is_some() => bail!(
                "{}: single samples, not the slowest of several ranks; --gate takes the slowest",
                values.name
            ),
            (None, None) => {
                bail!("{}: say with --parts how many ranks each number is the slowest of", values.name)
            }
        };
        if let Some(first) = sizes.iter().find(|size: &&Size| size.parts == parts) {
            bail!(
                "{} and {} are both of {parts} ranks: give one file for each number of ranks",
                first.values.name,
                values.name
            );
        }
        sizes.push(Size { parts, values });
    }
    let name = |size: &Size| size.values.subject.as_ref().map(|subject| subject.name.clone());
    if let Some(other) = sizes.iter().find(|size| name(size) != name(&sizes[0])) {
        bail!(
            "{} and {} are not the same operation: choose with --label what all have",
            sizes[0].values.name,
            other.values.name
        );
    }
    sizes.sort_by(|a, b| a.parts.total_cmp(&b.parts));
    Ok(sizes)
}

fn joint_of(sizes: &[Size], level: f64) -> anyhow::Result<Option<Joint>> {
    match sizes.len() {
        1 => Ok(None),
        2 => bail!(
            "two sizes cannot tell dependence from chance: give one, which takes the ranks as independent, or at \
             least three"
        ),
        _ => {
            let all: Vec<(f64, Vec<f64>)> =
                sizes.iter().map(|size| (size.parts, size.values.numbers.clone())).collect();
            Ok(Some(joint(&all, level).context("cannot fit the sizes together")?))
        }
    }
}

/// The answer for each number of ranks, with its sign. Where the runs contradict the distribution there is none but what was
/// measured.
fn answers(sizes: &[Size], predictions: &[Scaled], unit: Unit) -> Vec<(AnswerSign, String)> {
    let largest = sizes.last().and_then(|size| {
        let median = Series::clean(&size.values.numbers).measured(0.5);
        (!median.is_nan()).then_some((size.parts, median))
    });
    let is_sound = sizes.iter().all(|size| size.values.unsound.is_empty());
    predictions
        .iter()
        .map(|found| {
            let sign = match found.trust {
                Trust::Supported if is_sound => AnswerSign::Good,
                Trust::Supported | Trust::Warned | Trust::Refused => AnswerSign::Caution,
            };
            (sign, words::prediction::answer(found, largest, unit))
        })
        .collect()
}

fn text(
    sizes: &[Size],
    several: Option<&Joint>,
    (predictions, unit): (&[Scaled], Unit),
    periods: &[f64],
    level: f64,
) -> String {
    let percent = report::confidence(level);
    let mut text = String::from("\n");
    for size in sizes {
        text += &format!("{}: {} values\n", size.values.name, size.values.numbers.len());
        for warning in size.values.cautions() {
            text += &report::sentence("warning: ", &warning);
        }
    }
    text.push('\n');
    text += &match several {
        Some(joint) => dependence(joint, &percent),
        None => report::sentence(
            "Dependence: ",
            &format!(
                "not known from one size; the {} ranks, and all further ones, are taken as independent.",
                sizes[0].parts
            ),
        ),
    };
    text.push('\n');
    let mut said = String::new();
    for found in predictions {
        let lead = match found.trust {
            // The assumptions for a single size were stated above.
            Trust::Supported if several.is_none() => continue,
            Trust::Supported => format!("  {} ranks: ", samples::units::count(found.to as u64)),
            Trust::Warned => format!("⚠ {} ranks: ", samples::units::count(found.to as u64)),
            Trust::Refused => format!("⚠ {} ranks, not to be used: ", samples::units::count(found.to as u64)),
        };
        for warning in words::prediction::warnings(&found.warnings) {
            said += &report::sentence(&lead, &warning);
        }
    }
    if !said.is_empty() {
        text += &said;
        text.push('\n');
    }
    // Numbers that are not to be used are not shown; JSON has them, with what speaks against them.
    let told: Vec<&Scaled> = predictions.iter().filter(|found| found.trust != Trust::Refused).collect();
    match told.is_empty() {
        true => text,
        false => text + &table(&told, periods, unit, &percent, several).text(),
    }
}

/// What several sizes say of dependence.
fn dependence(joint: &Joint, percent: &str) -> String {
    let mut table = Table::new("Each size on its own", &["ranks", "shape", "± standard error"]);
    for (parts, shape, error) in &joint.shapes {
        table.push(
            false,
            [parts.to_string(), fixed(*shape, 3), error.map_or("–".into(), |error| fixed(error, 3))],
        );
    }
    let mut text = table.text();
    text.push('\n');
    let ratio = joint.largest / joint.smallest;
    let at_top = joint.at_bound && joint.exponent > 1.0;
    text += &report::sentence(
        "Dependence: ",
        &format!(
            "exponent {} ({} to {}, {percent}): going from {} to {} ranks, {} times as many, is like {}{} times as \
             many independent ones. 1 is independence (p {}), 0 is all slow together.",
            if at_top { format!("at least {}", fixed(joint.exponent, 2)) } else { fixed(joint.exponent, 2) },
            fixed(joint.interval.lower, 2),
            if joint.interval.upper_end == End::Reached {
                fixed(joint.interval.upper, 2)
            } else {
                "no upper limit found".into()
            },
            joint.smallest,
            joint.largest,
            report::significant(ratio, 3),
            if at_top { "at least " } else { "" },
            report::significant(joint.effective_ratio, 3),
            probability(joint.p_independent)
        ),
    );
    text
}

fn table(
    predictions: &[&Scaled],
    periods: &[f64],
    unit: Unit,
    percent: &str,
    several: Option<&Joint>,
) -> Table {
    let mut table =
        Table::new("The slowest rank of a step", &["ranks", "<quantity", "value", "from", "to", "<"]);
    for found in predictions {
        for (index, quantile) in found.quantiles.iter().enumerate() {
            let name = match index.checked_sub(3).and_then(|at| periods.get(at)) {
                Some(period) => format!("once in {} steps", samples::units::count(period.round() as u64)),
                None if quantile.probability == 0.5 => "median".into(),
                None => format!("p{}", report::significant(100.0 * quantile.probability, 2)),
            };
            let unit = unit.that_suits(quantile.value);
            let ends = quantile.interval.map_or((f64::NAN, f64::NAN), |i| (i.lower, i.upper));
            let [value, lower, upper] = match quantile.interval {
                Some(_) => unit.with_interval(quantile.value, ends.0, ends.1),
                None => [report::significant(unit.scale(quantile.value), 4), "–".into(), "–".into()],
            };
            let show = |text: String| if text == "–" { text } else { unit.named(&text) };
            let trust = match found.trust {
                Trust::Supported => "",
                Trust::Warned | Trust::Refused => "see the warnings",
            };
            table.push(
                index == 0,
                [
                    if index == 0 { samples::units::count(found.to as u64) } else { String::new() },
                    name,
                    unit.named(&value),
                    show(lower),
                    show(upper),
                    if index == 0 { trust.into() } else { String::new() },
                ],
            );
        }
    }
    table.note = match several {
        Some(joint) => format!(
            "from, to: {percent} interval that reaches beyond what models with and without a drift of the shape predict, by \
             as much as these differ{}.",
            if joint.distribution.shape < 0.0 {
                "; upwards also as far as growth without the bound that a negative shape means"
            } else {
                ""
            }
        ),
        None => {
            format!(
                "from, to: {percent} interval of the fit and of a shape that goes on towards 0; it leaves out what the \
                 warnings name."
            )
        }
    };
    table
}
