//! Reads a trace of `strace -f -ttt -T`.
//!
//! [`mod@line`] cuts a line into the parts of a call, [`replay`] keeps what each process has open, [`calls`] says what
//! each system call means.

mod calls;
mod line;
mod replay;

use std::collections::HashMap;

use crate::cli::ImportArgs;
use crate::commands::import::trace::{Format, Trace};
use replay::Replay;

pub(super) const FORMAT: Format = Format {
    name: "strace",
    made_by: "strace -f -ttt -T -o FILE COMMAND",
    detect: |text| text.lines().take(200).any(line::is_call),
    parse,
};

fn parse(text: &str, args: &ImportArgs) -> anyhow::Result<Trace> {
    // The working directory, if the application asked for it before changing it.
    let asked = text.lines().find_map(|line| {
        let (_, path) = line.split_once(" getcwd(\"")?;
        path.split('"').next().map(str::to_owned)
    });
    let mut replay = Replay::new(args, args.cwd.clone().or(asked).unwrap_or_default());
    // The beginning of calls during which another process was scheduled, by process.
    let mut unfinished: HashMap<u32, (f64, String)> = HashMap::new();
    for line in text.lines() {
        let Some((process, start, rest)) = line::head(line) else { continue };
        if let Some(begun) = rest.strip_suffix("<unfinished ...>") {
            unfinished.insert(process, (start, begun.trim_end().to_owned()));
        } else if let Some(resumed) = rest.strip_prefix("<... ") {
            let Some((start, mut whole)) = unfinished.remove(&process) else { continue };
            whole += resumed.split_once(" resumed>").map_or("", |(_, tail)| tail);
            if let Some(call) = line::call(process, start, &whole) {
                replay.call(&call);
            }
        } else if let Some(call) = line::call(process, start, rest) {
            replay.call(&call);
        }
    }
    Ok(replay.into_trace())
}
