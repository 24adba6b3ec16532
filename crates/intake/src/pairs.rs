//! Lines that name their numbers, as programs log them: `open=0.000047 write=11.167`, `open: 0.000047, write: 11.167`.

use crate::error::listed;

/// Fewest numbers of such a line: `name: 5` alone may be anything.
const FEWEST: usize = 2;

/// Names and numbers of a line, each name before its number; `None` of another line.
pub(crate) fn of(line: &str) -> Option<Vec<(&str, &str)>> {
    if !line.contains(['=', ':']) {
        return None;
    }
    let words: Vec<&str> = line
        .split(|c: char| c.is_whitespace() || matches!(c, '=' | ':' | ',' | ';'))
        .filter(|word| !word.is_empty())
        .collect();
    let is_pair = |pair: &[&str]| pair[0].parse::<f64>().is_err() && pair[1].parse::<f64>().is_ok();
    let whole = words.len().is_multiple_of(2) && words.len() >= 2 * FEWEST;
    (whole && words.chunks(2).all(is_pair)).then(|| words.chunks(2).map(|pair| (pair[0], pair[1])).collect())
}

/// The name that is wanted: by name, else by place.
///
/// # Errors
/// A text that lists the names, where none is wanted or there is no such one.
pub(crate) fn choose(pairs: &[(&str, &str)], wanted: Option<&str>) -> Result<String, String> {
    let listed = || listed(pairs.iter().map(|(name, _)| *name));
    let Some(wanted) = wanted else { return Err(format!("choose one of its columns: {}", listed())) };
    let found = pairs.iter().position(|(name, _)| *name == wanted).or_else(|| place(wanted, pairs.len()));
    found
        .map(|at| pairs[at].0.to_owned())
        .ok_or_else(|| format!("it has no column `{wanted}`; its columns are {}", listed()))
}

/// The place that `#2` or `2` means among so many columns, from 0.
pub(crate) fn place(wanted: &str, columns: usize) -> Option<usize> {
    let number = wanted.strip_prefix('#').unwrap_or(wanted);
    number.parse().ok().filter(|n| (1..=columns).contains(n)).map(|n: usize| n - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NumberLines, Wanted};

    const LOG: [&str; 2] =
        ["alloc=0.000009 open=0.000047 write=11.167 total=11.2", "alloc=1e-5 open=5e-5 write=12.5 total=13"];

    #[test]
    fn numbers_are_chosen_by_the_name_before_them() {
        let read = |wanted: &str, lines: &[&str]| -> Vec<f64> {
            let mut numbers = NumberLines::new(&Wanted::column(Some(wanted)), "log");
            lines.iter().filter_map(|line| numbers.number(line).expect("numbers")).collect()
        };
        assert_eq!(read("write", &LOG), [11.167, 12.5]);
        assert_eq!(read("4", &LOG), [11.2, 13.0]);
        assert_eq!(read("open", &["# a run", "alloc: 1, open: 2.5; write: 3"]), [2.5]);
    }

    #[test]
    fn what_is_not_named_is_told_with_the_names_that_are() {
        let error = |wanted: Option<&str>, line: &str| {
            NumberLines::new(&Wanted::column(wanted), "log").number(line).expect_err("an error").to_string()
        };
        assert!(error(None, LOG[0]).contains("choose one of its columns: `alloc`, `open`, `write`, `total`"));
        assert!(error(Some("sync"), LOG[0]).contains("no column `sync`"));
        let mut numbers = NumberLines::new(&Wanted::column(Some("open")), "log");
        assert_eq!(numbers.number(LOG[0]), Ok(Some(0.000047)));
        assert!(numbers.number("alloc=1 write=2").is_err());
        assert_eq!(numbers.number(LOG[1]), Ok(Some(5e-5)), "a bad line spoils no other");
    }

    #[test]
    fn other_lines_are_left_alone() {
        for line in ["a,1.5", "1 2 3", "node: 5", "10:30:01 1.5", "time=slow x=2", "2016-05-01T10:00:00,3"] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
