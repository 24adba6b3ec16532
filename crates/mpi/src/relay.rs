//! Relays PMI messages between a rank and its process manager, and withholds aborts, so that `MPI_Abort` does
//! not kill every process of the job.
//!
//! Process managers that speak PMI over an inherited socket (Hydra of MPICH and Intel MPI, `srun
//! --mpi=pmi2`) answer the message `cmd=abort` with SIGKILL for all. So the rank is connected to its keeper
//! instead, which forwards every message except that one. The rank then ends with its status like any rank
//! that gives up, and all samples are saved. Ranks use PMI only when MPI starts and ends.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use ranks::job::{Abort, SignalSet};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, recv, send, shutdown, socketpair,
};

/// The keeper's two connections.
pub(crate) struct Relay {
    /// To the process manager: the inherited descriptor.
    manager: BorrowedFd<'static>,
    rank: OwnedFd,
    /// The descriptor that replaces the inherited one in the rank.
    given: Option<OwnedFd>,
    /// Readable when one of the keeper's signals is pending.
    signals: OwnedFd,
    open: bool,
    aborted: Option<Abort>,
    finalized: bool,
}

/// The inherited socket of the process manager, if there is one.
fn manager() -> Option<BorrowedFd<'static>> {
    let number: i32 = std::env::var("PMI_FD").ok()?.parse().ok().filter(|number| *number >= 0)?;
    // SAFETY: the descriptor was inherited for this purpose and nothing in this process closes it.
    Some(unsafe { BorrowedFd::borrow_raw(number) })
}

impl Relay {
    /// Creates a relay if this process inherited a socket of a process manager. The caller has blocked
    /// `supervised`.
    pub(crate) fn new(supervised: &SignalSet) -> Option<Self> {
        let manager = manager()?;
        let signals = supervised.descriptor().ok()?;
        let (rank, given) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).ok()?;
        Some(Self { manager, rank, given: Some(given), signals, open: true, aborted: None, finalized: false })
    }

    /// In the rank: replaces the process manager's socket by the relay's.
    pub(crate) fn enter_rank(&mut self) {
        if let Some(given) = self.given.take() {
            // SAFETY: both are open descriptors; the copy has no close-on-exec flag, as the original had none.
            unsafe { libc::dup2(given.as_raw_fd(), self.manager.as_raw_fd()) };
        }
    }

    /// In the keeper: closes the rank's end, so that the exit of the rank is noticed.
    pub(crate) fn rank_has_started(&mut self) {
        self.given = None;
    }

    /// The abort that the rank requested, if any.
    pub(crate) fn aborted(&self) -> Option<Abort> {
        self.aborted
    }

    /// Whether the rank has told the process manager that it ends.
    pub(crate) fn finalized(&self) -> bool {
        self.finalized
    }

    /// Waits for a message or a signal, at most for `limit`, and forwards messages.
    pub(crate) fn wait(&mut self, limit: Duration) {
        let input = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let (from_rank, from_manager) = {
            let rank = self.rank.as_fd();
            let mut all = [input(self.signals.as_fd()), input(rank), input(self.manager)];
            let watched = if self.open { all.len() } else { 1 };
            let limit = Timespec::try_from(limit).ok();
            if !poll(&mut all[..watched], limit.as_ref()).is_ok_and(|ready| ready > 0) {
                return;
            }
            (!all[1].revents().is_empty(), !all[2].revents().is_empty())
        };
        if from_rank {
            self.pass_from_rank();
        }
        if from_manager {
            self.pass_to_rank();
        }
    }

    /// Forwards the messages that the rank sent before it ended.
    pub(crate) fn drain(&mut self) {
        while self.open {
            let mut one = [PollFd::new(&self.rank, PollFlags::IN)];
            if !poll(&mut one, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
                return;
            }
            self.pass_from_rank();
        }
    }

    fn pass_from_rank(&mut self) {
        let mut buffer = [0_u8; 16 << 10];
        let Some(message) = received(self.rank.as_fd(), &mut buffer) else { return self.close() };
        // Each message arrives in one piece: its sender waits for the answer before sending the next.
        self.finalized |= is_finalize(message);
        if let Some(abort) = abort_in(message) {
            self.aborted = Some(abort);
        } else if !sent(self.manager, message) {
            self.close();
        }
    }

    fn pass_to_rank(&mut self) {
        let mut buffer = [0_u8; 16 << 10];
        let passed =
            received(self.manager, &mut buffer).is_some_and(|message| sent(self.rank.as_fd(), message));
        if !passed {
            self.close();
        }
    }

    /// Closes the connection after one side has gone. The rank sees end of file, as from the process manager,
    /// whose socket stays open for the keeper's [`finalize`].
    fn close(&mut self) {
        self.open = false;
        let _ = shutdown(&self.rank, Shutdown::Both);
    }
}

/// The bytes that have arrived, possibly none; `None` if the other side is closed.
fn received<'b>(from: BorrowedFd<'_>, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    match recv(from, &mut *buffer, RecvFlags::DONTWAIT) {
        Ok((0, _)) => None,
        Ok((count, _)) => Some(&buffer[..count]),
        Err(Errno::AGAIN | Errno::INTR) => Some(&[]),
        Err(_) => None,
    }
}

/// Sends all of `message`; false if the other side is closed.
fn sent(to: BorrowedFd<'_>, mut message: &[u8]) -> bool {
    while !message.is_empty() {
        match send(to, message, SendFlags::NOSIGNAL) {
            Ok(0) => return false,
            Ok(count) => message = &message[count..],
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
    true
}

/// Sends PMI-1's finalize to the process manager (Hydra) on behalf of a rank that could not. The manager then
/// reports this process's exit status instead of killing the other processes, which exit at the same time.
pub(crate) fn finalize() {
    let Some(manager) = manager() else { return };
    let message = b"cmd=finalize\n";
    if send(manager, message, SendFlags::NOSIGNAL) != Ok(message.len()) {
        return;
    }
    let mut ready = [PollFd::from_borrowed_fd(manager, PollFlags::IN)];
    let limit = Timespec::try_from(Duration::from_millis(500)).ok();
    if poll(&mut ready, limit.as_ref()).is_ok_and(|ready| ready > 0) {
        let _ = recv(manager, &mut [0_u8; 64][..], RecvFlags::DONTWAIT);
    }
}

/// `cmd=finalize` (PMI-1) or `cmd=finalize;` (PMI-2).
fn is_finalize(words: &[u8]) -> bool {
    // In PMI-2 the message is preceded by its length.
    String::from_utf8_lossy(words).split([' ', ';', '\n']).any(|field| field.ends_with("cmd=finalize"))
}

/// `cmd=abort exitcode=7` (PMI-1) or `cmd=abort;isworld=TRUE;…` (PMI-2).
fn abort_in(words: &[u8]) -> Option<Abort> {
    let words = String::from_utf8_lossy(words);
    let mut fields = words.split([' ', ';', '\n']);
    // In PMI-2 the message is preceded by its length.
    fields.clone().find(|field| field.ends_with("cmd=abort"))?;
    Some(fields.find_map(|field| field.strip_prefix("exitcode=")?.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::{abort_in, is_finalize};

    #[test]
    fn a_rank_that_ends_is_distinguished_from_other_messages() {
        assert!(is_finalize(b"cmd=finalize\n") && is_finalize(b"    13cmd=finalize;"));
        assert!(
            !is_finalize(b"cmd=put kvsname=kvs_1 key=a value=finalize\n") && !is_finalize(&[0xff, 0, 10])
        );
    }

    #[test]
    fn an_abort_is_distinguished_from_other_messages() {
        assert_eq!(abort_in(b"cmd=abort exitcode=7 message=x\n"), Some(Some(7)));
        assert_eq!(abort_in(b"    31cmd=abort;isworld=TRUE;msg=why;"), Some(None));
        assert_eq!(abort_in(b"cmd=put kvsname=kvs_1 key=a value=abort\n"), None);
        assert_eq!(abort_in(&[0xff, 0, 10]), None);
    }
}
