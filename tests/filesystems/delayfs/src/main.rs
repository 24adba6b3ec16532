//! A file system with known delays: what a program measures on it can be compared, operation by
//! operation, with what was injected.
//!
//! `delayfs DIRECTORY --seed 1 --delay 'write=gev(2ms,300us,0.1)' --fault write@100=EIO` mounts it and runs
//! until it is unmounted. Reading `DIRECTORY/.delays.csv` gives every operation so far: its name, the file's
//! inode, when it arrived, the delay drawn, how long it was really held (both in nanoseconds), bytes, errno.
//!
//! Writing `17 content` to `DIRECTORY/.power` cuts the power after 17 changes: every call then fails with EIO, until
//! `.power` is looked up; what was not synced is gone. The size of `.power` is the number of changes so far.

#![forbid(unsafe_code)]

mod distribution;
mod files;
mod filesystem;
mod injection;
mod power;

use std::process::ExitCode;

use fuser::{Config, MountOption, SessionACL};

use crate::distribution::Distribution;
use crate::filesystem::DelayFs;
use crate::injection::{Fault, Injection, Operation};

/// The number of requests that can be delayed concurrently, more than any test has ranks.
const THREADS: usize = 24;

struct Arguments {
    directory: String,
    seed: u64,
    delays: Vec<(Operation, Distribution)>,
    faults: Vec<Fault>,
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut directory = None;
    let (mut seed, mut delays, mut faults) = (0, Vec::new(), Vec::new());
    while let Some(word) = words.next() {
        let (word, attached) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name.to_owned(), Some(value.to_owned())),
            _ => (word, None),
        };
        let value = || attached.or_else(|| words.next()).ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--seed" => seed = value()?.parse().map_err(|_| "--seed needs a number".to_owned())?,
            "--delay" => {
                let text = value()?;
                let (operation, delay) =
                    text.split_once('=').ok_or("--delay needs OPERATION=DISTRIBUTION")?;
                delays.push((operation.parse()?, delay.parse()?));
            }
            "--fault" => faults.push(value()?.parse()?),
            _ if word.starts_with('-') => return Err(format!("unknown option {word}")),
            _ => directory = Some(word),
        }
    }
    Ok(Arguments { directory: directory.ok_or("which directory?")?, seed, delays, faults })
}

fn main() -> ExitCode {
    let arguments = match arguments(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("delayfs: {message}");
            return ExitCode::from(2);
        }
    };
    let mut config = Config::default();
    config.mount_options =
        vec![MountOption::FSName("delayfs".into()), MountOption::Subtype("delayfs".into())];
    config.acl = SessionACL::All;
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    let injection = Injection::new(arguments.seed, &arguments.delays, arguments.faults);
    match fuser::mount(DelayFs::new(injection), &arguments.directory, &config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("delayfs: cannot mount {}: {error}", arguments.directory);
            ExitCode::FAILURE
        }
    }
}
