//! The formulas of the score: a geometric mean of each group of phases, and that of both.

use super::phase::{Phase, Unit};

/// What a phase did, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Which one.
    pub phase: Phase,
    /// Bytes of a phase of IOR, files of the others.
    pub amount: u64,
    /// From its begin until all ranks have ended it, with the sync at the end.
    pub seconds: f64,
}

impl Measured {
    /// GiB/s or thousands of files a second; 0 of a phase that did nothing.
    pub fn score(&self) -> f64 {
        if self.seconds <= 0.0 {
            return 0.0;
        }
        let per_second = self.amount as f64 / self.seconds;
        match self.phase.unit() {
            Unit::GibPerSecond => per_second / f64::from(1 << 30),
            Unit::KiloIops => per_second / 1e3,
        }
    }
}

/// The three numbers of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// Geometric mean of the four phases of IOR, in GiB/s.
    pub bandwidth: f64,
    /// Geometric mean of the eight other phases, in thousands a second.
    pub iops: f64,
    /// The root of their product.
    pub total: f64,
}

/// The scores of phases. Phases without a score above 0 are left out of the means; a group without any has 0.
pub fn scores(phases: &[(Phase, f64)]) -> Scores {
    let mean = |unit: Unit| {
        let of_unit = phases.iter().filter(|(phase, score)| phase.unit() == unit && *score > 0.0);
        // The mean of logarithms neither overflows nor underflows as products do.
        let logarithms: Vec<f64> = of_unit.map(|(_, score)| score.ln()).collect();
        match logarithms.len() {
            0 => 0.0,
            count => (logarithms.iter().sum::<f64>() / count as f64).exp(),
        }
    };
    let (bandwidth, iops) = (mean(Unit::GibPerSecond), mean(Unit::KiloIops));
    Scores { bandwidth, iops, total: (bandwidth * iops).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result that IO500's own description prints as an example, with its scores.
    #[test]
    fn the_published_example_has_its_published_scores() {
        let published = [
            0.186_620,
            103.300_821,
            0.001_313,
            58.939_081,
            1_486.435_084,
            1.575_557,
            839.392_805,
            2.272_671,
            1_212.558_124,
            160.765_642,
            275.011_939,
            132.015_851,
        ];
        let phases: Vec<(Phase, f64)> = Phase::ALL.into_iter().zip(published).collect();
        let found = scores(&phases);
        // 0.001313 GiB/s has four digits.
        for (found, expected) in
            [(found.bandwidth, 0.172_092), (found.iops, 292.625_029), (found.total, 7.096_374)]
        {
            assert!((found / expected - 1.0).abs() < 2e-4, "{found} {expected}");
        }
    }

    #[test]
    fn a_mean_is_of_the_phases_that_scored() {
        let found = scores(&[
            (Phase::IorEasyWrite, 8.0),
            (Phase::IorHardWrite, 2.0),
            (Phase::IorEasyRead, 0.0),
            (Phase::Find, 100.0),
        ]);
        assert!((found.bandwidth - 4.0).abs() < 1e-12 && (found.iops - 100.0).abs() < 1e-9, "{found:?}");
        assert!((found.total - 20.0).abs() < 1e-9, "{found:?}");
        assert_eq!(scores(&[]), Scores::default());
    }

    #[test]
    fn bytes_are_gib_and_files_are_thousands() {
        let of = |phase, amount, seconds| Measured { phase, amount, seconds }.score();
        assert_eq!(of(Phase::IorHardRead, 3 << 30, 2.0), 1.5);
        assert_eq!(of(Phase::MdtestHardRead, 3_000, 2.0), 1.5);
        assert_eq!(of(Phase::Find, 10, 0.0), 0.0);
    }
}
