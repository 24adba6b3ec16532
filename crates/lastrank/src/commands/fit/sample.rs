//! Makes the fitted sample: all values, or the maxima of blocks of them.

use anyhow::{Context, anyhow, bail};
use serde::Serialize;
use tail::Series;

use crate::cli::{FitArgs, Model};
use crate::values::Values;

/// What a law of maxima is fitted to.
pub struct FittedSample {
    /// The values, or one maximum a block, in time order.
    pub numbers: Vec<f64>,
    /// The rank that took each, where ranks took them in turns; else empty, as of maxima of blocks.
    pub takers: Vec<u32>,
    /// Which value of the input each of them is.
    pub index: Vec<usize>,
    /// How they were made of blocks, where they were.
    pub blocks: Option<Blocks>,
    /// All values of each block.
    pub members: Vec<Vec<f64>>,
}

/// How values were put into blocks.
#[derive(Clone, Serialize)]
pub struct Blocks {
    /// Values a block, where blocks have as many each.
    pub values: Option<usize>,
    /// Seconds a block, where blocks are of time.
    pub seconds: Option<f64>,
    /// Whether the values of one step on all ranks are a block.
    pub steps: bool,
    /// Number of blocks.
    pub count: usize,
    /// Values at the end that fill no block and are left out.
    pub left_over: usize,
}

/// What `--block` says.
enum Length {
    Values(usize),
    Seconds(f64),
}

impl FittedSample {
    /// Puts values into blocks where that is asked for.
    pub fn of(args: &FitArgs, values: &Values) -> anyhow::Result<FittedSample> {
        match (&args.block, args.model) {
            (Some(text), _) => {
                if let Some(parts) = values.parts().filter(|_| args.model == Model::RLargest) {
                    bail!("--block: each step of {parts} ranks is a block already");
                }
                in_blocks(text, values)
            }
            (None, Model::RLargest) => of_steps(values),
            (None, _) => Ok(FittedSample {
                numbers: values.numbers.clone(),
                takers: values.takers.clone(),
                index: (0..values.numbers.len()).collect(),
                blocks: None,
                members: Vec::new(),
            }),
        }
    }
}

impl FittedSample {
    /// The numbers with who took them.
    pub fn series(&self) -> Series {
        Series::taken_by(&self.numbers, &self.takers)
    }
}

/// `100`, `10s`, `500ms`.
fn length(text: &str) -> anyhow::Result<Length> {
    let wrong = || anyhow!("--block {text}: a number of values of at least 2 (100), or a time (10s, 500ms)");
    if let Ok(count) = text.trim().parse::<usize>() {
        return if count >= 2 { Ok(Length::Values(count)) } else { Err(wrong()) };
    }
    let seconds = super::threshold::time(text).filter(|seconds| *seconds > 0.0).ok_or_else(wrong)?;
    Ok(Length::Seconds(seconds))
}

fn in_blocks(text: &str, values: &Values) -> anyhow::Result<FittedSample> {
    let n = values.numbers.len();
    // The block of each value, and how many blocks are whole.
    let (blocks, of_value) = match length(text)? {
        Length::Values(size) => {
            let count = n / size;
            let blocks = Blocks {
                values: Some(size),
                seconds: None,
                steps: false,
                count,
                left_over: n - count * size,
            };
            (blocks, (0..n).map(|i| i / size).collect::<Vec<_>>())
        }
        Length::Seconds(seconds) => {
            let subject = values.subject.as_ref().with_context(|| {
                format!("--block {text}: {} holds no times; give a number of values", values.name)
            })?;
            let start = subject.steps.iter().map(|step| step.start_s).fold(f64::INFINITY, f64::min);
            let of: Vec<usize> =
                subject.steps.iter().map(|step| ((step.start_s - start) / seconds) as usize).collect();
            // The last block may have been cut off by the end of the run.
            let count = of.iter().copied().max().unwrap_or(0);
            let left_over = of.iter().filter(|block| **block >= count).count();
            (Blocks { values: None, seconds: Some(seconds), steps: false, count, left_over }, of)
        }
    };
    if blocks.count == 0 {
        bail!("--block {text} is longer than all {n} values of {}: choose a shorter one", values.name);
    }
    let mut members = vec![Vec::new(); blocks.count];
    let mut largest: Vec<Option<usize>> = vec![None; blocks.count];
    for (i, (&value, &block)) in values.numbers.iter().zip(&of_value).enumerate() {
        if block >= blocks.count {
            continue;
        }
        members[block].push(value);
        if largest[block].is_none_or(|at| value > values.numbers[at]) {
            largest[block] = Some(i);
        }
    }
    members.retain(|block: &Vec<f64>| !block.is_empty());
    let index: Vec<usize> = largest.into_iter().flatten().collect();
    let count = index.len();
    if count < tail::assess::FEWEST {
        bail!(
            "--block {text} makes {count} blocks of {}; at least {} are needed: choose a shorter one",
            values.name,
            tail::assess::FEWEST
        );
    }
    Ok(FittedSample {
        numbers: index.iter().map(|i| values.numbers[*i]).collect(),
        takers: Vec::new(),
        index,
        blocks: Some(Blocks { count, ..blocks }),
        members,
    })
}

/// Each step of a gate with the values of all its ranks.
fn of_steps(values: &Values) -> anyhow::Result<FittedSample> {
    let subject = values.subject.as_ref().filter(|subject| subject.gate && subject.ranks.len() > 1);
    let subject = subject.ok_or_else(|| {
        anyhow!("--model r-largest takes the largest of each block: say with --block how long one is, or give a gate")
    })?;
    let steps = subject.steps.len();
    Ok(FittedSample {
        numbers: values.numbers.clone(),
        takers: Vec::new(),
        index: (0..steps).collect(),
        blocks: Some(Blocks {
            values: Some(subject.ranks.len()),
            seconds: None,
            steps: true,
            count: steps,
            left_over: 0,
        }),
        members: (0..steps).map(|t| subject.of_rank.iter().map(|rank| rank[t]).collect()).collect(),
    })
}
