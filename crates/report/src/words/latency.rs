//! Words the tail of single operations: its threshold and its shape.

use samples::units::count;
use tail::latency::Latency;

use crate::unit::probability;

/// The chosen threshold and the distribution above it, in one sentence.
pub fn text(found: &Latency) -> String {
    let (Some(fit), Some(chosen)) = (&found.fit, found.chosen) else {
        return "No threshold gives a tail that a GPD fits (steps of interrupts or timers, for instance): only the \
                quantiles inside the sample are given."
            .into();
    };
    format!(
        "Beyond the {:.2}% quantile, {} of {} values follow a GPD with shape {:.3} (A² p {}); {}.",
        100.0 * (1.0 - fit.rate),
        count(fit.exceedances as u64),
        count(found.n as u64),
        fit.shape,
        probability(found.candidates[chosen].p),
        super::slow_ones(found)
    )
}
