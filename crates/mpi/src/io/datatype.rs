//! Builds the MPI datatypes of a layout: those of memory and of the file's view.
//!
//! A transfer is described in bytes if its sizes fit MPI's `int`, otherwise in blocks, by derived types. The
//! `_c` functions of MPI-4 are not used: those of MPICH 4.0 abort the process for counts above an `int`.

use std::ffi::c_int;

use ranks::layout::{Layout, Pieces, ViewKind};

use super::error::keep_error;
use super::units::{INT, RankPosition, block_type, commit, failed_type};
use super::view::view_type;
use crate::abi::Handle;
use crate::library::MpiLibrary;

/// The datatypes for transfers of a layout, created once.
#[derive(Clone, Copy)]
pub struct LayoutTypes {
    /// The unit of the view: bytes, or a block.
    pub(super) unit: Handle,
    unit_is_byte: bool,
    /// The file type of levels 2 and 3.
    pub(super) file: Option<Handle>,
    /// Start of the view in the file, in bytes.
    pub(super) begin: i64,
    /// The memory argument of one call.
    pub(super) memory: MemoryType,
}

#[derive(Clone, Copy)]
pub(super) enum MemoryType {
    /// A number of bytes.
    Bytes(c_int),
    /// A number of elements of a derived type.
    Units(c_int, Handle),
}

impl LayoutTypes {
    /// Creates the types.
    ///
    /// # Errors
    /// The errno: EINVAL for sizes that the library cannot express.
    pub(super) fn new(
        library: &'static MpiLibrary,
        position: RankPosition,
        layout: &Layout,
    ) -> Result<Self, i32> {
        if let Some(pieces) = &layout.pieces {
            return Self::of_pieces(library, position, (layout, &pieces.0));
        }
        let row = layout.element.checked_mul(u64::from(position.ranks)).ok_or(libc::EINVAL)?;
        let byte = library.k.byte;
        let part = if layout.is_whole() { layout.bytes() } else { layout.element };
        let small = row <= INT && layout.blocks <= INT;
        let unit = if small { byte } else { block_type(library, layout.element)? };
        let memory = match part {
            part if part <= INT => MemoryType::Bytes(part as c_int),
            _ if layout.blocks > INT => return Err(libc::EINVAL),
            _ => {
                let count = if layout.is_whole() { layout.blocks } else { 1 };
                let block = if small { block_type(library, layout.element)? } else { unit };
                MemoryType::Units(count as c_int, block)
            }
        };
        let mut begin = 0;
        let file = match layout.is_whole() {
            true if layout.blocks <= INT && library.no_subarrays => {
                begin = layout.offset(0, position.rank, position.ranks) as i64;
                Some(column(library, layout, row, unit, small)?)
            }
            true if layout.blocks <= INT => Some(subarray(library, position, layout, unit, small)?),
            true => return Err(libc::EINVAL),
            false => None,
        };
        Ok(Self { unit, unit_is_byte: small, file, begin, memory })
    }

    /// The types of pieces that are not dealt out in turn: bytes, and for a whole transfer the view's file type.
    fn of_pieces(
        library: &'static MpiLibrary,
        position: RankPosition,
        (layout, pieces): (&Layout, &Pieces),
    ) -> Result<Self, i32> {
        if pieces.largest() > INT {
            keep_error(format!("a piece of a pattern has at most {INT} bytes with MPI"));
            return Err(libc::EINVAL);
        }
        let byte = library.k.byte;
        let plain =
            Self { unit: byte, unit_is_byte: true, file: None, begin: 0, memory: MemoryType::Bytes(0) };
        let Some(first) = pieces.list().first().filter(|_| layout.is_whole()) else { return Ok(plain) };
        let memory = match pieces.bytes() {
            bytes if bytes <= INT => MemoryType::Bytes(bytes as c_int),
            bytes => MemoryType::Units(1, block_type(library, bytes)?),
        };
        let (begin, file) = view_type(library, position, (pieces, first.offset))?;
        Ok(Self { file: Some(file), begin, memory, ..plain })
    }

    pub(super) fn free(&self, library: &MpiLibrary) {
        let free = |mut handle: Handle| {
            // SAFETY: this object created the type and does not use it again; files keep their own copy.
            unsafe { (library.f.type_free)(&raw mut handle) };
        };
        self.file.map(free);
        if !self.unit_is_byte {
            free(self.unit);
        }
        match self.memory {
            MemoryType::Units(_, unit) if unit != self.unit => free(unit),
            _ => {}
        }
    }
}

fn subarray(
    library: &'static MpiLibrary,
    position: RankPosition,
    layout: &Layout,
    unit: Handle,
    unit_is_byte: bool,
) -> Result<Handle, i32> {
    // In bytes if that fits, otherwise in blocks.
    let scale = if unit_is_byte { layout.element as c_int } else { 1 };
    let (width, start) = (position.ranks as c_int * scale, position.rank as c_int * scale);
    let rows = layout.blocks as c_int;
    let (sizes, parts, starts) = ([rows, width], [rows, scale], [0, start]);
    let from = match layout.kind {
        ViewKind::Row => 1,
        ViewKind::Table => 0,
    };
    let mut made: Handle = 0;
    // SAFETY: the arrays have as many entries as dimensions are passed; the new handle is a live
    // zeroed variable.
    let code = unsafe {
        (library.f.type_subarray)(
            2 - from as c_int,
            sizes[from..].as_ptr(),
            parts[from..].as_ptr(),
            starts[from..].as_ptr(),
            library.k.order_c,
            unit,
            &raw mut made,
        )
    };
    if code != 0 {
        return Err(failed_type(library, code));
    }
    commit(library, made)
}

/// The same as [`subarray`] for a view that begins at the rank's first block: blocks `row` bytes apart, with
/// the extent of one row or of the whole table.
fn column(
    library: &'static MpiLibrary,
    layout: &Layout,
    row: u64,
    unit: Handle,
    unit_is_byte: bool,
) -> Result<Handle, i32> {
    let (rows, extent) = match layout.kind {
        ViewKind::Row => (1, row),
        ViewKind::Table => (layout.blocks, row.checked_mul(layout.blocks).ok_or(libc::EINVAL)?),
    };
    let length = if unit_is_byte { layout.element as c_int } else { 1 };
    let (mut blocks, mut made): (Handle, Handle) = (0, 0);
    // SAFETY: the unit is this library's and committed; the new handles are live zeroed variables.
    let code = unsafe {
        match (library.f.type_hvector)(rows as c_int, length, row as i64, unit, &raw mut blocks) {
            0 => (library.f.type_resized)(blocks, 0, extent as i64, &raw mut made),
            failure => failure,
        }
    };
    if code != 0 {
        return Err(failed_type(library, code));
    }
    // SAFETY: made above; a type derived from it keeps what it needs.
    unsafe { (library.f.type_free)(&raw mut blocks) };
    commit(library, made)
}
