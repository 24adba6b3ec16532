//! `lastrank man`: writes manual pages, one of lastrank and one of each command.

use anyhow::{Context, bail};
use clap::CommandFactory;

use crate::cli::{Cli, ManArgs};
use crate::exit::Status;
use crate::output;

/// Writes them, or prints one.
pub fn run(args: &ManArgs) -> anyhow::Result<Status> {
    let mut cli = Cli::command().disable_help_subcommand(true);
    cli.build();
    let names: Vec<String> = cli.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    match (&args.command, &args.output) {
        (Some(name), _) => {
            let Some(command) = cli.get_subcommands().find(|command| command.get_name() == name) else {
                bail!("there is no command `{name}`; the commands are: {}", names.join(", "));
            };
            output::print_whole(&page(command)?)?;
        }
        (None, Some(folder)) => {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            for command in std::iter::once(&cli).chain(cli.get_subcommands()) {
                let file = folder.join(format!("{}.1", title(command)));
                let text = page(command)?;
                std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
            }
            output::print(&format!("{} pages in {}\n", names.len() + 1, folder.display()))?;
        }
        (None, None) => bail!("name a command (`lastrank man run`), or a folder for all pages (`-o DIR`)"),
    }
    Ok(Status::Ok)
}

/// `lastrank`, `lastrank-run`.
fn title(command: &clap::Command) -> String {
    match command.get_name() {
        "lastrank" => "lastrank".into(),
        name => format!("lastrank-{name}"),
    }
}

fn page(command: &clap::Command) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let versioned = command.clone().version(env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(versioned).title(title(command)).render(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
