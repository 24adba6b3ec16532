//! Answers the kernel's requests: delays each one as drawn, then executes it in memory.

use std::ffi::OsStr;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use crate::files::{Files, LOG, POWER, POWER_NAME, ROOT};
use crate::injection::{Held, Injection, Operation, Outcome};

/// The kernel caches nothing, so every operation of a program arrives here.
const KEEP: Duration = Duration::ZERO;
/// Reads and writes bypass the page cache, with one request each, and may overlap on one file.
const DIRECT: FopenFlags = FopenFlags::FOPEN_DIRECT_IO.union(FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);

pub struct DelayFs {
    injection: Injection,
    files: Mutex<Files>,
}

impl DelayFs {
    pub fn new(injection: Injection) -> Self {
        Self { injection, files: Mutex::new(Files::new()) }
    }

    fn files(&self) -> std::sync::MutexGuard<'_, Files> {
        self.files.lock().expect("no thread panics while it holds the files")
    }

    /// Delays an operation without data and returns the error of a fault, if any.
    fn hold_plain(&self, operation: Operation, inode: u64) -> Result<(), Errno> {
        let held = self.injection.hold(operation);
        self.injection.finish(&held, inode, 0);
        failure(&held).map_or(Ok(()), Err)
    }
}

fn failure(held: &Held) -> Option<Errno> {
    if let Outcome::Failed(errno) = held.outcome { Some(Errno::from_i32(errno)) } else { None }
}

impl Filesystem for DelayFs {
    fn lookup(&self, _req: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut files = self.files();
        if name == POWER_NAME {
            files.restore();
        }
        if files.is_off() {
            return reply.error(Errno::EIO);
        }
        match files.find(name).and_then(|inode| files.attributes(inode)) {
            Some(attributes) => reply.entry(&KEEP, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _req: &Request, inode: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        if inode.0 > POWER
            && let Err(error) = self.hold_plain(Operation::Stat, inode.0)
        {
            return reply.error(error);
        }
        match self.files().attributes(inode.0) {
            Some(attributes) => reply.attr(&KEEP, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _req: &Request,
        inode: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut files = self.files();
        if inode.0 > POWER && !files.may_change() {
            return reply.error(Errno::EIO);
        }
        if let Some(size) = size.filter(|_| inode.0 > POWER) {
            files.truncate(inode.0, size);
        }
        match files.attributes(inode.0) {
            Some(attributes) => reply.attr(&KEEP, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn create(
        &self,
        _req: &Request,
        _parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let held = self.injection.hold(Operation::Create);
        if let Some(error) = failure(&held) {
            self.injection.finish(&held, 0, 0);
            return reply.error(error);
        }
        let mut files = self.files();
        if !files.may_change() {
            self.injection.finish(&held, 0, 0);
            return reply.error(Errno::EIO);
        }
        let inode = files.create(name);
        let attributes = files.attributes(inode).expect("a file just made has attributes");
        self.injection.finish(&held, inode, 0);
        reply.created(&KEEP, &attributes, Generation(0), FileHandle(inode), DIRECT);
    }

    fn open(&self, _req: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if inode.0 > POWER
            && let Err(error) = self.hold_plain(Operation::Open, inode.0)
        {
            return reply.error(error);
        }
        reply.opened(FileHandle(inode.0), DIRECT);
    }

    fn read(
        &self,
        _req: &Request,
        inode: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if inode.0 == LOG {
            // Rows are only ever added, so reading it in pieces gives one consistent text.
            let log = self.injection.log();
            let begin = (offset as usize).min(log.len());
            let end = (begin + size as usize).min(log.len());
            return reply.data(&log.as_bytes()[begin..end]);
        }
        let held = self.injection.hold(Operation::Read);
        let data = self.files().read(inode.0, offset, size);
        self.injection.finish(&held, inode.0, data.len() as u64);
        match failure(&held) {
            Some(error) => reply.error(error),
            None => reply.data(&data),
        }
    }

    fn write(
        &self,
        _req: &Request,
        inode: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if inode.0 == LOG {
            return reply.error(Errno::EPERM);
        }
        if inode.0 == POWER {
            return match str::from_utf8(data).unwrap_or_default().parse() {
                Ok(cut) => {
                    self.files().arm(cut);
                    reply.written(data.len() as u32)
                }
                Err(_) => reply.error(Errno::EINVAL),
            };
        }
        let held = self.injection.hold(Operation::Write);
        let taken = match held.outcome {
            Outcome::Done => data,
            Outcome::Short => &data[..data.len() / 2],
            Outcome::Failed(_) => &[],
        };
        let has_power = {
            let mut files = self.files();
            let has_power = files.may_change();
            if has_power {
                files.write(inode.0, offset, taken);
            }
            has_power
        };
        self.injection.finish(&held, inode.0, taken.len() as u64);
        if !has_power {
            return reply.error(Errno::EIO);
        }
        match failure(&held) {
            Some(error) => reply.error(error),
            None => reply.written(taken.len() as u32),
        }
    }

    fn flush(&self, _req: &Request, inode: INodeNo, _fh: FileHandle, _owner: LockOwner, reply: ReplyEmpty) {
        if inode.0 > POWER
            && let Err(error) = self.hold_plain(Operation::Close, inode.0)
        {
            return reply.error(error);
        }
        reply.ok();
    }

    fn fsync(&self, _req: &Request, inode: INodeNo, _fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        if let Err(error) = self.hold_plain(Operation::Fsync, inode.0) {
            return reply.error(error);
        }
        let mut files = self.files();
        if !files.may_change() {
            return reply.error(Errno::EIO);
        }
        files.sync_file(inode.0);
        reply.ok();
    }

    fn fsyncdir(&self, _req: &Request, _ino: INodeNo, _fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        let mut files = self.files();
        if !files.may_change() {
            return reply.error(Errno::EIO);
        }
        files.sync_names();
        reply.ok();
    }

    fn rename(
        &self,
        _req: &Request,
        _parent: INodeNo,
        name: &OsStr,
        _new_parent: INodeNo,
        new_name: &OsStr,
        _flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let mut files = self.files();
        if !files.may_change() {
            return reply.error(Errno::EIO);
        }
        if files.rename(name, new_name) { reply.ok() } else { reply.error(Errno::ENOENT) }
    }

    fn unlink(&self, _req: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let inode = self.files().find(name).unwrap_or(0);
        if let Err(error) = self.hold_plain(Operation::Unlink, inode) {
            return reply.error(error);
        }
        let mut files = self.files();
        if !files.may_change() {
            return reply.error(Errno::EIO);
        }
        match files.unlink(name) {
            Some(_) => reply.ok(),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let files = self.files();
        let dots = [(".".into(), ROOT, FileType::Directory), ("..".into(), ROOT, FileType::Directory)];
        let rest = files.names().map(|(name, inode)| (name.clone(), inode, FileType::RegularFile));
        for (place, (name, inode, kind)) in dots.into_iter().chain(rest).enumerate().skip(offset as usize) {
            if reply.add(INodeNo(inode), place as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        let blocks = 1 << 28;
        reply.statfs(blocks, blocks, blocks, 1 << 20, 1 << 20, 4096, 255, 4096);
    }
}
