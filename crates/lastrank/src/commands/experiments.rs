//! `lastrank experiments`: lists the programs that ship, or prints one.

use anyhow::bail;

use crate::cli::ExperimentsArgs;
use crate::exit::Status;
use crate::{experiments, output};

/// List all shipped experiments, or print the text of one.
pub fn run(args: &ExperimentsArgs) -> anyhow::Result<Status> {
    let all = experiments::all();
    match &args.name {
        None => {
            let width = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            let mut text = String::new();
            for (name, what) in &all {
                text += &format!("{name:width$}  {what}\n");
            }
            text += "\nRun one:   lastrank run NAME\nCopy one:  lastrank experiments NAME > my.ppl\n";
            output::print(&text)?;
        }
        Some(name) => match experiments::text(name) {
            Some(text) => output::print_whole(text)?,
            None => {
                let names: Vec<_> = all.into_iter().map(|(name, _)| name).collect();
                bail!("no experiment is called `{name}`; they are: {}", names.join(", "));
            }
        },
    }
    Ok(Status::Ok)
}
