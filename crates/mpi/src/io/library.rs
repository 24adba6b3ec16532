//! How are parallel files done with MPI-IO, whichever library it is?
//!
//! A transfer is described in bytes where its sizes fit MPI's `int`, beyond that in blocks, by derived
//! types. The `_c` functions of MPI-4 are not used: those of MPICH 4.0 end the process when a count
//! is larger than an `int` after all.

use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_void};

use super::hints::{self, Info};
use ranks::layout::{Direction, Kind, Layout, Mode};
use samples::Outcome;

use super::{Hints, forget_error, keep_error};
use crate::{Handle, Mpi, MpiLibrary, Status};

const INT: u64 = i32::MAX as u64;

/// A file opened by the ranks of an MPI communicator.
pub struct File {
    library: &'static MpiLibrary,
    handle: Handle,
    /// The view that is set; `None` is that of a file just opened.
    view: Option<Layout>,
    types: HashMap<Layout, Types>,
    /// The program's hints, for the view as well.
    info: Info,
}

/// What a layout needs, made once.
#[derive(Clone, Copy)]
struct Types {
    /// The unit of the view: bytes, or a block.
    unit: Handle,
    unit_is_byte: bool,
    /// The file type of levels 2 and 3.
    file: Option<Handle>,
    /// Where the view begins in the file, in bytes.
    begin: i64,
    /// How memory is described in one call: so many of such.
    memory: Memory,
}

#[derive(Clone, Copy)]
enum Memory {
    /// So many bytes.
    Bytes(c_int),
    /// So many of a derived type.
    Units(c_int, Handle),
}

impl File {
    /// Opens `path` on the ranks of `mpi`; collective.
    ///
    /// # Errors
    /// The outcome of a failure; the library's words: [`super::take_error`].
    pub fn open(mpi: &Mpi, path: &CStr, mode: Mode, hints: &Hints) -> Result<Self, Outcome> {
        let library = mpi.library();
        let k = &library.k;
        let access = match (mode.read, mode.write) {
            (true, false) => k.mode_rdonly,
            (false, true) => k.mode_wronly,
            _ => k.mode_rdwr,
        };
        let flags = access | if mode.create { k.mode_create } else { 0 };
        let info = Info::new(library, hints)?;
        let mut handle: Handle = 0;
        // SAFETY: communicator and info are handles of this library, the path is NUL-terminated, the
        // new handle is a live zeroed variable.
        let code = unsafe {
            (library.f.file_open)(mpi.handle(), path.as_ptr(), flags, info.handle(), &raw mut handle)
        };
        outcome(library, "MPI_File_open", code, 0).map(|_| Self {
            library,
            handle,
            view: None,
            types: HashMap::new(),
            info,
        })
    }

    /// Makes the types that a transfer of `layout` needs.
    ///
    /// # Errors
    /// The errno: EINVAL for sizes that the library cannot express.
    pub fn prepare(&mut self, rank: u32, ranks: u32, layout: &Layout) -> Result<(), i32> {
        if !self.types.contains_key(layout) {
            let types = Types::new(self.library, rank, ranks, layout)?;
            self.types.insert(*layout, types);
        }
        Ok(())
    }

    fn set_view(&mut self, layout: &Layout, types: &Types) -> Result<(), Outcome> {
        let wanted = layout.is_whole().then_some(*layout);
        if self.view == wanted {
            return Ok(());
        }
        let library = self.library;
        let byte = library.k.byte;
        let (unit, file) =
            types.file.filter(|_| layout.is_whole()).map_or((byte, byte), |file| (types.unit, file));
        let begin = if layout.is_whole() { types.begin } else { 0 };
        // SAFETY: all handles are this library's and committed; the name of the representation is
        // NUL-terminated.
        let code = unsafe {
            (library.f.file_set_view)(self.handle, begin, unit, file, c"native".as_ptr(), self.info.handle())
        };
        outcome(library, "MPI_File_set_view", code, 0)?;
        self.view = wanted;
        Ok(())
    }

    /// # Safety
    /// As the collective layer's `transfer`.
    pub unsafe fn transfer(
        &mut self,
        rank: u32,
        ranks: u32,
        layout: &Layout,
        direction: Direction,
        block: &dyn Fn(u64) -> *mut u8,
    ) -> Outcome {
        if let Err(errno) = self.prepare(rank, ranks, layout) {
            return Outcome::error(errno);
        }
        let types = self.types[layout];
        if let Err(failure) = self.set_view(layout, &types) {
            return failure;
        }
        if layout.is_whole() {
            // SAFETY: `block(0)` holds all blocks.
            return unsafe { self.one(layout, direction, 0, block(0), types.memory, layout.bytes()) };
        }
        let mut total = Outcome::default();
        for index in 0..layout.blocks {
            let offset = layout.offset(index, rank, ranks) as i64;
            // SAFETY: `block(index)` holds one block.
            let moved =
                unsafe { self.one(layout, direction, offset, block(index), types.memory, layout.element) };
            total.value += moved.value;
            if total.ok() {
                total.errno = moved.errno;
            }
            if !total.ok() && !layout.is_collective() {
                break;
            }
        }
        total
    }

    /// One call of the library.
    ///
    /// # Safety
    /// `memory` is valid for `length` bytes, as `types` describes them.
    #[inline]
    unsafe fn one(
        &self,
        layout: &Layout,
        direction: Direction,
        offset: i64,
        memory: *mut u8,
        types: Memory,
        length: u64,
    ) -> Outcome {
        let f = &self.library.f;
        let (byte, mut status) = (self.library.k.byte, Status::default());
        let (at, status_to) = (memory.cast::<c_void>(), &raw mut status);
        let collective = layout.is_collective();
        let (count, unit) = match types {
            Memory::Units(count, unit) => (count, unit),
            Memory::Bytes(count) => (count, byte),
        };
        // SAFETY: memory and status are valid by the caller's promise; handles are this library's.
        let (call, code) = unsafe {
            match (direction, collective) {
                (Direction::Write, false) => {
                    ("MPI_File_write_at", (f.file_write_at)(self.handle, offset, at, count, unit, status_to))
                }
                (Direction::Write, true) => {
                    let code = (f.file_write_at_all)(self.handle, offset, at, count, unit, status_to);
                    ("MPI_File_write_at_all", code)
                }
                (Direction::Read, false) => {
                    ("MPI_File_read_at", (f.file_read_at)(self.handle, offset, at, count, unit, status_to))
                }
                (Direction::Read, true) => {
                    let code = (f.file_read_at_all)(self.handle, offset, at, count, unit, status_to);
                    ("MPI_File_read_at_all", code)
                }
            }
        };
        if code != 0 {
            return outcome(self.library, call, code, 0).unwrap_or_else(|failure| failure);
        }
        let moved = self.moved(&status, types, length);
        if moved < length {
            // The end of the file for a read; a write that MPI calls a success is not short.
            let errno = if direction == Direction::Read { libc::ENODATA } else { libc::EIO };
            forget_error();
            return Outcome { value: moved, ..Outcome::error(errno) };
        }
        Outcome::value(moved)
    }

    /// Bytes of a successful transfer.
    #[inline]
    fn moved(&self, status: &Status, types: Memory, length: u64) -> u64 {
        let f = &self.library.f;
        let byte = self.library.k.byte;
        match (types, f.get_elements_x) {
            (Memory::Bytes(_), _) => {
                let mut count: c_int = 0;
                // SAFETY: the status was filled by the call before; the count is a live integer.
                unsafe { (f.get_count)(status, byte, &raw mut count) };
                u64::try_from(count).unwrap_or(length)
            }
            (Memory::Units(..), Some(ask)) => {
                let mut count: i64 = 0;
                // SAFETY: as above.
                unsafe { ask(status, byte, &raw mut count) };
                u64::try_from(count).unwrap_or(length)
            }
            (Memory::Units(..), None) => length,
        }
    }

    /// Waits until what was written is on the device; collective.
    pub fn sync(&mut self) -> Outcome {
        // SAFETY: the handle is open.
        let code = unsafe { (self.library.f.file_sync)(self.handle) };
        outcome(self.library, "MPI_File_sync", code, 0).unwrap_or_else(|failure| failure)
    }

    /// The size in bytes.
    pub fn size(&self) -> Outcome {
        let mut bytes = 0_i64;
        // SAFETY: the handle is open, the size a live variable.
        let code = unsafe { (self.library.f.file_get_size)(self.handle, &raw mut bytes) };
        outcome(self.library, "MPI_File_get_size", code, bytes as u64).unwrap_or_else(|failure| failure)
    }

    /// Sets the size in bytes; collective.
    pub fn set_size(&mut self, bytes: u64) -> Outcome {
        // SAFETY: the handle is open.
        let code = unsafe { (self.library.f.file_set_size)(self.handle, bytes as i64) };
        outcome(self.library, "MPI_File_set_size", code, 0).unwrap_or_else(|failure| failure)
    }

    /// The hints that the library uses for this file.
    pub fn hints(&self) -> Vec<(String, String)> {
        hints::used(self.library, self.handle)
    }

    /// Closes it; collective.
    pub fn close(mut self) -> Outcome {
        // SAFETY: the handle is open; it is not used after.
        let code = unsafe { (self.library.f.file_close)(&raw mut self.handle) };
        outcome(self.library, "MPI_File_close", code, 0).unwrap_or_else(|failure| failure)
    }
}

impl Drop for File {
    // An open file is not closed here: closing is collective, and the others may not come.
    fn drop(&mut self) {
        for types in self.types.values() {
            types.free(self.library);
        }
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "File {{ handle: {:#x}, view: {:?} }}", self.handle, self.view)
    }
}

impl Types {
    fn new(library: &'static MpiLibrary, rank: u32, ranks: u32, layout: &Layout) -> Result<Self, i32> {
        let row = layout.element.checked_mul(u64::from(ranks)).ok_or(libc::EINVAL)?;
        let byte = library.k.byte;
        let part = if layout.is_whole() { layout.bytes() } else { layout.element };
        let small = row <= INT && layout.blocks <= INT;
        let unit = if small { byte } else { block_type(library, layout.element)? };
        let memory = match part {
            part if part <= INT => Memory::Bytes(part as c_int),
            _ if layout.blocks > INT => return Err(libc::EINVAL),
            _ => {
                let count = if layout.is_whole() { layout.blocks } else { 1 };
                let block = if small { block_type(library, layout.element)? } else { unit };
                Memory::Units(count as c_int, block)
            }
        };
        let mut begin = 0;
        let file = match layout.is_whole() {
            true if layout.blocks <= INT && library.no_subarrays => {
                begin = layout.offset(0, rank, ranks) as i64;
                Some(column(library, layout, row, unit, small)?)
            }
            true if layout.blocks <= INT => {
                // In bytes where that fits, else in blocks.
                let scale = if small { layout.element as c_int } else { 1 };
                Some(subarray(library, rank, ranks, layout, scale, unit)?)
            }
            true => return Err(libc::EINVAL),
            false => None,
        };
        Ok(Self { unit, unit_is_byte: small, file, begin, memory })
    }

    fn free(&self, library: &MpiLibrary) {
        let free = |mut handle: Handle| {
            // SAFETY: the type was made by us and is not used after; files keep their own copy.
            unsafe { (library.f.type_free)(&raw mut handle) };
        };
        self.file.map(free);
        if !self.unit_is_byte {
            free(self.unit);
        }
        match self.memory {
            Memory::Units(_, unit) if unit != self.unit => free(unit),
            _ => {}
        }
    }
}

/// A committed type of `bytes` bytes in one piece, also of more than an `int` says.
fn block_type(library: &'static MpiLibrary, bytes: u64) -> Result<Handle, i32> {
    let contiguous = |count: u64, of: Handle| {
        let mut made: Handle = 0;
        // SAFETY: the type is this library's; the new handle is a live zeroed variable.
        let code = unsafe { (library.f.type_contiguous)(count as c_int, of, &raw mut made) };
        if code == 0 { Ok(made) } else { Err(failed_type(library, code)) }
    };
    let made = if bytes <= INT {
        contiguous(bytes, library.k.byte)?
    } else {
        // The smallest divisor that leaves both factors within an `int`.
        let least = bytes.div_ceil(INT);
        let factor = (least..least.saturating_add(1 << 20)).find(|factor| bytes.is_multiple_of(*factor));
        let factor = factor.filter(|factor| *factor <= INT).ok_or(libc::EINVAL)?;
        let mut part = contiguous(bytes / factor, library.k.byte)?;
        let whole = contiguous(factor, part);
        // SAFETY: the part was just made; the type made of it keeps what it needs.
        unsafe { (library.f.type_free)(&raw mut part) };
        whole?
    };
    commit(library, made)
}

fn subarray(
    library: &'static MpiLibrary,
    rank: u32,
    ranks: u32,
    layout: &Layout,
    scale: c_int,
    unit: Handle,
) -> Result<Handle, i32> {
    let (width, start) = (ranks as c_int * scale, rank as c_int * scale);
    let rows = layout.blocks as c_int;
    let (sizes, parts, starts) = ([rows, width], [rows, scale], [0, start]);
    let from = match layout.kind {
        Kind::Row => 1,
        Kind::Table => 0,
    };
    let mut made: Handle = 0;
    // SAFETY: the arrays have as many entries as dimensions are told; the new handle is a live
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

/// What [`subarray`] describes, for a view that begins at the rank's first block: blocks a `row` (bytes)
/// apart, and the extent of one row or of the table.
fn column(
    library: &'static MpiLibrary,
    layout: &Layout,
    row: u64,
    unit: Handle,
    unit_is_byte: bool,
) -> Result<Handle, i32> {
    let (rows, extent) = match layout.kind {
        Kind::Row => (1, row),
        Kind::Table => (layout.blocks, row.checked_mul(layout.blocks).ok_or(libc::EINVAL)?),
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
    // SAFETY: made above; the type made of it keeps what it needs.
    unsafe { (library.f.type_free)(&raw mut blocks) };
    commit(library, made)
}

fn commit(library: &'static MpiLibrary, mut made: Handle) -> Result<Handle, i32> {
    // SAFETY: the type was just made.
    let code = unsafe { (library.f.type_commit)(&raw mut made) };
    if code == 0 { Ok(made) } else { Err(failed_type(library, code)) }
}

fn failed_type(library: &MpiLibrary, code: c_int) -> i32 {
    keep_error(format!("MPI cannot describe the pattern: {}", library.error_text(code)));
    libc::EINVAL
}

/// Removes a file; not collective.
pub fn delete(mpi: &Mpi, path: &CStr) -> Outcome {
    let library = mpi.library();
    // SAFETY: the path is NUL-terminated, the info a predefined handle.
    let code = unsafe { (library.f.file_delete)(path.as_ptr(), library.k.info_null) };
    outcome(library, "MPI_File_delete", code, 0).unwrap_or_else(|failure| failure)
}

#[inline]
pub fn outcome(library: &MpiLibrary, call: &str, code: c_int, value: u64) -> Result<Outcome, Outcome> {
    if code == 0 {
        return Ok(Outcome::value(value));
    }
    keep_error(format!("{call}: {}", library.error_text(code)));
    Err(Outcome::error(library.errno(code)))
}
