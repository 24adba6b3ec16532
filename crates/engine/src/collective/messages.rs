//! The memory of communications, and the call through MPI.

use ranks::Comm;
use ranks::communication::Communication;
use samples::Outcome;

use crate::buffers::Buffer;

/// Memory that ranks send from and receive into. It is kept for the next call of the same size, so that no call meets pages that
/// nobody has touched.
#[derive(Default)]
pub struct MessageMemory {
    send: Option<Buffer>,
    receive: Option<Buffer>,
}

impl MessageMemory {
    /// Makes ready what `what` sends and receives in blocks of `size` bytes.
    ///
    /// # Errors
    /// EINVAL where there is no such communication, ENOMEM without memory.
    pub fn prepare(&mut self, what: Communication, size: u64, comm: &dyn Comm) -> Result<(), i32> {
        let (send, receive) = what.memory(size, comm.size()).ok_or(libc::EINVAL)?;
        resize(&mut self.send, send)?;
        resize(&mut self.receive, receive)?;
        let place = (comm.rank(), comm.size());
        what.prepare(place, size as usize, bytes(&mut self.send), bytes(&mut self.receive));
        Ok(())
    }

    /// The call. ENOTSUP without MPI.
    pub fn communicate(&mut self, what: Communication, size: u64, comm: &dyn Comm) -> Outcome {
        match crate::mpi::of(comm) {
            Some(mpi) => mpi.communicate(what, size, bytes(&mut self.send), bytes(&mut self.receive)),
            None => Outcome::error(libc::ENOTSUP),
        }
    }

    /// Whether the right bytes came.
    pub fn came(&mut self, what: Communication, size: u64, comm: &dyn Comm) -> bool {
        what.came((comm.rank(), comm.size()), size as usize, bytes(&mut self.receive))
    }
}

fn bytes(buffer: &mut Option<Buffer>) -> &mut [u8] {
    buffer.as_mut().map(Buffer::bytes_mut).unwrap_or_default()
}

/// Memory of so many bytes, touched; what there is stays where it fits.
fn resize(buffer: &mut Option<Buffer>, length: usize) -> Result<(), i32> {
    if buffer.as_ref().map_or(0, Buffer::length) != length {
        *buffer = None;
        *buffer = (length > 0).then(|| Buffer::take(length)).transpose()?;
    }
    Ok(())
}
