//! The streams of the C library (`fopen`, `fread`, `printf`): what they ask the system for.
//!
//! The library calls the system for its streams by itself, past every function that another library could stand before. But
//! it does so through a table of functions which it exports, `_IO_file_jumps`. Ours are put in their places there, where the
//! table is as expected; else streams stay unseen, and the share that was seen tells.

use core::ffi::{c_char, c_int, c_long, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crate::functions::{HERE, NO, n, stated};
use crate::sight::sight;
use crate::{Kind, O_CLOEXEC, O_CREAT, dlsym, done, fileno, now, number, syscall, text};

type Stream = *mut c_void;
type Transfer = unsafe extern "C" fn(Stream, *mut c_void, isize) -> isize;
type Seek = unsafe extern "C" fn(Stream, i64, c_int) -> i64;
type Close = unsafe extern "C" fn(Stream) -> c_int;
type Stat = unsafe extern "C" fn(Stream, *mut c_void) -> c_int;

/// The C library's own functions, by their place in the table behind the first.
static OWN: [AtomicUsize; 5] = [const { AtomicUsize::new(0) }; 5];
/// The place in the table of the first, `read`; `write`, `seek`, `close` and `stat` follow.
const FIRST: usize = 14;

/// Whether the library has recorded the end of the process. Streams are flushed behind that.
pub static ENDED: AtomicBool = AtomicBool::new(false);

/// Puts our functions into the table of the C library.
///
/// # Safety
/// No other thread runs.
pub unsafe fn stand_before() {
    const NAMES: [&core::ffi::CStr; 5] =
        [c"_IO_file_read", c"_IO_file_write", c"_IO_file_seek", c"_IO_file_close", c"_IO_file_stat"];
    let ours = [
        read as Transfer as usize,
        write as Transfer as usize,
        seek as Seek as usize,
        close as Close as usize,
        stat as Stat as usize,
    ];
    // SAFETY: the table is changed only where each place holds the function of its name, so that it is the table that we take
    // it for. It lies in memory that the linker made read-only after it had filled it in.
    unsafe {
        // RTLD_NEXT
        let find = |name: &core::ffi::CStr| dlsym(usize::MAX as *mut c_void, name.as_ptr());
        let table: *mut usize = find(c"_IO_file_jumps").cast();
        if table.is_null() {
            return;
        }
        let places = table.add(FIRST);
        for (at, name) in NAMES.iter().enumerate() {
            let function = find(name) as usize;
            if function == 0 || *places.add(at) != function {
                return;
            }
        }
        let page = getauxval(AT_PAGESZ).max(4096);
        let begin = places as usize / page * page;
        let size = (places.add(ours.len()) as usize - begin).next_multiple_of(page);
        // PROT_READ | PROT_WRITE
        if syscall(number::MPROTECT, begin, size, 3 as c_long) != 0 {
            return;
        }
        for (at, function) in ours.into_iter().enumerate() {
            OWN[at].store(*places.add(at), Relaxed);
            places.add(at).write_volatile(function);
        }
        syscall(number::MPROTECT, begin, size, 1 as c_long);
    }
}

const AT_PAGESZ: usize = 6;

#[link(name = "c")]
unsafe extern "C" {
    fn getauxval(what: usize) -> usize;
}

/// The C library's function at a place of the table.
macro_rules! own {
    ($at:literal as $kind:ty) => {
        // Ours are called only after these were stored, and the table's places have these types.
        core::mem::transmute::<usize, $kind>(OWN[$at].load(Relaxed))
    };
}

/// Writes the record of a stream's call, and of the end of the process where that was recorded already.
fn called(kind: Kind, start: u64, result: i64, numbers: [i64; 4]) {
    done(kind, start, result, numbers, NO);
    if ENDED.load(Relaxed) {
        crate::life::ended();
    }
}

unsafe extern "C" fn read(stream: Stream, buffer: *mut c_void, count: isize) -> isize {
    let start = now();
    // SAFETY: the arguments are the C library's.
    let (result, file) = unsafe { (own!(0 as Transfer)(stream, buffer, count), fileno(stream)) };
    called(Kind::Read, start, result as i64, [n(file), -1, 0, 0]);
    result
}

unsafe extern "C" fn write(stream: Stream, buffer: *mut c_void, count: isize) -> isize {
    let start = now();
    // SAFETY: the arguments are the C library's.
    let (result, file) = unsafe { (own!(1 as Transfer)(stream, buffer, count), fileno(stream)) };
    // It gives what was written before an error.
    let written = if result == 0 && count > 0 { -1 } else { result as i64 };
    called(Kind::Write, start, written, [n(file), -1, 0, 0]);
    result
}

unsafe extern "C" fn seek(stream: Stream, offset: i64, whence: c_int) -> i64 {
    let start = now();
    // SAFETY: the arguments are the C library's.
    let (result, file) = unsafe { (own!(2 as Seek)(stream, offset, whence), fileno(stream)) };
    called(Kind::Seek, start, result, [n(file), 0, 0, 0]);
    result
}

unsafe extern "C" fn close(stream: Stream) -> c_int {
    // SAFETY: the stream is the C library's.
    unsafe {
        let file = fileno(stream);
        let start = now();
        let result = own!(3 as Close)(stream);
        called(Kind::Close, start, n(result), [n(file), 0, 0, 0]);
        result
    }
}

unsafe extern "C" fn stat(stream: Stream, out: *mut c_void) -> c_int {
    let start = now();
    // SAFETY: the arguments are the C library's, which has filled `out` where it succeeded.
    unsafe {
        let result = own!(4 as Stat)(stream, out);
        let numbers = stated(n(fileno(stream)), 1, n(result), out);
        called(Kind::StatOpen, start, n(result), numbers);
        result
    }
}

/// The flags of `open` for a mode of `fopen`.
fn flags(mode: &[u8]) -> c_int {
    const O_APPEND: c_int = 0o2000;
    let mut flags = match mode.first() {
        Some(b'w') => 1 | O_CREAT | 0o1000,
        Some(b'a') => 1 | O_CREAT | O_APPEND,
        _ => 0,
    };
    for letter in mode.iter().skip(1).take_while(|letter| **letter != b',') {
        match letter {
            b'+' => flags = flags & !3 | 2,
            b'x' => flags |= 0o200,
            b'e' => flags |= O_CLOEXEC,
            _ => {}
        }
    }
    flags
}

/// Writes the record of a call that opened a stream, or did not.
unsafe fn opened(start: u64, path: *const c_char, flags: c_int, stream: Stream) {
    // SAFETY: the stream is the C library's, the path the caller's.
    unsafe {
        let file = if stream.is_null() { -1 } else { fileno(stream) };
        done(Kind::Open, start, n(file), [HERE, n(flags), 0o666, 0], [text(path), &[]]);
    }
}

macro_rules! opens {
    ($($name:literal $own:ident ($path:ident, $mode:ident $(, $old:ident)?);)*) => { $(
        #[unsafe(export_name = $name)]
        pub unsafe extern "C" fn $own($path: *const c_char, $mode: *const c_char $(, $old: Stream)?) -> Stream {
            let real = real!(
                $name as unsafe extern "C" fn(*const c_char, *const c_char $(, opens!(@stream $old))?) -> Stream
            );
            // SAFETY: the arguments are the caller's.
            unsafe {
                let flags = flags(text($mode));
                if flags & O_CREAT != 0 {
                    sight(crate::AT_FDCWD, $path);
                }
                let start = now();
                let stream = real($path, $mode $(, $old)?);
                if !$path.is_null() {
                    opened(start, $path, flags, stream);
                }
                stream
            }
        }
    )* };
    (@stream $old:ident) => { Stream };
}

opens! {
    "fopen" fopen(path, mode);
    "fopen64" fopen64(path, mode);
    "freopen" freopen(path, mode, old);
    "freopen64" freopen64(path, mode, old);
}
