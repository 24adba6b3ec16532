//! Statements one behind the other, packed: those of a trace that repeats itself take some bytes each.

use crate::packed::{self, Packed};

/// One statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its shape, by number.
    pub shape: u32,
    /// Its names, [`crate::model::NONE`] where it has none.
    pub names: [u32; 2],
    /// Its numbers; the shape holds their count.
    pub numbers: [i64; 2],
    /// How long the application paused before it, in nanoseconds; in an open loop, when its call began.
    pub gap: u64,
}

/// Statements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// Shape, names, numbers, pause.
    columns: [Packed; 6],
}

impl Sequence {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.columns[0].len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds one.
    pub fn push(&mut self, statement: Statement) {
        let Statement { shape, names: [one, other], numbers, gap } = statement;
        let [first, second] = numbers.map(i64::cast_unsigned);
        let values = [u64::from(shape), packed_name(one), packed_name(other), first, second, gap];
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value);
        }
    }

    /// All, in order.
    pub fn iter(&self) -> StatementIter<'_> {
        self.range(0, self.len())
    }

    /// Those from place `from` to before `to`.
    pub fn range(&self, from: usize, to: usize) -> StatementIter<'_> {
        StatementIter { columns: self.columns.each_ref().map(|column| column.range(from, to)) }
    }

    /// The shapes of all.
    pub fn shapes(&self) -> impl Iterator<Item = u32> + '_ {
        self.columns[0].iter().map(|shape| shape as u32)
    }
}

impl FromIterator<Statement> for Sequence {
    fn from_iter<I: IntoIterator<Item = Statement>>(statements: I) -> Self {
        let mut out = Self::default();
        statements.into_iter().for_each(|statement| out.push(statement));
        out
    }
}

/// A name as it is packed: [`crate::model::NONE`] is the least number.
pub fn packed_name(name: u32) -> u64 {
    u64::from(name.wrapping_add(1))
}

/// The name that was packed.
pub fn unpacked_name(name: u64) -> u32 {
    (name as u32).wrapping_sub(1)
}

/// Reads statements one behind the other.
#[derive(Clone, Debug)]
pub struct StatementIter<'a> {
    columns: [packed::PackedIter<'a>; 6],
}

impl Iterator for StatementIter<'_> {
    type Item = Statement;

    fn next(&mut self) -> Option<Statement> {
        let [shape, one, other, first, second, gap] = &mut self.columns;
        Some(Statement {
            shape: shape.next()? as u32,
            names: [unpacked_name(one.next()?), unpacked_name(other.next()?)],
            numbers: [first.next()?.cast_signed(), second.next()?.cast_signed()],
            gap: gap.next()?,
        })
    }
}
