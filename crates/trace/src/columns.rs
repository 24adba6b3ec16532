//! Finds what a column of values is, over the loops around its statement: a constant, a number that grows by the
//! loops' counters, or a list.

/// The counters of the loops around a statement at each of its executions, outermost first.
#[derive(Clone, Debug, Default)]
pub struct Indices {
    /// How many loops there are.
    pub depth: usize,
    /// `depth` counters for each execution.
    flat: Vec<u32>,
    executions: usize,
    /// Iterations of each loop, where they are the same in all its executions.
    pub counts: Option<Vec<u64>>,
}

impl Indices {
    /// A place outside of all loops.
    pub fn top() -> Self {
        Self { depth: 0, flat: Vec::new(), executions: 1, counts: Some(Vec::new()) }
    }

    /// How often the place is passed.
    pub fn executions(&self) -> usize {
        self.executions
    }

    fn at(&self, execution: usize) -> &[u32] {
        &self.flat[execution * self.depth..(execution + 1) * self.depth]
    }

    /// A place in a loop of this place, by the loop's iterations at each execution. A loop that always has one
    /// iteration is none.
    pub fn inside(&self, counts: &[u32]) -> Self {
        if counts.iter().all(|count| *count == 1) {
            return self.clone();
        }
        let executions: usize = counts.iter().map(|count| *count as usize).sum();
        let mut flat = Vec::with_capacity(executions * (self.depth + 1));
        for (execution, count) in counts.iter().enumerate() {
            for index in 0..*count {
                flat.extend_from_slice(self.at(execution));
                flat.push(index);
            }
        }
        let same = counts.windows(2).all(|pair| pair[0] == pair[1]);
        let all = self.counts.as_ref().filter(|_| same).map(|outer| {
            let mut all = outer.clone();
            all.push(u64::from(counts[0]));
            all
        });
        Self { depth: self.depth + 1, flat, executions, counts: all }
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

/// What the column `values`, one for each execution, is.
pub fn column(values: &[i64], indices: &Indices) -> Column {
    let Some(first) = values.first() else { return Column::List };
    if values.iter().all(|value| value == first) {
        return Column::Affine { base: *first, steps: vec![0; indices.depth] };
    }
    match steps(values, indices) {
        Some(steps) => Column::Affine { base: *first, steps },
        None => Column::List,
    }
}

fn steps(values: &[i64], indices: &Indices) -> Option<Vec<i64>> {
    let depth = indices.depth;
    let mut steps: Vec<Option<i64>> = vec![None; depth];
    // The innermost loop is met first; each outer one when its counter first moves.
    for at in 1..values.len() {
        let (before, now) = (indices.at(at - 1), indices.at(at));
        let moved = (0..depth).find(|level| before[*level] != now[*level])?;
        if steps[moved].is_none() {
            let mut rest = values[at].checked_sub(values[at - 1])?;
            for level in moved + 1..depth {
                let by = i64::from(now[level]) - i64::from(before[level]);
                if by != 0 {
                    rest = rest.checked_sub(steps[level]?.checked_mul(by)?)?;
                }
            }
            steps[moved] = Some(rest);
        }
    }
    let steps: Vec<i64> = steps.into_iter().map(|step| step.unwrap_or(0)).collect();
    let fits = |at: usize| {
        let mut value = values[0];
        for (step, index) in steps.iter().zip(indices.at(at)) {
            value = value.checked_add(step.checked_mul(i64::from(*index))?)?;
        }
        Some(value == values[at])
    };
    (0..values.len()).all(|at| fits(at) == Some(true)).then_some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_found_over_nested_loops() {
        let inner = Indices::top().inside(&[3]).inside(&[4, 4, 4]);
        let values: Vec<i64> = (0..3).flat_map(|i| (0..4).map(move |j| 100 + 1000 * i + 8 * j)).collect();
        assert_eq!(column(&values, &inner), Column::Affine { base: 100, steps: vec![1000, 8] });
        assert_eq!(inner.counts, Some(vec![3, 4]));
        let constant = vec![5; 12];
        assert_eq!(column(&constant, &inner), Column::Affine { base: 5, steps: vec![0, 0] });
        let mut odd = values;
        odd[7] += 1;
        assert_eq!(column(&odd, &inner), Column::List);
    }

    #[test]
    fn loops_of_different_length_have_no_constant_counts() {
        let inner = Indices::top().inside(&[2]).inside(&[1, 3]);
        assert_eq!((inner.executions(), inner.counts.clone()), (4, None));
        assert_eq!(column(&[0, 10, 11, 12], &inner), Column::Affine { base: 0, steps: vec![10, 1] });
    }

    #[test]
    fn numbers_at_the_ends_of_their_range_are_lists() {
        let inner = Indices::top().inside(&[3]);
        assert_eq!(column(&[i64::MIN, i64::MAX, 0], &inner), Column::List);
    }
}
