//! What does a rank do around operations that are under way at the same time?
//!
//! In an `async` block an operation is started and the program goes on; its sample is stored when it is
//! done, with its own start, and judged then.

use super::backend::{Backend, Call, Completed, Patience, Started};
use super::session::{Session, Stop};
use crate::ops::flags::{errno_name, errno_text};
use samples::Outcome;

/// By what a result that comes later is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// It is to fail with this errno.
    pub expected: Option<i32>,
    /// A failure ends the program.
    pub stop_on_error: bool,
    /// What is read is compared with what was written.
    pub verify: bool,
}

/// One operation under way.
#[derive(Default)]
struct Flight {
    place: usize,
    site: u32,
    late_ns: u64,
    judgement: Judgement,
    /// What it works on, for a message.
    file: Option<u32>,
    names: Vec<u8>,
}

/// All operations under way.
#[derive(Default)]
pub(super) struct Flights {
    /// 0 outside of `async` blocks.
    depth: u32,
    /// Depths of the blocks around this one.
    outer: Vec<u32>,
    all: Vec<Flight>,
    free: Vec<u32>,
    under_way: u32,
    /// The block is under way one by one.
    in_order: bool,
}

impl<B: Backend> Session<'_, B> {
    /// Operations that follow may be under way at the same time, so many.
    pub fn enter_async(&mut self, depth: u32) -> Result<(), Stop> {
        self.complete_all()?;
        let outer = self.flights.depth;
        self.flights.outer.push(outer);
        self.begin_depth(depth)
    }

    fn begin_depth(&mut self, depth: u32) -> Result<(), Stop> {
        self.flights.depth = depth;
        if depth == 0 {
            return Ok(());
        }
        let warning = self.backend.begin_async(depth);
        self.flights.in_order = warning.is_some();
        self.flights.all.clear();
        self.flights.all.resize_with(depth as usize, Flight::default);
        self.flights.free = (0..depth).rev().collect();
        warning.map_or(Ok(()), |warning| self.warn(warning))
    }

    /// Waits for everything that is under way.
    pub fn leave_async(&mut self) -> Result<(), Stop> {
        let all = self.complete_all();
        self.backend.end_async();
        for note in self.backend.take_notes() {
            self.warn(note)?;
        }
        let outer = self.flights.outer.pop().unwrap_or(0);
        self.begin_depth(outer)?;
        all
    }

    /// Are operations to be started without waiting?
    #[inline(always)]
    pub fn is_async(&self) -> bool {
        self.flights.depth > 0 && !self.flights.in_order
    }

    /// Starts an operation. `Some`: it was done in the ordinary way, and is yet to be judged.
    pub fn start(
        &mut self,
        place: usize,
        call: Call<'_>,
        judgement: Judgement,
    ) -> Result<Option<Outcome>, Stop> {
        let site = self.site(place)?;
        let places = self.places;
        let (operation, line) =
            places.get(place).map_or(("", 0), |place| (place.operation.as_str(), place.line));
        loop {
            self.take_completed()?;
            let Some(number) = self.flights.free.last().copied() else {
                self.complete_one()?;
                continue;
            };
            self.begin_at(site, line);
            match self.backend.start(number, operation, call, judgement.verify) {
                Ok(Started::UnderWay { begin }) => {
                    self.flights.free.pop();
                    self.flights.under_way += 1;
                    let late_ns = self.late(begin);
                    let flight = &mut self.flights.all[number as usize];
                    (flight.place, flight.site, flight.late_ns) = (place, site, late_ns);
                    flight.judgement = judgement;
                    flight.note(&call);
                    // One that is done already ends now, not when the program comes by again.
                    return self.take_completed().map(|()| None);
                }
                Ok(Started::Conflict) => self.complete_one()?,
                Ok(Started::InOrder) => {
                    self.complete_all()?;
                    return self.operation(place, call).map(Some);
                }
                Err(refusal) => return Err(Stop::Refused { line, refusal: Box::new(refusal) }),
            }
        }
    }

    /// Takes what is done, without waiting.
    #[inline(always)]
    fn take_completed(&mut self) -> Result<(), Stop> {
        while self.flights.under_way > 0 {
            match self.backend.completed(Patience::Look) {
                Some(completed) => self.finish(&completed)?,
                None => break,
            }
        }
        Ok(())
    }

    fn complete_one(&mut self) -> Result<(), Stop> {
        match self.backend.completed(Patience::Wait) {
            Some(completed) => self.finish(&completed),
            None => {
                // Nothing is under way: whatever the numbers say, all are free.
                self.flights.under_way = 0;
                self.flights.free = (0..self.flights.depth).rev().collect();
                Ok(())
            }
        }
    }

    /// Waits for everything under way; all of it, whatever one of them says.
    pub(super) fn complete_all(&mut self) -> Result<(), Stop> {
        let mut result = Ok(());
        while self.flights.under_way > 0 {
            let one = self.complete_one();
            result = result.and(one);
        }
        if self.flights.depth > 0 {
            self.backend.all_completed();
        }
        result
    }

    /// Takes what is done until the clock shows `ticks`; true where nothing is under way before.
    pub(super) fn complete_until(&mut self, ticks: u64) -> Result<bool, Stop> {
        /// So often does it look whether the run is to stop.
        const LOOK_NS: u64 = 100_000_000;
        while self.flights.under_way > 0 {
            let soon = self.backend.now() + self.backend.ticks(LOOK_NS);
            match self.backend.completed(Patience::Until(ticks.min(soon))) {
                Some(completed) => self.finish(&completed)?,
                None if self.backend.now() >= ticks => return Ok(false),
                None => {}
            }
            if let Some(stop) = self.interrupted() {
                return Err(stop);
            }
        }
        Ok(true)
    }

    fn finish(&mut self, completed: &Completed) -> Result<(), Stop> {
        let number = completed.number;
        let Some(flight) = self.flights.all.get(number as usize) else { return Ok(()) };
        let (site, place, late_ns, judgement) = (flight.site, flight.place, flight.late_ns, flight.judgement);
        self.flights.free.push(number);
        self.flights.under_way -= 1;
        self.store_late(site, completed.timed, late_ns)?;
        let outcome = completed.timed.outcome;
        let errno = match completed.wrong {
            Some(_) if outcome.ok() => libc::EBADMSG,
            _ => outcome.errno,
        };
        if errno == 0 && judgement.expected.is_none() {
            return Ok(());
        }
        self.judge(number, place, errno, completed.timed.outcome.value, completed.wrong, judgement)
    }

    #[cold]
    #[inline(never)]
    fn judge(
        &mut self,
        number: u32,
        place: usize,
        errno: i32,
        value: u64,
        wrong: Option<u64>,
        judgement: Judgement,
    ) -> Result<(), Stop> {
        if judgement.expected == Some(errno) {
            return Ok(());
        }
        let mut words = String::new();
        if judgement.stop_on_error || self.tells(place, errno) {
            words = self.flight_words(number, place);
            if let Some(wanted) = judgement.expected {
                let name = errno_name(wanted).map_or(format!("errno {wanted}"), str::to_owned);
                words += &format!(", which was to fail with {name},");
            }
            if let Some(at) = wrong {
                words += &format!(": byte {at} is not what was written there;");
            }
        }
        let moves = matches!(self.places.get(place).map(|place| place.operation.as_str()),
            Some(name) if name.contains("read") || name.contains("write") || name == "append");
        self.failed(place, &words, errno, if moves { value } else { 0 })?;
        if judgement.stop_on_error {
            let (line, why) = (self.line(place), errno_text(errno));
            return Err(Stop::Failed(format!(
                "line {line}: {words} failed: {why}; the program says `on_error stop`"
            )));
        }
        Ok(())
    }

    fn flight_words(&self, number: u32, place: usize) -> String {
        let operation = self.places.get(place).map_or("", |place| place.operation.as_str());
        let named = match self.flights.all.get(number as usize) {
            Some(Flight { file: Some(file), .. }) => match self.backend.path_of(*file) {
                Some(path) => format!("\"{}\"", path.to_string_lossy()),
                None => "a file that is not open".into(),
            },
            Some(flight) => format!("\"{}\"", String::from_utf8_lossy(&flight.names)),
            None => String::new(),
        };
        format!("{operation}({named})")
    }
}

impl Flight {
    #[inline]
    fn note(&mut self, call: &Call<'_>) {
        self.names.clear();
        self.file = match call {
            Call::Write { file, .. }
            | Call::Read { file, .. }
            | Call::Sync { file, .. }
            | Call::Allocate { file, .. } => Some(*file),
            Call::WriteFile { path, .. }
            | Call::ReadFile { path, .. }
            | Call::Create { path }
            | Call::Stat { path }
            | Call::Delete { path }
            | Call::Unlink { path }
            | Call::RemoveDirectory { path }
            | Call::MakeDirectory { path, .. } => {
                self.names.extend_from_slice(path.to_bytes());
                None
            }
            _ => None,
        };
    }
}
