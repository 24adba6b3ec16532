//! Words a plan for a required precision.

use tail::planning::{Plan, Quantity};

/// The runs needed, in one or two sentences.
pub fn text(plan: &Plan) -> String {
    let runs = plan.runs;
    let mut text = match plan.goal.quantity {
        Quantity::Factor => format!(
            "{runs:.0} runs on each system find a slow-down of {:.2} % with a chance of {:.0} %",
            100.0 * plan.half_width.exp_m1(),
            100.0 * plan.power.unwrap_or(f64::NAN)
        ),
        Quantity::Location | Quantity::Scale | Quantity::Shape | Quantity::ReturnLevel(_) => {
            format!("{runs:.0} runs in all")
        }
    };
    if plan.variance_inflation > 1.05 {
        text.push_str(&format!(
            " ({:.0} if they were independent; neighbours resemble each other, which costs a factor of {:.1})",
            plan.runs_independent, plan.variance_inflation
        ));
    }
    text.push('.');
    if runs < 50.0 {
        text.push_str(" With so few, intervals are wider than planned: do not go below 50.");
    }
    text
}
