//! Holds the texts of a program and finds the file, line and column of an offset.

use crate::diagnostic::Span;

/// Reads an included file: its text, or why it cannot be read.
pub type Loader<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

/// One file of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name, for messages.
    pub name: String,
    /// The offset of its text in [`Source::text`].
    pub start: u32,
}

/// The text of a program and of everything it includes, concatenated.
#[derive(Clone, Debug, Default)]
pub struct Source {
    text: String,
    files: Vec<SourceFile>,
    lines: Vec<u32>,
}

/// A position for messages: line and column count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The name of the file.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
}

impl Source {
    /// A program of one file.
    pub fn new(name: &str, text: &str) -> Self {
        let mut source = Self::default();
        source.append(name, text);
        source
    }

    /// Adds a file and returns its offset; `None` if the whole text would exceed 4 GiB.
    pub fn append(&mut self, name: &str, text: &str) -> Option<u32> {
        if self.text.len() + text.len() + 1 >= u32::MAX as usize {
            return None;
        }
        if !self.files.is_empty() {
            self.text.push('\n');
        }
        let start = self.text.len() as u32;
        self.files.push(SourceFile { name: name.to_owned(), start });
        self.text.push_str(text);
        self.lines.push(start);
        // Lines are short, so testing each byte is faster than a search for each line.
        self.lines.extend(
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| start + at as u32 + 1),
        );
        Some(start)
    }

    /// All texts, concatenated; spans refer to it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The files, the program first.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The text of a span.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// File, line and column of an offset.
    pub fn position(&self, offset: u32) -> Position {
        let (file, line, column) = self.locate(offset);
        Position {
            file: self.files.get(file).map(|file| file.name.clone()).unwrap_or_default(),
            line,
            column,
        }
    }

    /// The number of the file, line and column of an offset.
    pub fn locate(&self, offset: u32) -> (usize, u32, u32) {
        let (line, column) = self.line_column(offset);
        let file = self.files.partition_point(|file| file.start <= offset).saturating_sub(1);
        let start = self.files.get(file).map_or(0, |file| file.start);
        let before = self.lines.partition_point(|line| *line <= start).saturating_sub(1);
        (file, line - before as u32, column)
    }

    /// Line over all texts (which is the line of the file for the first one) and column.
    fn line_column(&self, offset: u32) -> (u32, u32) {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0) as usize;
        let before = self.text.get(start..(offset as usize).min(self.text.len())).unwrap_or("");
        (line as u32, before.chars().count() as u32 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_in_an_included_file_counts_from_that_files_beginning() {
        let mut source = Source::new("a.ppl", "one;\ntwo;\n");
        let start = source.append("b.ppl", "é three;\nfour;").unwrap();
        assert_eq!(source.position(5), Position { file: "a.ppl".into(), line: 2, column: 1 });
        assert_eq!(source.position(start + 3), Position { file: "b.ppl".into(), line: 1, column: 3 });
        assert_eq!(source.position(start + 10), Position { file: "b.ppl".into(), line: 2, column: 1 });
    }
}
