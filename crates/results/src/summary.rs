//! Quantiles of values and their intervals together.

use tail::Takers;
use tail::enclosed::InOrder;

use crate::interval::{self, QuantileInterval};
use crate::quantiles::Quantiles;

/// Probabilities of the intervals, each from so many values on.
const PROBABILITIES: [(f64, usize); 5] = [(0.5, 1), (0.9, 10), (0.99, 100), (0.999, 1_000), (0.9999, 10_000)];

/// Quantiles of some numbers, in the order in which they came, and the intervals of those that they reach; nothing of
/// none. The numbers may have any unit, which the fields then have too; none is NaN.
pub fn of_values(values: &[f64]) -> (Option<Quantiles>, Vec<QuantileInterval>) {
    of_values_taken_by(values, &[])
}

/// [`of_values`] of what several ranks took in turns, with who took each; nobody where one did.
pub fn of_values_taken_by(values: &[f64], who: &[u32]) -> (Option<Quantiles>, Vec<QuantileInterval>) {
    const SIGN: u64 = 1 << 63;
    // The same order as integers: negative numbers the other way round and below the others.
    let key = |value: f64| match value.to_bits() {
        bits if bits & SIGN != 0 => !bits,
        bits => bits | SIGN,
    };
    let value = |key: u64| f64::from_bits(if key & SIGN != 0 { key & !SIGN } else { !key });
    quantiles(values.iter().map(|value| key(*value)).collect(), who, value)
}

/// Quantiles of some values in the order in which they began, with the rank of each where several took them, and the intervals of those that the values reach; each
/// shown by `value`.
pub(crate) fn quantiles(
    in_order: Vec<u64>,
    who: &[u32],
    value: impl Fn(u64) -> f64,
) -> (Option<Quantiles>, Vec<QuantileInterval>) {
    let mut sorted = in_order.clone();
    radsort::sort(&mut sorted);
    let found = Quantiles::of_sorted(&sorted, &value);
    let reached = PROBABILITIES.iter().filter(|(_, from)| sorted.len() >= *from);
    let takers = Takers::of(who);
    let order = InOrder::of(&in_order, takers.as_ref(), &sorted);
    let intervals = reached.filter_map(|(p, _)| interval::of(&order, &sorted, *p, &value)).collect();
    (found, intervals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_sign_keep_their_order_and_their_last_digit() {
        let (found, _) = of_values(&[0.1, -3.7e9, 1e-300, 5.0, -0.2]);
        let found = found.unwrap();
        assert_eq!((found.min, found.p50, found.max), (-3.7e9, 1e-300, 5.0));
        assert_eq!(of_values(&[]), (None, Vec::new()));
    }

    #[test]
    fn quantiles_of_a_run_and_of_a_fit_are_one() {
        let mut random = tail::Xoshiro::new(7);
        for n in [1, 2, 3, 10, 99, 100, 101, 250, 999, 1_000] {
            let values: Vec<f64> = (0..n).map(|_| (1e9 * random.uniform()).round() * 1e-9).collect();
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let fitted = tail::assess::summarise(&tail::Series::clean(&values), 0.95);
            let (found, intervals) = super::of_values(&values);
            let found = found.expect("values");
            assert_eq!(fitted.quantile(0.5), Some(found.p50), "{n}");
            for interval in intervals {
                let of_fit = fitted.quantiles.iter().find(|one| one.probability == interval.probability);
                let Some(of_fit) = of_fit else { continue };
                assert_eq!(
                    (of_fit.lower, of_fit.upper),
                    (interval.lower_seconds, interval.upper_seconds),
                    "{n}"
                );
            }
            for (p, found) in [(0.9, found.p90), (0.99, found.p99)] {
                assert!(found.is_none_or(|found| fitted.quantile(p) == Some(found)), "{n} {p}");
            }
            for p in [0.5, 0.9, 0.99] {
                let at = samples::quantile_rank(n, p).expect("values");
                assert_eq!(fitted.quantile(p), Some(sorted[at]), "{n} {p}");
            }
        }
    }
}
