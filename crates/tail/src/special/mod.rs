//! Computes special functions to (nearly) full double precision.

mod normal;

use std::f64::consts::PI;

pub use normal::{
    erf, erfc, normal_cdf, normal_pdf, normal_quantile, normal_two_sided, normal_upper_quantile,
};

/// ln √(2π).
pub const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_7;

/// Critical value of the chi-square distribution with one degree of freedom.
pub fn chi_square_1_quantile(level: f64) -> f64 {
    let z = normal_upper_quantile(0.5 * (1.0 - level));
    z * z
}

/// ln |Γ(x)|.
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// Digamma, the derivative of ln Γ, for x > 0: recurrence up to 12, then the asymptotic series.
pub fn digamma(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return f64::NAN;
    }
    let mut y = x;
    let mut sum = 0.0;
    while y < 12.0 {
        sum -= 1.0 / y;
        y += 1.0;
    }
    let r = 1.0 / (y * y);
    let tail = 1.0 / 132.0 - r * (691.0 / 32760.0 - r * (1.0 / 12.0));
    let series = r * (1.0 / 12.0 - r * (1.0 / 120.0 - r * (1.0 / 252.0 - r * (1.0 / 240.0 - r * tail))));
    sum + y.ln() - 0.5 / y - series
}

/// Trigamma, the second derivative of ln Γ, for x > 0.
pub fn trigamma(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return f64::NAN;
    }
    let mut y = x;
    let mut sum = 0.0;
    while y < 12.0 {
        sum += 1.0 / (y * y);
        y += 1.0;
    }
    let r = 1.0 / (y * y);
    let tail = 5.0 / 66.0 - r * (691.0 / 2730.0 - r * (7.0 / 6.0));
    let series = r * (1.0 / 6.0 - r * (1.0 / 30.0 - r * (1.0 / 42.0 - r * (1.0 / 30.0 - r * tail))));
    sum + (1.0 + 0.5 / y + series) / y
}

/// ln Γ(x + 1) less Stirling's formula: the error term of Loader 2000.
pub(crate) fn stirling_error(x: f64) -> f64 {
    if x < 16.0 {
        return libm::lgamma(x + 1.0) - (x + 0.5) * x.ln() + x - LN_SQRT_2PI;
    }
    let r = 1.0 / (x * x);
    (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - r * (1.0 / 1188.0))))) / x
}

/// x ln(x / m) + m - x without cancellation (Loader 2000).
fn deviance_part(x: f64, m: f64) -> f64 {
    let d = x - m;
    if d.abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() + m - x;
    }
    let v = d / (x + m);
    let mut sum = d * v;
    let mut term = 2.0 * x * v;
    for j in 1..200 {
        term *= v * v;
        let next = sum + term / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// ln of x^a e^-x / Γ(a + 1), for a > 0: accurate even for huge a.
pub(crate) fn ln_gamma_prefactor(a: f64, x: f64) -> f64 {
    -stirling_error(a) - deviance_part(a, x) - 0.5 * a.ln() - LN_SQRT_2PI
}

/// x^a e^-x / Γ(a + 1), for a > 0.
fn gamma_prefactor(a: f64, x: f64) -> f64 {
    (-stirling_error(a) - deviance_part(a, x)).exp() / (2.0 * PI * a).sqrt()
}

/// ln x less digamma, without cancellation for large x.
pub(crate) fn ln_minus_digamma(x: f64) -> f64 {
    if x < 12.0 {
        return x.ln() - digamma(x);
    }
    let r = 1.0 / (x * x);
    let tail = 1.0 / 132.0 - r * (691.0 / 32760.0 - r * (1.0 / 12.0));
    0.5 / x + r * (1.0 / 12.0 - r * (1.0 / 120.0 - r * (1.0 / 252.0 - r * (1.0 / 240.0 - r * tail))))
}

/// x^a (1-x)^b / B(a, b), for a, b > 0.
fn beta_prefactor(a: f64, b: f64, x: f64) -> f64 {
    let n = a + b;
    let exponent = stirling_error(n)
        - stirling_error(a)
        - stirling_error(b)
        - deviance_part(a, n * x)
        - deviance_part(b, n * (1.0 - x));
    exponent.exp() * (a * b / (2.0 * PI * n)).sqrt()
}

/// The regularised incomplete gamma functions (P, Q) of a > 0 at x >= 0, the smaller one to nearly full
/// relative precision: series below a + 1, continued fraction above (Gautschi 1979).
pub fn incomplete_gamma(a: f64, x: f64) -> (f64, f64) {
    if a.is_nan() || a <= 0.0 || x.is_nan() || x < 0.0 {
        return (f64::NAN, f64::NAN);
    }
    if x == 0.0 {
        return (0.0, 1.0);
    }
    if x == f64::INFINITY {
        return (1.0, 0.0);
    }
    let front = gamma_prefactor(a, x);
    if x < a + 1.0 {
        let (mut sum, mut term, mut k) = (1.0, 1.0, a);
        while term > sum * 1e-17 {
            k += 1.0;
            term *= x / k;
            sum += term;
        }
        let p = (front * sum).min(1.0);
        return (p, 1.0 - p);
    }
    let guard = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let mut b = x + 1.0 - a;
    let mut c = 1e300;
    let mut d = 1.0 / guard(b);
    let mut fraction = d;
    for i in 1..10_000_000 {
        let i = f64::from(i);
        let numerator = -i * (i - a);
        b += 2.0;
        d = 1.0 / guard(numerator * d + b);
        c = guard(b + numerator / c);
        let change = d * c;
        fraction *= change;
        if (change - 1.0).abs() < 3e-16 {
            break;
        }
    }
    let q = (front * a * fraction).min(1.0);
    (1.0 - q, q)
}

/// The regularised incomplete beta function I_x(a, b) and its complement, for a, b > 0 and x in [0, 1]:
/// continued fraction with Loader's saddle-point factor, the smaller one to nearly full relative precision.
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> (f64, f64) {
    if a.is_nan() || a <= 0.0 || b.is_nan() || b <= 0.0 || !(0.0..=1.0).contains(&x) {
        return (f64::NAN, f64::NAN);
    }
    if x == 0.0 {
        return (0.0, 1.0);
    }
    if x == 1.0 {
        return (1.0, 0.0);
    }
    let front = beta_prefactor(a, b, x);
    if x < (a + 1.0) / (a + b + 2.0) {
        let lower = (front * beta_fraction(a, b, x) / a).min(1.0);
        (lower, 1.0 - lower)
    } else {
        let upper = (front * beta_fraction(b, a, 1.0 - x) / b).min(1.0);
        (1.0 - upper, upper)
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let guard = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..10_000_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        let change = d * c;
        fraction *= change;
        if (change - 1.0).abs() < 3e-16 {
            break;
        }
    }
    fraction
}

/// Newton inside a bracket that every step shrinks: the x in (0, top) at which `off` (increasing) is 0.
fn safe_newton(mut x: f64, top: f64, off_and_slope: impl Fn(f64) -> (f64, f64)) -> f64 {
    let (mut low, mut high) = (0.0, top);
    for _ in 0..1000 {
        let (off, slope) = off_and_slope(x);
        if off > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let mut next = x - off / slope;
        if !(next > low && next < high) {
            next = if high == f64::INFINITY {
                2.0 * x
            } else if low == 0.0 {
                0.1 * high
            } else {
                low + 0.5 * (high - low)
            };
        }
        if (next - x).abs() <= 2.0 * f64::EPSILON * x
            || (high.is_finite() && high - low <= 2.0 * f64::EPSILON * high)
        {
            return next;
        }
        x = next;
    }
    x
}

/// Quantile of the beta distribution: the x with I_x(a, b) = p. NaN outside the domain.
pub fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    if a.is_nan() || a <= 0.0 || b.is_nan() || b <= 0.0 || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 || p == 1.0 {
        return p;
    }
    safe_newton(a / (a + b), 1.0, |x| {
        let (lower, upper) = incomplete_beta(a, b, x);
        let off = if p < 0.5 { lower - p } else { (1.0 - p) - upper };
        (off, beta_prefactor(a, b, x) / (x * (1.0 - x)))
    })
}

/// Quantile of the standard gamma distribution of shape a: the x with P(a, x) = p. NaN outside the domain.
pub fn gamma_quantile(a: f64, p: f64) -> f64 {
    if a.is_nan() || a <= 0.0 || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 {
        return 0.0;
    }
    if p == 1.0 {
        return f64::INFINITY;
    }
    // Wilson, Hilferty 1931; the leading power of the series where that fails.
    let w = 1.0 - 1.0 / (9.0 * a) + normal_quantile(p) / (3.0 * a.sqrt());
    let start = if w > 0.3 { a * w * w * w } else { ((p.ln() + ln_gamma(a + 1.0)) / a).exp() };
    if start < 1e-280 {
        return start;
    }
    safe_newton(start, f64::INFINITY, |x| {
        let (lower, upper) = incomplete_gamma(a, x);
        let off = if p < 0.5 { lower - p } else { (1.0 - p) - upper };
        (off, a * gamma_prefactor(a, x) / x)
    })
}

/// Upper tail probability of the chi-square distribution.
pub fn chi_square_survival(x: f64, freedom: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { incomplete_gamma(0.5 * freedom, 0.5 * x).1 }
}

/// Quantile of the chi-square distribution.
pub fn chi_square_quantile(p: f64, freedom: f64) -> f64 {
    2.0 * gamma_quantile(0.5 * freedom, p)
}

/// Two-sided tail probability P(|T| > |t|) of Student's t.
pub fn student_two_sided(t: f64, freedom: f64) -> f64 {
    incomplete_beta(0.5 * freedom, 0.5, freedom / (freedom + t * t)).0
}

/// The t that Student's |T| is below with probability `level`.
pub fn student_quantile(level: f64, freedom: f64) -> f64 {
    let x = beta_quantile(0.5 * freedom, 0.5, 1.0 - level);
    (freedom * (1.0 - x) / x).sqrt()
}

/// Upper tail probability of Fisher's F with d1 and d2 degrees of freedom.
pub fn fisher_survival(f: f64, d1: f64, d2: f64) -> f64 {
    if f <= 0.0 { 1.0 } else { incomplete_beta(0.5 * d2, 0.5 * d1, d2 / (d2 + d1 * f)).0 }
}

/// Exact interval for a binomial proportion from `k` of `n` (Clopper, Pearson 1934).
pub fn clopper_pearson(k: u64, n: u64, level: f64) -> (f64, f64) {
    let tail = 0.5 * (1.0 - level);
    let (k, n) = (k as f64, n as f64);
    let lower = if k == 0.0 { 0.0 } else { beta_quantile(k, n - k + 1.0, tail) };
    let upper = if k >= n { 1.0 } else { beta_quantile(k + 1.0, n - k, 1.0 - tail) };
    (lower, upper)
}

#[cfg(test)]
#[allow(clippy::excessive_precision, clippy::approx_constant)]
mod tests {
    use super::*;

    /// Values of mpmath at 40 digits.
    #[test]
    fn functions_agree_with_forty_digit_arithmetic() {
        let pairs = [
            (digamma(0.001), -1000.5755719318103),
            (trigamma(0.001), 1000001.6425331958),
            (ln_gamma(0.001), 6.907178885383853),
            (digamma(0.3), -3.502524222200133),
            (trigamma(0.3), 12.245364546107732),
            (ln_gamma(0.3), 1.0957979948180756),
            (digamma(1.46), -0.0015805619870834522),
            (trigamma(1.46), 0.9691196215098878),
            (ln_gamma(1.46), -0.12148500100400743),
            (digamma(7.5), 1.9467574842460869),
            (trigamma(7.5), 0.1426158966967038),
            (ln_gamma(7.5), 7.534364236758733),
            (digamma(40.0), 3.676327374034843),
            (trigamma(40.0), 0.02531510384129103),
            (ln_gamma(40.0), 106.63176026064346),
            (digamma(1000000.0), 13.815510057964191),
            (trigamma(1000000.0), 1.0000005000001667e-06),
            (ln_gamma(1000000.0), 12815504.569147611),
            (incomplete_gamma(0.5, 0.01).0, 0.1124629160182849),
            (incomplete_gamma(0.5, 0.01).1, 0.8875370839817152),
            (incomplete_gamma(0.5, 3.0).0, 0.9856941215645704),
            (incomplete_gamma(0.5, 3.0).1, 0.01430587843542964),
            (incomplete_gamma(0.5, 400.0).0, 1.0),
            (incomplete_gamma(0.5, 400.0).1, 5.395865611607901e-176),
            (incomplete_gamma(10.0, 4.0).0, 0.008132242796933864),
            (incomplete_gamma(10.0, 4.0).1, 0.9918677572030662),
            (incomplete_gamma(10.0, 30.0).0, 0.9999928782491372),
            (incomplete_gamma(10.0, 30.0).1, 7.121750862815577e-06),
            (incomplete_gamma(1000.0, 950.0).0, 0.05505468623073803),
            (incomplete_gamma(1000.0, 950.0).1, 0.9449453137692619),
            (incomplete_gamma(1000.0, 1100.0).0, 0.99894067674607),
            (incomplete_gamma(1000.0, 1100.0).1, 0.0010593232539299773),
            (incomplete_gamma(100000.0, 100500.0).0, 0.9428967300239713),
            (incomplete_gamma(100000.0, 100500.0).1, 0.057103269976028714),
            (incomplete_beta(0.5, 0.5, 0.2).0, 0.2951672353008666),
            (incomplete_beta(0.5, 0.5, 0.2).1, 0.7048327646991335),
            (incomplete_beta(2.0, 3.0, 0.7).0, 0.9163),
            (incomplete_beta(2.0, 3.0, 0.7).1, 0.08370000000000004),
            (incomplete_beta(5.0, 0.5, 0.99).0, 0.7571581091015624),
            (incomplete_beta(5.0, 0.5, 0.99).1, 0.2428418908984376),
            (incomplete_beta(300.0, 700.0, 0.25).0, 0.00017989197772738934),
            (incomplete_beta(300.0, 700.0, 0.25).1, 0.9998201080222726),
            (incomplete_beta(300.0, 700.0, 0.37).0, 0.999998444073764),
            (incomplete_beta(300.0, 700.0, 0.37).1, 1.5559262359812902e-06),
            (incomplete_beta(1.0, 100000.0, 1e-06).0, 0.09516262720594036),
            (incomplete_beta(1.0, 100000.0, 1e-06).1, 0.9048373727940596),
            (normal_quantile(1e-300), -37.0470962993612),
            (normal_quantile(1e-20), -9.262340089798407),
            (normal_quantile(1e-05), -4.264890793922825),
            (normal_quantile(0.02), -2.053748910631823),
            (normal_quantile(0.3), -0.5244005127080408),
            (normal_quantile(0.5), 0.0),
            (normal_quantile(0.9), 1.2815515655446006),
            (normal_quantile(0.999), 3.090232306167813),
            (normal_cdf(-37.0), 5.725571222524577e-300),
            (normal_cdf(-8.0), 6.220960574271784e-16),
            (normal_cdf(-1.0), 0.15865525393145705),
            (normal_cdf(0.5), 0.6914624612740131),
            (normal_cdf(3.0), 0.9986501019683699),
        ];
        for (at, (got, wanted)) in pairs.into_iter().enumerate() {
            let tolerance = 2e-13 * f64::abs(wanted);
            assert!((got - wanted).abs() <= tolerance, "row {at}: {got:e} against {wanted:e}");
        }
    }

    #[test]
    fn quantiles_invert_their_distributions() {
        for p in [1e-12, 1e-4, 0.025, 0.5, 0.8, 0.999] {
            for a in [0.05, 0.5, 3.0, 100.0, 1e5] {
                let x = gamma_quantile(a, p);
                let off = incomplete_gamma(a, x).0 / p - 1.0;
                assert!(x < 1e-280 || off.abs() < 1e-11, "{a} {p}: {x:e} {off:e}");
                for b in [0.5, 7.0, 1e4] {
                    let x = beta_quantile(a, b, p);
                    let (lower, upper) = incomplete_beta(a, b, x);
                    // One unit in the last place of x near 1 moves the upper tail.
                    let slack = 1e-10
                        + 4.0 * f64::EPSILON * beta_prefactor(a, b, x) / (x * (1.0 - x)) / p.min(1.0 - p);
                    let off = if p < 0.5 { lower / p - 1.0 } else { upper / (1.0 - p) - 1.0 };
                    assert!(x == 1.0 || off.abs() < slack, "{a} {b} {p}: {x} {off}");
                }
            }
        }
    }

    #[test]
    fn a_binomial_interval_has_its_published_ends() {
        let (lower, upper) = clopper_pearson(3, 20, 0.95);
        assert!((lower - 0.032_070_937).abs() < 1e-8 && (upper - 0.378_926_83).abs() < 1e-8);
        assert_eq!(clopper_pearson(0, 10, 0.95).0, 0.0);
        let (lower, upper) = clopper_pearson(500_000_000, 1_000_000_000, 0.95);
        assert!((upper - lower - 2.0 * 1.959_964 * 0.5 / 1e9f64.sqrt()).abs() < 1e-9);
    }
}
