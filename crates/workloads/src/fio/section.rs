//! Writes the parts of a job as statements: the files, their content, the load.

use super::access::BlockSizes;
use super::job::{Extent, Job, OpenSync, Verify};
use super::place::{has_key, place};
use super::terms::Terms;
use crate::quantity::{bytes_literal, time_literal};
use crate::text::ProgramText;

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
        let mut flags = vec![match (job.access.reads || job.reads_back(), job.access.writes) {
            (true, true) => "O_RDWR",
            (false, true) => "O_WRONLY",
            (_, false) => "O_RDONLY",
        }];
        if creates {
            flags.extend(["O_CREAT", "O_TRUNC"]);
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

    /// Fills the new file `file`, an expression, up to `end`, outside of what is measured.
    pub fn lay_out(text: &mut ProgramText, file: &str, end: &str) {
        text.line(format!("$f = fopen({file}, \"O_WRONLY|O_CREAT|O_TRUNC\");"));
        text.line(format!("repeat {end} / 1MiB fwrite($f, 1MiB);"));
        text.line(format!("if mod({end}, 1MiB) > 0 fwrite($f, mod({end}, 1MiB));"));
        text.line("fsync($f);");
        text.line("fclose($f);");
    }

    /// Makes the new file `file` without content, its space reserved up to `end` where the job says so.
    pub fn make(&self, text: &mut ProgramText, file: &str, end: &str) {
        text.line(format!("$f = fopen({file}, \"O_WRONLY|O_CREAT|O_TRUNC\");"));
        if self.job.fallocate && self.job.is_imported && !self.job.only_reads() {
            text.line(format!("fallocate($f, {end});"));
        }
        text.line("fclose($f);");
    }

    /// Where the used part of each file ends.
    pub fn end(&self) -> String {
        match self.job.offset + self.job.offset_increment * (self.job.jobs - 1) {
            0 => self.terms.size.clone(),
            offset => format!("({} + {})", bytes_literal(offset), self.terms.size),
        }
    }

    /// What stands before the load once; with several files, `$files` holds them.
    pub fn prepare(&self, text: &mut ProgramText) {
        let job = self.job;
        if job.fallocate && !job.only_reads() && !job.needs_content() && !job.is_imported {
            text.line(format!("fallocate($f, {});", self.end()));
        }
        if job.invalidate && !job.direct && (job.needs_content() || job.existing) {
            self.each_file(text, "fadvise(FILE, \"dontneed\"); # the page cache begins without it");
        }
        if job.advise && job.is_imported {
            let order = if job.access.random { "random" } else { "sequential" };
            self.each_file(text, &format!("fadvise(FILE, \"{order}\");"));
        }
        if self.one_size() || job.access.random {
            let unit = if job.access.random { self.terms.unit(job) } else { self.terms.block.clone() };
            text.line(format!("$blocks = {} / {unit};", self.terms.size));
        }
        if has_key(job) {
            text.line("$key = uniform(0, 4611686018427387904);");
        }
        if job.offset_increment > 0 {
            let (offset, step) = (bytes_literal(job.offset), bytes_literal(job.offset_increment));
            text.line(format!("$base = {offset} + {} * {step};", self.terms.process));
        }
    }

    /// A statement for each open file, which `FILE` stands for.
    pub fn each_file(&self, text: &mut ProgramText, statement: &str) {
        match self.job.files() {
            1 => text.line(statement.replace("FILE", "$f")),
            _ => {
                text.line("for $each in $files {");
                text.line(statement.replace("FILE", "$each"));
                text.line("}");
            }
        }
    }

    /// The load under its label, after the same load for the time of the warm-up.
    pub fn load(&self, text: &mut ProgramText, block: Block, label: &str) {
        let job = self.job;
        let goes_on = job.ramp.is_some() && job.time_based;
        if job.ramp.is_some() {
            self.labelled(text, block, &format!("{label}, ramp"), Part::Ramp);
        }
        let repeats = job.loops > 1 && !job.time_based;
        if repeats {
            text.line(format!("repeat {} {{", job.loops));
        }
        self.labelled(text, block, label, if goes_on { Part::Rest } else { Part::Whole });
        if job.reads_back() {
            self.read_back(text, block, label);
        }
        if repeats {
            text.line("}");
        }
    }

    fn labelled(&self, text: &mut ProgramText, block: Block, label: &str, part: Part) {
        let job = self.job;
        let is_ramp = part == Part::Ramp;
        let time = match part {
            Part::Ramp => Some(self.terms.ramp.as_str()),
            Part::Whole | Part::Rest => job.time.is_some().then_some(self.terms.time.as_str()),
        };
        let (before, mut statement) = self.loop_of(time, is_ramp || job.time_based);
        if part != Part::Rest {
            before.iter().for_each(|line| text.line(line));
        }
        if job.verify != Verify::No && job.only_reads() {
            statement = format!("verify {statement}");
        }
        if job.in_flight() > 1 {
            statement = format!("async depth={} {{ {statement} }}", self.terms.depth);
        }
        if job.end_fsync && !is_ramp && !job.only_reads() {
            let mut sync = ProgramText::default();
            self.each_file(&mut sync, "fsync(FILE);");
            statement = format!("{{ {statement}\n {} }}", sync.as_str());
        }
        text.line(format!("{} {statement}", head(block, label)));
    }

    /// Reads what was written and compares it.
    fn read_back(&self, text: &mut ProgramText, block: Block, label: &str) {
        let job = Job { verify: Verify::Reads, fsync: 0, fdatasync: 0, end_fsync: false, ..self.job.clone() };
        let job = Job { access: super::access::Access { reads: true, writes: false, ..job.access }, ..job };
        let terms = Terms { process: self.terms.process.clone(), ..Terms::literal(&job, 0, "") };
        let terms = Terms { size: self.terms.size.clone(), block: self.terms.block.clone(), ..terms };
        let terms = Terms { depth: self.terms.depth.clone(), rate: self.terms.rate.clone(), ..terms };
        let reading = Section { job: &job, terms };
        if job.invalidate && !job.direct {
            self.each_file(text, "fadvise(FILE, \"dontneed\");");
        }
        reading.labelled(text, block, &format!("{label}, verify"), Part::Whole);
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
        let lines = body.lines.iter().map(String::as_str).chain(after).collect::<Vec<_>>().join("\n");
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
        let (job, block) = (self.job, self.job.sizes.least());
        let all = job.region().map(|region| region / block * job.files());
        match (job.extent, self.one_size()) {
            (Extent::Operations(count), _) => Total::Operations(count.to_string()),
            // Without a map, the operation that comes to the last byte is a whole one.
            (Extent::Once, true) if !job.comes_to_each_block() && !job.is_of_whole_blocks() => {
                Total::Operations(job.pass().unwrap_or(0).div_ceil(block).to_string())
            }
            (Extent::Once, true) => match job.pass().map(|pass| pass / block) {
                Some(count) if job.files() > 1 || Some(count) != all => Total::Operations(count.to_string()),
                _ => Total::Operations("$blocks".into()),
            },
            (Extent::Once, false) => match job.pass() {
                Some(pass) if Some(pass) != job.region() || !pass.is_multiple_of(block) => {
                    Total::Bytes(bytes_literal(pass / block * block))
                }
                _ => Total::Bytes(self.terms.size.clone()),
            },
            (Extent::Bytes(bytes), true) if bytes.is_multiple_of(block) => {
                Total::Operations(format!("{} / {}", bytes_literal(bytes), self.terms.block))
            }
            // The operation that comes to the last byte is a whole one.
            (Extent::Bytes(bytes), true) => Total::Operations(format!(
                "({} + {} - 1) / {}",
                bytes_literal(bytes),
                self.terms.block,
                self.terms.block
            )),
            (Extent::Bytes(bytes), false) => Total::Bytes(bytes_literal(bytes)),
        }
    }

    /// One operation with its sync.
    fn operation(&self) -> Operation {
        let job = self.job;
        let every = [("fsync", job.fsync), ("fdatasync", job.fdatasync)];
        let syncs_at_all = every.iter().any(|(_, every)| *every > 0) && !job.only_reads();
        let is_mix = job.is_mix();
        let mut one = if is_mix { self.mix(&every) } else { self.alone() };
        let counter = if is_mix { "$writes" } else { "$i" };
        if syncs_at_all && job.is_imported {
            // fio looks before each operation whether it is time for one.
            let due = syncs_before(&every, counter);
            one.lines.splice(0..0, due);
            one.counts |= !is_mix;
        } else if syncs_at_all && !is_mix {
            one.lines.extend(syncs(&every, "$i + 1"));
            one.counts |= every.iter().any(|(_, every)| *every > 1);
        }
        if job.think > 0 {
            let think = format!("think {};", time_literal(job.think));
            match job.think_blocks {
                1 => one.lines.push(think),
                blocks => {
                    one.lines.push(format!("if mod($i + 1, {blocks}) == 0 {think}"));
                    one.counts = true;
                }
            }
        }
        one
    }

    /// A statement at the job's rate.
    fn at_rate(&self, statement: &str) -> String {
        let Some(_) = self.job.rate else { return statement.to_owned() };
        let poisson = if self.job.poisson { " poisson" } else { "" };
        format!("rate {}/s{poisson} {statement}", self.terms.rate)
    }

    fn command(&self, reads: bool, offset: &str, bytes: &str) -> String {
        let name = if reads { "fread" } else { "fwrite" };
        let file = match self.job.files() {
            1 => "$f".to_owned(),
            files => format!("$files[mod($i, {files})]"),
        };
        format!("{name}({file}, {bytes}, {offset});")
    }

    fn alone(&self) -> Operation {
        let placed = place(self.job, &self.terms, "");
        let mut lines = placed.lines;
        lines.push(self.at_rate(&self.command(self.job.only_reads(), &placed.offset, &placed.bytes)));
        lines.extend(placed.after);
        Operation { lines, before: placed.before, counts: placed.counts || self.job.files() > 1 }
    }

    /// Reads and writes, drawn by their shares. In order, each direction has a place of its own, as in fio.
    fn mix(&self, every: &[(&str, u64)]) -> Operation {
        let job = self.job;
        let own = |stream: &'static str| if job.access.random { "" } else { stream };
        let (reads, writes) = (place(job, &self.terms, own("r")), place(job, &self.terms, own("w")));
        let counts_writes = every.iter().any(|(_, every)| *every > if job.is_imported { 0 } else { 1 });
        let mut before = reads.before.clone();
        let more = writes.before.into_iter().filter(|line| !before.contains(line)).collect::<Vec<_>>();
        before.extend(more);
        let shared = if job.access.random { reads.lines.clone() } else { Vec::new() };
        let branch = |lines: Vec<String>, after: Vec<String>, reads: bool, (offset, bytes): (&str, &str)| {
            let lines = if job.access.random { Vec::new() } else { lines };
            let mut all = lines;
            all.push(self.command(reads, offset, bytes));
            all.extend(after);
            if !reads && counts_writes {
                all.push("$writes = $writes + 1;".into());
            }
            if !reads && !job.is_imported {
                all.extend(syncs(every, "$writes"));
            }
            braced(&all.join("\n"))
        };
        if counts_writes {
            before.push("$writes = 0;".into());
        }
        let read = branch(reads.lines, reads.after, true, (&reads.offset, &reads.bytes));
        let write = branch(writes.lines, writes.after, false, (&writes.offset, &writes.bytes));
        let (read_share, write_share) = (job.read_share, 100 - job.read_share);
        let choice = format!("choose {{\n {read_share}: {read}\n {write_share}: {write}\n }}");
        let mut lines = shared;
        lines.push(self.at_rate(&choice));
        Operation { lines, before, counts: reads.counts }
    }
}

/// Which part of the time of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The warm-up.
    Ramp,
    /// All that is measured.
    Whole,
    /// What is measured, going on where the warm-up ended.
    Rest,
}

/// How much a load does.
enum Total {
    Operations(String),
    Bytes(String),
}

/// The statements of one operation.
struct Operation {
    lines: Vec<String>,
    /// What stands before the loop.
    before: Vec<String>,
    /// Whether they use `$i`, the number of operations before.
    counts: bool,
}

fn head(block: Block, label: &str) -> String {
    match block {
        Block::Phase => format!("phase \"{label}\""),
        Block::Time => format!("time[\"{label}\"]"),
    }
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

/// The same before an operation, as fio has it: none follows the last one.
fn syncs_before(every: &[(&str, u64)], count: &str) -> Vec<String> {
    let one = |(command, every): &(&str, u64)| match every {
        0 => None,
        1 => Some(format!("if {count} > 0 {command}($f);")),
        every => Some(format!("if {count} > 0 && mod({count}, {every}) == 0 {command}($f);")),
    };
    every.iter().filter_map(one).collect()
}

/// Statements as one: in braces where there are several.
fn braced(statements: &str) -> String {
    if statements.contains('\n') { format!("{{\n {statements}\n }}") } else { statements.to_owned() }
}

/// An expression that stands where a statement follows.
fn parenthesised(expression: &str) -> String {
    if expression.contains(' ') { format!("({expression})") } else { expression.to_owned() }
}
