//! How are bytes moved between files and memory?

use std::ffi::CStr;
use std::sync::Arc;

use super::Posix;
use crate::execute::backend::{Meaning, Timed};
use crate::files::Refusal;
use crate::ops::buffers::{Buffer, SCRATCH_LIMIT};
use ranks::StopFlag;
use samples::Outcome;

use crate::ops::posix;

impl Posix {
    #[inline(always)]
    pub(super) fn write(
        &mut self,
        file: u32,
        length: u64,
        offset: Option<u64>,
        buffer: Option<u32>,
    ) -> Timed {
        let Some(open) = self.file(file) else { return self.failed(libc::EBADF) };
        let (fd, position) = (open.fd, open.position);
        let advances = offset.is_none();
        let offset = if open.shared { Some(offset.unwrap_or(position)) } else { offset };
        let place = offset.unwrap_or(position);
        let from = self.source(place, length, buffer);
        let from = match from {
            Ok(from) => from,
            Err(errno) => return self.failed(errno),
        };
        let stop = self.stop;
        let whole = buffer.is_some() || length <= SCRATCH_LIMIT as u64;
        // SAFETY: `from` is readable for `length` bytes, or for SCRATCH_LIMIT where `length` is more.
        let timed = unsafe {
            match (whole, offset) {
                (true, None) => self.time(Meaning::Bytes, || posix::write(fd, from, length as usize)),
                (true, Some(at)) => {
                    self.time(Meaning::Bytes, || posix::pwrite(fd, from, length as usize, at))
                }
                (false, _) => self.time(Meaning::Bytes, || {
                    pieces(length, false, stop, |done, part| match offset {
                        None => posix::write(fd, from, part),
                        Some(at) => posix::pwrite(fd, from, part, at + done),
                    })
                }),
            }
        };
        if advances {
            self.advance(file, position + timed.outcome.value);
        }
        timed
    }

    #[inline(always)]
    pub(super) fn read(
        &mut self,
        file: u32,
        length: Option<u64>,
        offset: Option<u64>,
        buffer: Option<u32>,
    ) -> Timed {
        let Some(open) = self.file(file) else { return self.failed(libc::EBADF) };
        let (fd, position) = (open.fd, open.position);
        let advances = offset.is_none() && length.is_some();
        let offset = if open.shared && advances { Some(position) } else { offset };
        let (length, offset) = match length {
            Some(length) => (length, offset),
            None => (posix::size(fd).value, Some(offset.unwrap_or(0))),
        };
        let into = match buffer {
            None => self.scratch.incoming(length.min(SCRATCH_LIMIT as u64) as usize),
            Some(number) => match self.buffers.get(number as usize) {
                Some(Some(own)) if own.length() as u64 >= length => Ok(own.pointer()),
                _ => Err(libc::EFAULT),
            },
        };
        let into = match into {
            Ok(into) => into,
            Err(errno) => return self.failed(errno),
        };
        let stop = self.stop;
        let whole = buffer.is_some() || length <= SCRATCH_LIMIT as u64;
        // SAFETY: `into` is writable for `length` bytes, or for SCRATCH_LIMIT where `length` is more.
        let mut timed = unsafe {
            match (whole, offset) {
                (true, None) => self.time(Meaning::Bytes, || posix::read(fd, into, length as usize)),
                (true, Some(at)) => self.time(Meaning::Bytes, || posix::pread(fd, into, length as usize, at)),
                (false, _) => self.time(Meaning::Bytes, || {
                    pieces(length, false, stop, |done, part| match offset {
                        None => posix::read(fd, into, part),
                        Some(at) => posix::pread(fd, into, part, at + done),
                    })
                }),
            }
        };
        if advances {
            self.advance(file, position + timed.outcome.value);
        }
        self.last_read =
            if buffer.is_none() { (offset.unwrap_or(position), timed.outcome.value) } else { (0, 0) };
        short_read(&mut timed.outcome, length);
        timed
    }

    pub(super) fn write_file(
        &mut self,
        path: &CStr,
        length: u64,
        offset: u64,
        flags: i32,
        buffer: Option<u32>,
    ) -> Result<Timed, Refusal> {
        let append = flags & libc::O_APPEND != 0;
        // What is appended has the content of offset 0, unless someone will look: the size is asked for
        // only then, since asking makes the open faster.
        let place = match (append, self.verifying) {
            (false, _) => offset,
            (true, true) => posix::stat(path).value,
            (true, false) => 0,
        };
        let from = match self.source(place, length, buffer) {
            Ok(from) => from,
            Err(errno) => return Ok(self.failed(errno)),
        };
        let how = flags | if append { 0 } else { libc::O_TRUNC } | libc::O_WRONLY | libc::O_CREAT;
        let stop = self.stop;
        let call = |path: &CStr, more| {
            let opened = posix::open(path, how | more, 0o666);
            if !opened.ok() {
                return opened;
            }
            let fd = opened.value as i32;
            let mut wrote = pieces(length, buffer.is_some(), stop, |done, part| {
                // SAFETY: `from` is readable for `length` bytes, or for SCRATCH_LIMIT where they come
                // from our own memory, and `part` is no more than that.
                unsafe {
                    if append || offset == 0 {
                        posix::write(fd, from, part)
                    } else {
                        posix::pwrite(fd, from, part, offset + done)
                    }
                }
            });
            let closed = posix::close(fd);
            if wrote.ok() && !closed.ok() {
                wrote.errno = closed.errno;
            }
            wrote
        };
        self.creating("write to", path, call, Meaning::Bytes)
    }

    pub(super) fn read_file(
        &mut self,
        path: &CStr,
        length: Option<u64>,
        offset: u64,
        flags: i32,
    ) -> Result<Timed, Refusal> {
        // The size asked for here, before the timing, only prepares the memory.
        let expected = length.unwrap_or_else(|| posix::stat(path).value.saturating_sub(offset));
        // Direct transfers move whole blocks, past the end of the file if need be.
        let asked = match flags & libc::O_DIRECT {
            0 => expected,
            _ => expected.next_multiple_of(4096),
        };
        let into = match self.scratch.incoming(asked.min(SCRATCH_LIMIT as u64) as usize) {
            Ok(into) => into,
            Err(errno) => return Ok(self.failed(errno)),
        };
        let stop = self.stop;
        let timed = self.reading(path, Meaning::Bytes, |path| {
            let opened = posix::open(path, libc::O_RDONLY | flags, 0);
            if !opened.ok() {
                return opened;
            }
            let fd = opened.value as i32;
            let mut got = pieces(asked, false, stop, |done, part| {
                // SAFETY: `into` is writable for SCRATCH_LIMIT or `asked` bytes, whichever is less,
                // and `part` is no more than that.
                unsafe {
                    if offset == 0 {
                        posix::read(fd, into, part)
                    } else {
                        posix::pread(fd, into, part, offset + done)
                    }
                }
            });
            short_read(&mut got, expected);
            let closed = posix::close(fd);
            if got.ok() && !closed.ok() {
                got.errno = closed.errno;
            }
            got
        })?;
        self.last_read = (offset, timed.outcome.value);
        Ok(timed)
    }

    pub(super) fn map_file(
        &mut self,
        path: &CStr,
        length: Option<u64>,
        offset: u64,
    ) -> Result<Timed, Refusal> {
        // A page past the end of the file would kill: so much of it is mapped as there is.
        let there = posix::stat(path).value.saturating_sub(offset);
        let expected = length.unwrap_or(there);
        let mapped = usize::try_from(expected.min(there)).unwrap_or(usize::MAX);
        self.reading(path, Meaning::Bytes, |path| {
            let opened = posix::open(path, libc::O_RDONLY, 0);
            if !opened.ok() {
                return opened;
            }
            let fd = opened.value as i32;
            let mut got = posix::map(fd, mapped, offset);
            short_read(&mut got, expected);
            posix::close(fd);
            got
        })
    }

    /// Where a write of `length` bytes at `offset` takes its bytes from: a buffer of the program, or
    /// our own memory, which holds at most SCRATCH_LIMIT.
    #[inline(always)]
    pub(super) fn source(&mut self, offset: u64, length: u64, buffer: Option<u32>) -> Result<*const u8, i32> {
        match buffer {
            None => self.scratch.outgoing(offset, length.min(SCRATCH_LIMIT as u64) as usize),
            Some(number) => match self.buffers.get(number as usize) {
                Some(Some(own)) if own.length() as u64 >= length => Ok(own.pointer().cast_const()),
                _ => Err(libc::EFAULT),
            },
        }
    }

    pub(super) fn take_memory(&mut self, length: u64) -> Timed {
        let Ok(length) = usize::try_from(length) else { return self.failed(libc::ENOMEM) };
        let begin = self.clock.now();
        let taken = Buffer::take(length);
        let end = self.clock.now();
        let outcome = match taken {
            Ok(mut buffer) => {
                buffer.fill(self.seed);
                let number = self.buffers.iter().position(Option::is_none).unwrap_or(self.buffers.len());
                if number == self.buffers.len() {
                    self.buffers.push(None);
                }
                self.buffers[number] = Some(Arc::new(buffer));
                Outcome::value(number as u64)
            }
            Err(errno) => Outcome::error(errno),
        };
        Timed { begin, end, outcome, ..Timed::default() }
    }
}

/// Moves `length` bytes: at once where they are `whole` in a buffer, else in pieces that fit our own
/// memory. Between two pieces it looks whether the run is to stop, and is then canceled (ECANCELED).
#[inline(always)]
pub(super) fn pieces(
    length: u64,
    whole: bool,
    stop: StopFlag,
    mut step: impl FnMut(u64, usize) -> Outcome,
) -> Outcome {
    let mut total = Outcome::default();
    loop {
        let most = if whole { u64::MAX } else { SCRATCH_LIMIT as u64 };
        let part = (length - total.value).min(most);
        let moved = step(total.value, part as usize);
        total.value += moved.value;
        total.errno = moved.errno;
        total.causes = samples::Causes(total.causes.0 | moved.causes.0);
        if !moved.ok() || moved.value < part || total.value == length {
            return total;
        }
        if stop.why().is_some() {
            total.errno = libc::ECANCELED;
            return total;
        }
    }
}

/// A read that ended early counts as failed, as the original counted it.
#[inline(always)]
pub(super) fn short_read(outcome: &mut Outcome, wanted: u64) {
    if outcome.ok() && outcome.value < wanted {
        outcome.errno = libc::ENODATA;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranks::{Comm, Processes, shared::Region};

    #[test]
    fn a_transfer_of_many_pieces_ends_after_the_piece_in_which_it_is_told_to() {
        let region = Region::new(1, None).expect("memory");
        let flag = Processes::world(region, 0).stop_flag();
        let mut calls = 0;
        let moved = pieces(9_000_000_000_000_000_000, false, flag, |_, part| {
            calls += 1;
            if calls == 3 {
                region.stop(libc::SIGINT);
            }
            Outcome::value(part as u64)
        });
        assert_eq!((calls, moved.errno, moved.value), (3, libc::ECANCELED, 3 << 30));
        // One that is done is done.
        let last = pieces(1 << 30, false, flag, |_, part| Outcome::value(part as u64));
        assert_eq!((last.errno, last.value), (0, 1 << 30));
    }
}
