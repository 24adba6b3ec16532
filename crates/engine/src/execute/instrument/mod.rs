//! What stands around every driver: timing, causes, confinement, the registry of created files, buffers, content.
//!
//! [`Instrument`] holds a driver and a [`Layer`], whose methods take the driver they work with. `perform` says which
//! calls make up an operation, `transfer` moves bytes, `copy` has the kernel move them, `names` makes, changes and removes what has a name, `kernels` times native kernels, `jobs`
//! keeps what is under way, `sparse` looks for files without data, `together` is what a group does to one file, `worker` what a thread takes over, `space_watch` the
//! space that is left.

mod bracket;
mod content;
mod copy;
#[cfg(test)]
mod counted;
mod doubts;
mod guard;
mod jobs;
mod judge;
mod kernels;
mod keys;
mod layer;
mod names;
mod opening;
mod perform;
mod reading;
mod space_watch;
mod sparse;
mod table;
#[cfg(test)]
mod tests;
mod together;
mod transfer;
mod under_way;
mod verify_jobs;
mod virtual_jobs;
mod worker;

use std::ffi::CStr;

use ppl::commands::Command;
use samples::{VerifiedFacts, Warning};

use super::call::{Call, Collective, Completed, NoKernel, Patience, Started, Timed};
use crate::content::Wrong;
use crate::driver::{AnyDriver, Driver, each_driver};
use crate::files::Refusal;
use crate::flags;
use layer::Layer;
use probes::Request;
use ranks::{Comm, CommError};
use samples::Coverage;
use samples::HintsOfFile;

pub use layer::InstrumentSettings;
pub use worker::Seed;

/// A driver with everything around it that an operation needs.
pub struct Instrument {
    driver: AnyDriver,
    /// Dropped last: it has the memory of what is under way.
    layer: Layer,
}

impl Instrument {
    /// No file is open.
    pub fn new(driver: AnyDriver, settings: InstrumentSettings) -> Self {
        let capabilities = each_driver!(&driver, driver => driver.capabilities());
        let layer = Layer::new(capabilities, settings);
        Self { driver, layer }
    }

    /// Does one of the most frequent operations of this machine; `None` of any other. Their system calls can be as
    /// short as a clock read: all that is around them is compiled into the caller.
    #[inline(always)]
    pub fn perform_frequent(&mut self, command: Option<Command>, call: Call<'_>) -> Option<Timed> {
        let layer = &mut self.layer;
        let AnyDriver::Posix(driver) = &mut self.driver else { return None };
        layer.bracket.command = command;
        match call {
            Call::Write { file, length, offset, buffer } => {
                Some(layer.write(driver, file, transfer::Span { length, offset }, buffer))
            }
            Call::Read { file, length, offset } => Some(layer.read(driver, file, length, offset)),
            Call::Stat { path } if layer.guard.may_ask_freely() => Some(layer.stat(driver, path)),
            Call::Open { path, flags, .. } if flags::only_reads(flags) => {
                layer.open_again(driver, path, flags)
            }
            Call::Close { file } => Some(layer.close(driver, file)),
            _ => None,
        }
    }

    /// Does one operation of a command; compiled for each driver.
    ///
    /// # Errors
    /// Only where the program may not do this at all; a failed call is an outcome with an errno.
    pub fn perform(&mut self, command: Option<Command>, call: Call<'_>) -> Result<Timed, Refusal> {
        let layer = &mut self.layer;
        layer.bracket.command = command;
        each_driver!(&mut self.driver, driver => {
            driver.make_room();
            layer.perform(driver, call)
        })
    }

    /// Does something together with the other ranks of `comm`. Where it fails on one rank it fails on all; ECANCELED
    /// where one is lost.
    ///
    /// # Errors
    /// Where the program may not touch the file.
    pub fn together(
        &mut self,
        command: Option<Command>,
        what: Collective<'_>,
        comm: &dyn Comm,
    ) -> Result<Timed, Refusal> {
        self.layer.bracket.command = command;
        self.layer.together(self.driver.as_dyn(), what, comm)
    }

    /// Runs `count` operations of a kernel in one timing.
    ///
    /// # Errors
    /// Where it cannot be run at all.
    pub fn kernel(
        &mut self,
        command: Option<Command>,
        request: Request,
        count: u32,
    ) -> Result<Timed, NoKernel> {
        self.layer.bracket.command = command;
        self.layer.kernel(self.driver.as_dyn(), request, count)
    }

    /// From now on up to `depth` operations may be under way. A warning where they will be done one after the other
    /// all the same.
    pub fn begin_async(&mut self, depth: u32) -> Option<Warning> {
        self.layer.begin_async(self.driver.as_dyn(), depth)
    }

    /// Starts an operation without waiting for it. `number`, below the depth, is that of none under way. With
    /// `verify` what it reads is compared with what our own writes put there.
    ///
    /// # Errors
    /// Where the program may not do this at all.
    pub fn start(
        &mut self,
        number: u32,
        command: Option<Command>,
        call: Call<'_>,
        verify: bool,
    ) -> Result<Started, Refusal> {
        self.layer.bracket.command = command;
        let driver = self.driver.as_dyn();
        if driver.capabilities().virtual_time {
            self.layer.start_virtually(driver, number, call)
        } else {
            self.layer.start(driver, number, call, verify)
        }
    }

    /// An operation that is done, in the order in which they end.
    #[inline]
    pub fn completed(&mut self, patience: Patience) -> Option<Completed> {
        if self.is_virtual() {
            return self.layer.virtual_jobs.completed(&mut self.layer.bracket, patience);
        }
        self.layer.completed(self.driver.as_dyn(), patience)
    }

    /// Nothing is under way any more: operations in the ordinary way may follow.
    pub fn all_completed(&mut self) {
        self.layer.restore_positions(self.driver.as_dyn());
    }

    /// The `async` block is over.
    pub fn end_async(&mut self) {
        self.layer.end_async(self.driver.as_dyn());
    }

    /// Names that match a shell pattern.
    pub fn glob(&mut self, pattern: &str) -> Vec<String> {
        let found = self.driver.as_dyn().glob(pattern);
        self.layer.guard.sifted(found)
    }

    /// A name of the run, the same on all ranks.
    pub fn run_name(&self) -> String {
        format!("{:08x}", self.layer.author.name)
    }

    /// Is time virtual? Then ranks see nothing of each other but at barriers, and workers take turns.
    pub fn is_virtual(&self) -> bool {
        self.layer.bracket.is_virtual()
    }

    /// The clock, in ticks.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.layer.bracket.now()
    }

    /// Nanoseconds since the run's epoch.
    #[inline(always)]
    pub fn since_epoch_ns(&self, ticks: u64) -> u64 {
        self.layer.bracket.clock.since_epoch_ns(ticks)
    }

    /// Picoseconds between two readings.
    #[inline(always)]
    pub fn picoseconds(&self, begin: u64, end: u64) -> u64 {
        self.layer.bracket.clock.picoseconds(begin, end)
    }

    /// Ticks that make up so many nanoseconds.
    pub fn ticks(&self, ns: u64) -> u64 {
        self.layer.bracket.clock.ns_to_ticks(ns)
    }

    /// There are fewer processors than threads that work beside this one: it sleeps where it would spin.
    pub fn shares_processors(&mut self) {
        self.layer.bracket.shares_processors();
    }

    /// Lets time pass until `ticks`, or until `comm` says stop.
    pub fn wait_until(&mut self, ticks: u64, comm: &dyn Comm) {
        self.layer.bracket.wait_until(ticks, comm);
    }

    /// Sets virtual time back: the next worker begins when the first did.
    pub fn rewind(&mut self, ticks: u64) {
        self.layer.bracket.rewind(ticks);
    }

    /// Meets the others; the readings before and after.
    pub fn barrier(&mut self, comm: &dyn Comm) -> Result<(u64, u64), CommError> {
        self.layer.bracket.barrier(comm)
    }

    /// As [`Instrument::barrier`], and gives the largest `value` that a rank brought.
    pub fn agree(&mut self, comm: &dyn Comm, value: u64) -> Result<u64, CommError> {
        self.layer.bracket.agree(comm, value)
    }

    /// What can be seen of the causes of slow operations; `None` where nobody looks.
    pub fn sight(&self) -> Option<Coverage> {
        self.layer.bracket.sight()
    }

    /// The processor the rank is on; `u16::MAX` where that has no meaning.
    #[inline(always)]
    pub fn processor(&self) -> u16 {
        self.layer.bracket.processor()
    }

    /// Compares what was read last with what belongs there; the first wrong byte.
    pub fn verify(&mut self) -> Option<Wrong> {
        self.layer.verify()
    }

    /// Bytes that are free for the file `path`, and why they may not be taken, where a write was not begun for that.
    pub fn free_for(&mut self, path: &CStr) -> (Option<u64>, Option<String>) {
        match self.layer.kept_free.take() {
            Some((free, why)) => (Some(free), Some(why)),
            None => (self.layer.guard.free_at(path), None),
        }
    }

    /// What verified reads came to since the last call.
    pub fn take_verified(&mut self) -> VerifiedFacts {
        std::mem::take(&mut self.layer.verified)
    }

    /// The program verifies reads somewhere: appended data must then be what belongs at its offset.
    pub fn set_verifying(&mut self) {
        self.layer.verifying = true;
        self.layer.catalogue.verifying = true;
    }

    /// The program has one rank and no workers: what this one did not write, nobody wrote.
    pub fn set_alone(&mut self) {
        self.layer.alone = true;
    }

    /// Other ranks or workers copy between files, of which this one sees nothing: what differs may be theirs.
    pub fn set_others_copy(&mut self) {
        self.layer.others_copy = true;
    }

    /// Other ranks or workers give files other names, of which this one sees nothing.
    pub fn set_others_rename(&mut self) {
        self.layer.others_rename = true;
    }

    /// Several ranks or workers append, as files opened for it say, too.
    pub fn set_others_append(&mut self) {
        self.layer.others_append = true;
    }

    /// The program writes files: what it finds in them should be its own.
    pub fn set_writes(&mut self) {
        self.layer.writes = true;
    }

    /// No worker appends: each rank counts what it appends by itself.
    pub fn set_appends_once(&mut self) {
        self.layer.appends_once = true;
    }

    /// Other ranks or workers may cut files, of which this one sees nothing.
    pub fn set_others_cut(&mut self) {
        self.layer.others_cut = true;
    }

    /// What MPI-IO is to be told when it opens a file.
    pub fn set_hints(&mut self, hints: &[(String, String)]) {
        self.layer.hints.asked = hints.to_vec();
    }

    /// What MPI-IO made of the hints, for files opened since the last call.
    pub fn take_hints(&mut self) -> Vec<HintsOfFile> {
        self.layer.hints.take_used()
    }

    /// Bytes of a buffer of the program; 0 where there is none.
    pub fn buffer_length(&self, buffer: u32) -> u64 {
        self.layer.buffers.length(buffer)
    }

    /// The name under which a file was opened.
    pub fn path_of(&self, file: u32) -> Option<&CStr> {
        self.layer.files.get(file).map(|open| &*open.path)
    }

    /// Was this file opened by a group together?
    pub fn is_of_group(&self, file: u32) -> bool {
        self.layer.files.get(file).is_some_and(|open| open.group.is_some())
    }

    /// The program is over: looks whether files that it read have no data.
    pub fn look_for_sparse_files(&mut self) {
        if matches!(self.driver, AnyDriver::Posix(_))
            && let Some(note) = self.layer.opened_to_read.look()
        {
            self.layer.note_once(note);
        }
    }

    /// Notes for the reader that came up since the last call.
    pub fn take_notes(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.layer.notes)
    }

    /// All workers are gone: the positions of files are the rank's again.
    pub fn joined(&mut self) {
        self.layer.guard.joined();
        self.layer.files.all_moved();
        self.layer.restore_positions(self.driver.as_dyn());
    }
}

impl Drop for Instrument {
    fn drop(&mut self) {
        let driver = self.driver.as_dyn();
        driver.drain();
        for handle in self.layer.files.handles() {
            driver.close(handle);
        }
    }
}
