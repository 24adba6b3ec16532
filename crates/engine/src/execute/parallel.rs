//! How does a rank take part in what its group does to one file?

use std::collections::HashMap;
use std::ffi::{CStr, CString};

use super::backend::{Collective, Meaning, Target, Timed};
use super::posix::{OpenFile, Posix};
use crate::files::Refusal;
use crate::ops::buffers::{Buffer, PERIOD, SCRATCH_LIMIT};
use crate::ops::collective::{self, Direction, Layout, Mode, Parallel};
use ranks::Comm;
use samples::HintsOfFile;
use samples::Outcome;

/// Does `what` with the other ranks of `comm`. Everything that may be refused, or needs memory, comes
/// before the clock.
pub(super) fn together(machine: &mut Posix, what: Collective<'_>, comm: &dyn Comm) -> Result<Timed, Refusal> {
    Ok(match what {
        Collective::Open(path, mode) => {
            let birth_times = admit(machine, path, mode.write || mode.create)?;
            let mut opened = None;
            let mut timed = machine.time(Meaning::Value, || {
                match collective::open(comm, path, mode, &machine.hints.asked) {
                    Ok(file) => {
                        opened = Some(file);
                        Outcome::default()
                    }
                    Err(outcome) => outcome,
                }
            });
            machine.registry.settle(path, birth_times);
            if let Some(file) = opened {
                if machine.hints.wanted(path, comm) {
                    machine.hints.keep(path, comm, &file);
                }
                timed.outcome.value = u64::from(machine.keep(OpenFile::of_group(path, file)));
            }
            timed
        }
        Collective::Close(file) => match take(machine, file) {
            Some(parallel) => {
                machine.files[file as usize] = None;
                machine.free.push(file);
                machine.time(Meaning::Value, || parallel.close(comm))
            }
            None => machine.failed(libc::EBADF),
        },
        Collective::Delete(path) => {
            machine.confinement.check("remove", path)?;
            let timed = machine.time(Meaning::Value, || collective::delete(comm, path));
            machine.registry.forget(path);
            timed
        }
        Collective::Transfer(target, direction, layout) => {
            transfer(machine, target, direction, &layout, comm)?
        }
    })
}

fn take(machine: &mut Posix, file: u32) -> Option<Parallel> {
    machine.files.get_mut(file as usize)?.as_mut()?.parallel.take()
}

/// May this file be touched? One that may be made is registered; the answer is whether its file system
/// can tell afterwards.
fn admit(machine: &mut Posix, path: &CStr, write: bool) -> Result<bool, Refusal> {
    if write {
        let around = machine.confinement.check("write to", path)?;
        machine.confinement.check_followed("write to", path)?;
        machine.registry.intend(path, around.birth_times);
        return Ok(around.birth_times);
    }
    if machine.confinement.reads_too() {
        machine.confinement.check_followed("read", path)?;
    }
    Ok(true)
}

fn transfer(
    machine: &mut Posix,
    target: Target<'_>,
    direction: Direction,
    layout: &Layout,
    comm: &dyn Comm,
) -> Result<Timed, Refusal> {
    let write = direction == Direction::Write;
    let memory = match Memory::new(machine, direction, layout, comm) {
        Ok(memory) => memory,
        Err(errno) => {
            // The others must not wait for a rank without memory.
            comm.abandon("no memory for a transfer by pattern");
            return Ok(machine.failed(errno));
        }
    };
    let block = |number: u64| memory.block(number);
    let one = |file: &mut Parallel| match file.prepare(comm, layout) {
        // SAFETY: `Memory` gives what `transfer` asks for.
        Ok(()) => unsafe { file.transfer(comm, layout, direction, &block) },
        Err(errno) => Outcome::error(errno),
    };
    let mut timed = match target {
        Target::File(file) => match take(machine, file) {
            Some(mut parallel) => {
                let timed = machine.time(Meaning::Bytes, || one(&mut parallel));
                if let Some(Some(open)) = machine.files.get_mut(file as usize) {
                    open.parallel = Some(parallel);
                }
                timed
            }
            None => machine.failed(libc::EBADF),
        },
        Target::Path(path) => {
            let birth_times = admit(machine, path, write)?;
            let mode = if write { Mode::WRITE } else { Mode::READ };
            let timed = machine.time(Meaning::Bytes, || {
                match collective::open(comm, path, mode, &machine.hints.asked) {
                    Ok(mut file) => {
                        let mut moved = one(&mut file);
                        let closed = file.close(comm);
                        if moved.ok() {
                            moved.errno = closed.errno;
                        }
                        moved
                    }
                    Err(outcome) => outcome,
                }
            });
            if write {
                machine.registry.settle(path, birth_times);
            }
            // The file was closed within the timing: the hints are asked for outside of it.
            if machine.hints.wanted(path, comm)
                && let Ok(file) = collective::open(comm, path, Mode::READ, &machine.hints.asked)
            {
                machine.hints.keep(path, comm, &file);
                file.close(comm);
            }
            timed
        }
    };
    if !write && timed.outcome.ok() && timed.outcome.value < layout.bytes() {
        timed.outcome.errno = libc::ENODATA;
    }
    if !write && timed.outcome.ok() && machine.verifying {
        machine.wrong = Some(memory.first_wrong(machine));
    }
    Ok(timed)
}

/// The memory of a transfer: its blocks hold what belongs at their places in the file.
struct Memory {
    /// Levels 2 and 3: all blocks, one behind the other.
    whole: Option<Buffer>,
    /// Levels 0 and 1: the sequence that all files are made of, or room for one block.
    base: *mut u8,
    layout: Layout,
    rank: u32,
    ranks: u32,
    write: bool,
}

impl Memory {
    fn new(machine: &mut Posix, direction: Direction, layout: &Layout, comm: &dyn Comm) -> Result<Self, i32> {
        let write = direction == Direction::Write;
        let (rank, ranks) = (comm.rank(), comm.size());
        let element = usize::try_from(layout.element).map_err(|_| libc::ENOMEM)?;
        if element > SCRATCH_LIMIT {
            return Err(libc::ENOMEM);
        }
        let base = match write {
            true => machine.scratch.outgoing(0, element)?.cast_mut(),
            false => machine.scratch.incoming(element)?,
        };
        let mut memory = Self { whole: None, base, layout: *layout, rank, ranks, write };
        if layout.is_whole() || (machine.verifying && !write) {
            let length = usize::try_from(layout.bytes()).map_err(|_| libc::ENOMEM)?;
            let mut whole = Buffer::take(length)?;
            if write && element > 0 {
                for (number, part) in (0..).zip(whole.bytes_mut().chunks_exact_mut(element)) {
                    // SAFETY: the sequence is readable for a block from each place within a period.
                    part.copy_from_slice(unsafe {
                        std::slice::from_raw_parts(memory.place(number).cast_const(), element)
                    });
                }
            }
            memory.whole = Some(whole);
        }
        Ok(memory)
    }

    /// Where the content of a block lies in the sequence.
    fn place(&self, number: u64) -> *mut u8 {
        let offset = self.layout.offset(number, self.rank, self.ranks);
        // SAFETY: the scratch memory for writes is a whole period longer than the block.
        unsafe { self.base.add((offset % PERIOD as u64) as usize) }
    }

    /// Where in the file the first byte lies that is not what our own writes put there.
    fn first_wrong(&self, machine: &mut Posix) -> Option<u64> {
        let element = self.layout.element as usize;
        let found = self.whole.as_ref()?.bytes();
        for (number, found) in (0..).zip(found.chunks_exact(element.max(1)).take(self.layout.blocks as usize))
        {
            let offset = self.layout.offset(number, self.rank, self.ranks);
            let expected = machine.scratch.outgoing(offset, element).ok()?;
            // SAFETY: `outgoing` gave memory for so many bytes, which lives until the next call.
            let expected = unsafe { std::slice::from_raw_parts(expected, element) };
            if expected != found {
                let at = expected.iter().zip(found).position(|(a, b)| a != b)?;
                return Some(offset + at as u64);
            }
        }
        None
    }

    fn block(&self, number: u64) -> *mut u8 {
        match &self.whole {
            // SAFETY: the memory holds all blocks, one behind the other.
            Some(whole) => unsafe { whole.pointer().add((number * self.layout.element) as usize) },
            None if self.write => self.place(number),
            None => self.base,
        }
    }
}

/// Files of a communicator whose hints are read back: what they are is mostly the same for all.
const READ_BACK: usize = 4;

/// What the program asked MPI-IO for, and what MPI-IO makes of it.
#[derive(Default)]
pub(super) struct HintBook {
    /// In the order of the program.
    pub(super) asked: Vec<(String, String)>,
    /// By file; only the first rank of a group has them.
    used: Vec<HintsOfFile>,
    /// Files read back for each communicator, by its handle.
    known: HashMap<usize, Vec<CString>>,
}

impl HintBook {
    /// Are the hints of this file to be read back? All ranks of `comm` answer alike.
    fn wanted(&mut self, path: &CStr, comm: &dyn Comm) -> bool {
        let Some(mpi) = mpi::of(comm).filter(|_| !self.asked.is_empty()) else { return false };
        let known = self.known.entry(mpi.handle()).or_default();
        let new = known.len() < READ_BACK && !known.iter().any(|one| **one == *path);
        if new {
            known.push(path.to_owned());
        }
        new
    }

    fn keep(&mut self, path: &CStr, comm: &dyn Comm, file: &Parallel) {
        if comm.rank() == 0 {
            let hints = file.hints().into_iter().collect();
            self.used.push(HintsOfFile { file: path.to_string_lossy().into_owned(), hints });
        }
    }

    /// What was read back since the last call.
    pub(super) fn take_used(&mut self) -> Vec<HintsOfFile> {
        std::mem::take(&mut self.used)
    }
}
