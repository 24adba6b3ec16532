//! Whose values they are, where several take values in turns: the order of each by itself.

use std::collections::BTreeMap;

/// Values in the order in which they came, taken by several (ranks) in turns: each may depend on what the same one had before,
/// which is as many places away as there are others.
#[derive(Debug, Clone, PartialEq)]
pub struct Takers {
    /// Places of the values of one after those of another, each in the order in which they came.
    order: Vec<u32>,
    /// Where those of each end.
    ends: Vec<usize>,
}

/// Fewest values of each, on average, that tell how they depend on each other.
const FEWEST_EACH: usize = 8;

/// Of more values, those that lie together in time hold so many of each that their order tells enough.
const MOST: usize = 1 << 20;

impl Takers {
    /// From who took each value; `None` of fewer than two, or of so few values each that their order tells nothing.
    pub fn of(who: &[u32]) -> Option<Takers> {
        let mut ends: BTreeMap<u32, usize> = BTreeMap::new();
        who.iter().for_each(|who| *ends.entry(*who).or_default() += 1);
        if ends.len() < 2 || who.len() / ends.len() < FEWEST_EACH || who.len() > MOST {
            return None;
        }
        let mut at = 0;
        for end in ends.values_mut() {
            (*end, at) = (at, at + *end);
        }
        let mut order = vec![0; who.len()];
        for (place, who) in (0u32..).zip(who) {
            let next = ends.entry(*who).or_default();
            order[*next] = place;
            *next += 1;
        }
        Some(Takers { order, ends: ends.into_values().collect() })
    }

    /// How many values each has, on average.
    pub(crate) fn each(&self) -> usize {
        self.order.len() / self.ends.len()
    }

    /// The values of each.
    pub(crate) fn apart<'a, T: Copy>(&'a self, values: &'a [T]) -> impl Iterator<Item = Vec<T>> + 'a {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(from, to)| self.order[from..*to].iter().map(|at| values[*at as usize]).collect())
    }

    /// Values of one after those of another, each less the mean of its taker: how takers differ is no dependence.
    pub(crate) fn centred(&self, values: &[f64]) -> Vec<f64> {
        let mut all = Vec::with_capacity(values.len());
        for own in self.apart(values) {
            let mean = crate::lagged::mean(&own);
            all.extend(own.iter().map(|value| value - mean));
        }
        all
    }

    /// How many values each has.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(from, to)| to - from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_come_after_those_of_another_in_their_order() {
        let who: Vec<u32> = (0..30).map(|at| [7, 1, 4][at % 3]).collect();
        let takers = Takers::of(&who).unwrap();
        let values: Vec<f64> = (0..30).map(f64::from).collect();
        let apart: Vec<Vec<f64>> = takers.apart(&values).collect();
        assert_eq!((apart.len(), apart[0][..3].to_vec(), apart[2][0]), (3, vec![1.0, 4.0, 7.0], 0.0));
        assert_eq!(takers.centred(&values)[9], 13.5);
        assert_eq!(takers.lengths().collect::<Vec<_>>(), [10; 3]);
        assert_eq!((Takers::of(&[4; 40]), Takers::of(&[1, 2, 3, 1, 2, 3])), (None, None));
    }
}
