//! Stands between a rank and its process manager, so that an `MPI_Abort` does not kill every process of the job.
//!
//! Process managers that speak PMI over an inherited socket (Hydra of MPICH and Intel MPI, `srun
//! --mpi=pmi2`) answer the message `cmd=abort` with SIGKILL for all. So the rank speaks to its keeper
//! instead, which passes everything on but that message: the rank then ends with its status as any rank
//! that gives up, and all samples are saved. Ranks speak PMI when MPI starts and ends, not in between.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use ranks::job::{Abort, SignalSet};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, recv, send, shutdown, socketpair,
};

/// The keeper's two ends.
pub(crate) struct Relay {
    /// To the process manager: the descriptor that was inherited.
    manager: BorrowedFd<'static>,
    rank: OwnedFd,
    /// What the rank gets in place of the inherited descriptor.
    given: Option<OwnedFd>,
    /// Readable when one of the signals that the keeper takes has come.
    signals: OwnedFd,
    open: bool,
    aborted: Option<Abort>,
}

/// The socket of the process manager, where it gave us one.
fn manager() -> Option<BorrowedFd<'static>> {
    let number: i32 = std::env::var("PMI_FD").ok()?.parse().ok().filter(|number| *number >= 0)?;
    // SAFETY: the descriptor was inherited for this purpose, and nothing in this process closes it.
    Some(unsafe { BorrowedFd::borrow_raw(number) })
}

impl Relay {
    /// A relay where a process manager gave us a socket; `None` elsewhere. The caller has blocked
    /// `supervised`.
    pub(crate) fn new(supervised: &SignalSet) -> Option<Self> {
        let manager = manager()?;
        let signals = supervised.descriptor().ok()?;
        let (rank, given) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).ok()?;
        Some(Self { manager, rank, given: Some(given), signals, open: true, aborted: None })
    }

    /// In the rank: its socket takes the place of the process manager's.
    pub(crate) fn enter_rank(&mut self) {
        if let Some(given) = self.given.take() {
            // SAFETY: both are open descriptors; the copy has no close-on-exec flag, as the original had none.
            unsafe { libc::dup2(given.as_raw_fd(), self.manager.as_raw_fd()) };
        }
    }

    /// In the keeper: closes the rank's end, so that the end of the rank is seen.
    pub(crate) fn rank_has_started(&mut self) {
        self.given = None;
    }

    /// The rank asked for the end of the whole job.
    pub(crate) fn aborted(&self) -> Option<Abort> {
        self.aborted
    }

    /// Waits for a message or a signal, at most for `limit`; passes messages on.
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

    /// Passes on what the rank still had to say when it ended.
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
        // Each message is sent in one piece, and its sender waits for the answer before the next.
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

    /// One side is gone: the rank sees the end as it would have seen it from the process manager, whose own
    /// socket stays open for the keeper's [`finalize`].
    fn close(&mut self) {
        self.open = false;
        let _ = shutdown(&self.rank, Shutdown::Both);
    }
}

/// The bytes that have come, none where there are none yet; `None` where the other side is gone.
fn received<'b>(from: BorrowedFd<'_>, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    match recv(from, &mut *buffer, RecvFlags::DONTWAIT) {
        Ok((0, _)) => None,
        Ok((count, _)) => Some(&buffer[..count]),
        Err(Errno::AGAIN | Errno::INTR) => Some(&[]),
        Err(_) => None,
    }
}

/// Sends all of `message`; false where the other side is gone.
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

/// Ends the conversation with a process manager that speaks PMI-1 (Hydra) in place of the rank that could
/// not: so that it keeps our exit status instead of killing the others, who leave at the same time.
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

/// `cmd=abort exitcode=7` (PMI-1) or `cmd=abort;isworld=TRUE;…` (PMI-2).
fn abort_in(words: &[u8]) -> Option<Abort> {
    let words = String::from_utf8_lossy(words);
    let mut fields = words.split([' ', ';', '\n']);
    // In PMI-2 the length of the message stands before it.
    fields.clone().find(|field| field.ends_with("cmd=abort"))?;
    Some(fields.find_map(|field| field.strip_prefix("exitcode=")?.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::abort_in;

    #[test]
    fn an_abort_is_told_from_other_messages() {
        assert_eq!(abort_in(b"cmd=abort exitcode=7 message=x\n"), Some(Some(7)));
        assert_eq!(abort_in(b"    31cmd=abort;isworld=TRUE;msg=why;"), Some(None));
        assert_eq!(abort_in(b"cmd=put kvsname=kvs_1 key=a value=abort\n"), None);
        assert_eq!(abort_in(&[0xff, 0, 10]), None);
    }
}
