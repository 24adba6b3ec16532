//! Builds the file type of a view of pieces, with the constructor that says what they are.

use std::ffi::c_int;

use ranks::layout::{Pieces, View};

use super::units::{INT, RankPosition, block_type, commit, failed_type};
use crate::abi::Handle;
use crate::library::MpiLibrary;

/// Sizes as the library takes them; `None` where one exceeds an `int`.
fn ints(sizes: &[u64]) -> Option<Vec<c_int>> {
    sizes.iter().map(|size| c_int::try_from(*size).ok()).collect()
}

/// Where the view of `pieces` begins, of which the first lies at `first`, and its committed type. What the library
/// cannot describe as what it is, it describes piece by piece.
pub(super) fn view_type(
    library: &'static MpiLibrary,
    position: RankPosition,
    (pieces, first): (&Pieces, u64),
) -> Result<(i64, Handle), i32> {
    let made = match pieces.view() {
        View::Subarray { sizes, parts, starts, element } if !library.no_subarrays && *element <= INT => {
            match (ints(sizes), ints(parts), ints(starts)) {
                (Some(sizes), Some(parts), Some(starts)) => {
                    Some((0, subarray(library, [&sizes, &parts, &starts], *element)?))
                }
                _ => None,
            }
        }
        View::Darray { sizes, blocks, grid, element } if !library.no_subarrays && *element <= INT => {
            match (ints(sizes), ints(blocks), ints(grid)) {
                (Some(sizes), Some(blocks), Some(grid)) => {
                    Some((0, darray(library, position, ([&sizes, &blocks, &grid], *element))?))
                }
                _ => None,
            }
        }
        View::Nested { counts, strides, element } if *element <= INT => match ints(counts) {
            Some(counts) => Some((first as i64, nested(library, (&counts, strides), *element)?)),
            None => None,
        },
        View::Listed | View::Subarray { .. } | View::Darray { .. } | View::Nested { .. } => None,
    };
    let (begin, type_made) = match made {
        Some(made) => made,
        None => (first as i64, listed(library, pieces, first)?),
    };
    Ok((begin, commit(library, type_made)?))
}

fn free(library: &MpiLibrary, mut made: Handle) {
    // SAFETY: made by the caller, which does not use it again; a type derived from it keeps what it needs.
    unsafe { (library.f.type_free)(&raw mut made) };
}

/// What a constructor made, or its error.
fn checked(library: &MpiLibrary, code: c_int, made: Handle) -> Result<Handle, i32> {
    if code == 0 { Ok(made) } else { Err(failed_type(library, code)) }
}

fn subarray(
    library: &'static MpiLibrary,
    [sizes, parts, starts]: [&[c_int]; 3],
    element: u64,
) -> Result<Handle, i32> {
    let unit = block_type(library, element)?;
    let mut made: Handle = 0;
    // SAFETY: the three arrays have as many entries as dimensions are passed; the type is committed; the new handle
    // is a live zeroed variable.
    let code = unsafe {
        (library.f.type_subarray)(
            sizes.len() as c_int,
            sizes.as_ptr(),
            parts.as_ptr(),
            starts.as_ptr(),
            library.k.order_c,
            unit,
            &raw mut made,
        )
    };
    free(library, unit);
    checked(library, code, made)
}

/// Every dimension is dealt out in blocks in turn: whole and even shares are that too.
fn darray(
    library: &'static MpiLibrary,
    position: RankPosition,
    ([sizes, blocks, grid], element): ([&[c_int]; 3], u64),
) -> Result<Handle, i32> {
    let unit = block_type(library, element)?;
    let cyclic = vec![library.k.distribute_cyclic; sizes.len()];
    let mut made: Handle = 0;
    // SAFETY: as in `subarray`, with four arrays.
    let code = unsafe {
        (library.f.type_darray)(
            position.ranks as c_int,
            position.rank as c_int,
            sizes.len() as c_int,
            sizes.as_ptr(),
            cyclic.as_ptr(),
            blocks.as_ptr(),
            grid.as_ptr(),
            library.k.order_c,
            unit,
            &raw mut made,
        )
    };
    free(library, unit);
    checked(library, code, made)
}

/// Vectors of vectors, from the innermost.
fn nested(
    library: &'static MpiLibrary,
    (counts, strides): (&[c_int], &[u64]),
    element: u64,
) -> Result<Handle, i32> {
    let mut inner = block_type(library, element)?;
    for (count, stride) in counts.iter().zip(strides).rev() {
        let mut made: Handle = 0;
        // SAFETY: the inner type is this library's; the new handle is a live zeroed variable.
        let code = unsafe { (library.f.type_hvector)(*count, 1, *stride as i64, inner, &raw mut made) };
        free(library, inner);
        inner = checked(library, code, made)?;
    }
    Ok(inner)
}

fn listed(library: &'static MpiLibrary, pieces: &Pieces, first: u64) -> Result<Handle, i32> {
    let lengths: Vec<c_int> = pieces.list().iter().map(|piece| piece.bytes as c_int).collect();
    let offsets: Vec<i64> = pieces.list().iter().map(|piece| (piece.offset - first) as i64).collect();
    let mut made: Handle = 0;
    // SAFETY: both arrays have as many entries as are passed; the new handle is a live zeroed variable.
    let code = unsafe {
        (library.f.type_hindexed)(
            lengths.len() as c_int,
            lengths.as_ptr(),
            offsets.as_ptr(),
            library.k.byte,
            &raw mut made,
        )
    };
    checked(library, code, made)
}
