//! The line of an answer, for commands whose screens are otherwise plain text.

use super::ScreenOptions;
use super::paint::{Canvas, Tone};

/// What the sign before an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerSign {
    /// ✔: all is well.
    Good,
    /// ⚠: attention.
    Caution,
    /// ✖: failed or incomplete, or a condition of the user does not hold.
    Bad,
    /// →: what is to be done.
    ToDo,
}

impl AnswerSign {
    /// The sign itself.
    pub fn mark(self) -> &'static str {
        self.shown().0
    }

    /// The sign and its tone.
    pub(super) fn shown(self) -> (&'static str, Tone) {
        match self {
            AnswerSign::Good => ("✔", Tone::Good),
            AnswerSign::Caution => ("⚠", Tone::Caution),
            AnswerSign::Bad => ("✖", Tone::Bad),
            AnswerSign::ToDo => ("→", Tone::Strong),
        }
    }
}

/// The answer in bold behind its sign, in at most four lines, each with a line feed.
pub fn answer_line(sign: AnswerSign, text: &str, options: ScreenOptions) -> String {
    let mut canvas = Canvas::new(options);
    let (shown, tone) = sign.shown();
    canvas.answered(shown, tone, text, 4);
    canvas.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_is_coloured_and_the_answer_bold() {
        let coloured = ScreenOptions { colour: true, width: 60 };
        let found = answer_line(AnswerSign::Caution, &"word ".repeat(16), coloured);
        let lines: Vec<&str> = found.lines().collect();
        assert!(lines[0].starts_with("\u{1b}[33m⚠\u{1b}[0m \u{1b}[1mword "), "{found:?}");
        assert!(lines[1].starts_with("  \u{1b}[1mword") && lines[1].ends_with("\u{1b}[0m"), "{found:?}");
        let plain = answer_line(AnswerSign::Good, "All is well.", ScreenOptions::default());
        assert_eq!(plain, "✔ All is well.\n");
        // What users named commands no terminal.
        assert!(!answer_line(AnswerSign::Bad, "a\u{1b}[2Jb", ScreenOptions::default()).contains('\u{1b}'));
    }
}
