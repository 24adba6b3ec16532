//! Lays out the lines of a first screen: width, wrapping and colour.

use super::fit_width::broken;
use crate::shell::command_lines;
pub(crate) use crate::table::cut;
use crate::table::width;
use crate::wrap::LEAST_COLUMNS;
use crate::wrap::wrapped_with_units;

/// What a first screen may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScreenOptions {
    /// Columns; at least 40 are used.
    pub width: usize,
    /// Whether escape sequences for colours are written.
    pub colour: bool,
}

impl Default for ScreenOptions {
    /// 80 columns without colours.
    fn default() -> Self {
        ScreenOptions { width: 80, colour: false }
    }
}

/// How a piece of text is meant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tone {
    Good,
    Caution,
    Bad,
    Strong,
    Faint,
}

/// The lines of a screen.
pub(crate) struct Canvas {
    options: ScreenOptions,
    lines: Vec<String>,
}

impl Canvas {
    pub fn new(options: ScreenOptions) -> Canvas {
        Canvas {
            options: ScreenOptions { width: options.width.max(LEAST_COLUMNS), ..options },
            lines: Vec::new(),
        }
    }

    /// Columns of a line.
    pub fn width(&self) -> usize {
        self.options.width
    }

    /// Lines so far.
    pub fn height(&self) -> usize {
        self.lines.len()
    }

    /// The text, which is [`harmless`], in the colour of its tone.
    fn painted(&self, tone: Tone, text: &str) -> String {
        if !self.options.colour || text.is_empty() {
            return text.into();
        }
        let code = match tone {
            Tone::Good => "32",
            Tone::Caution => "33",
            Tone::Bad => "31",
            Tone::Strong => "1",
            Tone::Faint => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// A line as it is, without a tone; one that is too wide goes on in the next.
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.lines.extend(broken(&harmless(text.as_ref()), self.width()));
    }

    /// A line in a tone; one that is too wide goes on in the next.
    pub fn toned(&mut self, tone: Tone, text: &str) {
        for line in broken(&harmless(text), self.width()) {
            let line = self.painted(tone, &line);
            self.lines.push(line);
        }
    }

    /// A line with one text at its left and one at its right end. The left one is cut where both do not fit.
    pub fn ends(&mut self, tone: Tone, left: &str, right: &str) {
        let (left, right) = (harmless(left), harmless(right));
        let room = self.width().saturating_sub(width(&right) + usize::from(!right.is_empty()));
        let left = cut(&left, room);
        let gap =
            if right.is_empty() { 0 } else { self.width().saturating_sub(width(&left) + width(&right)) };
        let left = self.painted(tone, &left);
        self.lines.push(format!("{left}{}{right}", " ".repeat(gap)));
    }

    /// A text behind a sign in its tone, wrapped to at most so many lines, the further ones indented.
    pub fn said(&mut self, sign: &str, tone: Tone, text: &str, most: usize) {
        self.signed((sign, tone), None, text, most);
    }

    fn signed(&mut self, (sign, tone): (&str, Tone), of_text: Option<Tone>, text: &str, most: usize) {
        let indent = if sign.is_empty() { 0 } else { width(sign) + 1 };
        let room = self.width() - indent;
        let lines = wrapped_with_units(&samples::visible(text), room);
        // A word may be wider than the screen.
        let mut lines: Vec<String> = lines.iter().flat_map(|line| broken(line, room)).collect();
        if lines.len() > most {
            lines.truncate(most);
            if let Some(last) = lines.last_mut() {
                // A line that is cut has one already.
                let kept = cut(last, room - 2);
                *last = if kept.ends_with('…') { kept } else { format!("{kept} …") };
            }
        }
        for (at, line) in lines.iter().enumerate() {
            let before = match (indent, at) {
                (0, _) => String::new(),
                (_, 0) => format!("{} ", self.painted(tone, sign)),
                (indent, _) => " ".repeat(indent),
            };
            let line = of_text.map_or(line.clone(), |tone| self.painted(tone, line));
            self.lines.push(format!("{before}{line}"));
        }
    }

    /// A command that can be pasted, behind a label.
    pub fn command(&mut self, label: &str, words: &[String]) {
        self.lines.extend(command_lines(label, words, self.width()));
    }

    /// As [`Canvas::said`], with the text in bold: the line of the answer.
    pub fn answered(&mut self, sign: &str, tone: Tone, text: &str, most: usize) {
        self.signed((sign, tone), Some(Tone::Strong), text, most);
    }

    /// All lines, each with a line feed.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// One line of what users named, with whatever commands a terminal made visible: colours on a screen are the canvas's own.
fn harmless(text: &str) -> String {
    samples::visible(text).replace('\n', "\\n").replace('\t', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_asked() {
        let mut canvas = Canvas::new(ScreenOptions { width: 60, colour: false });
        canvas.ends(Tone::Strong, &"long title ".repeat(9), "11.7 s");
        canvas.said("✖", Tone::Bad, &"words ".repeat(60), 3);
        let text = canvas.text();
        assert!(text.lines().all(|line| width(line) <= 60), "{text}");
        assert_eq!(canvas.height(), 4);
        let mut canvas = Canvas::new(ScreenOptions { width: 60, colour: true });
        canvas.line(format!("Run:    {}", "/a/long/folder".repeat(9)));
        canvas.said("⚠", Tone::Caution, &"x".repeat(150), 3);
        canvas.toned(Tone::Strong, &"words ".repeat(20));
        let shown = |line: &str| {
            ["33", "1", "0"]
                .iter()
                .fold(line.to_owned(), |line, code| line.replace(&format!("\u{1b}[{code}m"), ""))
        };
        assert!(canvas.text().lines().all(|line| width(&shown(line)) <= 60), "{}", canvas.text());
        assert!(text.ends_with("…\n") && text.starts_with("long title"), "{text}");
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        let mut canvas = Canvas::new(ScreenOptions { width: 60, colour: false });
        canvas.said("", Tone::Good, &format!("{} 98%, 12 612 runs of 1.5 ms.", "x".repeat(57)), 3);
        assert_eq!(canvas.text().lines().nth(1), Some("98%, 12 612 runs of 1.5 ms."));
    }

    #[test]
    fn colours_are_written_only_where_they_are_wanted() {
        let plain = Canvas::new(ScreenOptions::default()).painted(Tone::Good, "✔");
        let canvas = Canvas::new(ScreenOptions { colour: true, width: 80 });
        let painted = canvas.painted(Tone::Good, "✔");
        assert_eq!((plain.as_str(), painted.as_str()), ("✔", "\u{1b}[32m✔\u{1b}[0m"));
    }
}
