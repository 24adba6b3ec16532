//! Finds the ends of profile intervals: where the root deviance reaches the normal quantile.

use crate::newton::brent_root;
use crate::status::End;

/// Where the root deviance, 0 at `estimate`, reaches `z` on the way to `bound`: bracketed outward from the
/// Wald guess, then Brent.
pub(crate) fn interval_end(
    mut root_deviance: impl FnMut(f64) -> f64,
    estimate: f64,
    error: f64,
    z: f64,
    bound: f64,
) -> (f64, End) {
    let side = if bound < estimate { -1.0 } else { 1.0 };
    let limit = (bound - estimate).abs() * (1.0 - 1e-9);
    let mut excess = |distance: f64| root_deviance(estimate + side * distance) - z;
    let mut inside = (0.0, -z);
    let mut step = (z * error).min(0.5 * limit);
    let mut grown = 1.3;
    for _ in 0..80 {
        let distance = step.min(limit);
        let value = excess(distance);
        if value >= 0.0 && value.is_finite() {
            let root = brent_root(&mut excess, inside, (distance, value), 1e-9 * error);
            return (estimate + side * root, End::Reached);
        }
        if value.is_infinite() || value.is_nan() {
            // Infeasible from here: approach more slowly.
            step = 0.5 * (inside.0 + distance);
            grown = 1.02;
            if step - inside.0 < 1e-9 * error {
                return (estimate + side * inside.0, End::NotFound);
            }
            continue;
        }
        if distance >= limit {
            return (bound, End::Bound);
        }
        inside = (distance, value);
        // The root deviance grows about linearly: aim a little beyond the crossing.
        let aim = distance * z / (value + z).max(0.05 * z) * 1.05;
        step = (distance * grown).max(aim.min(distance * 20.0));
        grown = (grown * 1.2).min(4.0);
    }
    (side * f64::INFINITY, End::Infinite)
}

/// Where `excess`, the root deviance less `z` at a distance from the estimate, changes its sign: bracketed from
/// `first` outward by steps of 1.6, then Brent to within `tolerance`. For parameters without a bound whose standard
/// error is known roughly only; none where 60 steps do not reach it.
pub(crate) fn unbounded_end(
    mut excess: impl FnMut(f64) -> f64,
    z: f64,
    first: f64,
    tolerance: f64,
) -> Option<f64> {
    let (mut inside, mut distance) = ((0.0, -z), first);
    for _ in 0..60 {
        let there = excess(distance);
        if there >= 0.0 {
            return Some(brent_root(&mut excess, inside, (distance, there), tolerance));
        }
        inside = (distance, there);
        distance *= 1.6;
    }
    None
}
