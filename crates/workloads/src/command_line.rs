//! Splits a command line of short options (`-b 16m -FC -t1m`) as `getopt` does.

use crate::Refusal;

/// An option of a tool: its letter, and whether it takes a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Letter {
    /// As on the command line.
    pub letter: char,
    /// What its value is; `None` of a switch.
    pub value: Option<&'static str>,
    /// Why it is not supported; `None` where it is.
    pub unsupported: Option<&'static str>,
}

impl Letter {
    /// A switch.
    pub const fn switch(letter: char) -> Self {
        Self { letter, value: None, unsupported: None }
    }

    /// An option with a value.
    pub const fn with(letter: char, value: &'static str) -> Self {
        Self { letter, value: Some(value), unsupported: None }
    }

    /// A switch of the tool that is refused.
    pub const fn refused(letter: char, why: &'static str) -> Self {
        Self { letter, value: None, unsupported: Some(why) }
    }

    /// An option with a value that is refused.
    pub const fn refused_with(letter: char, why: &'static str) -> Self {
        Self { letter, value: Some(""), unsupported: Some(why) }
    }
}

/// The options of a command line in their order: letter and value (empty of a switch).
///
/// # Errors
/// Options that are unknown or refused, values that are missing, words that belong to no option: all of them.
pub(crate) fn options(
    tool: &'static str,
    known: &[Letter],
    words: &[String],
) -> (Vec<(char, String)>, Vec<Refusal>) {
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let letters = match word.strip_prefix('-') {
            Some(letters) if !letters.is_empty() && !letters.starts_with('-') => letters,
            _ => {
                wrong.push(Refusal::Unknown { tool, option: word.clone(), nearest: None });
                continue;
            }
        };
        for (at, letter) in letters.char_indices() {
            let option = format!("-{letter}");
            let Some(known) = known.iter().find(|known| known.letter == letter) else {
                wrong.push(Refusal::Unknown { tool, option, nearest: None });
                break;
            };
            let mut value = None;
            if known.value.is_some() {
                let attached = &letters[at + letter.len_utf8()..];
                value = match attached.strip_prefix('=').unwrap_or(attached) {
                    "" => rest.next().cloned(),
                    attached => Some(attached.to_owned()),
                };
            }
            match (known.unsupported, known.value, value) {
                (Some(why), value, _) => {
                    wrong.push(Refusal::Unsupported { tool, option, why });
                    if value.is_some() {
                        break;
                    }
                }
                (None, None, _) => found.push((letter, String::new())),
                (None, Some(_), Some(value)) => {
                    found.push((letter, value));
                    break;
                }
                (None, Some(want), None) => {
                    wrong.push(Refusal::NoValue { option, want });
                    break;
                }
            }
        }
    }
    (found, wrong)
}

/// A value that was refused.
pub(crate) fn bad(letter: char, value: &str, want: &'static str) -> Refusal {
    Refusal::BadValue { option: format!("-{letter}"), value: value.to_owned(), want }
}

/// The words of a line, with quotes as a shell has them; `None` where one is not closed.
///
/// ```
/// assert_eq!(workloads::ior::words("ior -o 'a b' -F"), Some(vec!["ior".into(), "-o".into(), "a b".into(), "-F".into()]));
/// ```
pub fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}
