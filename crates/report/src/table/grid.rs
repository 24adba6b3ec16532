//! A table: the same cells in a terminal and on a page.

use serde::Serialize;

use crate::wrap::{columns_for, width, wrapped, wrapped_with_units};

/// Columns that a table takes at most.
const WIDEST: usize = 110;

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

    /// The table as text for a terminal, columns aligned, without colours or lines. Where it would be wider than the
    /// terminal, or than about 110 columns, text columns wrap; on a terminal that is narrower still, heads wrap too, and
    /// columns without room go on below behind the first one.
    pub fn text(&self) -> String {
        self.within(columns_for(WIDEST), columns_for(usize::MAX))
    }

    /// The table with each row in one line, however wide: for a pipe, whose reader takes lines apart.
    pub fn in_whole_lines(&self) -> String {
        const ANY: usize = 1 << 20;
        self.within(ANY, ANY)
    }

    /// The table in `room` columns if its texts can wrap to that, and in no more than `most`.
    fn within(&self, room: usize, most: usize) -> String {
        self.visible().laid_out(room, most)
    }

    /// The same with what would command a terminal made visible, so that it is as wide as it looks.
    fn visible(&self) -> Table {
        let seen = |text: &String| samples::visible(text).replace('\n', "\\n").replace('\t', "\\t");
        let row = |row: &Row| Row { cells: row.cells.iter().map(seen).collect(), ..*row };
        Table {
            title: self.title.clone(),
            columns: self.columns.clone(),
            rows: self.rows.iter().map(row).collect(),
            note: self.note.clone(),
        }
    }

    fn laid_out(&self, room: usize, most: usize) -> String {
        let widths = self.widths(room, most);
        let mut text = format!("{}\n", self.title);
        let says =
            |at: &usize| self.rows.iter().any(|row| row.cells.get(*at).is_some_and(|cell| !cell.is_empty()));
        for part in parts(&widths, most) {
            // Below, columns without anything in them say nothing.
            if part.len() > 1 && part[1] != 1 && !part[1..].iter().any(says) {
                continue;
            }
            let heads: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
            text.push_str(&self.lines(&heads, &part, &widths));
            self.rows.iter().for_each(|row| text.push_str(&self.lines(&row.cells, &part, &widths)));
        }
        if !self.note.is_empty() {
            let lines = wrapped(&self.note, (room + 6).min(columns_for(WIDEST + 6)).saturating_sub(2));
            lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
        }
        text
    }

    fn widths(&self, room: usize, most: usize) -> Vec<usize> {
        /// A text wraps to no less than this, unless it is shorter.
        const SHORTEST: usize = 8;
        let cells = |at: usize| self.rows.iter().filter_map(move |row| row.cells.get(at));
        let widest = |at: usize| cells(at).map(|cell| width(cell)).max().unwrap_or(0);
        let word = |text: &str| text.split_whitespace().map(width).max().unwrap_or(0);
        let mut widths: Vec<usize> =
            (0..self.columns.len()).map(|at| widest(at).max(width(&self.columns[at].name))).collect();
        if total(&widths) <= room {
            return widths;
        }
        // Texts first, as far as they read well: heads of several lines are harder to read.
        let least = |at: usize| match self.columns[at].number {
            true => widest(at).max(word(&self.columns[at].name)),
            false => {
                let longest = cells(at).map(|cell| word(cell)).max().unwrap_or(0);
                longest.max(word(&self.columns[at].name)).min((most / 2).saturating_sub(2)).max(SHORTEST)
            }
        };
        let least: Vec<usize> = (0..widths.len()).map(|at| least(at).min(widths[at])).collect();
        for (is_number, floor, room) in [(false, 24, room), (true, 0, most), (false, 0, most)] {
            while total(&widths) > room {
                let can =
                    |at: &usize| self.columns[*at].number == is_number && widths[*at] > least[*at].max(floor);
                let Some(at) = (0..widths.len()).filter(can).max_by_key(|at| widths[*at]) else { break };
                widths[at] -= 1;
            }
        }
        if total(&widths) > most {
            // Columns go on below: there texts need not be narrow.
            let wide = |at: usize| widest(at).max(width(&self.columns[at].name));
            widths = (0..widths.len()).map(|at| wide(at).min(least[at].max(most / 2 - 2))).collect();
        }
        widths
    }

    /// A row, or the heads, of some columns: as many lines as its longest cell has.
    fn lines(&self, cells: &[String], part: &[usize], widths: &[usize]) -> String {
        let of = |at: &usize| {
            let cell = cells.get(*at).map_or("", String::as_str);
            match self.columns[*at].number {
                true => pieces(cell, widths[*at]),
                false => pieces(cell, widths[*at]),
            }
        };
        let pieces: Vec<Vec<String>> = part.iter().map(of).collect();
        let height = pieces.iter().map(Vec::len).max().unwrap_or(1);
        let mut text = String::new();
        for line in 0..height {
            let mut shown = String::new();
            for (at, pieces) in part.iter().zip(&pieces) {
                let piece = pieces.get(line).map_or("", String::as_str);
                shown.push_str("  ");
                shown.push_str(&padded(piece, widths[*at], self.columns[*at].number));
            }
            text.push_str(&format!("{}\n", shown.trim_end()));
        }
        text
    }
}

/// Columns of a line with columns of these widths.
fn total(widths: &[usize]) -> usize {
    widths.iter().map(|width| width + 2).sum()
}

/// Which columns stand side by side: all, or as many as there is room for, each time behind the first one.
fn parts(widths: &[usize], room: usize) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for at in 0..widths.len() {
        let taken = |part: &[usize]| total(&part.iter().map(|at| widths[*at]).collect::<Vec<_>>());
        match parts.last_mut() {
            Some(part) if taken(part) + widths[at] + 2 <= room || part.len() == 1 => part.push(at),
            Some(_) => parts.push(vec![0, at]),
            None => parts.push(vec![at]),
        }
    }
    parts
}

/// A cell as lines of at most so many columns; a word that is wider is broken.
fn pieces(cell: &str, columns: usize) -> Vec<String> {
    if width(cell) <= columns {
        return vec![cell.to_owned()];
    }
    let mut found = Vec::new();
    for line in wrapped_with_units(cell, columns) {
        let mut piece = String::new();
        for letter in line.chars() {
            piece.push(letter);
            if width(&piece) > columns {
                piece.pop();
                found.push(std::mem::replace(&mut piece, letter.to_string()));
            }
        }
        found.push(piece);
    }
    found.retain(|piece| !piece.is_empty());
    found
}

impl Table {
    /// The table in lines of at most so many columns: where a row would be wider, its cells of the columns `apart` stand
    /// on a line of their own above the others, and the widest of the other texts are cut until these fit.
    pub fn stacked(&self, columns: usize, apart: &[&str]) -> String {
        const SHORTEST: usize = 8;
        let whole = self.within(WIDEST, usize::MAX);
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
        let text = rest.within(WIDEST, usize::MAX);
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
    fn heads_and_texts_wrap_and_numbers_stay_whole() {
        let mut table = Table::new("T", &["<question", "<found", "p, all tests together"]);
        table.push(false, ["does it jump".into(), "no jump of the level over the run".into(), "0.55".into()]);
        let wanted = "T\n                                       p, all\n  question      found                     tests\n\
                      \x20                                    together\n  does it jump  no jump of the level          0.55\n\
                      \x20               over the run\n";
        let found = table.within(46, 46);
        assert!(found.lines().all(|line| width(line) <= 46), "{found}");
        assert_eq!(
            found.split_whitespace().collect::<Vec<_>>().len(),
            wanted.split_whitespace().count(),
            "{found}"
        );
        assert!(
            found.lines().any(|line| line.starts_with("  does it jump") && line.ends_with("0.55")),
            "{found}"
        );
    }

    #[test]
    fn columns_without_room_go_on_below_behind_the_first_one() {
        let mut table = Table::new("T", &["<rank", "median", "slowest", "longest"]);
        table.push(false, ["14".into(), "10.25 ms".into(), "20.25 ms".into(), "30.25 ms".into()]);
        let wanted =
            "T\n  rank    median   slowest\n  14    10.25 ms  20.25 ms\n  rank   longest\n  14    30.25 ms\n";
        assert_eq!(table.within(30, 30), wanted);
    }

    proptest::proptest! {
        #[test]
        fn no_row_is_too_wide_and_no_letter_is_lost(
            rows in proptest::collection::vec(proptest::collection::vec("([a-zµ/大]{0,30} {0,1}){0,4}", 5), 0..4),
            room in 40usize..120,
        ) {
            let mut table = Table::new("T", &["<one", "a long head of two", "<three", "four", "five and more"]);
            // Cells of numbers are short.
            let cell = |at: usize, cell: &str| match at {
                0 | 2 => cell.trim().to_owned(),
                _ => cell.chars().filter(|letter| !matches!(letter, ' ' | '大')).take(12).collect(),
            };
            let letters = |text: &str| {
                let mut letters: Vec<char> = text.chars().filter(|letter| !letter.is_whitespace()).collect();
                letters.sort_unstable();
                letters.dedup();
                letters
            };
            for row in &rows {
                table.push(false, row.iter().enumerate().map(|(at, text)| cell(at, text)));
            }
            let found = table.within(room, room);
            proptest::prop_assert!(found.lines().all(|line| width(line) <= room), "{}", found);
            let cells: String = table.rows.iter().flat_map(|row| row.cells.concat().chars().collect::<Vec<_>>()).collect();
            let all = letters(&found);
            proptest::prop_assert!(letters(&cells).iter().all(|letter| all.contains(letter)), "{}", found);
        }
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
