//! Carries the signals of the program (`signal`, `await`) between ranks: one small message to each other rank.
//!
//! Each rank counts all signals on a board of its own ([`ranks::board`]). Messages are received whenever a rank gives a
//! signal, waits for one, or waits for its workers, and all of them before MPI ends.

use std::ffi::c_int;
use std::time::{Duration, Instant};

use ranks::{CommError, board};

use crate::abi::Handle;
use crate::library::MpiStatus;
use crate::world::{TAG_SIGNAL, World};

/// How long the signals under way are waited for at the end of a program.
const LONGEST: Duration = Duration::from_secs(10);

/// The signals that this rank has sent and received.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// Messages in flight, with their memory.
    in_flight: Vec<(Handle, Box<[u8; MESSAGE]>)>,
    sent: u64,
    received: u64,
}

/// Bytes of a message: the sender's rank, as every control message begins, and the hash of the signal's name.
const MESSAGE: usize = 12;

impl Carried {
    /// How many signals this rank has given.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends the signals that this process gave, and counts those that came. Learns of lost ranks too.
    pub(crate) fn carry(&mut self, world: &World) -> Result<(), CommError> {
        if !board::needs_carrying() || world.ended() {
            return Ok(());
        }
        for hash in board::take_outgoing() {
            self.sent += 1;
            for rank in (0..world.size).filter(|rank| *rank != world.rank) {
                self.send(world, rank, hash)?;
            }
        }
        self.release_sent(world)?;
        while let Some((_, bytes)) = world.receive(TAG_SIGNAL)? {
            let hash = bytes.first_chunk::<8>().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
            self.received += 1;
            board::count(hash).map_err(|error| CommError::Stopped { by: error.to_string() })?;
        }
        world.check_notices().map(drop)
    }

    /// Receives until all signals of all ranks, `all` of them, have come, and those of this rank are sent.
    pub(crate) fn receive_all(&mut self, world: &World, all: u64) -> Result<(), CommError> {
        let until = Instant::now() + LONGEST;
        let others = all.saturating_sub(self.sent);
        while (self.received < others || !self.in_flight.is_empty()) && Instant::now() < until {
            self.release_sent(world)?;
            if world.receive(TAG_SIGNAL)?.is_some() {
                self.received += 1;
            } else {
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    fn send(&mut self, world: &World, to: u32, hash: u64) -> Result<(), CommError> {
        let mut message = Box::new([0; MESSAGE]);
        message[..4].copy_from_slice(&world.rank.to_ne_bytes());
        message[4..].copy_from_slice(&hash.to_ne_bytes());
        let mut request: Handle = 0;
        // SAFETY: the message lives until its request is complete (`release_sent`); it is leaked if the process ends before.
        let code = unsafe {
            (world.library.f.isend)(
                message.as_ptr().cast(),
                MESSAGE as c_int,
                world.library.k.byte,
                to as c_int,
                TAG_SIGNAL,
                world.control,
                &raw mut request,
            )
        };
        self.in_flight.push((request, message));
        world.library.check("MPI_Isend", code)
    }

    /// Frees the messages that are sent.
    fn release_sent(&mut self, world: &World) -> Result<(), CommError> {
        let mut still = Vec::new();
        for (mut request, message) in std::mem::take(&mut self.in_flight) {
            let (mut done, mut status) = (0, MpiStatus::default());
            // SAFETY: the request is one of this library's and not yet complete; the rest are live variables.
            let code = unsafe { (world.library.f.test)(&raw mut request, &raw mut done, &raw mut status) };
            if done == 0 {
                still.push((request, message));
            }
            world.library.check("MPI_Test", code)?;
        }
        self.in_flight = still;
        Ok(())
    }
}
