//! Arguments of the commands around the others: completions, manual pages, the echo of round trips.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank completions bash > ~/.local/share/bash-completion/completions/lastrank\n  \
    lastrank completions zsh > \"${fpath[1]}/_lastrank\"\n  \
    lastrank completions fish > ~/.config/fish/completions/lastrank.fish")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    lastrank man -o ~/.local/share/man/man1\n  \
    lastrank man run | man -l -")]
pub struct ManArgs {
    /// Only the page of this command, on standard output [default: all pages, which needs -o]
    pub command: Option<String>,
    /// The folder that the pages go to, one file a command
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Bytes that come are sent back; nothing is kept. Only this machine can reach an address such as \
    127.0.0.1:7007; one that others can reach answers anybody, so use it in a network that you trust, and end it with \
    Ctrl-C or --time.\n\nExamples:\n  \
    lastrank echo\n  \
    lastrank echo 0.0.0.0:7007 --time 10min\n  \
    lastrank run local_remote --set paths=/tmp,/mnt/nfs --set echo=10.0.0.7:7007"
)]
pub struct EchoArgs {
    /// NUMBER:PORT for TCP and UDP, or the path of a socket to make
    #[arg(default_value = "127.0.0.1:7007")]
    pub address: String,
    /// End after this time [default: at Ctrl-C]
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use crate::cli::Cli;

    fn commands() -> Vec<Command> {
        let mut cli = Cli::command();
        cli.build();
        cli.get_subcommands().filter(|command| command.get_name() != "help").cloned().collect()
    }

    /// The short and the long name of each option that has both, with its command.
    fn options() -> Vec<(String, char, String)> {
        let of = |command: &Command| {
            let name = command.get_name().to_owned();
            let both = command.get_arguments().filter_map(|one| one.get_short().zip(one.get_long()));
            both.map(|(short, long)| (name.clone(), short, long.to_owned())).collect::<Vec<_>>()
        };
        commands().iter().flat_map(of).collect()
    }

    #[test]
    fn a_letter_means_the_same_in_every_command() {
        // `watch` had its own before there was one: it prints nothing unless there is an event.
        let exceptions = [("watch", 'q', "quiet"), ("watch", 'f', "follow")];
        let meant = [
            ('o', "output"),
            ('q', "one-line"),
            ('v', "verbose"),
            ('s', "quiet"),
            ('n', "ranks"),
            ('g', "group"),
            ('c', "clean"),
        ];
        let wrong: Vec<_> = options()
            .into_iter()
            .filter(|(command, short, long)| {
                let expected = meant.iter().find(|(letter, _)| letter == short);
                expected.is_some_and(|(_, name)| name != long)
                    && !exceptions.contains(&(command.as_str(), *short, long.as_str()))
            })
            .collect();
        assert_eq!(wrong, []);
    }

    #[test]
    fn json_is_one_switch_that_says_which_document_it_prints() {
        for command in commands() {
            let Some(json) = command.get_arguments().find(|one| one.get_id() == "json") else { continue };
            let help = json.get_help().map(ToString::to_string).unwrap_or_default();
            assert_eq!((json.get_long(), json.get_short()), (Some("json"), None), "{}", command.get_name());
            assert!(help.contains("JSON"), "{}: {help}", command.get_name());
        }
    }

    #[test]
    fn the_help_of_every_command_has_examples() {
        // A language server is started by an editor.
        let without: Vec<String> = commands()
            .iter()
            .filter(|command| {
                let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                !after.contains("lastrank ") && command.get_name() != "lsp"
            })
            .map(|command| command.get_name().to_owned())
            .collect();
        assert_eq!(without, Vec::<String>::new());
    }
}
