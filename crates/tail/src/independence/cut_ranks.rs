//! Ranks less the level of each stretch between changes, which are taken back one by one.

use crate::lagged;

/// Ranks less the mean of each part between ascending cuts.
pub(super) struct CutRanks<'a> {
    ranks: &'a [f64],
    /// Where parts begin, and the number of all.
    ends: Vec<usize>,
    /// The mean of each part.
    pub means: Vec<f64>,
    /// The ranks less the mean of their part.
    pub residuals: Vec<f64>,
}

impl<'a> CutRanks<'a> {
    pub fn at(ranks: &'a [f64], cuts: &[usize]) -> CutRanks<'a> {
        let ends: Vec<usize> = [0].into_iter().chain(cuts.iter().copied()).chain([ranks.len()]).collect();
        let means = ends.windows(2).map(|part| lagged::mean(&ranks[part[0]..part[1]])).collect();
        let mut found = CutRanks { ranks, ends, means, residuals: Vec::with_capacity(ranks.len()) };
        for part in 0..found.means.len() {
            let mean = found.means[part];
            found.residuals.extend(ranks[found.ends[part]..found.ends[part + 1]].iter().map(|r| r - mean));
        }
        found
    }

    /// How many ranks a part has.
    pub fn length(&self, part: usize) -> usize {
        self.ends[part + 1] - self.ends[part]
    }

    /// Takes a cut back: the part before it and the one behind it are one. The others stay as they are.
    pub fn join(&mut self, cut: usize) {
        self.ends.remove(cut + 1);
        self.means.remove(cut + 1);
        let part = self.ends[cut]..self.ends[cut + 1];
        let mean = lagged::mean(&self.ranks[part.clone()]);
        self.means[cut] = mean;
        let residuals = self.residuals[part.clone()].iter_mut();
        residuals.zip(&self.ranks[part]).for_each(|(residual, rank)| *residual = rank - mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_joined_is_as_if_it_had_never_been_cut() {
        let ranks: Vec<f64> = (0..100).map(|at| f64::from(at * 37 % 100)).collect();
        let mut found = CutRanks::at(&ranks, &[10, 40, 41, 90]);
        for (cut, left) in [(1, vec![10, 41, 90]), (2, vec![10, 41]), (0, vec![41]), (0, vec![])] {
            found.join(cut);
            let wanted = CutRanks::at(&ranks, &left);
            assert_eq!((&found.means, &found.residuals), (&wanted.means, &wanted.residuals));
            assert_eq!(found.length(0), left.first().copied().unwrap_or(100));
        }
    }
}
