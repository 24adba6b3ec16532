//! `lastrank ior`: many ranks write and read files, as the options of IOR say.

use workloads::ior::Ior;
use workloads::like;

use crate::cli::LineArgs;
use crate::commands::line::{self, ToolLine};
use crate::exit::Status;

/// Makes the program of the options and runs it.
pub fn run(args: LineArgs) -> anyhow::Result<Status> {
    let (mut own, words) = line::divide(&args.words);
    let ior = Ior::of_words(&words).map_err(|refused| line::with_long_names(&refused))?;
    let text = ior.program(&line::typed("ior", &args.words))?;
    own.may_make_beside(&ior.file);
    let line = ToolLine { name: "ior", tool: "ior", program: text, keeps: ior.keep || ior.existing };
    let of_node = |ranks| ranks::launcher::local_ranks().map_or(ranks, u64::from);
    line::run(line, own, |phases, ranks| like::ior(phases, &ior.shape(ranks, of_node(ranks))))
}
