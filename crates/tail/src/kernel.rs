//! Computes the likelihood kernel of all extreme-value models, with analytic gradient and Hessian.
//!
//! With `z = (x - location) / scale`, `w = 1 + shape z` and `h = ln(w) / shape`, the negative
//! log-likelihood of a row is `a (ln scale + (1 + shape) h) + b exp(-h)`. The weights make the model:
//! `a = b = 1` is the GEV (and Gumbel at shape 0), `b = 0` the GPD, `b = 1` on the smallest value alone the
//! r-largest model, and `a = 0`, `b = years` at the threshold the point process (Coles 2001, 3.3, 4.3, 3.5,
//! 7.5). Derivatives are taken in (location, ln scale, shape). Nothing branches on shape = 0: `h` and its
//! derivatives are `z L(q)`, `z² L'(q)`, `z³ L''(q)` with `q = shape z` and `L(q) = ln(1 + q) / q`.

use lanes::{Arithmetic, LaneWork, System, widest};

pub(crate) use crate::box_cox::standard_quantile;
pub use crate::box_cox::{box_cox, shape_of_quantile};

/// Rows of a block: what is computed for them lies in the first cache.
const BLOCK: usize = 64;

/// Smaller `q` are in reach of the series.
const NEAR: f64 = 0.03;

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

/// `L(q)` and its first two derivatives.
type LogRatio = (f64, f64, f64);

/// `L(q)` near 0, with `p = 1 / (1 + q)`: `L''` by its alternating series, whose first omitted term is below 1e-16 of the
/// sum; then the others by `2 L' + q L'' = -p²` and `L + q L' = p`, which lose no digits where q is small.
#[inline(always)]
fn log_ratio_series<A: Arithmetic>((q, p): (f64, f64)) -> LogRatio {
    let l2 = lanes::polynomial::<A, 11>(q, SERIES_2);
    let l1 = -0.5 * A::mul_add(q, l2, p * p);
    (A::mul_add(-q, l1, p), l1, l2)
}

/// `L(q)` from `p = 1 / (1 + q)`, `r = 1 / q` and `ln(1 + q)`.
#[inline(always)]
fn closed_log_ratio((p, r): (f64, f64), ln: f64) -> LogRatio {
    let l = ln * r;
    let l1 = (p - l) * r;
    (l, l1, (-2.0 * l1 - p * p) * r)
}

/// The series where `q` is in its reach.
#[inline(always)]
fn nearer(q: f64, series: LogRatio, closed: LogRatio) -> LogRatio {
    let near = q.abs() < NEAR;
    let choose = |series: f64, closed: f64| if near { series } else { closed };
    (choose(series.0, closed.0), choose(series.1, closed.1), choose(series.2, closed.2))
}

/// `L(q) = ln(1 + q) / q` and its first two derivatives, for `q > -1`.
#[inline(always)]
pub fn log_ratio(q: f64) -> (f64, f64, f64) {
    let p = 1.0 / (1.0 + q);
    if q.abs() < NEAR {
        log_ratio_series::<System>((q, p))
    } else {
        closed_log_ratio((p, 1.0 / q), q.ln_1p())
    }
}

/// `h = ln(1 + shape z) / shape`, or `z` at shape 0; `None` outside the support.
#[inline]
pub fn h(z: f64, shape: f64) -> Option<f64> {
    let q = shape * z;
    if q > -1.0 { Some(z * log_ratio(q).0) } else { None }
}

/// [`h`] where `shape z > -1`, without a branch.
#[inline(always)]
pub(crate) fn h_in_support<A: Arithmetic>(z: f64, shape: f64) -> f64 {
    let q = shape * z;
    let closed = lanes::ln_1p::<A>(q) / q;
    z * if q.abs() < NEAR { lanes::polynomial::<A, 11>(q, SERIES) } else { closed }
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
    let z = (x - at.location) * at.rate;
    let q = at.shape * z;
    let w = 1.0 + q;
    (w > 0.0 || w.is_nan()).then(|| {
        let (l, l1, l2) = log_ratio(q);
        let h = z * l;
        let intensity = if b == 0.0 { 0.0 } else { (-h).exp() };
        KernelRow { z, p: 1.0 / w, h, l1, l2, intensity }.terms(at, (a, b))
    })
}

/// Sum over identically weighted rows (`a`, `b`), or `None` when one is outside the support. Summed in
/// blocks, so that rounding errors do not grow with the number of rows.
pub fn sum(xs: &[f64], at: &At, a: f64, b: f64) -> Option<Terms> {
    widest(SummedRows { xs, weights: &[], at, a, b })
}

/// [`sum`] of rows that represent `weights` values each, with a and b of 1: a grouped GEV sample.
pub(crate) fn sum_weighted(xs: &[f64], weights: &[f64], at: &At) -> Option<Terms> {
    widest(SummedRows { xs, weights, at, a: 1.0, b: 1.0 })
}

/// The rows of a sum.
struct SummedRows<'a> {
    xs: &'a [f64],
    /// How many values each stands for; empty for one each.
    weights: &'a [f64],
    at: &'a At,
    a: f64,
    b: f64,
}

/// Sums of value, gradient and Hessian, in that order: each of every eighth row.
type Sums = [[f64; LANES]; 10];

/// Two for each lane of the widest instructions: one is computed while the other is added.
const LANES: usize = 8;

/// Sums are moved to the total after so many blocks, so that rounding errors do not grow with the number of rows.
const BLOCKS_AT_ONCE: usize = 8;

impl LaneWork for SummedRows<'_> {
    type Output = Option<Terms>;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> Option<Terms> {
        let SummedRows { xs, weights, at, a, b } = self;
        let mut total = Terms::default();
        let mut sums: Sums = [[0.0; LANES]; 10];
        let (mut z, mut weight) = ([0.0; BLOCK], [1.0; BLOCK]);
        for (index, xs) in xs.chunks(BLOCK).enumerate() {
            if let Some(given) = weights.get(index * BLOCK..).filter(|given| !given.is_empty()) {
                weight.iter_mut().zip(given).for_each(|(own, given)| *own = *given);
            }
            z.iter_mut().zip(xs).for_each(|(z, x)| *z = (x - at.location) * at.rate);
            // Rows behind the last are at the location, which is always in the support, and weigh nothing.
            z[xs.len()..].fill(0.0);
            weight[xs.len()..].fill(0.0);
            if !add_block::<A>(&mut sums, (&z, &weight), at, (a, b)) {
                return None;
            }
            if index % BLOCKS_AT_ONCE == BLOCKS_AT_ONCE - 1 {
                total.add(&Terms::of_sums(&sums));
                sums = [[0.0; LANES]; 10];
            }
        }
        total.add(&Terms::of_sums(&sums));
        if total.value.is_finite() { Some(total) } else { None }
    }
}

/// Adds the terms of some rows, times their weights, as [`row`] has them; false where one is outside the support.
#[inline(always)]
fn add_block<A: Arithmetic>(
    sums: &mut Sums,
    (z, weight): (&[f64; BLOCK], &[f64; BLOCK]),
    at: &At,
    weights: (f64, f64),
) -> bool {
    let (mut ln, mut reciprocals) = ([0.0; BLOCK], [[0.0; BLOCK]; 2]);
    let [of_sum, of_q] = &mut reciprocals;
    let (mut outside, mut near) = (0, 0);
    for (((ln, p), r), z) in ln.iter_mut().zip(of_sum).zip(of_q).zip(z) {
        let q = at.shape * z;
        let sum = 1.0 + q;
        outside |= u64::from(sum <= 0.0);
        near |= u64::from(q.abs() < NEAR);
        // Division takes longest: one for both 1 / (1 + q) and 1 / q, where that is needed.
        let divisor = if q.abs() < NEAR { 1.0 } else { q };
        let both = 1.0 / (divisor * sum);
        (*p, *r) = (divisor * both, sum * both);
        *ln = lanes::ln_1p_with::<A>(q, *p);
    }
    if outside > 0 {
        return false;
    }
    // A loop of its own for each long chain of operations, so that those of several rows overlap. What is found replaces
    // what is not needed again.
    let [of_sum, of_q] = &mut reciprocals;
    let mut l2 = [0.0; BLOCK];
    for ((((ln, l2), p), r), z) in ln.iter_mut().zip(&mut l2).zip(&*of_sum).zip(&mut *of_q).zip(z) {
        let q = at.shape * z;
        let closed = closed_log_ratio((*p, *r), *ln);
        let ratio = if near > 0 { nearer(q, log_ratio_series::<A>((q, *p)), closed) } else { closed };
        (*ln, *r, *l2) = (z * ratio.0, ratio.1, ratio.2);
    }
    let (h, l1) = (&ln, &*of_q);
    let mut intensity = [0.0; BLOCK];
    if weights.1 != 0.0 {
        intensity.iter_mut().zip(h).for_each(|(intensity, h)| *intensity = A::exp(-h));
    }
    for from in (0..BLOCK).step_by(LANES) {
        for lane in 0..LANES {
            let at_row = from + lane;
            let row = KernelRow {
                z: z[at_row],
                p: of_sum[at_row],
                h: h[at_row],
                l1: l1[at_row],
                l2: l2[at_row],
                intensity: intensity[at_row],
            };
            let terms = row.terms(at, (weights.0 * weight[at_row], weights.1 * weight[at_row]));
            sums[0][lane] += terms.value;
            for (sum, term) in sums[1..4].iter_mut().zip(terms.gradient) {
                sum[lane] += term;
            }
            for (sum, term) in sums[4..].iter_mut().zip(terms.hessian) {
                sum[lane] += term;
            }
        }
    }
    true
}

/// A row in the support, and what its terms are made of.
struct KernelRow {
    z: f64,
    /// `1 / (1 + q)`.
    p: f64,
    h: f64,
    /// The first and second derivative of `L(q)`.
    l1: f64,
    l2: f64,
    /// `exp(-h)`.
    intensity: f64,
}

impl KernelRow {
    /// The terms, with the weights a and b.
    #[inline(always)]
    fn terms(&self, at: &At, (a, b): (f64, f64)) -> Terms {
        let &KernelRow { z, p, h, l1, l2, intensity } = self;
        let &At { log_scale, rate, shape, .. } = at;
        let z2 = z * z;
        let hx = z2 * l1;
        let hxx = z2 * z * l2;
        let be = b * intensity;
        let g = a * (1.0 + shape) - be;
        let gp = g * p;
        let p2 = p * p;
        let c1 = p2 * (be - shape * g);
        let c2 = p2 * (be * z + g);
        let c3 = gp * p * z - be * p * hx - a * p;
        Terms {
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
        }
    }
}

impl Terms {
    /// The sums of all lanes.
    #[inline(always)]
    fn of_sums(sums: &Sums) -> Terms {
        let of = |column: usize| sums[column].iter().sum();
        Terms {
            value: of(0),
            gradient: [of(1), of(2), of(3)],
            hessian: [of(4), of(5), of(6), of(7), of(8), of(9)],
        }
    }
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

    proptest::proptest! {
        #[test]
        fn a_sum_is_that_of_its_rows(
            xs in proptest::collection::vec(-3.0..30.0_f64, 0..200),
            shape in proptest::prop_oneof![-0.9..1.5_f64, -1e-3..1e-3_f64, proptest::strategy::Just(0.0)],
            weighted in proptest::bool::ANY,
            (a, b) in proptest::prop_oneof![
                proptest::strategy::Just((1.0, 1.0)),
                proptest::strategy::Just((1.0, 0.0)),
                proptest::strategy::Just((1.0, 0.3)),
            ],
        ) {
            let at = At::new(1.0, 0.7, shape);
            let weights: Vec<f64> = (0..xs.len()).map(|i| if weighted { (i % 3) as f64 } else { 1.0 }).collect();
            let (a, b) = if weighted { (1.0, 1.0) } else { (a, b) };
            let found = if weighted { sum_weighted(&xs, &weights, &at) } else { sum(&xs, &at, a, b) };
            let mut wanted = Some(Terms::default());
            let mut size = Terms::default();
            for (x, weight) in xs.iter().zip(&weights) {
                wanted = wanted.zip(row(*x, &at, a * weight, b * weight)).map(|(mut all, one)| {
                    all.add(&one);
                    size.add(&Terms {
                        value: one.value.abs(),
                        gradient: one.gradient.map(f64::abs),
                        hessian: one.hessian.map(f64::abs),
                    });
                    all
                });
            }
            let wanted = wanted.filter(|terms| terms.value.is_finite());
            proptest::prop_assert_eq!(found.is_some(), wanted.is_some());
            if let (Some(found), Some(wanted)) = (found, wanted) {
                let all = |terms: &Terms| [&[terms.value], &terms.gradient[..], &terms.hessian].concat();
                for ((found, wanted), size) in all(&found).into_iter().zip(all(&wanted)).zip(all(&size)) {
                    let unit = 1e-12 * size;
                    proptest::prop_assert!((found - wanted).abs() <= unit || !wanted.is_finite(), "{} {} {}", found, wanted, unit);
                }
            }
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
