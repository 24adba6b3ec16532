//! Maximises the likelihood of a regression with one quantity held: a coefficient, or a return level at given
//! covariates.

use super::{Part, Regression};
use crate::interval_end::{Path, RootDeviance};
use crate::kernel;
use crate::newton::{Newton, Objective};
use crate::surface::FAR_LEVEL;

/// The quantity that is held.
pub(super) enum HeldQuantity {
    /// A coefficient, by its index.
    Coefficient(usize),
    /// A return level (of a distribution above a threshold: the logarithm of its excess).
    Level(HeldLevel),
}

/// A return level at given covariates.
pub(super) struct HeldLevel {
    /// The factor of each coefficient: 1 for an intercept, otherwise the standardised covariate.
    pub weights: Vec<f64>,
    /// The Gumbel level of the period, or the exponent of an excess.
    pub c: f64,
    /// The intercept that the level determines: of the location, or above a threshold of ln scale.
    pub intercept: usize,
}

/// A quantity, and its first two derivatives by the coefficients.
struct Derivatives {
    value: f64,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl HeldQuantity {
    /// The coefficient that follows from the held quantity and the others.
    fn dependent(&self) -> usize {
        match self {
            HeldQuantity::Coefficient(index) => *index,
            HeldQuantity::Level(level) => level.intercept,
        }
    }
}

impl HeldLevel {
    /// Location, ln scale and shape at the covariates.
    pub fn distribution(&self, regression: &Regression, at: &[f64]) -> [f64; 3] {
        let mut distribution = [0.0; 3];
        for ((value, weight), (part, _)) in at.iter().zip(&self.weights).zip(&regression.design) {
            distribution[*part as usize] += value * weight;
        }
        distribution
    }

    /// The level at these coefficients and its derivatives by all of them.
    fn of(&self, regression: &Regression, at: &[f64]) -> Derivatives {
        let [m, phi, shape] = self.distribution(regression, at);
        let (b, b1, b2) = kernel::box_cox(self.c, shape);
        let scale = phi.exp();
        // By (location, ln scale, shape).
        let (value, d, dd) = if regression.above_threshold() {
            let ratio = b1 / b;
            (phi + b.ln(), [0.0, 1.0, ratio], [[0.0; 3], [0.0; 3], [0.0, 0.0, b2 / b - ratio * ratio]])
        } else {
            let mixed = scale * b1;
            let second = [[0.0; 3], [0.0, scale * b, mixed], [0.0, mixed, scale * b2]];
            (m + scale * b, [1.0, scale * b, scale * b1], second)
        };
        let p = at.len();
        let part = |i: usize| regression.design[i].0 as usize;
        let first = (0..p).map(|i| d[part(i)] * self.weights[i]).collect();
        let second = (0..p * p)
            .map(|k| dd[part(k / p)][part(k % p)] * self.weights[k / p] * self.weights[k % p])
            .collect();
        Derivatives { value, first, second }
    }
}

impl HeldQuantity {
    /// Value and gradient at these coefficients.
    pub fn at(&self, regression: &Regression, at: &[f64]) -> (f64, Vec<f64>) {
        match self {
            HeldQuantity::Coefficient(index) => {
                (at[*index], (0..at.len()).map(|i| f64::from(u8::from(i == *index))).collect())
            }
            HeldQuantity::Level(level) => {
                let found = level.of(regression, at);
                (found.value, found.first)
            }
        }
    }
}

/// The other coefficients with the quantity held at `value`.
struct Others<'a> {
    regression: &'a Regression,
    quantity: &'a HeldQuantity,
    value: f64,
}

impl Others<'_> {
    /// All coefficients.
    fn full(&self, others: &[f64]) -> Vec<f64> {
        let dependent = self.quantity.dependent();
        let mut full = others.to_vec();
        full.insert(dependent, 0.0);
        full[dependent] = match self.quantity {
            HeldQuantity::Coefficient(_) => self.value,
            // The level is linear in its intercept.
            HeldQuantity::Level(level) => self.value - level.of(self.regression, &full).value,
        };
        full
    }
}

impl Objective for Others<'_> {
    fn size(&self) -> usize {
        self.regression.size() - 1
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        let p = self.regression.size();
        let e = self.quantity.dependent();
        let full = self.full(at);
        let (mut g, mut h) = (vec![0.0; p], vec![0.0; p * p]);
        let value = self.regression.evaluate(&full, &mut g, &mut h);
        // The dependent coefficient changes with the level.
        let (first, second) = match self.quantity {
            HeldQuantity::Coefficient(_) => (vec![0.0; p], vec![0.0; p * p]),
            HeldQuantity::Level(level) => {
                let found = level.of(self.regression, &full);
                (found.first, found.second)
            }
        };
        let kept: Vec<usize> = (0..p).filter(|k| *k != e).collect();
        for (i, &k) in kept.iter().enumerate() {
            gradient[i] = g[k] - g[e] * first[k];
            for (j, &l) in kept.iter().enumerate() {
                hessian[i * (p - 1) + j] = h[k * p + l] - h[k * p + e] * first[l] - h[l * p + e] * first[k]
                    + h[e * p + e] * first[k] * first[l]
                    - g[e] * second[k * p + l];
            }
        }
        value
    }
}

/// A regression with a quantity held, and the best coefficients found so far.
pub(super) struct HeldRegression<'a> {
    pub regression: &'a Regression,
    pub quantity: &'a HeldQuantity,
    /// Least value of the objective.
    pub minimum: f64,
    pub path: Path,
    pub newton: Newton,
}

impl HeldRegression<'_> {
    /// Newton over all coefficients from near `from`: the root deviance, if it converges.
    fn climb(&mut self, from: &[f64], value: f64) -> Option<(f64, Vec<f64>)> {
        let others = Others { regression: self.regression, quantity: self.quantity, value };
        let mut start = self.moved(from, value);
        start.remove(self.quantity.dependent());
        let outcome = self.newton.minimize(&others, &start, 1e-11 * self.regression.y.len() as f64, 1);
        let root = (2.0 * (outcome.value - self.minimum)).max(0.0).sqrt();
        outcome.converged.then(|| (root, others.full(&self.newton.at)))
    }

    /// Coefficients near `from` at which a far level is `value`: location and scale are known well, so the
    /// intercept of the shape changes.
    fn moved(&self, from: &[f64], value: f64) -> Vec<f64> {
        let mut moved = from.to_vec();
        let HeldQuantity::Level(level) = self.quantity else { return moved };
        let [m, phi, shape] = level.distribution(self.regression, from);
        let standard = if self.regression.above_threshold() { value } else { (value - m).max(1e-300).ln() };
        let intercept =
            self.regression.design.iter().position(|(part, column)| *part == Part::Shape && column.is_none());
        let wanted = kernel::shape_of_quantile(level.c, (standard - phi).exp());
        if let (true, Some(at), Some(wanted)) = (level.c > FAR_LEVEL, intercept, wanted) {
            moved[at] += wanted - shape;
        }
        moved
    }

    /// Widens the scale of a start until all values are in the support.
    fn repaired(&self, mut from: Vec<f64>, value: f64) -> Vec<f64> {
        let p = from.len();
        let (mut g, mut h) = (vec![0.0; p - 1], vec![0.0; (p - 1) * (p - 1)]);
        let others = Others { regression: self.regression, quantity: self.quantity, value };
        let intercept = |wanted: Part| {
            self.regression.design.iter().position(|(part, column)| *part == wanted && column.is_none())
        };
        for _ in 0..40 {
            let mut start = self.moved(&from, value);
            start.remove(self.quantity.dependent());
            if others.evaluate(&start, &mut g, &mut h).is_finite() {
                break;
            }
            match (intercept(Part::LogScale), intercept(Part::Shape)) {
                (Some(at), _) if at != self.quantity.dependent() => from[at] += 0.25,
                (_, Some(at)) => from[at] = 0.7 * from[at] + 0.03,
                (_, None) => break,
            }
        }
        from
    }
}

impl RootDeviance for HeldRegression<'_> {
    fn along(&mut self, value: f64) -> Option<f64> {
        let (root, distribution) = self.climb(&self.path.predicted(value), value)?;
        self.path.add(value, &distribution);
        Some(root)
    }

    fn afresh(&mut self, value: f64) -> Option<f64> {
        let mut starts = vec![self.path.peak().to_vec(), self.path.on_tangent(value)];
        let shape = self.regression.design.iter().position(|(part, c)| *part == Part::Shape && c.is_none());
        for wanted in [-0.15, 0.05, 0.35] {
            let mut other = self.path.peak().to_vec();
            if let Some(at) = shape {
                other[at] = wanted;
                starts.push(other);
            }
        }
        let found = starts.into_iter().filter_map(|start| {
            let start = self.repaired(start, value);
            self.climb(&start, value).map(|found| found.0)
        });
        found.reduce(f64::min)
    }
}
