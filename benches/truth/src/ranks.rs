//! Draws the values of ranks, of two runs, of the arms of an interleaved comparison.

use tail::Xoshiro;

use crate::{Cell, Slow};

/// The values of each rank.
pub fn of_ranks(cell: &Cell, random: &mut Xoshiro) -> Vec<Vec<f64>> {
    let one = |rank: usize| {
        let mut values = cell.distribution.draw(cell.n, random);
        if cell.slow_rank() == Some(rank) {
            for value in &mut values {
                match cell.slow {
                    Slow::None => {}
                    Slow::Always(factor) => *value *= factor,
                    Slow::Bursts(share, by) => {
                        *value +=
                            by * cell.distribution.base.deviation() * f64::from(random.uniform() < share);
                    }
                }
            }
        }
        values
    };
    (0..cell.ranks).map(one).collect()
}

/// A quiet run and a new one, each with its own level.
pub fn pair(cell: &Cell, random: &mut Xoshiro) -> [Vec<f64>; 2] {
    [1.0, cell.factor].map(|factor| {
        let level = factor * (cell.between * random.normal()).exp();
        cell.distribution.draw(cell.n, random).into_iter().map(|value| value * level).collect()
    })
}

/// One run of an arm: the time that it takes as a whole.
pub fn of_arm(cell: &Cell, b: bool, random: &mut Xoshiro) -> f64 {
    (if b { cell.factor } else { 1.0 }) * (cell.between * random.normal()).exp()
}
