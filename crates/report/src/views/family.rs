//! Families of places: labels that differ in a size or a number only.

use std::collections::BTreeMap;

use super::Place;

/// Fewest different sizes that make a curve.
const FEWEST: usize = 3;
/// Fewest samples of a size.
const FEWEST_SAMPLES: usize = 10;
/// Words before a number that say nothing of what it counts: `read by 4`.
const PREPOSITIONS: [&str; 8] = ["at", "by", "from", "in", "of", "on", "to", "with"];

/// Places of one operation whose labels differ in one number only: `local 64`, `local 256`, ….
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SizeFamily {
    /// The label without the number, and the operation: `local / fwrite`.
    pub name: String,
    /// The operation.
    pub operation: String,
    /// What the number is.
    pub axis: Axis,
    /// Sizes, ascending, each with the index of its place.
    pub members: Vec<(f64, usize)>,
}

/// What the number in a label counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// Bytes that one operation moves.
    Transfer,
    /// Bytes of what it works on: a working set, a file, the memory of a process.
    Bytes,
    /// Something else, by the word before it: `depth`.
    Count(String),
}

/// A number with a unit of size or none: the value, and whether there was a unit.
pub(crate) fn size(word: &str) -> Option<(f64, bool)> {
    let digits = word.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(word.len());
    let number: f64 = word[..digits].parse().ok()?;
    let factor = match &word[digits..] {
        "" => return Some((number, false)),
        "B" => 1.0,
        "k" | "K" | "KiB" => 1024.0,
        "m" | "M" | "MiB" => 1024f64.powi(2),
        "g" | "G" | "GiB" => 1024f64.powi(3),
        "TiB" => 1024f64.powi(4),
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        _ => return None,
    };
    Some((number * factor, true))
}

/// All families of the operations of a run, in the order of their first places.
pub(crate) fn all(places: &[Place]) -> Vec<SizeFamily> {
    struct Found {
        first: usize,
        word_before: String,
        with_unit: bool,
        members: Vec<(f64, usize)>,
    }
    let mut found: BTreeMap<(String, String, u32), Found> = BTreeMap::new();
    let usable = |place: &Place| place.is_operation() && place.sorted.len() >= FEWEST_SAMPLES;
    for (index, place) in places.iter().enumerate().filter(|(_, place)| usable(place)) {
        let words: Vec<&str> = place.label.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let Some((at, (value, with_unit))) =
            words.iter().enumerate().find_map(|(at, word)| Some((at, size(word)?)))
        else {
            continue;
        };
        let rest: Vec<&str> =
            words.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, word)| *word).collect();
        let family =
            found.entry((rest.join(" "), place.operation.clone(), place.line)).or_insert_with(|| Found {
                first: index,
                word_before: at.checked_sub(1).map_or("", |before| words[before]).into(),
                with_unit: true,
                members: Vec::new(),
            });
        family.with_unit &= with_unit;
        family.members.push((value, index));
    }
    let mut families: Vec<(usize, SizeFamily)> = found
        .into_iter()
        .filter_map(|((rest, operation, line), mut found)| {
            found.members.sort_by(|a, b| a.0.total_cmp(&b.0));
            found.members.dedup_by(|a, b| a.0 == b.0);
            if found.members.len() < FEWEST {
                return None;
            }
            let moved = |(bytes, place): &(f64, usize)| places[*place].bytes_each == Some(*bytes as u64);
            let axis = if found.members.iter().all(moved) {
                Axis::Transfer
            } else if found.with_unit {
                Axis::Bytes
            } else {
                let word = found.word_before;
                let is_name = !word.is_empty() && !PREPOSITIONS.contains(&word.as_str());
                Axis::Count(if is_name { word } else { "number".into() })
            };
            // Without its number a preposition at the end has nothing to be before.
            let rest = match rest.rsplit_once(' ') {
                Some((name, last)) if PREPOSITIONS.contains(&last) => name,
                _ => &rest,
            };
            let name = match rest {
                "" => operation.clone(),
                rest if rest == operation => operation.clone(),
                rest => format!("{rest} / {operation}"),
            };
            let is_ambiguous = found.members.iter().any(|(_, place)| places[*place].is_ambiguous);
            let name = if is_ambiguous { format!("{name}, line {line}") } else { name };
            Some((found.first, SizeFamily { name, operation, axis, members: found.members }))
        })
        .collect();
    families.sort_by_key(|(first, _)| *first);
    families.into_iter().map(|(_, family)| family).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::{Run, Sample, Site};

    fn places(labels: &[(&str, &str, u64)]) -> Vec<Place> {
        let mut run = Run::default();
        for (index, (label, operation, bytes)) in labels.iter().enumerate() {
            let labels = vec![(*label).to_string()];
            run.sites.push(Site { labels, operation: (*operation).into(), line: 3, ..Site::default() });
            let sample =
                Sample { site: index as u32, bytes: *bytes, batch: 1, duration_ps: 7, ..Sample::default() };
            run.samples.extend([sample; FEWEST_SAMPLES]);
        }
        Place::all(&run)
    }

    #[test]
    fn labels_that_differ_in_a_size_are_one_curve() {
        let found = all(&places(&[
            ("local 64", "fwrite", 64),
            ("local 4096", "fwrite", 4096),
            ("local 1024", "fwrite", 1024),
            ("local fill", "fwrite", 9),
            ("memory 1KiB single", "chase", 0),
            ("memory 1MiB single", "chase", 0),
            ("memory 1GB single", "chase", 0),
            ("fork of 1MiB", "fork", 0),
            ("fork of 4MiB", "fork", 0),
            ("fork of 16MiB", "fork", 0),
            ("depth 1", "fread", 4096),
            ("depth 8", "fread", 4096),
            ("depth 64", "fread", 4096),
            ("read by 1", "stream", 1 << 24),
            ("read by 2", "stream", 1 << 24),
            ("read by 4", "stream", 1 << 24),
        ]));
        let seen: Vec<_> = found
            .iter()
            .map(|family| {
                (family.name.as_str(), &family.axis, family.members.iter().map(|m| m.0).collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("local / fwrite", &Axis::Transfer, vec![64.0, 1024.0, 4096.0]),
                ("memory single / chase", &Axis::Bytes, vec![1024.0, 1048576.0, 1e9]),
                ("fork", &Axis::Bytes, vec![1048576.0, 4194304.0, 16777216.0]),
                ("depth / fread", &Axis::Count("depth".into()), vec![1.0, 8.0, 64.0]),
                ("read / stream", &Axis::Count("number".into()), vec![1.0, 2.0, 4.0]),
            ]
        );
    }

    #[test]
    fn sizes_with_a_few_observations_have_no_median_in_a_curve() {
        let mut run = Run::default();
        for (site, count) in [1, 1, FEWEST_SAMPLES - 1, FEWEST_SAMPLES, 50, 20].into_iter().enumerate() {
            let labels = vec![format!("local {}", 64 << site)];
            run.sites.push(Site { labels, operation: "fwrite".into(), line: 3, ..Site::default() });
            let sample = Sample { site: site as u32, batch: 1, duration_ps: 7, ..Sample::default() };
            run.samples.extend(vec![sample; count]);
        }
        let found = all(&Place::all(&run));
        let sizes: Vec<f64> = found[0].members.iter().map(|member| member.0).collect();
        assert_eq!((found.len(), sizes), (1, vec![512.0, 1024.0, 2048.0]));
        run.samples.dedup_by_key(|sample| sample.site);
        assert_eq!(all(&Place::all(&run)), []);
    }

    #[test]
    fn two_sizes_are_no_curve_and_words_are_no_sizes() {
        assert_eq!(all(&places(&[("a 1", "stat", 0), ("a 2", "stat", 0), ("4x 3y", "stat", 0)])), []);
        assert_eq!(
            [size("10GB"), size("1.5k"), size("64"), size("x9"), size("1MiBs")],
            [Some((1e10, true)), Some((1536.0, true)), Some((64.0, false)), None, None]
        );
    }
}
