//! Reads the memory of a stopped thread.

use std::mem::MaybeUninit;

/// The longest name that Linux takes, with its NUL.
const LONGEST_NAME: usize = 4096;

/// Up to `length` bytes from `address`; fewer where the memory ends.
pub fn bytes(thread: libc::pid_t, address: u64, length: usize) -> Vec<u8> {
    let mut out = vec![0_u8; length];
    let local = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: length };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: length };
    // SAFETY: the local vector describes `out`; the remote one is read by Linux, which checks it.
    let count = unsafe { libc::process_vm_readv(thread, &local, 1, &remote, 1, 0) };
    out.truncate(usize::try_from(count).unwrap_or(0));
    out
}

/// The string at `address` without its NUL.
pub fn string(thread: libc::pid_t, address: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while out.len() < LONGEST_NAME && address != 0 {
        let from = address.wrapping_add(out.len() as u64);
        // Up to the end of the page, which may be the last one that is mapped; names are short.
        let here = (4096 - (from % 4096) as usize).min(256);
        let part = bytes(thread, from, here);
        if part.is_empty() {
            break;
        }
        if let Some(end) = part.iter().position(|byte| *byte == 0) {
            out.extend_from_slice(&part[..end]);
            break;
        }
        out.extend_from_slice(&part);
    }
    out
}

/// The C value at `address`; `None` if the memory is not mapped.
pub fn value<T: Plain>(thread: libc::pid_t, address: u64) -> Option<T> {
    let found = bytes(thread, address, size_of::<T>());
    if found.len() < size_of::<T>() {
        return None;
    }
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: `found` has as many bytes as `T`, and any bytes are a `T` since it is `Plain`.
    unsafe {
        std::ptr::copy_nonoverlapping(found.as_ptr(), value.as_mut_ptr().cast::<u8>(), size_of::<T>());
        Some(value.assume_init())
    }
}

/// Types for which any bytes are a valid value.
///
/// # Safety
/// Any bytes must be a valid value: integers, and structures of integers.
pub unsafe trait Plain {}
// SAFETY: structures of integers.
unsafe impl Plain for libc::stat {}
// SAFETY: as above.
unsafe impl Plain for libc::statx {}
// SAFETY: as above.
unsafe impl Plain for [i32; 1] {}
// SAFETY: as above.
unsafe impl Plain for [i32; 2] {}
// SAFETY: as above.
unsafe impl Plain for [u64; 3] {}
// SAFETY: as above.
unsafe impl Plain for [u64; 4] {}
// SAFETY: as above.
unsafe impl Plain for [u64; 1] {}
// SAFETY: as above.
unsafe impl Plain for [u64; 2] {}
// SAFETY: as above.
unsafe impl Plain for [u64; 8] {}
