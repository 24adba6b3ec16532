//! Maximises likelihood surfaces over (location, ln scale, shape): from a few starts, by the distance of an end, or over
//! the whole range of shapes.

use crate::Status;
use crate::end_distance;
use crate::newton::{Newton, Outcome};
use crate::surface::{Fixed, Free, HeldFixed, Surface, grow_scale};

/// A maximum in standardised parameters (location, ln scale, shape).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StandardMaximum {
    pub at: [f64; 3],
    pub value: f64,
    pub iterations: usize,
    pub status: Status,
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
    /// No interior maximum: the searches ended at shape -1, or at the largest shape, with the best distribution of that.
    AtBound { greatest: Option<StandardMaximum>, iterations: usize },
    /// Neither: [`maximize`] tells.
    Unknown,
}

/// The decrement from which a refit takes its last step without a further look at the likelihood: at a hundredth of a
/// standard error the next is quadratically nearer, at less than a thousandth of the noise of refits.
const CLOSE: f64 = 1e-4;

/// Whether the support of a distribution contains both ends.
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
        // Such a search creeps towards a distribution that begins just before the smallest value.
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

/// A distribution of a heavy tail whose support contains all values.
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
    // From the middle outward, each from the distribution of the shape before.
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
