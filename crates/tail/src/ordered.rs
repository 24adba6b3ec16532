//! Sorts many numbers, alone or with their places: into cells by their leading bits, then within each cell.
//!
//! One pass over a million numbers that puts each near where it belongs, and sorts of some dozen that lie in the first
//! cache, take a third of the time of one sort of all. How the numbers are distributed changes the time alone.

use rayon::prelude::*;

/// Fewer are sorted at once.
const MANY: usize = 4096;
/// Numbers of a cell, on average.
const PER_CELL: usize = 6;
/// More cells than this are not written to quickly.
const MOST_CELLS: usize = 1 << 17;
/// The cells divide what lies between two of so many evenly placed numbers; what lies outside is in the first or last.
const SAMPLED: usize = 1024;
/// How many of the sampled numbers lie outside on each side.
const OUTSIDE: usize = 2;
/// Cells that one thread sorts at least.
const TOGETHER: usize = 256;

/// The order of bits that is the order of numbers (`f64::total_cmp`).
fn key(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn number(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

/// The numbers in ascending order, and the place of each before; equal numbers in the order of their places. For up to
/// 2³² numbers.
pub(crate) fn with_places(values: &[f64]) -> (Vec<f64>, Vec<u32>) {
    let Some(cells) = KeyCells::of(values) else {
        let mut all: Vec<u128> = values.iter().zip(0..).map(|(x, at)| joined(*x, at)).collect();
        all.sort_unstable();
        return all.into_iter().map(parted).unzip();
    };
    let mut next = cells.starts(values);
    let (mut sorted, mut places) = (vec![0.0; values.len()], vec![0; values.len()]);
    for (x, at) in values.iter().zip(0..) {
        let slot = &mut next[cells.cell(key(*x))];
        (sorted[*slot as usize], places[*slot as usize]) = (*x, at);
        *slot += 1;
    }
    // Where the cells begin has become where they end.
    let of_numbers = CellParts { rest: &mut sorted, ends: next.chunks(TOGETHER), from: 0 };
    let of_places = CellParts { rest: &mut places, ends: next.chunks(TOGETHER), from: 0 };
    let parts: Vec<_> = of_numbers.zip(of_places).collect();
    parts.into_par_iter().for_each_init(
        Vec::new,
        |buffer: &mut Vec<u128>, ((numbers, ends), (places, _))| {
            let mut from = 0;
            for end in ends.iter() {
                let (numbers, places) = (&mut numbers[from..end], &mut places[from..end]);
                buffer.clear();
                buffer.extend(numbers.iter().zip(&*places).map(|(x, at)| joined(*x, *at)));
                buffer.sort_unstable();
                for ((number, place), item) in numbers.iter_mut().zip(places).zip(&*buffer) {
                    (*number, *place) = parted(*item);
                }
                from = end;
            }
        },
    );
    (sorted, places)
}

/// A number and its place as one number that has their order.
fn joined(x: f64, place: u32) -> u128 {
    u128::from(key(x)) << 32 | u128::from(place)
}

fn parted(item: u128) -> (f64, u32) {
    (number((item >> 32) as u64), item as u32)
}

/// The numbers in ascending order.
pub(crate) fn ascending(values: &[f64]) -> Vec<f64> {
    let mut sorted = match KeyCells::of(values) {
        None => {
            let mut all: Vec<u64> = values.iter().map(|x| key(*x)).collect();
            all.sort_unstable();
            all
        }
        Some(cells) => {
            let mut next = cells.starts(values);
            let mut sorted = vec![0; values.len()];
            for x in values {
                let slot = &mut next[cells.cell(key(*x))];
                sorted[*slot as usize] = key(*x);
                *slot += 1;
            }
            let parts: Vec<_> =
                CellParts { rest: &mut sorted, ends: next.chunks(TOGETHER), from: 0 }.collect();
            parts.into_par_iter().for_each(|(keys, ends)| {
                let mut from = 0;
                for end in ends.iter() {
                    keys[from..end].sort_unstable();
                    from = end;
                }
            });
            sorted
        }
    };
    sorted.drain(..).map(number).collect()
}

/// Takes some cells after the other from what is sorted, with where each of them ends.
struct CellParts<'a, T> {
    rest: &'a mut [T],
    ends: std::slice::Chunks<'a, u32>,
    from: u32,
}

/// Where cells end, counted from where the first begins.
struct CellEnds<'a> {
    ends: &'a [u32],
    from: u32,
}

impl CellEnds<'_> {
    fn iter(&self) -> impl Iterator<Item = usize> {
        self.ends.iter().map(|end| (end - self.from) as usize)
    }
}

impl<'a, T> Iterator for CellParts<'a, T> {
    type Item = (&'a mut [T], CellEnds<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let ends = self.ends.next()?;
        let from = self.from;
        self.from = *ends.last()?;
        let (part, rest) = std::mem::take(&mut self.rest).split_at_mut((self.from - from) as usize);
        self.rest = rest;
        Some((part, CellEnds { ends, from }))
    }
}

/// Replaces each number by its mean rank, as if those of one cell were equal; false, and nothing done, if there are few
/// numbers, or if ranks would lose more than a share `lost` of their variance.
pub(crate) fn rank_by_cells(values: &mut [f64], lost: f64) -> bool {
    let Some(cells) = KeyCells::of(values) else { return false };
    let n = values.len();
    let starts = cells.starts(values);
    let ends = starts.iter().skip(1).copied().chain([n as u32]);
    let cells_of_ranks = || starts.iter().zip(ends.clone()).map(|(start, end)| (*start, end - start));
    // Of n³ / 12, c³ / 12 in each cell of c.
    let cubes: f64 = cells_of_ranks().map(|(_, count)| f64::from(count).powi(3)).sum();
    if cubes > lost * (n as f64).powi(3) {
        return false;
    }
    let rank = |(start, count)| f64::from(start) + 0.5 * (f64::from(count) + 1.0);
    let of_cell: Vec<f64> = cells_of_ranks().map(rank).collect();
    values.iter_mut().for_each(|x| *x = of_cell[cells.cell(key(*x))]);
    true
}

/// How keys are divided into cells.
struct KeyCells {
    least: u64,
    shift: u32,
    count: usize,
}

impl KeyCells {
    /// `None` of few numbers.
    fn of(values: &[f64]) -> Option<KeyCells> {
        if values.len() < MANY {
            return None;
        }
        let stride = values.len() / SAMPLED;
        let mut sample: Vec<u64> = values.iter().step_by(stride).map(|x| key(*x)).collect();
        sample.sort_unstable();
        let (least, most) = (sample[OUTSIDE], sample[sample.len() - 1 - OUTSIDE]);
        let wanted = (values.len() / PER_CELL).next_power_of_two().min(MOST_CELLS);
        let shift = (64 - (most - least).leading_zeros()).saturating_sub(wanted.trailing_zeros());
        Some(KeyCells { least, shift, count: ((most - least) >> shift) as usize + 2 })
    }

    /// Where each cell begins among the numbers of all.
    fn starts(&self, values: &[f64]) -> Vec<u32> {
        let mut starts = vec![0; self.count];
        values.iter().for_each(|x| starts[self.cell(key(*x))] += 1);
        let mut before = 0;
        for slot in &mut starts {
            before += std::mem::replace(slot, before);
        }
        starts
    }

    fn cell(&self, key: u64) -> usize {
        ((key.saturating_sub(self.least) >> self.shift) as usize).min(self.count - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gev, Xoshiro};

    fn agree(values: &[f64]) {
        let mut plain: Vec<(f64, u32)> = values.iter().copied().zip(0..).collect();
        plain.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (sorted, places) = with_places(values);
        assert_eq!(places, plain.iter().map(|item| item.1).collect::<Vec<_>>());
        let bits = |list: &[f64]| list.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&sorted), bits(&plain.iter().map(|item| item.0).collect::<Vec<_>>()));
        assert_eq!(bits(&ascending(values)), bits(&sorted));
    }

    #[test]
    fn numbers_of_any_distribution_are_sorted_as_one_by_one() {
        let mut random = Xoshiro::new(1);
        for n in [0, 1, 2, 100, MANY - 1, MANY, MANY + 1, 70_001] {
            for shape in [-0.8, 0.0, 3.0] {
                let distribution = Gev { location: 0.0, scale: 1.0, shape };
                let values: Vec<f64> = (0..n).map(|_| distribution.sample(&mut random)).collect();
                agree(&values);
                let tied: Vec<f64> = values.iter().map(|x| (20.0 * x).round() / 20.0).collect();
                agree(&tied);
            }
            // One value, two far ones, and numbers that hide behind them.
            agree(&vec![3.5; n]);
            let far: Vec<f64> = (0..n).map(|i| if i % 7 == 0 { 1e300 } else { random.uniform() }).collect();
            agree(&far);
        }
    }

    #[test]
    fn zeros_of_both_signs_and_the_ends_of_the_range_have_their_order() {
        let ends = [0.0, -0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, -5e-324, 5e-324, 1.0];
        let values: Vec<f64> = (0..3 * MANY).map(|i| ends[i * 5 % 8]).collect();
        agree(&values);
    }
}
