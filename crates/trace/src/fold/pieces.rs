//! Folds a sequence in pieces that begin with the same statement and differ in parts.
//!
//! Where pieces hold a loop, it may have any number of iterations in a piece, also one, and may begin at another place: a copy
//! whose blocks do not end with the files reads and writes in turn, but begins a file with either. The bodies that occur most
//! (*rhythms*) are therefore looked for in each piece.

use super::{Folder, Loop, Node, Way, form_of};
use crate::maps::HashMap;
use crate::optional::{Aligned, align};
use crate::packed::Packed;
use crate::sequence::Sequence;

/// How often loops with optional parts are looked for: they hold each other.
const MOST_ROUNDS: usize = 4;

impl Folder {
    /// Folds each piece, and then pieces that differ in parts only.
    pub(super) fn in_pieces(statements: &Sequence, way: Way) -> Vec<Node> {
        let mut folder = Self::default();
        let rhythms = if way.by_rhythm { folder.rhythms(statements, way.anchor) } else { Vec::new() };
        let (mut nodes, mut shapes) = (Vec::new(), Vec::new());
        folder.each_piece(statements, way, |folder| {
            if way.by_rhythm {
                folder.find(&rhythms);
            }
            nodes.append(&mut folder.nodes);
            shapes.append(&mut folder.shapes);
        });
        (folder.nodes, folder.shapes) = (nodes, shapes);
        for _ in 0..MOST_ROUNDS {
            let loops = align(&folder.shapes);
            if loops.is_empty() {
                break;
            }
            folder.merge(loops);
        }
        folder.nodes
    }

    /// Calls `done` with the nodes of each piece, which it takes: folded, or where rhythms are to be found as runs of equal
    /// statements.
    fn each_piece(&mut self, statements: &Sequence, way: Way, mut done: impl FnMut(&mut Self)) {
        for statement in statements.iter() {
            if statement.shape == way.anchor && !self.nodes.is_empty() {
                done(self);
            }
            if way.by_rhythm {
                self.push_run(&statement);
            } else {
                self.push(&statement);
            }
        }
        done(self);
    }

    /// The bodies of several statements that are repeated in pieces, by their forms, those first that make up most statements.
    /// One that is another begun elsewhere is left out.
    fn rhythms(&mut self, statements: &Sequence, anchor: u32) -> Vec<Vec<u32>> {
        let mut made: HashMap<Vec<u32>, u64> = HashMap::default();
        self.each_piece(statements, Way { anchor, by_rhythm: false }, |folder| {
            for node in &folder.nodes {
                if let Node::Loop(one) = node
                    && one.body.len() > 1
                    && one.body.iter().all(is_statement)
                {
                    let body: Vec<u32> = one.body.iter().map(form_of).collect();
                    *made.entry(body).or_default() += one.counts.get(0) * one.body.len() as u64;
                }
            }
            folder.nodes.clear();
            folder.shapes.clear();
        });
        let mut often: Vec<(u64, Vec<u32>)> = made.into_iter().map(|(body, count)| (count, body)).collect();
        often.sort_unstable_by(|one, other| other.cmp(one));
        let mut rhythms: Vec<Vec<u32>> = Vec::new();
        for (_, body) in often {
            if !rhythms.iter().any(|known| is_turned(known, &body)) {
                rhythms.push(body);
            }
        }
        rhythms
    }

    /// Makes loops of the nodes that have the forms of a rhythm, once or several times.
    fn find(&mut self, rhythms: &[Vec<u32>]) {
        let forms = std::mem::take(&mut self.shapes);
        let mut nodes = std::mem::take(&mut self.nodes).into_iter();
        let mut at = 0;
        while at < forms.len() {
            let body = rhythms.iter().find(|body| forms[at..].starts_with(body));
            let times = body.map_or(0, |body| repetitions(&forms[at..], body));
            let width = body.map_or(1, Vec::len);
            let mut iteration: Vec<Node> = nodes.by_ref().take(width).collect();
            for _ in 1..times {
                for (own, other) in iteration.iter_mut().zip(nodes.by_ref().take(width)) {
                    own.take(&other);
                }
            }
            match body {
                Some(body) => {
                    let form = self.forms.of(body);
                    let counts = Packed::from_iter([times as u64]);
                    self.push_node(Node::Loop(Loop { form, counts, body: iteration }), form);
                }
                None => iteration.into_iter().for_each(|node| self.push_node(node, forms[at])),
            }
            at += width * times.max(1);
        }
    }

    /// Puts loops with optional parts in place of their nodes, and folds what then repeats.
    fn merge(&mut self, loops: Vec<Aligned>) {
        let shapes = std::mem::take(&mut self.shapes);
        let mut nodes = std::mem::take(&mut self.nodes).into_iter().zip(shapes);
        let mut at = 0;
        for one in loops {
            for (node, form) in nodes.by_ref().take(one.nodes.start - at) {
                self.push_node(node, form);
            }
            at = one.nodes.end;
            let taken: Vec<Node> = nodes.by_ref().take(one.nodes.len()).map(|(node, _)| node).collect();
            let form = self.forms.of(&one.body);
            self.push_node(loop_of(&one, taken, form), form);
        }
        for (node, form) in nodes {
            self.push_node(node, form);
        }
    }
}

/// How often `forms` begins with `body`.
fn repetitions(forms: &[u32], body: &[u32]) -> usize {
    forms.chunks(body.len()).take_while(|chunk| *chunk == body).count()
}

/// Whether a node is a statement, which may be repeated.
fn is_statement(node: &Node) -> bool {
    matches!(node, Node::Loop(one) if matches!(one.body.as_slice(), [Node::Site(_)]))
}

/// Whether both are the same rhythm, begun at different places.
fn is_turned(one: &[u32], other: &[u32]) -> bool {
    let turned = |at: usize| one[at..].iter().chain(&one[..at]).eq(other);
    one.len() == other.len() && (0..one.len()).any(turned)
}

/// A loop whose parts have no iteration where a piece lacks them. `nodes` are those that it takes.
fn loop_of(aligned: &Aligned, nodes: Vec<Node>, form: u32) -> Node {
    let mut body: Vec<Option<Node>> = vec![None; aligned.body.len()];
    // Iterations of parts that did not occur yet.
    let mut without: Vec<u32> = vec![0; aligned.body.len()];
    let mut nodes = nodes.into_iter();
    for iteration in &aligned.iterations {
        let mut places = iteration.iter().map(|(_, place)| *place).peekable();
        for (at, part) in body.iter_mut().enumerate() {
            let node = match places.next_if_eq(&at) {
                Some(_) => nodes.next(),
                None => None,
            };
            match (node, part) {
                (Some(node), Some(part)) => part.take(&node),
                (Some(Node::Loop(mut node)), part) => {
                    let mut counts = Packed::default();
                    counts.push_some(0, without[at] as usize);
                    counts.append(&node.counts);
                    node.counts = counts;
                    *part = Some(Node::Loop(node));
                }
                (Some(node @ Node::Site(_)), part) => *part = Some(node),
                (None, Some(Node::Loop(part))) => part.counts.push(0),
                (None, Some(Node::Site(_)) | None) => without[at] += 1,
            }
        }
    }
    let body = body.into_iter().flatten().collect();
    Node::Loop(Loop { form, counts: Packed::from_iter([aligned.iterations.len() as u64]), body })
}
