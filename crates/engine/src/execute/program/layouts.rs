//! What a pattern of the language is for this rank of a group.

use std::sync::Arc;

use ppl::plan::{FilePiece, Group, GroupId, Pattern, PatternShape, Plan};
use ranks::layout::{Layout, Pieces, SharedPieces, View, ViewKind};

use super::rank::Rank;

/// With more pieces of all ranks together it is not looked whether they overlap.
const MOST_COMPARED: usize = 1 << 20;

impl Rank<'_, '_> {
    /// The layout of a pattern for this rank of `group`.
    pub(super) fn layout(&mut self, pattern: &Pattern, group: GroupId) -> Result<Layout, String> {
        if pattern.shape.is_none() {
            let kind = if pattern.kind == 1 { ViewKind::Row } else { ViewKind::Table };
            return Ok(Layout::in_turn(kind, (pattern.iterations, pattern.element), pattern.level));
        }
        let key = (pattern.name.clone(), group);
        if let Some(known) = self.layouts.get(&key) {
            return Ok(known.clone());
        }
        let members = self.plan.groups.get(group.index()).ok_or("there is no such group")?;
        let place = members.place(self.session.rank()).unwrap_or(0);
        let pieces = pieces(self.plan, (pattern, members), place)?;
        let made = Layout::of_pieces(SharedPieces(Arc::new(pieces)), pattern.level);
        self.layouts.insert(key, made.clone());
        Ok(made)
    }
}

/// The pieces of the `place`-th rank, with what it must know of the others'.
fn pieces(plan: &Plan, (pattern, group): (&Pattern, &Group), place: u32) -> Result<Pieces, String> {
    let name = &pattern.name;
    let of = |place| {
        let found = plan.pieces(pattern, group, place);
        found.map_err(|error| format!("the pattern \"{name}\" cannot be used: {}", error.message))
    };
    let mut own = Vec::new();
    let mut all: Vec<FilePiece> = Vec::new();
    let (mut rounds, mut end, mut compared) = (0, 0, true);
    for member in 0..group.ranks.len() as u32 {
        let found = of(member)?;
        rounds = rounds.max(found.len() as u64);
        end = found.iter().map(|piece| piece.offset + piece.bytes).fold(end, u64::max);
        compared &= all.len() + found.len() <= MOST_COMPARED;
        if compared {
            all.extend(&found);
        }
        if member == place {
            own = found;
        }
    }
    all.sort_unstable_by_key(|piece| piece.offset);
    let apart = compared && all.windows(2).all(|two| two[0].offset + two[0].bytes <= two[1].offset);
    let shape = plan.shape(pattern, group, place).map_err(|error| error.message)?;
    let list = own.iter().map(|piece| (piece.offset, piece.bytes));
    Ok(Pieces::new(
        list,
        (rounds, end, apart),
        shape.map_or(View::Listed, |shape| view(shape, pattern.element)),
    ))
}

fn view(shape: PatternShape, element: u64) -> View {
    match shape {
        PatternShape::Subarray { sizes, parts, starts } => View::Subarray { sizes, parts, starts, element },
        PatternShape::Darray { sizes, blocks, grid } => View::Darray { sizes, blocks, grid, element },
        PatternShape::Nested { counts, strides, .. } => View::Nested { counts, strides, element },
        PatternShape::Diagonal { .. } | PatternShape::List(_) => View::Listed,
    }
}
