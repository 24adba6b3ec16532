//! Words a plan for a required precision.

use tail::planning::{Plan, Quantity};

/// The first line: `12,612 steps meet every goal (8,300 to 19,200 by what this pilot knows): 12,212 more than the 400
/// measured.` A value is called `noun`.
pub fn answer(plans: &[Plan], have: usize, noun: &str) -> String {
    let largest = plans.iter().max_by(|a, b| a.runs.total_cmp(&b.runs));
    let most = largest.map_or(0.0, |plan| plan.runs);
    let all = if plans.len() > 1 { "meet every goal" } else { "are needed" };
    if most >= 1e15 {
        return format!("About {most:.0e} {noun}s {all}: more than is feasible.");
    }
    let shown = |runs: f64| samples::units::count(runs.ceil() as u64);
    let further = match most - have as f64 {
        _ if have == 0 => ".".to_owned(),
        more if more > 0.0 => {
            format!(": {} more than the {} measured.", shown(more), shown(have as f64))
        }
        _ => format!(": the {} measured are enough.", shown(have as f64)),
    };
    let known = largest.and_then(|plan| plan.runs_interval).map_or(String::new(), |[lower, upper]| {
        let rounded = |runs: f64| crate::unit::significant(runs, 2).parse().map_or(shown(runs), shown);
        format!(" ({} to {} by what this pilot knows)", rounded(lower), rounded(upper))
    });
    format!("{} {noun}s {all}{known}{further}", shown(most))
}

/// The values needed, in one or two sentences; a value is called `noun`.
pub fn text(plan: &Plan, noun: &str) -> String {
    let runs = plan.runs;
    let mut text = match plan.goal.quantity {
        Quantity::Factor => format!(
            "{runs:.0} {noun}s on each system find a slowdown of {:.2}% {:.0} times in 100",
            100.0 * plan.half_width.exp_m1(),
            100.0 * plan.power.unwrap_or(f64::NAN)
        ),
        Quantity::Location
        | Quantity::Scale
        | Quantity::Shape
        | Quantity::ReturnLevel(_)
        | Quantity::Quantile(_) => {
            format!("{runs:.0} {noun}s in total")
        }
    };
    if plan.variance_inflation > 1.05 {
        text.push_str(&format!(
            " ({:.0} if they were independent; slow {noun}s cluster, which costs a factor of {:.1})",
            plan.runs_independent, plan.variance_inflation
        ));
    }
    text.push('.');
    if runs < 50.0 {
        text.push_str(" With so few, intervals are wider than planned: do not go below 50.");
    }
    text
}
