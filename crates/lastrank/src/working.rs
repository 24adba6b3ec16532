//! Says what a command works at, where that takes longer than two seconds and somebody watches.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::output;

/// Nothing is said before.
const QUIET: Duration = Duration::from_secs(2);

/// How often the line moves.
const TICK: Duration = Duration::from_millis(100);

/// A line on standard error, which goes when this is dropped. It has a thread: not for commands that fork.
pub struct Working {
    done: Option<Sender<()>>,
    shown: Option<JoinHandle<()>>,
}

impl Working {
    /// From now on, should it last.
    pub fn at(what: &str) -> Working {
        if !output::progress_is_seen() {
            return Working { done: None, shown: None };
        }
        let (done, wait) = channel();
        let what = samples::visible(what).into_owned();
        let shown = std::thread::spawn(move || {
            if wait.recv_timeout(QUIET) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            while wait.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                bar.set_message(format!("{what}, {} s", bar.elapsed().as_secs() + QUIET.as_secs()));
                bar.tick();
            }
            bar.finish_and_clear();
        });
        Working { done: Some(done), shown: Some(shown) }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(shown) = self.shown.take() {
            drop(shown.join());
        }
    }
}
