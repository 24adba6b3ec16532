//! How is an `MPI_Abort` heard before the process manager kills every process of the job?
//!
//! Process managers that speak PMI over an inherited socket (Hydra of MPICH and Intel MPI, `srun
//! --mpi=pmi2`) answer the message `cmd=abort` with SIGKILL for all. So the rank speaks to its keeper
//! instead, which passes everything on but that message: the rank then ends with its status as any rank
//! that gives up, and all samples are saved. Ranks speak PMI when MPI starts and ends, not in between.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use ranks::signals;
use ranks::supervise::Abort;

/// The keeper's two ends.
pub(crate) struct Relay {
    /// To the process manager: the descriptor that was inherited.
    manager: i32,
    rank: OwnedFd,
    /// What the rank gets in place of the inherited descriptor.
    given: Option<OwnedFd>,
    /// Readable when one of the signals that the keeper takes has come.
    signals: OwnedFd,
    open: bool,
    aborted: Option<Abort>,
}

impl Relay {
    /// A relay where a process manager gave us a socket; `None` elsewhere. The caller has blocked `taken`.
    pub(crate) fn new(taken: &libc::sigset_t) -> Option<Self> {
        let manager: i32 = std::env::var("PMI_FD").ok()?.parse().ok()?;
        let signals = signals::descriptor(taken).ok()?;
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors; the result is checked.
        let made = unsafe {
            libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0, ends.as_mut_ptr())
        };
        if made != 0 {
            return None;
        }
        // SAFETY: two fresh descriptors that nobody else owns.
        let [rank, given] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        Some(Self { manager, rank, given: Some(given), signals, open: true, aborted: None })
    }

    /// In the rank: its socket takes the place of the process manager's.
    pub(crate) fn enter_rank(&mut self) {
        if let Some(given) = self.given.take() {
            // SAFETY: both are open descriptors; the copy has no close-on-exec flag, as the original had none.
            unsafe { libc::dup2(given.as_raw_fd(), self.manager) };
        }
    }

    /// In the keeper: forgets the rank's end, so that the end of the rank is seen.
    pub(crate) fn rank_has_started(&mut self) {
        self.given = None;
    }

    /// The rank asked for the end of all.
    pub(crate) fn aborted(&self) -> Option<Abort> {
        self.aborted
    }

    /// Waits for words or a signal, at most for `limit`; passes the words on.
    pub(crate) fn wait(&mut self, limit: Duration) {
        // poll(2) passes over negative descriptors.
        let wanted = |fd: i32, open: bool| libc::pollfd {
            fd: if open { fd } else { -1 },
            events: libc::POLLIN,
            revents: 0,
        };
        let rank = self.rank.as_raw_fd();
        let signals = self.signals.as_raw_fd();
        let mut sets = [wanted(signals, true), wanted(rank, self.open), wanted(self.manager, self.open)];
        // SAFETY: three live structures.
        if unsafe { libc::poll(sets.as_mut_ptr(), 3, limit.as_millis() as libc::c_int) } <= 0 {
            return;
        }
        if sets[1].revents != 0 {
            self.pass(rank, self.manager, true);
        }
        if sets[2].revents != 0 {
            self.pass(self.manager, rank, false);
        }
    }

    /// What the rank still had to say when it ended.
    pub(crate) fn drain(&mut self) {
        let rank = self.rank.as_raw_fd();
        while self.open {
            let mut set = libc::pollfd { fd: rank, events: libc::POLLIN, revents: 0 };
            // SAFETY: one live structure.
            if unsafe { libc::poll(&raw mut set, 1, 0) } <= 0 {
                return;
            }
            self.pass(rank, self.manager, true);
        }
    }

    fn pass(&mut self, from: i32, to: i32, from_rank: bool) {
        let mut words = [0_u8; 16 << 10];
        // SAFETY: the buffer lives through the call and is as long as is said.
        let got = unsafe { libc::recv(from, words.as_mut_ptr().cast(), words.len(), libc::MSG_DONTWAIT) };
        if got <= 0 {
            let error = io::Error::last_os_error();
            if got == 0 || !matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) {
                self.close();
            }
            return;
        }
        let mut words = &words[..got as usize];
        // Each message is sent in one piece, and its sender waits for the answer before the next.
        if from_rank && let Some(abort) = abort_in(words) {
            self.aborted = Some(abort);
            return;
        }
        while !words.is_empty() {
            // SAFETY: as above.
            let sent = unsafe { libc::send(to, words.as_ptr().cast(), words.len(), libc::MSG_NOSIGNAL) };
            match sent {
                sent if sent > 0 => words = &words[sent as usize..],
                _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                _ => return self.close(),
            }
        }
    }

    /// One side is gone: the rank sees the end as it would have seen it from the process manager.
    fn close(&mut self) {
        self.open = false;
        // SAFETY: our own descriptor; the process manager's stays open for the keeper's own farewell.
        unsafe { libc::shutdown(self.rank.as_raw_fd(), libc::SHUT_RDWR) };
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
