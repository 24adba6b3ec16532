//! The runs of a folder on a terminal: a line for each.

use std::collections::BTreeSet;

use report::{Table, cut, text_width};

use super::{ListedRun, cells};

/// Widest name of a file, and of a program, that is not cut.
const WIDEST_NAME: usize = 28;
/// A name that is cut further only where the words behind it have no room at all.
const NARROW_NAME: usize = 22;
/// Fewest columns in which words about a run say something.
const FEWEST: usize = 10;
/// Columns that words about a run get before further columns do.
const ENOUGH: usize = 24;

/// A column of the lines, with the cells of all runs.
struct Field {
    head: &'static str,
    cells: Vec<String>,
}

/// The column of how runs were set, what was found in them, and the words of their users.
const SAID: &str = "<settings, note";

impl Field {
    fn new(head: &'static str, cells: impl Iterator<Item = String>) -> Self {
        Field { head, cells: cells.collect() }
    }

    /// What it takes of a line.
    fn width(&self) -> usize {
        let widest = self.cells.iter().map(|cell| text_width(cell)).max().unwrap_or(0);
        2 + widest.max(text_width(self.head.trim_start_matches('<')))
    }

    /// Cuts cells to the room that there is; whether one had to be.
    fn cut_to(&mut self, room: usize, how: fn(&str, usize) -> String) -> bool {
        let before = self.cells.clone();
        self.cells.iter_mut().for_each(|cell| *cell = how(cell, room.saturating_sub(2)));
        self.cells != before
    }

    /// Cuts names in their middle so that those which differ still do, where any cut leaves them so; whether one had to be.
    fn cut_apart(&mut self, room: usize) -> bool {
        let columns = room.saturating_sub(2);
        let names = |cells: &[String]| cells.iter().collect::<BTreeSet<_>>().len();
        let cut =
            |end: usize| self.cells.iter().map(|name| cut_middle(name, columns, end)).collect::<Vec<_>>();
        let half = columns.saturating_sub(1) / 2;
        // Most alike are the beginnings: ends are given more room first.
        let ends = || (half..columns.saturating_sub(1)).chain((0..half).rev()).map(cut);
        let all = names(&self.cells);
        let apart = ends().find(|cells| names(cells) == all);
        let found = apart.or_else(|| ends().max_by_key(|cells| names(cells)));
        let Some(found) = found else { return self.cut_to(room, report::cut) };
        let is_cut = found != self.cells;
        self.cells = found;
        is_cut
    }
}

/// A table in which each run has one line of at most `room` columns; `None` where the numbers alone take more. Names are cut in
/// their middle, words at their end; columns that find no room are left out, and the last line says so.
pub(super) fn in_lines(title: &str, runs: &[ListedRun], room: usize) -> Option<String> {
    let all: Vec<[String; 10]> = runs.iter().map(cells).collect();
    let column = |head, at: usize| Field::new(head, all.iter().map(|row| row[at].clone()));
    let mut file = column("<file", 0);
    let mut is_whole = !file.cut_apart(WIDEST_NAME + 2);
    let mut numbers: Vec<Field> = [("ops/s", 5), ("throughput", 6), ("p50", 7), ("p99", 8)]
        .into_iter()
        .map(|(head, at)| column(head, at))
        .filter(|one| one.head != "throughput" || one.cells.iter().any(|cell| cell != "–"))
        .collect();
    let taken =
        |file: &Field, numbers: &[Field]| file.width() + numbers.iter().map(Field::width).sum::<usize>();
    let mut words = Field::new(SAID, runs.iter().zip(&all).map(|(run, row)| said(run, row)));
    let said: Vec<String> = words.cells.clone();
    let has_words = words.cells.iter().any(|cell| !cell.is_empty());
    let least = if has_words { FEWEST } else { 0 };
    // The throughput follows from the rate.
    let mut left_out = Vec::new();
    if taken(&file, &numbers) + least > room {
        left_out.extend(numbers.iter().filter(|one| one.head == "throughput").map(|one| one.head));
        numbers.retain(|one| one.head != "throughput");
    }
    let rest: usize = numbers.iter().map(Field::width).sum();
    // Words get what names can spare.
    let wanted = if has_words { words.width().min(ENOUGH) } else { 0 };
    let spare = room.saturating_sub(rest + wanted).max(NARROW_NAME + 2);
    let for_file = spare.min(room.saturating_sub(rest + least)).max(FEWEST + 2);
    is_whole &= !file.cut_apart(for_file);
    let mut left = room.checked_sub(taken(&file, &numbers))?;
    let mut further = Vec::new();
    for one in asked_for(&all) {
        if one.width() + wanted <= left {
            left -= one.width();
            further.push(one);
        } else {
            left_out.push(one.head);
        }
    }
    let mut columns: Vec<Field> = std::iter::once(file).chain(further).chain(numbers).collect();
    if has_words {
        is_whole &= !words.cut_to(left, cut);
        // A sign of what went wrong says something where there is hardly room.
        let has_signs = words.cells.iter().any(|cell| cell.starts_with('✖'));
        if left >= FEWEST || has_signs && left >= 3 {
            columns.push(words);
        } else {
            left_out.push("settings and note");
        }
    }
    let heads: Vec<&str> = columns.iter().map(|one| one.head).collect();
    let mut table = Table::new(title, &heads);
    for at in 0..runs.len() {
        table.push(false, columns.iter().map(|one| one.cells[at].clone()));
    }
    let shown = columns.iter().find(|one| one.head == SAID).map_or(&[][..], |one| &one.cells);
    let wrong = wrong_in_whole(&all, (&said, shown), room);
    Some(table.in_whole_lines() + &wrong + &what_is_missing(&left_out, is_whole, room))
}

/// Below the table: what went wrong in runs whose note has no room for it, a line each.
fn wrong_in_whole(all: &[[String; 10]], (said, shown): (&[String], &[String]), room: usize) -> String {
    /// More are a matter of -v.
    const MOST: usize = 8;
    let is_cut = |at: &usize| said[*at].starts_with('✖') && shown.get(*at) != Some(&said[*at]);
    let mut cut_off = (0..said.len()).filter(is_cut);
    let line = |at: usize| {
        let text = said[at].trim_start_matches('✖').trim_start();
        format!("  {}\n", cut(&format!("✖ {}: {text}", all[at][0]), room.saturating_sub(2)))
    };
    let mut text: String = cut_off.by_ref().take(MOST).map(line).collect();
    let more = cut_off.count();
    if more > 0 {
        text += &format!("  ✖ and {more} more: -v\n");
    }
    text
}

/// The line below: which columns found no room and how they are seen, or that cells were cut.
fn what_is_missing(left_out: &[&str], is_whole: bool, room: usize) -> String {
    let names: Vec<&str> = left_out.iter().map(|head| head.trim_start_matches('<')).collect();
    let told = |how: &str| format!("Left out: {}{how}\n", names.join(", "));
    match names.is_empty() {
        true if is_whole => String::new(),
        true => "All of each run: -v\n".into(),
        false => {
            let whole = told("; a wider terminal, --columns or -v shows more");
            if text_width(whole.trim_end()) <= room { whole } else { told(" (-v)") }
        }
    }
}

/// What the names of all files do not say: when runs began, where, of which program.
fn asked_for(all: &[[String; 10]]) -> Vec<Field> {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let is_told =
        |at: usize, in_file: &dyn Fn(&str, &str) -> bool| all.iter().all(|row| in_file(&row[0], &row[at]));
    let differs = |at: usize| all.iter().map(|row| &row[at]).collect::<BTreeSet<_>>().len() > 1;
    let of = |head, at: usize| Field::new(head, all.iter().map(|row| row[at].clone()));
    let mut found = Vec::new();
    if !is_told(3, &|file, program| file.starts_with(program)) && differs(3) {
        let mut programs = of("<program", 3);
        programs.cut_to(WIDEST_NAME, cut);
        found.push(programs);
    }
    if !is_told(1, &|file, started| digits(file).contains(&digits(started))) {
        // Without the year, which the runs of a folder mostly share.
        let short = |row: &[String; 10]| match row[1].split_once('-') {
            Some((_, day)) => day.to_owned(),
            None => row[1].clone(),
        };
        found.push(Field::new("<started (UTC)", all.iter().map(short)));
    }
    if differs(2) {
        found.push(of("<machine", 2));
    }
    found
}

/// What is said of a run behind its numbers: what was found, how it was set, the words of its user.
fn said(run: &ListedRun, row: &[String; 10]) -> String {
    let (settings, note) = (&row[4], &row[9]);
    let is_first = !run.found.is_empty() || !run.complete;
    let parts = if is_first { [note, settings] } else { [settings, note] };
    let parts: Vec<&str> = parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

/// The text, or its beginning and an end of so many columns around `…` where it takes more columns.
fn cut_middle(text: &str, columns: usize, most: usize) -> String {
    if text_width(text) <= columns {
        return text.into();
    }
    let mut end = String::new();
    for letter in text.chars().rev() {
        if text_width(&end) + text_width(letter.encode_utf8(&mut [0; 4])) > most {
            break;
        }
        end.insert(0, letter);
    }
    cut(text, columns - text_width(&end)) + &end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_both_ends() {
        assert_eq!(cut_middle("randread-20261126-193743.parquet", 20, 9), "randread-2…3.parquet");
        assert_eq!(cut_middle("short", 5, 2), "short");
        for columns in 1..30 {
            assert!(
                text_width(&cut_middle(
                    "读写-20261126-193743.parquet",
                    columns,
                    columns.saturating_sub(1) / 2
                )) <= columns.max(1)
            );
        }
    }

    #[test]
    fn files_that_differ_look_different_where_their_names_are_cut() {
        let names = [
            "randread-20261126-193743.parquet",
            "randread-20261126-193753.parquet",
            "randread-20261127-080003.parquet",
        ];
        for room in [18, 20, 22, 30] {
            let mut files = Field::new("<file", names.iter().map(|name| (*name).to_owned()));
            assert!(files.cut_apart(room));
            assert_eq!(files.cells.iter().collect::<BTreeSet<_>>().len(), 3, "{:?}", files.cells);
            assert!(files.cells.iter().all(|name| text_width(name) <= room - 2), "{:?}", files.cells);
        }
        let mut files = Field::new("<file", names.iter().map(|name| (*name).to_owned()));
        assert!(!files.cut_apart(40) && files.cells == names);
    }
}
