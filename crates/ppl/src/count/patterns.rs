//! Bytes of transfers by a pattern.

use crate::commands::{CommandSpec, Kind};
use crate::interpret::Arguments;
use crate::plan::{Group, GroupId, Pattern, Plan};

use super::Counter;

impl Counter<'_> {
    /// Bytes of one rank and of all ranks for the pattern that an argument names.
    pub(super) fn pattern_bytes(
        &mut self,
        (spec, at): (&CommandSpec, usize),
        arguments: &Arguments,
    ) -> (u64, u64) {
        let number = arguments.int(at).map_or(usize::MAX, |number| number as usize);
        let Some(pattern) = self.plan.patterns.get(number) else { return (0, 0) };
        let named = spec.position(Kind::Group).and_then(|at| arguments.int(at)).map(|number| number as usize);
        let group = named.or(pattern.group.map(GroupId::index)).unwrap_or(self.around.index());
        let members = self.plan.groups.get(group);
        if pattern.shape.is_none() {
            let ranks = members.map_or(1, |group| group.ranks.len() as u64);
            return (pattern.bytes(), pattern.bytes().saturating_mul(ranks));
        }
        let (plan, rank) = (self.plan, self.rank);
        let of_shape = || members.map_or((0, 0), |group| shape_bytes(plan, (pattern, group), rank));
        *self.shapes.entry((number, group)).or_insert_with(of_shape)
    }
}

/// Bytes of one rank, and the end of the file, of a pattern with a shape.
fn shape_bytes(plan: &Plan, (pattern, group): (&Pattern, &Group), rank: u32) -> (u64, u64) {
    let (mut own, mut end) = (0, 0);
    for place in 0..group.ranks.len() as u32 {
        let pieces = plan.pieces(pattern, group, place).unwrap_or_default();
        end = pieces.iter().map(|piece| piece.offset + piece.bytes).fold(end, u64::max);
        if group.place(rank) == Some(place) {
            own = pieces.iter().map(|piece| piece.bytes).sum();
        }
    }
    (own, end)
}
