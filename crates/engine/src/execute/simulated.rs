//! How are operations simulated?

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::{CStr, CString};

use samples::Warning;

use super::backend::{
    Backend, Call, Collective, Completed, Meaning, NoKernel, Patience, Started, Target, Timed,
};
use crate::files::Refusal;
use crate::ops::collective::Direction;
use crate::simulate::{Files, Model, Stream};
use probes::Request;
use ranks::{Comm, CommError};
use samples::Outcome;

/// Operations that take a draw from a distribution on a virtual clock; its ticks are picoseconds.
pub struct Simulated {
    now: u64,
    model: Model,
    random: Stream,
    files: Files,
    paths: Vec<CString>,
    buffers: Vec<Option<u64>>,
    /// Operations under way, the next to end on top.
    flights: BinaryHeap<Reverse<(u64, u32)>>,
    results: Vec<Timed>,
}

impl Simulated {
    /// A simulation of `rank` of `ranks`, at time 0.
    pub fn new(model: Model, seed: u64, rank: u32, ranks: u32) -> Self {
        Self {
            now: 0,
            model,
            random: Stream::new(seed, rank),
            files: Files::new(ranks == 1),
            paths: Vec::new(),
            buffers: Vec::new(),
            flights: BinaryHeap::new(),
            results: Vec::new(),
        }
    }

    fn result(&mut self, call: Call<'_>) -> (Outcome, Meaning) {
        let files = &mut self.files;
        let outcome = match call {
            Call::Open { path, flags, .. } => {
                let opened = files.open(path.to_bytes(), flags);
                if opened.ok() {
                    self.paths.push(path.to_owned());
                }
                opened
            }
            Call::Close { file } => files.close(file.into()),
            Call::Sync { file, .. }
            | Call::Allocate { file, .. }
            | Call::Advise { file, .. }
            | Call::Cached { file } => Outcome { value: 0, ..files.size(file.into()) },
            Call::DirectAlignment { file } => Outcome { value: 512, ..files.size(file.into()) },
            Call::Write { file, length, offset, .. } => {
                return (files.write(file.into(), length, offset), Meaning::Bytes);
            }
            Call::Read { file, length, offset, .. } => {
                let (wanted, offset) = match length {
                    Some(length) => (length, offset),
                    None => (known(files.size(file.into()).value), Some(offset.unwrap_or(0))),
                };
                return (complete(files.read(file.into(), wanted, offset), wanted), Meaning::Bytes);
            }
            Call::Seek { file, offset, whence } => files.seek(file.into(), offset, whence),
            Call::WriteFile { path, length, offset, flags, .. } => {
                let append = flags & libc::O_APPEND != 0;
                let how = flags | if append { 0 } else { libc::O_TRUNC };
                let opened = files.open(path.to_bytes(), libc::O_WRONLY | libc::O_CREAT | how);
                if !opened.ok() {
                    return (opened, Meaning::Bytes);
                }
                self.paths.push(path.to_owned());
                let wrote = files.write(opened.value, length, (!append).then_some(offset));
                files.close(opened.value);
                return (wrote, Meaning::Bytes);
            }
            Call::ReadFile { path, length, offset, .. } | Call::MapFile { path, length, offset } => {
                let opened = files.open(path.to_bytes(), libc::O_RDONLY);
                if !opened.ok() {
                    return (opened, Meaning::Bytes);
                }
                self.paths.push(path.to_owned());
                let wanted =
                    length.unwrap_or_else(|| known(files.size(opened.value).value).saturating_sub(offset));
                let got = complete(files.read(opened.value, wanted, Some(offset)), wanted);
                files.close(opened.value);
                return (got, Meaning::Bytes);
            }
            Call::Create { path } => {
                let opened = files.open(path.to_bytes(), libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC);
                if opened.ok() {
                    self.paths.push(path.to_owned());
                    files.close(opened.value);
                }
                Outcome { value: 0, ..opened }
            }
            Call::Delete { path } | Call::Unlink { path } | Call::RemoveDirectory { path } => {
                files.remove(path.to_bytes())
            }
            Call::MakeDirectory { path, .. } => files.mkdir(path.to_bytes()),
            Call::Rename { from, to } => files.rename(from.to_bytes(), to.to_bytes()),
            Call::Link { from, to } => match files.stat(from.to_bytes()) {
                found if found.ok() => {
                    let opened = files.open(to.to_bytes(), libc::O_WRONLY | libc::O_CREAT);
                    self.paths.push(to.to_owned());
                    files.truncate(opened.value, found.value);
                    files.close(opened.value)
                }
                missing => missing,
            },
            Call::Stat { path } => files.stat(path.to_bytes()),
            Call::Lookup { path } | Call::ChangeMode { path, .. } | Call::ReadDirectory { path } => {
                Outcome { value: 0, ..files.stat(path.to_bytes()) }
            }
            Call::Truncate { file, length } => files.truncate(file.into(), length),
            Call::TakeMemory { length } => {
                self.buffers.push(Some(length));
                Outcome::value(self.buffers.len() as u64 - 1)
            }
            Call::GiveBackMemory { buffer } => {
                match self.buffers.get_mut(buffer as usize).and_then(Option::take) {
                    Some(_) => Outcome::default(),
                    None => Outcome::error(libc::EINVAL),
                }
            }
            Call::SymbolicLink { .. } | Call::SyncAll | Call::DropCaches | Call::Stripe { .. } => {
                Outcome::default()
            }
        };
        (outcome, Meaning::Value)
    }
}

/// The size of a file that another rank may have written is not known: nothing is read of it.
fn known(size: u64) -> u64 {
    if size == u64::MAX { 0 } else { size }
}

fn complete(mut outcome: Outcome, wanted: u64) -> Outcome {
    if outcome.ok() && outcome.value < wanted {
        outcome.errno = libc::ENODATA;
    }
    outcome
}

impl Backend for Simulated {
    type Seed = std::convert::Infallible;

    fn seed(&mut self) -> Option<Self::Seed> {
        None
    }

    fn grow(seed: Self::Seed) -> Self {
        match seed {}
    }

    fn turn_back(&mut self, ticks: u64) {
        self.now = ticks;
    }

    fn joined(&mut self) {}

    fn name(&self) -> &'static str {
        "simulate"
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn since_epoch_ns(&self, ticks: u64) -> u64 {
        ticks / 1000
    }

    fn picoseconds(&self, begin: u64, end: u64) -> u64 {
        end.saturating_sub(begin)
    }

    fn ticks(&self, ns: u64) -> u64 {
        ns.saturating_mul(1000)
    }

    fn wait_until(&mut self, ticks: u64, _comm: &dyn Comm) {
        self.now = self.now.max(ticks);
    }

    fn barrier(&mut self, comm: &dyn Comm) -> Result<(u64, u64), CommError> {
        let begin = self.now;
        self.now = comm.barrier(begin)?;
        Ok((begin, self.now))
    }

    fn agree(&mut self, comm: &dyn Comm, value: u64) -> Result<u64, CommError> {
        // Everyone's clock goes on from the latest.
        self.barrier(comm)?;
        comm.barrier(value)
    }

    fn perform(&mut self, operation: &str, call: Call<'_>) -> Result<Timed, Refusal> {
        let begin = self.now;
        let seconds = self.model.of(operation).draw(&mut self.random);
        self.now = begin.saturating_add((seconds * 1e12).round() as u64);
        let (outcome, meaning) = self.result(call);
        Ok(Timed { begin, end: self.now, outcome, meaning, ..Timed::default() })
    }

    fn together(&mut self, operation: &str, what: Collective<'_>, comm: &dyn Comm) -> Result<Timed, Refusal> {
        let begin = self.now;
        let seconds = self.model.of(operation).draw(&mut self.random);
        self.now = begin.saturating_add((seconds * 1e12).round() as u64);
        let (outcome, meaning) = match what {
            Collective::Open(path, mode) => {
                let create = if mode.create { libc::O_CREAT } else { 0 };
                let access = if mode.write { libc::O_RDWR } else { libc::O_RDONLY };
                self.result(Call::Open { path, flags: create | access, mode: 0o666 })
            }
            Collective::Close(file) => self.result(Call::Close { file }),
            Collective::Delete(path) => {
                self.files.remove(path.to_bytes());
                (Outcome::default(), Meaning::Value)
            }
            Collective::Transfer(target, direction, layout) => {
                // What lies between the blocks is of other ranks: the file is as long as all of them.
                let end = layout.offset(layout.blocks, 0, comm.size());
                let moved = match (target, direction) {
                    (Target::Path(path), Direction::Write) => {
                        let flags = libc::O_RDWR | libc::O_CREAT;
                        let opened = self.result(Call::Open { path, flags, mode: 0o666 }).0;
                        self.files.write(opened.value, end, Some(0));
                        Outcome { value: 0, ..self.files.close(opened.value) }
                    }
                    (Target::Path(path), Direction::Read) => self.files.stat(path.to_bytes()),
                    (Target::File(file), Direction::Write) => self.files.write(file.into(), end, Some(0)),
                    (Target::File(file), Direction::Read) => self.files.read(file.into(), end, Some(0)),
                };
                let value = if moved.ok() { layout.bytes() } else { 0 };
                (Outcome { value, ..moved }, Meaning::Bytes)
            }
        };
        let Ok(now) = comm.barrier(self.now) else {
            return Ok(Timed {
                begin,
                end: self.now,
                outcome: Outcome::error(libc::ECANCELED),
                ..Timed::default()
            });
        };
        self.now = now;
        Ok(Timed { begin, end: now, outcome, meaning, ..Timed::default() })
    }

    fn kernel(&mut self, operation: &str, _request: Request, count: u32) -> Result<Timed, NoKernel> {
        let begin = self.now;
        let one = self.model.of(operation);
        let seconds: f64 = (0..count).map(|_| one.draw(&mut self.random)).sum();
        self.now = begin.saturating_add((seconds * 1e12).round() as u64);
        Ok(Timed { begin, end: self.now, batch: count, ..Timed::default() })
    }

    fn begin_async(&mut self, depth: u32) -> Option<Warning> {
        self.results = vec![Timed::default(); depth as usize];
        None
    }

    /// Each operation has its own server: it begins now and takes its draw.
    fn start(
        &mut self,
        number: u32,
        operation: &str,
        call: Call<'_>,
        _verify: bool,
    ) -> Result<Started, Refusal> {
        let begin = self.now;
        let seconds = self.model.of(operation).draw(&mut self.random);
        let end = begin.saturating_add((seconds * 1e12).round() as u64);
        let (outcome, meaning) = self.result(call);
        self.results[number as usize] = Timed { begin, end, outcome, meaning, ..Timed::default() };
        self.flights.push(Reverse((end, number)));
        Ok(Started::UnderWay { begin })
    }

    fn completed(&mut self, patience: Patience) -> Option<Completed> {
        let Reverse((end, number)) = *self.flights.peek()?;
        let until = match patience {
            Patience::Look => self.now,
            Patience::Wait => end,
            Patience::Until(ticks) => ticks,
        };
        if end > until {
            self.now = self.now.max(until);
            return None;
        }
        self.now = self.now.max(end);
        self.flights.pop();
        Some(Completed { number, timed: self.results[number as usize], wrong: None })
    }

    fn all_completed(&mut self) {}

    fn end_async(&mut self) {}

    fn sight(&self) -> Option<samples::Coverage> {
        None
    }

    fn verify(&mut self) -> Option<u64> {
        None
    }

    fn set_verifying(&mut self) {}

    fn buffer_length(&self, buffer: u32) -> u64 {
        self.buffers.get(buffer as usize).copied().flatten().unwrap_or(0)
    }

    fn path_of(&self, file: u32) -> Option<&CStr> {
        self.paths.get(file as usize).map(CString::as_c_str)
    }

    fn take_notes(&mut self) -> Vec<Warning> {
        Vec::new()
    }

    fn processor(&self) -> u16 {
        u16::MAX
    }
}
