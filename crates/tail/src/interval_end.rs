//! Finds the ends of profile intervals: where the root deviance reaches the normal quantile.

use crate::newton::brent_root;
use crate::status::End;

/// The root deviance of one quantity: the square root of twice the fall of the log-likelihood from its peak to the
/// best distribution with the quantity held.
pub(crate) trait RootDeviance {
    /// At `value`, by a search that starts from the results of neighbouring values; `None` if it does not
    /// converge. A search can end at a local maximum, so the result may be too large.
    fn along(&mut self, value: f64) -> Option<f64>;

    /// At `value`, by searches that start only from the peak.
    fn afresh(&mut self, value: f64) -> Option<f64>;
}

/// The best distributions found so far for values of a held quantity, the peak first.
pub(crate) struct Path {
    /// The derivative of the parameters with respect to the quantity, at the peak.
    tangent: Vec<f64>,
    solved: Vec<(f64, Vec<f64>)>,
}

impl Path {
    /// Starts at the maximum, `estimate`.
    pub fn from_peak(estimate: f64, peak: &[f64], tangent: &[f64]) -> Path {
        Path { tangent: tangent.to_vec(), solved: vec![(estimate, peak.to_vec())] }
    }

    /// Adds the best distribution at a value.
    pub fn add(&mut self, value: f64, distribution: &[f64]) {
        self.solved.push((value, distribution.to_vec()));
    }

    /// Keeps only the peak, for the other side.
    pub fn forget(&mut self) {
        self.solved.truncate(1);
    }

    /// The value at the peak.
    pub fn from(&self) -> f64 {
        self.solved[0].0
    }

    /// The distribution at the peak.
    pub fn peak(&self) -> &[f64] {
        &self.solved[0].1
    }

    /// The distribution on the tangent at the peak.
    pub fn on_tangent(&self, value: f64) -> Vec<f64> {
        let (at, distribution) = &self.solved[0];
        distribution.iter().zip(&self.tangent).map(|(p, slope)| p + slope * (value - at)).collect()
    }

    /// The distribution at `value` on the line through the two nearest solved ones.
    pub fn predicted(&self, value: f64) -> Vec<f64> {
        let mut order: Vec<&(f64, Vec<f64>)> = self.solved.iter().collect();
        order.sort_by(|a, b| (a.0 - value).abs().total_cmp(&(b.0 - value).abs()));
        match order.as_slice() {
            [near, next, ..] if next.0 != near.0 => {
                let along = (value - near.0) / (next.0 - near.0);
                near.1.iter().zip(&next.1).map(|(a, b)| a + (b - a) * along).collect()
            }
            _ => self.on_tangent(value),
        }
    }
}

/// The largest relative difference between the deviance at an end and the critical value.
const TOLERANCE: f64 = 0.01;

/// The largest number of steps between the estimate and an end.
const STEPS: usize = 80;

/// The point between `estimate` and `bound` at which the root deviance, 0 at `estimate`, reaches `z`. An end
/// counts as reached if searches from the peak confirm its deviance; if they find a better distribution, the end is
/// searched again with such searches at every step.
pub(crate) fn interval_end(
    profile: &mut impl RootDeviance,
    estimate: f64,
    error: f64,
    z: f64,
    bound: f64,
) -> (f64, End) {
    let walk = Walk { estimate, error, z, bound };
    let (end, kind) = walk.to_the_end(|value| profile.along(value));
    let holds = |profile: &mut _, end| walk.confirmed(RootDeviance::afresh(profile, end));
    match kind {
        End::Reached if holds(profile, end) => return (end, kind),
        // The end is a bound of the parameter space if the likelihood does not fall enough on the way.
        End::Bound => return (end, kind),
        End::Reached | End::Infinite | End::NotFound => {}
    }
    let (end, kind) = walk.to_the_end(|value| profile.afresh(value));
    match kind {
        End::Reached if !holds(profile, end) => (f64::NAN, End::NotFound),
        End::Reached | End::Bound | End::Infinite | End::NotFound => (end, kind),
    }
}

/// One side of an interval.
struct Walk {
    estimate: f64,
    error: f64,
    z: f64,
    bound: f64,
}

impl Walk {
    fn confirmed(&self, root_deviance: Option<f64>) -> bool {
        root_deviance.is_some_and(|r| (r * r / (self.z * self.z) - 1.0).abs() <= TOLERANCE)
    }

    /// Brackets the end outward from the Wald guess, then Brent. Steps without a distribution are halved.
    fn to_the_end(&self, mut root_deviance: impl FnMut(f64) -> Option<f64>) -> (f64, End) {
        let &Walk { estimate, error, z, bound } = self;
        let side = if bound < estimate { -1.0 } else { 1.0 };
        let limit = (bound - estimate).abs() * (1.0 - 1e-9);
        let mut excess = |distance: f64| root_deviance(estimate + side * distance).map(|r| r - z);
        let mut inside = (0.0, -z);
        let mut step = (z * error).min(0.5 * limit);
        let mut grown = 1.3;
        for _ in 0..STEPS {
            let distance = step.min(limit);
            let Some(value) = excess(distance).filter(|value| value.is_finite()) else {
                step = 0.5 * (inside.0 + distance);
                grown = 1.02;
                if step - inside.0 < 1e-3 * error {
                    return (f64::NAN, End::NotFound);
                }
                continue;
            };
            if value >= 0.0 {
                // Inside the bracket, a failed search counts as beyond the end.
                let beyond = |distance: f64| excess(distance).unwrap_or(z);
                let root = brent_root(beyond, inside, (distance, value), 1e-9 * error);
                return (estimate + side * root, End::Reached);
            }
            if distance >= limit {
                return (bound, End::Bound);
            }
            inside = (distance, value);
            // The root deviance grows almost linearly: aim slightly beyond the crossing.
            let aim = distance * z / (value + z).max(0.05 * z) * 1.05;
            step = (distance * grown).max(aim.min(distance * 20.0));
            grown = (grown * 1.2).min(4.0);
        }
        (side * f64::INFINITY, End::Infinite)
    }
}

/// As [`interval_end`] for a parameter without a bound whose standard error is only approximately known:
/// bracketed from `first` on the side of its sign outward by steps of 1.6, then Brent to within `tolerance`.
/// Not found if 60 steps do not reach the end.
pub(crate) fn unbounded_end(
    profile: &mut impl RootDeviance,
    estimate: f64,
    first: f64,
    z: f64,
    tolerance: f64,
) -> (f64, End) {
    let walk = Walk { estimate, error: tolerance, z, bound: first.signum() * f64::INFINITY };
    let search = |root_deviance: &mut dyn FnMut(f64) -> Option<f64>| -> Option<f64> {
        let mut excess = |distance: f64| root_deviance(estimate + distance).map_or(f64::NAN, |r| r - z);
        let (mut inside, mut distance) = ((0.0, -z), first);
        for _ in 0..60 {
            let there = excess(distance);
            if there >= 0.0 {
                return Some(estimate + brent_root(&mut excess, inside, (distance, there), tolerance));
            }
            if there.is_nan() {
                return None;
            }
            inside = (distance, there);
            distance *= 1.6;
        }
        None
    };
    for along in [true, false] {
        let end = search(&mut |value| if along { profile.along(value) } else { profile.afresh(value) });
        if let Some(end) = end.filter(|end| walk.confirmed(profile.afresh(*end))) {
            return (end, End::Reached);
        }
    }
    (f64::NAN, End::NotFound)
}
