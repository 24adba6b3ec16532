//! A table: the same cells in a terminal and on a page.

use serde::Serialize;

use crate::wrap::{columns_for, width, wrapped};

/// A table: the same cells in a terminal and on a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Names of the columns. Text columns stand left, numbers right.
    pub columns: Vec<Column>,
    /// Cells, as many in a row as there are columns.
    pub rows: Vec<Row>,
    /// What a reader must know of it; may be empty.
    pub note: String,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Whether it holds numbers.
    pub number: bool,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its cells.
    pub cells: Vec<String>,
    /// Whether it is what the report is about.
    pub strong: bool,
}

impl Table {
    /// A table without rows. A column whose name begins with `<` holds text.
    pub fn new(title: &str, columns: &[&str]) -> Table {
        let columns = columns
            .iter()
            .map(|name| Column { name: name.trim_start_matches('<').into(), number: !name.starts_with('<') })
            .collect();
        Table { title: title.into(), columns, ..Table::default() }
    }

    /// Adds a row; a `strong` one is what the table is about.
    pub fn push(&mut self, strong: bool, cells: impl IntoIterator<Item = String>) {
        self.rows.push(Row { cells: cells.into_iter().collect(), strong });
    }

    /// The table as text for a terminal, columns aligned, without colours or lines. Where it would be
    /// wider than the terminal, or than about 110 columns, its widest text column wraps.
    pub fn text(&self) -> String {
        const WIDEST: usize = 110;
        let mut widths: Vec<usize> = self.columns.iter().map(|column| width(&column.name)).collect();
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(&row.cells) {
                *widest = (*widest).max(width(cell));
            }
        }
        let total: usize = widths.iter().map(|width| width + 2).sum();
        let room = columns_for(WIDEST);
        let wrapping = (0..widths.len()).filter(|&at| !self.columns[at].number).max_by_key(|&at| widths[at]);
        if let Some(at) = wrapping.filter(|_| total > room) {
            widths[at] = widths[at].saturating_sub(total - room).max(widths[at].min(24));
        }
        let line = |cells: &mut dyn Iterator<Item = &String>| {
            let mut text = String::new();
            for ((cell, wanted), column) in cells.zip(&widths).zip(&self.columns) {
                text.push_str("  ");
                text.push_str(&padded(cell, *wanted, column.number));
            }
            format!("{}\n", text.trim_end())
        };
        let mut text = format!("{}\n", self.title);
        text.push_str(&line(&mut self.columns.iter().map(|column| &column.name)));
        for row in &self.rows {
            let mut cells = row.cells.clone();
            let mut further = Vec::new();
            if let Some(at) = wrapping {
                let mut pieces = wrapped(&cells[at], widths[at]);
                further = pieces.split_off(1);
                cells[at] = pieces.swap_remove(0);
            }
            text.push_str(&line(&mut cells.iter()));
            for piece in further {
                let alone: Vec<String> = (0..widths.len())
                    .map(|at| if Some(at) == wrapping { piece.clone() } else { String::new() })
                    .collect();
                text.push_str(&line(&mut alone.iter()));
            }
        }
        if !self.note.is_empty() {
            wrapped(&self.note, columns_for(WIDEST + 6) - 2)
                .iter()
                .for_each(|line| text.push_str(&format!("  {line}\n")));
        }
        text
    }
}

impl Table {
    /// The table in lines of at most so many columns: where a row would be wider, its cells of the columns `apart` stand
    /// on a line of their own above the others, and the widest of the other texts are cut until these fit.
    pub fn stacked(&self, columns: usize, apart: &[&str]) -> String {
        const SHORTEST: usize = 8;
        let whole = self.text();
        if whole.lines().all(|line| width(line) <= columns) {
            return whole;
        }
        let (above, below): (Vec<usize>, Vec<usize>) =
            (0..self.columns.len()).partition(|at| apart.contains(&self.columns[*at].name.as_str()));
        let widest = |at: usize| {
            let cells = self.rows.iter().map(|row| width(&row.cells[at]));
            cells.max().unwrap_or(0).max(width(&self.columns[at].name))
        };
        let mut widths: Vec<usize> = below.iter().map(|at| widest(*at)).collect();
        while 2 + widths.iter().map(|width| width + 2).sum::<usize>() > columns.min(100) {
            let texts = (0..below.len()).filter(|at| !self.columns[below[*at]].number);
            let Some(at) = texts.max_by_key(|at| widths[*at]).filter(|at| widths[*at] > SHORTEST) else {
                break;
            };
            widths[at] -= 1;
        }
        let mut rest = Table {
            title: self.title.clone(),
            columns: below.iter().map(|at| self.columns[*at].clone()).collect(),
            ..Table::default()
        };
        for (column, width) in rest.columns.iter_mut().zip(&widths) {
            column.name = cut(&column.name, *width);
        }
        for row in &self.rows {
            let cells = below.iter().zip(&widths).map(|(at, width)| cut(&row.cells[*at], *width));
            rest.push(row.strong, cells);
        }
        let text = rest.text();
        let mut lines = text.lines();
        let mut out = format!("{}\n", lines.next().unwrap_or_default());
        out.push_str(&lines.next().map_or(String::new(), |heads| format!("  {heads}\n")));
        for (row, line) in self.rows.iter().zip(lines) {
            let cells = above.iter().map(|at| row.cells[*at].as_str()).filter(|cell| !cell.is_empty());
            out.push_str(&format!("  {}\n  {line}\n", cells.collect::<Vec<_>>().join("  ")));
        }
        out
    }
}

/// The text, or its beginning and `…` where it takes more columns.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.into();
    }
    let mut out = String::new();
    for letter in text.chars() {
        out.push(letter);
        if width(&out) + 1 > columns {
            out.pop();
            break;
        }
    }
    format!("{}…", out.trim_end())
}

/// The text in a field of `wanted` columns, at its right end or at its left.
fn padded(text: &str, wanted: usize, right: bool) -> String {
    let space = " ".repeat(wanted.saturating_sub(width(text)));
    if right { format!("{space}{text}") } else { format!("{text}{space}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_left_and_numbers_right() {
        let mut table = Table::new("Title", &["<name", "count"]);
        table.push(false, ["µ".into(), "1".into()]);
        table.push(true, ["longer".into(), "1000000".into()]);
        assert_eq!(table.text(), "Title\n  name      count\n  µ             1\n  longer  1000000\n");
    }

    #[test]
    fn rows_that_are_too_wide_stand_below_their_name() {
        let mut table = Table::new("T", &["<file", "<program", "rate", "<note"]);
        table.push(false, ["a".repeat(30), "parallel_write".into(), "12 MiB/s".into(), "quiet".into()]);
        table.push(false, ["b".into(), "disk".into(), "–".into(), String::new()]);
        assert_eq!(table.stacked(80, &["file", "note"]), table.text());
        let name = "a".repeat(30);
        let wanted = format!(
            "T\n    program             rate\n  {name}  quiet\n    parallel_write  12 MiB/s\n  b\n    disk                   –\n"
        );
        assert_eq!(table.stacked(60, &["file", "note"]), wanted);
        let narrow = table.stacked(22, &["file", "note"]);
        assert!(narrow.contains("    paralle…  12 MiB/s\n"), "{narrow}");
    }

    #[test]
    fn wide_and_combining_characters_keep_the_columns_aligned() {
        let mut table = Table::new("T", &["<name", "n"]);
        table.push(false, ["読み".into(), "1".into()]);
        table.push(false, ["cafe\u{301}".into(), "22".into()]);
        assert_eq!(table.text(), "T\n  name   n\n  読み   1\n  cafe\u{301}  22\n");
    }
}
