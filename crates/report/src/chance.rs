//! How far do counts and order statistics stray by chance? The two distribution functions this needs.

/// Probability that a chi-square variable of `degrees` exceeds `value`: the upper regularised incomplete
/// gamma function Q(degrees/2, value/2), by its series or continued fraction (Abramowitz, Stegun 6.5.29, 6.5.31).
pub(crate) fn chi_square_survival(value: f64, degrees: f64) -> f64 {
    let (a, x) = (degrees / 2.0, value / 2.0);
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - libm::lgamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for k in 1..10_000 {
            term *= x / (a + f64::from(k));
            sum += term;
            if term < sum * 1e-16 {
                break;
            }
        }
        return (1.0 - front * sum).clamp(0.0, 1.0);
    }
    front * lentz(x + 1.0 - a, |k| (-k * (k - a), x + 1.0 - a + 2.0 * k)).recip()
}

/// Quantile `p` of the i-th smallest of `n` uniform values, which is Beta(i, n + 1 - i).
///
/// Exact by bisection where few values lie on one side; a normal approximation, good to 1e-3 of the
/// spread, where more than 500 lie on both.
pub(crate) fn order_statistic(p: f64, i: f64, n: f64) -> f64 {
    let rest = n + 1.0 - i;
    if i > 500.0 && rest > 500.0 {
        let mean = i / (n + 1.0);
        let deviation = (mean * (1.0 - mean) / (n + 2.0)).sqrt();
        return mean + tail::special::normal_quantile(p) * deviation;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if beta_probability(middle, i, rest) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Regularised incomplete beta function I_x(a, b) by its continued fraction (Abramowitz, Stegun 26.5.8).
fn beta_probability(x: f64, a: f64, b: f64) -> f64 {
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_probability(1.0 - x, b, a);
    }
    let front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (-x).ln_1p();
    let fraction = lentz(1.0, |k| {
        let m = (k / 2.0).floor();
        let numerator = if k % 2.0 == 0.0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        (numerator, 1.0)
    });
    front.exp() / (a * fraction)
}

/// b0 + a1/(b1 + a2/(b2 + …)) by the modified Lentz method (Thompson, Barnett 1986).
fn lentz(first: f64, term: impl Fn(f64) -> (f64, f64)) -> f64 {
    const TINY: f64 = 1e-300;
    let nonzero = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut value = nonzero(first);
    let (mut c, mut d) = (value, 0.0);
    for k in 1..100_000 {
        let (a, b) = term(f64::from(k));
        d = 1.0 / nonzero(b + a * d);
        c = nonzero(b + a / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chi_square_agrees_with_tables() {
        // Upper 5 % points of 1, 15 and 100 degrees of freedom.
        for (value, degrees) in [(3.841_458_8, 1.0), (24.995_790, 15.0), (124.342_11, 100.0)] {
            assert!((chi_square_survival(value, degrees) - 0.05).abs() < 1e-7, "{degrees}");
        }
        assert!((chi_square_survival(2.0, 2.0) - (-1.0f64).exp()).abs() < 1e-14);
    }

    #[test]
    fn the_largest_of_n_follows_its_closed_form() {
        for n in [1.0, 10.0, 400.0, 100_000.0] {
            let exact = 0.975f64.powf(1.0 / n);
            assert!((order_statistic(0.975, n, n) - exact).abs() < 1e-9, "{n}");
        }
    }

    #[test]
    fn the_approximation_joins_the_exact_quantile() {
        let exact = order_statistic(0.025, 500.0, 1100.0);
        let approximate = order_statistic(0.025, 501.0, 1100.0);
        assert!((approximate - exact - 1.0 / 1101.0).abs() < 1e-4);
    }
}
