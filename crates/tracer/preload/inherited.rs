//! The descriptors that are open already when a process begins.

use core::ffi::{CStr, c_char, c_int, c_long};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::life::link;
use crate::{AT_FDCWD, Kind, LONGEST_NAME, O_CLOEXEC, O_DIRECTORY, now, number, put, syscall, text};

/// Which recorded process started this one, as the environment tells it: `LASTRANK_PROCESS=` and [`DIGITS`].
pub struct Descent(AtomicPtr<u8>);

pub static DESCENT: Descent = Descent(AtomicPtr::new(null_mut()));

/// Digits of a process's number, with zeros before them.
const DIGITS: usize = 10;
const VARIABLE: &[u8] = b"LASTRANK_PROCESS=";

impl Descent {
    /// Whether the process was recorded before it became this program, or its parent is: what descriptors it has is known then.
    /// Tells its own children from now on.
    ///
    /// # Safety
    /// `said` is the variable's value in the environment, and no other thread runs.
    pub unsafe fn is_told(&self, said: *const c_char, parent: c_long) -> bool {
        if said.is_null() {
            return false;
        }
        self.0.store(said.cast_mut().cast(), Relaxed);
        // SAFETY: the value ends in NUL.
        let said = unsafe { text(said) };
        let number = said.iter().fold(0_i64, |all, digit| all * 10 + i64::from(digit.wrapping_sub(b'0')));
        // SAFETY: no pointers; the value was stored above.
        let own = unsafe {
            self.tell();
            syscall(number::GETPID)
        };
        said.len() == DIGITS && (number == own || number == parent)
    }

    /// Writes the number of this process over that of the one before, so that its children know it.
    ///
    /// # Safety
    /// No other thread runs.
    pub unsafe fn tell(&self) {
        let value = self.0.load(Relaxed);
        if value.is_null() {
            return;
        }
        // SAFETY: strings of the environment stay where they are, but programs write over them: so it is looked whether this
        // one is still there.
        unsafe {
            let intact = (0..VARIABLE.len()).all(|at| *value.sub(VARIABLE.len()).add(at) == VARIABLE[at])
                && (0..DIGITS).all(|at| (*value.add(at)).is_ascii_digit())
                && *value.add(DIGITS) == 0;
            if !intact {
                return;
            }
            let mut number = syscall(number::GETPID);
            for at in (0..DIGITS).rev() {
                *value.add(at) = b'0' + (number % 10) as u8;
                number /= 10;
            }
        }
    }
}

/// Records what the descriptors lead to that are open. Their directory is read: to ask for each of 64 numbers took twice as long
/// as all else that is done when a process begins.
pub fn inherited() {
    #[repr(align(8))]
    struct Entries([u8; 2048]);
    let (mut entries, mut to) = (Entries([0; 2048]), [0; LONGEST_NAME]);
    let path = c"/proc/self/fd".as_ptr();
    let flags = (O_CLOEXEC | O_DIRECTORY) as c_long;
    // SAFETY: plain system calls on a descriptor and buffers of our own.
    unsafe {
        let listing = syscall(number::OPENAT, AT_FDCWD as c_long, path, flags, 0 as c_long);
        if listing < 0 {
            return;
        }
        loop {
            let filled = syscall(number::GETDENTS64, listing, entries.0.as_mut_ptr(), entries.0.len());
            let Some(mut left) =
                entries.0.get(..usize::try_from(filled).unwrap_or(0)).filter(|all| !all.is_empty())
            else {
                break;
            };
            while let Some((name, rest)) = first_name(left) {
                left = rest;
                let digits = name.to_bytes();
                let descriptor =
                    digits.iter().fold(0, |all, digit| all * 10 + i64::from(digit.wrapping_sub(b'0')));
                if digits.iter().all(u8::is_ascii_digit) && descriptor != listing {
                    let to = link(listing as c_int, name, &mut to);
                    put(Kind::Inherit, (now(), 0), (0, 0), [descriptor, 0, 0, 0], [to, &[]]);
                }
            }
        }
        syscall(number::CLOSE, listing);
    }
}

/// The name of the first of the entries that `getdents64` gave, and those behind it.
fn first_name(entries: &[u8]) -> Option<(&CStr, &[u8])> {
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let length = u16::from_ne_bytes([*entries.get(LENGTH)?, *entries.get(LENGTH + 1)?]);
    let (entry, rest) = entries.split_at_checked(length.into())?;
    Some((CStr::from_bytes_until_nul(entry.get(NAME..)?).ok()?, rest))
}
