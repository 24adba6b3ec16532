//! Maps anonymous memory for the kernels, aligned to huge pages and optionally with all pages present.

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
    /// Offset of the memory in the mapping.
    offset: usize,
    bytes: usize,
}

impl KernelMemory {
    /// Maps `bytes` without touching them, and advises the OS kernel to use huge pages or not. Refuses more
    /// than nine tenths of the available memory, so that nothing is swapped.
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
        // An OS kernel without huge pages refuses the advice, which changes nothing.
        let _ = mapping.advise(if huge { Advice::HugePage } else { Advice::NoHugePage });
        Ok(Self { mapping, offset, bytes: length })
    }

    /// As [`KernelMemory::reserve`], and writes every page once so that no page fault is timed.
    pub fn touched(bytes: u64, huge: bool) -> Result<Self, Error> {
        let mut buffer = Self::reserve(bytes, huge)?;
        buffer.as_slice().iter_mut().step_by(page_size()).for_each(|byte| *byte = 1);
        Ok(buffer)
    }

    /// The address of its first byte.
    pub fn start(&mut self) -> NonNull<u8> {
        NonNull::from(self.as_slice()).cast()
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its content.
    pub fn as_slice(&mut self) -> &mut [u8] {
        &mut self.mapping[self.offset..self.offset + self.bytes]
    }

    /// Its content as numbers; bytes at the end that make no whole number are left out.
    pub fn as_numbers(&mut self) -> &mut [f64] {
        // SAFETY: any eight bytes are a number, and the memory begins at a multiple of a page.
        let (_, numbers, _) = unsafe { self.as_slice().align_to_mut::<f64>() };
        numbers
    }

    /// As [`KernelMemory::touched`], with every page on one NUMA node (`mbind`).
    ///
    /// # Errors
    /// If there is no such node, or too little memory on it.
    pub fn on_node(bytes: u64, node: u32) -> Result<Self, Error> {
        let mut buffer = Self::reserve(bytes, false)?;
        let mut nodes = [0u64; 16];
        let bits = 8 * size_of_val(&nodes);
        let Some(word) = nodes.get_mut(node as usize / 64) else { return Err(Error::NoNode { node }) };
        *word |= 1 << (node % 64);
        let start = buffer.start().as_ptr();
        // SAFETY: the pages from `start` on are this buffer's; `nodes` has `bits` bits. The kernel counts one more.
        let bound = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                start,
                buffer.bytes(),
                libc::MPOL_BIND,
                nodes.as_ptr(),
                bits + 1,
                0,
            )
        };
        if bound != 0 {
            let source = std::io::Error::last_os_error();
            return Err(match source.raw_os_error() {
                Some(libc::EINVAL) => Error::NoNode { node },
                _ => Error::System { call: "mbind", source },
            });
        }
        buffer.as_slice().iter_mut().step_by(page_size()).for_each(|byte| *byte = 1);
        Ok(buffer)
    }

    /// Returns all pages to the OS kernel: the next access to each faults again.
    pub fn discard(&mut self) {
        // SAFETY: the pages of a private anonymous mapping read as zeros afterwards, and no reference into it
        // exists.
        let _ = unsafe {
            self.mapping.unchecked_advise_range(UncheckedAdvice::DontNeed, self.offset, self.bytes)
        };
    }
}
