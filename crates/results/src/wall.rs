//! Rates until the first rank was through: those at a stonewall, beside those of completion.

use serde::Serialize;

use crate::columns::Stream;
use crate::passes::Passes;
use crate::timeline::{Pass, PassFinder, Timeline};

/// Fewest operations of a rank in a pass: of fewer the wall stands somewhere within the first, and what was done by then
/// says nothing.
const FEWEST: f64 = 10.0;

/// What all ranks had done when the first of them was through, in each pass of the block around a row. At a phase with
/// a stonewall that is the wall; without one it says how much a slow rank costs the rate of completion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AtWall {
    /// From the first begin until the first rank was through, over all passes.
    pub seconds: f64,
    /// Operations that had succeeded by then.
    pub operations: u64,
    /// Bytes of the operations that had succeeded by then.
    pub bytes: u64,
    /// Operations by the time.
    pub operations_per_second: f64,
    /// Bytes by the time.
    pub bytes_per_second: f64,
    /// Operations of the rank that had done least by those of the rank that had done most, 0 to 1.
    pub balance: f64,
}

impl AtWall {
    /// Of streams sorted by rank, in passes that every rank took part in; `None` of fewer than two ranks, of passes with
    /// few operations, and where no time went by. `passes_of` gives the passes of a rank; paced operations
    /// of no rank took less than `paced` picoseconds.
    pub(crate) fn of<'a>(
        streams: &[Stream],
        passes: &Passes,
        timeline: &Timeline,
        passes_of: impl Fn(u32) -> &'a [Pass],
        paced: i64,
    ) -> Option<AtWall> {
        let ranks = streams.chunk_by(|a, b| a.rank == b.rank).count();
        let walls = passes.walls(ranks);
        let time: i64 = walls.iter().flatten().map(|(begin, end)| end - begin).sum();
        if ranks < 2 || time <= 0 || passes.operations_of_a_rank() < FEWEST {
            return None;
        }
        let (mut operations, mut bytes) = (0, 0);
        let (mut least, mut most) = (u64::MAX, 0);
        for of_rank in streams.chunk_by(|a, b| a.rank == b.rank) {
            let rank = of_rank[0].rank;
            let passes_of_rank = passes_of(rank);
            let mut own = 0;
            for stream in of_rank {
                let mut finder = PassFinder::new(passes_of_rank);
                for timing in stream.timings() {
                    let wall = walls.get(finder.find(timing.start_ns)).copied().flatten();
                    if wall.is_some_and(|(_, end)| timeline.place(rank, &timing).end() <= end) {
                        let (operations, moved) =
                            if timing.failed { (0, 0) } else { (timing.batch, timing.bytes) };
                        (own, bytes) = (own + operations, bytes + moved);
                    }
                }
            }
            operations += own;
            (least, most) = (least.min(own), most.max(own));
        }
        let seconds = time.max(paced) as f64 * 1e-12;
        Some(AtWall {
            seconds,
            operations,
            bytes,
            operations_per_second: operations as f64 / seconds,
            bytes_per_second: bytes as f64 / seconds,
            balance: if most > 0 { least as f64 / most as f64 } else { 0.0 },
        })
    }
}
