//! How does a command that waits for its input end when it is told to, with everything said and stored?

use std::time::Duration;

use crate::signals;

/// Ctrl-C and SIGTERM, taken one at a time instead of ending the process.
///
/// SIGHUP keeps its meaning, so that `nohup` works.
pub struct Stop(libc::sigset_t);

impl Stop {
    /// From now on neither signal ends this process: they wait for [`Stop::wait`]. Threads that are
    /// started later inherit this; call it before the first.
    pub fn catch() -> Stop {
        let set = signals::set_of(&[libc::SIGINT, libc::SIGTERM]);
        signals::block(&set);
        Stop(set)
    }

    /// Waits for one of them, at most for `limit`, and says which it was: `Ctrl-C`, `SIGTERM`.
    pub fn wait(&self, limit: Duration) -> Option<String> {
        signals::take(&self.0, limit).map(signals::words)
    }
}
