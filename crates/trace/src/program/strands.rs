//! Assembles a program: header, files that existed before, and the statements of each rank and worker.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::SETUP;
use super::expressions::Heads;
use super::paths::{Paths, comment};
use super::render::{Renderer, Shared, names_of};
use crate::before::Before;
use crate::flags::EXECUTABLE;
use crate::fold::{Node, Site, fold, verbatim};
use crate::lanes::{Lanes, RankPlan};
use crate::model::{NONE, Trace};
use crate::names::{is_below, link_text};
use crate::select::Choice;
use crate::sequence::{Sequence, Statement};
use crate::statements::{Shape, Shapes, Statements, Verb, plain};

/// The parts of a program.
pub struct Parts<'a> {
    /// Its names, and what was left out.
    pub trace: &'a mut Trace,
    /// Its ranks and workers.
    pub lanes: &'a Lanes,
    /// What each strand does.
    pub statements: &'a mut Statements,
    /// What existed before.
    pub before: &'a Before,
    /// Which calls were chosen.
    pub choice: &'a Choice,
    /// Whether names must tell nothing.
    pub anonymise: bool,
    /// Whether absolute links may lead elsewhere.
    pub links: bool,
    /// Whether each call is written, without loops.
    pub verbatim: bool,
    /// Pauses shorter than so many nanoseconds are left out.
    pub least_gap: u64,
    /// Whether each call starts when it did, in place of pauses.
    pub open_loop: bool,
    /// How many copies of the application run at once.
    pub copies: u32,
    /// Whether it writes what it read just before.
    pub copying: bool,
}

impl Parts<'_> {
    /// The number of a rank within its copy of the application.
    fn rank_word(&self) -> &'static str {
        if self.copies > 1 { "$part" } else { "$$rank" }
    }

    /// The directory of the first copy, in terms of `$dir`.
    pub fn first_home(&self, dir: &str) -> String {
        if self.copies > 1 { format!("{dir}/copy-0") } else { dir.to_owned() }
    }
}

/// The text of a program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// In the language's one layout.
    pub text: String,
    /// Names as the program has them.
    pub paths: Paths,
}

/// Writes the program.
pub fn program(parts: &mut Parts<'_>) -> Program {
    let prelude = prelude(parts);
    let mut used: BTreeSet<u32> = BTreeSet::new();
    let mut last = None;
    for statement in parts.statements.strands.iter().flat_map(Sequence::iter) {
        let names = names_of(parts.statements.shapes.get(statement.shape).verb);
        if names > 0 && last != Some(statement.names) {
            last = Some(statement.names);
            used.extend(statement.names.iter().take(names));
        }
    }
    used.remove(&NONE);
    let only = match parts.choice.only.as_slice() {
        [only] => Some(only.as_slice()),
        _ => None,
    };
    let root = Paths::root_of(parts.trace, &used, only);
    used.extend(prelude.iter().flat_map(|one| one.names).filter(|name| *name != NONE));
    let paths = Paths::of(parts.trace, &used, root, (parts.anonymise, parts.links));
    drop(used);
    // The directories above `$dir` exist.
    let below = |one: &Statement| {
        let name = parts.trace.names.get(one.names[usize::from(one.names[1] != NONE)]);
        name != paths.root && is_below(name, &paths.root)
    };
    let prelude: Sequence = prelude.into_iter().filter(below).collect();
    let text = {
        let mut writer = Writer { parts, paths: &paths, heads: Heads::default(), thinks: false, rows: None };
        let body = writer.body(&prelude);
        writer.head() + &body
    };
    let text = ppl::format::format(&text).unwrap_or(text);
    Program { text, paths }
}

/// Statements that make what existed before.
fn prelude(parts: &mut Parts<'_>) -> Vec<Statement> {
    let mut out = Vec::new();
    let (before, trace, shapes) = (parts.before, &mut *parts.trace, &mut parts.statements.shapes);
    let push = |out: &mut Vec<Statement>, shapes: &mut Shapes, shape: Shape, names: [u32; 2], number: i64| {
        let shape = shapes.number(shape);
        out.push(Statement { shape, names, numbers: [number, 0], gap: 0 });
    };
    for name in before.directories.keys() {
        let name = trace.names.intern(name);
        push(&mut out, shapes, plain(Verb::Name("mkdir")), [name, NONE], 0);
    }
    for (name, (size, _)) in &before.files {
        let name = trace.names.intern(name);
        let shape = match size {
            0 => plain(Verb::Name("create")),
            _ => Shape { numbers: 1, ..plain(Verb::Make) },
        };
        push(&mut out, shapes, shape, [name, NONE], *size as i64);
    }
    for (name, (_, permissions)) in &before.files {
        if let Some(bits) = permissions.map(|bits| bits & !EXECUTABLE).filter(|bits| *bits != 0o644) {
            let name = trace.names.intern(name);
            let shape = Shape { permissions: Some(bits), ..plain(Verb::NameAndMode("chmod")) };
            push(&mut out, shapes, shape, [name, NONE], 0);
        }
    }
    for (name, target) in &before.links {
        let target = link_text(name, target);
        let (target, name) = (trace.names.intern(&target), trace.names.intern(name));
        push(&mut out, shapes, plain(Verb::TwoNames("symlink")), [target, name], 0);
    }
    out
}

struct Writer<'a, 'p> {
    parts: &'a mut Parts<'p>,
    paths: &'a Paths,
    heads: Heads,
    thinks: bool,
    /// How many iterations the loop has that the parameter `rows` scales.
    rows: Option<u64>,
}

impl Writer<'_, '_> {
    /// What stands before the statements.
    fn head(&self) -> String {
        let parts = &self.parts;
        let mut out = String::new();
        let line = |out: &mut String, text: &str| {
            let _ = writeln!(out, "# {}", comment(text));
        };
        line(
            &mut out,
            &format!(
                "Made by `lastrank import` from a trace of {}: {} calls on files.",
                parts.trace.format, parts.statements.calls
            ),
        );
        if !parts.anonymise {
            for (number, rank) in parts.lanes.ranks.iter().enumerate().take(20) {
                line(&mut out, &format!("Rank {number}: {}.", about(rank, parts.lanes)));
            }
            if !self.paths.root.is_empty() {
                let root = String::from_utf8_lossy(&self.paths.root).into_owned();
                line(&mut out, &format!("$dir stands for {root}."));
            }
        }
        for told in parts.choice.told(parts.anonymise) {
            line(&mut out, &told);
        }
        if parts.statements.implied_opens > 0 {
            line(
                &mut out,
                &format!(
                    "{} more opens than the application did, under the label {SETUP}, of files that a process got from \
                     another one.",
                    parts.statements.implied_opens
                ),
            );
        }
        if self.paths.rewritten > 0 {
            line(
                &mut out,
                &format!(
                    "{} names hold signs that a program cannot; they are written %XX.",
                    self.paths.rewritten
                ),
            );
        }
        for (why, count) in &parts.trace.left_out {
            line(&mut out, &format!("Left out: {count} {why}."));
        }
        let _ = writeln!(out, "\ndefine place \"dir\" $dir \"imported\" # where the files go");
        if let Some(rows) = self.rows {
            let _ = writeln!(
                out,
                "define param \"rows\" $rows {rows} from 1 # how often the largest loop is done"
            );
        }
        if parts.open_loop {
            out +=
                "define param \"pace\" $pace 1.0 from 0.0 # times between starts are so many times as long\n";
        } else if self.thinks {
            out += "define param \"pace\" $pace 1.0 from 0.0 # pauses are so many times as long\n";
        }
        let ranks = parts.lanes.ranks.len().max(1);
        let _ = writeln!(out, "define ranks {}", ranks * parts.copies.max(1) as usize);
        if parts.copying {
            out += "define content \"copied\" # writes take what was read just before\n";
        }
        out.push('\n');
        out += &if parts.copies > 1 { in_home(&self.heads.text) } else { self.heads.text.clone() };
        if !self.heads.text.is_empty() {
            out.push('\n');
        }
        out
    }

    fn body(&mut self, prelude: &Sequence) -> String {
        let mut out = String::from("\n# What was there before.\n");
        let nodes = if self.parts.verbatim { verbatim(prelude) } else { fold(prelude) };
        let made = self.strand(&nodes, None, false);
        let make = "if len(glob(\"$dir\")) == 0 mkdir(\"$dir\");\n";
        if self.parts.copies > 1 {
            let ranks = self.parts.lanes.ranks.len().max(1);
            let _ = writeln!(
                out,
                "$part = $$rank % {ranks};\n$copy = ($$rank - $part) / {ranks};\n$home = \"$dir/copy-$copy\";\n\
                 master time[\"{SETUP}\"] {make}barrier;\nif $part == 0 time[\"{SETUP}\"] {{\nmkdir($home);\n{}}}",
                in_home(&made)
            );
        } else {
            let _ = writeln!(out, "master time[\"{SETUP}\"] {{\n{make}{made}}}");
        }
        out += "barrier;\n\n";
        if self.parts.open_loop {
            out += "$begin = $$time;\n";
        }
        let rank_word = self.parts.rank_word();
        let ranks = self.parts.lanes.ranks.clone();
        let mut folded: Vec<Vec<Node>> = self
            .parts
            .statements
            .strands
            .iter()
            .map(|strand| if self.parts.verbatim { verbatim(strand) } else { fold(strand) })
            .collect();
        let rows = if self.parts.verbatim { None } else { largest(&folded) };
        // Equal ranks are written once.
        let alone = |rank: &RankPlan| match rank.segments.as_slice() {
            [segment] if segment.len() == 1 => Some(segment[0] as usize),
            _ => None,
        };
        let mut first = 0;
        while first < ranks.len() {
            let mut end = first + 1;
            if let Some(strand) = alone(&ranks[first]) {
                let is_like =
                    |rank: &RankPlan| alone(rank).is_some_and(|other| alike(&folded[strand], &folded[other]));
                while end < ranks.len() && is_like(&ranks[end]) {
                    end += 1;
                }
            }
            let text = if end - first > 1 {
                let strands = ranks[first..end].iter().filter_map(alone);
                let members = strands.map(|strand| std::mem::take(&mut folded[strand])).collect();
                self.members(members, rank_word, first)
            } else {
                self.rank(&ranks[first], &mut folded, rows)
            };
            let text = match (ranks.len(), end - first) {
                (1, _) => text,
                (all, own) if all == own => text,
                (_, 1) => format!("if {rank_word} == {first} {{\n{text}}}\n"),
                _ => format!("if {rank_word} >= {first} && {rank_word} < {end} {{\n{text}}}\n"),
            };
            out += &if self.parts.copies > 1 { in_home(&text) } else { text };
            first = end;
        }
        out
    }

    fn rank(&mut self, rank: &RankPlan, folded: &mut [Vec<Node>], rows: Option<*const Node>) -> String {
        let mut out = String::new();
        for segment in &rank.segments {
            let mut strands: Vec<usize> = segment.iter().map(|strand| *strand as usize).collect();
            if let [strand] = strands[..] {
                out += &self.strand(&folded[strand], rows, self.parts.open_loop);
                continue;
            }
            let _ = writeln!(out, "parallel {} {{", strands.len());
            let mut first = 0;
            while let Some(strand) = strands.first().copied() {
                let like =
                    strands.iter().take_while(|other| alike(&folded[strand], &folded[**other])).count();
                let members: Vec<Vec<Node>> =
                    strands.drain(..like).map(|strand| std::mem::take(&mut folded[strand])).collect();
                let text = if like > 1 {
                    self.members(members, "$$worker", first)
                } else {
                    self.strand(&members[0], None, self.parts.open_loop)
                };
                if like == segment.len() {
                    out += &text;
                } else if like == 1 {
                    let _ = writeln!(out, "if $$worker == {first} {{\n{text}}}");
                } else {
                    let end = first + like;
                    let _ = writeln!(out, "if $$worker >= {first} && $$worker < {end} {{\n{text}}}");
                }
                first += like;
            }
            out += "}\n";
        }
        out
    }

    /// The statements of several equal strands, which their rank or worker number distinguishes.
    fn members(&mut self, members: Vec<Vec<Node>>, built_in: &str, first: usize) -> String {
        let count = members.len() as u32;
        let mut members = members.into_iter();
        let mut nodes = members.next().unwrap_or_default();
        for other in members {
            for (own, other) in nodes.iter_mut().zip(&other) {
                own.take(other);
            }
        }
        let counter = if first == 0 { built_in.to_owned() } else { "$member".to_owned() };
        let least_gap = self.parts.least_gap;
        let signals = signals(self.parts.lanes, self.parts.copies > 1);
        let open_loop = self.parts.open_loop;
        let Statements { shapes, models, .. } = &*self.parts.statements;
        let shared = Shared { shapes, models, paths: self.paths, signals: &signals, least_gap, open_loop };
        let renderer = Renderer::new(&shared, &mut self.heads, None);
        let done = renderer.of_members(&nodes, &counter, count);
        self.thinks |= done.thinks;
        let text = done.text;
        if first > 0 { format!("$member = {built_in} - {first};\n{text}") } else { text }
    }

    fn strand(&mut self, nodes: &[Node], rows: Option<*const Node>, open_loop: bool) -> String {
        let here = rows.and_then(|rows| nodes.iter().find(|node| std::ptr::eq(*node, rows)));
        let least_gap = self.parts.least_gap;
        let signals = signals(self.parts.lanes, self.parts.copies > 1);
        let Statements { shapes, models, .. } = &*self.parts.statements;
        let shared = Shared { shapes, models, paths: self.paths, signals: &signals, least_gap, open_loop };
        let done = Renderer::new(&shared, &mut self.heads, here.map(std::ptr::from_ref)).of(nodes);
        self.thinks |= done.thinks;
        self.rows = self.rows.or(done.rows);
        done.text
    }
}

/// The name by which a strand signals.
fn signals(lanes: &Lanes, copies: bool) -> impl Fn(u32) -> String + '_ {
    move |strand| {
        let one = &lanes.strands[strand as usize];
        let segments = &lanes.ranks[one.rank as usize].segments;
        let copy = if copies { "copy $copy " } else { "" };
        let name = match (segments.len(), segments[one.segment as usize].len()) {
            (1, 1) => format!("rank {}", one.rank),
            (_, 1) => format!("rank {}.{}", one.rank, one.segment),
            _ => format!("rank {}.{} worker {}", one.rank, one.segment, one.worker),
        };
        format!("{copy}{name}")
    }
}

/// A text whose names count from the directory of its copy. A `$` that is part of a name has a backslash before it.
fn in_home(text: &str) -> String {
    text.replace("\"$dir/", "\"$home/").replace("\"$dir\"", "\"$home\"")
}

fn about(rank: &RankPlan, lanes: &Lanes) -> String {
    let calls: usize =
        rank.segments.iter().flatten().map(|strand| lanes.strands[*strand as usize].calls.len()).sum();
    let workers = rank.segments.iter().map(Vec::len).max().unwrap_or(1);
    let names = match rank.names.len() {
        0 => String::new(),
        1..=6 => format!("{}, ", rank.names.join(", ")),
        more => format!("{} and {} more, ", rank.names[..5].join(", "), more - 5),
    };
    let threads = if workers > 1 { format!(", {workers} threads at once") } else { String::new() };
    format!("{names}{calls} calls{threads}")
}

/// The top-level loop that does most, if it does at least half of all and ten iterations.
fn largest(folded: &[Vec<Node>]) -> Option<*const Node> {
    let all: usize = folded.iter().flatten().map(statements_of).sum();
    let node = folded.iter().flatten().max_by_key(|node| statements_of(node))?;
    match node {
        Node::Loop(one) if one.counts.get(0) >= 10 && statements_of(node) * 2 >= all => Some(node),
        Node::Loop(_) | Node::Site(_) => None,
    }
}

fn statements_of(node: &Node) -> usize {
    match node {
        Node::Site(Site { gaps, .. }) => gaps.len(),
        Node::Loop(one) => one.body.iter().map(statements_of).sum(),
    }
}

/// Whether two strands do the same, with other names and numbers, in loops of the same length.
fn alike(one: &[Node], other: &[Node]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|pair| match pair {
            (Node::Site(one), Node::Site(other)) => one.shape == other.shape,
            (Node::Loop(one), Node::Loop(other)) => {
                one.counts == other.counts && alike(&one.body, &other.body)
            }
            (Node::Site(_), Node::Loop(_)) | (Node::Loop(_), Node::Site(_)) => false,
        })
}
