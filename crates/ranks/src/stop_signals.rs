//! Takes Ctrl-C and SIGTERM for a command that waits for input, so that it ends with everything told and stored.

use std::time::Duration;

use crate::signals::{self, HeldSignals, SignalSet};

/// Ctrl-C and SIGTERM, taken one at a time instead of ending the process.
///
/// SIGHUP keeps its meaning, so that `nohup` works.
pub struct StopSignals(SignalSet);

impl StopSignals {
    /// From now on neither signal ends this process: they wait for [`StopSignals::wait`]. Threads that are
    /// started later inherit this; call it before the first.
    pub fn catch() -> Self {
        let set = SignalSet::of(&[libc::SIGINT, libc::SIGTERM]);
        set.block();
        Self(set)
    }

    /// As [`StopSignals::catch`], until the second part is dropped: for a command that has something to tidy up before
    /// one of them ends it ([`StopSignals::pass_on`]).
    pub fn hold() -> (Self, HeldSignals) {
        let set = SignalSet::of(&[libc::SIGINT, libc::SIGTERM]);
        (Self(set), HeldSignals::until_dropped(set))
    }

    /// Waits for one of them, at most for `limit`; where one comes, `tidy` is called and the signal does what it would
    /// have done.
    pub fn pass_on(&self, limit: Duration, tidy: impl FnOnce()) {
        let Some(signal) = self.0.take(limit) else { return };
        tidy();
        signals::let_it_act(signal, self.0);
    }

    /// Waits for one of them, at most for `limit`, and says which it was: `Ctrl-C`, `SIGTERM`.
    pub fn wait(&self, limit: Duration) -> Option<String> {
        self.0.take(limit).map(signals::reader_name)
    }
}
