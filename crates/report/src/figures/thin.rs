//! Thins points so that a page stays light and no extreme is lost.

use super::figure::MOST_POINTS;

/// Indices into `n` ascending values: all, or the upper tail in full and the rest evenly.
pub(crate) fn ascending(n: usize) -> Vec<usize> {
    if n <= MOST_POINTS {
        return (0..n).collect();
    }
    let tail = MOST_POINTS / 2;
    let rest = n - tail;
    let stride = rest.div_ceil(MOST_POINTS - tail);
    (0..rest).step_by(stride).chain(rest..n).collect()
}

/// Indices into values in time order: all, or of each stretch its smallest and its largest.
pub(crate) fn in_time(values: &[f64]) -> Vec<usize> {
    let n = values.len();
    if n <= MOST_POINTS {
        return (0..n).collect();
    }
    let stretch = n.div_ceil(MOST_POINTS / 2);
    let mut kept = Vec::new();
    for begin in (0..n).step_by(stretch) {
        let indices = begin..(begin + stretch).min(n);
        let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        kept.extend(indices.clone().min_by(by_value));
        kept.extend(indices.max_by(by_value));
    }
    kept.sort_unstable();
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes_and_bounds_the_number() {
        let kept = ascending(1_000_000);
        assert!(kept.len() <= MOST_POINTS && kept[0] == 0 && *kept.last().unwrap() == 999_999);
        assert!(kept.is_sorted() && kept[kept.len() - 999..].windows(2).all(|w| w[1] == w[0] + 1));

        let mut values = vec![1.0; 50_000];
        values[31_234] = 9.0;
        let kept = in_time(&values);
        assert!(kept.len() <= MOST_POINTS + 2 && kept.contains(&31_234));
    }
}
