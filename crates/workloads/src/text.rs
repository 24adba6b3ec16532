//! Puts the lines of a program together.

use crate::Refusal;

/// The text of a program under construction; the formatter lays it out.
#[derive(Debug, Default)]
pub(crate) struct ProgramText(String);

impl ProgramText {
    /// Adds a line.
    pub fn line(&mut self, line: impl AsRef<str>) {
        self.0.push_str(line.as_ref());
        self.0.push('\n');
    }

    /// Adds comment lines, wrapped at 100 columns; an empty text is a line of its own.
    pub fn comment(&mut self, text: &str) {
        let mut line = String::from("#");
        for word in text.split_whitespace() {
            if line.len() > 1 && line.chars().count() + 1 + word.chars().count() > 100 {
                self.line(&line);
                line = String::from("#");
            }
            line.push(' ');
            line.push_str(word);
        }
        self.line(line);
    }

    /// Adds an empty line.
    pub fn gap(&mut self) {
        self.0.push('\n');
    }

    /// Adds a parameter with a comment.
    pub fn parameter(&mut self, name: &str, default: &str, rest: &str, comment: &str) {
        let what = if name == "dir" { "place" } else { "param" };
        self.line(format!("define {what} \"{name}\" ${name} {default} {rest} # {comment}"));
    }

    /// What was added so far.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The program in its one layout.
    pub fn finish(self) -> String {
        // A text that the formatter refuses is a mistake of this crate; checking it will name the place.
        ppl::format::format(&self.0).unwrap_or(self.0)
    }
}

/// `name` as a string of the language in which nothing is filled in.
pub(crate) fn quoted(name: &str) -> Result<String, Refusal> {
    Ok(format!("\"{}\"", escaped(name)?))
}

/// `name` as a part of a string.
pub(crate) fn escaped(name: &str) -> Result<String, Refusal> {
    if name.chars().any(|c| c.is_control() || c == '\\') {
        return Err(Refusal::Name(name.to_owned()));
    }
    Ok(name.replace('"', "\\\"").replace('$', "\\$"))
}

/// A part of a command line for a comment: one line without control characters.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
