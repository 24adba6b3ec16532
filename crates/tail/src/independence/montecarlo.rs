//! Simulates a p-value sequentially, until it is precise enough.

/// Limits of a simulation.
#[derive(Debug, Clone, Copy)]
pub(super) struct MonteCarlo {
    /// The largest number of simulations.
    pub most: u32,
    /// Stops after this many simulations at least as extreme as the data.
    pub enough: u32,
}

/// The p-value, and whether any simulation was as extreme as the data; `one` simulates once and returns
/// whether it was. After `enough` hits p is `enough` over the number drawn, otherwise (hits + 1) / (most +
/// 1). Both are valid p-values (Besag, Clifford 1991).
pub(super) fn probability(how: MonteCarlo, mut one: impl FnMut() -> bool) -> (f64, bool) {
    let mut hits = 0;
    for drawn in 1..=how.most {
        hits += u32::from(one());
        if hits == how.enough {
            return (f64::from(hits) / f64::from(drawn), true);
        }
    }
    (f64::from(hits + 1) / f64::from(how.most + 1), hits > 0)
}
