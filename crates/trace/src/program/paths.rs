//! Names of an application's files as the strings of a program, below `$dir`.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use crate::maps::HashMap;
use crate::model::{NONE, Trace};
use crate::names::{NameSet, RAW, escape, is_below, parent, which_text};
use crate::packed::NumberTable;

/// Names by their numbers, as the program has them.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// The directory for which `$dir` stands.
    pub root: Vec<u8>,
    /// What follows `$dir/` in names, or texts of their own, one behind the other.
    texts: String,
    /// Where each text ends, and whether its name counts from `$dir`.
    ends: Vec<(usize, bool)>,
    /// The number of the text of each name from 1, 0 of names that the program does not have.
    places: NumberTable,
    /// How many names contain bytes that a program cannot hold, and were changed.
    pub rewritten: u64,
}

/// One name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// Whether it counts from `$dir`.
    pub below: bool,
    /// The name, without escapes; empty for `$dir` itself.
    pub text: &'a str,
}

impl Paths {
    /// The directory that holds the names `used`: the one that the user asked for, if it does.
    pub fn root_of(trace: &Trace, used: &BTreeSet<u32>, only: Option<&[u8]>) -> Vec<u8> {
        let names =
            || used.iter().map(|number| trace.names.get(*number)).filter(|name| !name.starts_with(RAW));
        match only {
            Some(only) if names().all(|name| is_below(name, only)) => only.to_vec(),
            _ => common(names()),
        }
    }

    /// The names `used` of a trace, below `root`: whether they tell nothing, and whether absolute links may lead elsewhere.
    pub fn of(trace: &Trace, used: &BTreeSet<u32>, root: Vec<u8>, (anonymise, links): (bool, bool)) -> Self {
        let mut paths = Self { root, ..Self::default() };
        let mut hidden = Hidden::default();
        let set = OnceCell::new();
        let has = |root: &[u8], target: &[u8]| {
            let names = used.iter().map(|number| trace.names.get(*number));
            let names = || names.filter(|name| !name.starts_with(RAW) && is_below(name, root));
            is_below(target, root) && set.get_or_init(|| NameSet::of(names())).has(target)
        };
        for number in used {
            let name = trace.names.get(*number);
            let (below, rest) = match name.strip_prefix(RAW) {
                Some(text) => (false, which_text(text, |target| !links || has(&paths.root, target))),
                None => (true, name.strip_prefix(paths.root.as_slice()).unwrap_or(name)),
            };
            let rest = if below { rest.strip_prefix(b"/").unwrap_or(rest) } else { rest };
            let begin = paths.texts.len();
            for (at, part) in rest.split(|byte| *byte == b'/').enumerate() {
                paths.texts += if at == 0 { "" } else { "/" };
                paths.texts += &if anonymise { hidden.name(part) } else { escape(part) };
            }
            paths.rewritten += u64::from(!anonymise && &paths.texts.as_bytes()[begin..] != rest);
            paths.ends.push((paths.texts.len(), below));
            paths.places.set(*number as usize, paths.ends.len() as u64);
        }
        paths
    }

    /// A name by its number, where the program has it.
    pub fn known(&self, number: u32) -> Option<Text<'_>> {
        let at = (self.places.get(number as usize) as usize).checked_sub(1)?;
        let (end, below) = self.ends[at];
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before].0);
        Some(Text { below, text: &self.texts[begin..end] })
    }

    /// A name by its number.
    pub fn get(&self, number: u32) -> Text<'_> {
        self.known(number).unwrap_or(Text { below: true, text: "" })
    }

    /// The names below `$dir`, by their numbers, as the program has them.
    pub fn below(&self) -> impl Iterator<Item = (u32, &str)> {
        let all = (0..self.places.len() as u32).filter_map(|number| Some((number, self.known(number)?)));
        all.filter(|(_, text)| text.below).map(|(number, text)| (number, text.text))
    }

    /// The full name that a run with `$dir` set to `dir` uses.
    pub fn whole(&self, number: u32, dir: &str) -> String {
        if number == NONE {
            return String::new();
        }
        let Text { below, text } = self.get(number);
        match (below, text.is_empty()) {
            (false, _) => text.to_owned(),
            (true, true) => dir.to_owned(),
            (true, false) => format!("{dir}/{text}"),
        }
    }
}

/// The directory that holds all names.
fn common<'a>(names: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut root: Option<Vec<u8>> = None;
    for name in names {
        let own = parent(name);
        root = Some(match root {
            None => own.to_vec(),
            Some(mut root) => {
                while !is_below(own, &root) && !root.is_empty() {
                    root.truncate(parent(&root).len());
                }
                root
            }
        });
    }
    root.unwrap_or_default()
}

/// Anonymous names: each word becomes another word, always the same one; numbers stay.
#[derive(Default)]
struct Hidden {
    words: HashMap<Vec<u8>, usize>,
}

impl Hidden {
    fn name(&mut self, part: &[u8]) -> String {
        let hex = part.iter().filter(|byte| byte.is_ascii_hexdigit()).count();
        if hex >= 16 && hex * 10 >= part.len() * 9 || part.iter().any(|byte| !byte.is_ascii()) {
            return self.word(part);
        }
        let mut out = String::new();
        let mut rest = part;
        while let Some(first) = rest.first() {
            let digits = first.is_ascii_digit();
            let end = rest.iter().position(|byte| byte.is_ascii_digit() != digits).unwrap_or(rest.len());
            match digits {
                true => out += &String::from_utf8_lossy(&rest[..end]),
                false => out += &self.word(&rest[..end]),
            }
            rest = &rest[end..];
        }
        out
    }

    /// A word of letters for a number: a, b … z, ba, bb …
    fn word(&mut self, word: &[u8]) -> String {
        if word.is_empty() {
            return String::new();
        }
        let next = self.words.len();
        let mut number = *self.words.entry(word.to_vec()).or_insert(next);
        let mut letters = Vec::new();
        loop {
            letters.push(b'a' + (number % 26) as u8);
            number /= 26;
            if number == 0 {
                break;
            }
        }
        letters.reverse();
        letters.into_iter().map(char::from).collect()
    }
}

/// A text as it stands between quotes in a program.
pub fn escaped(text: &str) -> String {
    text.replace('$', "\\$").replace('"', "\\\"")
}

/// A text as a comment of a program can hold it.
pub fn comment(text: &str) -> String {
    text.chars()
        .map(|sign| if sign.is_control() || ppl::commands_a_terminal(sign) { '?' } else { sign })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_between_quotes() {
        assert_eq!(escaped("a\"b$c"), "a\\\"b\\$c");
    }

    #[test]
    fn hidden_names_are_the_same_for_the_same_word_and_keep_numbers() {
        let mut hidden = Hidden::default();
        let names = [&b"report-07.txt"[..], b"report-08.txt", b"secret", b"07report-"];
        let hidden: Vec<String> = names.iter().map(|name| hidden.name(name)).collect();
        assert_eq!(hidden, ["a07b", "a08b", "c", "07a"]);
    }

    #[test]
    fn the_root_holds_all_names() {
        let all = [&b"/a/b/c"[..], b"/a/bd/e"];
        assert_eq!(common(all.into_iter()), b"/a");
        assert_eq!(common([&b"/a"[..], b"/b/c"].into_iter()), b"");
    }
}
