//! The memory that transfers come from and go to. It is mapped by hand: `free` times `munmap` and reports its errno,
//! which memmap2 does not return.

use std::ptr::NonNull;

use samples::Outcome;

use crate::content::{ContentKind, Writer};

/// Page-aligned anonymous memory.
#[derive(Debug)]
pub struct Buffer {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: a buffer owns its mapping; nothing in it is tied to a thread.
unsafe impl Send for Buffer {}
// SAFETY: buffers that threads share are read and written by system calls through their address only, as
// the program that shares them wants it; no reference to their bytes is made then.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Takes memory and touches every page of it: this is the part of `alloc` that is timed.
    #[inline(always)]
    pub fn take(length: usize) -> Result<Self, i32> {
        Self::map(length, libc::MAP_POPULATE)
    }

    /// Takes memory and touches none of it, as `calloc` does of so much: who reads it first finds zeros, and pays for that.
    #[inline(always)]
    pub fn reserve(length: usize) -> Result<Self, i32> {
        Self::map(length, 0)
    }

    #[inline(always)]
    fn map(length: usize, flags: i32) -> Result<Self, i32> {
        let length = length.max(1);
        // SAFETY: a new anonymous mapping touches no other memory.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::ENOMEM));
        }
        NonNull::new(address.cast()).map(|base| Self { base, length }).ok_or(libc::ENOMEM)
    }

    /// Gives the memory back: this is what `free` times.
    #[inline(always)]
    pub fn give_back(self) -> Outcome {
        let (base, length) = (self.base, self.length);
        std::mem::forget(self);
        // SAFETY: the mapping was made by `take` with this address and length and is not used after.
        if unsafe { libc::munmap(base.as_ptr().cast(), length) } == 0 {
            Outcome::default()
        } else {
            Outcome::error(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL))
        }
    }

    /// Bytes it holds.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Where it begins.
    #[inline(always)]
    pub fn pointer(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Its first `most` bytes.
    ///
    /// # Safety
    /// As long as they are borrowed nobody writes to them: no call of a driver, no other thread, no library that
    /// has their address.
    pub unsafe fn bytes(&self, most: usize) -> &[u8] {
        // SAFETY: the mapping is `length` bytes of initialised memory that `self` owns; that nobody changes them is
        // the caller's promise.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), most.min(self.length)) }
    }

    /// Its bytes, to change.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; `self` is borrowed exclusively, so nobody else has been given it.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.length) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: as in `give_back`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// The memory that commands without a buffer of their own transfer from and to. It grows to the
/// largest transfer before that transfer is timed.
#[derive(Debug, Default)]
pub struct Scratch {
    out: Option<Buffer>,
    /// What lies in it: from which offset on, how much,
    holds: Option<(u64, usize)>,
    /// and of which stream.
    writer: Option<((u64, ContentKind), Writer)>,
    back: Option<Buffer>,
    /// Reads come into `out`, and writes take what was read.
    copies: bool,
    /// Of what was read last, so many bytes were not yet written,
    unwritten: usize,
    /// which begin here.
    from: usize,
}

/// The most that one transfer takes from a scratch buffer; more is moved in pieces of this size.
pub const SCRATCH_LIMIT: usize = 1 << 30;

impl Scratch {
    /// Memory from which a write takes, if it `copies`, what was read last.
    pub fn new(copies: bool) -> Self {
        Self { copies, ..Self::default() }
    }

    /// Memory with what one rank writes at `offset` of a stream, for a write of `length` bytes: the next call changes it.
    /// The stream is told by the number of its file and its kind, which are compared quicker than all of it; `writer`
    /// makes its bytes. Where writes take what was read, it is the next part of that, if it is enough.
    ///
    /// Errors: the errno where there is no memory.
    #[inline(always)]
    pub fn outgoing(
        &mut self,
        stream: (u64, ContentKind),
        (offset, length): (u64, usize),
        writer: impl FnOnce() -> Writer,
    ) -> Result<*const u8, i32> {
        let length = length.min(SCRATCH_LIMIT);
        if self.unwritten >= length
            && let Some(memory) = self.what_was_read(length)
        {
            return Ok(memory);
        }
        match &self.writer {
            Some((known, _)) if *known == stream => {
                // The offset tells in nearly every program.
                if self.holds == Some((offset, length))
                    && let Some(buffer) = &self.out
                {
                    return Ok(buffer.pointer().cast_const());
                }
            }
            _ => self.writer = Some((stream, writer())),
        }
        self.refill(offset, length)
    }

    /// The next `length` bytes of what was read last, if they begin where a direct write can take them.
    fn what_was_read(&mut self, length: usize) -> Option<*const u8> {
        let memory = self.out.as_ref().filter(|_| length > 0 && self.from.is_multiple_of(4096))?;
        let begin = memory.pointer().cast_const().wrapping_add(self.from);
        self.unwritten -= length;
        self.from += length;
        Some(begin)
    }

    /// The last read gave so many bytes, which may be written elsewhere.
    #[inline(always)]
    pub fn came_in(&mut self, bytes: usize) {
        (self.unwritten, self.from) = (bytes, 0);
    }

    #[inline(never)]
    fn refill(&mut self, offset: u64, length: usize) -> Result<*const u8, i32> {
        (self.holds, self.unwritten) = (None, 0);
        if self.out.as_ref().is_none_or(|buffer| buffer.length() < length) {
            self.out = None;
            self.out = Some(Buffer::take(length.next_multiple_of(4096).max(4096))?);
        }
        let (Some(buffer), Some((_, writer))) = (&mut self.out, &self.writer) else {
            return Err(libc::ENOMEM);
        };
        writer.fill(offset, &mut buffer.bytes_mut()[..length]);
        self.holds = Some((offset, length));
        Ok(buffer.pointer().cast_const())
    }

    /// Memory for a read of `length` bytes.
    ///
    /// Errors: the errno where there is no memory.
    #[inline(always)]
    pub fn incoming(&mut self, length: usize) -> Result<*mut u8, i32> {
        if self.copies {
            (self.holds, self.unwritten) = (None, 0);
        }
        match if self.copies { &self.out } else { &self.back } {
            Some(buffer) if buffer.length() >= length => Ok(buffer.pointer()),
            _ => self.grow(length.min(SCRATCH_LIMIT)),
        }
    }

    #[inline(never)]
    fn grow(&mut self, length: usize) -> Result<*mut u8, i32> {
        let memory = if self.copies { &mut self.out } else { &mut self.back };
        if memory.as_ref().is_none_or(|buffer| buffer.length() < length) {
            *memory = None;
            *memory = Some(Buffer::take(length.next_multiple_of(4096).max(4096))?);
        }
        memory.as_ref().map(Buffer::pointer).ok_or(libc::ENOMEM)
    }

    /// What was read last, to be looked at; never where writes take it.
    pub fn take_incoming(&mut self) -> Option<Buffer> {
        self.back.take()
    }

    /// Gives it back for the next read.
    pub fn give_incoming(&mut self, back: Buffer) {
        self.back = Some(back);
    }
}
