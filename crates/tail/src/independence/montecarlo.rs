//! A simulated p-value that stops as soon as it is known well enough.

/// How much is simulated.
#[derive(Debug, Clone, Copy)]
pub(super) struct MonteCarlo {
    /// Most simulations.
    pub most: u32,
    /// Simulations as far out as the data after which no more are drawn.
    pub enough: u32,
}

/// The p-value where `one` simulates and tells whether it is as far out as the data, and whether any was: after
/// `enough` of them p is `enough` over the number drawn, else (hits + 1) / (most + 1). Both are valid p-values (Besag,
/// Clifford 1991).
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
