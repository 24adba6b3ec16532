//! Implements the kernels of memory accesses: dependent loads, independent accesses, streams, first touches.

use std::hint::black_box;

use clock::Source;
use samples::random::Random;

use crate::buffer::{HUGE, KernelMemory, page_size};
use crate::error::Error;
use crate::kernel::{Probe, TimedOperation};

/// Bytes between two elements of a chase: a cache line, so that each load needs a different line.
pub const LINE: usize = 64;

/// Dependent loads (a pointer chase): the latency of a working set.
///
/// All lines form one random cycle (Sattolo 1986, "An algorithm to generate a random cyclic
/// permutation"), so no prefetcher can predict the next line, and every line is visited.
#[derive(Debug)]
pub struct Chase {
    _buffer: KernelMemory,
    at: *const u8,
}

// SAFETY: the pointer points into the buffer, which this value owns.
unsafe impl Send for Chase {}

impl Chase {
    /// A cycle through all lines of `bytes` (at least two lines), on huge pages if `huge`.
    pub fn new(bytes: u64, huge: bool, seed: u64) -> Result<Self, Error> {
        Ok(Self::through(KernelMemory::touched(bytes.max(2 * LINE as u64), huge)?, LINE, seed))
    }

    /// A cycle through one line of each page of `bytes` (at least two pages): beyond the reach of the TLB, each load
    /// walks the page table. Lines of successive pages differ in their place, so that they fall into all sets of a cache.
    pub fn pages(bytes: u64, huge: bool, seed: u64) -> Result<Self, Error> {
        let step = if huge { HUGE } else { page_size() };
        Ok(Self::through(KernelMemory::touched(bytes.max(2 * step as u64), huge)?, step, seed))
    }

    /// A cycle through all lines of `bytes` on one NUMA node.
    pub fn on_node(bytes: u64, node: u32, seed: u64) -> Result<Self, Error> {
        Ok(Self::through(KernelMemory::on_node(bytes.max(2 * LINE as u64), node)?, LINE, seed))
    }

    /// A cycle through one line in each `step` bytes, a multiple of a line.
    fn through(mut buffer: KernelMemory, step: usize, seed: u64) -> Self {
        let lines = buffer.bytes() / step;
        let start = buffer.start();
        // SAFETY (of the closure's uses): an index below `lines` keeps the word inside the buffer, and
        // every line begins at a multiple of eight bytes.
        let word = |index: usize| unsafe { start.add(index * step + index * LINE % step).cast::<usize>() };
        let mut random = Random::new(seed);
        for index in 0..lines {
            // SAFETY: see `word`.
            unsafe { word(index).write(index) };
        }
        for index in (1..lines).rev() {
            let other = random.below(index as u64) as usize;
            // SAFETY: see `word`; `other` is below `index`, so the two differ.
            unsafe { word(index).swap(word(other)) };
        }
        for index in 0..lines {
            // SAFETY: see `word`; every line holds the index of another line.
            unsafe { word(index).write(word(word(index).read()).as_ptr() as usize) };
        }
        Self { _buffer: buffer, at: start.as_ptr() }
    }
}

impl Probe for Chase {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        // SAFETY: every line holds the address of another line of the buffer.
        self.at = unsafe { follow(self.at, count) };
        0
    }

    /// Loads the address into a register before the clock is read: that load takes as long as the one that is
    /// timed.
    #[inline(always)]
    fn bracket<S: Source>(&mut self, count: u32) -> TimedOperation {
        let mut at = self.at;
        let begin = S::read();
        // SAFETY: every line holds the address of another line of the buffer.
        at = unsafe { follow(at, count) };
        let end = S::read();
        self.at = at;
        TimedOperation { begin, end, errno: 0 }
    }
}

/// Follows a chain of `count` pointers.
///
/// # Safety
/// Every address reached must hold the address of readable memory.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn follow(start: *const u8, count: u32) -> *const u8 {
    let mut at = start;
    let (blocks, rest) = (count / 16, count % 16);
    if blocks > 0 {
        // SAFETY: guaranteed by the caller; only the named registers and the flags change.
        unsafe {
            std::arch::asm!(
                "2:", ".rept 16", "mov {at}, [{at}]", ".endr", "dec {blocks:e}", "jnz 2b",
                at = inout(reg) at, blocks = inout(reg) blocks => _, options(nostack, readonly),
            );
        }
    }
    for _ in 0..rest {
        // SAFETY: as above.
        unsafe { std::arch::asm!("mov {at}, [{at}]", at = inout(reg) at, options(nostack, readonly)) };
    }
    at
}

/// Follows a chain of `count` pointers.
///
/// # Safety
/// Every address reached must hold the address of readable memory.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn follow(start: *const u8, count: u32) -> *const u8 {
    let mut at = start;
    let (blocks, rest) = (count / 16, count % 16);
    if blocks > 0 {
        // SAFETY: guaranteed by the caller; only the named registers and the flags change.
        unsafe {
            std::arch::asm!(
                "2:", ".rept 16", "ldr {at}, [{at}]", ".endr", "subs {blocks:w}, {blocks:w}, #1", "b.ne 2b",
                at = inout(reg) at, blocks = inout(reg) blocks => _, options(nostack, readonly),
            );
        }
    }
    for _ in 0..rest {
        // SAFETY: as above.
        unsafe { std::arch::asm!("ldr {at}, [{at}]", at = inout(reg) at, options(nostack, readonly)) };
    }
    // An `isb` alone need not wait for a load, but it does after a branch that depends on the loaded value
    // (Arm Architecture Reference Manual: a control dependency and context synchronisation). SAFETY: compares
    // a register and continues at the next instruction in both cases.
    unsafe { std::arch::asm!("cbz {at}, 3f", "3:", at = in(reg) at, options(nostack, nomem)) };
    at
}

/// Follows a chain of `count` pointers.
///
/// # Safety
/// Every address reached must hold the address of readable memory.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
unsafe fn follow(start: *const u8, count: u32) -> *const u8 {
    let mut at = start;
    for _ in 0..count {
        // SAFETY: guaranteed by the caller.
        at = unsafe { at.cast::<*const u8>().read_volatile() };
    }
    at
}

/// Independent reads and writes at random addresses, called a poke in the teaching notebook of 2018. Many are
/// in flight at once, so this measures throughput, not latency.
#[derive(Debug)]
pub struct Poke {
    buffer: KernelMemory,
    words: u64,
    random: Random,
}

impl Poke {
    /// Random accesses over `bytes` (at least one word).
    pub fn new(bytes: u64, huge: bool, seed: u64) -> Result<Self, Error> {
        let buffer = KernelMemory::touched(bytes.max(8), huge)?;
        Ok(Self { words: buffer.bytes() as u64 / 8, buffer, random: Random::new(seed) })
    }
}

impl Probe for Poke {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        let start = self.buffer.start().cast::<u64>();
        for _ in 0..count {
            let index = self.random.below(self.words);
            // SAFETY: `index` is below the number of words in the buffer, which begins page aligned.
            unsafe {
                let place = start.add(index as usize);
                black_box(place.read_volatile());
                place.write_volatile(index);
            }
        }
        0
    }

    fn bytes_each(&self) -> u64 {
        16
    }
}

/// The kind of a pass over consecutive memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pass {
    /// Sums all words.
    Read,
    /// Writes a constant.
    Write,
    /// Copies one half to the other.
    Copy,
    /// Writes a multiple of one half to the other: "scale" of STREAM (McCalpin 1995).
    Scale,
    /// Adds two thirds and writes the sum to the last: "add" of STREAM.
    Add,
    /// Adds a multiple of one third to another and writes the sum to the last: "triad" of STREAM.
    Triad,
}

/// What scale and triad multiply by, as STREAM does.
const SCALAR: f64 = 3.0;

/// One operation is a pass over a whole buffer: bandwidth.
#[derive(Debug)]
pub struct MemoryStream {
    buffer: KernelMemory,
    pass: Pass,
    round: u8,
}

impl MemoryStream {
    /// Passes over `bytes`; a copy reads one half and writes the other.
    pub fn new(pass: Pass, bytes: u64, huge: bool) -> Result<Self, Error> {
        let mut buffer = KernelMemory::touched(bytes.max(128), huge)?;
        match pass {
            Pass::Read | Pass::Write | Pass::Copy => {}
            // Numbers near zero take a hundred times as long.
            Pass::Scale | Pass::Add | Pass::Triad => buffer.as_numbers().fill(1.0),
        }
        Ok(Self { buffer, pass, round: 0 })
    }

    /// The numbers of the buffer in `parts` equal parts, the last of which is written.
    fn parts(&mut self, parts: usize) -> (&mut [f64], &mut [f64]) {
        let all = self.buffer.as_numbers();
        let each = all.len() / parts;
        let (from, to) = all.split_at_mut(each * (parts - 1));
        (from, &mut to[..each])
    }

    /// Scale, add and triad: one pass of arithmetic.
    #[inline(always)]
    fn compute(&mut self, pass: Pass) {
        let parts = if pass == Pass::Scale { 2 } else { 3 };
        let (from, to) = self.parts(parts);
        if pass == Pass::Scale {
            to.iter_mut().zip(from.iter()).for_each(|(to, from)| *to = SCALAR * *from);
            return;
        }
        let (a, b) = from.split_at(to.len());
        let factor = if pass == Pass::Triad { SCALAR } else { 1.0 };
        to.iter_mut().zip(a).zip(b).for_each(|((to, a), b)| *to = *a + factor * *b);
    }
}

impl Probe for MemoryStream {
    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        for _ in 0..count {
            self.round = self.round.wrapping_add(1);
            let round = self.round;
            match self.pass {
                Pass::Read => {
                    black_box(sum(self.buffer.as_slice()));
                }
                Pass::Write => self.buffer.as_slice().fill(round),
                Pass::Copy => {
                    let all = self.buffer.as_slice();
                    let half = all.len() / 2;
                    let (from, to) = all.split_at_mut(half);
                    to[..half].copy_from_slice(from);
                }
                Pass::Scale | Pass::Add | Pass::Triad => self.compute(self.pass),
            }
            black_box(&mut self.buffer);
        }
        0
    }

    /// Bytes read plus bytes written, as McCalpin's STREAM counts; the read for ownership of a written line
    /// is not counted.
    fn bytes_each(&self) -> u64 {
        self.buffer.bytes() as u64
    }
}

/// The sum of all words, in eight partial sums so that the additions are independent.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let mut sums = [0u64; 8];
    for block in bytes.chunks_exact(64) {
        for (sum, word) in sums.iter_mut().zip(block.chunks_exact(8)) {
            *sum = sum.wrapping_add(u64::from_ne_bytes(word.try_into().unwrap_or_default()));
        }
    }
    sums.iter().fold(0, |all, sum| all.wrapping_add(*sum))
}

/// The first access to a page: a minor fault and the clearing of the page.
#[derive(Debug)]
pub struct Touch {
    buffer: KernelMemory,
    step: usize,
    next: usize,
}

impl Touch {
    /// Touches the pages of `bytes` one by one and discards them when all have been touched.
    pub fn new(bytes: u64, huge: bool) -> Result<Self, Error> {
        let step = if huge { HUGE } else { page_size() };
        let buffer = KernelMemory::reserve(bytes.max(step as u64), huge)?;
        Ok(Self { buffer, step, next: 0 })
    }
}

impl Probe for Touch {
    /// Makes sure that the next `count` pages are untouched.
    fn prepare(&mut self, count: u32) {
        let needed = (count as usize).saturating_mul(self.step);
        if self.next == 0 || self.next.saturating_add(needed) > self.buffer.bytes() {
            self.buffer.discard();
            self.next = 0;
        }
    }

    #[inline(always)]
    fn run(&mut self, count: u32) -> i32 {
        let (start, bytes) = (self.buffer.start(), self.buffer.bytes());
        for _ in 0..count {
            if self.next >= bytes {
                return libc::ENOMEM;
            }
            // SAFETY: `next` is below the buffer's length.
            unsafe { start.add(self.next).write_volatile(1) };
            self.next += self.step;
        }
        0
    }

    fn faults(&self) -> bool {
        true
    }

    fn max_count(&self) -> u32 {
        u32::try_from(self.buffer.bytes() / self.step).unwrap_or(u32::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_chase_visits_every_line_once_and_comes_back(lines in 2usize..3000, seed: u64) {
            let mut chase = Chase::new((lines * LINE) as u64, false, seed).expect("little memory");
            let start = chase.at;
            let mut seen = vec![false; lines];
            for _ in 0..lines {
                let index = (chase.at as usize - start as usize) / LINE;
                prop_assert!(!std::mem::replace(&mut seen[index], true), "line {index} twice");
                chase.run(1);
            }
            prop_assert_eq!(chase.at, start);
        }

        #[test]
        fn a_batch_of_loads_ends_where_single_loads_end(count in 0u32..200, seed: u64) {
            let mut one = Chase::new(8192, false, seed).expect("little memory");
            let start = one.at;
            one.run(count);
            let far = one.at;
            one.at = start;
            (0..count).for_each(|_| { one.run(1); });
            prop_assert_eq!(one.at, far);
        }
    }

    #[test]
    fn a_chase_through_pages_visits_each_page_once() {
        let pages = 100;
        let mut chase = Chase::pages((pages * page_size()) as u64, false, 7).expect("little memory");
        let start = chase.at as usize;
        let mut seen = vec![false; pages];
        for _ in 0..pages {
            let page = (chase.at as usize - start) / page_size();
            assert!(!std::mem::replace(&mut seen[page], true), "page {page} twice");
            chase.run(1);
        }
        assert_eq!(chase.at as usize, start);
    }

    #[test]
    fn memory_of_a_node_that_is_not_there_is_refused() {
        assert!(matches!(Chase::on_node(8192, 1000, 1), Err(Error::NoNode { node: 1000 })));
        assert!(matches!(Chase::on_node(8192, 5000, 1), Err(Error::NoNode { node: 5000 })));
    }

    #[test]
    fn every_page_of_a_touch_faults_once() {
        let pages = 32;
        let mut touch = Touch::new((pages * page_size()) as u64, false).expect("little memory");
        let accounting = perf::Accounting::of_this_thread();
        for _ in 0..3 {
            touch.prepare(pages as u32);
            let before = accounting.read().minor_faults;
            assert_eq!(touch.run(pages as u32), 0);
            assert_eq!(accounting.read().minor_faults - before, pages as u64);
        }
        assert_eq!(touch.run(1), libc::ENOMEM);
    }

    #[test]
    fn streams_read_write_and_copy() {
        let mut copy = MemoryStream::new(Pass::Copy, 4096, false).expect("little memory");
        copy.buffer.as_slice()[..2048].fill(7);
        copy.run(1);
        assert!(copy.buffer.as_slice()[2048..].iter().all(|byte| *byte == 7));
        assert_eq!(sum(&[1; 128]), 16 * 0x0101_0101_0101_0101);
        assert_eq!(copy.bytes_each(), 4096);
        for (pass, wanted) in [(Pass::Scale, 3.0), (Pass::Add, 2.0), (Pass::Triad, 4.0)] {
            let mut stream = MemoryStream::new(pass, 4800, false).expect("little memory");
            stream.run(1);
            let numbers = stream.buffer.as_numbers();
            assert_eq!(numbers.len(), 600);
            assert!(numbers[400..].iter().all(|number| *number == wanted), "{pass:?}");
            assert!(numbers[..300].iter().all(|number| *number == 1.0), "{pass:?}");
        }
    }

    #[test]
    fn more_memory_than_available_is_refused_with_a_message() {
        let refused = Chase::new(1 << 60, false, 1).expect_err("an exbibyte");
        assert!(refused.to_string().contains("1 EiB"), "{refused}");
    }
}
