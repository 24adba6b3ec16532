//! How long groups of values resemble themselves in time, from all of them together.

/// Lags that are looked at, at most.
const MOST_LAGS: usize = 200;
/// The largest first-order coefficient.
const MOST_MEMORY: f64 = 0.98;
/// Blocks of one series that are exchanged, at least.
pub(crate) const FEWEST_BLOCKS: usize = 6;
/// The same, at most.
const MOST_BLOCKS: usize = 64;

/// How many times the variance of independent values that of a sum is: 1 where no resemblance of neighbours is shown. The larger of
/// a first-order autoregression and the sum of correlations up to the first that is within its error of nothing; corrected for
/// the means that are removed (Kendall 1954). `free` is how many of the series vary freely.
pub(crate) fn inflation(series: &[Vec<f64>], free: f64) -> f64 {
    let centred: Vec<Vec<f64>> = series.iter().map(|values| centred(values)).collect();
    let squares: f64 = centred.iter().flatten().map(|value| value * value).sum();
    let longest = centred.iter().map(Vec::len).max().unwrap_or(0);
    if squares <= 0.0 || longest < 3 {
        return 1.0;
    }
    let count = centred.iter().map(Vec::len).sum::<usize>() as f64;
    let length = count / series.len() as f64;
    let noise = 2.0 / (count * (free / series.len() as f64).min(1.0)).sqrt();
    let correlation = |lag: usize| {
        let products = centred.iter().filter(|values| values.len() > lag);
        let sum: f64 =
            products.map(|values| values.iter().zip(&values[lag..]).map(|(a, b)| a * b).sum::<f64>()).sum();
        sum / squares + 1.0 / length
    };
    let first = correlation(1);
    if first < noise {
        return 1.0;
    }
    let memory = (first / (1.0 - 3.0 / length).max(0.25)).min(MOST_MEMORY);
    let mut sum = 1.0 + 2.0 * first;
    for lag in 2..(longest / 3).min(MOST_LAGS) {
        let found = correlation(lag);
        if found < noise {
            break;
        }
        sum += 2.0 * found;
    }
    sum.max((1.0 + memory) / (1.0 - memory))
}

/// What is left of the resemblance of neighbours between blocks: the factor of the variance of their sums.
pub(crate) fn between_blocks(blocks: &[Vec<f64>], free: f64) -> f64 {
    let centred: Vec<Vec<f64>> = blocks.iter().map(|values| centred(values)).collect();
    let squares: f64 = centred.iter().flatten().map(|value| value * value).sum();
    let count = centred.iter().map(Vec::len).sum::<usize>() as f64;
    if squares <= 0.0 || count < 3.0 {
        return 1.0;
    }
    let products: f64 =
        centred.iter().map(|values| values.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>()).sum();
    let found = products / squares + blocks.len() as f64 / count;
    let noise = 1.0 / (count * (free / blocks.len() as f64).min(1.0)).sqrt();
    if found > noise { 1.0 + 2.0 * found } else { 1.0 }
}

/// The length of blocks that resemble each other little, of series of `length` values whose sums vary by `inflation`; none where
/// there would be too few.
pub(crate) fn block(length: usize, groups: usize, inflation: f64) -> Option<usize> {
    let most = ((1 << 18) / groups.max(1)).clamp(8, MOST_BLOCKS);
    let long = if inflation > 1.0 { (2.0 * inflation).ceil() as usize } else { 1 };
    let block = long.max(length.div_ceil(most));
    (length / block >= FEWEST_BLOCKS).then_some(block)
}

/// The bounds of `length` values in as many blocks of about `block` as there are.
pub(crate) fn bounds(length: usize, block: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let count = (length / block).max(1);
    (0..count).map(move |at| at * length / count..(at + 1) * length / count)
}

fn centred(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| value - mean).collect()
}
