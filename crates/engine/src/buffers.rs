//! The memory that transfers come from and go to.

use std::ptr::NonNull;

use samples::Outcome;

use samples::random::split_mix;

/// The content of files repeats after this many bytes: what lies at offset x of any file written
/// without a buffer of its own is byte x mod [`PERIOD`] of one incompressible sequence. Reads can
/// therefore be verified whoever wrote the file, in whichever pieces.
pub const PERIOD: usize = 1 << 20;

/// Page-aligned anonymous memory with seeded incompressible content.
#[derive(Debug)]
pub struct Buffer {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: a buffer owns its mapping; nothing in it is tied to a thread.
unsafe impl Send for Buffer {}
// SAFETY: buffers that threads share are read and written by system calls through their address only, as
// the program that shares them wants it; no reference to their bytes is made then.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Takes memory and touches every page of it: this is the part of `alloc` that is timed.
    #[inline(always)]
    pub fn take(length: usize) -> Result<Self, i32> {
        let length = length.max(1);
        // SAFETY: a new anonymous mapping touches no other memory.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::ENOMEM));
        }
        NonNull::new(address.cast()).map(|base| Self { base, length }).ok_or(libc::ENOMEM)
    }

    /// Gives the memory back: this is what `free` times.
    #[inline(always)]
    pub fn give_back(self) -> Outcome {
        let (base, length) = (self.base, self.length);
        std::mem::forget(self);
        // SAFETY: the mapping was made by `take` with this address and length and is not used after.
        if unsafe { libc::munmap(base.as_ptr().cast(), length) } == 0 {
            Outcome::default()
        } else {
            Outcome::error(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL))
        }
    }

    /// Fills it with the sequence of `seed`, from its beginning.
    pub fn fill(&mut self, seed: u64) {
        let bytes = self.bytes_mut();
        let first = bytes.len().min(PERIOD);
        sequence(seed, &mut bytes[..first]);
        let mut done = first;
        while done < bytes.len() {
            let more = done.min(bytes.len() - done);
            bytes.copy_within(..more, done);
            done += more;
        }
    }

    /// Bytes it holds.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Where it begins.
    #[inline(always)]
    pub fn pointer(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Its first `most` bytes.
    ///
    /// # Safety
    /// As long as they are borrowed nobody writes to them: no call of a driver, no other thread, no library that
    /// has their address.
    pub unsafe fn bytes(&self, most: usize) -> &[u8] {
        // SAFETY: the mapping is `length` bytes of initialised memory that `self` owns; that nobody changes them is
        // the caller's promise.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), most.min(self.length)) }
    }

    /// Its bytes, to change.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; `self` is borrowed exclusively, so nobody else has been given it.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.length) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: as in `give_back`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// Fills `bytes` with the first bytes of the sequence of `seed`: the outputs of SplitMix64 (Steele,
/// Lea and Flood 2014), which no compressor shortens.
pub fn sequence(seed: u64, bytes: &mut [u8]) {
    let mut state = seed;
    for word in bytes.chunks_mut(8) {
        word.copy_from_slice(&split_mix(&mut state).to_ne_bytes()[..word.len()]);
    }
}

/// The memory that commands without a buffer of their own transfer from and to. It grows to the
/// largest transfer before that transfer is timed.
#[derive(Debug)]
pub struct Scratch {
    seed: u64,
    out: Option<Buffer>,
    back: Option<Buffer>,
    /// Memory that was replaced while transfers from it may be under way; `None`: none are.
    replaced: Option<Vec<Buffer>>,
}

/// The most that one transfer takes from a scratch buffer; more is moved in pieces of this size.
pub const SCRATCH_LIMIT: usize = 1 << 30;

impl Scratch {
    /// Nothing yet.
    pub fn new(seed: u64) -> Self {
        Self { seed, out: None, back: None, replaced: None }
    }

    /// Are transfers under way while others begin? Then memory that is replaced by more of it stays
    /// until this is over.
    pub fn keep_replaced(&mut self, keep: bool) {
        self.replaced = keep.then(Vec::new);
    }

    /// Where `found`, which was read at `offset`, differs from what belongs there; `None` where it does
    /// not, or where there is no memory to say so.
    pub fn differs(&mut self, offset: u64, found: &[u8]) -> Option<usize> {
        for (number, piece) in (0..).zip(found.chunks(SCRATCH_LIMIT)) {
            let before = number * SCRATCH_LIMIT;
            let expected = self.outgoing(offset + before as u64, piece.len()).ok()?;
            // SAFETY: `outgoing` gave memory for as many bytes, which lives until the next call.
            let expected = unsafe { std::slice::from_raw_parts(expected, piece.len()) };
            if expected != piece {
                return expected.iter().zip(piece).position(|(a, b)| a != b).map(|at| before + at);
            }
        }
        None
    }

    /// Copies what belongs at `offset` into `part`.
    ///
    /// Errors: the errno where there is no memory.
    pub fn copy_content(&mut self, offset: u64, part: &mut [u8]) -> Result<(), i32> {
        for (number, piece) in (0..).zip(part.chunks_mut(SCRATCH_LIMIT)) {
            let from = self.outgoing(offset + number * SCRATCH_LIMIT as u64, piece.len())?;
            // SAFETY: `outgoing` gave memory for as many bytes, which lives until the next call.
            piece.copy_from_slice(unsafe { std::slice::from_raw_parts(from, piece.len()) });
        }
        Ok(())
    }

    /// Memory with the content that belongs at `offset`, for a write of `length` bytes.
    ///
    /// Errors: the errno where there is no memory.
    #[inline]
    pub fn outgoing(&mut self, offset: u64, length: usize) -> Result<*const u8, i32> {
        let length = length.min(SCRATCH_LIMIT);
        let shift = (offset % PERIOD as u64) as usize;
        let wanted = shift + length;
        if self.out.as_ref().is_none_or(|buffer| buffer.length() < wanted) {
            // A whole period beyond the transfer: the next one at another offset fits as well.
            let mut buffer = Buffer::take((length + PERIOD).next_multiple_of(4096))?;
            buffer.fill(self.seed);
            let old = self.out.replace(buffer);
            if let (Some(kept), Some(old)) = (&mut self.replaced, old) {
                kept.push(old);
            }
        }
        // SAFETY: `shift + length` is within the buffer.
        self.out
            .as_ref()
            .map(|buffer| unsafe { buffer.pointer().add(shift) }.cast_const())
            .ok_or(libc::ENOMEM)
    }

    /// Memory for a read of `length` bytes.
    ///
    /// Errors: the errno where there is no memory.
    #[inline]
    pub fn incoming(&mut self, length: usize) -> Result<*mut u8, i32> {
        let length = length.min(SCRATCH_LIMIT);
        if self.back.as_ref().is_none_or(|buffer| buffer.length() < length) {
            self.back = Some(Buffer::take(length.next_multiple_of(4096).max(4096))?);
        }
        self.back.as_ref().map(Buffer::pointer).ok_or(libc::ENOMEM)
    }

    /// Compares the first `length` bytes read last with what belongs at `offset`; where they differ,
    /// the distance of the first wrong byte.
    pub fn verify(&mut self, offset: u64, length: usize) -> Result<Option<usize>, i32> {
        let expected = self.outgoing(offset, length)?;
        let Some(back) = &self.back else { return Ok(None) };
        let length = length.min(SCRATCH_LIMIT).min(back.length());
        // SAFETY: `outgoing` gave memory for `length` bytes, which lives until the next call.
        let expected = unsafe { std::slice::from_raw_parts(expected, length) };
        // SAFETY: the read into it is over: verification follows it, and the memory is of this rank alone.
        let found = unsafe { back.bytes(length) };
        if expected == found {
            return Ok(None);
        }
        Ok(expected.iter().zip(found).position(|(a, b)| a != b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_in_pieces_is_what_is_written_at_once() {
        let mut scratch = Scratch::new(7);
        let whole = read_out(&mut scratch, 0, 3 * PERIOD + 100);
        for (offset, length) in [(0, 10), (5, 4096), (PERIOD - 3, 9), (2 * PERIOD + 11, PERIOD)] {
            let piece = read_out(&mut scratch, offset as u64, length);
            assert_eq!(piece, whole[offset..offset + length], "at {offset}");
        }
    }

    fn read_out(scratch: &mut Scratch, offset: u64, length: usize) -> Vec<u8> {
        let from = scratch.outgoing(offset, length).expect("memory");
        // SAFETY: `outgoing` gives `length` readable bytes.
        unsafe { std::slice::from_raw_parts(from, length) }.to_vec()
    }

    #[test]
    fn a_wrong_byte_is_found_where_it_is() {
        let mut scratch = Scratch::new(7);
        let from = scratch.outgoing(4096, 512).expect("memory");
        let into = scratch.incoming(512).expect("memory");
        // SAFETY: both are valid for 512 bytes and distinct.
        unsafe { into.copy_from_nonoverlapping(from, 512) };
        assert_eq!(scratch.verify(4096, 512), Ok(None));
        // SAFETY: inside the buffer.
        unsafe { *into.add(100) ^= 1 };
        assert_eq!(scratch.verify(4096, 512), Ok(Some(100)));
    }

    #[test]
    fn content_does_not_repeat_within_a_period() {
        let mut bytes = vec![0; PERIOD];
        sequence(1, &mut bytes);
        let mut words: Vec<&[u8]> = bytes.chunks(8).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), PERIOD / 8);
    }
}
