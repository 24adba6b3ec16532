//! Finds what a column of values is, over the loops around its statement: a constant, a number that grows by the
//! loops' counters, or a list.

use crate::packed::{self, Packed};

/// The loops around a statement.
#[derive(Clone, Debug, Default)]
pub struct Indices<'a> {
    /// How many loops there are.
    pub depth: usize,
    /// Iterations of each loop whenever it is reached, outermost first.
    levels: Vec<&'a Packed>,
    executions: usize,
    /// Iterations of each loop, where they are the same in all its executions.
    pub counts: Option<Vec<u64>>,
}

impl<'a> Indices<'a> {
    /// A place outside of all loops.
    pub fn top() -> Self {
        Self { depth: 0, levels: Vec::new(), executions: 1, counts: Some(Vec::new()) }
    }

    /// How often the place is passed.
    pub fn executions(&self) -> usize {
        self.executions
    }

    /// A place in a loop of this place, by the loop's iterations at each execution. A loop that always has one
    /// iteration is none.
    pub fn inside(&self, counts: &'a Packed) -> Self {
        if counts.is_empty() || counts.constant() == Some(1) {
            return self.clone();
        }
        let mut levels = self.levels.clone();
        levels.push(counts);
        let all = self.counts.as_ref().zip(counts.constant()).map(|(outer, count)| {
            let mut all = outer.clone();
            all.push(count);
            all
        });
        let executions = counts.iter().sum::<u64>() as usize;
        Self { depth: self.depth + 1, levels, executions, counts: all }
    }

    /// The counters of the loops at each execution.
    fn counters(&self) -> LoopCounters<'a> {
        let levels = self.levels.iter().map(|counts| LoopLevel { counts: counts.iter(), last: 0 }).collect();
        LoopCounters { levels, now: vec![0; self.depth], state: WalkState::Before }
    }
}

/// A loop while its executions are walked.
struct LoopLevel<'a> {
    counts: packed::PackedIter<'a>,
    /// Its last iteration of this time.
    last: u64,
}

#[derive(PartialEq, Eq)]
enum WalkState {
    Before,
    Within,
    Behind,
}

/// The counters of loops, one execution after the other.
struct LoopCounters<'a> {
    levels: Vec<LoopLevel<'a>>,
    now: Vec<u64>,
    state: WalkState,
}

impl LoopCounters<'_> {
    /// The counters at the next execution, outermost first.
    fn next(&mut self) -> Option<&[u64]> {
        let mut level = match self.state {
            WalkState::Before => Some(0),
            WalkState::Within => self.step(self.levels.len()),
            WalkState::Behind => None,
        };
        self.state = WalkState::Within;
        // Loops inside of the one that went on begin again; one without iterations is passed over.
        while let Some(at) = level.filter(|at| *at < self.levels.len()) {
            let one = &mut self.levels[at];
            level = match one.counts.next() {
                Some(0) => self.step(at),
                Some(count) => {
                    (one.last, self.now[at]) = (count - 1, 0);
                    Some(at + 1)
                }
                None => None,
            };
        }
        if level.is_none() {
            self.state = WalkState::Behind;
        }
        level.map(|_| self.now.as_slice())
    }

    /// Goes on in the innermost of the first `of` loops that has another iteration; the loop inside of it.
    fn step(&mut self, of: usize) -> Option<usize> {
        let level = (0..of).rev().find(|level| self.now[*level] < self.levels[*level].last)?;
        self.now[level] += 1;
        Some(level + 1)
    }
}

/// What a column is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// `base + steps[0] * $i + steps[1] * $j …`; a constant where all steps are 0.
    Affine {
        /// At the first execution.
        base: i64,
        /// By loop, outermost first.
        steps: Vec<i64>,
    },
    /// No such formula gives it.
    List,
}

/// What the column `values`, one for each execution, is. They are numbers with a sign, kept without.
pub fn column(values: &Packed, indices: &Indices<'_>) -> Column {
    if values.is_empty() {
        return Column::List;
    }
    if let Some(value) = values.constant() {
        return Column::Affine { base: value.cast_signed(), steps: vec![0; indices.depth] };
    }
    let base = values.get(0).cast_signed();
    match steps(values, indices) {
        Some(steps) => Column::Affine { base, steps },
        None => Column::List,
    }
}

fn steps(values: &Packed, indices: &Indices<'_>) -> Option<Vec<i64>> {
    let steps = first_steps(values, indices)?;
    let mut counters = indices.counters();
    let base = values.get(0).cast_signed();
    let mut fits = |value: u64| {
        let mut expected = base;
        for (step, index) in steps.iter().zip(counters.next()?) {
            expected = expected.checked_add(step.checked_mul(index.cast_signed())?)?;
        }
        Some(expected == value.cast_signed())
    };
    values.iter().all(|value| fits(value) == Some(true)).then_some(steps)
}

/// By how much the values grow with each counter where it first moves, 0 where it never does.
fn first_steps(values: &Packed, indices: &Indices<'_>) -> Option<Vec<i64>> {
    let depth = indices.depth;
    let mut steps: Vec<Option<i64>> = vec![None; depth];
    let mut values = values.iter().map(u64::cast_signed);
    let mut counters = indices.counters();
    let (mut last, mut before) = (values.next()?, counters.next()?.to_vec());
    // The innermost loop is met first; each outer one when its counter first moves.
    while steps.iter().any(Option::is_none)
        && let Some(value) = values.next()
    {
        let now = counters.next()?;
        let moved = (0..depth).find(|level| before[*level] != now[*level])?;
        if steps[moved].is_none() {
            let mut rest = value.checked_sub(last)?;
            for level in moved + 1..depth {
                let by = now[level].cast_signed() - before[level].cast_signed();
                if by != 0 {
                    rest = rest.checked_sub(steps[level]?.checked_mul(by)?)?;
                }
            }
            steps[moved] = Some(rest);
        }
        last = value;
        before.copy_from_slice(now);
    }
    Some(steps.into_iter().map(|step| step.unwrap_or(0)).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(values: &[i64]) -> Packed {
        values.iter().map(|value| value.cast_unsigned()).collect()
    }

    #[test]
    fn arithmetic_is_found_over_nested_loops() {
        let counts = [packed(&[3]), packed(&[4, 4, 4])];
        let inner = Indices::top().inside(&counts[0]).inside(&counts[1]);
        let values: Vec<i64> = (0..3).flat_map(|i| (0..4).map(move |j| 100 + 1000 * i + 8 * j)).collect();
        assert_eq!(column(&packed(&values), &inner), Column::Affine { base: 100, steps: vec![1000, 8] });
        assert_eq!(inner.counts, Some(vec![3, 4]));
        assert_eq!(column(&packed(&[5; 12]), &inner), Column::Affine { base: 5, steps: vec![0, 0] });
        let mut odd = values;
        odd[7] += 1;
        assert_eq!(column(&packed(&odd), &inner), Column::List);
    }

    #[test]
    fn loops_of_different_length_have_no_constant_counts() {
        let counts = [packed(&[2]), packed(&[1, 3])];
        let inner = Indices::top().inside(&counts[0]).inside(&counts[1]);
        assert_eq!((inner.executions(), inner.counts.clone()), (4, None));
        let found = column(&packed(&[0, 10, 11, 12]), &inner);
        assert_eq!(found, Column::Affine { base: 0, steps: vec![10, 1] });
    }

    #[test]
    fn numbers_at_the_ends_of_their_range_are_lists() {
        let counts = packed(&[3]);
        let inner = Indices::top().inside(&counts);
        assert_eq!(column(&packed(&[i64::MIN, i64::MAX, 0]), &inner), Column::List);
    }

    proptest! {
        #[test]
        fn each_execution_has_its_counters(outer in 0_u64..6, inner in prop::collection::vec(prop::collection::vec(0_u64..4, 0..4), 6)) {
            let inner = &inner[..outer as usize];
            let counts = [
                Packed::from_iter([outer]),
                inner.iter().map(|one| one.len() as u64).collect(),
                inner.iter().flatten().copied().collect(),
            ];
            let mut expected = Vec::new();
            for (i, one) in inner.iter().enumerate() {
                for (j, count) in one.iter().enumerate() {
                    expected.extend((0..*count).map(|k| vec![i as u64, j as u64, k]));
                }
            }
            let levels = counts.iter().collect();
            let indices = Indices { depth: 3, levels, executions: expected.len(), counts: None };
            let mut counters = indices.counters();
            for one in expected {
                prop_assert_eq!(counters.next(), Some(one.as_slice()));
            }
            prop_assert_eq!(counters.next(), None);
        }
    }
}
