//! Folds what repeats with differences: bodies that have a part more or less become one loop, in which such a part is a loop of
//! zero or more iterations.
//!
//! The sequence is cut before each node of one form (the *anchor*: what opens a file, say). Neighbouring pieces are aligned by
//! their longest common subsequence into one sequence that holds all of them in order, as long as it stays short.

use std::collections::BTreeMap;
use std::ops::Range;

/// The longest body.
const LONGEST: usize = 64;
/// Pieces that a loop must have.
const LEAST_PIECES: usize = 4;
/// A loop must make the sequence by so many nodes shorter, and the nodes that it takes at least half as many.
const LEAST_SAVED: usize = 6;
/// A body may be so much longer than twice the longest of its pieces.
const LEAST_ROOM: usize = 8;
/// How many forms are tried as anchors.
const ANCHORS: usize = 12;
/// Longer sequences are left as they are: they have no rhythm that a reader would see.
const LONGEST_SEQUENCE: usize = 1 << 16;

/// A loop with optional parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aligned {
    /// The forms of its parts.
    pub body: Vec<u32>,
    /// For each iteration the nodes that it takes, in order, each with its place in the body.
    pub iterations: Vec<Vec<(usize, usize)>>,
    /// The nodes that it takes.
    pub nodes: Range<usize>,
}

/// The loops that make a sequence of forms shortest; none where there is no good one. They do not overlap and are in order.
pub fn align(forms: &[u32]) -> Vec<Aligned> {
    if forms.len() < LEAST_PIECES * 2 || forms.len() > LONGEST_SEQUENCE {
        return Vec::new();
    }
    let saved = |loops: &Vec<Aligned>| loops.iter().map(saving).sum::<usize>();
    anchors(forms.iter().copied())
        .take(ANCHORS)
        .map(|anchor| anchored(forms, anchor))
        .max_by_key(saved)
        .unwrap_or_default()
}

/// The forms with which pieces may begin, those that occur most often first.
pub fn anchors(forms: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for form in forms {
        *counts.entry(form).or_default() += 1;
    }
    let mut often: Vec<(usize, u32)> = counts
        .into_iter()
        .filter(|(_, count)| *count >= LEAST_PIECES)
        .map(|(form, count)| (count, form))
        .collect();
    often.sort_unstable_by(|one, other| other.cmp(one));
    often.into_iter().map(|(_, form)| form)
}

fn saving(one: &Aligned) -> usize {
    one.nodes.len().saturating_sub(one.body.len() + 1)
}

/// The loops whose iterations begin with an anchor.
fn anchored(forms: &[u32], anchor: u32) -> Vec<Aligned> {
    let starts: Vec<usize> = (0..forms.len()).filter(|at| forms[*at] == anchor).collect();
    // What stands behind the last anchor up to the end may be more than its piece: as much as the longest piece before.
    let longest = starts.windows(2).map(|pair| pair[1] - pair[0]).filter(|piece| *piece <= LONGEST).max();
    let piece = |at: usize| {
        let end = starts.get(at + 1).copied().unwrap_or(forms.len());
        starts[at]..end.min(starts[at] + longest.unwrap_or(1))
    };
    let mut out = Vec::new();
    let mut at = 0;
    while at < starts.len() {
        let first = piece(at);
        let mut run = Run { body: forms[first.clone()].to_vec(), pieces: vec![first] };
        let mut next = at + 1;
        while next < starts.len() {
            let mut piece = piece(next);
            // What stands behind the last piece is no part of it.
            while next + 1 == starts.len() && piece.len() > 1 && !run.body.contains(&forms[piece.end - 1]) {
                piece.end -= 1;
            }
            if !run.takes(forms, piece) {
                break;
            }
            next += 1;
        }
        out.extend(run.finish(forms));
        at = next;
    }
    out
}

/// Neighbouring pieces with the body that holds them all.
struct Run {
    body: Vec<u32>,
    pieces: Vec<Range<usize>>,
}

impl Run {
    /// Takes the next piece, if the body stays short.
    fn takes(&mut self, forms: &[u32], piece: Range<usize>) -> bool {
        if self.pieces.last().is_none_or(|last| last.end != piece.start) || piece.len() > LONGEST {
            return false;
        }
        let body = merged(&self.body, &forms[piece.clone()]);
        let longest = self.pieces.iter().map(Range::len).max().unwrap_or(0).max(piece.len());
        if body.len() > LONGEST.min(longest * 2 + LEAST_ROOM) {
            return false;
        }
        self.body = body;
        self.pieces.push(piece);
        true
    }

    fn finish(self, forms: &[u32]) -> Option<Aligned> {
        let nodes = self.pieces.first()?.start..self.pieces.last()?.end;
        let iterations = self.pieces.into_iter().map(|piece| placed(&self.body, forms, piece)).collect();
        let one = Aligned { body: self.body, iterations, nodes };
        let is_good = one.iterations.len() >= LEAST_PIECES
            && saving(&one) >= LEAST_SAVED
            && saving(&one) * 2 >= one.nodes.len();
        is_good.then_some(one)
    }
}

/// Lengths of the longest common subsequences of what follows in both.
fn lengths(one: &[u32], other: &[u32]) -> Vec<Vec<u16>> {
    let mut table = vec![vec![0_u16; other.len() + 1]; one.len() + 1];
    for at in (0..one.len()).rev() {
        for of in (0..other.len()).rev() {
            table[at][of] = match one[at] == other[of] {
                true => table[at + 1][of + 1] + 1,
                false => table[at + 1][of].max(table[at][of + 1]),
            };
        }
    }
    table
}

/// The shortest sequence that holds both in order.
fn merged(one: &[u32], other: &[u32]) -> Vec<u32> {
    let table = lengths(one, other);
    let (mut at, mut of, mut out) = (0, 0, Vec::with_capacity(one.len().max(other.len())));
    while at < one.len() && of < other.len() {
        if one[at] == other[of] {
            out.push(one[at]);
            (at, of) = (at + 1, of + 1);
        } else if table[at + 1][of] >= table[at][of + 1] {
            out.push(one[at]);
            at += 1;
        } else {
            out.push(other[of]);
            of += 1;
        }
    }
    out.extend_from_slice(&one[at..]);
    out.extend_from_slice(&other[of..]);
    out
}

/// The place of each node of a piece in a body that holds it in order: the first that leaves room for the rest.
fn placed(body: &[u32], forms: &[u32], piece: Range<usize>) -> Vec<(usize, usize)> {
    let mut place = 0;
    let mut out = Vec::with_capacity(piece.len());
    for node in piece {
        while place < body.len() && body[place] != forms[node] {
            place += 1;
        }
        out.push((node, place));
        place += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pieces_with_a_part_more_or_less_are_one_loop() {
        let forms: Vec<u32> = (0..10)
            .flat_map(|at| if at % 3 == 0 { vec![1, 2, 3, 4] } else { vec![1, 2, 4] })
            .chain([9])
            .collect();
        let found = align(&forms);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].body.as_slice(), found[0].iterations.len()), (&[1, 2, 3, 4][..], 10));
        assert_eq!(found[0].iterations[1], [(4, 0), (5, 1), (6, 3)]);
        assert_eq!(found[0].nodes, 0..34);
    }

    #[test]
    fn what_has_no_rhythm_stays() {
        assert_eq!(align(&(0..100).collect::<Vec<u32>>()), []);
        assert_eq!(align(&[1, 2, 3]), []);
    }

    proptest! {
        #[test]
        fn iterations_hold_their_nodes_in_order(forms in prop::collection::vec(0_u32..6, 0..120)) {
            let mut end = 0;
            for one in align(&forms) {
                prop_assert!(one.nodes.start >= end && one.nodes.end <= forms.len());
                end = one.nodes.end;
                let taken: Vec<usize> = one.iterations.iter().flatten().map(|(node, _)| *node).collect();
                prop_assert_eq!(taken, one.nodes.clone().collect::<Vec<_>>());
                for iteration in &one.iterations {
                    prop_assert!(iteration.windows(2).all(|pair| pair[0].1 < pair[1].1));
                    prop_assert!(iteration.iter().all(|(node, place)| one.body.get(*place) == Some(&forms[*node])));
                }
            }
        }
    }
}
