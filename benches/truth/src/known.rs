//! What is known to be worse than stated: each is expected, with the rate that was measured, and reported once it is not.

/// A row that breaks its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The cell's name.
    pub cell: &'static str,
    /// The row's name.
    pub row: &'static str,
    /// The share that was measured.
    pub measured: f64,
}

/// All of them.
pub const KNOWN: &[Known] = &[
    Known {
        cell: "fit, GEV 0.1, bursts of 10 (10%, 3 slower), n = 400",
        row: "interval: level of 10",
        measured: 0.00,
    },
    Known { cell: "fit, GEV 0.1, 20% slower by 6, n = 400", row: "interval: level of 100", measured: 0.00 },
    Known { cell: "fit, GEV 0.1, 20% slower by 6, n = 400", row: "interval: level of 1000", measured: 0.00 },
];
