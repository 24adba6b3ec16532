//! The samples of a run as columns, those of the run file and the host.

use std::collections::HashMap;
use std::path::Path;

use samples::{Facts, Sample, Site, SiteKind};

/// Samples by column; all columns are equally long.
pub struct SampleTable {
    /// In the order of the run file, then `host`.
    pub columns: Vec<NamedColumn>,
    /// Rows.
    pub rows: usize,
}

/// A column with its name in the run file.
pub struct NamedColumn {
    pub name: &'static str,
    pub values: ColumnValues,
}

/// The values of a column in one piece of memory.
pub enum ColumnValues {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
    Words(Words),
}

/// A column of texts: an index into a list of different texts for each row.
pub struct Words {
    pub codes: Vec<i32>,
    pub list: WordList,
}

/// Different texts, one after the other.
#[derive(Default)]
pub struct WordList {
    /// Where each begins in `text`, and the end of the last.
    pub offsets: Vec<i32>,
    pub text: String,
}

impl WordList {
    fn of(words: &[String]) -> WordList {
        let mut list = WordList { offsets: vec![0], text: String::new() };
        for word in words {
            list.text.push_str(word);
            list.offsets.push(i32::try_from(list.text.len()).unwrap_or(i32::MAX));
        }
        list
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// All of them.
    pub fn words(&self) -> Vec<String> {
        self.offsets.windows(2).map(|ends| self.text[ends[0] as usize..ends[1] as usize].to_owned()).collect()
    }
}

/// A number of a sample, as the run file has it.
type Number<T> = fn(&Sample) -> T;

/// The columns of numbers, by name.
const NARROW: [(&str, Number<i32>); 6] = [
    ("site", |sample| sample.site as i32),
    ("rank", |sample| sample.rank as i32),
    ("errno", |sample| sample.errno),
    ("batch", |sample| sample.batch as i32),
    ("cpu", |sample| if sample.cpu == u16::MAX { -1 } else { i32::from(sample.cpu) }),
    ("causes", |sample| i32::from(sample.causes)),
];
const WIDE: [(&str, Number<i64>); 6] = [
    ("start_ns", |sample| sample.start_ns as i64),
    ("duration_ps", |sample| sample.duration_ps as i64),
    ("late_ns", |sample| sample.late_ns as i64),
    ("bytes", |sample| sample.bytes as i64),
    ("queue_ns", |sample| sample.queue_ns as i64),
    ("blocked_ns", |sample| i64::from(sample.blocked_ns)),
];

/// The order of the run file; `host` is not in it.
const ORDER: [&str; 18] = [
    "label",
    "operation",
    "kind",
    "line",
    "site",
    "rank",
    "iteration",
    "start_ns",
    "duration_ps",
    "late_ns",
    "bytes",
    "errno",
    "batch",
    "cpu",
    "causes",
    "queue_ns",
    "blocked_ns",
    "host",
];

impl SampleTable {
    /// Reads a run file, or a directory of parts.
    ///
    /// # Errors
    /// As [`store::scan_whole`].
    pub fn read(path: &Path) -> Result<SampleTable, store::Error> {
        let mut narrow: [Vec<i32>; NARROW.len()] = Default::default();
        let mut wide: [Vec<i64>; WIDE.len()] = Default::default();
        let mut iterations = Vec::new();
        let mut next: HashMap<(u32, u32), i64> = HashMap::new();
        let run = store::scan_whole(path, &mut |samples| {
            for (column, (_, number)) in narrow.iter_mut().zip(NARROW) {
                column.extend(samples.iter().map(number));
            }
            for (column, (_, number)) in wide.iter_mut().zip(WIDE) {
                column.extend(samples.iter().map(number));
            }
            for alike in samples.chunk_by(|a, b| (a.site, a.rank) == (b.site, b.rank)) {
                let count = next.entry((alike[0].site, alike[0].rank)).or_default();
                iterations.extend(*count..*count + alike.len() as i64);
                *count += alike.len() as i64;
            }
        })?;
        let rows = iterations.len();
        let mut columns = of_sites(&narrow[0], &narrow[1], &run.sites, &run.facts);
        columns.push(NamedColumn { name: "iteration", values: ColumnValues::Wide(iterations) });
        columns.extend(
            NARROW
                .iter()
                .zip(narrow)
                .map(|((name, _), all)| NamedColumn { name, values: ColumnValues::Narrow(all) }),
        );
        columns.extend(
            WIDE.iter()
                .zip(wide)
                .map(|((name, _), all)| NamedColumn { name, values: ColumnValues::Wide(all) }),
        );
        columns.sort_by_key(|column| ORDER.iter().position(|name| *name == column.name));
        Ok(SampleTable { columns, rows })
    }

    /// The place of a column.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// What the places of the program and the machine say of each sample: label, operation, kind, line, host.
fn of_sites(site: &[i32], rank: &[i32], sites: &[Site], facts: &Facts) -> Vec<NamedColumn> {
    let text = |name: &'static str, of: &dyn Fn(&Site) -> String| {
        let (codes_of_site, list) = different(sites.iter().map(of));
        let codes = site.iter().map(|site| codes_of_site[*site as usize]).collect();
        NamedColumn { name, values: ColumnValues::Words(Words { codes, list }) }
    };
    let line = site.iter().map(|site| sites[*site as usize].line as i32).collect();
    vec![
        text("label", &|site| site.labels.last().cloned().unwrap_or_default()),
        text("operation", &|site| site.operation.clone()),
        text("kind", &|site| kind(site.kind)),
        NamedColumn { name: "line", values: ColumnValues::Narrow(line) },
        NamedColumn { name: "host", values: ColumnValues::Words(hosts(rank, facts)) },
    ]
}

/// The host of each rank: known of all ranks where one machine started them, under MPI of rank 0 only; else empty.
fn hosts(rank: &[i32], facts: &Facts) -> Words {
    let host = facts.machine.as_ref().and_then(|machine| machine.host.clone()).unwrap_or_default();
    let of_one_machine = facts.mpi.is_none();
    let is_known = |rank: i32| of_one_machine || rank == 0;
    let list = if host.is_empty() || rank.iter().all(|rank| is_known(*rank)) {
        vec![host]
    } else {
        vec![host, String::new()]
    };
    let unknown = list.len() as i32 - 1;
    let codes = rank.iter().map(|rank| if is_known(*rank) { 0 } else { unknown }).collect();
    Words { codes, list: WordList::of(&list) }
}

/// The different texts, and the index of each text among them.
fn different(texts: impl Iterator<Item = String>) -> (Vec<i32>, WordList) {
    let mut list: Vec<String> = Vec::new();
    let mut known: HashMap<String, i32> = HashMap::new();
    let codes = texts
        .map(|text| {
            *known.entry(text).or_insert_with_key(|text| {
                list.push(text.clone());
                list.len() as i32 - 1
            })
        })
        .collect();
    (codes, WordList::of(&list))
}

/// The kind of a site as the run file spells it.
fn kind(kind: SiteKind) -> String {
    serde_json::to_value(kind).ok().and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default()
}
