//! Which call does which operation?

use super::Posix;
use crate::execute::backend::{Call, Meaning, Timed};
use crate::files::Refusal;
use samples::Outcome;

use crate::ops::posix;

use std::ffi::CStr;
use std::sync::Arc;

impl Posix {
    #[inline(never)]
    pub(super) fn perform_other(&mut self, call: Call<'_>) -> Result<Timed, Refusal> {
        let on_file = |machine: &Self, file: u32, call: &dyn Fn(i32) -> Outcome| match machine.file(file) {
            Some(open) => machine.time(Meaning::Value, || call(open.fd)),
            None => machine.failed(libc::EBADF),
        };
        Ok(match call {
            Call::Write { file, length, offset, buffer } => self.write(file, length, offset, buffer),
            Call::Read { file, length, offset, buffer } => self.read(file, length, offset, buffer),
            Call::Stat { path } => self.reading(path, Meaning::Value, posix::stat)?,
            Call::Open { path, flags, mode } => self.open(path, flags, mode)?,
            Call::Close { file } => match self.files.get_mut(file as usize).and_then(Option::take) {
                Some(open) => {
                    self.free.push(file);
                    self.time(Meaning::Value, || posix::close(open.fd))
                }
                None => self.failed(libc::EBADF),
            },
            Call::Sync { file, data_only: false } => on_file(self, file, &posix::fsync),
            Call::Sync { file, data_only: true } => on_file(self, file, &posix::fdatasync),
            Call::Seek { file, offset, whence } => {
                // The kernel's position of a file that workers share is nobody's.
                let (offset, whence) = match self.file(file) {
                    Some(open) if open.shared && whence == libc::SEEK_CUR => {
                        (offset.saturating_add_unsigned(open.position), libc::SEEK_SET)
                    }
                    _ => (offset, whence),
                };
                let timed = on_file(self, file, &|fd| posix::seek(fd, offset, whence));
                if timed.outcome.ok() {
                    self.advance(file, timed.outcome.value);
                }
                timed
            }
            Call::WriteFile { path, length, offset, flags, buffer } => {
                self.write_file(path, length, offset, flags, buffer)?
            }
            Call::ReadFile { path, length, offset, flags } => self.read_file(path, length, offset, flags)?,
            Call::MapFile { path, length, offset } => self.map_file(path, length, offset)?,
            Call::DropCaches => self.time(Meaning::Value, posix::drop_caches),
            Call::Create { path } => {
                let call = |path: &CStr, more| {
                    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | more;
                    let opened = posix::open(path, flags, 0o666);
                    if opened.ok() { posix::close(opened.value as i32) } else { opened }
                };
                self.creating("create", path, call, Meaning::Value)?
            }
            Call::Delete { path } => self.removing(path, posix::delete)?,
            Call::Unlink { path } => self.removing(path, posix::unlink)?,
            Call::RemoveDirectory { path } => self.removing(path, posix::rmdir)?,
            Call::MakeDirectory { path, mode } => {
                self.creating("make", path, |path, _| posix::mkdir(path, mode), Meaning::Value)?
            }
            Call::Rename { from, to } => self.rename(from, to)?,
            Call::Link { from, to } => {
                self.confinement.check("link", from)?;
                self.creating("make", to, |to, _| posix::link(from, to), Meaning::Value)?
            }
            Call::SymbolicLink { target, path } => self.symbolic_link(target, path)?,
            Call::Lookup { path } => self.reading(path, Meaning::Value, posix::lookup)?,
            Call::ChangeMode { path, mode } => {
                self.confinement.check_followed("change", path)?;
                self.changing("change", path, |path| posix::chmod(path, mode))?
            }
            Call::Truncate { file, length } => on_file(self, file, &|fd| posix::ftruncate(fd, length)),
            Call::Allocate { file, offset, length, mode } => {
                on_file(self, file, &|fd| posix::fallocate(fd, mode, offset, length))
            }
            Call::Cached { file } => on_file(self, file, &posix::cached),
            Call::DirectAlignment { file } => on_file(self, file, &posix::direct_alignment),
            Call::Advise { file, offset, length, advice } => {
                on_file(self, file, &|fd| posix::fadvise(fd, offset, length, advice))
            }
            Call::ReadDirectory { path } => self.reading(path, Meaning::Value, posix::readdir)?,
            Call::SyncAll => self.time(Meaning::Value, || {
                // SAFETY: takes nothing and cannot fail.
                unsafe { libc::sync() };
                Outcome::default()
            }),
            Call::TakeMemory { length } => self.take_memory(length),
            Call::GiveBackMemory { buffer } => {
                let taken = self.buffers.get_mut(buffer as usize).and_then(Option::take);
                match taken.map(Arc::try_unwrap) {
                    Some(Ok(own)) => self.time(Meaning::Value, || own.give_back()),
                    // Another worker, or the rank, has it still.
                    Some(Err(shared)) => {
                        self.buffers[buffer as usize] = Some(shared);
                        self.failed(libc::EBUSY)
                    }
                    None => self.failed(libc::EINVAL),
                }
            }
            Call::Stripe { path, count, size } => self.stripe(path, count, size)?,
        })
    }
}
