//! The likelihood of a generalised Pareto distribution along one free parameter.

use crate::kernel::{self, At};
use crate::newton::Objective;

/// Largest shape searched.
pub(super) const SHAPE_MAX: f64 = 5.0;

/// The free one of ln scale and shape, with the value of the other.
#[derive(Clone, Copy)]
pub(super) enum Slice {
    /// The shape is held.
    Shape(f64),
    /// The logarithm of the scale is held.
    LogScale(f64),
    /// Level over the threshold and its exponent: scale = level / b(exponent, shape).
    Level(f64, f64),
}

/// Ascending exceedances with one parameter free.
pub(super) struct OneFree<'a> {
    pub y: &'a [f64],
    pub slice: Slice,
}

impl OneFree<'_> {
    /// (ln scale, shape).
    pub fn full(&self, at: f64) -> [f64; 2] {
        match self.slice {
            Slice::Shape(shape) => [at, shape],
            Slice::LogScale(phi) => [phi, at],
            Slice::Level(level, c) => [(level / kernel::box_cox(c, at).0).ln(), at],
        }
    }
}

impl Objective for OneFree<'_> {
    fn size(&self) -> usize {
        1
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        let [phi, shape] = self.full(at[0]);
        if !(-1.0..=SHAPE_MAX).contains(&shape) {
            return f64::INFINITY;
        }
        let Some(t) = kernel::sum(self.y, &At::new(0.0, phi, shape), 1.0, 0.0) else { return f64::INFINITY };
        let (gp, gx) = (t.gradient[1], t.gradient[2]);
        let (pp, px, xx) = (t.hessian[2], t.hessian[4], t.hessian[5]);
        let (g, h) = match self.slice {
            Slice::Shape(_) => (gp, pp),
            Slice::LogScale(_) => (gx, xx),
            Slice::Level(_, c) => {
                let (b, b1, b2) = kernel::box_cox(c, shape);
                let d1 = -b1 / b;
                let d2 = d1 * d1 - b2 / b;
                (gx + gp * d1, xx + 2.0 * px * d1 + pp * d1 * d1 + gp * d2)
            }
        };
        gradient[0] = g;
        hessian[0] = h;
        t.value
    }
}
