//! A slow profile likelihood by grids and golden-section search that shares no code with the crate.

/// (exp(shape c) - 1) / shape.
pub fn standard_quantile(c: f64, shape: f64) -> f64 {
    if (shape * c).abs() < 1e-9 { c } else { (shape * c).exp_m1() / shape }
}

pub fn gumbel_level(period: f64) -> f64 {
    -(-(-1.0 / period).ln_1p()).ln()
}

/// The quantity that a profile holds fixed.
#[derive(Clone, Copy)]
pub enum SlowTarget {
    Location,
    Scale,
    /// The level at this Gumbel quantile.
    Level(f64),
}

/// A likelihood of rows: a value, the weight of its log-density, and the number of blocks without a value
/// above it.
pub struct SlowRows(pub Vec<[f64; 3]>);

impl SlowRows {
    pub fn maxima(values: &[f64]) -> SlowRows {
        SlowRows(values.iter().map(|x| [*x, 1.0, 1.0]).collect())
    }

    /// Negative log-likelihood, infinite outside the support.
    pub fn height(&self, m: f64, scale: f64, shape: f64) -> f64 {
        let ln_scale = scale.ln();
        let mut sum = 0.0;
        for [x, density, blocks] in &self.0 {
            let z = (x - m) / scale;
            let w = 1.0 + shape * z;
            if w <= 0.0 {
                return f64::INFINITY;
            }
            let h = if shape.abs() < 1e-9 { z } else { w.ln() / shape };
            sum += density * (ln_scale + (1.0 + shape) * h);
            if *blocks > 0.0 {
                sum += blocks * (-h).exp();
            }
        }
        sum
    }

    /// The minimum over shapes from -1 to 5 with one quantity fixed at `value`.
    pub fn held(&self, what: SlowTarget, value: f64) -> f64 {
        let mut sorted: Vec<f64> = self.0.iter().map(|row| row[0]).collect();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
        let spread = sorted[sorted.len() * 3 / 4] - sorted[sorted.len() / 4];
        let of_shape = |shape: f64| match what {
            SlowTarget::Scale => {
                // Locations whose support contains all values.
                let room = value / shape.abs().max(1e-6);
                let from = if shape < 0.0 { high - room } else { low - 6.0 * spread };
                let to = if shape < 0.0 { high + 3.0 * spread } else { (low + room).min(high + spread) };
                let slack = 1e-12 * (to - from).abs();
                least(
                    |m| self.height(m, value, shape),
                    (from + slack).max(low - 9.0 * spread),
                    to - slack,
                    40,
                )
            }
            SlowTarget::Level(c) if c > 0.5 => {
                // Locations for which the support contains all values.
                let b = standard_quantile(c, shape);
                let ratio = 1.0 / (b * shape.abs().max(1e-9));
                let end = if shape < 0.0 {
                    (value * ratio - high) / (ratio - 1.0).max(1e-12)
                } else {
                    (low + value * ratio) / (1.0 + ratio)
                };
                let from = low - 4.0 * spread;
                let to = end.min(high).min(value) - 1e-12 * spread;
                least(|m| self.height(m, (value - m) / b, shape), from.min(to - spread), to, 20)
            }
            SlowTarget::Location | SlowTarget::Level(_) => {
                let b = if let SlowTarget::Level(c) = what { standard_quantile(c, shape) } else { 0.0 };
                // Scales whose support contains all values: 1 + shape (x - value + scale b) / scale > 0.
                let inner = 1.0 + shape * b;
                let needed = [low, high].iter().map(|x| shape * (value - x) / inner).fold(0.0, f64::max);
                let from = (needed * (1.0 + 1e-12)).max(1e-2 * spread).ln();
                least(|phi| self.height(value - phi.exp() * b, phi.exp(), shape), from, from + 8.0, 20)
            }
        };
        // Denser near -1, where the likelihood has the highest curvature.
        least(|t| of_shape(-1.0 + 6.0 * t * t), 0.0, 1.0, 40)
    }
}

/// The minimum of `f` between `low` and `high`: a grid of `steps`, then golden-section search around its
/// minimum.
pub fn least(f: impl Fn(f64) -> f64, low: f64, high: f64, steps: usize) -> f64 {
    let width = (high - low) / steps as f64;
    let (mut best, mut at) = (f64::INFINITY, low);
    for i in 0..=steps {
        let here = f(low + width * i as f64);
        if here < best {
            (best, at) = (here, low + width * i as f64);
        }
    }
    let golden = 0.618_033_988_749_894_9;
    let (mut a, mut b) = ((at - width).max(low), (at + width).min(high));
    let (mut x, mut y) = (b - golden * (b - a), a + golden * (b - a));
    let (mut fx, mut fy) = (f(x), f(y));
    for _ in 0..28 {
        if fx <= fy {
            (b, y, fy) = (y, x, fx);
            x = b - golden * (b - a);
            fx = f(x);
        } else {
            (a, x, fx) = (x, y, fy);
            y = a + golden * (b - a);
            fy = f(y);
        }
    }
    best.min(fx).min(fy)
}
