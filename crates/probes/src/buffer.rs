//! Where does a memory kernel work? In anonymous memory whose pages are all there beforehand.

use std::io;
use std::ptr::NonNull;

use super::Error;

/// Bytes of a huge page on x86-64 and on aarch64 with 4 KiB pages.
pub const HUGE: usize = 2 << 20;

/// Bytes of a page.
pub fn page_size() -> usize {
    // SAFETY: asks for a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Private anonymous memory, aligned to a huge page.
#[derive(Debug)]
pub struct Buffer {
    mapping: NonNull<u8>,
    mapped: usize,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, as that of a `Box` would.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Maps `bytes` without touching them, with or without huge pages as far as the kernel follows the
    /// wish. More than nine tenths of what is available is refused rather than swapped.
    pub fn reserve(bytes: u64, huge: bool) -> Result<Self, Error> {
        let available = machine::memory().available.unwrap_or(u64::MAX);
        let wanted = usize::try_from(bytes).ok().filter(|_| bytes > 0 && bytes < available / 10 * 9);
        let Some(length) = wanted else { return Err(Error::NoMemory { bytes, available }) };
        let mapped = length.next_multiple_of(page_size()) + HUGE;
        // SAFETY: a new private anonymous mapping at a place the kernel chooses.
        let mapping = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        let Some(mapping) = NonNull::new(mapping.cast::<u8>()).filter(|_| mapping != libc::MAP_FAILED) else {
            return Err(Error::System { call: "mmap", source: io::Error::last_os_error() });
        };
        let offset = mapping.as_ptr().align_offset(HUGE).min(HUGE);
        // SAFETY: `mapped` is HUGE longer than needed, so an offset of at most HUGE stays inside.
        let start = unsafe { mapping.add(offset) };
        let advice = if huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: advice about a mapping of our own; kernels without huge pages refuse it, which is fine.
        unsafe { libc::madvise(mapping.as_ptr().cast(), mapped, advice) };
        Ok(Self { mapping, mapped, start, bytes: length })
    }

    /// As [`Buffer::reserve`], and every page is written once so that no fault is left to be timed.
    pub fn touched(bytes: u64, huge: bool) -> Result<Self, Error> {
        let buffer = Self::reserve(bytes, huge)?;
        for offset in (0..buffer.bytes).step_by(page_size()) {
            // SAFETY: `offset` is below the buffer's length.
            unsafe { buffer.start.add(offset).write_volatile(1) };
        }
        Ok(buffer)
    }

    /// Its first byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Its length.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its content.
    pub fn as_slice(&mut self) -> &mut [u8] {
        // SAFETY: `bytes` from `start` are mapped, readable and zero or written; the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Gives all pages back: the next access faults again.
    pub fn forget(&mut self) {
        // SAFETY: a private anonymous mapping of our own that nothing points into.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes, libc::MADV_DONTNEED) };
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `reserve` mapped; nothing outlives `self`.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}
