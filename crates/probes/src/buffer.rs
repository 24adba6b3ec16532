//! Anonymous memory for the kernels, aligned to huge pages, with all pages present beforehand.

use std::ptr::NonNull;

use memmap2::{Advice, MmapMut, MmapOptions, UncheckedAdvice};

use crate::error::Error;

/// Bytes of a huge page on x86-64 and on aarch64 with 4 KiB pages.
pub const HUGE: usize = 2 << 20;

/// Bytes of a page.
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// Private anonymous memory, aligned to a huge page.
#[derive(Debug)]
pub struct KernelMemory {
    mapping: MmapMut,
    /// Where in the mapping it begins.
    offset: usize,
    bytes: usize,
}

impl KernelMemory {
    /// Maps `bytes` without touching them, with or without huge pages as far as the kernel follows the
    /// wish. More than nine tenths of what is available is refused rather than swapped.
    pub fn reserve(bytes: u64, huge: bool) -> Result<Self, Error> {
        let available = machine::memory().available.unwrap_or(u64::MAX);
        let wanted = usize::try_from(bytes).ok().filter(|_| bytes > 0 && bytes < available / 10 * 9);
        let Some(length) = wanted else { return Err(Error::NoMemory { bytes, available }) };
        let mapped = length.next_multiple_of(page_size()) + HUGE;
        let mapping = MmapOptions::new()
            .len(mapped)
            .no_reserve_swap()
            .map_anon()
            .map_err(|source| Error::System { call: "mmap", source })?;
        let offset = mapping.as_ptr().align_offset(HUGE).min(HUGE);
        // Kernels without huge pages refuse the advice, which is fine.
        let _ = mapping.advise(if huge { Advice::HugePage } else { Advice::NoHugePage });
        Ok(Self { mapping, offset, bytes: length })
    }

    /// As [`KernelMemory::reserve`], and every page is written once so that no fault is left to be timed.
    pub fn touched(bytes: u64, huge: bool) -> Result<Self, Error> {
        let mut buffer = Self::reserve(bytes, huge)?;
        buffer.as_slice().iter_mut().step_by(page_size()).for_each(|byte| *byte = 1);
        Ok(buffer)
    }

    /// Its first byte.
    pub fn start(&mut self) -> NonNull<u8> {
        NonNull::from(self.as_slice()).cast()
    }

    /// Its length.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its content.
    pub fn as_slice(&mut self) -> &mut [u8] {
        &mut self.mapping[self.offset..self.offset + self.bytes]
    }

    /// Gives all pages back: the next access faults again.
    pub fn discard(&mut self) {
        // SAFETY: the pages of a private anonymous mapping read as zeros afterwards, and nothing points into it.
        let _ = unsafe {
            self.mapping.unchecked_advise_range(UncheckedAdvice::DontNeed, self.offset, self.bytes)
        };
    }
}
