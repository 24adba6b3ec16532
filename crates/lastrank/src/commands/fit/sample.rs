//! Makes the fitted sample: all values, or the maxima of blocks of them.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use intake::Wanted;
use serde::Serialize;
use tail::Series;

use crate::cli::{FitArgs, Model};
use crate::values::Values;

/// What a distribution of maxima is fitted to.
pub struct FittedSample {
    /// The values, or one maximum a block, in time order.
    pub numbers: Vec<f64>,
    /// The rank that took each, where ranks took them in turns; else empty, as of maxima of blocks.
    pub takers: Vec<u32>,
    /// Which value of the input each of them is; empty where they are all, in order.
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
    /// How long a block of dates is, as it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<String>,
    /// Blocks of dates that hold no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty: Option<usize>,
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
                in_blocks(args, text, values)
            }
            (None, Model::RLargest) => of_steps(values),
            (None, _) => Ok(FittedSample {
                numbers: values.numbers.clone(),
                takers: values.takers.clone(),
                index: Vec::new(),
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
    let wrong = || {
        anyhow!(
            "--block {text}: a number of values of at least 2 (100), or a time (10s, 1h, 1d, '1 week', '1 year')"
        )
    };
    if let Ok(count) = text.trim().parse::<usize>() {
        return if count >= 2 { Ok(Length::Values(count)) } else { Err(wrong()) };
    }
    let seconds = super::threshold::time(text).or_else(|| long_time(text));
    let seconds = seconds.filter(|seconds| *seconds > 0.0 && seconds.is_finite()).ok_or_else(wrong)?;
    Ok(Length::Seconds(seconds))
}

/// Seconds of `1h`, `30 min`, `1 day`, `1 year`: a year has 365.2425 days, and a month a twelfth of them.
fn long_time(text: &str) -> Option<f64> {
    let text = text.trim();
    let at = text.find(|sign: char| sign.is_ascii_alphabetic())?;
    let number: f64 = match text[..at].trim() {
        "" => 1.0,
        number => number.parse().ok()?,
    };
    let days = match &text[at..] {
        "min" | "minute" | "minutes" => 1.0 / 1440.0,
        "h" | "hour" | "hours" => 1.0 / 24.0,
        "d" | "day" | "days" | "D" => 1.0,
        "w" | "week" | "weeks" => 7.0,
        "month" | "months" => 365.2425 / 12.0,
        "y" | "year" | "years" => 365.2425,
        _ => return None,
    };
    Some(number * days * 86_400.0)
}

/// Blocks of time of values with dates, from the first date on. The last one counts if the values reach its end but for
/// about the time from one to the next.
fn of_dates(
    args: &FitArgs,
    text: &str,
    seconds: f64,
    values: &Values,
) -> anyhow::Result<(Blocks, Vec<usize>)> {
    if args.file == Path::new("-") {
        bail!("--block {text}: standard input is read once, for the numbers; name a file");
    }
    let wanted = Wanted { beside: args.dates.clone(), dates: true, ..args.choice.wanted() };
    let texts = intake::read(&args.file, &wanted).with_context(|| {
        format!(
            "--block {text} is a time, and needs a date of each value; without dates give a number of values"
        )
    })?;
    let texts = texts.beside;
    if args.dates.is_none() && texts.iter().all(String::is_empty) {
        bail!("--block {text}: --dates says where in {} the date of each value is", values.name);
    }
    let days: Vec<f64> =
        texts.iter().map(|text| intake::moment(text)).collect::<Option<_>>().with_context(|| {
            let wrong = texts.iter().find(|text| intake::moment(text).is_none());
            format!("--block {text}: `{}` is no date", samples::visible(wrong.map_or("", |wrong| wrong)))
        })?;
    let n = values.numbers.len();
    if days.len() != n || n < 2 {
        bail!(
            "--block {text}: {} dates for {n} values of {}; one for each is needed",
            days.len(),
            values.name
        );
    }
    let first = days.iter().copied().fold(f64::INFINITY, f64::min);
    let last = days.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let long = seconds / 86_400.0;
    // Dates differ by rounding from those that were written.
    let place = |day: f64| ((day - first) / long + 1e-9) as usize;
    let (of, end) = (days.iter().map(|day| place(*day)).collect::<Vec<_>>(), place(last));
    if end >= MOST_BLOCKS {
        bail!(
            "--block {text}: {} days make more than {MOST_BLOCKS} blocks: choose a longer one",
            (last - first).round()
        );
    }
    let step = (last - first) / (n - 1) as f64;
    let is_whole = last + 1.5 * step >= first + (end + 1) as f64 * long;
    let count = if is_whole { end + 1 } else { end };
    let left_over = of.iter().filter(|block| **block >= count).count();
    let mut held = vec![false; count];
    of.iter().filter(|block| **block < count).for_each(|block| held[*block] = true);
    let empty = Some(held.iter().filter(|held| !**held).count());
    let length = Some(text.trim().to_owned());
    Ok((Blocks { values: None, seconds: Some(seconds), steps: false, count, left_over, length, empty }, of))
}

/// Most blocks of dates: of whole numbers that are no dates there would be billions.
const MOST_BLOCKS: usize = 10_000_000;

fn in_blocks(args: &FitArgs, text: &str, values: &Values) -> anyhow::Result<FittedSample> {
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
                length: None,
                empty: None,
            };
            (blocks, (0..n).map(|i| i / size).collect::<Vec<_>>())
        }
        Length::Seconds(seconds) if values.subject.is_none() => of_dates(args, text, seconds, values)?,
        Length::Seconds(seconds) => {
            let subject = values.subject.as_ref().context("a run has its times")?;
            if args.dates.is_some() {
                bail!("--dates is for tables; {} is a run, whose times are known", values.name);
            }
            let start = subject.steps.iter().map(|step| step.start_s).fold(f64::INFINITY, f64::min);
            let of: Vec<usize> =
                subject.steps.iter().map(|step| ((step.start_s - start) / seconds) as usize).collect();
            // The last block may have been cut off by the end of the run.
            let count = of.iter().copied().max().unwrap_or(0);
            let left_over = of.iter().filter(|block| **block >= count).count();
            let blocks = Blocks {
                values: None,
                seconds: Some(seconds),
                steps: false,
                count,
                left_over,
                length: None,
                empty: None,
            };
            (blocks, of)
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
            length: None,
            empty: None,
        }),
        members: (0..steps).map(|t| subject.of_rank.iter().map(|rank| rank[t]).collect()).collect(),
    })
}
