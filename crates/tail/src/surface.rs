//! Maximises likelihood surfaces over (location, ln scale, shape) in standardised units, shared by the
//! three-parameter models.

use crate::Status;
use crate::end_distance;
use crate::kernel::{self, At, Terms};
use crate::newton::{Newton, Objective, Outcome};

/// A negative log-likelihood in location, ln scale and shape, of standardised values.
pub(crate) trait Surface {
    /// Value and derivatives; `None` where infeasible.
    fn terms(&self, location: f64, log_scale: f64, shape: f64) -> Option<Terms>;

    /// Smallest and largest value, to find feasible starts.
    fn ends(&self) -> (f64, f64);

    /// The largest shape for which the likelihood is bounded.
    fn shape_max(&self) -> f64;

    /// Number of values, for tolerances.
    fn len(&self) -> usize;
}

/// A GEV sample: standardised values with their smallest and largest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Maxima<'a> {
    pub y: &'a [f64],
    /// The number of values each represents; empty if each is one.
    pub weights: &'a [f64],
    pub ends: (f64, f64),
    pub shape_max: f64,
}

impl<'a> Maxima<'a> {
    /// The surface of ascending values.
    pub fn sorted(y: &'a [f64], shape_max: f64) -> Self {
        Maxima { y, weights: &[], ends: (y[0], y[y.len() - 1]), shape_max }
    }

    /// The surface of ascending groups of values.
    pub fn grouped(y: &'a [f64], weights: &'a [f64], shape_max: f64) -> Self {
        Maxima { weights, ..Maxima::sorted(y, shape_max) }
    }

    /// The number of values, and their sum.
    pub fn count_and_sum(&self) -> (f64, f64) {
        if self.weights.is_empty() {
            return (self.y.len() as f64, self.y.iter().sum());
        }
        (self.weights.iter().sum(), self.y.iter().zip(self.weights).map(|(y, w)| y * w).sum())
    }
}

impl Surface for Maxima<'_> {
    #[inline]
    fn terms(&self, location: f64, log_scale: f64, shape: f64) -> Option<Terms> {
        let at = At::new(location, log_scale, shape);
        if self.weights.is_empty() {
            kernel::sum(self.y, &at, 1.0, 1.0)
        } else {
            kernel::sum_weighted(self.y, self.weights, &at)
        }
    }

    fn ends(&self) -> (f64, f64) {
        self.ends
    }

    fn shape_max(&self) -> f64 {
        self.shape_max
    }

    fn len(&self) -> usize {
        self.y.len()
    }
}

/// A maximum in standardised parameters (location, ln scale, shape).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StandardMaximum {
    pub at: [f64; 3],
    pub value: f64,
    pub iterations: usize,
    pub status: Status,
}

/// All three parameters free.
pub(crate) struct Free<'a, S>(pub &'a S);

impl<S: Surface> Objective for Free<'_, S> {
    fn size(&self) -> usize {
        3
    }

    #[inline]
    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        if at[2] <= -1.0 || at[2] >= self.0.shape_max() {
            return f64::INFINITY;
        }
        let Some(terms) = self.0.terms(at[0], at[1], at[2]) else { return f64::INFINITY };
        gradient.copy_from_slice(&terms.gradient);
        hessian.copy_from_slice(&terms.matrix());
        terms.value
    }

    fn is_at_bound(&self, at: &[f64], step: &[f64]) -> bool {
        at[2] < AT_BOUND && at[2] + step[2] <= -1.0
    }
}

/// A search of a shape below this that wants to go below -1 is at the bound. Without an end it would halve its distance
/// to -1 a hundred times.
const AT_BOUND: f64 = -0.999;

/// Levels beyond this Gumbel level are held through the shape, since location and scale are known well and
/// far levels depend strongly on the shape. Nearer levels are held through the location.
pub(crate) const FAR_LEVEL: f64 = 0.5;

/// The quantity that is held fixed while the other two parameters are maximised out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum HeldFixed {
    Location,
    LogScale,
    Shape,
    /// The quantile at this Gumbel level.
    Level(f64),
}

/// The two nuisance parameters with the target fixed.
pub(crate) struct Fixed<'a, S> {
    pub surface: &'a S,
    pub what: HeldFixed,
    pub value: f64,
}

impl<S: Surface> Fixed<'_, S> {
    /// (location, ln scale, shape) of the nuisance parameters.
    pub fn full(&self, at: &[f64]) -> [f64; 3] {
        match self.what {
            HeldFixed::Location => [self.value, at[0], at[1]],
            HeldFixed::LogScale => [at[0], self.value, at[1]],
            HeldFixed::Shape => [at[0], at[1], self.value],
            HeldFixed::Level(c) if c > FAR_LEVEL => {
                let shape = kernel::shape_of_quantile(c, (self.value - at[0]) / at[1].exp());
                [at[0], at[1], shape.unwrap_or(f64::NAN)]
            }
            HeldFixed::Level(c) => [self.value - at[0].exp() * kernel::box_cox(c, at[1]).0, at[0], at[1]],
        }
    }

    /// The free parameters of a law.
    pub fn free(&self, law: [f64; 3]) -> [f64; 2] {
        match self.what {
            HeldFixed::Location => [law[1], law[2]],
            HeldFixed::LogScale => [law[0], law[2]],
            HeldFixed::Level(c) if c <= FAR_LEVEL => [law[1], law[2]],
            HeldFixed::Shape | HeldFixed::Level(_) => [law[0], law[1]],
        }
    }

    /// A law near `law` with the held quantity whose support contains all values: with a wider scale or, if
    /// that is held, a shape nearer 0.
    pub fn feasible(&self, law: [f64; 3]) -> [f64; 3] {
        let (low, high) = self.surface.ends();
        let limits = (-1.0, self.surface.shape_max());
        let [mut m, mut phi, mut shape] = law;
        match self.what {
            HeldFixed::Location => m = self.value,
            HeldFixed::LogScale => phi = self.value,
            HeldFixed::Shape => shape = self.value,
            HeldFixed::Level(_) => {}
        }
        for _ in 0..60 {
            if let HeldFixed::Level(c) = self.what {
                m = self.value - phi.exp() * kernel::box_cox(c, shape).0;
            }
            let inside = shape > limits.0 && shape < limits.1;
            if inside && [low, high].iter().all(|y| 1.0 + shape * (y - m) / phi.exp() > 1e-3) {
                break;
            }
            match self.what {
                HeldFixed::LogScale => shape *= 0.7,
                HeldFixed::Shape => phi += 0.25,
                HeldFixed::Location | HeldFixed::Level(_) if !inside => shape *= 0.9,
                // A far level near the end of a bounded tail leaves little range above it.
                HeldFixed::Level(c) if c > FAR_LEVEL && shape < 0.0 => shape *= 0.95,
                HeldFixed::Location | HeldFixed::Level(_) => phi += 0.25,
            }
        }
        [m, phi, shape]
    }
}

impl<S: Surface> Objective for Fixed<'_, S> {
    fn size(&self) -> usize {
        2
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        let [m, phi, shape] = self.full(at);
        if !(shape >= -1.0 && shape <= self.surface.shape_max()) {
            return f64::INFINITY;
        }
        let Some(t) = self.surface.terms(m, phi, shape) else { return f64::INFINITY };
        let [gm, gp, gx] = t.gradient;
        let [mm, mp, pp, mx, px, xx] = t.hessian;
        let (g, h) = match self.what {
            HeldFixed::Location => ([gp, gx], [pp, px, xx]),
            HeldFixed::LogScale => ([gm, gx], [mm, mx, xx]),
            HeldFixed::Shape => ([gm, gp], [mm, mp, pp]),
            HeldFixed::Level(c) if c > FAR_LEVEL => {
                // Chain rule through shape, from level = location + scale b(shape).
                let (b, b1, b2) = kernel::box_cox(c, shape);
                let (dm, dp) = (-1.0 / (phi.exp() * b1), -b / b1);
                let bend = b2 / b1;
                (
                    [gm + gx * dm, gp + gx * dp],
                    [
                        mm + 2.0 * mx * dm + xx * dm * dm - gx * bend * dm * dm,
                        mp + mx * dp + px * dm + xx * dm * dp - gx * (dm + bend * dm * dp),
                        pp + 2.0 * px * dp + xx * dp * dp - gx * (dp + bend * dp * dp),
                    ],
                )
            }
            HeldFixed::Level(c) => {
                // Chain rule through location = level - scale b(shape).
                let (b, b1, b2) = kernel::box_cox(c, shape);
                let scale = phi.exp();
                let (dp, dx) = (-scale * b, -scale * b1);
                (
                    [gp + gm * dp, gx + gm * dx],
                    [
                        pp + 2.0 * mp * dp + mm * dp * dp + gm * dp,
                        px + mp * dx + mx * dp + mm * dp * dx + gm * dx,
                        xx + 2.0 * mx * dx + mm * dx * dx - gm * scale * b2,
                    ],
                )
            }
        };
        gradient.copy_from_slice(&g);
        hessian.copy_from_slice(&[h[0], h[1], h[1], h[2]]);
        t.value
    }
}

/// ln scale, increased from `phi` until the support contains both ends.
pub(crate) fn grow_scale((low, high): (f64, f64), m: f64, phi: f64, shape: f64) -> f64 {
    let mut needed = phi.exp();
    // 1 + shape (y - m) / scale must stay above 0.05 at both ends.
    for y in [low, high] {
        needed = needed.max(-shape * (y - m) / 0.95);
    }
    if needed > phi.exp() { needed.ln() } else { phi }
}

/// Whether an outcome is an interior maximum, and of which kind.
fn accept(outcome: &Outcome, newton: &Newton, iterations: usize) -> StandardMaximum {
    StandardMaximum {
        at: [newton.at[0], newton.at[1], newton.at[2]],
        value: outcome.value,
        iterations,
        status: if newton.at[2] > -0.5 { Status::Ok } else { Status::Irregular },
    }
}

/// The maximum of a surface, tried from `first` (location, ln scale, shape), then from a ring of shapes around
/// `base` (location, ln scale), then from every local minimum of the profile of the shape. Without an
/// interior maximum the better bound of the shape is returned, with status boundary.
pub(crate) fn maximize<S: Surface>(
    surface: &S,
    first: [f64; 3],
    base: [f64; 2],
    newton: &mut Newton,
) -> StandardMaximum {
    let objective = Free(surface);
    let tolerance = 1e-12 * surface.len() as f64;
    let mut iterations = 0;
    let start = |shape: f64| {
        let shape = shape.min(0.5 * surface.shape_max());
        [base[0], grow_scale(surface.ends(), base[0], base[1], shape), shape]
    };
    let fallbacks = [-0.15, 0.35, -0.4, 0.8, -0.7, 1.5].map(start);
    for from in std::iter::once(first).chain(fallbacks) {
        let outcome = newton.minimize(&objective, &from, tolerance, 2);
        iterations += outcome.iterations;
        if outcome.converged {
            return accept(&outcome, newton, iterations);
        }
    }
    scan(surface, base, newton, iterations)
}

/// What a search from few starts came to.
pub(crate) enum Refitted {
    /// An interior maximum.
    Found(StandardMaximum),
    /// No interior maximum: the searches ended at shape -1, or at the largest shape, with the best law of that.
    AtBound { greatest: Option<StandardMaximum>, iterations: usize },
    /// Neither: [`maximize`] tells.
    Unknown,
}

/// The decrement from which a refit takes its last step without a further look at the likelihood: at a hundredth of a
/// standard error the next is quadratically nearer, at less than a thousandth of the noise of refits.
const CLOSE: f64 = 1e-4;

/// Whether the support of a law contains both ends.
fn holds((low, high): (f64, f64), [m, phi, shape]: [f64; 3]) -> bool {
    let scale = phi.exp();
    [low, high].iter().all(|y| 1.0 + shape * (y - m) / scale > 1e-9)
}

/// Above this shape a refit searches by the distance of the lower end first.
const HEAVY: f64 = 1.0;

/// The shape of the second start of [`refit`].
const MIDDLE: f64 = -0.3;

/// The maximum of one of many similar samples, from `first` (location, ln scale, shape), which is nearly the maximum of
/// most. Where that ends at a bound of the shape, one more start around `base` (location, ln scale) decides: a search of
/// all shapes would cost as much as a hundred refits.
pub(crate) fn refit<S: Surface>(
    surface: &S,
    first: [f64; 3],
    base: [f64; 2],
    newton: &mut Newton,
) -> Refitted {
    let second = [base[0], grow_scale(surface.ends(), base[0], base[1], MIDDLE), MIDDLE];
    let (mut iterations, mut greatest) = (0, None);
    if first[2] > HEAVY {
        match heavy(surface, first, newton, &mut iterations) {
            Some(found) if found.status == Status::Boundary => greatest = Some(found),
            Some(found) => return Refitted::Found(found),
            None => {}
        }
    }
    let starts = if greatest.is_some() { &[second][..] } else { &[first, second] };
    for start in starts {
        let outcome = newton.minimize(&Free(surface), start, CLOSE, 0);
        iterations += outcome.iterations;
        if outcome.converged {
            let mut best = accept(&outcome, newton, iterations);
            for (at, beyond) in best.at.iter_mut().zip(newton.beyond()) {
                *at = beyond;
            }
            let inside = best.at[2] > -1.0 && best.at[2] < surface.shape_max();
            if !(inside && holds(surface.ends(), best.at)) {
                best = accept(&outcome, newton, iterations);
            }
            return Refitted::Found(best);
        }
        if outcome.at_bound || greatest.is_some() {
            continue;
        }
        // Such a search creeps towards a law that begins just before the smallest value.
        let crept = [newton.at[0], newton.at[1], newton.at[2]];
        let from = if crept[2] > 0.0 { crept } else { heavy_start(surface, base) };
        match heavy(surface, from, newton, &mut iterations) {
            Some(found) if found.status == Status::Boundary => greatest = Some(found),
            Some(found) => return Refitted::Found(found),
            None => return Refitted::Unknown,
        }
    }
    Refitted::AtBound { greatest, iterations }
}

/// A law of a heavy tail whose support contains all values.
fn heavy_start<S: Surface>(surface: &S, base: [f64; 2]) -> [f64; 3] {
    let shape = 1.0f64.min(0.5 * surface.shape_max());
    [base[0], grow_scale(surface.ends(), base[0], base[1], shape), shape]
}

/// The maximum among heavy tails, interior or at the largest shape; `None` if neither is found.
fn heavy<S: Surface>(
    surface: &S,
    from: [f64; 3],
    newton: &mut Newton,
    iterations: &mut usize,
) -> Option<StandardMaximum> {
    let tolerance = 1e-12 * surface.len() as f64;
    let (outcome, at) = end_distance::minimize_heavy(surface, from, newton, tolerance);
    *iterations += outcome.iterations;
    if outcome.converged {
        return Some(StandardMaximum {
            at,
            value: outcome.value,
            iterations: *iterations,
            status: Status::Ok,
        });
    }
    if !outcome.at_bound {
        return None;
    }
    let fixed = Fixed { surface, what: HeldFixed::Shape, value: greatest_shape(surface) };
    let (outcome, [m, phi]) =
        end_distance::minimize(&fixed, [at[0], at[1]], &mut Newton::new(2), tolerance, 1);
    *iterations += outcome.iterations;
    outcome.converged.then_some(StandardMaximum {
        at: [m, phi, fixed.value],
        value: outcome.value,
        iterations: *iterations,
        status: Status::Boundary,
    })
}

/// The largest shape that is searched.
fn greatest_shape<S: Surface>(surface: &S) -> f64 {
    surface.shape_max() - 1e-3
}

/// Profiles the shape over its whole range: restarts from every interior minimum, otherwise returns the
/// bound.
fn scan<S: Surface>(
    surface: &S,
    base: [f64; 2],
    newton: &mut Newton,
    mut iterations: usize,
) -> StandardMaximum {
    let tolerance = 1e-12 * surface.len() as f64;
    let most = greatest_shape(surface);
    let mut grid: Vec<f64> =
        std::iter::once(-1.0).chain((0..40).map(|i| -0.995 + 0.03 * f64::from(i))).collect();
    let mut shape = 0.25;
    while shape < most {
        grid.push(shape);
        shape += 0.1;
    }
    grid.retain(|&s| s < most);
    grid.push(most);
    let mut two = Newton::new(2);
    let mut profile = vec![([f64::NAN; 3], f64::INFINITY); grid.len()];
    // From the middle outward, each from the law of the shape before.
    let middle = grid.partition_point(|shape| *shape < 0.0).min(grid.len() - 1);
    for side in [(0..=middle).rev().collect::<Vec<_>>(), (middle + 1..grid.len()).collect()] {
        let mut near = base;
        for at in side {
            let fixed = Fixed { surface, what: HeldFixed::Shape, value: grid[at] };
            for from in [near, base] {
                let start = [from[0], grow_scale(surface.ends(), from[0], from[1], grid[at])];
                let (outcome, found) = end_distance::minimize(&fixed, start, &mut two, tolerance, 0);
                iterations += outcome.iterations;
                if outcome.value < profile[at].1 {
                    profile[at] = ([found[0], found[1], grid[at]], outcome.value);
                }
                if outcome.converged {
                    near = found;
                    break;
                }
            }
        }
    }
    let mut best: Option<StandardMaximum> = None;
    for i in 1..profile.len() - 1 {
        if profile[i].1 <= profile[i - 1].1 && profile[i].1 <= profile[i + 1].1 {
            let outcome = newton.minimize(&Free(surface), &profile[i].0, tolerance, 2);
            iterations += outcome.iterations;
            if outcome.converged && best.is_none_or(|b| outcome.value < b.value) {
                best = Some(accept(&outcome, newton, iterations));
            }
        }
    }
    best.unwrap_or_else(|| {
        let (low, high) = (profile[0], profile[profile.len() - 1]);
        let (at, value) = if low.1 <= high.1 { low } else { high };
        StandardMaximum { at, value, iterations, status: Status::Boundary }
    })
}
