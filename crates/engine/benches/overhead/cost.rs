//! What an operation costs: nanoseconds of the median and of the quiet quarter, instructions, cycles.

use std::time::Instant;

use super::BLOCK_OF;
use super::counters::Counters;

/// The cost of one operation.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Of the median block, in ns.
    pub median_ns: f64,
    /// The mean of the quickest quarter of all blocks, in ns.
    pub quiet_ns: f64,
    /// As [`super::counters::COUNTED`]; `None` where the machine shows no counters.
    pub counts: Option<[f64; 4]>,
}

impl Cost {
    /// From the time of an operation in each block.
    pub fn of_blocks(mut blocks: Vec<f64>) -> Self {
        blocks.sort_by(f64::total_cmp);
        let quiet = &blocks[..blocks.len().div_ceil(4)];
        let quiet_ns = quiet.iter().sum::<f64>() / quiet.len() as f64;
        Self { median_ns: blocks[blocks.len() / 2], quiet_ns, counts: None }
    }

    /// Of so many turns of `turn`, which is given its number: the same measure for all.
    pub fn of_turns(turns: u64, mut turn: impl FnMut(u64)) -> Self {
        let mut counters = Counters::open().ok();
        let begin = counters.as_mut().map(Counters::read);
        let mut blocks = Vec::with_capacity((turns / BLOCK_OF) as usize);
        for block in 0..turns / BLOCK_OF {
            let begin = Instant::now();
            (block * BLOCK_OF..(block + 1) * BLOCK_OF).for_each(&mut turn);
            blocks.push(begin.elapsed().as_nanos() as f64 / BLOCK_OF as f64);
        }
        let done = blocks.len() as u64 * BLOCK_OF;
        let counts = counters.zip(begin).map(|(mut counters, begin)| {
            let end = counters.read();
            std::array::from_fn(|at| (end[at] - begin[at]) as f64 / done as f64)
        });
        Self { counts, ..Self::of_blocks(blocks) }
    }

    /// The median of each number over the rounds.
    pub fn of_rounds(rounds: &[Cost]) -> Self {
        let median = |of: &dyn Fn(&Cost) -> f64| {
            let mut values: Vec<f64> = rounds.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let counted = rounds.iter().all(|round| round.counts.is_some());
        let counts = counted.then(|| {
            std::array::from_fn(|at| median(&|round| round.counts.map_or(0.0, |counts| counts[at])))
        });
        Self {
            median_ns: median(&|round| round.median_ns),
            quiet_ns: median(&|round| round.quiet_ns),
            counts,
        }
    }

    /// In one line, for another process.
    pub fn to_line(self) -> String {
        let counts = self.counts.map(|counts| counts.map(|count| count.to_string()).join(" "));
        format!("{} {} {}\n", self.median_ns, self.quiet_ns, counts.unwrap_or_default())
    }

    /// From such a line.
    pub fn of_line(line: &str) -> Option<Self> {
        let numbers: Vec<f64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let (&[median_ns, quiet_ns], counts) = numbers.split_first_chunk()?;
        Some(Self { median_ns, quiet_ns, counts: counts.try_into().ok() })
    }
}
