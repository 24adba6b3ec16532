//! Moves bytes between files and memory.

use std::ffi::CStr;
use std::sync::Arc;

use samples::{Outcome, Warning, units};

use super::layer::Layer;
use super::opening::Opening;
use super::space_watch::{FileSystem, Free, SpaceWatch, Spare};
use crate::buffers::SCRATCH_LIMIT;
use crate::content::{Destined, FileName, LastRead};
use crate::driver::{Driver, Handle};
use crate::execute::call::{Meaning, Timed};
use crate::files::Refusal;
use ranks::StopFlag;

/// How many bytes, and from where in the file; `None`: from its position.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) length: u64,
    pub(super) offset: Option<u64>,
}

/// A transfer that opens and closes its file.
#[derive(Clone, Copy)]
pub(super) struct WholeFile<'p, L> {
    pub(super) path: &'p CStr,
    pub(super) length: L,
    pub(super) offset: u64,
    /// Added to those of the open: `O_APPEND`, `O_DIRECT`.
    pub(super) flags: i32,
}

impl Layer {
    #[inline(always)]
    pub(super) fn write<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        file: u32,
        span: Span,
        buffer: Option<u32>,
    ) -> Timed {
        let Some(open) = self.files.get(file) else { return self.bracket.failed(driver, libc::EBADF) };
        let Some(handle) = open.handle else { return self.bracket.failed(driver, libc::EBADF) };
        let Span { length, offset } = span;
        let position = open.position;
        let advances = offset.is_none();
        let offset = if open.shared { Some(offset.unwrap_or(position)) } else { offset };
        // Linux appends there whatever offset is given (BUGS of pwrite(2)).
        let end = (open.appends && self.verifying && self.content).then(|| driver.size(handle).value);
        let position = end.filter(|_| advances).unwrap_or(position);
        let (file_name, file_system) = (open.name, open.file_system);
        if let Some(end) = end.filter(|_| self.alone) {
            self.found_end(file_name, end);
        }
        // Of several that append nobody knows where the bytes will lie: they say which they are of those appended here.
        let appended = end.is_some() && !self.alone;
        let place = match appended {
            true => self.catalogue.append(file_name, length),
            false => end.or(offset).unwrap_or(position),
        };
        let to = Destined { file: file_name, place, appended };
        let whole = self.is_whole(length, buffer);
        let looked = self.room.must_look(file_system, length);
        if looked && self.would_fill_file(file, length) {
            return self.bracket.failed(driver, libc::ENOSPC);
        }
        let from = match self.source(to, length, buffer) {
            Ok(from) => from,
            Err(errno) => return self.bracket.failed(driver, errno),
        };
        let stop = self.stop;
        let bytes = length as usize;
        let begun = self.bracket.begin(driver);
        // SAFETY: `from` is readable for `length` bytes, or for SCRATCH_LIMIT where `length` is more.
        let outcome = unsafe {
            match (whole, offset) {
                (true, None) => driver.write(handle, from, bytes),
                (true, Some(at)) => driver.pwrite(handle, from, bytes, at),
                (false, _) => {
                    let driver = &mut *driver;
                    pieces(length, false, stop, move |done, part| match offset {
                        None => driver.write(handle, from, part),
                        Some(at) => driver.pwrite(handle, from, part, at + done),
                    })
                }
            }
        };
        let timed = self.bracket.end(driver, begun, Meaning::Bytes, outcome);
        if advances {
            self.files.set_position(file, position.saturating_add(timed.outcome.value));
        }
        if looked {
            self.wrote_looked(file, length);
        }
        self.wrote(to, timed.outcome.value, buffer);
        timed
    }

    /// Without a length the whole file from its beginning.
    #[inline(always)]
    pub(super) fn read<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        file: u32,
        length: Option<u64>,
        offset: Option<u64>,
    ) -> Timed {
        let Some(open) = self.files.get(file) else { return self.bracket.failed(driver, libc::EBADF) };
        let Some(handle) = open.handle else { return self.bracket.failed(driver, libc::EBADF) };
        let position = open.position;
        let advances = offset.is_none() && length.is_some();
        let offset = if open.shared && advances { Some(position) } else { offset };
        let all = length.is_none();
        let (length, offset) = match length {
            Some(length) => (length, offset),
            None => (driver.size(handle).value, Some(offset.unwrap_or(0))),
        };
        let into = match self.destination(length) {
            Ok(into) => into,
            Err(errno) => return self.bracket.failed(driver, errno),
        };
        let stop = self.stop;
        let whole = self.is_whole(length, None);
        let bytes = length as usize;
        let begun = self.bracket.begin(driver);
        // SAFETY: `into` is writable for `length` bytes, or for SCRATCH_LIMIT where `length` is more.
        let outcome = unsafe {
            match (whole, offset) {
                (true, None) => driver.read(handle, into, bytes),
                (true, Some(at)) => driver.pread(handle, into, bytes, at),
                (false, _) => {
                    let driver = &mut *driver;
                    pieces(length, false, stop, move |done, part| match offset {
                        None => driver.read(handle, into, part),
                        Some(at) => driver.pread(handle, into, part, at + done),
                    })
                }
            }
        };
        let mut timed = self.bracket.end(driver, begun, Meaning::Bytes, outcome);
        if advances {
            self.files.set_position(file, position.saturating_add(timed.outcome.value));
        }
        if self.author.copies {
            self.may_be_copied(file, timed.outcome.value);
        }
        if self.verifying {
            let file = self.files.get(file).map(|open| open.name).unwrap_or_default();
            let (offset, moved) = (offset.unwrap_or(position), timed.outcome.value);
            let ends = all || moved < length;
            let ended = self.ended(file, (offset.saturating_add(moved), ends), || driver.size(handle));
            self.last_read = LastRead { file, offset, length: moved, ended, all };
            // That of a read by pattern which nobody asked about.
            self.wrong = None;
        }
        short_read(&mut timed.outcome, length);
        timed
    }

    pub(super) fn write_file<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        whole: WholeFile<'_, u64>,
        buffer: Option<u32>,
    ) -> Result<Timed, Refusal> {
        let WholeFile { path, length, offset, flags } = whole;
        let append = flags & libc::O_APPEND != 0;
        let file = self.file_name(path);
        // Where it will lie is asked for only where someone will look: asking makes the open faster.
        let (place, appended) = match (append, self.verifying) {
            (false, _) => (offset, false),
            (true, true) if self.alone => {
                let end = driver.stat(path).value;
                self.found_end(file, end);
                (end, false)
            }
            (true, _) if !self.content || buffer.is_some() => (0, true),
            (true, _) => (self.catalogue.append(file, length), true),
        };
        let to = Destined { file, place, appended };
        let from = match self.source(to, length, buffer) {
            Ok(from) => from,
            Err(errno) => return Ok(self.bracket.failed(driver, errno)),
        };
        let how = flags | if append { 0 } else { libc::O_TRUNC } | libc::O_WRONLY | libc::O_CREAT;
        let stop = self.stop;
        let at_once = buffer.is_some() || !self.content;
        let making = Opening::whole(append, length);
        let timed = self.creating(driver, making, path, |driver, path, judge| {
            let opened = judge.open(driver, path, how, 0o666);
            if !opened.ok() {
                return opened;
            }
            let handle = Handle(opened.value);
            let mut wrote = pieces(length, at_once, stop, |done, part| {
                // SAFETY: `from` is readable for `length` bytes, or for SCRATCH_LIMIT where they come
                // from our own memory, and `part` is no more than that.
                unsafe {
                    if append || offset == 0 {
                        driver.write(handle, from, part)
                    } else {
                        driver.pwrite(handle, from, part, offset + done)
                    }
                }
            });
            let closed = driver.close(handle);
            if wrote.ok() && !closed.ok() {
                wrote.errno = closed.errno;
            }
            wrote
        })?;
        match append {
            true => {}
            false if timed.outcome.ok() => self.emptied(file),
            // It may be empty now.
            false => self.may_be_short(file),
        }
        self.wrote(to, timed.outcome.value, buffer);
        Ok(timed)
    }

    /// Without a length all of the file.
    pub(super) fn read_file<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        whole: WholeFile<'_, Option<u64>>,
    ) -> Result<Timed, Refusal> {
        let WholeFile { path, length, offset, flags } = whole;
        // The size asked for here, before the timing, only prepares the memory.
        let expected = length.unwrap_or_else(|| driver.stat(path).value.saturating_sub(offset));
        // Direct transfers move whole blocks, past the end of the file if need be.
        let asked = match flags & libc::O_DIRECT {
            0 => expected,
            _ => expected.next_multiple_of(4096),
        };
        let into = match self.destination(asked) {
            Ok(into) => into,
            Err(errno) => return Ok(self.bracket.failed(driver, errno)),
        };
        let (stop, at_once) = (self.stop, !self.content);
        let timed = self.reading(driver, path, Meaning::Bytes, |driver, path, way| {
            let opened = way.open(driver, path, libc::O_RDONLY | flags, 0);
            if !opened.ok() {
                return opened;
            }
            let handle = Handle(opened.value);
            let mut got = pieces(asked, at_once, stop, |done, part| {
                // SAFETY: `into` is writable for SCRATCH_LIMIT or `asked` bytes, whichever is less,
                // and `part` is no more than that.
                unsafe {
                    if offset == 0 {
                        driver.read(handle, into, part)
                    } else {
                        driver.pread(handle, into, part, offset + done)
                    }
                }
            });
            short_read(&mut got, expected);
            let closed = driver.close(handle);
            if got.ok() && !closed.ok() {
                got.errno = closed.errno;
            }
            got
        })?;
        let file = if self.verifying { self.file_name(path) } else { FileName::default() };
        let moved = timed.outcome.value;
        let ends = length.is_none() || moved < expected;
        let ended = self.ended(file, (offset.saturating_add(moved), ends), || driver.stat(path));
        self.last_read = LastRead { file, offset, length: moved, ended, all: length.is_none() };
        self.wrong = None;
        Ok(timed)
    }

    pub(super) fn map_file<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        path: &CStr,
        length: Option<u64>,
        offset: u64,
    ) -> Result<Timed, Refusal> {
        let there = driver.stat(path).value.saturating_sub(offset);
        let expected = length.unwrap_or(there);
        // Touching a page past the end of the file raises SIGBUS: map no more than the file has.
        let mapped = if self.content { expected.min(there) } else { expected };
        let mapped = usize::try_from(mapped).unwrap_or(usize::MAX);
        self.reading(driver, path, Meaning::Bytes, |driver, path, way| {
            let opened = way.open(driver, path, libc::O_RDONLY, 0);
            if !opened.ok() {
                return opened;
            }
            let handle = Handle(opened.value);
            let mut got = driver.map(handle, mapped, offset);
            short_read(&mut got, expected);
            driver.close(handle);
            got
        })
    }

    /// Must one look before so many bytes are written to this file?
    #[inline(always)]
    pub(super) fn must_look_at(&mut self, file: u32, length: u64) -> bool {
        let there = self.files.get(file).map_or(FileSystem::NOT_ASKED, |open| open.file_system);
        self.room.must_look(there, length)
    }

    /// What was looked for is written to this file.
    #[cold]
    pub(super) fn wrote_looked(&mut self, file: u32, length: u64) {
        if let Some(open) = self.files.get(file) {
            self.room.wrote(open.file_system, length);
        }
    }

    /// As [`Layer::would_fill`], of an open file.
    #[cold]
    pub(super) fn would_fill_file(&mut self, file: u32, length: u64) -> bool {
        let Some(open) = self.files.get(file) else { return false };
        let descriptor = match (&open.handle, &open.group) {
            (Some(handle), _) => Some(handle.0 as i32),
            // Where an MPI library opened it, the directory that is held tells the file system.
            (None, group) => group.as_ref().and_then(|group| group.descriptor().or(group.around())),
        };
        let path = Arc::clone(&open.path);
        let guard = &self.guard;
        let ask = || descriptor.map_or_else(|| guard.room_at(&path), |descriptor| guard.room_of(descriptor));
        let (there, found) = asked(&mut self.room, (&ask, length));
        if let Some(open) = self.files.get_mut(file)
            && (descriptor.is_some() || there != FileSystem::TAKES_NONE)
        {
            open.file_system = there;
        }
        self.would_take(&path, found, length)
    }

    /// Looks what is free for `path`, which is reached as `at`: would so many bytes leave less than a tenth of what was free at the first look? A
    /// note says so.
    #[cold]
    pub(super) fn would_fill(&mut self, (path, at): (&CStr, &CStr), length: u64) -> bool {
        let guard = &self.guard;
        let (_, found) = asked(&mut self.room, (&|| guard.room_at(at), length));
        self.would_take(path, found, length)
    }

    fn would_take(&mut self, path: &CStr, found: Result<(), (Free, Free)>, length: u64) -> bool {
        let Err((now, first)) = found else { return false };
        let few_files = match now.files {
            Some(files) if now.bytes > (first.bytes / 10).saturating_add(length) => {
                format!(" and {files} files")
            }
            _ => String::new(),
        };
        let why = format!("{few_files}; a tenth of {} stays free without --fill", units::bytes(first.bytes));
        self.kept_free = Some((now.bytes, why));
        self.notes.push(Warning {
            code: "would-fill".into(),
            text: format!(
                "a write of {} to \"{}\" was not begun: {}{few_files} are free there, of {} when the program began \
                 to write; a tenth stays free",
                units::bytes(length),
                path.to_string_lossy(),
                units::bytes(now.bytes),
                units::bytes(first.bytes)
            ),
            advice: "write less, or say --fill to fill the file system".into(),
        });
        true
    }

    /// Is a transfer of our own memory, or of a buffer, one call?
    #[inline(always)]
    fn is_whole(&self, length: u64, buffer: Option<u32>) -> bool {
        buffer.is_some() || length <= SCRATCH_LIMIT as u64 || !self.content
    }

    /// Our own memory for a read.
    #[inline(always)]
    fn destination(&mut self, length: u64) -> Result<*mut u8, i32> {
        if !self.content {
            return Ok(std::ptr::dangling_mut());
        }
        self.scratch.incoming(length.min(SCRATCH_LIMIT as u64) as usize)
    }
}

/// Looks what is free: in which file system, and what the look says of so many bytes.
#[cold]
fn asked(
    room: &mut SpaceWatch,
    (ask, length): (&dyn Fn() -> Spare, u64),
) -> (FileSystem, Result<(), (Free, Free)>) {
    match ask() {
        Spare::Free(found) => {
            let there = room.number(found.device);
            let again = || match ask() {
                Spare::Free(now) => Some(now),
                _ => None,
            };
            (there, room.look(there, length, again))
        }
        Spare::TakesNone => (FileSystem::TAKES_NONE, Ok(())),
        Spare::Unknown => (FileSystem::NOT_ASKED, Ok(())),
        Spare::Unwatched => {
            room.unwatched();
            (FileSystem::NOT_ASKED, Ok(()))
        }
    }
}

/// Moves `length` bytes: at once where they are `whole` in a buffer, else in pieces that fit our own
/// memory. Between two pieces it looks whether the run is to stop, and is then canceled (ECANCELED).
#[inline(never)]
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
    use ranks::{Comm, ControlBlock, Processes};

    #[test]
    fn a_transfer_of_many_pieces_ends_after_the_piece_in_which_it_is_told_to() {
        let block = ControlBlock::new(1, None).expect("memory");
        let flag = Processes::world(block, 0).stop_flag();
        let mut calls = 0;
        let moved = pieces(9_000_000_000_000_000_000, false, flag, |_, part| {
            calls += 1;
            if calls == 3 {
                block.stop(libc::SIGINT);
            }
            Outcome::value(part as u64)
        });
        assert_eq!((calls, moved.errno, moved.value), (3, libc::ECANCELED, 3 << 30));
        // A completed transfer is not waited for.
        let last = pieces(1 << 30, false, flag, |_, part| Outcome::value(part as u64));
        assert_eq!((last.errno, last.value), (0, 1 << 30));
    }
}
