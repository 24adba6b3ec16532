//! Minimises objectives with analytic derivatives: Newton with a Levenberg shift.

use crate::linalg;

/// Something to minimise: a negative log-likelihood in standardised parameters.
pub trait Objective {
    /// Number of parameters.
    fn size(&self) -> usize;

    /// Value at `at`, with gradient and full row-major Hessian written out; `+inf` where infeasible (the
    /// derivatives are then ignored).
    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64;

    /// Whether a search at `at` that wants to go `step` on has reached a bound beyond which it cannot go, so that it has
    /// no maximum inside.
    fn is_at_bound(&self, _at: &[f64], _step: &[f64]) -> bool {
        false
    }
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Value of the objective.
    pub value: f64,
    /// Newton decrement gᵀ H⁻¹ g, twice a bound on the remaining improvement.
    pub decrement: f64,
    /// Iterations used.
    pub iterations: usize,
    /// Positive definite Hessian and a negligible decrement.
    pub converged: bool,
    /// Whether it ended at a bound ([`Objective::is_at_bound`]).
    pub at_bound: bool,
}

/// Steps that were cut to less than this, in standardised parameters, lead nowhere.
const SHORTEST_STEP: f64 = 1e-9;

/// Work space of a search, reused so that refits do not allocate.
#[derive(Debug, Clone)]
pub struct Newton {
    size: usize,
    /// The current point (set by [`Newton::minimize`]).
    pub at: Vec<f64>,
    /// Gradient there.
    pub gradient: Vec<f64>,
    /// Hessian there, full, row-major.
    pub hessian: Vec<f64>,
    trial: Vec<f64>,
    trial_gradient: Vec<f64>,
    trial_hessian: Vec<f64>,
    factor: Vec<f64>,
    step: Vec<f64>,
}

impl Newton {
    /// Work space for `size` parameters.
    pub fn new(size: usize) -> Self {
        Newton {
            size,
            at: vec![0.0; size],
            gradient: vec![0.0; size],
            hessian: vec![0.0; size * size],
            trial: vec![0.0; size],
            trial_gradient: vec![0.0; size],
            trial_hessian: vec![0.0; size * size],
            factor: vec![0.0; size * size],
            step: vec![0.0; size],
        }
    }

    /// Minimise from `start`. `tolerance` bounds the decrement (1e-12 times the number of values is right
    /// for a likelihood); `polish` further full steps follow.
    pub fn minimize<O: Objective + ?Sized>(
        &mut self,
        objective: &O,
        start: &[f64],
        tolerance: f64,
        polish: usize,
    ) -> Outcome {
        let n = self.size;
        self.at.copy_from_slice(start);
        let mut value = objective.evaluate(&self.at, &mut self.gradient, &mut self.hessian);
        let mut outcome =
            Outcome { value, decrement: f64::INFINITY, iterations: 0, converged: false, at_bound: false };
        if !value.is_finite() {
            return outcome;
        }
        let mut polished = 0;
        // The longest step that is tried: after one that had to be cut often, not much more than what was left of it.
        let mut reach = 1.0f64;
        for iteration in 1..=100 {
            outcome.iterations = iteration;
            let definite = self.solve(n);
            let decrement: f64 = -self.gradient.iter().zip(&self.step).map(|(g, s)| g * s).sum::<f64>();
            if definite {
                outcome.decrement = decrement;
                if decrement < tolerance {
                    outcome.converged = true;
                    if polished == polish || decrement < 1e-26 * (1.0 + value.abs()) {
                        break;
                    }
                    polished += 1;
                }
            }
            let longest = self.step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
            if !longest.is_finite() {
                break;
            }
            if objective.is_at_bound(&self.at, &self.step) {
                outcome.at_bound = !outcome.converged;
                break;
            }
            let mut fraction = if longest > reach { reach / longest } else { 1.0 };
            let slack =
                4.0 * f64::EPSILON * value.abs().max(1.0) * if outcome.converged { 64.0 } else { 1.0 };
            let (mut accepted, mut cuts) = (false, 0);
            for _ in 0..50 {
                for i in 0..n {
                    self.trial[i] = self.at[i] + fraction * self.step[i];
                }
                let there =
                    objective.evaluate(&self.trial, &mut self.trial_gradient, &mut self.trial_hessian);
                if there <= value + slack {
                    accepted = true;
                    value = there;
                    std::mem::swap(&mut self.at, &mut self.trial);
                    std::mem::swap(&mut self.gradient, &mut self.trial_gradient);
                    std::mem::swap(&mut self.hessian, &mut self.trial_hessian);
                    break;
                }
                if outcome.converged {
                    break;
                }
                fraction *= 0.5;
                cuts += 1;
            }
            outcome.value = value;
            // In front of a wall that it cannot reach, a search would go on for ever.
            if !accepted || (cuts > 0 && fraction * longest < SHORTEST_STEP) {
                break;
            }
            reach = if cuts >= 3 { 4.0 * fraction * longest } else { (16.0 * reach).min(1.0) };
        }
        outcome
    }

    /// The point to which the last step of a search that converged would have gone: the error there is about the square
    /// of that of the decrement.
    pub fn beyond(&self) -> impl Iterator<Item = f64> + '_ {
        self.at.iter().zip(&self.step).map(|(at, step)| at + step)
    }

    /// Computes the Newton step into `self.step`, shifted until it descends; returns whether no shift was
    /// needed.
    fn solve(&mut self, n: usize) -> bool {
        let mut shift = 0.0;
        for attempt in 0..40 {
            self.factor.copy_from_slice(&self.hessian);
            for i in 0..n {
                self.factor[i * n + i] += shift;
            }
            if linalg::cholesky(&mut self.factor, n) {
                for i in 0..n {
                    self.step[i] = -self.gradient[i];
                }
                linalg::cholesky_solve(&self.factor, n, &mut self.step);
                return attempt == 0;
            }
            if shift == 0.0 {
                let largest = (0..n).map(|i| self.hessian[i * n + i].abs()).fold(0.0, f64::max);
                shift = 1e-3 * largest.max(1e-300);
            } else {
                shift *= 4.0;
            }
        }
        for i in 0..n {
            self.step[i] = -self.gradient[i];
        }
        false
    }
}

/// Root of a continuous function between `a` and `b` whose values `fa`, `fb` differ in sign
/// (Brent 1973, zeroin), to `tolerance` in the argument.
pub fn brent_root(
    mut f: impl FnMut(f64) -> f64,
    (mut a, mut fa): (f64, f64),
    (mut b, mut fb): (f64, f64),
    tolerance: f64,
) -> f64 {
    let (mut c, mut fc) = (a, fa);
    let mut d = b - a;
    let mut e = d;
    for _ in 0..100 {
        if fc.abs() < fb.abs() {
            (a, b, c) = (b, c, b);
            (fa, fb, fc) = (fb, fc, fb);
        }
        let tol = 2.0 * f64::EPSILON * b.abs() + 0.5 * tolerance;
        let m = 0.5 * (c - b);
        if m.abs() <= tol || fb == 0.0 {
            return b;
        }
        if e.abs() < tol || fa.abs() <= fb.abs() {
            d = m;
            e = m;
        } else {
            let s = fb / fa;
            let (mut p, mut q);
            if a == c {
                p = 2.0 * m * s;
                q = 1.0 - s;
            } else {
                let qq = fa / fc;
                let r = fb / fc;
                p = s * (2.0 * m * qq * (qq - r) - (b - a) * (r - 1.0));
                q = (qq - 1.0) * (r - 1.0) * (s - 1.0);
            }
            if p > 0.0 {
                q = -q;
            } else {
                p = -p;
            }
            if 2.0 * p < (3.0 * m * q - (tol * q).abs()).min((e * q).abs()) {
                e = d;
                d = p / q;
            } else {
                d = m;
                e = m;
            }
        }
        a = b;
        fa = fb;
        b += if d.abs() > tol { d } else { tol.copysign(m) };
        fb = f(b);
        if (fb > 0.0) == (fc > 0.0) {
            c = a;
            fc = fa;
            d = b - a;
            e = d;
        }
    }
    b
}

/// Minimum of a unimodal function between `a` and `b` (Brent 1973, localmin): argument and value.
pub fn brent_minimum(mut f: impl FnMut(f64) -> f64, mut a: f64, mut b: f64, tolerance: f64) -> (f64, f64) {
    let golden = 0.5 * (3.0 - 5f64.sqrt());
    let mut x = a + golden * (b - a);
    let (mut w, mut v) = (x, x);
    let mut fx = f(x);
    let (mut fw, mut fv) = (fx, fx);
    let (mut d, mut e) = (0.0f64, 0.0f64);
    for _ in 0..200 {
        let m = 0.5 * (a + b);
        let tol = 1e-12 * x.abs() + tolerance;
        if (x - m).abs() <= 2.0 * tol - 0.5 * (b - a) {
            break;
        }
        let mut parabolic = false;
        if e.abs() > tol {
            let r = (x - w) * (fx - fv);
            let mut q = (x - v) * (fx - fw);
            let mut p = (x - v) * q - (x - w) * r;
            q = 2.0 * (q - r);
            if q > 0.0 {
                p = -p;
            } else {
                q = -q;
            }
            let last = e;
            e = d;
            if p.abs() < (0.5 * q * last).abs() && p > q * (a - x) && p < q * (b - x) {
                d = p / q;
                let u = x + d;
                if u - a < 2.0 * tol || b - u < 2.0 * tol {
                    d = tol.copysign(m - x);
                }
                parabolic = true;
            }
        }
        if !parabolic {
            e = if x < m { b - x } else { a - x };
            d = golden * e;
        }
        let u = if d.abs() >= tol { x + d } else { x + tol.copysign(d) };
        let fu = f(u);
        if fu <= fx {
            if u < x {
                b = x;
            } else {
                a = x;
            }
            (v, fv) = (w, fw);
            (w, fw) = (x, fx);
            (x, fx) = (u, fu);
        } else {
            if u < x {
                a = u;
            } else {
                b = u;
            }
            if fu <= fw || w == x {
                (v, fv) = (w, fw);
                (w, fw) = (u, fu);
            } else if fu <= fv || v == x || v == w {
                (v, fv) = (u, fu);
            }
        }
    }
    (x, fx)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_found_to_the_tolerance() {
        let f = |x: f64| x.cos() - x;
        let root = brent_root(f, (0.0, f(0.0)), (1.0, f(1.0)), 1e-14);
        assert!((root - 0.739_085_133_215_160_6).abs() < 1e-14);
    }

    #[test]
    fn a_minimum_is_found() {
        let (x, _) = brent_minimum(|x| (x - 2.0).powi(2) + 1.0, -10.0, 50.0, 1e-9);
        assert!((x - 2.0).abs() < 1e-7);
    }

    struct Rosenbrock;
    impl Objective for Rosenbrock {
        fn size(&self) -> usize {
            2
        }
        fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
            let (x, y) = (at[0], at[1]);
            let r = y - x * x;
            gradient[0] = -400.0 * x * r - 2.0 * (1.0 - x);
            gradient[1] = 200.0 * r;
            hessian.copy_from_slice(&[-400.0 * r + 800.0 * x * x + 2.0, -400.0 * x, -400.0 * x, 200.0]);
            100.0 * r * r + (1.0 - x).powi(2)
        }
    }

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        let mut newton = Newton::new(2);
        let outcome = newton.minimize(&Rosenbrock, &[-1.2, 1.0], 1e-12, 2);
        assert!(outcome.converged);
        assert!((newton.at[0] - 1.0).abs() < 1e-12 && (newton.at[1] - 1.0).abs() < 1e-12);
    }
}
