//! How is a verdict said to an engineer?

use super::{Code, Evidence, FEWEST_FOR_VERDICT, RunsNeeded, Verdict};
use crate::Status;
use crate::gev::Fit;
use crate::independence::Question;
use crate::rivals::Family;

/// Fill in text, findings and advice.
pub(super) fn write(verdict: &mut Verdict, evidence: &Evidence) {
    findings(verdict, evidence);
    verdict.text = text(verdict, evidence);
    advice(verdict, evidence);
}

fn text(verdict: &Verdict, evidence: &Evidence) -> String {
    let independence = &evidence.diagnostics.independence;
    match verdict.code {
        Code::NotIndependent => {
            let found: Vec<&str> = independence.rejected().map(|test| test.text.as_str()).collect();
            format!(
                "These values are not independent draws of one law: {}. A fit to all of them describes a \
                 mixture, and its intervals are too narrow.",
                found.join("; ")
            )
        }
        Code::NoMaximum => "No GEV describes these values: the likelihood grows without an interior maximum \
                            (a hard upper end, or many equal smallest values). The numbers are those at the \
                            bound."
            .to_string(),
        Code::GevRejected => {
            let p = evidence.diagnostics.goodness_of_fit.as_ref().map_or(f64::NAN, |g| g.p.smaller);
            format!(
                "The GEV does not fit: values this far from it come from a GEV in {} of cases. Do not \
                 extrapolate with it.",
                chance(p)
            )
        }
        Code::RivalPreferred => {
            let name = verdict.preferred.map_or("another law", Family::name);
            format!(
                "A {name} law describes these values better than the GEV (Vuong's test, two-sided 5 %): the \
                 slowest of many is not what shapes them."
            )
        }
        Code::GevConsistent if evidence.alternatives.is_empty() => {
            format!("Consistent with a GEV ({}), but no other law could be compared.", tail_words(evidence))
        }
        Code::GevConsistent => {
            let names: Vec<&str> = verdict.not_distinguished.iter().map(|f| f.name()).collect();
            let runs = |needed: &RunsNeeded| {
                let more = if needed.additional > 0.0 {
                    format!(" ({} more)", round(needed.additional))
                } else {
                    String::new()
                };
                format!("{} runs in all{more}", round(needed.total))
            };
            let needed = match verdict.runs_needed.as_slice() {
                [] => " No number of runs that could be named would tell.".to_string(),
                [one] => format!(" About {} would tell.", runs(one)),
                [first, .., last] => format!(
                    " About {} would tell it from the {} law, {} from the {} law.",
                    runs(first),
                    first.rival.name(),
                    round(last.total),
                    last.rival.name()
                ),
            };
            format!(
                "Consistent with a GEV ({}), but {} values do not distinguish it from {}.{needed}",
                tail_words(evidence),
                evidence.n,
                list(&names)
            )
        }
        Code::GevPreferred => {
            let names: Vec<&str> = evidence.alternatives.iter().map(|a| a.name.as_str()).collect();
            format!(
                "A GEV ({}) fits and is preferred to every law it was compared with: {}. Not every \
                 law was compared.",
                tail_words(evidence),
                list(&names)
            )
        }
        Code::TooFew => format!(
            "{} values show nothing against a GEV ({}), but they are too few to tell: a verdict needs at least \
             {FEWEST_FOR_VERDICT}, that is {} more.",
            evidence.n,
            tail_words(evidence),
            FEWEST_FOR_VERDICT.saturating_sub(evidence.n)
        ),
    }
}

/// What the shape says, with its uncertainty.
fn tail_words(evidence: &Evidence) -> String {
    let shape = evidence.fit.shape;
    match evidence.shape {
        Some(interval) if interval.lower > 0.0 => {
            format!("heavy tail: shape {shape:.3}, {:.3} to {:.3}", interval.lower, interval.upper)
        }
        Some(interval) if interval.upper < 0.0 => {
            format!("bounded tail: shape {shape:.3}, {:.3} to {:.3}", interval.lower, interval.upper)
        }
        Some(interval) => format!(
            "shape {shape:.3}, {:.3} to {:.3}: heavy, exponential or bounded tail is undecided",
            interval.lower, interval.upper
        ),
        None => format!("shape {shape:.3}"),
    }
}

fn findings(verdict: &mut Verdict, evidence: &Evidence) {
    let independence = &evidence.diagnostics.independence;
    for test in &independence.tests {
        let mark = if test.rejected { "Against" } else { "For" };
        verdict.findings.push(format!(
            "{mark} independent draws of one law: {} ({}, adjusted p {}).",
            test.text,
            test.name,
            p_value(test.p_adjusted)
        ));
    }
    if independence.segments.len() > 1 {
        let starts: Vec<String> =
            independence.segments[1..].iter().map(|s| (s.start + 1).to_string()).collect();
        verdict.findings.push(format!("The level changes at value {}.", starts.join(", ")));
    }
    for (at, mode) in independence.modes.iter().enumerate() {
        verdict.findings.push(format!(
            "Mode {} of {}: {} values ({:.0} %) around {}.",
            at + 1,
            independence.modes.len(),
            mode.count,
            100.0 * mode.share,
            multiple(mode.location, evidence.fit)
        ));
    }
    if let Some(trend) = &evidence.diagnostics.trend {
        let words = if trend.p >= 0.05 {
            "A straight line in time does not explain it".to_string()
        } else if trend.residuals_pass {
            "A straight line in time explains it all".to_string()
        } else {
            "A straight line in time explains a part of it".to_string()
        };
        verdict.findings.push(format!(
            "{words}: the location changes by {:+.1} scales over the run (likelihood ratio p {}), and around \
             the line the shape is {:.3}.",
            trend.change / trend.scale,
            p_value(trend.p),
            trend.shape
        ));
    }
    if let Some(gof) = &evidence.diagnostics.goodness_of_fit {
        verdict.findings.push(format!(
            "Fit of the GEV: A² {:.3} (p {}), upper-tail AU² {:.3} (p {}); together p {} from {} refits{}.",
            gof.statistics.a2,
            p_value(gof.p.a2),
            gof.statistics.au2,
            p_value(gof.p.au2),
            p_value(gof.p.smaller),
            gof.replicates,
            if gof.sample_size < evidence.n {
                format!(" of samples of {} values", round(gof.sample_size as f64))
            } else {
                String::new()
            }
        ));
    }
    if let Some(gumbel) = &evidence.diagnostics.gumbel {
        let words = if gumbel.p < 0.05 { "is not enough" } else { "would do as well" };
        verdict.findings.push(format!("A Gumbel law, shape 0, {words} (p {}).", p_value(gumbel.p)));
    }
    for rival in evidence.alternatives {
        if rival.vuong.is_none() {
            verdict.findings.push(format!("{} cannot be compared with the GEV here.", capital(&rival.name)));
        }
        if let Some(v) = rival.vuong {
            let words = if v.z > 1.96 {
                "is worse than the GEV"
            } else if v.z < -1.96 {
                "is better than the GEV"
            } else {
                "is not told from the GEV"
            };
            verdict.findings.push(format!(
                "{} {words} (Vuong z {:+.2}, AIC weight {:.3}).",
                capital(&rival.name),
                v.z,
                rival.aic_weight
            ));
        }
    }
    if let Some(influence) = evidence.fit.influence.filter(|i| i.flagged) {
        verdict.findings.push(format!(
            "The {} value, {}, moves the fit by {:.1} standard errors; without it the shape is {:.3}.",
            if influence.value > evidence.fit.center { "largest" } else { "smallest" },
            multiple(influence.value, evidence.fit),
            influence.shift,
            influence.shape_without
        ));
    }
    if evidence.fit.status == Status::Boundary && verdict.code != Code::NoMaximum {
        verdict.findings.push(
            "The likelihood of the GEV has no interior maximum: its numbers are those at the bound."
                .to_string(),
        );
    }
    if evidence.fit.status == Status::Irregular {
        verdict.findings.push(
            "The shape is below -1/2: standard errors do not exist there; trust the intervals only."
                .to_string(),
        );
    }
    if let Some(tick) = evidence.fit.tick.filter(|tick| tick / evidence.fit.scale > 0.2) {
        verdict.findings.push(format!(
            "The clock is coarse: its tick is {:.1} times the scale; use the fit to intervals.",
            tick / evidence.fit.scale
        ));
    }
}

fn advice(verdict: &mut Verdict, evidence: &Evidence) {
    let independence = &evidence.diagnostics.independence;
    let mut say = |text: String| verdict.advice.push(text);
    for test in independence.rejected() {
        say(match test.question {
            Question::Autocorrelation => {
                let widening = independence.variance_inflation.max(1.0).sqrt();
                // Below that it would be said as 1.0.
                if widening < 1.05 {
                    "Space the runs further apart, and look for what ties neighbours together; standard errors \
                     need no factor for it."
                        .to_string()
                } else {
                    format!(
                        "Space the runs further apart, or multiply standard errors by about {widening:.1}."
                    )
                }
            }
            Question::Trend => {
                "Discard the warm-up, or fit with the time as covariate; look for heat, filling or a growing \
                 load."
                    .to_string()
            }
            Question::Jump => {
                "Look at the time series, find what changed, and fit each stretch on its own.".to_string()
            }
            Question::Modes => {
                "Look at the density; separate the kinds of run (cache or disk, path, time of day) and fit \
                 each on its own."
                    .to_string()
            }
        });
    }
    if evidence.n < FEWEST_FOR_VERDICT && verdict.code != Code::NotIndependent {
        let more = FEWEST_FOR_VERDICT - evidence.n;
        say(format!("Measure at least {more} more runs."));
    }
    if verdict.code == Code::GevConsistent {
        say("Show that the law is that of a maximum by measuring with several numbers of parallel parts: \
             one number alone does not test it."
            .to_string());
    }
    if matches!(verdict.code, Code::GevRejected | Code::RivalPreferred) {
        say("Use the model-free quantiles inside the sample and do not extrapolate beyond it.".to_string());
    }
}

/// A value in words that need no unit: so many times the median, or so many scales from it.
fn multiple(value: f64, fit: &Fit) -> String {
    let ratio = value / fit.center;
    if fit.center > 0.0 && (ratio - 1.0).abs() > 0.005 && ratio > 0.01 && ratio < 1e6 {
        format!("{ratio:.2} times the median of all")
    } else {
        format!("{:+.1} scales from the median of all", (value - fit.center) / fit.scale)
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn list(names: &[&str]) -> String {
    match names {
        [] => "any other law".to_string(),
        [one] => (*one).to_string(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// A p-value with two digits, never 0.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 {
        "< 0.001".to_string()
    } else if p < 0.1 {
        format!("{p:.3}")
    } else {
        format!("{p:.2}")
    }
}

fn chance(p: f64) -> String {
    if p < 0.001 { "fewer than 1 in 1000".to_string() } else { format!("{:.1} %", 100.0 * p) }
}

/// A count of runs to two significant digits.
fn round(count: f64) -> String {
    if !(count.is_finite() && count < 1e9) {
        return "more than a billion".to_string();
    }
    let digits = count.max(1.0).log10().floor() as i32;
    let unit = 10f64.powi((digits - 1).max(0));
    let rounded = ((count / unit).ceil() * unit) as u64;
    let text = rounded.to_string();
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i > 0 && (text.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}
