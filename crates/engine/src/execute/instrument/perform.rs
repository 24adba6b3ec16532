//! The calls of each operation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use samples::Outcome;

use super::layer::Layer;
use super::names::delete;
use super::opening::Opening;
use super::table::ProgramBuffer;
use super::transfer::{Span, WholeFile};
use crate::buffers::Buffer;
use crate::content::{ContentKind, FileName};
use crate::driver::{Driver, Handle};
use crate::execute::call::{Call, Meaning, Timed};
use crate::files::{FoundFile, MAKE, Refusal};

/// Buffers that this process took so far, those of all workers.
static BUFFERS: AtomicU64 = AtomicU64::new(0);

impl Layer {
    /// Compiled for each driver: between two clock reads its call is not looked up in a table.
    #[inline(never)]
    pub(super) fn perform<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        call: Call<'_>,
    ) -> Result<Timed, Refusal> {
        const VALUE: Meaning = Meaning::Value;
        Ok(match call {
            Call::Write { file, length, offset, buffer } => {
                self.write(driver, file, Span { length, offset }, buffer)
            }
            Call::Read { file, length, offset } => self.read(driver, file, length, offset),
            Call::Copy { from, to, length, offsets } => self.copy(driver, (from, to), length, offsets)?,
            Call::Stat { path } => self.asking(driver, path, |driver, path| driver.stat(path))?,
            Call::Open { path, flags, mode } => self.open(driver, path, flags, mode)?,
            Call::Close { file } => self.close(driver, file),
            Call::Sync { file, data_only } => {
                self.on_file(driver, file, |driver, handle| driver.sync(handle, data_only))
            }
            Call::Seek { file, offset, whence } => self.seek(driver, file, offset, whence),
            Call::WriteFile { path, length, offset, flags, buffer } => {
                self.write_file(driver, WholeFile { path, length, offset, flags }, buffer)?
            }
            Call::ReadFile { path, length, offset, flags } => {
                self.read_file(driver, WholeFile { path, length, offset, flags })?
            }
            Call::MapFile { path, length, offset } => self.map_file(driver, path, length, offset)?,
            Call::DropCaches => self.bracket.time(driver, VALUE, |driver| driver.drop_caches()),
            Call::Create { path } => {
                let how = Opening::to_create();
                let timed = self.creating(driver, how, path, |driver, path, judge| {
                    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
                    let opened = judge.open(driver, path, flags, 0o666);
                    if opened.ok() { driver.close(Handle(opened.value)) } else { opened }
                })?;
                if timed.outcome.ok() && self.verifying {
                    let name = self.file_name(path);
                    self.emptied(name);
                }
                timed
            }
            Call::Delete { path } => self.removing(driver, path, delete)?,
            Call::Unlink { path } => self.removing(driver, path, |driver, path| driver.unlink(path))?,
            Call::RemoveDirectory { path } => {
                self.removing(driver, path, |driver, path| driver.rmdir(path))?
            }
            Call::MakeDirectory { path, mode } => {
                self.guard.may_have_mode(MAKE, path, mode, true)?;
                let timed = self.making(driver, path, |driver, path| driver.mkdir(path, mode))?;
                if timed.outcome.ok() {
                    let around = self.guard.check(MAKE, path)?;
                    self.guard.made_directory(path, around);
                }
                timed
            }
            Call::Rename { from, to } => self.rename(driver, from, to)?,
            Call::Link { from, to } => {
                let old = self.guard.reach_fixed("link", from)?;
                let linked = self.guard.own("link", from, &old)?;
                self.guard.check_moved(linked.as_ref(), &old, to)?;
                let timed = self.making(driver, to, |driver, to| driver.link(&old.path, to))?;
                if timed.outcome.ok() {
                    if linked.as_ref().is_some_and(FoundFile::is_link) {
                        self.guard.forget_directories();
                    }
                    self.guard.linked(from, to);
                    self.content_linked(from, to);
                }
                timed
            }
            Call::SymbolicLink { target, path } => self.symbolic_link(driver, target, path)?,
            Call::Lookup { path } => self.asking(driver, path, |driver, path| driver.lookup(path))?,
            Call::Change { path, change } => self.change(driver, path, change)?,
            Call::ChangeOpen { file, change } => self.change_open(driver, file, change)?,
            Call::Attribute { path, key } => {
                self.asking(driver, path, |driver, path| driver.attribute(path, key))?
            }
            Call::AttributeOpen { file, key } => {
                self.on_file(driver, file, |driver, handle| driver.attribute_open(handle, key))
            }
            Call::Truncate { file, length } => self.truncate(driver, file, length),
            Call::Allocate { file, offset, length, mode } => {
                self.allocate(driver, file, (offset, length), mode)
            }
            Call::StatOpen { file } => self.on_file(driver, file, |driver, handle| driver.size(handle)),
            Call::Cached { file } => self.on_file(driver, file, |driver, handle| driver.cached(handle)),
            Call::DirectAlignment { file } => self.on_file(driver, file, D::direct_alignment),
            Call::Advise { file, offset, length, advice } => {
                self.on_file(driver, file, |driver, handle| driver.advise(handle, offset, length, advice))
            }
            Call::ReadDirectory { path } => self.listing(driver, path)?,
            Call::SyncAll => self.bracket.time(driver, VALUE, |driver| driver.sync_all()),
            Call::TakeMemory { length, filled } => self.take_memory(driver, length, filled),
            Call::GiveBackMemory { buffer } => self.give_back_memory(driver, buffer),
            Call::Stripe { path, count, size } => self.stripe(driver, path, count, size)?,
        })
    }

    fn truncate<D: Driver + ?Sized>(&mut self, driver: &mut D, file: u32, length: u64) -> Timed {
        let timed = self.on_file(driver, file, |driver, handle| driver.truncate(handle, length));
        if timed.outcome.ok() {
            self.truncated(file, length);
        }
        timed
    }

    fn allocate<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        file: u32,
        (offset, length): (u64, u64),
        mode: i32,
    ) -> Timed {
        let looked = takes_room(mode) && self.must_look_at(file, length);
        if looked && self.would_fill_file(file, length) {
            return self.bracket.failed(driver, libc::ENOSPC);
        }
        let timed =
            self.on_file(driver, file, |driver, handle| driver.allocate(handle, offset, length, mode));
        if looked {
            self.wrote_looked(file, length);
        }
        if timed.outcome.ok() {
            self.allocated(file, (offset, length), mode);
        }
        timed
    }

    pub(super) fn on_file<D: Driver + ?Sized>(
        &mut self,
        driver: &mut D,
        file: u32,
        call: impl Fn(&mut D, Handle) -> Outcome,
    ) -> Timed {
        match self.files.handle(file) {
            Some(handle) => self.bracket.time(driver, Meaning::Value, |driver| call(driver, handle)),
            None => self.bracket.failed(driver, libc::EBADF),
        }
    }

    fn seek<D: Driver + ?Sized>(&mut self, driver: &mut D, file: u32, offset: i64, whence: i32) -> Timed {
        // The driver's position of a file that workers share is nobody's.
        let (offset, whence) = match self.files.get(file) {
            Some(open) if open.shared && whence == libc::SEEK_CUR => {
                (offset.saturating_add_unsigned(open.position), libc::SEEK_SET)
            }
            _ => (offset, whence),
        };
        let timed = self.on_file(driver, file, |driver, handle| driver.seek(handle, offset, whence));
        if timed.outcome.ok() {
            self.files.set_position(file, timed.outcome.value);
        }
        timed
    }

    fn take_memory<D: Driver + ?Sized>(&mut self, driver: &mut D, length: u64, filled: bool) -> Timed {
        if !self.content {
            let timed = self.bracket.time(driver, Meaning::Value, |_| Outcome::default());
            let number = self.buffers.keep(ProgramBuffer::Length(length));
            return Timed { outcome: Outcome::value(number.into()), ..timed };
        }
        let Ok(length) = usize::try_from(length) else { return self.bracket.failed(driver, libc::ENOMEM) };
        let take = if filled { Buffer::take } else { Buffer::reserve };
        let (timed, taken) = self.bracket.time_unwatched(driver, |_| take(length));
        let outcome = match taken {
            Ok(buffer) if !filled => {
                Outcome::value(self.buffers.keep(ProgramBuffer::Memory(Arc::new(buffer), None)).into())
            }
            Ok(mut buffer) => {
                let number = BUFFERS.fetch_add(1, Ordering::Relaxed);
                let name = FileName::of_memory(self.author.rank, number);
                let stream = self.author.stream(name, ContentKind::Memory);
                stream.fill(self.author.rank, 0, buffer.bytes_mut());
                Outcome::value(
                    self.buffers.keep(ProgramBuffer::Memory(Arc::new(buffer), Some(stream))).into(),
                )
            }
            Err(errno) => Outcome::error(errno),
        };
        Timed { outcome, ..timed }
    }

    fn give_back_memory<D: Driver + ?Sized>(&mut self, driver: &mut D, buffer: u32) -> Timed {
        match self.buffers.take(buffer) {
            Some(ProgramBuffer::Memory(memory, stream)) => match Arc::try_unwrap(memory) {
                Ok(own) => self.bracket.time(driver, Meaning::Value, |_| own.give_back()),
                // Another worker, or the rank, still has it open.
                Err(shared) => {
                    self.buffers.put_back(buffer, ProgramBuffer::Memory(shared, stream));
                    self.bracket.failed(driver, libc::EBUSY)
                }
            },
            Some(ProgramBuffer::Length(_)) => {
                self.bracket.time(driver, Meaning::Value, |_| Outcome::default())
            }
            None => self.bracket.failed(driver, libc::EINVAL),
        }
    }
}

/// Whether `fallocate` of this mode may take room: holes and what is taken out give some.
fn takes_room(mode: i32) -> bool {
    mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_COLLAPSE_RANGE) == 0
}
