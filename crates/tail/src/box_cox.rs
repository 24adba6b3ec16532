//! Standard quantiles of a GEV as functions of its shape, with derivatives and inverse.

use lanes::Arithmetic;

/// `(exp(shape c) - 1) / shape` and its first two derivatives by the shape: the standard quantile at Gumbel
/// level `c = -ln(-ln p)`.
#[inline]
pub fn box_cox(c: f64, shape: f64) -> (f64, f64, f64) {
    let t = c * shape;
    if t.abs() < 0.3 {
        // c Σ t^k/(k+1)!, c² Σ (k+1) t^k/(k+2)!, c³ Σ (k+1)(k+2) t^k/(k+3)!
        let (mut b, mut b1, mut b2) = (0.0, 0.0, 0.0);
        let (mut power, mut factorial) = (1.0, 1.0);
        for k in 0..16 {
            let k = f64::from(k);
            factorial *= k + 1.0;
            let term = power / factorial;
            b += term;
            b1 += (k + 1.0) / (k + 2.0) * term;
            b2 += (k + 1.0) / (k + 3.0) * term;
            power *= t;
        }
        (c * b, c * c * b1, c * c * c * b2)
    } else {
        let e = t.exp();
        let b = t.exp_m1() / shape;
        let b1 = (c * e - b) / shape;
        (b, b1, (c * c * e - 2.0 * b1) / shape)
    }
}

/// The first of [`box_cox`] alone, without a branch: for values that are drawn.
#[inline(always)]
pub(crate) fn standard_quantile<A: Arithmetic>(c: f64, shape: f64) -> f64 {
    let t = c * shape;
    let closed = lanes::exp_m1::<A>(t) / shape;
    if t.abs() < 1e-5 { c * (1.0 + 0.5 * t * (1.0 + t / 3.0)) } else { closed }
}

/// The shape whose standard quantile at Gumbel level `c` > 0 is `quantile` > 0: the inverse of [`box_cox`] in the
/// shape. `None` if no shape between -1 and 100 / c has that quantile.
pub fn shape_of_quantile(c: f64, quantile: f64) -> Option<f64> {
    let (mut low, mut high) = (-1.0, 100.0 / c);
    if !(quantile > box_cox(c, low).0 && quantile < box_cox(c, high).0) {
        return None;
    }
    // Newton on the logarithm of the quantile, which is almost linear in the shape.
    let ln = quantile.ln();
    let mut shape = (2.0 * (ln - c.ln()) / c).clamp(low, high);
    for _ in 0..60 {
        let (b, b1, _) = box_cox(c, shape);
        let off = b.ln() - ln;
        if off > 0.0 {
            high = shape
        } else {
            low = shape
        }
        let step = off * b / b1;
        let next = shape - step;
        let next = if next > low && next < high { next } else { 0.5 * (low + high) };
        if (next - shape).abs() < 1e-14 {
            return Some(next);
        }
        shape = next;
    }
    Some(shape)
}

#[cfg(test)]
mod tests {
    use lanes::System;

    use super::*;

    #[test]
    fn quantile_derivatives_agree_on_both_sides_of_the_switch() {
        for (c, shape) in [(2.9999, 0.1), (-2.9999, 0.1), (2.9999, -0.1)] {
            let near = box_cox(c, shape);
            let t: f64 = c * shape;
            let b = t.exp_m1() / shape;
            let b1 = (c * t.exp() - b) / shape;
            let b2 = (c * c * t.exp() - 2.0 * b1) / shape;
            assert!((near.0 - b).abs() < 1e-14 * b.abs());
            assert!((near.1 - b1).abs() < 1e-12 * b1.abs());
            assert!((near.2 - b2).abs() < 1e-10 * b2.abs());
        }
        assert_eq!(box_cox(2.0, 0.0), (2.0, 2.0, 8.0 / 3.0));
    }

    #[test]
    fn the_quick_quantile_is_that_of_the_expansion() {
        for c in [-3.0, 1e-9, 0.7, 14.0] {
            for shape in [-0.9, -1e-3, -1e-6, 0.0, 0.7e-6, 1e-5, 0.05, 1.5] {
                let (quick, slow) = (standard_quantile::<System>(c, shape), box_cox(c, shape).0);
                assert!((quick - slow).abs() <= 1e-14 * slow.abs(), "{c} {shape} {quick} {slow}");
            }
        }
    }

    #[test]
    fn the_shape_of_a_quantile_has_that_quantile() {
        for c in [0.5, 2.25, 9.2] {
            for shape in [-0.99, -0.4, -1e-9, 0.0, 1e-4, 0.8, 4.9] {
                let found = shape_of_quantile(c, box_cox(c, shape).0).unwrap();
                assert!((found - shape).abs() < 1e-9, "{c} {shape} {found}");
            }
            assert_eq!(shape_of_quantile(c, 0.9 * box_cox(c, -1.0).0), None);
        }
    }
}
