//! Implements the kernels of memory under load and of memory on other NUMA nodes.

use std::hint::black_box;

use clock::Source;
use machine::affinity::{self, Pinned};

use crate::buffer::KernelMemory;
use crate::crew::Crew;
use crate::error::Error;
use crate::kernel::{Probe, TimedOperation};
use crate::memory::{Chase, sum};

/// Bytes that each loading thread passes over: beyond most caches.
const LOAD: u64 = 32 << 20;
/// Bytes of one round of a loading thread: it looks up after each.
const ROUND: usize = 1 << 20;
/// Most loading threads.
pub const MOST_LOADERS: u32 = 1024;

/// Dependent loads while other threads read memory in order as fast as they can: loaded latency, as Intel's Memory
/// Latency Checker measures it. The threads work while loads are timed only.
#[derive(Debug)]
pub struct LoadedChase {
    chase: Chase,
    crew: Crew,
}

impl LoadedChase {
    /// A cycle through `bytes`, with so many `loaders`.
    pub fn new(bytes: u64, loaders: u32, seed: u64) -> Result<Self, Error> {
        let loaders = loaders.min(MOST_LOADERS);
        let available = machine::memory().available.unwrap_or(u64::MAX);
        let needed = LOAD.saturating_mul(u64::from(loaders)).saturating_add(bytes);
        if needed >= available / 10 * 9 {
            return Err(Error::NoMemory { bytes: needed, available });
        }
        let work = (0..loaders).map(|_| KernelMemory::touched(LOAD, false).map(reader));
        let work: Result<Vec<_>, Error> = work.collect();
        Ok(Self { chase: Chase::new(bytes, false, seed)?, crew: Crew::start(work?)? })
    }
}

/// Reads one round of the buffer after the other.
fn reader(mut buffer: KernelMemory) -> impl FnMut() + Send + 'static {
    let mut at = 0;
    move || {
        let all = buffer.as_slice();
        let end = (at + ROUND).min(all.len());
        black_box(sum(&all[at..end]));
        at = if end == all.len() { 0 } else { end };
    }
}

impl Probe for LoadedChase {
    fn prepare(&mut self, _: u32) {
        self.crew.begin();
    }

    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        self.chase.run(count)
    }

    #[inline(always)]
    fn bracket<S: Source>(&mut self, count: u32) -> TimedOperation {
        let timed = self.chase.bracket::<S>(count);
        self.crew.end();
        timed
    }
}

/// Dependent loads by a processor of one NUMA node in memory of another: one cell of the NUMA matrix.
#[derive(Debug)]
pub struct NodeChase {
    chase: Chase,
    _pinned: Pinned,
}

impl NodeChase {
    /// A cycle through `bytes` on the node `to`, followed by a processor of the node `from`.
    pub fn new(bytes: u64, from: u32, to: u32, seed: u64) -> Result<Self, Error> {
        let list = std::fs::read_to_string(format!("/sys/devices/system/node/node{from}/cpulist"));
        let cpus = list.map(|list| cpus(&list)).unwrap_or_default();
        let allowed = affinity::allowed();
        let here = cpus.into_iter().find(|cpu| allowed.contains(cpu)).ok_or(Error::NoNode { node: from })?;
        let chase = Chase::on_node(bytes, to, seed)?;
        let pinned = affinity::pin(here);
        let pinned = pinned.map_err(|source| Error::System { call: "sched_setaffinity", source })?;
        Ok(Self { chase, _pinned: pinned })
    }
}

/// Processors of a list as the OS kernel writes it: `0-3,8`.
fn cpus(list: &str) -> Vec<u16> {
    let range = |part: &str| {
        let (first, last) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

impl Probe for NodeChase {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        self.chase.run(count)
    }

    #[inline(always)]
    fn bracket<S: Source>(&mut self, count: u32) -> TimedOperation {
        self.chase.bracket::<S>(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_processors_is_read() {
        assert_eq!(cpus("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(cpus("\n"), Vec::<u16>::new());
    }

    #[test]
    fn loads_are_followed_under_load_and_without() {
        for loaders in [0, 1, 2] {
            let mut chase = LoadedChase::new(1 << 20, loaders, 1).expect("little memory");
            chase.prepare(1000);
            let timed = chase.bracket::<clock::Monotonic>(1000);
            assert_eq!(timed.errno, 0);
            assert!(timed.end > timed.begin);
        }
        assert!(matches!(LoadedChase::new(1 << 60, 1, 1), Err(Error::NoMemory { .. })));
    }

    #[test]
    fn a_node_that_is_not_there_is_refused() {
        assert!(matches!(NodeChase::new(1 << 16, 900, 0, 1), Err(Error::NoNode { node: 900 })));
    }
}
