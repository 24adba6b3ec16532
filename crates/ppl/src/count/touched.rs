//! What a program does first with each name that is known before it runs.

use std::collections::HashSet;

use crate::commands::{Class, CommandSpec, Effect, Kind, Yields, mode};
use crate::interpret::Arguments;

/// The number of created and of removed file names in the details of a count.
const SHOWN_NAMES: usize = 4;

/// So many names are told; what comes after them is not.
const MOST: usize = 256;

/// What is done with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Touch {
    /// It is opened to read.
    Reads,
    /// It is opened to write, or made, whatever has that name.
    Makes,
    /// It is made where nothing has that name; otherwise the call fails.
    MakesNew,
    /// It is removed.
    Removes,
    /// It gets another name.
    Renames,
    /// Something else gets its name.
    Replaces,
}

/// Names in the order in which they are touched for the first time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Touched {
    names: Vec<(String, Touch)>,
    known: HashSet<String>,
    /// Are there more than are told?
    pub more: bool,
}

impl Touched {
    /// Each name with what is done first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Touch)> {
        self.names.iter().map(|(name, touch)| (name.as_str(), *touch))
    }

    /// What a command does with its names.
    pub(super) fn note(&mut self, spec: &CommandSpec, arguments: &Arguments) {
        if self.more || !matches!(spec.class, Class::File | Class::Collective) {
            return;
        }
        let path = |index: usize| spec.paths().nth(index).map_or("", |at| arguments.text(at));
        let last = spec.paths().count().saturating_sub(1);
        match spec.effect {
            Effect::Removes => self.add(path(0), Touch::Removes),
            Effect::Renames => {
                self.add(path(0), Touch::Renames);
                self.add(path(1), Touch::Replaces);
            }
            Effect::MakesDirectory => self.add(path(0), Touch::MakesNew),
            Effect::Creates if spec.yields != Yields::File => self.add(path(0), Touch::Makes),
            _ if matches!(spec.name, "link" | "symlink") => self.add(path(last), Touch::MakesNew),
            _ if spec.yields == Yields::File => {
                let mode = spec.position(Kind::Mode).map(|at| arguments.text(at));
                self.add(path(0), opens(mode, spec.class == Class::Collective));
            }
            _ if spec.moves.writes() => self.add(path(last), Touch::Makes),
            _ if spec.moves.reads() => self.add(path(0), Touch::Reads),
            _ => {}
        }
    }

    fn add(&mut self, name: &str, touch: Touch) {
        if name.is_empty() || self.known.contains(name) {
            return;
        }
        self.more |= self.names.len() >= MOST;
        if !self.more {
            self.known.insert(name.to_owned());
            self.names.push((name.to_owned(), touch));
        }
    }
}

/// Adds a name, unless there are enough.
pub(super) fn show(list: &mut Vec<String>, name: &str) {
    if list.len() < SHOWN_NAMES && !name.is_empty() && !list.iter().any(|known| known == name) {
        list.push(name.to_owned());
    }
}

/// What opening does; without a mode it creates.
fn opens(mode: Option<&str>, collective: bool) -> Touch {
    let Some(mode) = mode else { return Touch::Makes };
    if collective {
        return if mode.contains(['c', 'w']) { Touch::Makes } else { Touch::Reads };
    }
    let flags = mode::flags(mode).unwrap_or_default();
    let has = |flag: &str| flags.contains(&flag);
    match (has("O_CREAT") && has("O_EXCL"), has("O_WRONLY") || has("O_RDWR") || has("O_CREAT")) {
        (true, _) => Touch::MakesNew,
        (false, true) => Touch::Makes,
        (false, false) => Touch::Reads,
    }
}
