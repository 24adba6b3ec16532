//! `lastrank watch`: raises an alarm when a stream of durations becomes slower than its baseline.
//!
//! [`baseline`] calibrates, [`source`] reads values as they come, [`per_run`] says which number of a run counts, [`session`]
//! pushes values into the monitor and tells what happens, [`state`] and [`prometheus`] are the files that it leaves.

mod baseline;
mod per_run;
mod prometheus;
mod session;
mod source;
mod state;

use anyhow::{Context, bail};

use crate::cli::WatchArgs;
use crate::exit::{self, Status};
use crate::system::StopSignals;
pub use baseline::of_folder as folder;
pub use per_run::runs_of;
use session::Session;

/// Watch a stream to its end, or until Ctrl-C; the exit status says whether there was an alarm.
pub fn run(args: &WatchArgs) -> anyhow::Result<Status> {
    if !(args.every > 0.0 && args.every <= 86_400.0) {
        bail!("--every {}: between 0 and 86400 seconds", args.every);
    }
    if let Some(runs @ ..50) = args.rebaseline {
        bail!("--rebaseline {runs}: a baseline needs at least 50 runs");
    }
    if args.baseline.as_os_str() == "-" {
        bail!("the baseline must be a file: standard input is for the stream");
    }
    if args.follow && args.stream.as_os_str() == "-" {
        bail!("--follow is for files and directories; standard input is followed to its end anyway");
    }
    if args.state.is_some() && args.state == args.prometheus {
        bail!("--state and --prometheus name the same file");
    }
    if args.stream.as_os_str() != "-" {
        std::fs::metadata(&args.stream).with_context(|| format!("cannot watch {}", args.stream.display()))?;
    }
    // Before the calibration, whose threads would otherwise take the signal and end the process.
    let stop = source::waits(args).then(StopSignals::catch);
    let baseline = baseline::read(args)?;
    let mut session = Session::open(args, baseline, stop.is_some())?;
    match source::read(args, &mut session, stop) {
        // Whoever read the events went away: what was found until then is the answer.
        Err(error) if !exit::is_broken_pipe(&error) => {
            session.keep();
            Err(error)
        }
        _ => session.finish(),
    }
}
