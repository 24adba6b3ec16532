//! The driver of simulated operations: names and sizes, and durations from a stated distribution.
//!
//! No file is touched and no real clock is read: each rank has a virtual clock that its operations
//! push forward, and a barrier sets it to the largest of all ranks'. The same seed gives the same
//! samples, to the last digit.

mod distribution;
mod files;

use std::ffi::CStr;

use ppl::commands::Command;
use samples::{Outcome, Warning};

use super::attribute::AttributeChange;
use super::glob::glob;
use super::stripes::Striping;
use super::submission::Handle;
use super::table::{Capabilities, Driver, Listed, Seat};

pub use distribution::{Distribution, Model, NotADistribution, Stream};
use files::Files;

/// Operations that take a draw from a distribution; each rank has names and sizes of its own.
pub struct Simulate {
    /// By command; the last one is of what is no command.
    distributions: Vec<Distribution>,
    random: Stream,
    files: Files,
}

impl Simulate {
    fn status(&mut self, path: &CStr) -> Outcome {
        Outcome { value: 0, ..self.files.stat(path.to_bytes()) }
    }

    fn is_open(&mut self, file: Handle) -> Outcome {
        Outcome { value: 0, ..self.files.size(file.0) }
    }
}

impl Driver for Simulate {
    fn capabilities(&self) -> Capabilities {
        Self::CAPABILITIES
    }

    fn duration_ps(&mut self, command: Option<Command>, count: u32) -> u64 {
        let distribution =
            self.distributions[command.map_or(self.distributions.len() - 1, |command| command as usize)];
        let seconds: f64 = (0..count).map(|_| distribution.draw(&mut self.random)).sum();
        (seconds * 1e12).round() as u64
    }

    fn open(&mut self, path: &CStr, flags: i32, _mode: u32) -> Outcome {
        self.files.open(path.to_bytes(), flags)
    }

    fn close(&mut self, file: Handle) -> Outcome {
        self.files.close(file.0)
    }

    unsafe fn write(&mut self, file: Handle, _from: *const u8, length: usize) -> Outcome {
        self.files.write(file.0, length as u64, None)
    }

    unsafe fn pwrite(&mut self, file: Handle, _from: *const u8, length: usize, offset: u64) -> Outcome {
        self.files.write(file.0, length as u64, Some(offset))
    }

    unsafe fn read(&mut self, file: Handle, _into: *mut u8, length: usize) -> Outcome {
        self.files.read(file.0, length as u64, None)
    }

    unsafe fn pread(&mut self, file: Handle, _into: *mut u8, length: usize, offset: u64) -> Outcome {
        self.files.read(file.0, length as u64, Some(offset))
    }

    fn copy(
        &mut self,
        from: Handle,
        to: Handle,
        length: usize,
        (offset, to_offset): (Option<u64>, Option<u64>),
    ) -> Outcome {
        self.files.copy((from.0, offset), (to.0, to_offset), length as u64)
    }

    fn sync(&mut self, file: Handle, _data_only: bool) -> Outcome {
        self.is_open(file)
    }

    fn seek(&mut self, file: Handle, offset: i64, whence: i32) -> Outcome {
        self.files.seek(file.0, offset, whence)
    }

    /// Of a file that another rank may have written it is not known: nothing is read of it.
    fn size(&mut self, file: Handle) -> Outcome {
        match self.files.size(file.0) {
            Outcome { value: u64::MAX, .. } => Outcome::default(),
            known => known,
        }
    }

    fn truncate(&mut self, file: Handle, length: u64) -> Outcome {
        self.files.truncate(file.0, length)
    }

    fn allocate(&mut self, file: Handle, _offset: u64, _length: u64, _mode: i32) -> Outcome {
        self.is_open(file)
    }

    fn advise(&mut self, file: Handle, _offset: u64, _length: u64, _advice: i32) -> Outcome {
        self.is_open(file)
    }

    fn cached(&mut self, file: Handle) -> Outcome {
        self.is_open(file)
    }

    fn direct_alignment(&mut self, file: Handle) -> Outcome {
        Outcome { value: 512, ..self.files.size(file.0) }
    }

    fn map(&mut self, file: Handle, length: usize, offset: u64) -> Outcome {
        self.files.read(file.0, length as u64, Some(offset))
    }

    fn stat(&mut self, path: &CStr) -> Outcome {
        self.files.stat(path.to_bytes())
    }

    fn lookup(&mut self, path: &CStr) -> Outcome {
        self.status(path)
    }

    fn unlink(&mut self, path: &CStr) -> Outcome {
        self.files.remove(path.to_bytes())
    }

    fn rmdir(&mut self, path: &CStr) -> Outcome {
        self.files.remove(path.to_bytes())
    }

    fn mkdir(&mut self, path: &CStr, _mode: u32) -> Outcome {
        self.files.mkdir(path.to_bytes())
    }

    fn rename(&mut self, from: &CStr, to: &CStr) -> Outcome {
        self.files.rename(from.to_bytes(), to.to_bytes())
    }

    fn link(&mut self, from: &CStr, to: &CStr) -> Outcome {
        self.files.link(from.to_bytes(), to.to_bytes())
    }

    fn symlink(&mut self, _target: &CStr, _path: &CStr) -> Outcome {
        Outcome::default()
    }

    fn change(&mut self, path: &CStr, _change: AttributeChange) -> Outcome {
        self.status(path)
    }

    fn change_open(&mut self, file: Handle, _change: AttributeChange) -> Outcome {
        self.is_open(file)
    }

    fn attribute(&mut self, path: &CStr, _key: &CStr) -> Outcome {
        let there = self.status(path);
        if there.ok() { Outcome::value(0) } else { there }
    }

    fn attribute_open(&mut self, file: Handle, _key: &CStr) -> Outcome {
        self.is_open(file)
    }

    fn readdir(&mut self, path: &CStr) -> Outcome {
        self.status(path)
    }

    fn prepare_stripe(&mut self, _path: &CStr, _count: u32, _size: Option<u64>) -> Result<Striping, Warning> {
        Ok(Striping::default())
    }

    fn sync_all(&mut self) -> Outcome {
        Outcome::default()
    }

    fn drop_caches(&mut self) -> Outcome {
        Outcome::default()
    }

    fn glob(&mut self, pattern: &str) -> Vec<String> {
        glob(pattern)
    }
}

impl Listed for Simulate {
    type Choice = Model;

    const NAME: &'static str = "simulate";

    const FORM: &'static str = "`simulate:DISTRIBUTION` (such as `simulate:gev(10ms,1ms,0.1)`)";

    const CAPABILITIES: Capabilities =
        Capabilities { local_files: false, virtual_time: true, content: false };

    fn choose(words: &str) -> Option<Result<Model, String>> {
        let distribution = match words.split_once(':') {
            None if words == "simulate" => return Some(Ok(Model::default())),
            Some(("simulate", distribution)) => distribution,
            _ => return None,
        };
        Some(
            distribution.parse().map_err(|error| {
                format!("{error}; write for example `--backend 'simulate:gev(10ms,1ms,0.1)'`")
            }),
        )
    }

    fn describe(model: &Model) -> String {
        format!("{}: {model}", Self::NAME)
    }

    fn connect(model: &Model, seat: Seat) -> Result<Self, String> {
        let mut distributions: Vec<Distribution> =
            Command::all().map(|command| model.of(command.name())).collect();
        distributions.push(model.of(""));
        Ok(Self {
            distributions,
            random: Stream::new(seat.seed, seat.rank),
            files: Files::new(seat.ranks == 1),
        })
    }

    fn for_worker(&self) -> Result<Self, String> {
        Err("workers of a simulated rank take turns".into())
    }

    fn share(&mut self, _file: Handle, _path: &CStr, _worker: &mut Self) -> Outcome {
        Outcome::error(libc::EOPNOTSUPP)
    }
}
