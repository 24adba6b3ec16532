//! The one definition of a sample quantile.

/// The place from 0, among `n` ascending values, of the `p` quantile: the value of rank ⌈p·n⌉, which is the smallest that at
/// least the share `p` of the values does not exceed (Hyndman, Fan 1996, definition 1). `None` of no values.
///
/// It is a value that was measured, so that no screen shows a time that no operation took, and of an even number of values
/// the median is the lower one of the two in the middle.
pub fn quantile_rank(n: usize, p: f64) -> Option<usize> {
    // 0.07 · 100 is a little more than 7 in binary: a rank is exact to far less than one.
    let rank = (p.clamp(0.0, 1.0) * n as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil() as usize;
    (n > 0).then(|| rank.clamp(1, n) - 1)
}

#[cfg(test)]
mod tests {
    use super::quantile_rank;

    #[test]
    fn the_rank_is_that_of_whole_numbers() {
        for n in (1..2_000_usize).chain([99_999, 100_000, 1_000_000_007]) {
            for of in [2_usize, 10, 100, 1_000, 10_000] {
                for parts in [1, of / 2, of - of / 10, of - 1] {
                    let wanted = (n * parts).div_ceil(of).clamp(1, n) - 1;
                    assert_eq!(quantile_rank(n, parts as f64 / of as f64), Some(wanted), "{n} {parts}/{of}");
                }
            }
            assert_eq!((quantile_rank(n, 0.0), quantile_rank(n, 1.0)), (Some(0), Some(n - 1)));
        }
        assert_eq!(quantile_rank(0, 0.5), None);
    }
}
