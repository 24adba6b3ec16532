//! Reports of many lines: iostat, nfsiostat, the XML of JMeter.

use std::collections::HashSet;

use crate::Unit;
use crate::error::{LineError, shown};
use crate::row::{Fate, Push, Row, RowLines};

pub(crate) fn is_iostat(lines: &[&str], _file: &str) -> bool {
    lines.iter().any(|line| {
        let mut words = line.split_ascii_whitespace();
        let has_device = words.clone().any(|word| matches!(word, "Device" | "Device:"));
        has_device && words.any(|word| matches!(word, "tps" | "%util")) && !line.contains(',')
    })
}

/// The reports of iostat, of which the first is since boot.
#[derive(Debug, Default)]
pub(crate) struct Iostat {
    reports: usize,
    /// The columns of the report that is being read.
    columns: Vec<String>,
}

/// Means of iostat, and the rates of which each is the mean.
const MEANS: [(&str, &[&str]); 5] = [
    ("r_await", &["r/s"]),
    ("w_await", &["w/s"]),
    ("d_await", &["d/s"]),
    ("f_await", &["f/s"]),
    ("await", &["r/s", "w/s"]),
];

impl RowLines for Iostat {
    fn line(&mut self, line: &str, push: &mut Push) -> Result<(), LineError> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_head = words.iter().any(|word| matches!(*word, "Device" | "Device:"));
        if is_head {
            self.reports += 1;
            self.columns = words.iter().map(|word| word.trim_end_matches(':').into()).collect();
            return Ok(());
        }
        if words.is_empty() {
            self.columns.clear();
        }
        if self.columns.is_empty() || self.reports < 2 {
            return Ok(());
        }
        let wrong = |what: &str| LineError::Value { text: shown(line.trim()), what: what.into() };
        if words.len() != self.columns.len() {
            return Err(wrong("has not the fields that the line of names has"));
        }
        let place = |name: &str| self.columns.iter().position(|column| column == name);
        // Two digits follow the decimal sign of the language, whichever it is.
        let number = |at: usize| words[at].replace(',', ".").parse::<f64>().ok().filter(|n| n.is_finite());
        let device = place("Device").map_or("", |at| words[at]);
        for (name, rates) in MEANS {
            let Some(at) = place(name) else { continue };
            let value = number(at).ok_or_else(|| wrong("holds what is no number"))?;
            // Without a request there is no mean, and 0 is written.
            let rates = rates.iter().filter_map(|rate| number(place(rate)?));
            if rates.sum::<f64>() > 0.0 {
                push(&Row::number(&format!("{device} {name}"), value, Some(Unit::Ms)))?;
            }
        }
        Ok(())
    }
}

pub(crate) fn is_nfsiostat(lines: &[&str], _file: &str) -> bool {
    lines.iter().any(|line| line.contains("avg RTT (ms)") && line.contains("ops/s"))
}

/// The reports of nfsiostat, of which the first of each mount is since it was mounted.
#[derive(Debug, Default)]
pub(crate) struct Nfsiostat {
    mounts: HashSet<String>,
    mount: String,
    is_first: bool,
    /// The operation whose numbers are on the next line, with the columns.
    operation: Option<(String, Vec<String>)>,
}

impl RowLines for Nfsiostat {
    fn line(&mut self, line: &str, push: &mut Push) -> Result<(), LineError> {
        let line = line.trim();
        if let Some((_, mount)) = line.strip_suffix(':').and_then(|line| line.split_once(" mounted on ")) {
            self.is_first = self.mounts.insert(mount.into());
            self.mount = mount.into();
            return Ok(());
        }
        if line.contains("avg RTT (ms)") {
            let columns = line.split("  ").map(str::trim).filter(|name| !name.is_empty());
            let mut columns: Vec<String> = columns.map(Into::into).collect();
            // A long name leaves one blank before the first column.
            let name = columns.remove(0);
            let name =
                name.strip_suffix(" ops/s").inspect(|_| columns.insert(0, "ops/s".into())).unwrap_or(&name);
            self.operation = Some((name.trim_end_matches(':').into(), columns));
            return Ok(());
        }
        let Some((operation, columns)) = self.operation.take() else { return Ok(()) };
        let wrong = || LineError::Value {
            text: shown(line),
            what: "has not the numbers that the line of names says".into(),
        };
        // Shares stand behind their numbers: `0 (0.0%)`.
        let fields = line.split_ascii_whitespace().filter(|field| !field.starts_with('('));
        let numbers: Vec<f64> = fields.map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
        if numbers.len() != columns.len() {
            return Err(wrong());
        }
        let of = |name: &str| columns.iter().position(|column| column == name).map(|at| numbers[at]);
        if self.is_first || of("ops/s").ok_or_else(wrong)? <= 0.0 {
            return Ok(());
        }
        for (column, short) in [("avg RTT (ms)", "RTT"), ("avg exe (ms)", "exe")] {
            let value = of(column).ok_or_else(wrong)?;
            push(&Row::number(&format!("{} {operation} {short}", self.mount), value, Some(Unit::Ms)))?;
        }
        Ok(())
    }
}

pub(crate) fn is_jmeter_xml(lines: &[&str], _file: &str) -> bool {
    lines.iter().take(3).any(|line| line.trim_start().starts_with("<testResults"))
}

/// The samples of JMeter; those within another one are parts of its time.
#[derive(Debug, Default)]
pub(crate) struct JmeterXml {
    depth: usize,
}

const TAGS: [&str; 2] = ["httpSample", "sample"];

/// The tag of a sample that begins here, and what follows its name.
fn sample_tag(text: &str) -> Option<&str> {
    TAGS.iter().find_map(|tag| text.strip_prefix(tag)).filter(|rest| rest.starts_with([' ', '>', '/']))
}

impl RowLines for JmeterXml {
    fn line(&mut self, line: &str, push: &mut Push) -> Result<(), LineError> {
        let mut rest = line;
        while let Some(at) = rest.find('<') {
            rest = &rest[at + 1..];
            if rest.strip_prefix('/').and_then(sample_tag).is_some() {
                self.depth = self.depth.saturating_sub(1);
                continue;
            }
            let Some(attributes) = sample_tag(rest) else { continue };
            let wrong = |what: &str| LineError::Value { text: shown(line.trim()), what: what.into() };
            let tag = Tag::of(attributes).ok_or_else(|| wrong("is no whole tag of a sample"))?;
            if self.depth == 0 {
                let took: f64 = tag.time.parse().map_err(|_| wrong("has no time `t`"))?;
                let mut row = Row::number(&tag.label, took, Some(Unit::Ms));
                row.text = tag.time;
                if tag.success != "true" {
                    row.fate = Fate::Failed;
                }
                push(&row)?;
            }
            self.depth += usize::from(!tag.is_closed);
            rest = tag.rest;
        }
        Ok(())
    }
}

/// A tag of a sample.
#[derive(Default)]
struct Tag<'a> {
    time: &'a str,
    success: &'a str,
    label: String,
    is_closed: bool,
    rest: &'a str,
}

impl<'a> Tag<'a> {
    fn of(mut text: &'a str) -> Option<Tag<'a>> {
        let mut tag = Tag::default();
        loop {
            text = text.trim_start();
            if let Some(rest) = text.strip_prefix("/>") {
                return Some(Tag { is_closed: true, rest, ..tag });
            }
            if let Some(rest) = text.strip_prefix('>') {
                return Some(Tag { rest, ..tag });
            }
            let (name, rest) = text.split_once('=')?;
            let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
            let (value, rest) = rest[1..].split_once(quote)?;
            match name.trim() {
                "t" => tag.time = value,
                "s" => tag.success = value,
                "lb" => tag.label = plain(value),
                _ => {}
            }
            text = rest;
        }
    }
}

/// Text of XML without its marks for signs.
fn plain(text: &str) -> String {
    const MARKS: [(&str, &str); 5] =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    MARKS.iter().fold(text.to_owned(), |text, (mark, sign)| text.replace(mark, sign))
}
