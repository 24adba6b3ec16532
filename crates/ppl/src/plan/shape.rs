//! Where the blocks of a pattern lie that are not dealt out in turn.

use crate::check::{ShapeForm, ShapeWord};
use crate::code::ExprIndex;
use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::value::Value;

use super::constants::{ConstantScope, Place};
use super::uses::pattern_uses;
use super::{Group, Pattern, Plan};

/// The most pieces of one rank.
pub const MOST_PIECES: u64 = 1 << 20;
/// The most dimensions.
const MOST_DIMENSIONS: usize = 8;
const END: u64 = i64::MAX as u64;

/// Neighbouring bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePiece {
    /// Where they begin.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

/// Which elements of a file are a rank's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternShape {
    /// A part of an array, whose last dimension lies together in the file.
    Subarray {
        /// Elements of the array in each dimension.
        sizes: Vec<u64>,
        /// Elements of the part.
        parts: Vec<u64>,
        /// Where the part begins.
        starts: Vec<u64>,
    },
    /// An array dealt out to a grid of ranks.
    Darray {
        /// Elements of the array in each dimension.
        sizes: Vec<u64>,
        /// Elements of a block.
        blocks: Vec<u64>,
        /// Ranks in each dimension; the last one counts fastest.
        grid: Vec<u64>,
    },
    /// Strides within strides.
    Nested {
        /// Where the first element begins, in bytes.
        start: u64,
        /// From the outermost to the innermost.
        counts: Vec<u64>,
        /// Bytes from one to the next.
        strides: Vec<u64>,
    },
    /// An array cut into as many slabs, rows, … as `cuts`; a rank has one block of each slab, on a diagonal.
    Diagonal {
        /// Elements of the array in each dimension.
        sizes: Vec<u64>,
        /// Blocks in each dimension.
        cuts: u64,
    },
    /// Pieces one by one.
    List(Vec<FilePiece>),
}

/// Why a shape cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeError {
    /// What is wrong.
    pub message: String,
    help: String,
    /// With another number of ranks it may be right.
    of_ranks: bool,
}

fn bad<T>(message: String, help: impl Into<String>) -> Result<T, ShapeError> {
    Err(ShapeError { message, help: help.into(), of_ranks: false })
}

/// The values of a pattern's parts for one rank.
struct Parts<'a> {
    plan: &'a Plan,
    form: &'a ShapeForm,
    place: Place,
}

impl Parts<'_> {
    fn value(&self, at: usize) -> Result<Value, ShapeError> {
        let scope = ConstantScope {
            code: &self.plan.code,
            variables: &self.plan.initial,
            environment: &self.plan.environment,
            ranks: self.plan.ranks,
            place: Some(self.place),
        };
        let index: ExprIndex = self.form.parts[at];
        let name = self.form.word.parts()[at];
        scope
            .value(index)
            .or_else(|why| bad(format!("its {name} cannot be computed: {why}"), "mend that part"))
    }

    fn number(&self, value: &Value, name: &str) -> Result<u64, ShapeError> {
        let help = "sizes, offsets and counts are whole numbers, such as 4k";
        match value.integer() {
            Some(number) if matches!(value, Value::Int(_)) => match u64::try_from(number) {
                Ok(number) => Ok(number),
                Err(_) => bad(format!("its {name} must not be below 0: {number}"), help),
            },
            _ => bad(format!("its {name} must be numbers, not {}", value.kind()), help),
        }
    }

    fn list(&self, at: usize) -> Result<Vec<u64>, ShapeError> {
        let name = self.form.word.parts()[at];
        match self.value(at)? {
            Value::List(items) => items.iter().map(|item| self.number(item, name)).collect(),
            other => bad(
                format!("its {name} must be a list, not {}", other.kind()),
                format!("the form is `define pattern {}`", self.form.word.form()),
            ),
        }
    }

    /// Lists of which each has one item for each dimension.
    fn dimensions<const N: usize>(&self, from: usize) -> Result<[Vec<u64>; N], ShapeError> {
        let mut lists: [Vec<u64>; N] = std::array::from_fn(|_| Vec::new());
        for (at, list) in lists.iter_mut().enumerate() {
            *list = self.list(from + at)?;
        }
        let names = &self.form.word.parts()[from..];
        let first = lists[0].len();
        if first == 0 || first > MOST_DIMENSIONS {
            let help = format!("give 1 to {MOST_DIMENSIONS} numbers, the outermost dimension first");
            return bad(format!("its {} have {first} dimensions", names[0]), help);
        }
        if let Some(other) = (1..N).find(|at| lists[*at].len() != first) {
            let (name, count) = (names[other], lists[other].len());
            let message = format!("its {} have {first} dimensions, but its {name} {count}", names[0]);
            return bad(message, "each list has one number for each dimension");
        }
        Ok(lists)
    }

    fn shape(&self) -> Result<PatternShape, ShapeError> {
        match self.form.word {
            ShapeWord::Subarray => {
                let [sizes, parts, starts] = self.dimensions(0)?;
                for at in 0..sizes.len() {
                    let (size, part, start) = (sizes[at], parts[at], starts[at]);
                    if start.checked_add(part).is_none_or(|end| end > size) {
                        let message = format!(
                            "in dimension {} its part of {part} from {start} ends behind the array of {size}",
                            at + 1
                        );
                        return bad(message, "start + subsize is at most the size; `$$grank` counts from 0");
                    }
                }
                Ok(PatternShape::Subarray { sizes, parts, starts })
            }
            ShapeWord::Darray => self.darray(),
            ShapeWord::Nested => {
                let start = self.number(&self.value(0)?, "start")?;
                let [counts, strides] = self.dimensions(1)?;
                Ok(PatternShape::Nested { start, counts, strides })
            }
            ShapeWord::Diagonal => self.diagonal(),
            ShapeWord::List => {
                let offsets = self.list(0)?;
                let lengths = match self.value(1)? {
                    Value::List(_) => self.list(1)?,
                    one => vec![self.number(&one, "lengths")?; offsets.len()],
                };
                if lengths.len() != offsets.len() {
                    let message = format!("it has {} offsets, but {} lengths", offsets.len(), lengths.len());
                    return bad(message, "give one length for each offset, or one number for all");
                }
                let pieces = offsets.into_iter().zip(lengths);
                Ok(PatternShape::List(pieces.map(|(offset, bytes)| FilePiece { offset, bytes }).collect()))
            }
        }
    }

    fn darray(&self) -> Result<PatternShape, ShapeError> {
        let [sizes, mut blocks, mut grid] = self.dimensions(0)?;
        let ranks = u64::from(self.place.ranks);
        let open = grid.iter().filter(|ranks| **ranks == 0).count();
        let product =
            grid.iter().filter(|ranks| **ranks > 0).fold(1, |all: u64, one| all.saturating_mul(*one));
        if open == 1 && ranks.is_multiple_of(product) {
            grid.iter_mut().filter(|one| **one == 0).for_each(|one| *one = ranks / product);
        } else if open > 0 || product != ranks {
            let told: Vec<String> = grid.iter().map(u64::to_string).collect();
            return Err(ShapeError {
                message: format!("its grid of {} ranks does not fit the group's {ranks}", told.join(" × ")),
                help: "the product of `ranks` is the number of ranks; one of them may be 0, for what is left"
                    .into(),
                of_ranks: true,
            });
        }
        for ((block, size), ranks) in blocks.iter_mut().zip(&sizes).zip(&grid) {
            if *block == 0 {
                *block = size.div_ceil(*ranks).max(1);
            }
        }
        Ok(PatternShape::Darray { sizes, blocks, grid })
    }

    fn diagonal(&self) -> Result<PatternShape, ShapeError> {
        let [sizes] = self.dimensions(0)?;
        let ranks = u64::from(self.place.ranks).max(1);
        let others = sizes.len() as u32 - 1;
        if others == 0 {
            return bad("its sizes have 1 dimension".into(), "a diagonal has 2 dimensions or more");
        }
        let all = |cuts: u64| cuts.saturating_pow(others);
        match (1..=ranks).find(|cuts| all(*cuts) >= ranks).filter(|cuts| all(*cuts) == ranks) {
            Some(cuts) => Ok(PatternShape::Diagonal { sizes, cuts }),
            None => {
                let dimensions = sizes.len();
                Err(ShapeError {
                    message: format!("{dimensions} dimensions do not fit the group's {ranks} ranks"),
                    help: format!("take 1, {}, {}, {} … ranks", all(2), all(3), all(4)),
                    of_ranks: true,
                })
            }
        }
    }
}

/// The stretches of one dimension that are a rank's: begin and length.
type Stretches = Vec<(u64, u64)>;

impl PatternShape {
    /// The stretches of each dimension of an array; `None` for shapes that are none.
    fn stretches(&self, place: u32) -> Option<(&[u64], Vec<Stretches>)> {
        match self {
            Self::Subarray { sizes, parts, starts } => {
                let stretches = starts.iter().zip(parts).map(|(start, part)| vec![(*start, *part)]);
                Some((sizes, stretches.collect()))
            }
            Self::Darray { sizes, blocks, grid } => {
                let mut rest = u64::from(place);
                let mut coordinates = vec![0; grid.len()];
                for (coordinate, ranks) in coordinates.iter_mut().zip(grid).rev() {
                    (*coordinate, rest) = (rest % ranks, rest / ranks);
                }
                let of_dimension = |at: usize| -> Stretches {
                    let (size, block, ranks) = (sizes[at], blocks[at], grid[at]);
                    if ranks == 1 {
                        return vec![(0, size)];
                    }
                    let begins =
                        (0..).map(|round: u64| (round * ranks + coordinates[at]).saturating_mul(block));
                    let begins = begins.take_while(|begin| *begin < size).take(MOST_PIECES as usize + 1);
                    begins.map(|begin| (begin, block.min(size - begin))).collect()
                };
                Some((sizes, (0..sizes.len()).map(of_dimension).collect()))
            }
            Self::Nested { .. } | Self::Diagonal { .. } | Self::List(_) => None,
        }
    }

    /// The pieces of the `place`-th rank, in the order in which they lie in its memory.
    ///
    /// # Errors
    /// More than [`MOST_PIECES`], or an end beyond the longest file.
    pub fn pieces(&self, element: u64, place: u32) -> Result<Vec<FilePiece>, ShapeError> {
        let pieces = match (self, self.stretches(place)) {
            (_, Some((sizes, stretches))) => of_array(sizes, &stretches, element)?,
            (Self::Nested { start, counts, strides }, None) => {
                let mut offsets = vec![*start];
                for (count, stride) in counts.iter().zip(strides) {
                    few(offsets.len() as u64, *count)?;
                    let inner = |offset: u64| {
                        (0..*count).map(move |at| offset.saturating_add(at.saturating_mul(*stride)))
                    };
                    offsets = offsets.into_iter().flat_map(inner).collect();
                }
                offsets.into_iter().map(|offset| FilePiece { offset, bytes: element }).collect()
            }
            (Self::Diagonal { sizes, cuts }, None) => {
                let mut pieces = Vec::new();
                for slab in 0..*cuts {
                    pieces.extend(of_array(sizes, &diagonal_block(sizes, *cuts, (slab, place)), element)?);
                    few(pieces.len() as u64, 1)?;
                }
                pieces
            }
            (Self::List(pieces), None) => pieces.clone(),
            _ => Vec::new(),
        };
        few(pieces.len() as u64, 1)?;
        let all = pieces.iter().fold(0, |all: u64, piece| all.saturating_add(piece.bytes));
        let ends =
            pieces.iter().all(|piece| piece.offset.checked_add(piece.bytes).is_some_and(|end| end <= END));
        if !ends || all > END {
            return bad("it exceeds 2⁶³ bytes".into(), "give smaller sizes, strides or offsets");
        }
        Ok(pieces.into_iter().filter(|piece| piece.bytes > 0).collect())
    }
}

/// The block that a rank has in a slab: from slab to slab it moves on by one in every other dimension.
fn diagonal_block(sizes: &[u64], cuts: u64, (slab, place): (u64, u32)) -> Vec<Stretches> {
    let mut rest = u64::from(place);
    let block = sizes.iter().enumerate().rev().map(|(at, size)| {
        let number = if at == 0 { slab } else { (rest % cuts + slab) % cuts };
        rest /= cuts;
        let begin = |number: u64| (u128::from(*size) * u128::from(number) / u128::from(cuts)) as u64;
        vec![(begin(number), begin(number + 1) - begin(number))]
    });
    let mut block: Vec<Stretches> = block.collect();
    block.reverse();
    block
}

fn few(count: u64, times: u64) -> Result<(), ShapeError> {
    if count.saturating_mul(times) > MOST_PIECES {
        let message = format!("it has more than {MOST_PIECES} pieces a rank");
        return bad(message, "give longer pieces: a larger element, or whole rows of an array");
    }
    Ok(())
}

/// The runs of neighbouring elements of a part of an array.
fn of_array(sizes: &[u64], stretches: &[Stretches], element: u64) -> Result<Vec<FilePiece>, ShapeError> {
    if stretches.iter().any(|stretches| stretches.iter().all(|(_, length)| *length == 0)) {
        return Ok(Vec::new());
    }
    // From `inner` on, whole rows lie together.
    let whole = |at: &usize| stretches[*at] == [(0, sizes[*at])];
    let full = (0..sizes.len()).rev().take_while(whole).count();
    let inner = (sizes.len() - full).max(1) - 1;
    let below = |at: usize| sizes[at + 1..].iter().fold(element, |all, size| all.saturating_mul(*size));
    let mut begins = vec![0_u64];
    for (at, stretches) in stretches.iter().enumerate().take(inner) {
        let step = below(at);
        let length = stretches.iter().map(|(_, length)| *length).fold(0, u64::saturating_add);
        few(begins.len() as u64, length)?;
        let inside = |from: u64| {
            let indices = stretches.iter().flat_map(|(begin, length)| *begin..begin + length);
            indices.map(move |index| from.saturating_add(index.saturating_mul(step))).collect::<Vec<u64>>()
        };
        begins = begins.into_iter().flat_map(inside).collect();
    }
    few(begins.len() as u64, stretches[inner].len() as u64)?;
    let step = below(inner);
    let runs = |from: u64| {
        stretches[inner].iter().map(move |(begin, length)| FilePiece {
            offset: from.saturating_add(begin.saturating_mul(step)),
            bytes: length.saturating_mul(step),
        })
    };
    Ok(begins.into_iter().flat_map(runs).collect())
}

/// What a view of levels 2 and 3 cannot have.
fn in_order(pieces: &[FilePiece]) -> Result<(), ShapeError> {
    match pieces.windows(2).find(|two| two[0].offset + two[0].bytes > two[1].offset) {
        None => Ok(()),
        Some(two) => bad(
            format!("its piece at {} lies before the end of the one at {}", two[1].offset, two[0].offset),
            "a view (levels 2 and 3) takes pieces in ascending order without overlap; levels 0 and 1 take any",
        ),
    }
}

impl Plan {
    /// The shape of a pattern for the `place`-th rank of a group; `None`: its blocks are dealt out in turn.
    ///
    /// # Errors
    /// Parts that cannot be computed, or do not go together.
    pub fn shape(
        &self,
        pattern: &Pattern,
        group: &Group,
        place: u32,
    ) -> Result<Option<PatternShape>, ShapeError> {
        let Some(form) = &pattern.shape else { return Ok(None) };
        let rank = group.ranks.get(place as usize).copied().unwrap_or(place);
        let place = Place { rank, place, ranks: group.ranks.len() as u32 };
        Parts { plan: self, form, place }.shape().map(Some)
    }

    /// The pieces of a pattern with a shape for the `place`-th rank of a group.
    ///
    /// # Errors
    /// As [`Plan::shape`] and [`PatternShape::pieces`], and pieces of which no view can be made.
    pub fn pieces(&self, pattern: &Pattern, group: &Group, place: u32) -> Result<Vec<FilePiece>, ShapeError> {
        let Some(shape) = self.shape(pattern, group, place)? else { return Ok(Vec::new()) };
        let pieces = shape.pieces(pattern.element, place)?;
        if pattern.level >= 2 {
            in_order(&pieces)?;
        }
        Ok(pieces)
    }
}

/// Errors of the patterns with a shape; `known`: the number of ranks is that of a run.
pub(super) fn check(plan: &Plan, known: bool) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut told = Vec::new();
    for (at, group, used) in pattern_uses(plan) {
        let (Some(pattern), Some(group)) = (plan.patterns.get(at), plan.groups.get(group.index())) else {
            continue;
        };
        let Some(form) = &pattern.shape else { continue };
        let wrong = (0..group.ranks.len() as u32)
            .find_map(|place| Some((place, plan.pieces(pattern, group, place).err()?)))
            .filter(|(_, error)| !error.of_ranks || known && used);
        if let Some((place, error)) = wrong.filter(|_| !told.contains(&at)) {
            told.push(at);
            let of = match group.ranks.len() {
                0 | 1 => String::new(),
                _ => format!(" for rank {} of the group \"{}\"", group.ranks[place as usize], group.name),
            };
            let message = format!("the pattern \"{}\" cannot be used{of}: {}", pattern.name, error.message);
            found.push(Diagnostic::error(DiagnosticCode::BadDefine, form.span, message).help(error.help));
        }
    }
    found
}
