//! How are operations done for real?

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use samples::Warning;

use super::backend::{Backend, Call, Collective, Meaning, NoKernel, Timed};
use super::parallel;
use crate::causes::{Sight, Watch};
use crate::clock::Clock;
use crate::comm::{Comm, CommError};
use crate::files::{Confinement, Refusal, Registry};
use crate::kernels::{Kernels, Request};
use crate::ops::buffers::{Buffer, SCRATCH_LIMIT, Scratch};
use crate::ops::mpiio::Parallel;
use crate::ops::posix::{self, Outcome};
use crate::ops::{flags, stripes};

/// Waits shorter than this are spun: a sleep takes about as long to end.
const SPIN_NS: u64 = 60_000;

/// Operations by system calls of this machine.
pub struct Posix {
    pub(super) clock: Clock,
    seed: u64,
    pub(super) files: Vec<Option<OpenFile>>,
    pub(super) free: Vec<u32>,
    buffers: Vec<Option<Buffer>>,
    pub(super) scratch: Scratch,
    pub(super) registry: Registry,
    pub(super) confinement: Confinement,
    notes: Vec<Warning>,
    /// Offset and length of what was read last into our own memory.
    last_read: (u64, u64),
    verifying: bool,
    watch: RefCell<Option<Watch>>,
    kernels: Kernels,
}

pub(super) struct OpenFile {
    /// -1 for a file of a whole group.
    fd: i32,
    path: CString,
    position: u64,
    pub(super) parallel: Option<Parallel>,
}

impl OpenFile {
    /// A file that a group opened together.
    pub(super) fn of_group(path: &CStr, parallel: Parallel) -> Self {
        Self { fd: -1, path: path.to_owned(), position: 0, parallel: Some(parallel) }
    }
}

impl Posix {
    /// A back end with no file open.
    pub fn new(clock: Clock, seed: u64, registry: Registry, confinement: Confinement) -> Self {
        Self {
            clock,
            seed,
            files: Vec::new(),
            free: Vec::new(),
            buffers: Vec::new(),
            scratch: Scratch::new(seed),
            registry,
            confinement,
            notes: Vec::new(),
            last_read: (0, 0),
            verifying: false,
            watch: RefCell::new(None),
            kernels: Kernels::default(),
        }
    }

    /// The two clock reads, and nothing but the call between them.
    #[inline(always)]
    pub(super) fn time(&self, meaning: Meaning, call: impl FnOnce() -> Outcome) -> Timed {
        self.watched(|clock| {
            let begin = clock.now();
            let outcome = call();
            let end = clock.now();
            Timed { begin, end, outcome, meaning, ..Timed::default() }
        })
    }

    /// Looks for causes just outside the two clock reads.
    #[inline(always)]
    fn watched(&self, timing: impl FnOnce(Clock) -> Timed) -> Timed {
        let mut watch = self.watch.borrow_mut();
        match watch.as_mut() {
            None => timing(self.clock),
            Some(watch) => {
                watch.before();
                let timed = timing(self.clock);
                Timed { seen: watch.after(), ..timed }
            }
        }
    }

    pub(super) fn failed(&self, errno: i32) -> Timed {
        let now = self.clock.now();
        Timed { begin: now, end: now, outcome: Outcome::error(errno), ..Timed::default() }
    }

    /// Looks for the causes of slow operations from now on.
    pub fn look_for_causes(&mut self) {
        self.watch = RefCell::new(Some(Watch::of_this_thread()));
    }

    fn file(&self, number: u32) -> Option<&OpenFile> {
        self.files.get(number as usize).and_then(Option::as_ref)
    }

    fn advance(&mut self, file: u32, position: u64) {
        if let Some(Some(file)) = self.files.get_mut(file as usize) {
            file.position = position;
        }
    }

    /// Checks and registers what surrounds a call that may make `path`, and times it. `call` gets the
    /// path to use and flags to add to an `open`.
    fn creating(
        &mut self,
        what: &'static str,
        path: &CStr,
        call: impl Fn(&CStr, i32) -> Outcome,
        meaning: Meaning,
    ) -> Result<Timed, Refusal> {
        let around = self.confinement.check(what, path)?;
        self.registry.intend(path, around.birth_times);
        let mut timed = self.time(meaning, || call(path, libc::O_NOFOLLOW));
        self.registry.settle(path, around.birth_times);
        if timed.outcome.errno == libc::ELOOP {
            // A link at the end of the path: where it leads must be allowed as well.
            let real = self.confinement.check_followed(what, path)?;
            let Ok(real) = CString::new(real.as_os_str().as_bytes()) else { return Ok(timed) };
            self.registry.intend(&real, around.birth_times);
            timed = self.time(meaning, || call(&real, libc::O_NOFOLLOW));
            self.registry.settle(&real, around.birth_times);
        }
        Ok(timed)
    }

    /// Times a call that changes `path` itself and makes nothing.
    fn changing(
        &mut self,
        what: &'static str,
        path: &CStr,
        call: impl Fn(&CStr) -> Outcome,
    ) -> Result<Timed, Refusal> {
        self.confinement.check(what, path)?;
        Ok(self.time(Meaning::Value, || call(path)))
    }

    fn reading(
        &mut self,
        path: &CStr,
        meaning: Meaning,
        call: impl Fn(&CStr) -> Outcome,
    ) -> Result<Timed, Refusal> {
        if self.confinement.reads_too() {
            self.confinement.check("read", path)?;
            self.confinement.check_followed("read", path)?;
        }
        Ok(self.time(meaning, || call(path)))
    }

    fn open(&mut self, path: &CStr, open_flags: i32, mode: u32) -> Result<Timed, Refusal> {
        let nameless = open_flags & libc::O_TMPFILE == libc::O_TMPFILE;
        let mut timed = if open_flags & libc::O_CREAT != 0 && !nameless {
            let opening = |path: &CStr, more| posix::open(path, open_flags | more, mode);
            self.creating("write to", path, opening, Meaning::Value)?
        } else if flags::writes(open_flags) {
            self.confinement.check("write to", path)?;
            let more = if nameless { 0 } else { libc::O_NOFOLLOW };
            let first = self.time(Meaning::Value, || posix::open(path, open_flags | more, mode));
            if first.outcome.errno == libc::ELOOP {
                self.confinement.check_followed("write to", path)?;
                self.time(Meaning::Value, || posix::open(path, open_flags, mode))
            } else {
                first
            }
        } else {
            self.reading(path, Meaning::Value, |path| posix::open(path, open_flags, mode))?
        };
        if timed.outcome.ok() {
            let fd = timed.outcome.value as i32;
            let position = if open_flags & libc::O_APPEND != 0 { posix::size(fd).value } else { 0 };
            let open = OpenFile { fd, path: path.to_owned(), position, parallel: None };
            timed.outcome.value = u64::from(self.keep(open));
        }
        Ok(timed)
    }

    pub(super) fn keep(&mut self, open: OpenFile) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.files[number as usize] = Some(open);
                number
            }
            None => {
                self.files.push(Some(open));
                self.files.len() as u32 - 1
            }
        }
    }

    #[inline(always)]
    fn write(&mut self, file: u32, length: u64, offset: Option<u64>, buffer: Option<u32>) -> Timed {
        let Some(open) = self.file(file) else { return self.failed(libc::EBADF) };
        let (fd, position) = (open.fd, open.position);
        let place = offset.unwrap_or(position);
        let from = self.source(place, length, buffer);
        let from = match from {
            Ok(from) => from,
            Err(errno) => return self.failed(errno),
        };
        let whole = buffer.is_some() || length <= SCRATCH_LIMIT as u64;
        // SAFETY: `from` is readable for `length` bytes, or for SCRATCH_LIMIT where `length` is more.
        let timed = unsafe {
            match (whole, offset) {
                (true, None) => self.time(Meaning::Bytes, || posix::write(fd, from, length as usize)),
                (true, Some(at)) => {
                    self.time(Meaning::Bytes, || posix::pwrite(fd, from, length as usize, at))
                }
                (false, _) => self.time(Meaning::Bytes, || {
                    pieces(length, false, |done, part| match offset {
                        None => posix::write(fd, from, part),
                        Some(at) => posix::pwrite(fd, from, part, at + done),
                    })
                }),
            }
        };
        if offset.is_none() {
            self.advance(file, position + timed.outcome.value);
        }
        timed
    }

    #[inline(always)]
    fn read(&mut self, file: u32, length: Option<u64>, offset: Option<u64>, buffer: Option<u32>) -> Timed {
        let Some(open) = self.file(file) else { return self.failed(libc::EBADF) };
        let (fd, position) = (open.fd, open.position);
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
        let whole = buffer.is_some() || length <= SCRATCH_LIMIT as u64;
        // SAFETY: `into` is writable for `length` bytes, or for SCRATCH_LIMIT where `length` is more.
        let mut timed = unsafe {
            match (whole, offset) {
                (true, None) => self.time(Meaning::Bytes, || posix::read(fd, into, length as usize)),
                (true, Some(at)) => self.time(Meaning::Bytes, || posix::pread(fd, into, length as usize, at)),
                (false, _) => self.time(Meaning::Bytes, || {
                    pieces(length, false, |done, part| match offset {
                        None => posix::read(fd, into, part),
                        Some(at) => posix::pread(fd, into, part, at + done),
                    })
                }),
            }
        };
        if offset.is_none() {
            self.advance(file, position + timed.outcome.value);
        }
        self.last_read =
            if buffer.is_none() { (offset.unwrap_or(position), timed.outcome.value) } else { (0, 0) };
        short_read(&mut timed.outcome, length);
        timed
    }

    fn write_file(
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
        let call = |path: &CStr, more| {
            let opened = posix::open(path, how | more, 0o666);
            if !opened.ok() {
                return opened;
            }
            let fd = opened.value as i32;
            let mut wrote = pieces(length, buffer.is_some(), |done, part| {
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

    fn read_file(
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
        let timed = self.reading(path, Meaning::Bytes, |path| {
            let opened = posix::open(path, libc::O_RDONLY | flags, 0);
            if !opened.ok() {
                return opened;
            }
            let fd = opened.value as i32;
            let mut got = pieces(asked, false, |done, part| {
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

    fn map_file(&mut self, path: &CStr, length: Option<u64>, offset: u64) -> Result<Timed, Refusal> {
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
    fn source(&mut self, offset: u64, length: u64, buffer: Option<u32>) -> Result<*const u8, i32> {
        match buffer {
            None => self.scratch.outgoing(offset, length.min(SCRATCH_LIMIT as u64) as usize),
            Some(number) => match self.buffers.get(number as usize) {
                Some(Some(own)) if own.length() as u64 >= length => Ok(own.pointer().cast_const()),
                _ => Err(libc::EFAULT),
            },
        }
    }

    fn take_memory(&mut self, length: u64) -> Timed {
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
                self.buffers[number] = Some(buffer);
                Outcome::value(number as u64)
            }
            Err(errno) => Outcome::error(errno),
        };
        Timed { begin, end, outcome, ..Timed::default() }
    }

    fn rename(&mut self, from: &CStr, to: &CStr) -> Result<Timed, Refusal> {
        self.confinement.check("rename", from)?;
        let timed = self.creating("rename to", to, |to, _| posix::rename(from, to), Meaning::Value)?;
        if timed.outcome.ok() {
            self.registry.forget(from);
            self.confinement.forget();
        }
        Ok(timed)
    }

    fn symbolic_link(&mut self, target: &CStr, path: &CStr) -> Result<Timed, Refusal> {
        // A link that leads outside would be a way outside.
        let base = std::path::Path::new(std::ffi::OsStr::from_bytes(path.to_bytes())).parent();
        let leads =
            base.unwrap_or(std::path::Path::new("")).join(std::ffi::OsStr::from_bytes(target.to_bytes()));
        if let Ok(leads) = CString::new(leads.as_os_str().as_bytes()) {
            self.confinement.check_followed("make a link to", &leads)?;
        }
        let timed = self.creating("make", path, |path, _| posix::symlink(target, path), Meaning::Value)?;
        self.confinement.forget();
        Ok(timed)
    }

    fn stripe(&mut self, path: &CStr, count: u32, size: Option<u64>) -> Result<Timed, Refusal> {
        let around = self.confinement.check("stripe", path)?;
        self.registry.intend(path, around.birth_times);
        let begin = self.clock.now();
        let result = stripes::set(path, count, size);
        let end = self.clock.now();
        self.registry.settle(path, around.birth_times);
        let outcome = match result {
            Ok(()) => Outcome::default(),
            Err(stripes::NotStriped::OtherFileSystem(note)) => {
                self.notes.push(note);
                Outcome::default()
            }
            Err(stripes::NotStriped::Failed(note)) => {
                self.notes.push(note);
                Outcome::error(libc::EIO)
            }
        };
        Ok(Timed { begin, end, outcome, ..Timed::default() })
    }
}

/// Moves `length` bytes: at once where they are `whole` in a buffer, else in pieces that fit our own
/// memory.
#[inline(always)]
fn pieces(length: u64, whole: bool, mut step: impl FnMut(u64, usize) -> Outcome) -> Outcome {
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
    }
}

/// A read that ended early counts as failed, as the original counted it.
#[inline(always)]
fn short_read(outcome: &mut Outcome, wanted: u64) {
    if outcome.ok() && outcome.value < wanted {
        outcome.errno = libc::ENODATA;
    }
}

impl Backend for Posix {
    fn name(&self) -> &'static str {
        "posix"
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        self.clock.now()
    }

    #[inline(always)]
    fn since_epoch_ns(&self, ticks: u64) -> u64 {
        self.clock.since_epoch_ns(ticks)
    }

    #[inline(always)]
    fn picoseconds(&self, begin: u64, end: u64) -> u64 {
        self.clock.picoseconds(begin, end)
    }

    fn ticks(&self, ns: u64) -> u64 {
        self.clock.ns_to_ticks(ns)
    }

    fn wait_until(&mut self, ticks: u64, comm: &dyn Comm) {
        loop {
            let now = self.clock.now();
            if now >= ticks || comm.stopped().is_some() {
                return;
            }
            let left_ns = self.clock.picoseconds(now, ticks) / 1000;
            if left_ns <= SPIN_NS {
                std::hint::spin_loop();
                continue;
            }
            // Short enough that a request to stop is seen soon, whoever takes the signal.
            let nap = (left_ns - SPIN_NS).min(100_000_000);
            let time = libc::timespec { tv_sec: 0, tv_nsec: nap as libc::c_long };
            // SAFETY: `time` is valid to read; an early return is handled by the loop.
            unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
        }
    }

    fn barrier(&mut self, comm: &dyn Comm) -> Result<(u64, u64), CommError> {
        let begin = self.clock.now();
        comm.barrier(0)?;
        Ok((begin, self.clock.now()))
    }

    #[inline(always)]
    fn perform(&mut self, _operation: &str, call: Call<'_>) -> Result<Timed, Refusal> {
        match call {
            Call::Write { file, length, offset, buffer } => Ok(self.write(file, length, offset, buffer)),
            Call::Read { file, length, offset, buffer } => Ok(self.read(file, length, offset, buffer)),
            Call::Stat { path } => self.reading(path, Meaning::Value, posix::stat),
            other => self.perform_other(other),
        }
    }

    fn together(
        &mut self,
        _operation: &str,
        what: Collective<'_>,
        comm: &dyn Comm,
    ) -> Result<Timed, Refusal> {
        parallel::together(self, what, comm)
    }

    fn kernel(&mut self, _operation: &str, request: Request, count: u32) -> Result<Timed, NoKernel> {
        if !self.kernels.is_ready(&request) {
            self.may_use(&request).map_err(NoKernel::Refused)?;
            self.kernels.build(&request, self.clock).map_err(NoKernel::Failed)?;
        }
        let mut watch = self.watch.borrow_mut();
        if let Some(watch) = watch.as_mut() {
            watch.measure_faults(request.faults());
            watch.before();
        }
        let Some(done) = self.kernels.time(self.clock, &request, count) else {
            return Ok(self.failed(libc::ENOSYS));
        };
        let seen = watch.as_mut().map(Watch::after).unwrap_or_default();
        let (begin, end) = (done.timed.begin, done.timed.end);
        // The value of a kernel that moves nothing is what its last operation gave.
        let (value, meaning) = match done.bytes {
            0 => (done.value, Meaning::Value),
            bytes => (bytes, Meaning::Bytes),
        };
        let outcome = Outcome { value, errno: done.timed.errno, ..Outcome::default() };
        Ok(Timed { begin, end, outcome, meaning, seen, batch: done.batch })
    }

    fn sight(&self) -> Option<Sight> {
        self.watch.borrow().as_ref().map(|watch| watch.sight().clone())
    }

    fn verify(&mut self) -> Option<u64> {
        let (offset, length) = std::mem::take(&mut self.last_read);
        self.scratch.verify(offset, length as usize).ok().flatten().map(|at| offset + at as u64)
    }

    fn set_verifying(&mut self) {
        self.verifying = true;
    }

    fn buffer_length(&self, buffer: u32) -> u64 {
        self.buffers.get(buffer as usize).and_then(Option::as_ref).map_or(0, |own| own.length() as u64)
    }

    fn path_of(&self, file: u32) -> Option<&CStr> {
        self.file(file).map(|open| open.path.as_c_str())
    }

    fn take_notes(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.notes)
    }

    #[inline(always)]
    fn processor(&self) -> u16 {
        // SAFETY: a plain call; it reads thread-local memory where the kernel keeps the number there.
        u16::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(u16::MAX)
    }
}

/// Programs that any program of the language may start: they do nothing.
const HARMLESS: [&str; 3] = ["true", "false", "sh -c :"];

impl Posix {
    /// A kernel that makes a file, or starts a program, may do so where the program may.
    fn may_use(&mut self, request: &Request) -> Result<(), Refusal> {
        let named = |path: PathBuf| CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        if let Some(directory) = request.writes_in() {
            self.confinement.check("make files in", &named(directory.join("x")))?;
        }
        if let Request::Spawn { program } = request
            && !HARMLESS.contains(&program.as_str())
        {
            let first = program.split_whitespace().next().unwrap_or_default();
            let path = std::env::var_os("PATH").unwrap_or_default();
            let found =
                std::env::split_paths(&path).map(|folder| folder.join(first)).find(|path| path.is_file());
            let found = found.filter(|_| !first.contains('/')).unwrap_or_else(|| PathBuf::from(first));
            self.confinement.check_followed("start", &named(found))?;
        }
        Ok(())
    }

    #[inline(never)]
    fn perform_other(&mut self, call: Call<'_>) -> Result<Timed, Refusal> {
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
                match self.buffers.get_mut(buffer as usize).and_then(Option::take) {
                    Some(buffer) => self.time(Meaning::Value, || buffer.give_back()),
                    None => self.failed(libc::EINVAL),
                }
            }
            Call::Stripe { path, count, size } => self.stripe(path, count, size)?,
        })
    }

    fn removing(&mut self, path: &CStr, call: impl Fn(&CStr) -> Outcome) -> Result<Timed, Refusal> {
        let timed = self.changing("remove", path, call)?;
        if timed.outcome.ok() {
            self.registry.forget(path);
        }
        Ok(timed)
    }
}

impl Drop for Posix {
    fn drop(&mut self) {
        for open in self.files.iter().flatten().filter(|open| open.fd >= 0) {
            posix::close(open.fd);
        }
    }
}
