//! Which files count where a replay is compared with the application.

use anyhow::bail;
use trace::names::escape;
use trace::select::{Choice, ToldChoice};

use crate::cli::FidelityArgs;
use crate::commands::import;

/// Which calls of the application count: those that the user chose, or else those that were chosen for the program of the
/// replays, and a line that says so.
pub fn choice(args: &FidelityArgs, told: &[ToldChoice]) -> anyhow::Result<(Choice, String)> {
    let mut choice = import::choice(&args.choice)?;
    let is_chosen = !choice.only.is_empty() || choice.all;
    let Some(first) = told.first() else { return Ok((choice, String::new())) };
    let is_like = |other: &ToldChoice| {
        other.choice.read_and_write == first.choice.read_and_write && (is_chosen || other == first)
    };
    if !told.iter().all(is_like) {
        bail!(
            "the programs of these replays were not made with the same options (--only, --all, --read-and-write): compare \
             those that are alike, or say by --only which files count"
        );
    }
    choice.read_and_write |= first.choice.read_and_write;
    if is_chosen {
        return Ok((choice, String::new()));
    }
    if first.is_hidden {
        let note = "note: the program was made with --only, and does not say of which directories: give them here too\n";
        return Ok((choice, note.to_owned()));
    }
    choice.all = first.choice.all;
    choice.only.clone_from(&first.choice.only);
    let names: Vec<String> = choice.only.iter().map(|name| escape(name)).collect();
    let line = match names.as_slice() {
        [] => String::new(),
        names => format!("As in the program, only files in {} count.\n", names.join(" and ")),
    };
    Ok((choice, line))
}
