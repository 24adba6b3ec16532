//! Datatypes of neighbouring bytes, and what all constructors of datatypes need.

use std::ffi::c_int;

use super::error::keep_error;
use crate::abi::Handle;
use crate::library::MpiLibrary;

pub(super) const INT: u64 = i32::MAX as u64;

/// This rank's position among the ranks that share a file.
#[derive(Clone, Copy)]
pub(super) struct RankPosition {
    pub(super) rank: u32,
    pub(super) ranks: u32,
}

/// A committed type of `bytes` contiguous bytes, which may exceed an `int`.
pub(super) fn block_type(library: &'static MpiLibrary, bytes: u64) -> Result<Handle, i32> {
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
        // SAFETY: the part was just made; a type derived from it keeps what it needs.
        unsafe { (library.f.type_free)(&raw mut part) };
        whole?
    };
    commit(library, made)
}

pub(super) fn commit(library: &'static MpiLibrary, mut made: Handle) -> Result<Handle, i32> {
    // SAFETY: the type was just made.
    let code = unsafe { (library.f.type_commit)(&raw mut made) };
    if code == 0 { Ok(made) } else { Err(failed_type(library, code)) }
}

pub(super) fn failed_type(library: &MpiLibrary, code: c_int) -> i32 {
    keep_error(format!("MPI cannot describe the pattern: {}", library.error_text(code)));
    libc::EINVAL
}
