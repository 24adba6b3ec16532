//! `ioctl`, of which clones of files are recorded.

use core::ffi::{c_int, c_long, c_ulong, c_void};

use crate::functions::{STAT_BYTES, attributes, n};
use crate::{Kind, errno, now, number, put, set_errno, syscall};

const FICLONE: c_ulong = 0x4004_9409;
const FICLONERANGE: c_ulong = 0x4020_940d;
const AT_EMPTY_PATH: c_int = 0x1000;

/// `struct file_clone_range`.
#[repr(C)]
struct Range {
    from: i64,
    offset: i64,
    length: i64,
    there: i64,
}

#[unsafe(export_name = "ioctl")]
pub unsafe extern "C" fn ioctl(file: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    type Ioctl = unsafe extern "C" fn(c_int, c_ulong, *mut c_void) -> c_int;
    let start = now();
    // SAFETY: the arguments are the caller's.
    let result = unsafe { real!("ioctl" as Ioctl)(file, request, argument) };
    if result == 0 && (request == FICLONE || request == FICLONERANGE) {
        let end = now();
        let whole = Range { from: argument as i64, offset: 0, length: 0, there: 0 };
        let range: *const Range = if request == FICLONE { &raw const whole } else { argument.cast() };
        // SAFETY: the call has accepted the structure.
        let Range { from, offset, length, there } = unsafe { range.read_unaligned() };
        // Without a length up to the end.
        let length = if length > 0 { length } else { size(from as c_int) - offset };
        put(Kind::Clone, (start, end), (length, 0), [from, n(file), offset, there], [&[], &[]]);
    }
    result
}

fn size(file: c_int) -> i64 {
    let mut found = [0_u64; STAT_BYTES / 8];
    let before = errno();
    // SAFETY: `found` has the size of a `struct stat`, and an empty name means the descriptor.
    unsafe {
        let (empty, flags) = (c"".as_ptr(), AT_EMPTY_PATH as c_long);
        let failed = syscall(number::NEWFSTATAT, file as c_long, empty, found.as_mut_ptr(), flags) != 0;
        set_errno(before);
        if failed { 0 } else { attributes(found.as_ptr().cast()).1 }
    }
}
