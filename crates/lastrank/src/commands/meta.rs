//! `lastrank meta`: files and directories are created, asked for and removed, as the options of mdtest say.

use std::path::Path;

use workloads::like;
use workloads::mdtest::Mdtest;

use crate::cli::LineArgs;
use crate::commands::line::{self, ToolLine};
use crate::exit::Status;

/// Makes the program of the options and runs it.
pub fn run(args: LineArgs) -> anyhow::Result<Status> {
    let (mut own, words) = line::divide(&args.words);
    let mdtest = Mdtest::of_words(&words).map_err(|refused| line::with_long_names(&refused))?;
    let text = mdtest.program(&line::typed("meta", &args.words))?;
    own.may_write_beside(Path::new(&mdtest.directory));
    let line = ToolLine { name: "meta", tool: "mdtest", program: text, keeps: !mdtest.removes };
    line::run(line, own, |phases, _| like::mdtest(phases))
}
