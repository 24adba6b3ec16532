//! Keeps a JSON document at the size of an answer, whatever the number of ranks: of what has an entry for each rank only the
//! slowest ranks stay, and of series coarse bins; of rows that the answer is not about the slowest rank and a few bins.
//! `--with ranks` has all.

use serde_json::{Value, json};

/// Ranks that stay: the slowest, in the order of their numbers.
const MOST_RANKS: usize = 4;

/// Rows of a table that stay, the first.
const MOST_ROWS: usize = 24;

/// Bins of a series that stay: of a row that the answer is about, and of the others.
const MOST_BINS: [usize; 2] = [20, 5];

/// Bounds a document of `Report::json`; `answer` are the rows that the answer is about.
pub(crate) fn bound(document: &mut Value, answer: &[usize]) {
    for (at, row) in list(document.get_mut("results")).enumerate() {
        let about = answer.contains(&at);
        let median = |rank: &Value| rank["quantiles_seconds"]["p50"].as_f64().unwrap_or(0.0);
        keep(row.get_mut("per_rank"), if about { MOST_RANKS } else { 1 }, median);
        if let Some(series) = row.get_mut("series").filter(|series| series.is_object()) {
            coarsen(series, MOST_BINS[usize::from(!about)]);
        }
    }
    keep(document.get_mut("time"), MOST_RANKS, |rank| rank["wall_s"].as_f64().unwrap_or(0.0));
    if let Some(facts) = document.get_mut("facts") {
        keep(facts.get_mut("spans"), MOST_RANKS, |span| span["end_ns"].as_f64().unwrap_or(0.0));
        // By the place in each list a reader knows the rank, so there is no part of it.
        let large = |one: &Value| one.as_array().is_some_and(|ranks| ranks.len() > MOST_RANKS);
        if let Some(offsets) = facts.get_mut("clock_offsets").and_then(Value::as_array_mut)
            && offsets.iter().any(large)
        {
            offsets.clear();
        }
        // Nodes have them with their ranks.
        let has_nodes = facts.get("nodes").and_then(Value::as_array).is_some_and(|nodes| !nodes.is_empty());
        if let Some(hosts) = facts.get_mut("hosts").filter(|hosts| has_nodes && large(hosts)) {
            *hosts = json!([]);
        }
    }
    if let Some(found) = document.get_mut("targets").filter(|found| found.is_object()) {
        found["ln_k"] = json!([]);
        keep(found.get_mut("targets"), MOST_RANKS, |one| one["relative"].as_f64().unwrap_or(0.0));
    }
    for chapter in list(document.get_mut("chapters")) {
        for table in list(chapter.get_mut("tables")) {
            let Some(rows) = table.get_mut("rows").and_then(Value::as_array_mut) else { continue };
            let left_out = rows.len().saturating_sub(MOST_ROWS);
            rows.truncate(MOST_ROWS);
            if left_out > 0 {
                table["rows_left_out"] = left_out.into();
            }
        }
    }
}

fn list(value: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    value.and_then(Value::as_array_mut).into_iter().flatten()
}

/// Keeps of more than [`MOST_RANKS`] entries the `most` whose `weight` is largest, in the order in which they are.
fn keep(value: Option<&mut Value>, most: usize, weight: impl Fn(&Value) -> f64) {
    let Some(entries) = value.and_then(Value::as_array_mut).filter(|entries| entries.len() > MOST_RANKS)
    else {
        return;
    };
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|a, b| weight(&entries[*b]).total_cmp(&weight(&entries[*a])));
    let mut kept = order[..most].to_vec();
    kept.sort_unstable();
    *entries = kept.into_iter().map(|at| entries[at].take()).collect();
}

/// Makes one bin of several, so that sums stay what they are. The last bin may be of fewer.
fn coarsen(series: &mut Value, most: usize) {
    let bins = series["operations"].as_array().map_or(0, Vec::len);
    let each = bins.div_ceil(most);
    if each < 2 {
        return;
    }
    let Some(fields) = series.as_object_mut() else { return };
    if let Some(bin) = fields.get("bin_seconds").and_then(Value::as_f64) {
        fields.insert("bin_seconds".into(), json!(bin * each as f64));
    }
    for (name, values) in fields {
        let Some(values) = values.as_array_mut() else { continue };
        *values = values.chunks(each).map(|part| joined(name, part)).collect();
    }
}

fn joined(name: &str, part: &[Value]) -> Value {
    if part.iter().all(Value::is_u64) {
        return json!(part.iter().filter_map(Value::as_u64).sum::<u64>());
    }
    let numbers = part.iter().filter_map(Value::as_f64);
    match name {
        "longest_seconds" => json!(numbers.fold(0.0, f64::max)),
        "depth" => json!(numbers.sum::<f64>() / part.len() as f64),
        _ => json!(numbers.sum::<f64>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Report, ReportOptions, With, build};

    fn report(ranks: u32) -> Report {
        let mut options = ReportOptions::default();
        options.fit.bootstrap = 0;
        build(&samples::example::parallel_write(ranks, 200, 3), &options)
    }

    fn size(value: &Value) -> usize {
        serde_json::to_string_pretty(value).expect("a document").len()
    }

    #[test]
    fn a_document_is_of_one_size_whatever_the_number_of_ranks() {
        let [few, many] = [16, 64].map(|ranks| size(&report(ranks).json(With::default())));
        assert!(many < few + few / 10, "{few} and {many} bytes");
    }

    #[test]
    fn what_stays_are_the_slowest_ranks_and_the_sums() {
        let report = report(16);
        let (all, found) = (report.json(With::ALL), report.json(With::default()));
        let rows = |document: &Value| document["results"].as_array().expect("rows").clone();
        for (all, found) in rows(&all).iter().zip(&rows(&found)) {
            let medians = |row: &Value| -> Vec<f64> {
                let ranks = row["per_rank"].as_array().expect("ranks");
                ranks
                    .iter()
                    .map(|rank| rank["quantiles_seconds"]["p50"].as_f64().expect("a median"))
                    .collect()
            };
            let (mut wanted, mut kept) = (medians(all), medians(found));
            let about = found["operation"] == "fwrite";
            assert_eq!((wanted.len(), kept.len()), (16, if about { MOST_RANKS } else { 1 }));
            wanted.sort_by(|a, b| b.total_cmp(a));
            kept.sort_by(|a, b| b.total_cmp(a));
            assert_eq!(wanted[..kept.len()], kept);
            let sum = |row: &Value, name: &str| -> f64 {
                row["series"][name].as_array().into_iter().flatten().filter_map(Value::as_f64).sum()
            };
            for name in ["operations", "bytes", "completed", "errors"] {
                let (wanted, found) = (sum(all, name), sum(found, name));
                assert!((wanted - found).abs() <= 1e-6 * wanted, "{name}: {wanted} and {found}");
            }
            let most = MOST_BINS[usize::from(!about)];
            assert!(found["series"]["depth"].as_array().is_none_or(|bins| bins.len() <= most));
        }
    }

    #[test]
    fn tables_that_repeat_fields_come_where_they_are_asked_for() {
        let report = report(16);
        let tables = |with: With| -> Vec<(usize, Option<u64>)> {
            let document = report.json(with);
            let chapters = document["chapters"].as_array().expect("chapters").clone();
            let rows = |chapter: &Value| chapter["tables"].as_array().expect("tables").len();
            chapters.iter().map(|chapter| (rows(chapter), chapter["tables_left_out"].as_u64())).collect()
        };
        let all = tables(With { tables: true, ..With::default() });
        let found = tables(With::default());
        assert_eq!(all.len(), found.len());
        assert!(all.iter().all(|(_, left_out)| left_out.is_none()));
        for ((all, _), (there, left_out)) in all.iter().zip(&found) {
            assert_eq!(*all as u64, *there as u64 + left_out.unwrap_or(0));
        }
        assert!(found.iter().filter(|(_, left_out)| left_out.is_some()).count() >= 4, "{found:?}");
    }
}
