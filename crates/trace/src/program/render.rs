//! Writes the nodes of one strand as statements.

mod starts;

use std::fmt::Write;
use std::ops::Range;

use super::SETUP;
use super::expressions::{Expression, Heads, Place};
use super::paths::Paths;
use super::thinks::{LoopGaps, duration, typical};
use crate::access::Models;
use crate::columns::Indices;
use crate::flags;
use crate::fold::{Loop, Node, Site, fold, unfold, verbatim};
use crate::packed::Packed;
use crate::sequence::Statement;
use crate::statements::{Shape, Shapes, Verb};

/// Loops of at most this many statements that run once and need no formula are written out.
const WRITTEN_OUT: usize = 4;

/// Outside of loops, a pause is written if it is at least this many times as long as the shortest.
const ADDED_UP: u64 = 100;

/// What all strands share.
pub struct Shared<'a> {
    pub shapes: &'a Shapes,
    pub models: &'a Models,
    pub paths: &'a Paths,
    /// The name by which a strand signals, by its number.
    pub signals: &'a dyn Fn(u32) -> String,
    /// Pauses shorter than so many nanoseconds are left out.
    pub least_gap: u64,
    /// Whether statements have the times at which they start in place of pauses.
    pub open_loop: bool,
}

/// Writes one strand.
pub struct Renderer<'a> {
    shared: &'a Shared<'a>,
    heads: &'a mut Heads,
    out: String,
    /// A pause that was too short to be written yet.
    pending: u64,
    counters: Vec<String>,
    /// Expressions that have a variable already, by the loop in which they stand.
    named: Vec<Vec<(String, String)>>,
    /// The loop whose number of iterations is the parameter `rows`.
    scaled: Option<*const Node>,
    in_scaled: bool,
    in_async: bool,
    thinks: bool,
    rows: Option<u64>,
    /// The next statement is the first one, or that of an outermost loop: its start is told in any case.
    anchors: bool,
    /// How many counters there are outside of loops: one, where equal strands are told apart by it.
    outside: usize,
}

/// The text of a strand.
pub struct Rendered {
    pub text: String,
    /// Whether it has a pause.
    pub thinks: bool,
    /// How many iterations the loop has that the parameter `rows` scales, where there is one.
    pub rows: Option<u64>,
}

impl<'a> Renderer<'a> {
    /// Nothing yet; `scaled` is the loop whose number of iterations is the parameter `rows`.
    pub fn new(shared: &'a Shared<'a>, heads: &'a mut Heads, scaled: Option<*const Node>) -> Self {
        Self {
            shared,
            heads,
            out: String::new(),
            pending: 0,
            counters: Vec::new(),
            named: vec![Vec::new()],
            scaled,
            in_scaled: false,
            in_async: false,
            thinks: false,
            rows: None,
            anchors: true,
            outside: 0,
        }
    }

    fn done(self) -> Rendered {
        Rendered { text: self.out, thinks: self.thinks, rows: self.rows }
    }

    /// The text of nodes whose values are those of several equal strands, told apart by `counter`.
    pub fn of_members(mut self, nodes: &[Node], counter: &str, count: u32) -> Rendered {
        self.counters.push(counter.to_owned());
        self.outside = 1;
        let counts = Packed::from_iter([u64::from(count)]);
        self.nodes(nodes, &Indices::top().inside(&counts));
        self.done()
    }

    /// The text of nodes.
    pub fn of(mut self, nodes: &[Node]) -> Rendered {
        self.nodes(nodes, &Indices::top());
        self.done()
    }

    /// Writes nodes; those that submit transfers, one behind the other, stand in an `async` block.
    fn nodes(&mut self, nodes: &[Node], indices: &Indices<'_>) {
        let mut rest = nodes;
        while let Some(first) = rest.first() {
            let depth = if self.in_async { None } else { self.depth(first) };
            let Some(depth) = depth else {
                self.each(&rest[..1], indices);
                rest = &rest[1..];
                continue;
            };
            let run = rest.iter().take_while(|node| self.depth(node) == Some(depth)).count();
            let outer = std::mem::take(&mut self.out);
            self.in_async = true;
            self.each(&rest[..run], indices);
            self.in_async = false;
            let body = std::mem::replace(&mut self.out, outer);
            let _ = writeln!(self.out, "async depth={depth} {{\n{body}}}");
            rest = &rest[run..];
        }
    }

    /// How many transfers are in flight in a node that does nothing but submit them.
    fn depth(&self, node: &Node) -> Option<u32> {
        match node {
            Node::Site(site) => Some(self.shared.shapes.get(site.shape).depth).filter(|depth| *depth > 0),
            Node::Loop(one) => {
                let mut all = one.body.iter().map(|node| self.depth(node));
                let first = all.next()??;
                all.all(|other| other == Some(first)).then_some(first)
            }
        }
    }

    fn each(&mut self, nodes: &[Node], indices: &Indices<'_>) {
        for node in nodes {
            match node {
                Node::Site(site) => self.site(site, indices),
                Node::Loop(one) if one.is_once() => {
                    self.nodes(&one.body, indices);
                }
                Node::Loop(one) => self.repeat(node, one, indices),
            }
        }
    }

    fn repeat(&mut self, node: &Node, one: &Loop, indices: &Indices<'_>) {
        let inner = indices.inside(&one.counts);
        if indices.depth == 0 && inner.executions() <= WRITTEN_OUT {
            let statements = unfold(std::slice::from_ref(node));
            let values = |one: &Statement| (one.names, one.numbers);
            let mut pairs = statements.iter().zip(statements.iter().skip(1));
            let is_short = statements.len() <= WRITTEN_OUT;
            if is_short && pairs.any(|(one, next)| values(&one) != values(&next)) {
                let lines = verbatim(&statements);
                return self.nodes(&lines, indices);
            }
        }
        if indices.depth == 0 && self.in_runs(node, one) {
            return;
        }
        let scaled = self.scaled.is_some_and(|scaled| std::ptr::eq(scaled, node));
        let place = Place { indices, counters: &self.counters, scaled: self.in_scaled };
        let mut count = self.heads.number(&one.counts, &place, "count");
        if scaled {
            count = Expression::from("$rows".to_owned());
            self.rows = Some(one.counts.get(0));
        }
        let counter = counter_name(self.counters.len());
        let mut gaps = if self.shared.open_loop {
            LoopGaps::default()
        } else {
            LoopGaps::of(&one.body, inner.executions())
        };
        let firsts = gaps.take_firsts(&one.counts, self.shared.least_gap.max(1));
        match firsts.len() {
            0 => {}
            1 if indices.executions() == 1 => self.pause_once(firsts.get(0)),
            _ => {
                self.thinks = true;
                let _ = writeln!(self.out, "think {} * $pace;", typical(&firsts));
            }
        }
        let single_out = self.counters.is_empty() && !self.in_async;
        let apart = if single_out { gaps.take_apart(self.added_up()) } else { Vec::new() };
        let outer = std::mem::take(&mut self.out);
        let was_scaled = self.in_scaled;
        self.in_scaled |= scaled;
        self.counters.push(counter.clone());
        self.named.push(Vec::new());
        self.pause(&gaps, &apart, &counter);
        self.anchors |= self.counters.len() == self.outside + 1;
        self.nodes(&one.body, &inner);
        self.named.pop();
        self.counters.pop();
        self.in_scaled = was_scaled;
        let body = std::mem::replace(&mut self.out, outer);
        let variable = if uses(&body, &counter) { format!("{counter} ") } else { String::new() };
        self.lines(&count.before);
        let single = body.lines().count() == 1 && !body.starts_with("repeat");
        let _ = match single {
            true => write!(self.out, "repeat {variable}{} {body}", count.text),
            false => writeln!(self.out, "repeat {variable}{} {{\n{body}}}", count.text),
        };
        self.lines(&count.after);
    }

    /// Writes a loop of one statement whose numbers grow evenly but for a few breaks as one loop for each run between
    /// breaks. Returns whether it was such a loop.
    fn in_runs(&mut self, node: &Node, one: &Loop) -> bool {
        let [Node::Site(site)] = one.body.as_slice() else { return false };
        let count = site.gaps.len();
        let same_names = site.names.iter().all(|names| names.constant().is_some());
        if count < 8 || !same_names {
            return false;
        }
        let runs = runs(site);
        if runs.len() < 2 || runs.len() * 8 > count {
            return false;
        }
        let scaled = self.scaled.is_some_and(|scaled| std::ptr::eq(scaled, node));
        let largest = runs.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
        let statements = unfold(std::slice::from_ref(node));
        for run in runs {
            let length = run.len();
            let nodes = fold(&statements.range(run.start, run.end).collect());
            if scaled && length == largest {
                self.scaled = nodes.first().map(std::ptr::from_ref);
            }
            self.nodes(&nodes, &Indices::top());
        }
        true
    }

    fn lines(&mut self, lines: &[String]) {
        for line in lines {
            self.out += line;
            self.out.push('\n');
        }
    }

    /// The pause of one iteration, from those before the statements that are done once in each; those that stand out by
    /// themselves.
    fn pause(&mut self, gaps: &LoopGaps, apart: &[(usize, u64)], counter: &str) {
        for (iteration, gap) in apart {
            self.thinks = true;
            let _ = writeln!(self.out, "if {counter} == {iteration} think {} * $pace;", duration(*gap));
        }
        let outermost = self.counters.len() == 1;
        let total = gaps.total();
        if total / (gaps.all.len().max(1) as u64) < self.shared.least_gap.max(1) {
            return;
        }
        if outermost && total < self.added_up() {
            self.pending = self.pending.saturating_add(total);
            return;
        }
        self.thinks = true;
        let _ = writeln!(self.out, "think {} * $pace;", typical(&gaps.all));
    }

    /// Outside loops pauses are added up to so much, so that they do not make up every second line.
    fn added_up(&self) -> u64 {
        self.shared.least_gap.saturating_mul(ADDED_UP).max(1)
    }

    /// A pause outside loops.
    fn pause_once(&mut self, gap: u64) {
        self.pending = self.pending.saturating_add(gap);
        if self.pending >= self.added_up() {
            let pause = std::mem::take(&mut self.pending);
            self.thinks = true;
            let _ = writeln!(self.out, "think {} * $pace;", duration(pause));
        }
    }

    fn site(&mut self, site: &Site, indices: &Indices<'_>) {
        if indices.executions() == 1 && !self.shared.open_loop {
            self.pause_once(site.gaps.get(0));
        }
        let shape = *self.shared.shapes.get(site.shape);
        let place = Place { indices, counters: &self.counters, scaled: self.in_scaled };
        self.heads.begin_statement();
        let mut names = Vec::new();
        for column in site.names.iter().take(names_of(shape.verb)) {
            names.push(self.heads.name(column, &place, self.shared.paths));
        }
        let mut numbers = Vec::new();
        let what = ["size", "offset"];
        for (column, what) in site.numbers.iter().zip(what).take(usize::from(shape.numbers)) {
            numbers.push(self.heads.number(column, &place, what));
        }
        if let Some(drawn) = shape.drawn.and_then(|drawn| self.shared.models.all.get(drawn as usize)) {
            for (number, text) in numbers.iter_mut().zip([&drawn.size, &drawn.offset]) {
                if let Some(text) = text {
                    *number = Expression::from(text.clone());
                }
            }
        }
        for name in &mut names {
            self.reuse(name);
        }
        for one in names.iter().chain(&numbers) {
            let before = one.before.clone();
            self.lines(&before);
        }
        let text = |all: &[Expression]| -> Vec<String> { all.iter().map(|one| one.text.clone()).collect() };
        let line = statement(&shape, &text(&names), &text(&numbers), self.shared.signals);
        let start = self.start(&shape, site, indices);
        self.heads.end_statement();
        self.lines(&start.before);
        let _ = writeln!(self.out, "{}{line}", start.text);
        self.lines(&start.after);
        for one in names.iter().chain(&numbers) {
            let after = one.after.clone();
            self.lines(&after);
        }
    }

    /// Reuses a variable that this iteration has already assigned the same value.
    fn reuse(&mut self, name: &mut Expression) {
        if !name.after.is_empty() {
            return;
        }
        let mut left = Vec::new();
        for line in std::mem::take(&mut name.before) {
            let Some((variable, value)) = line.split_once(" = ") else { continue };
            let known =
                self.named.iter().flatten().find(|(one, _)| one == value).map(|(_, known)| known.clone());
            match known {
                Some(known) => name.text = replace_variable(&name.text, variable, &known),
                None => {
                    if let Some(named) = self.named.last_mut() {
                        named.push((value.to_owned(), variable.to_owned()));
                    }
                    left.push(line);
                }
            }
        }
        name.before = left;
    }
}

/// The parts of a column of statements between which its numbers do not grow as evenly as within; no more than are few.
fn runs(site: &Site) -> Vec<Range<usize>> {
    let count = site.gaps.len();
    let [first, second] = &site.numbers;
    let mut values = first.iter().zip(second.iter()).map(|(one, two)| [one, two].map(u64::cast_signed));
    let Some(mut last) = values.next() else { return Vec::new() };
    let (mut runs, mut begin, mut even) = (Vec::new(), 0, None);
    for (at, value) in (1..).zip(values) {
        let step = [0, 1].map(|which| value[which].checked_sub(last[which]));
        last = value;
        if at == begin + 1 {
            even = Some(step);
        } else if even != Some(step) {
            runs.push(begin..at);
            begin = at;
            if runs.len() * 8 > count {
                return runs;
            }
        }
    }
    runs.push(begin..count);
    runs
}

/// How many names a statement has.
pub fn names_of(verb: Verb) -> usize {
    match verb {
        Verb::Open | Verb::OpenFails | Verb::Name(_) | Verb::NameAndMode(_) | Verb::Make => 1,
        Verb::ExtendedOpen(_) => 1,
        Verb::TwoNames(_) | Verb::Extended(_) => 2,
        Verb::Close
        | Verb::Read
        | Verb::ReadEnd
        | Verb::Write
        | Verb::Copy
        | Verb::CopyAlike
        | Verb::CopyEnd
        | Verb::Seek
        | Verb::StatOpen
        | Verb::ChangeOpen(_)
        | Verb::Sync
        | Verb::DataSync
        | Verb::Truncate
        | Verb::Allocate
        | Verb::Signal
        | Verb::Await => 0,
    }
}

/// The text of a statement.
fn statement(shape: &Shape, names: &[String], numbers: &[String], signals: &dyn Fn(u32) -> String) -> String {
    let file = format!("$f{}", shape.variable);
    let arguments =
        || std::iter::once(&file).chain(numbers).map(String::as_str).collect::<Vec<_>>().join(", ");
    let target = format!("$f{}", shape.target);
    let copied =
        || [&file, &target].into_iter().chain(numbers).map(String::as_str).collect::<Vec<_>>().join(", ");
    let permissions = shape.permissions.map_or(String::new(), |bits| format!(", 0o{bits:o}"));
    let line = match shape.verb {
        Verb::Open if shape.implied => {
            format!("time[\"{SETUP}\"] {file} = fopen({}, \"{}\");", names[0], flags::mode(shape.flags))
        }
        Verb::Close if shape.implied => format!("time[\"{SETUP}\"] fclose({file});"),
        Verb::Open => {
            format!("{file} = fopen({}, \"{}\"{permissions});", names[0], flags::mode(shape.flags))
        }
        Verb::OpenFails => format!("$none = fopen({}, \"{}\");", names[0], flags::failing_mode(shape.flags)),
        Verb::Close => format!("fclose({file});"),
        Verb::Read => format!("fread({});", arguments()),
        Verb::ReadEnd => return format!("expect errno == ENODATA fread({});", arguments()),
        Verb::Write => format!("fwrite({});", arguments()),
        Verb::Copy => format!("fcopy({});", copied()),
        Verb::CopyAlike => format!("fcopy({}, {});", copied(), numbers[1]),
        Verb::CopyEnd => return format!("expect errno == ENODATA fcopy({});", copied()),
        Verb::Seek => format!("fseek({});", arguments()),
        Verb::StatOpen => format!("stat({file});"),
        Verb::ChangeOpen(word) => format!("{word}({file}{permissions});"),
        Verb::Sync => format!("fsync({file});"),
        Verb::DataSync => format!("fdatasync({file});"),
        Verb::Truncate => format!("ftruncate({});", arguments()),
        Verb::Allocate => match flags::allocation_mode(shape.flags) {
            mode if mode.is_empty() => format!("fallocate({});", arguments()),
            mode => format!("fallocate({}, \"{mode}\");", arguments()),
        },
        Verb::Name(word) => format!("{word}({});", names[0]),
        Verb::NameAndMode(word) => format!("{word}({}{permissions});", names[0]),
        Verb::Extended(word) | Verb::ExtendedOpen(word) => {
            let file = (shape.verb == Verb::ExtendedOpen(word)).then_some(&file);
            let all: Vec<&str> = file.into_iter().chain(names).chain(numbers).map(String::as_str).collect();
            format!("{word}({});", all.join(", "))
        }
        Verb::TwoNames(word) => format!("{word}({}, {});", names[0], names[1]),
        Verb::Make => format!("write({}, {});", names[0], numbers[0]),
        Verb::Signal => format!("signal(\"{}\");", signals(shape.variable)),
        Verb::Await => format!("await(\"{}\", {});", signals(shape.variable), numbers[0]),
    };
    match shape.errno {
        0 => line,
        errno => format!("expect errno == {} {line}", ppl::errno::name(i32::from(errno))),
    }
}

/// The counter of a loop at a depth.
fn counter_name(depth: usize) -> String {
    match "ijklmopq".chars().nth(depth) {
        Some(letter) => format!("${letter}"),
        None => format!("$i{depth}"),
    }
}

/// Where `variable` stands in `text` as a whole name.
fn find_variable(text: &str, variable: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find(variable).map(|at| from + at) {
        let end = at + variable.len();
        let follows = text[end..].chars().next();
        if follows.is_none_or(|next| !next.is_alphanumeric() && next != '_') && !text[..at].ends_with('$') {
            return Some(at);
        }
        from = end;
    }
    None
}

fn uses(text: &str, variable: &str) -> bool {
    let braced = format!("${{{}}}", variable.trim_start_matches('$'));
    text.contains(&braced) || find_variable(text, variable).is_some()
}

fn replace_variable(text: &str, variable: &str, by: &str) -> String {
    let (bare, new) = (variable.trim_start_matches('$'), by.trim_start_matches('$'));
    let mut text = text.replace(&format!("${{{bare}}}"), &format!("${{{new}}}"));
    while let Some(at) = find_variable(&text, variable) {
        text.replace_range(at..at + variable.len(), by);
    }
    text
}
