//! Decides how long each operation is delayed and whether it fails, and logs it.

use std::fmt::Write;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fuser::Errno;

use crate::distribution::{Distribution, Uniform};

/// The operations that can be delayed, by the name of the system call that causes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Open,
    Read,
    Write,
    Fsync,
    Close,
    Unlink,
    Stat,
}

impl Operation {
    pub const ALL: [(Self, &str); 8] = [
        (Self::Create, "create"),
        (Self::Open, "open"),
        (Self::Read, "read"),
        (Self::Write, "write"),
        (Self::Fsync, "fsync"),
        (Self::Close, "close"),
        (Self::Unlink, "unlink"),
        (Self::Stat, "stat"),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, name)| *name == text);
        found.map(|(operation, _)| *operation).ok_or_else(|| {
            let names = Self::ALL.map(|(_, name)| name).join(", ");
            format!("`{text}` is no operation; there are {names}")
        })
    }
}

/// The fault of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// A write takes only half of its bytes.
    Short,
    Failed(i32),
}

/// A fault of the n-th operation of a kind, counted from 1: `write@100=EIO`, `write@7=short`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub operation: Operation,
    pub number: u64,
    pub outcome: Outcome,
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not like write@100=EIO or write@7=short");
        let (place, outcome) = text.split_once('=').ok_or_else(wrong)?;
        let (operation, number) = place.split_once('@').ok_or_else(wrong)?;
        let outcome = match outcome {
            "short" => Outcome::Short,
            "EIO" => Outcome::Failed(Errno::EIO.code()),
            "EINTR" => Outcome::Failed(Errno::EINTR.code()),
            "ENOSPC" => Outcome::Failed(Errno::ENOSPC.code()),
            "EDQUOT" => Outcome::Failed(Errno::EDQUOT.code()),
            "ESTALE" => Outcome::Failed(Errno::ESTALE.code()),
            _ => return Err(format!("`{outcome}` is none of EIO, EINTR, ENOSPC, EDQUOT, ESTALE, short")),
        };
        Ok(Self { operation: operation.parse()?, number: number.parse().map_err(|_| wrong())?, outcome })
    }
}

struct Stream {
    delay: Distribution,
    numbers: Uniform,
    count: u64,
}

struct Record {
    operation: Operation,
    file: u64,
    begin: Duration,
    drawn: Duration,
    held: Duration,
    bytes: u64,
    outcome: Outcome,
}

/// Draws delays, waits for them and logs them.
pub struct Injection {
    start: Instant,
    streams: Vec<Mutex<Stream>>,
    faults: Vec<Fault>,
    records: Mutex<Vec<Record>>,
}

/// An operation whose delay is over; `finish` logs it just before the reply.
pub struct Held {
    operation: Operation,
    begin: Instant,
    drawn: Duration,
    pub outcome: Outcome,
}

impl Injection {
    pub fn new(seed: u64, delays: &[(Operation, Distribution)], faults: Vec<Fault>) -> Self {
        let streams = Operation::ALL.iter().map(|(operation, _)| {
            let asked = delays.iter().rev().find(|(which, _)| which == operation);
            let delay = asked.map_or(Distribution::Constant(0.0), |(_, delay)| *delay);
            Mutex::new(Stream { delay, numbers: Uniform::new(seed, *operation as u64), count: 0 })
        });
        let records = Mutex::new(Vec::with_capacity(1 << 20));
        Self { start: Instant::now(), streams: streams.collect(), faults, records }
    }

    /// Draws the delay of an operation that has just arrived, and waits until it is over.
    pub fn hold(&self, operation: Operation) -> Held {
        let begin = Instant::now();
        let (drawn, count) = {
            let mut stream = self.streams[operation as usize].lock().expect("no thread panics in a draw");
            stream.count += 1;
            let p = stream.numbers.draw();
            (Duration::from_nanos(stream.delay.quantile(p) as u64), stream.count)
        };
        let fault = self.faults.iter().find(|fault| fault.operation == operation && fault.number == count);
        let end = begin + drawn;
        // A sleep ends some tens of µs late, which is logged. Busy waiting would delay other requests, which
        // would not be logged.
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
        Held { operation, begin, drawn, outcome: fault.map_or(Outcome::Done, |fault| fault.outcome) }
    }

    /// Logs the actual delay of the operation.
    pub fn finish(&self, held: &Held, file: u64, bytes: u64) {
        let mut records = self.records.lock().expect("no thread panics while it writes a record");
        records.push(Record {
            operation: held.operation,
            file,
            begin: held.begin - self.start,
            drawn: held.drawn,
            held: held.begin.elapsed(),
            bytes,
            outcome: held.outcome,
        });
    }

    /// All operations so far, as CSV, in the order in which they ended. Times in nanoseconds.
    pub fn log(&self) -> String {
        let records = self.records.lock().expect("no thread panics while it writes a record");
        let mut text = String::from("operation,file,begin_ns,drawn_ns,held_ns,bytes,errno,short\n");
        for record in records.iter() {
            let errno = if let Outcome::Failed(errno) = record.outcome { errno } else { 0 };
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{errno},{}",
                record.operation.name(),
                record.file,
                record.begin.as_nanos(),
                record.drawn.as_nanos(),
                record.held.as_nanos(),
                record.bytes,
                u8::from(record.outcome == Outcome::Short),
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_delayed_at_least_as_long_as_drawn_and_logged() {
        let delay: Distribution = "constant(3ms)".parse().unwrap();
        let fault: Fault = "write@2=EIO".parse().unwrap();
        let injection = Injection::new(1, &[(Operation::Write, delay)], vec![fault]);
        for _ in 0..3 {
            let held = injection.hold(Operation::Write);
            injection.finish(&held, 9, 4096);
        }
        let log = injection.log();
        let rows: Vec<Vec<&str>> = log.lines().skip(1).map(|line| line.split(',').collect()).collect();
        assert_eq!(rows.len(), 3);
        for row in &rows {
            assert_eq!((row[0], row[1], row[3], row[5]), ("write", "9", "3000000", "4096"));
            assert!(row[4].parse::<u64>().unwrap() >= 3_000_000);
        }
        assert_eq!(rows.iter().map(|row| row[6]).collect::<Vec<_>>(), ["0", "5", "0"]);
    }

    #[test]
    fn an_unknown_operation_is_an_error_that_lists_the_known_ones() {
        let message = "wriet".parse::<Operation>().unwrap_err();
        assert!(message.contains("create, open, read, write"), "{message}");
    }
}
