//! `lastrank fit --values FROM-TO`: a part of the values by itself.

use std::path::Path;

use anyhow::{Context, bail};
use report::file_argument;

use crate::cli::{FitArgs, TimeUnit};
use crate::values::Values;

/// The values that are wanted. Those of a part are values like any others: what a run knows of each rank is of all.
pub fn of(args: &FitArgs, mut values: Values) -> anyhow::Result<Values> {
    let Some(text) = &args.values else { return Ok(values) };
    if args.by.is_some() || args.block.is_some() || !args.covariate.is_empty() {
        bail!("--values is of a part by itself; --by, --block and --covariate look at all values");
    }
    cut(&mut values, text)?;
    values.subject = None;
    Ok(values)
}

/// Leaves the values of a part, as `--values` names it.
pub fn cut(values: &mut Values, text: &str) -> anyhow::Result<()> {
    let (from, to) = ends(text).with_context(|| {
        format!("--values {text}: the first and the last value, counted from 1, such as 1-227 or 228-")
    })?;
    let n = values.numbers.len();
    let to = to.unwrap_or(n);
    if from > to || to > n {
        bail!("--values {text}: {} has the values 1 to {n}", values.name);
    }
    values.numbers = values.numbers[from - 1..to].to_vec();
    values.takers = values.takers.get(from - 1..to).unwrap_or_default().to_vec();
    values.name += &format!(", values {from} to {to}");
    Ok(())
}

fn ends(text: &str) -> Option<(usize, Option<usize>)> {
    let (from, to) = text.split_once('-')?;
    let from = from.trim().parse().ok().filter(|from| *from > 0)?;
    match to.trim() {
        "" => Some((from, None)),
        to => Some((from, Some(to.parse().ok()?))),
    }
}

/// The words that fit the same values again, to which `--values` is added; none where that cannot be typed again.
pub fn again(args: &FitArgs) -> Vec<String> {
    if args.file == Path::new("-") || args.values.is_some() || args.block.is_some() {
        return Vec::new();
    }
    let mut words = vec!["lastrank".into(), "fit".into(), file_argument(&args.file.to_string_lossy())];
    let mut add = |option: &str, value: Option<&str>| {
        if let Some(value) = value {
            words.push(format!("{option}={value}"));
        }
    };
    add("--column", args.choice.column());
    add("--of", args.choice.label.as_deref());
    add(
        "--unit",
        args.choice.unit.map(|unit| match unit {
            TimeUnit::Ns => "ns",
            TimeUnit::Us => "us",
            TimeUnit::Ms => "ms",
            TimeUnit::S => "s",
        }),
    );
    if args.choice.gate {
        words.push("--gate".into());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_named_by_its_ends() {
        assert_eq!(ends("1-227"), Some((1, Some(227))));
        assert_eq!(ends("228-"), Some((228, None)));
        for wrong in ["", "5", "0-3", "a-b", "-4", "1-2-3"] {
            assert_eq!(ends(wrong), None, "{wrong}");
        }
    }
}
