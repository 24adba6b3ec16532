//! Opens, transfers and closes a file of an MPI communicator.

use std::ffi::{CStr, c_int, c_void};

use ranks::Comm;
use ranks::layout::{Blocks, Direction, Layout, ParallelMode};
use samples::Outcome;

use super::datatype::{LayoutTypes, MemoryType};
use super::error::{forget_error, outcome};
use super::hints;
use super::tools::FileTools;
use super::units::RankPosition;
use crate::abi::Handle;
use crate::communicator::Mpi;
use crate::library::{MpiLibrary, MpiStatus};

/// A file that the ranks of an MPI communicator opened together.
pub struct File {
    library: &'static MpiLibrary,
    handle: Handle,
    position: RankPosition,
    /// The current view; `None` is the default view of a newly opened file.
    view: Option<Layout>,
    /// The program's hints, passed to every view.
    info: Handle,
}

/// The part of a transfer that one library call moves.
struct Piece {
    /// Offset in the view, in units of the view.
    offset: i64,
    memory: *mut u8,
    types: MemoryType,
    /// Bytes.
    length: u64,
}

impl Piece {
    /// Moves nothing. Replaces a piece whose memory is missing, so that the other ranks do not wait.
    const NONE: Self =
        Self { offset: 0, memory: std::ptr::null_mut(), types: MemoryType::Bytes(0), length: 0 };
}

impl Piece {
    /// Nothing: this rank has fewer pieces than others.
    const EMPTY: Self = Self { memory: std::ptr::dangling_mut(), ..Self::NONE };
}

impl File {
    /// Opens `path` on the ranks of `mpi`; collective. `prepared` is of the same communicator and outlives the file.
    ///
    /// # Errors
    /// The outcome of a failure; [`super::take_error`] has the library's text.
    pub fn open(mpi: &Mpi, path: &CStr, mode: ParallelMode, prepared: &FileTools) -> Result<Self, Outcome> {
        let library = mpi.link().library();
        let k = &library.k;
        let access = match (mode.read, mode.write) {
            (true, false) => k.mode_rdonly,
            (false, true) => k.mode_wronly,
            _ => k.mode_rdwr,
        };
        let flags = access | if mode.create { k.mode_create } else { 0 };
        let info = prepared.info();
        let mut handle: Handle = 0;
        // SAFETY: communicator and info are handles of this library, the path is NUL-terminated, the
        // new handle is a live zeroed variable.
        let code =
            unsafe { (library.f.file_open)(mpi.link().handle, path.as_ptr(), flags, info, &raw mut handle) };
        outcome(library, "MPI_File_open", code, 0).map(|_| Self {
            library,
            handle,
            position: RankPosition { rank: mpi.rank(), ranks: mpi.size() },
            view: None,
            info,
        })
    }

    /// Makes `path` on this rank alone, with the hints of `prepared`, and closes it; fails where something has the name.
    pub fn make(mpi: &Mpi, path: &CStr, prepared: &FileTools) -> Outcome {
        let library = mpi.link().library();
        let k = &library.k;
        let flags = k.mode_wronly | k.mode_create | k.mode_excl;
        let mut handle: Handle = 0;
        // SAFETY: communicator and info are handles of this library, the path is NUL-terminated, the
        // new handle is a live zeroed variable.
        let code = unsafe {
            (library.f.file_open)(k.comm_self, path.as_ptr(), flags, prepared.info(), &raw mut handle)
        };
        if let Err(failure) = outcome(library, "MPI_File_open", code, 0) {
            return failure;
        }
        // SAFETY: the handle is open and not used afterwards.
        let code = unsafe { (library.f.file_close)(&raw mut handle) };
        outcome(library, "MPI_File_close", code, 0).unwrap_or_else(|failure| failure)
    }

    fn set_view(&mut self, layout: &Layout, types: &LayoutTypes) -> Result<(), Outcome> {
        // Ranks may give different offsets, and all of them set a view or none.
        let moves = layout.is_whole() && layout.base.is_some();
        let same = !moves && self.view.as_ref() == layout.is_whole().then_some(layout);
        if same {
            return Ok(());
        }
        let library = self.library;
        let byte = library.k.byte;
        let (unit, file) =
            types.file.filter(|_| layout.is_whole()).map_or((byte, byte), |file| (types.unit, file));
        let begin = if layout.is_whole() { types.begin + layout.base.unwrap_or(0) as i64 } else { 0 };
        // SAFETY: all handles are this library's and committed; the name of the representation is
        // NUL-terminated.
        let code = unsafe {
            (library.f.file_set_view)(self.handle, begin, unit, file, c"native".as_ptr(), self.info)
        };
        outcome(library, "MPI_File_set_view", code, 0)?;
        self.view = layout.is_whole().then(|| layout.clone());
        Ok(())
    }

    /// Moves the bytes of `layout` and returns their number. Setting the view is collective at every level.
    /// If the memory is too small, returns EFAULT after making every collective call with zero bytes, so that
    /// the other ranks do not wait.
    pub fn transfer(
        &mut self,
        layout: &Layout,
        types: LayoutTypes,
        direction: Direction,
        blocks: &Blocks,
    ) -> Outcome {
        if let Err(failure) = self.set_view(layout, &types) {
            return failure;
        }
        if layout.is_whole() {
            let piece = match blocks.whole(layout) {
                Some(memory) => Piece { offset: 0, memory, types: types.memory, length: layout.bytes() },
                None => Piece::NONE,
            };
            // SAFETY: `Blocks` returns memory of that length only.
            return unsafe { self.move_piece(layout, direction, piece) };
        }
        let mut total = Outcome::default();
        for index in 0..layout.rounds() {
            let piece = if index < layout.blocks {
                let offset = layout.offset(index, self.position.rank, self.position.ranks) as i64;
                let length = layout.length(index);
                let types = match layout.pieces {
                    Some(_) => MemoryType::Bytes(length as c_int),
                    None => types.memory,
                };
                let memory = blocks.block(layout, index);
                memory.map_or(Piece::NONE, |memory| Piece { offset, memory, types, length })
            } else {
                Piece::EMPTY
            };
            // SAFETY: `Blocks` returns memory of that length only.
            let moved = unsafe { self.move_piece(layout, direction, piece) };
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

    /// Makes one library call.
    ///
    /// # Safety
    /// The piece's memory is valid for its length, as its types describe it.
    #[inline]
    unsafe fn move_piece(&self, layout: &Layout, direction: Direction, piece: Piece) -> Outcome {
        let Piece { offset, memory, types, length } = piece;
        let f = &self.library.f;
        let (byte, mut status) = (self.library.k.byte, MpiStatus::default());
        let (at, status_to) = (memory.cast::<c_void>(), &raw mut status);
        let collective = layout.is_collective();
        if memory.is_null() && !collective {
            return Outcome::error(libc::EFAULT);
        }
        let (count, unit) = match types {
            MemoryType::Units(count, unit) => (count, unit),
            MemoryType::Bytes(count) => (count, byte),
        };
        // SAFETY: memory and status are valid by this function's contract; handles are this library's.
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
        if memory.is_null() {
            return Outcome::error(libc::EFAULT);
        }
        if code != 0 {
            return outcome(self.library, call, code, 0).unwrap_or_else(|failure| failure);
        }
        let moved = self.moved(&status, types, length);
        if moved < length {
            // A short read is the end of the file; a short write that MPI reports as success is an error.
            let errno = if direction == Direction::Read { libc::ENODATA } else { libc::EIO };
            forget_error();
            return Outcome { value: moved, ..Outcome::error(errno) };
        }
        Outcome::value(moved)
    }

    /// The number of bytes that a successful transfer moved.
    #[inline]
    fn moved(&self, status: &MpiStatus, types: MemoryType, length: u64) -> u64 {
        let f = &self.library.f;
        let byte = self.library.k.byte;
        match (types, f.get_elements_x) {
            (MemoryType::Bytes(_), _) => {
                let mut count: c_int = 0;
                // SAFETY: the status was filled by the call before; the count is a live integer.
                unsafe { (f.get_count)(status, byte, &raw mut count) };
                u64::try_from(count).unwrap_or(length)
            }
            (MemoryType::Units(..), Some(ask)) => {
                let mut count: i64 = 0;
                // SAFETY: as above.
                unsafe { ask(status, byte, &raw mut count) };
                u64::try_from(count).unwrap_or(length)
            }
            (MemoryType::Units(..), None) => length,
        }
    }

    /// The hints that the library uses for this file.
    pub fn hints(&self) -> Vec<(String, String)> {
        hints::used(self.library, self.handle)
    }

    /// Closes the file; collective. A dropped file stays open, since the other ranks may not close it.
    pub fn close(mut self) -> Outcome {
        // SAFETY: the handle is open and not used afterwards.
        let code = unsafe { (self.library.f.file_close)(&raw mut self.handle) };
        outcome(self.library, "MPI_File_close", code, 0).unwrap_or_else(|failure| failure)
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "File {{ handle: {:#x}, view: {:?} }}", self.handle, self.view)
    }
}

/// Removes a file; not collective.
pub fn delete(mpi: &Mpi, path: &CStr) -> Outcome {
    let library = mpi.link().library();
    // SAFETY: the path is NUL-terminated, the info a predefined handle.
    let code = unsafe { (library.f.file_delete)(path.as_ptr(), library.k.info_null) };
    outcome(library, "MPI_File_delete", code, 0).unwrap_or_else(|failure| failure)
}
