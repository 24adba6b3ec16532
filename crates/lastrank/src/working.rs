//! Says what a command works at, where that takes long and somebody watches.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::system::{HeldSignals, StopSignals};
use crate::{live, output};

/// A command that soon ends says nothing.
const QUIET: Duration = Duration::from_secs(2);

/// How often the line is looked at.
const TICK: Duration = Duration::from_millis(100);

/// A line on standard error, which goes when this is dropped or Ctrl-C ends the command. It has a thread: not for
/// commands that fork.
pub struct Working {
    shared: Arc<Shared>,
    shown: Option<JoinHandle<()>>,
    _held: Option<HeldSignals>,
}

struct Shared {
    what: Mutex<String>,
    is_over: AtomicBool,
}

impl Working {
    /// From now on, should it last, with the seconds that it has lasted.
    pub fn at(what: &str) -> Working {
        Self::begin(what, output::progress_is_seen(), |what, begun| {
            let lasted = begun.elapsed();
            (lasted >= QUIET).then(|| format!("{what}, {} s", lasted.as_secs()))
        })
    }

    /// At once, where `wanted`; [`Working::say`] changes the words.
    pub fn at_once(what: &str, wanted: bool) -> Working {
        Self::begin(what, wanted && output::progress_is_seen(), |what, _| Some(what.to_owned()))
    }

    fn begin(what: &str, is_seen: bool, line: fn(&str, Instant) -> Option<String>) -> Working {
        let shared = Arc::new(Shared { what: Mutex::default(), is_over: AtomicBool::new(false) });
        let mut working = Working { shared, shown: None, _held: None };
        if is_seen {
            working.say(what);
            let (signals, held) = StopSignals::hold();
            let shared = Arc::clone(&working.shared);
            working.shown = Some(std::thread::spawn(move || watch(&shared, &signals, line)));
            working._held = Some(held);
        }
        working
    }

    /// What it works at from now on.
    pub fn say(&self, what: &str) {
        let mut place = self.shared.what.lock().unwrap_or_else(PoisonError::into_inner);
        *place = samples::visible(what).replace(['\n', '\t'], " ");
    }
}

fn watch(shared: &Shared, signals: &StopSignals, line: fn(&str, Instant) -> Option<String>) {
    let begun = Instant::now();
    while !shared.is_over.load(Ordering::Relaxed) {
        let what = shared.what.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(line) = line(&what, begun) {
            live::show(&report::cut(&line, live::columns()));
        }
        signals.pass_on(TICK, live::clear);
    }
    live::clear();
}

impl Drop for Working {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(shown) = self.shown.take() {
            drop(shown.join());
        }
    }
}
