//! How is a comparison said to an engineer?

use super::{Code, Comparison};
use crate::verdict::p_value;

pub(super) fn write(c: &mut Comparison) {
    let k = &c.factor;
    let differs = !k.interval.contains(1.0);
    c.code = if !(c.quiet.independent && c.new.independent) {
        Code::NotIndependent
    } else if k.p < 0.05 || (differs && !c.agrees) {
        Code::OtherDifference
    } else if !differs {
        Code::NoDifference
    } else if k.value > 1.0 {
        Code::Slower
    } else {
        Code::Faster
    };
    let interval = format!("k = {:.4} ({:.4} to {:.4})", k.value, k.interval.lower, k.interval.upper);
    let percent = 100.0 * (k.value - 1.0).abs();
    let direction = if k.value > 1.0 { "slower" } else { "faster" };
    let mut text = match c.code {
        Code::NotIndependent => {
            let mut against: Vec<String> = Vec::new();
            for (name, arm) in [("quiet", &c.quiet), ("new", &c.new)] {
                against.extend(arm.against.iter().map(|text| format!("{name} runs: {text}")));
            }
            format!(
                "{interval}, but the runs are not independent draws of one law, so its interval is too \
                 narrow. {}.",
                against.join("; ")
            )
        }
        Code::NoDifference => format!("No difference is shown: {interval}."),
        Code::Slower | Code::Faster => format!("{percent:.1} % {direction}: {interval}."),
        Code::OtherDifference => format!(
            "The runs differ, but not by one factor: {interval} is only a rough average (separate laws fit \
             better, p {}{}).",
            p_value(k.p),
            if c.agrees { "" } else { "; the model-free ratio disagrees" }
        ),
    };
    if matches!(c.code, Code::Slower | Code::Faster) {
        let words = if c.factor_weight > 0.9 {
            " Every run takes k times as long, rather than the same amount longer."
        } else if c.factor_weight < 0.1 {
            " Every run takes the same amount longer, rather than k times as long."
        } else {
            " Whether it is a factor or a constant amount, these runs do not tell."
        };
        text.push_str(words);
    }
    c.text = text;
    if matches!(c.code, Code::Slower | Code::Faster) && c.factor_weight > 0.1 && c.factor_weight < 0.9 {
        let needed = (3.20 / k.value.ln()).powi(2);
        if needed.is_finite() && needed > c.quiet.n.min(c.new.n) as f64 {
            c.advice
                .push(format!("About {needed:.0} runs of each would tell a factor from a constant amount."));
        }
    }
    if c.code == Code::NotIndependent {
        c.advice.push(format!(
            "Use the model-free ratio, whose interval allows for dependence: {:.4} ({:.4} to {:.4}).",
            c.robust.hodges_lehmann.value,
            c.robust.hodges_lehmann.interval.lower,
            c.robust.hodges_lehmann.interval.upper
        ));
    }
    c.advice.push("Interleave quiet and new runs (ABAB): otherwise drift is read as congestion.".to_string());
}
