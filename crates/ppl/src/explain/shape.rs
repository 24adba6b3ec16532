//! Draws a pattern whose blocks are not dealt out in turn.

use serde::Serialize;

use crate::check::ShapeWord;
use crate::plan::{FilePiece, Group, Pattern, PatternShape, Plan};

use super::PatternLayout;

/// Columns and rows of the picture.
const MOST_COLUMNS: u64 = 24;
const MOST_ROWS: u64 = 16;

/// Where the pieces of a pattern with a shape lie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShapeLayout {
    /// `subarray`, `darray`, `nested`, `diagonal` or `list`.
    pub word: &'static str,
    /// The fewest and the most pieces of a rank.
    pub pieces: (u64, u64),
    /// Bytes of the smallest and of the largest piece.
    pub piece_bytes: (u64, u64),
    /// The fewest and the most bytes of a rank.
    pub rank_bytes: (u64, u64),
    /// Where the last piece of all ends.
    pub end: u64,
    /// How the picture shows the file.
    pub scale: PictureScale,
    /// Cells in a row of the picture.
    pub columns: u64,
    /// Whose each cell is: a place in the group, -1 nobody's, -2 several ranks'.
    pub cells: Vec<i64>,
}

/// What a cell of the picture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PictureScale {
    /// So many bytes of the file, from its begin on.
    Bytes(u64),
    /// Rows and columns of elements in the last two dimensions of an array, at the begin of the others; the last
    /// number is how many such planes there are.
    Elements(u64, u64, u64),
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Elements of a cell where `size` of them are shown in at most `most`: a divisor if one is near.
fn step(size: u64, most: u64) -> u64 {
    let least = size.div_ceil(most).max(1);
    (least..=least.saturating_mul(2)).find(|step| size.is_multiple_of(*step)).unwrap_or(least)
}

/// The cells of a picture while it is drawn.
struct Canvas {
    scale: PictureScale,
    columns: u64,
    cells: Vec<i64>,
    /// Of an array: rows and columns of a plane, in elements, and the bytes of one.
    plane: (u64, u64, u64),
}

impl Canvas {
    /// Of a file that ends at `end`, whose pieces begin and end at multiples of `unit`.
    fn new(shape: Option<&PatternShape>, element: u64, (unit, end): (u64, u64)) -> Self {
        if let Some(
            PatternShape::Subarray { sizes, .. }
            | PatternShape::Darray { sizes, .. }
            | PatternShape::Diagonal { sizes, .. },
        ) = shape
            && let [others @ .., rows, columns] = sizes.as_slice()
        {
            let (high, wide) = (step(*rows, MOST_ROWS), step(*columns, MOST_COLUMNS));
            let planes = others.iter().fold(1, |all: u64, size| all.saturating_mul(*size));
            let shown = (rows.div_ceil(high), columns.div_ceil(wide));
            return Self {
                scale: PictureScale::Elements(high, wide, planes),
                columns: shown.1,
                cells: vec![-1; (shown.0 * shown.1) as usize],
                plane: (*rows, *columns, element),
            };
        }
        let unit = unit.max(1);
        let cell = end.div_ceil(MOST_COLUMNS * MOST_ROWS).div_ceil(unit).max(1).saturating_mul(unit);
        let cells = vec![-1; end.div_ceil(cell) as usize];
        Self { scale: PictureScale::Bytes(cell), columns: MOST_COLUMNS, cells, plane: (0, 0, 0) }
    }

    fn mark_cells(&mut self, cells: std::ops::Range<u64>, place: i64) {
        for at in cells {
            let Some(known) = self.cells.get_mut(at as usize) else { return };
            *known = if *known == -1 || *known == place { place } else { -2 };
        }
    }

    /// Notes that the bytes are of the `place`-th rank.
    fn mark(&mut self, piece: FilePiece, place: i64) {
        let (high, wide) = match self.scale {
            PictureScale::Bytes(cell) => {
                let cells = piece.offset / cell..(piece.offset + piece.bytes).div_ceil(cell);
                return self.mark_cells(cells, place);
            }
            PictureScale::Elements(high, wide, _) => (high, wide),
        };
        let (rows, columns, element) = self.plane;
        let (begin, count) = (piece.offset / element, piece.bytes / element);
        let (first, last) = (begin / columns, ((begin + count - 1) / columns).min(rows.saturating_sub(1)));
        if first >= rows {
            return;
        }
        // A piece of more than one row has whole rows.
        let inside = match first == last && count < columns {
            true => begin % columns / wide..(begin % columns + count).div_ceil(wide).min(self.columns),
            false => 0..self.columns,
        };
        for row in first / high..=last / high {
            let from = row * self.columns;
            self.mark_cells(from + inside.start..from + inside.end, place);
        }
    }
}

impl PatternLayout {
    /// Takes the numbers and the picture of the pattern's shape.
    pub(super) fn take_shape(&mut self, plan: &Plan, pattern: &Pattern, group: &Group) {
        let word = pattern.shape.as_ref().map_or(ShapeWord::List, |form| form.word);
        let of = |place| plan.pieces(pattern, group, place).unwrap_or_default();
        let (mut count, mut size, mut all) = ((u64::MAX, 0), (u64::MAX, 0), (u64::MAX, 0));
        let (mut unit, mut end, mut total) = (0, 0, 0_u64);
        let widen = |(least, most): &mut (u64, u64), value: u64| {
            (*least, *most) = ((*least).min(value), (*most).max(value));
        };
        for place in 0..group.ranks.len() as u32 {
            let pieces = of(place);
            widen(&mut count, pieces.len() as u64);
            let bytes = pieces.iter().map(|piece| piece.bytes).sum();
            widen(&mut all, bytes);
            total = total.saturating_add(bytes);
            for piece in pieces {
                widen(&mut size, piece.bytes);
                unit = gcd(gcd(unit, piece.offset), piece.bytes);
                end = end.max(piece.offset + piece.bytes);
            }
        }
        let shape = plan.shape(pattern, group, 0).ok().flatten();
        let mut canvas = Canvas::new(shape.as_ref(), pattern.element, (unit, end));
        for place in 0..group.ranks.len() as u32 {
            of(place).into_iter().for_each(|piece| canvas.mark(piece, place.into()));
        }
        let some = |(least, most): (u64, u64)| (least.min(most), most);
        self.blocks = count.1;
        self.block_bytes = size.1;
        self.transfers = if self.level >= 2 { u64::from(count.1 > 0) } else { count.1 };
        self.transfer_bytes = if self.level >= 2 { all.1 } else { size.1 };
        self.total_bytes = total;
        self.shape = Some(ShapeLayout {
            word: word.word(),
            pieces: some(count),
            piece_bytes: some(size),
            rank_bytes: some(all),
            end,
            scale: canvas.scale,
            columns: canvas.columns,
            cells: canvas.cells,
        });
    }
}

impl ShapeLayout {
    /// The file as rows of cells, each with the place of the rank in the group that it is of.
    pub(super) fn picture(&self) -> String {
        let widest = self.cells.iter().max().map_or(1, |most| most.to_string().len());
        let step = match self.scale {
            PictureScale::Bytes(cell) => cell * self.columns,
            PictureScale::Elements(high, ..) => high,
        };
        let rows = || (0_u64..).zip(self.cells.chunks(self.columns.max(1) as usize));
        let offsets = rows().last().map_or(1, |(row, _)| (row * step).to_string().len());
        let mut out = String::new();
        for (row, cells) in rows() {
            out += &format!("{:>offsets$} ", row * step);
            for cell in cells {
                let text = match cell {
                    -1 => "·".to_owned(),
                    -2 => "+".to_owned(),
                    place => place.to_string(),
                };
                out += &format!(" {text:>widest$}");
            }
            out.push('\n');
        }
        out
    }
}
