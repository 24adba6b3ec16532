//! The commands that measure, on systems where they cannot: each refuses, and says what can be done.

use anyhow::bail;

use crate::exit::Status;

fn refuse(command: &str) -> anyhow::Result<Status> {
    bail!(
        "`lastrank {command}` works on Linux only; on this system lastrank analyses what was measured there: report, \
         fit, compare, watch, scale, plan-runs, ls, export, check, explain, import, fidelity"
    )
}

macro_rules! commands_that_measure {
    ($($module:ident $name:literal),* $(,)?) => {
        $(pub mod $module {
            pub fn run<T>(_arguments: T) -> anyhow::Result<crate::exit::Status> {
                crate::commands::linux_only::refuse($name)
            }
        })*
    };
}

commands_that_measure! {
    echo "echo",
    io "io",
    io500 "io500",
    ior "ior",
    machine "machine",
    mem "mem",
    meta "meta",
    record "record",
    recover "recover",
    replay "replay",
    run "run",
    tour "try",
}
