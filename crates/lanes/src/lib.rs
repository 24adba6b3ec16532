//! Computes elementary functions of many numbers at once, with the widest instructions that the processor has.
//!
//! The functions have no branches, so that the compiler turns a loop over an array into instructions on several lanes.
//! Their errors stay below 2 units in the last place (`exp_m1`: 3): exponentials by a power of two and a Taylor
//! polynomial of what is left, logarithms by the series of the area tangent (Abramowitz, Stegun 1964, 4.1.27, 4.2.1).
//!
//! ```
//! use lanes::{Arithmetic, LaneWork, widest};
//!
//! struct Exponentials<'a>(&'a mut [f64]);
//!
//! impl LaneWork for Exponentials<'_> {
//!     type Output = ();
//!
//!     #[inline(always)]
//!     fn run<A: Arithmetic>(self) {
//!         self.0.iter_mut().for_each(|x| *x = lanes::exp::<A>(*x));
//!     }
//! }
//!
//! let mut numbers = [0.0, 1.0];
//! widest(Exponentials(&mut numbers));
//! assert!(numbers[0] == 1.0 && (numbers[1] - std::f64::consts::E).abs() < 1e-15);
//! ```

/// What is computed: a loop whose body is inlined.
pub trait LaneWork {
    /// What comes of it.
    type Output;

    /// Computes it; to be marked `#[inline(always)]`.
    fn run<A: Arithmetic>(self) -> Self::Output;
}

/// How the processor multiplies and adds, and who computes exponentials.
pub trait Arithmetic: Sized {
    /// `a * b + c`.
    fn mul_add(a: f64, b: f64, c: f64) -> f64;

    /// `exp(x)`.
    #[inline(always)]
    fn exp(x: f64) -> f64 {
        exp::<Self>(x)
    }
}

/// In one instruction, rounded once; a type for each number of lanes, since code that two of them shared would be compiled
/// for the narrowest.
#[cfg(any(test, target_arch = "x86_64", target_arch = "aarch64"))]
struct Fused<const LANES: usize>;
/// In two.
#[cfg(any(test, not(target_arch = "aarch64")))]
struct Plain;
/// In two; the exponential is that of the system, which is quicker for a single number.
pub struct System;

impl Arithmetic for System {
    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        a * b + c
    }

    #[inline(always)]
    fn exp(x: f64) -> f64 {
        x.exp()
    }
}

#[cfg(any(test, target_arch = "x86_64", target_arch = "aarch64"))]
impl<const LANES: usize> Arithmetic for Fused<LANES> {
    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

#[cfg(any(test, not(target_arch = "aarch64")))]
impl Arithmetic for Plain {
    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        a * b + c
    }
}

/// Does the work with eight or four lanes and fused multiplication where the processor has them. How many lanes there are
/// changes no digit.
#[cfg(target_arch = "x86_64")]
pub fn widest<W: LaneWork>(work: W) -> W::Output {
    #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
    fn of_eight<W: LaneWork>(work: W) -> W::Output {
        work.run::<Fused<8>>()
    }
    #[target_feature(enable = "avx2,fma")]
    fn of_four<W: LaneWork>(work: W) -> W::Output {
        work.run::<Fused<4>>()
    }

    let has_eight = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    if has_eight {
        // SAFETY: the processor has what the function is compiled for.
        unsafe { of_eight(work) }
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has what the function is compiled for.
        unsafe { of_four(work) }
    } else {
        work.run::<Plain>()
    }
}

/// Does the work with fused multiplication, which these processors have.
#[cfg(target_arch = "aarch64")]
pub fn widest<W: LaneWork>(work: W) -> W::Output {
    work.run::<Fused<2>>()
}

/// Does the work.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn widest<W: LaneWork>(work: W) -> W::Output {
    work.run::<Plain>()
}

/// 1.5 · 2^52: a number added to it is rounded to an integer, which stands in the low bits.
const ROUNDS: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts; multiples of the first are exact.
const LN_2: [f64; 2] = [f64::from_bits(0x3fe6_2e42_fee0_0000), 1.908_214_929_270_587_7e-10];
/// Smaller numbers have exponentials that are not normal, which are taken as 0.
const LEAST_EXPONENT: f64 = -708.0;
/// Exponentials of larger numbers overflow.
const MOST_EXPONENT: f64 = 709.782_712_893_384;

/// 1 / (k + 1)!.
const FACTORIALS: [f64; 14] = {
    let mut c = [1.0; 14];
    let mut k = 1;
    while k < 14 {
        c[k] = c[k - 1] / (k + 1) as f64;
        k += 1;
    }
    c
};

/// 2 / (2 k + 3).
const TANGENT: [f64; 11] = {
    let mut c = [0.0; 11];
    let mut k = 0;
    while k < 11 {
        c[k] = 2.0 / (2 * k + 3) as f64;
        k += 1;
    }
    c
};

/// `Σ c_k x^k` by Horner's rule.
#[inline(always)]
pub fn polynomial<A: Arithmetic, const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    coefficients.into_iter().rev().fold(0.0, |sum, c| A::mul_add(x, sum, c))
}

/// Half of the power of two of an exponential, and the exponential less 1 of what is left.
#[inline(always)]
fn halved_power<A: Arithmetic>(x: f64) -> (f64, f64) {
    let rounded = A::mul_add(x, std::f64::consts::LOG2_E, ROUNDS);
    let n = rounded - ROUNDS;
    let rest = A::mul_add(n, -LN_2[1], A::mul_add(n, -LN_2[0], x));
    let half = f64::from_bits(rounded.to_bits().wrapping_add(1022) << 52);
    (half, rest * polynomial::<A, 14>(rest, FACTORIALS))
}

/// `exp(x)`.
#[inline(always)]
pub fn exp<A: Arithmetic>(x: f64) -> f64 {
    let (half, less_1) = halved_power::<A>(x);
    let found = 2.0 * A::mul_add(half, less_1, half);
    let found = if x < LEAST_EXPONENT { 0.0 } else { found };
    if x > MOST_EXPONENT { f64::INFINITY } else { found }
}

/// `exp(x) - 1`.
#[inline(always)]
pub fn exp_m1<A: Arithmetic>(x: f64) -> f64 {
    let (half, less_1) = halved_power::<A>(x);
    let found = 2.0 * A::mul_add(half, less_1, half - 0.5);
    let found = if x < LEAST_EXPONENT { -1.0 } else { found };
    if x > MOST_EXPONENT { f64::INFINITY } else { found }
}

/// `ln(x + x error)` of a normal number > 0 and a very small one.
#[inline(always)]
fn ln_of_sum<A: Arithmetic>(x: f64, error: f64) -> f64 {
    // Numbers from √½ to √2 have exponent 0.
    const ROOT: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    let exponent = x.to_bits().wrapping_add(ONE - ROOT) >> 52;
    let k = f64::from_bits(exponent | 0x4330_0000_0000_0000) - 4_503_599_627_371_519.0;
    let f = f64::from_bits(x.to_bits().wrapping_sub(exponent.wrapping_sub(1023) << 52)) - 1.0;
    let s = f / (2.0 + f);
    let square = s * s;
    let half = 0.5 * f * f;
    let more = square * polynomial::<A, 11>(square, TANGENT);
    let small = A::mul_add(s, half + more, A::mul_add(k, LN_2[1], error));
    A::mul_add(k, LN_2[0], f - (half - small))
}

/// `ln(x)` of a number that is not negative.
#[inline(always)]
pub fn ln<A: Arithmetic>(x: f64) -> f64 {
    const MORE: f64 = 18_014_398_509_481_984.0; // 2^54
    let is_small = x < f64::MIN_POSITIVE;
    let found = ln_of_sum::<A>(if is_small { x * MORE } else { x }, 0.0);
    let found = if is_small { found - 54.0 * std::f64::consts::LN_2 } else { found };
    let found = if x == 0.0 { f64::NEG_INFINITY } else { found };
    if x > f64::MAX { f64::INFINITY } else { found }
}

/// `ln(1 + x)` of a number above -1.
#[inline(always)]
pub fn ln_1p<A: Arithmetic>(x: f64) -> f64 {
    ln_1p_with::<A>(x, 1.0 / (1.0 + x))
}

/// [`ln_1p`] where `1 / (1 + x)` is known, to a few units in the last place: division takes longest.
#[inline(always)]
pub fn ln_1p_with<A: Arithmetic>(x: f64, reciprocal: f64) -> f64 {
    let sum = 1.0 + x;
    let one = sum - x;
    let error = (1.0 - one) + (x - (sum - one));
    let found = ln_of_sum::<A>(sum, error * reciprocal);
    if sum > f64::MAX { f64::INFINITY } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// How many units in the last place two numbers differ by.
    fn apart(found: f64, wanted: f64) -> f64 {
        if found == wanted || (found.is_nan() && wanted.is_nan()) {
            return 0.0;
        }
        let unit = f64::from_bits(wanted.abs().to_bits() + 1) - wanted.abs();
        ((found - wanted) / unit).abs()
    }

    struct All<'a>(&'a [f64]);

    impl LaneWork for All<'_> {
        type Output = Vec<[f64; 4]>;

        #[inline(always)]
        fn run<A: Arithmetic>(self) -> Vec<[f64; 4]> {
            let of = |x: f64| [exp::<A>(x), exp_m1::<A>(x), ln::<A>(x.abs()), ln_1p::<A>(x)];
            self.0.iter().map(|x| of(*x)).collect()
        }
    }

    fn check(x: f64) {
        let fused = All(&[x]).run::<Fused<1>>()[0];
        let plain = All(&[x]).run::<Plain>()[0];
        // As many numbers as fill all lanes and leave some behind.
        let all = widest(All(&[x; 11]));
        let [widest, behind] = [all[0], all[10]].map(|found| found.map(f64::to_bits));
        assert_eq!(widest, behind, "{x}");
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("fma") {
            assert_eq!(widest, fused.map(f64::to_bits), "{x}");
        }
        let widest = all[0];
        for [e, m, l, p] in [fused, plain, widest] {
            if !(LEAST_EXPONENT..=-700.0).contains(&x) {
                let wanted = if x < LEAST_EXPONENT { 0.0 } else { x.exp() };
                assert!(apart(e, wanted) <= 2.0, "exp {x}: {e} {wanted}");
            }
            assert!(apart(m, x.exp_m1()) <= 3.0, "exp_m1 {x}: {m} {}", x.exp_m1());
            assert!(apart(l, x.abs().ln()) <= 2.0, "ln {x}: {l} {}", x.abs().ln());
            if x > -1.0 {
                assert!(apart(p, x.ln_1p()) <= 2.0, "ln_1p {x}: {p} {}", x.ln_1p());
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]
        #[test]
        fn functions_agree_with_the_systems(
            x in prop_oneof![-1.0..1.0_f64, -50.0..50.0_f64, -800.0..800.0_f64, -1e-9..1e-9_f64, 0.0..1e300_f64, 0.69..1.42_f64]
        ) {
            check(x);
        }
    }

    #[test]
    fn ends_and_exact_values() {
        for x in [0.0, -0.0, 1.0, -1.0 + f64::EPSILON / 2.0, f64::MAX, f64::INFINITY, f64::MIN_POSITIVE] {
            check(x);
        }
        for x in [
            709.78,
            709.79,
            710.0,
            1e-310,
            5e-324,
            -707.9,
            -708.1,
            -1e9,
            1e-300,
            std::f64::consts::SQRT_2,
            0.5,
            2.0,
        ] {
            check(x);
        }
        let all = All(&[f64::NAN, 0.0]).run::<Plain>();
        assert!(all[0].iter().take(2).all(|found| found.is_nan()));
        assert_eq!(all[1], [1.0, 0.0, f64::NEG_INFINITY, 0.0]);
    }
}
