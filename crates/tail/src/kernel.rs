//! Computes the likelihood kernel of all extreme-value models, with analytic gradient and Hessian.
//!
//! With `z = (x - location) / scale`, `w = 1 + shape z` and `h = ln(w) / shape`, the negative
//! log-likelihood of a row is `a (ln scale + (1 + shape) h) + b exp(-h)`. The weights make the model:
//! `a = b = 1` is the GEV (and Gumbel at shape 0), `b = 0` the GPD, `b = 1` on the smallest value alone the
//! r-largest model, and `a = 0`, `b = years` at the threshold the point process (Coles 2001, 3.3, 4.3, 3.5,
//! 7.5). Derivatives are taken in (location, ln scale, shape). Nothing branches on shape = 0: `h` and its
//! derivatives are `z L(q)`, `z² L'(q)`, `z³ L''(q)` with `q = shape z` and `L(q) = ln(1 + q) / q`.

/// Coefficients of `L(q) = Σ (-q)^k / (k + 1)`.
const SERIES: [f64; 11] = {
    let mut c = [0.0; 11];
    let mut k = 0;
    while k < 11 {
        c[k] = sign(k) / (k + 1) as f64;
        k += 1;
    }
    c
};

/// Coefficients of `L'(q)`.
const SERIES_1: [f64; 11] = {
    let mut c = [0.0; 11];
    let mut k = 0;
    while k < 11 {
        c[k] = -sign(k) * (k + 1) as f64 / (k + 2) as f64;
        k += 1;
    }
    c
};

/// Coefficients of `L''(q)`.
const SERIES_2: [f64; 11] = {
    let mut c = [0.0; 11];
    let mut k = 0;
    while k < 11 {
        c[k] = sign(k) * ((k + 1) * (k + 2)) as f64 / (k + 3) as f64;
        k += 1;
    }
    c
};

const fn sign(k: usize) -> f64 {
    if k.is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// `Σ c_k q^k` by Horner's rule.
#[inline(always)]
fn polynomial<const N: usize>(q: f64, coefficients: [f64; N]) -> f64 {
    coefficients.into_iter().rev().fold(0.0, |sum, c| c + q * sum)
}

/// `L(q) = ln(1 + q) / q` and its first two derivatives, for `q > -1`.
#[inline(always)]
pub fn log_ratio(q: f64) -> (f64, f64, f64) {
    if q.abs() < 0.03 {
        // Alternating series; the first omitted term is below 1e-16 of the sum.
        (polynomial(q, SERIES), polynomial(q, SERIES_1), polynomial(q, SERIES_2))
    } else {
        let p = 1.0 / (1.0 + q);
        let r = 1.0 / q;
        let l = q.ln_1p() * r;
        let l1 = (p - l) * r;
        (l, l1, (-2.0 * l1 - p * p) * r)
    }
}

/// `h = ln(1 + shape z) / shape`, or `z` at shape 0; `None` outside the support.
#[inline]
pub fn h(z: f64, shape: f64) -> Option<f64> {
    let q = shape * z;
    if q > -1.0 { Some(z * log_ratio(q).0) } else { None }
}

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

/// The first of [`box_cox`] alone, in half the time: for values that are drawn.
#[inline]
pub(crate) fn standard_quantile(c: f64, shape: f64) -> f64 {
    let t = c * shape;
    if t.abs() < 1e-5 { c * (1.0 + 0.5 * t * (1.0 + t / 3.0)) } else { t.exp_m1() / shape }
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

/// One row's negative log-likelihood and its derivatives in (location, ln scale, shape).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Terms {
    /// Negative log-likelihood.
    pub value: f64,
    /// First derivatives by location, ln scale, shape.
    pub gradient: [f64; 3],
    /// Second derivatives in the order of [`PAIRS`].
    pub hessian: [f64; 6],
}

/// The order of second derivatives: (location, location), (location, ln scale), (ln scale, ln scale),
/// (location, shape), (ln scale, shape), (shape, shape).
pub const PAIRS: [(usize, usize); 6] = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)];

impl Terms {
    /// Sum of two.
    #[inline(always)]
    pub fn add(&mut self, other: &Terms) {
        self.value += other.value;
        for (a, b) in self.gradient.iter_mut().zip(&other.gradient) {
            *a += b;
        }
        for (a, b) in self.hessian.iter_mut().zip(&other.hessian) {
            *a += b;
        }
    }

    /// Adds `weight` times another.
    #[inline(always)]
    fn add_times(&mut self, weight: f64, other: &Terms) {
        self.value += weight * other.value;
        for (a, b) in self.gradient.iter_mut().zip(&other.gradient) {
            *a += weight * b;
        }
        for (a, b) in self.hessian.iter_mut().zip(&other.hessian) {
            *a += weight * b;
        }
    }

    /// The Hessian as a full row-major 3 x 3 matrix.
    pub fn matrix(&self) -> [f64; 9] {
        let [mm, mp, pp, mx, px, xx] = self.hessian;
        [mm, mp, mx, mp, pp, px, mx, px, xx]
    }
}

/// Parameters at which a likelihood is evaluated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct At {
    location: f64,
    log_scale: f64,
    /// 1 / scale.
    rate: f64,
    shape: f64,
}

impl At {
    /// In the order location, ln scale, shape.
    #[inline(always)]
    pub fn new(location: f64, log_scale: f64, shape: f64) -> At {
        At { location, log_scale, rate: (-log_scale).exp(), shape }
    }

    /// Location 0 and scale 1.
    #[inline(always)]
    pub fn standard(shape: f64) -> At {
        At { location: 0.0, log_scale: 0.0, rate: 1.0, shape }
    }
}

/// The terms of one row, or `None` outside the support.
#[inline(always)]
pub fn row(x: f64, at: &At, a: f64, b: f64) -> Option<Terms> {
    let &At { location, log_scale, rate, shape } = at;
    let z = (x - location) * rate;
    let q = shape * z;
    let w = 1.0 + q;
    if w <= 0.0 {
        return None;
    }
    let p = 1.0 / w;
    let (l, l1, l2) = log_ratio(q);
    let z2 = z * z;
    let h = z * l;
    let hx = z2 * l1;
    let hxx = z2 * z * l2;
    let be = if b == 0.0 { 0.0 } else { b * (-h).exp() };
    let g = a * (1.0 + shape) - be;
    let gp = g * p;
    let p2 = p * p;
    let c1 = p2 * (be - shape * g);
    let c2 = p2 * (be * z + g);
    let c3 = gp * p * z - be * p * hx - a * p;
    Some(Terms {
        value: a * (log_scale + (1.0 + shape) * h) + be,
        gradient: [-rate * gp, a - gp * z, g * hx + a * h],
        hessian: [
            rate * rate * c1,
            rate * c2,
            z * c2,
            rate * c3,
            z * c3,
            be * hx * hx + g * hxx + 2.0 * a * hx,
        ],
    })
}

/// Sum over identically weighted rows (`a`, `b`), or `None` when one is outside the support. Summed in
/// blocks, so that rounding errors do not grow with the number of rows.
pub fn sum(xs: &[f64], at: &At, a: f64, b: f64) -> Option<Terms> {
    // The support is checked at the extremes once per block, by the row itself.
    let mut total = Terms::default();
    for block in xs.chunks(256) {
        let mut part = Terms::default();
        for &x in block {
            part.add(&row(x, at, a, b)?);
        }
        total.add(&part);
    }
    if total.value.is_finite() { Some(total) } else { None }
}

/// [`sum`] of rows that represent `weights` values each, with a and b of 1: a grouped GEV sample.
pub(crate) fn sum_weighted(xs: &[f64], weights: &[f64], at: &At) -> Option<Terms> {
    let mut total = Terms::default();
    for (block, weights) in xs.chunks(256).zip(weights.chunks(256)) {
        let mut part = Terms::default();
        for (&x, &weight) in block.iter().zip(weights) {
            part.add_times(weight, &row(x, at, 1.0, 1.0)?);
        }
        total.add(&part);
    }
    if total.value.is_finite() { Some(total) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_meets_the_closed_form() {
        for q in [0.02999, -0.02999, 0.01, -0.01] {
            let (l, l1, l2) = log_ratio(q);
            let exact = f64::ln_1p(q) / q;
            let p = 1.0 / (1.0 + q);
            let d1 = (p - exact) / q;
            assert!((l - exact).abs() < 1e-15);
            assert!((l1 - d1).abs() < 1e-13);
            assert!((l2 - (-2.0 * d1 - p * p) / q).abs() < 1e-10);
        }
        assert_eq!(log_ratio(0.0), (1.0, -0.5, 2.0 / 3.0));
    }

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
                let (quick, slow) = (standard_quantile(c, shape), box_cox(c, shape).0);
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

    #[test]
    fn analytic_derivatives_match_differences() {
        for (a, b) in [(1.0, 1.0), (1.0, 0.0), (0.0, 3.0)] {
            for shape in [-0.4, -1e-3, 0.0, 1e-5, 0.02, 0.7] {
                let at = [0.3, -0.2, shape];
                let f = |t: [f64; 3]| row(1.1, &At::new(t[0], t[1], t[2]), a, b).unwrap();
                let terms = f(at);
                let step = 1e-5;
                for i in 0..3 {
                    let (mut up, mut down) = (at, at);
                    up[i] += step;
                    down[i] -= step;
                    let slope = (f(up).value - f(down).value) / (2.0 * step);
                    assert!((slope - terms.gradient[i]).abs() < 1e-8, "{a} {b} {shape} {i}");
                    for j in 0..3 {
                        let second = (f(up).gradient[j] - f(down).gradient[j]) / (2.0 * step);
                        assert!((second - terms.matrix()[i * 3 + j]).abs() < 1e-8, "{a} {b} {shape} {i}{j}");
                    }
                }
            }
        }
    }
}
