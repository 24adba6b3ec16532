//! Hulls of an empirical distribution function: its greatest convex minorant and its least concave majorant.
//!
//! Of many points, the hull of each 64th is found first. Only points beyond it can be corners of the hull of all; they
//! are few, and found by comparing the points with straight lines, several at once.

use lanes::{Arithmetic, LaneWork, widest};

/// Which hull.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hull {
    /// The greatest convex minorant.
    Minorant,
    /// The least concave majorant.
    Majorant,
}

/// Fewer points are looked at one by one.
const MANY: usize = 2048;
/// Of more, each so manyth is looked at first.
const STRIDE: usize = 64;
/// Points this near to a line, in steps of the function, may lie beyond it: more than rounding errors.
const NEAR: f64 = 1e-3;

impl Hull {
    /// Corners of the hull of the points (x_i, i), `low ..= high`, as indices. `x` ascends.
    pub fn corners(self, x: &[f64], low: usize, high: usize, corners: &mut Vec<usize>) {
        corners.clear();
        if high - low < MANY {
            self.add(x, low..=high, corners);
            return;
        }
        let mut coarse = Vec::new();
        self.add(x, (low..high).step_by(STRIDE).chain([high]), &mut coarse);
        let mut candidates = vec![low];
        for side in coarse.windows(2) {
            let (a, b) = (side[0], side[1]);
            for from in (a + 1..b).step_by(STRIDE) {
                let to = (from + STRIDE).min(b);
                if self.farthest(x, (a, b), from, to) > -NEAR {
                    let beyond = |i: &usize| self.beyond(x, (a, b), *i) > -NEAR;
                    candidates.extend((from..to).filter(beyond));
                }
            }
            candidates.push(b);
        }
        self.add(x, candidates.into_iter(), corners);
    }

    /// Adds those of ascending points that are corners.
    fn add(self, x: &[f64], points: impl Iterator<Item = usize>, corners: &mut Vec<usize>) {
        let sign = self.sign();
        for i in points {
            while let [.., a, b] = corners[..] {
                let turn = (b - a) as f64 * (x[i] - x[b]) - (i - b) as f64 * (x[b] - x[a]);
                // Positive turn: steeper before than after.
                if sign * turn > 0.0 || turn == 0.0 {
                    corners.pop();
                } else {
                    break;
                }
            }
            corners.push(i);
        }
    }

    fn sign(self) -> f64 {
        match self {
            Hull::Minorant => 1.0,
            Hull::Majorant => -1.0,
        }
    }

    /// How far a point is beyond the line through the corners `a` and `b`.
    fn beyond(self, x: &[f64], (a, b): (usize, usize), i: usize) -> f64 {
        self.sign() * (line(x, a, b, i) - i as f64)
    }

    /// The largest of [`Hull::beyond`] of some points; minus infinity of none.
    fn farthest(self, x: &[f64], (a, b): (usize, usize), from: usize, to: usize) -> f64 {
        let width = x[b] - x[a];
        if width > 0.0 {
            let line = (a as f64, (b - a) as f64, x[a], width);
            widest(Farthest { x: &x[from..to], first: from as f64, line, sign: self.sign() })
        } else {
            (from..to).map(|i| self.beyond(x, (a, b), i)).fold(f64::NEG_INFINITY, f64::max)
        }
    }

    /// The largest distance of the points from the sides of the hull between two corners, inside: it is a step more from the
    /// minorant, whose points are the upper ends of steps.
    pub fn inside(self, x: &[f64], sides: &[usize]) -> f64 {
        let opposite = match self {
            Hull::Minorant => Hull::Majorant,
            Hull::Majorant => Hull::Minorant,
        };
        let of = |side: &[usize]| opposite.farthest(x, (side[0], side[1]), side[0], side[1] + 1);
        sides.windows(2).map(of).fold(f64::NEG_INFINITY, f64::max) + 1.0
    }
}

/// Height at x_i of the straight line through the corners a and b.
pub(super) fn line(x: &[f64], a: usize, b: usize, i: usize) -> f64 {
    let width = x[b] - x[a];
    if width > 0.0 { a as f64 + (b - a) as f64 * (x[i] - x[a]) / width } else { b as f64 }
}

/// The largest of `sign (line - index)`; the line has height, rise, start and width.
struct Farthest<'a> {
    x: &'a [f64],
    first: f64,
    line: (f64, f64, f64, f64),
    sign: f64,
}

impl LaneWork for Farthest<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> f64 {
        const LANES: usize = 8;
        let Farthest { x, first, line: (height, rise, start, width), sign } = self;
        let beyond = |x: f64, index: f64| sign * (height + rise * (x - start) / width - index);
        let mut most = [f64::NEG_INFINITY; LANES];
        let mut index: [f64; LANES] = std::array::from_fn(|lane| first + lane as f64);
        let mut groups = x.chunks_exact(LANES);
        for group in groups.by_ref() {
            for lane in 0..LANES {
                let here = beyond(group[lane], index[lane]);
                most[lane] = if here > most[lane] { here } else { most[lane] };
                index[lane] += LANES as f64;
            }
        }
        for ((x, index), most) in groups.remainder().iter().zip(index).zip(&mut most) {
            *most = most.max(beyond(*x, index));
        }
        most.into_iter().fold(f64::NEG_INFINITY, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gev, Xoshiro};

    #[test]
    fn corners_are_those_of_all_points_for_any_distribution_size_and_ties() {
        let mut random = Xoshiro::new(9);
        for n in [2, 3, MANY - 1, MANY, MANY + 1, MANY + 2, 30_000] {
            for (shape, digits) in
                [(-1.0, 0.0), (-0.6, 0.0), (0.0, 0.0), (2.0, 0.0), (0.1, 50.0), (-1.0, 1000.0)]
            {
                let distribution = Gev { location: 10.0, scale: 1.0, shape };
                let mut x: Vec<f64> = (0..n).map(|_| distribution.sample(&mut random)).collect();
                if digits > 0.0 {
                    x.iter_mut().for_each(|x| *x = (*x * digits).round() / digits);
                }
                // Two modes.
                x.iter_mut().step_by(3).for_each(|x| *x += 3.0);
                x.sort_by(f64::total_cmp);
                for hull in [Hull::Minorant, Hull::Majorant] {
                    let (mut found, mut plain) = (Vec::new(), Vec::new());
                    hull.corners(&x, 0, n - 1, &mut found);
                    hull.add(&x, 0..n, &mut plain);
                    assert_eq!(found, plain, "{hull:?} {n} {shape}");
                    let each = |side: &[usize]| {
                        let off = |i: usize| hull.sign() * (i as f64 - line(&x, side[0], side[1], i)) + 1.0;
                        (side[0]..=side[1]).map(off).fold(f64::NEG_INFINITY, f64::max)
                    };
                    let most = plain.windows(2).map(each).fold(f64::NEG_INFINITY, f64::max);
                    assert_eq!(hull.inside(&x, &found), most);
                }
            }
        }
        let grid: Vec<f64> = (0..3 * MANY).map(|i| i as f64).collect();
        let mut corners = Vec::new();
        Hull::Majorant.corners(&grid, 0, grid.len() - 1, &mut corners);
        assert_eq!(corners, [0, grid.len() - 1]);
    }
}
