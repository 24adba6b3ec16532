//! The files that a program has open, and its buffers.

use std::ffi::CStr;
use std::sync::Arc;

use super::space_watch::FileSystem;
use crate::buffers::Buffer;
use crate::collective::GroupFile;
use crate::content::{ContentStream, FileName};
use crate::driver::Handle;

/// A file that is open.
pub(super) struct OpenFile {
    /// `None` for a file of a whole group.
    pub(super) handle: Option<Handle>,
    pub(super) path: Arc<CStr>,
    /// What stands in its content for it.
    pub(super) name: FileName,
    pub(super) position: u64,
    /// The driver's position is another one: transfers under way name theirs.
    pub(super) moved: bool,
    /// This run is known to have made it, or emptied it.
    pub(super) made: bool,
    /// It was opened without a name, and is gone when it is closed unless a link gave it one.
    pub(super) nameless: bool,
    /// Each write goes to its end.
    pub(super) appends: bool,
    /// Whether writes may take what is read of it, once that was asked.
    pub(super) copied: Option<bool>,
    /// Other workers have it open too: each keeps its own position.
    pub(super) shared: bool,
    /// In which file system writes to it take room.
    pub(super) file_system: FileSystem,
    pub(super) group: Option<Box<GroupFile>>,
}

impl OpenFile {
    #[inline(always)]
    pub(super) fn new(handle: Option<Handle>, (path, name): (Arc<CStr>, FileName), position: u64) -> Self {
        Self {
            handle,
            path,
            name,
            position,
            moved: false,
            made: false,
            nameless: false,
            appends: false,
            copied: None,
            shared: false,
            file_system: FileSystem::NOT_ASKED,
            group: None,
        }
    }
}

/// Open files by number; a number is used again.
#[derive(Default)]
pub(super) struct OpenFiles {
    files: Vec<Option<OpenFile>>,
    free: Vec<u32>,
}

impl OpenFiles {
    pub(super) fn of_worker(files: Vec<Option<OpenFile>>) -> Self {
        let free = (0..files.len() as u32).filter(|number| files[*number as usize].is_none()).collect();
        Self { files, free }
    }

    #[inline(always)]
    pub(super) fn get(&self, number: u32) -> Option<&OpenFile> {
        self.files.get(number as usize).and_then(Option::as_ref)
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut OpenFile> {
        self.files.get_mut(number as usize).and_then(Option::as_mut)
    }

    /// The handle of a file that this rank opened alone.
    #[inline(always)]
    pub(super) fn handle(&self, number: u32) -> Option<Handle> {
        self.get(number).and_then(|open| open.handle)
    }

    #[inline(always)]
    pub(super) fn set_position(&mut self, number: u32, position: u64) {
        if let Some(open) = self.get_mut(number) {
            open.position = position;
        }
    }

    #[inline(always)]
    pub(super) fn keep(&mut self, open: OpenFile) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.files[number as usize] = Some(open);
                number
            }
            None => {
                self.files.push(Some(open));
                self.files.len() as u32 - 1
            }
        }
    }

    pub(super) fn take(&mut self, number: u32) -> Option<OpenFile> {
        let open = self.files.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(open)
    }

    /// Takes a file of a group; one that this rank opened alone stays open.
    pub(super) fn take_group(&mut self, number: u32) -> Option<GroupFile> {
        self.get(number)?.group.as_ref()?;
        self.take(number)?.group.map(|group| *group)
    }

    /// As [`OpenFiles::take`], of a file that nobody needs any more.
    #[inline(always)]
    pub(super) fn remove(&mut self, number: u32) {
        if let Some(place) = self.files.get_mut(number as usize)
            && place.take().is_some()
        {
            self.free.push(number);
        }
    }

    pub(super) fn group(&mut self, number: u32) -> Option<&mut GroupFile> {
        self.get_mut(number)?.group.as_deref_mut()
    }

    /// By number, with holes.
    pub(super) fn iter(&self) -> impl Iterator<Item = Option<&OpenFile>> {
        self.files.iter().map(Option::as_ref)
    }

    pub(super) fn all_moved(&mut self) {
        for open in self.files.iter_mut().flatten().filter(|open| open.handle.is_some()) {
            open.moved = true;
        }
    }

    /// Those whose position in the driver is to be set, which then counts as done.
    pub(super) fn take_moved(&mut self) -> impl Iterator<Item = (Handle, u64)> {
        self.files.iter_mut().flatten().filter_map(|open| {
            let moved = std::mem::take(&mut open.moved);
            open.handle.filter(|_| moved).map(|handle| (handle, open.position))
        })
    }

    pub(super) fn handles(&self) -> impl Iterator<Item = Handle> {
        self.files.iter().flatten().filter_map(|open| open.handle)
    }
}

/// What `alloc` gave the program.
#[derive(Clone)]
pub(super) enum ProgramBuffer {
    /// Memory, and its content; none of memory that is not filled.
    Memory(Arc<Buffer>, Option<ContentStream>),
    /// Where nothing moves: so many bytes.
    Length(u64),
}

/// The program's buffers by number; a number is used again.
#[derive(Clone, Default)]
pub(super) struct Buffers {
    all: Vec<Option<ProgramBuffer>>,
}

impl Buffers {
    pub(super) fn keep(&mut self, buffer: ProgramBuffer) -> u32 {
        let number = self.all.iter().position(Option::is_none).unwrap_or(self.all.len());
        if number == self.all.len() {
            self.all.push(None);
        }
        self.all[number] = Some(buffer);
        number as u32
    }

    pub(super) fn put_back(&mut self, number: u32, buffer: ProgramBuffer) {
        if let Some(slot) = self.all.get_mut(number as usize) {
            *slot = Some(buffer);
        }
    }

    pub(super) fn take(&mut self, number: u32) -> Option<ProgramBuffer> {
        self.all.get_mut(number as usize)?.take()
    }

    pub(super) fn length(&self, number: u32) -> u64 {
        match self.all.get(number as usize) {
            Some(Some(ProgramBuffer::Memory(own, _))) => own.length() as u64,
            Some(Some(ProgramBuffer::Length(length))) => *length,
            _ => 0,
        }
    }

    /// What lies in a buffer.
    pub(super) fn stream(&self, number: u32) -> Option<ContentStream> {
        match self.all.get(number as usize) {
            Some(Some(ProgramBuffer::Memory(_, stream))) => *stream,
            _ => None,
        }
    }

    /// Whether it holds memory that was not filled.
    pub(super) fn is_unfilled(&self, number: u32) -> bool {
        matches!(self.all.get(number as usize), Some(Some(ProgramBuffer::Memory(_, None))))
    }

    /// Where a buffer of at least `length` bytes begins; EFAULT where there is none.
    #[inline(always)]
    pub(super) fn memory(&self, number: u32, length: u64) -> Result<*mut u8, i32> {
        match self.all.get(number as usize) {
            Some(Some(ProgramBuffer::Memory(own, _))) if own.length() as u64 >= length => Ok(own.pointer()),
            Some(Some(ProgramBuffer::Length(_))) => Ok(std::ptr::dangling_mut()),
            _ => Err(libc::EFAULT),
        }
    }
}
