//! Folds a sequence of statements into loops.
//!
//! Only shapes decide what is folded; names and numbers become columns, a value for each execution, so that nothing is
//! lost ([`unfold`] gives the sequence back). Each statement is a loop of one iteration at first. After each
//! statement the end of the sequence is examined: last nodes that repeat the body of the loop before them become
//! its next iteration; last nodes that equal the nodes before them become a loop with these.

mod pieces;

use std::ops::Range;

use crate::columns::{Column, Indices, column};
use crate::maps::HashMap;
use crate::optional::anchors;
use crate::packed::Packed;
use crate::sequence::{Sequence, Statement, packed_name, unpacked_name};

/// The longest body of a loop, in nodes.
const LONGEST_BODY: usize = 96;

/// A sequence is folded well if it has so many times as many statements as lines.
const WELL_FOLDED: usize = 10;
/// Sequences of which pieces are tried.
const IN_PIECES: Range<usize> = 24..1 << 17;
/// How many shapes are tried as the beginning of pieces.
const ANCHORS: usize = 8;
/// Pieces of so many statements tell which way is best.
const TRIED: usize = 1 << 15;
/// Items of a list on a line: names, sizes and offsets, counts.
const NAMES_A_LINE: usize = 8;
const NUMBERS_A_LINE: usize = 16;
const COUNTS_A_LINE: usize = 32;

/// How pieces are made and folded.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The shape of the statement with which each piece begins.
    anchor: u32,
    /// Whether rhythms are looked for in them; otherwise each is folded as it repeats.
    by_rhythm: bool,
}

/// A statement or a loop of the folded program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A statement.
    Site(Site),
    /// A loop.
    Loop(Loop),
}

/// A statement with its values in the order of its executions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Its shape, by number.
    pub shape: u32,
    /// Names of each execution, as [`packed_name`] makes them.
    pub names: [Packed; 2],
    /// Numbers of each execution, as if they had no sign.
    pub numbers: [Packed; 2],
    /// Pauses before each execution, in nanoseconds.
    pub gaps: Packed,
}

/// A loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Its form: equal for loops with equal bodies, whatever their numbers of iterations.
    form: u32,
    /// Iterations of each execution.
    pub counts: Packed,
    /// What is repeated.
    pub body: Vec<Node>,
}

/// Assigns numbers to the forms of nodes.
#[derive(Debug, Default)]
struct Forms {
    numbers: HashMap<Vec<u32>, u32>,
}

/// Forms of statements lie above those of loops.
const SITES: u32 = 1 << 31;

impl Forms {
    fn of(&mut self, body: &[u32]) -> u32 {
        let next = self.numbers.len() as u32;
        match self.numbers.get(body) {
            Some(known) => *known,
            None => {
                self.numbers.insert(body.to_vec(), next);
                next
            }
        }
    }
}

/// The folded program of a sequence of statements: as it repeats, or where that leaves much, in pieces that begin with the
/// same statement and differ in parts.
pub fn fold(statements: &Sequence) -> Vec<Node> {
    let nodes = as_it_repeats(statements);
    let lines = cost(&nodes, &Indices::top());
    if lines * WELL_FOLDED <= statements.len() || !IN_PIECES.contains(&statements.len()) {
        return nodes;
    }
    // Nodes take much where little repeats: those of one way are held at a time, and made again of the best.
    drop(nodes);
    let some: Sequence = statements.iter().take(TRIED).collect();
    let lines_of = |way: &Way| cost(&Folder::in_pieces(&some, *way), &Indices::top());
    let anchors = anchors(statements.shapes()).take(ANCHORS);
    let ways = anchors.flat_map(|anchor| [false, true].map(|by_rhythm| Way { anchor, by_rhythm }));
    if let Some(best) = ways.min_by_key(lines_of) {
        let nodes = Folder::in_pieces(statements, best);
        if cost(&nodes, &Indices::top()) * 4 <= lines * 3 {
            return nodes;
        }
    }
    as_it_repeats(statements)
}

/// The folded program of a sequence of statements as it repeats.
fn as_it_repeats(statements: &Sequence) -> Vec<Node> {
    let mut folder = Folder::default();
    statements.iter().for_each(|statement| folder.push(&statement));
    folder.nodes
}

/// About how many lines nodes take, with their lists.
fn cost(nodes: &[Node], indices: &Indices<'_>) -> usize {
    let list = |values: &Packed, a_line: usize| match column(values, indices) {
        Column::Affine { .. } => 0,
        Column::List => values.len() / a_line + 1,
    };
    let of = |node: &Node| match node {
        Node::Site(site) => {
            let names = site.names.iter().filter(|names| names.constant().is_none()).count()
                * (site.gaps.len() / NAMES_A_LINE + 1);
            1 + names + site.numbers.iter().map(|numbers| list(numbers, NUMBERS_A_LINE)).sum::<usize>()
        }
        Node::Loop(one) if one.is_once() => cost(&one.body, indices),
        Node::Loop(one) => {
            2 + list(&one.counts, COUNTS_A_LINE) + cost(&one.body, &indices.inside(&one.counts))
        }
    };
    nodes.iter().map(of).sum()
}

/// The same without any loop: every statement once.
pub fn verbatim(statements: &Sequence) -> Vec<Node> {
    statements.iter().map(|statement| Node::Site(Site::of(&statement))).collect()
}

impl Loop {
    /// Whether it has one iteration whenever it is reached, so that it is none.
    pub fn is_once(&self) -> bool {
        self.counts.is_empty() || self.counts.constant() == Some(1)
    }

    /// The first, or only, execution has one more iteration.
    fn grow(&mut self, by: u64) {
        self.counts.set(0, self.counts.get(0) + by);
    }
}

#[derive(Default)]
struct Folder {
    forms: Forms,
    nodes: Vec<Node>,
    /// The form of each node.
    shapes: Vec<u32>,
    /// The forms of loops of one statement, by its shape.
    of_statements: Vec<Option<u32>>,
}

impl Site {
    fn of(statement: &Statement) -> Self {
        let mut site = Self { shape: statement.shape, ..Self::default() };
        site.add(statement);
        site
    }

    /// Adds an execution.
    fn add(&mut self, statement: &Statement) {
        for (own, name) in self.names.iter_mut().zip(statement.names) {
            own.push(packed_name(name));
        }
        for (own, number) in self.numbers.iter_mut().zip(statement.numbers) {
            own.push(number.cast_unsigned());
        }
        self.gaps.push(statement.gap);
    }

    /// The statement of an execution.
    fn at(&self, execution: usize) -> Statement {
        Statement {
            shape: self.shape,
            names: self.names.each_ref().map(|names| unpacked_name(names.get(execution))),
            numbers: self.numbers.each_ref().map(|numbers| numbers.get(execution).cast_signed()),
            gap: self.gaps.get(execution),
        }
    }
}

impl Node {
    /// Appends the executions of a node of the same form.
    pub fn take(&mut self, other: &Node) {
        match (self, other) {
            (Node::Site(own), Node::Site(other)) => {
                for (own, other) in own.names.iter_mut().zip(&other.names) {
                    own.append(other);
                }
                for (own, other) in own.numbers.iter_mut().zip(&other.numbers) {
                    own.append(other);
                }
                own.gaps.append(&other.gaps);
            }
            (Node::Loop(own), Node::Loop(other)) => {
                own.counts.append(&other.counts);
                for (own, other) in own.body.iter_mut().zip(&other.body) {
                    own.take(other);
                }
            }
            // Nodes of one form are of one kind.
            (Node::Site(_), Node::Loop(_)) | (Node::Loop(_), Node::Site(_)) => {}
        }
    }
}

impl Folder {
    fn push(&mut self, statement: &Statement) {
        if self.push_run(statement) {
            while self.join() || self.absorb() || self.pair() {}
        }
    }

    /// Adds a statement, or one more iteration of the last one; whether it is a node of its own.
    fn push_run(&mut self, statement: &Statement) -> bool {
        let form = self.form_of_statement(statement.shape);
        if self.shapes.last() == Some(&form)
            && let Some(Node::Loop(one)) = self.nodes.last_mut()
            && let [Node::Site(site)] = one.body.as_mut_slice()
        {
            // One more iteration of the last loop: nothing before it changes, so that nothing else can be folded.
            site.add(statement);
            one.grow(1);
            return false;
        }
        let body = vec![Node::Site(Site::of(statement))];
        self.nodes.push(Node::Loop(Loop { form, counts: Packed::from_iter([1]), body }));
        self.shapes.push(form);
        true
    }

    fn push_node(&mut self, node: Node, form: u32) {
        self.nodes.push(node);
        self.shapes.push(form);
        while self.join() || self.absorb() || self.pair() {}
    }

    fn form_of_statement(&mut self, shape: u32) -> u32 {
        let at = shape as usize;
        if self.of_statements.len() <= at {
            self.of_statements.resize(at + 1, None);
        }
        *self.of_statements[at].get_or_insert_with(|| self.forms.of(&[SITES | shape]))
    }

    fn body_at(&self, at: usize) -> Option<&Loop> {
        match &self.nodes[at] {
            Node::Loop(one) => Some(one),
            Node::Site(_) => None,
        }
    }

    /// Merges the last two nodes, if they are loops of the same form.
    fn join(&mut self) -> bool {
        let count = self.nodes.len();
        if count < 2 || self.shapes[count - 1] != self.shapes[count - 2] {
            return false;
        }
        let (Some(Node::Loop(last)), Some(Node::Loop(before))) = (self.nodes.pop(), self.nodes.last_mut())
        else {
            return false;
        };
        self.shapes.pop();
        before.grow(last.counts.get(0));
        for (own, other) in before.body.iter_mut().zip(&last.body) {
            own.take(other);
        }
        true
    }

    /// Merges the last nodes into the loop before them as its next iteration, if they repeat its body.
    fn absorb(&mut self) -> bool {
        let count = self.nodes.len();
        for width in 2..=LONGEST_BODY.min(count.saturating_sub(1)) {
            let at = count - 1 - width;
            let Some(before) = self.body_at(at).filter(|one| one.body.len() == width) else { continue };
            let same =
                before.body.iter().zip(&self.shapes[at + 1..]).all(|(node, form)| form_of(node) == *form);
            if !same {
                continue;
            }
            let iteration = self.nodes.split_off(at + 1);
            self.shapes.truncate(at + 1);
            if let Some(Node::Loop(before)) = self.nodes.last_mut() {
                before.grow(1);
                for (own, other) in before.body.iter_mut().zip(&iteration) {
                    own.take(other);
                }
            }
            return true;
        }
        false
    }

    /// Makes a loop of the last nodes and those before them, if they are equal.
    fn pair(&mut self) -> bool {
        let count = self.shapes.len();
        for width in 2..=LONGEST_BODY.min(count / 2) {
            let (first, second) = (count - 2 * width, count - width);
            if self.shapes[first..second] != self.shapes[second..] {
                continue;
            }
            let form = self.forms.of(&self.shapes[second..]);
            let iteration = self.nodes.split_off(second);
            let mut body = self.nodes.split_off(first);
            for (own, other) in body.iter_mut().zip(&iteration) {
                own.take(other);
            }
            self.nodes.push(Node::Loop(Loop { form, counts: Packed::from_iter([2]), body }));
            self.shapes.truncate(first);
            self.shapes.push(form);
            return true;
        }
        false
    }
}

fn form_of(node: &Node) -> u32 {
    match node {
        Node::Site(site) => SITES | site.shape,
        Node::Loop(one) => one.form,
    }
}

/// The sequence of statements that a folded program executes.
pub fn unfold(nodes: &[Node]) -> Sequence {
    let mut out = Sequence::default();
    let mut cursors = HashMap::default();
    walk(nodes, &mut cursors, &mut out);
    out
}

/// Appends one execution of the nodes; `cursors` counts the executions of each so far, by its address.
fn walk(nodes: &[Node], cursors: &mut HashMap<*const Node, usize>, out: &mut Sequence) {
    for node in nodes {
        let cursor = cursors.entry(std::ptr::from_ref(node)).or_default();
        let at = *cursor;
        *cursor += 1;
        match node {
            Node::Site(site) => out.push(site.at(at)),
            Node::Loop(one) => {
                for _ in 0..one.counts.get(at) {
                    walk(&one.body, cursors, out);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn statement(shape: u32, number: i64) -> Statement {
        Statement { shape, names: [7, 8], numbers: [number, 0], gap: 5 }
    }

    #[test]
    fn repeated_bodies_become_nested_loops() {
        let mut all = Vec::new();
        for file in 0..100 {
            all.push(statement(1, file));
            for part in 0..file % 5 + 1 {
                all.push(statement(2, part));
            }
            all.push(statement(3, 0));
        }
        let all: Sequence = all.into_iter().collect();
        let folded = fold(&all);
        assert_eq!(folded.len(), 1);
        let Node::Loop(outer) = &folded[0] else { panic!("no loop") };
        assert_eq!((outer.counts.iter().collect::<Vec<_>>(), outer.body.len()), (vec![100], 3));
        assert_eq!(unfold(&folded), all);
    }

    fn lines(nodes: &[Node]) -> usize {
        let of = |node: &Node| match node {
            Node::Site(_) => 1,
            Node::Loop(one) => lines(&one.body),
        };
        nodes.iter().map(of).sum()
    }

    /// As `tar` does: files of many sizes are read into blocks of 20 sectors, each of which is written when it is full.
    #[test]
    fn files_read_into_blocks_are_one_loop() {
        const BLOCK: i64 = 10_240;
        let mut all = Vec::new();
        let mut held = 0;
        for file in 0..600 {
            let mut rest = 1800 * (file * 7 % 50);
            all.extend([statement(1, 0), statement(2, 0)]);
            held += 512;
            if held == BLOCK {
                all.push(statement(4, BLOCK));
                held = 0;
            }
            while rest > 0 {
                let read = rest.min(BLOCK - held);
                all.push(statement(3, read));
                (rest, held) = (rest - read, held + read);
                if rest == 0 {
                    held = (held + 511) / 512 * 512;
                }
                if held == BLOCK {
                    all.push(statement(4, BLOCK));
                    held = 0;
                }
            }
            all.extend([statement(2, 0), statement(5, 0)]);
        }
        let all: Sequence = all.into_iter().collect();
        let folded = fold(&all);
        assert_eq!(unfold(&folded), all);
        // Open, stat, a block that the head of a file fills, reads and writes in turn, what is left of a file, stat, close.
        assert_eq!((folded.len(), lines(&folded)), (1, 8), "{folded:#?}");
    }

    proptest! {
        #[test]
        fn unfolding_gives_the_sequence_back(
            blocks in prop::collection::vec((prop::collection::vec((0_u32..4, -9_i64..9), 1..9), 1_usize..7), 0..14)
        ) {
            let mut all = Vec::new();
            for (body, times) in &blocks {
                for _ in 0..*times {
                    all.extend(body.iter().map(|(shape, number)| statement(*shape, *number)));
                }
            }
            let all: Sequence = all.into_iter().collect();
            let folded = fold(&all);
            prop_assert_eq!(unfold(&folded), all.clone());
            prop_assert_eq!(unfold(&verbatim(&all)), all);
        }

        #[test]
        fn optional_parts_are_undone_as_well(
            kinds in prop::collection::vec((any::<bool>(), any::<bool>(), 0_u32..3), 0..40)
        ) {
            let mut all = Vec::new();
            for (first, second, times) in kinds {
                all.push(statement(1, 4));
                all.extend(first.then(|| statement(2, 5)));
                for _ in 0..times {
                    all.push(statement(3, 1));
                    all.push(statement(4, 2));
                }
                all.extend(second.then(|| statement(5, 6)));
                all.push(statement(6, 0));
            }
            let all: Sequence = all.into_iter().collect();
            prop_assert_eq!(unfold(&fold(&all)), all);
        }
    }
}
