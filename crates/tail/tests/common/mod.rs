//! Reference data and reference fits shared by the tests.
#![allow(dead_code)]

use std::path::PathBuf;

use serde_json::Value;
use tail::SplitMix64;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The last column of a reference file, with its NaN and infinities.
pub fn data(name: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(path(&format!("{name}.csv"))).expect("reference data");
    text.lines().skip(1).map(|l| l.rsplit(',').next().unwrap().trim().parse().expect("a number")).collect()
}

pub fn json(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path(name)).expect("reference results")).expect("JSON")
}

pub fn number(value: &Value, keys: &[&str]) -> f64 {
    let mut at = value;
    for key in keys {
        at = key.parse::<usize>().map_or_else(|_| &at[*key], |i| at.get(i).unwrap_or(&at[*key]));
    }
    at.as_f64().unwrap_or_else(|| panic!("no number at {keys:?}"))
}

/// The generator of the large reference sets: x = mu + sigma expm1(-xi ln(-ln u)) / xi.
pub fn gev_from_seed(seed: u64, n: usize, mu: f64, sigma: f64, xi: f64) -> Vec<f64> {
    let mut random = SplitMix64::new(seed);
    (0..n).map(|_| mu + sigma * f64::exp_m1(-xi * (-random.uniform().ln()).ln()) / xi).collect()
}

/// Log-normal latencies in nanoseconds: exp(ln 1000 + Φ⁻¹(u) / 2), seed 104 (reference set g04).
pub fn lognormal_latencies() -> Vec<f64> {
    let mut random = SplitMix64::new(104);
    (0..100_000)
        .map(|_| (1000f64.ln() + 0.5 * tail::special::normal_quantile(random.uniform())).exp())
        .collect()
}

/// ARMAX with θ = 1/2: x_t = max(x_{t-1}, z_t) / 2, z = -1 / ln u, x_0 = z_0, seed 105 (reference set g05).
pub fn armax_half() -> Vec<f64> {
    let mut random = SplitMix64::new(105);
    let mut frechet = || -1.0 / random.uniform().ln();
    let mut state = frechet();
    let mut values = vec![state];
    while values.len() < 100_000 {
        state = (0.5 * state).max(0.5 * frechet());
        values.push(state);
    }
    values
}

/// GEV reference sets with an interior maximum.
pub const INTERIOR: [&str; 15] = [
    "s01_paper400",
    "s02_heavy400",
    "s04_irreg400",
    "s05_small20",
    "s08_tiny400",
    "s09_ties_q1us_s2us",
    "s11_outlier",
    "s12_nan",
    "s12b_inf",
    "s13_normal400",
    "s15_bimodal400",
    "s17_drift400",
    "s18_changepoint400",
    "s19_offset1e12",
    "s26_max32_gamma400",
];
