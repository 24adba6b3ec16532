//! Writes the parts of a job as statements: the file, its content, the load.

use super::access::{BlockSizes, Distribution};
use super::job::{Extent, Job, OpenSync};
use crate::quantity::{bytes_literal, time_literal};
use crate::text::ProgramText;

/// The numbers of a job as expressions of the language: names of parameters, or literals.
pub(super) struct Terms {
    pub size: String,
    pub block: String,
    pub depth: String,
    pub time: String,
    pub ramp: String,
    pub rate: String,
}

impl Terms {
    /// Every number where it stands.
    pub fn literal(job: &Job, size: u64) -> Self {
        Self {
            size: bytes_literal(size),
            block: bytes_literal(job.sizes.least()),
            depth: job.in_flight().to_string(),
            time: time_literal(job.time.unwrap_or(0)),
            ramp: time_literal(job.ramp.unwrap_or(0)),
            rate: job.operations_a_second().unwrap_or(0).to_string(),
        }
    }

    /// Parameters of the same names.
    pub fn parameters() -> Self {
        Self {
            size: "$size".into(),
            block: "$bs".into(),
            depth: "$depth".into(),
            time: "$time".into(),
            ramp: "$ramp".into(),
            rate: "$rate".into(),
        }
    }
}

/// Writes one job.
pub(super) struct Section<'a> {
    pub job: &'a Job,
    pub terms: Terms,
}

/// The opening of a block: with `phase` all ranks begin together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    Phase,
    Time,
}

impl Section<'_> {
    /// The flags with which its file is opened for the load.
    pub fn flags(&self, creates: bool) -> String {
        let job = self.job;
        let mut flags = vec![match (job.access.reads, job.access.writes) {
            (true, true) => "O_RDWR",
            (false, true) => "O_WRONLY",
            (_, false) => "O_RDONLY",
        }];
        if creates {
            flags.extend(["O_CREAT", "O_EXCL"]);
        }
        if job.direct {
            flags.push("O_DIRECT");
        }
        match job.sync {
            OpenSync::None => {}
            OpenSync::Sync => flags.push("O_SYNC"),
            OpenSync::DataSync => flags.push("O_DSYNC"),
        }
        flags.join("|")
    }

    /// Fills the new file `file`, an expression, outside of what is measured.
    pub fn lay_out(&self, text: &mut ProgramText, file: &str) {
        let end = self.end();
        text.line(format!("$f = fopen({file}, \"O_WRONLY|O_CREAT|O_EXCL\");"));
        text.line(format!("repeat {end} / 1MiB fwrite($f, 1MiB);"));
        text.line(format!("if mod({end}, 1MiB) > 0 fwrite($f, mod({end}, 1MiB));"));
        text.line("fsync($f);");
        text.line("fclose($f);");
    }

    /// Where the file ends.
    fn end(&self) -> String {
        match self.job.offset {
            0 => self.terms.size.clone(),
            offset => format!("({} + {})", bytes_literal(offset), self.terms.size),
        }
    }

    /// What stands before the load once.
    pub fn prepare(&self, text: &mut ProgramText) {
        if self.job.fallocate && self.job.access.writes && !self.job.needs_content() {
            text.line(format!("fallocate($f, {});", self.end()));
        }
        if self.job.invalidate && !self.job.direct && self.job.needs_content() {
            text.line("fadvise($f, \"dontneed\"); # the page cache begins without it");
        }
        if self.one_size() {
            text.line(format!("$blocks = {} / {};", self.terms.size, self.terms.block));
        }
    }

    /// The load under its label, after the same load for the time of the warm-up.
    pub fn load(&self, text: &mut ProgramText, block: Block, label: &str) {
        if self.job.ramp.is_some() {
            self.labelled(text, block, &format!("{label}, ramp"), Some(&self.terms.ramp));
        }
        let time = self.job.time.is_some().then_some(self.terms.time.as_str());
        self.labelled(text, block, label, time);
    }

    fn labelled(&self, text: &mut ProgramText, block: Block, label: &str, time: Option<&str>) {
        let is_ramp = self.job.ramp.is_some() && time == Some(self.terms.ramp.as_str());
        let (before, mut statement) = self.loop_of(time, is_ramp || self.job.time_based);
        before.iter().for_each(|line| text.line(line));
        if self.job.in_flight() > 1 {
            statement = format!("async depth={} {{ {statement} }}", self.terms.depth);
        }
        if self.job.end_fsync && !is_ramp {
            statement = format!("{{ {statement}\n fsync($f); }}");
        }
        let head = match block {
            Block::Phase => format!("phase \"{label}\""),
            Block::Time => format!("time[\"{label}\"]"),
        };
        text.line(format!("{head} {statement}"));
    }

    /// The loop, and the statements before it.
    fn loop_of(&self, time: Option<&str>, is_endless: bool) -> (Vec<String>, String) {
        let body = self.operation();
        let mut before = body.before.clone();
        let total = self.total();
        let by_count = matches!(total, Total::Operations(_));
        // `repeat` counts by itself, other loops do not.
        let is_repeat = time.is_none() && by_count;
        let has_limit = !is_endless || time.is_none();
        let mut after = Vec::new();
        if !is_repeat && (body.counts || (has_limit && by_count)) {
            before.push("$i = 0;".into());
            after.push("$i = $i + 1;");
        }
        if has_limit && !by_count {
            before.push("$moved = 0;".into());
            after.push("$moved = $moved + $n;");
        }
        let lines = std::iter::once(body.lines.as_str()).chain(after).collect::<Vec<_>>().join("\n");
        let statement = match (time, total) {
            (Some(time), _) if is_endless => format!("for {time} {}", braced(&lines)),
            (Some(time), Total::Operations(count)) => {
                format!("for {time} {{\n if $i >= {count} break;\n {lines}\n }}")
            }
            (Some(time), Total::Bytes(bytes)) => {
                format!("for {time} {{\n if $moved >= {bytes} break;\n {lines}\n }}")
            }
            (None, Total::Operations(count)) => {
                let counter = if body.counts { "$i " } else { "" };
                format!("repeat {counter}{} {}", parenthesised(&count), braced(&lines))
            }
            (None, Total::Bytes(bytes)) => format!("while $moved < {bytes} {}", braced(&lines)),
        };
        (before, statement)
    }

    fn one_size(&self) -> bool {
        matches!(self.job.sizes, BlockSizes::One(_))
    }

    /// The total amount of work of the load.
    fn total(&self) -> Total {
        match (self.job.extent, self.one_size()) {
            (Extent::Operations(count), _) => Total::Operations(count.to_string()),
            (Extent::Once, true) => Total::Operations("$blocks".into()),
            (Extent::Once, false) => Total::Bytes(self.terms.size.clone()),
            (Extent::Bytes(bytes), true) => {
                Total::Operations(format!("{} / {}", bytes_literal(bytes), self.terms.block))
            }
            (Extent::Bytes(bytes), false) => Total::Bytes(bytes_literal(bytes)),
        }
    }

    /// One operation with its sync and verification.
    fn operation(&self) -> Operation {
        let job = self.job;
        let mut lines = Vec::new();
        let mut before = Vec::new();
        if job.think > 0 {
            lines.push(format!("think {};", time_literal(job.think)));
        }
        lines.extend(self.draw_size());
        let place = self.place(&mut lines, &mut before);
        let bytes = if self.one_size() { self.terms.block.as_str() } else { "$n" };
        let every = [("fsync", job.fsync), ("fdatasync", job.fdatasync)];
        let read = format!("fread($f, {bytes}, {place});");
        let write = format!("fwrite($f, {bytes}, {place});");
        let is_mix = job.access.reads && job.access.writes && (1..100).contains(&job.read_share);
        let only_reads = job.access.reads && (!job.access.writes || (!is_mix && job.read_share == 100));
        let mut operation = match (is_mix, only_reads) {
            (true, _) => {
                let mut branch = write;
                let counts = every.iter().any(|(_, every)| *every > 1);
                if counts {
                    before.push("$writes = 0;".into());
                    branch += "\n $writes = $writes + 1;";
                }
                syncs(&every, "$writes").iter().for_each(|sync| branch += &format!("\n {sync}"));
                let (read_share, write_share) = (job.read_share, 100 - job.read_share);
                format!("choose {{\n {read_share}: {read}\n {write_share}: {}\n }}", braced(&branch))
            }
            (false, true) => read,
            (false, false) => write,
        };
        if job.rate.is_some() {
            let poisson = if job.poisson { " poisson" } else { "" };
            operation = format!("rate {}/s{poisson} {operation}", self.terms.rate);
        }
        lines.push(operation);
        let after_each = !is_mix && !only_reads;
        if after_each {
            lines.extend(syncs(&every, "$i + 1"));
        }
        let counts_writes = after_each && every.iter().any(|(_, every)| *every > 1);
        let is_in_order = !job.access.random;
        if is_in_order && !self.one_size() {
            lines.push("$at = $at + $n;".into());
        }
        Operation {
            lines: lines.join("\n"),
            before,
            counts: counts_writes || (is_in_order && self.one_size()),
        }
    }

    /// Draws the size of an operation into `$n`, where there are several.
    fn draw_size(&self) -> Option<String> {
        match &self.job.sizes {
            BlockSizes::One(_) => None,
            BlockSizes::Range(low, high) => {
                Some(format!("$n = {} * uniform(1, {});", bytes_literal(*low), high / low + 1))
            }
            BlockSizes::Split(parts) => {
                let parts: Vec<String> = parts
                    .iter()
                    .map(|(size, weight)| format!("{weight}: $n = {};", bytes_literal(*size)))
                    .collect();
                Some(format!("choose {{\n {}\n }}", parts.join("\n ")))
            }
        }
    }

    /// The offset of an operation as an expression; statements that it needs go to `lines` and `before`.
    fn place(&self, lines: &mut Vec<String>, before: &mut Vec<String>) -> String {
        let job = self.job;
        let offset =
            if job.offset == 0 { String::new() } else { format!("{} + ", bytes_literal(job.offset)) };
        let unit = &self.terms.block;
        if !job.access.random {
            if self.one_size() {
                let wraps = job.time_based || job.ramp.is_some() || job.extent != Extent::Once;
                let block = if wraps { "mod($i, $blocks)" } else { "$i" };
                return format!("{offset}{block} * {unit}");
            }
            before.push("$at = 0;".into());
            lines.push(format!("if $at + $n > {} $at = 0;", self.terms.size));
            return format!("{offset}$at");
        }
        if !self.one_size() {
            lines.push(format!("$blocks = ({} - $n) / {unit} + 1;", self.terms.size));
        }
        let block = match &job.distribution {
            Distribution::Uniform => "uniform(0, $blocks)".into(),
            // The multiplication by a prime above the number of blocks permutes them, which scatters the hot ones.
            Distribution::Zipf(theta) => {
                format!("mod(zipf($blocks, {}) * 982451653, $blocks)", float(*theta))
            }
            Distribution::Pareto(h) => {
                let power = h.ln() / (1.0 - h).ln();
                format!("int($blocks * uniform(0.0, 1.0) ^ {})", float((power * 1e4).round() / 1e4))
            }
            Distribution::Normal(percent) => {
                format!("mod(int(normal($blocks / 2, $blocks * {})), $blocks)", float(percent / 100.0))
            }
            Distribution::Zoned(zones) => {
                lines.push(zoned(zones));
                "$k".into()
            }
        };
        format!("{offset}{block} * {unit}")
    }
}

/// How much a load does.
enum Total {
    Operations(String),
    Bytes(String),
}

/// The statements of one operation.
struct Operation {
    lines: String,
    /// What stands before the loop.
    before: Vec<String>,
    /// Whether they use `$i`, the number of operations before.
    counts: bool,
}

/// Draws a block into `$k`: a zone by its share of accesses, a place in it.
fn zoned(zones: &[(u64, u64)]) -> String {
    let mut start = 0;
    let mut text = String::from("choose {\n");
    for (accesses, size) in zones {
        let end = start + size;
        if *accesses > 0 {
            let at = |percent: u64| match percent {
                0 => "0".to_owned(),
                100 => "$blocks".to_owned(),
                percent => format!("$blocks * {percent} / 100"),
            };
            let from = at(start);
            text += &format!(" {accesses}: $k = uniform({from}, max({}, {from} + 1));\n", at(end));
        }
        start = end;
    }
    text + " }"
}

/// An fsync or fdatasync after each so many writes; `count` says how many there were.
fn syncs(every: &[(&str, u64)], count: &str) -> Vec<String> {
    let one = |(command, every): &(&str, u64)| match every {
        0 => None,
        1 => Some(format!("{command}($f);")),
        every => Some(format!("if mod({count}, {every}) == 0 {command}($f);")),
    };
    every.iter().filter_map(one).collect()
}

/// A float as the language spells it.
fn float(value: f64) -> String {
    format!("{value:?}")
}

/// Statements as one: in braces where there are several.
fn braced(statements: &str) -> String {
    if statements.contains('\n') { format!("{{\n {statements}\n }}") } else { statements.to_owned() }
}

/// An expression that stands where a statement follows.
fn parenthesised(expression: &str) -> String {
    if expression.contains(' ') { format!("({expression})") } else { expression.to_owned() }
}
