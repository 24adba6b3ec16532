//! The answer of a run: the sentences, short tables and figures that its program declares to be what it is about.
//!
//! A program declares the form of its answer in its header, `define report {"answer": "rows"}`; the shipped
//! experiments do, and a user's program can. The answer stands first in the terminal, on the page and in JSON; a fitted
//! distribution is then folded below it.
//!
//! | form | answers | labels |
//! |---|---|---|
//! | `ladder` | time of an access by the size of what it is in, and bandwidth by size | a size in each label |
//! | `sides` | one place against another: directories, mounts | the place first: `/mnt/a random, warm` |
//! | `calls` | calls a second, alone and in batches | `single`, `batch`, `WAY batch` |
//! | `rows` | one row for each label, in sections | `SECTION: NAME`, or `NAME` |
//! | `matrix` | one time for each two of a kind: processors, memory nodes | `KIND A to B` |
//! | `load` | the time of an operation beside what others move meanwhile | one label a load, the first without |
//! | `phases` | quantity, average, minimum and maximum of the operations of each phase | one label a phase |

mod calls;
mod cells;
mod declared;
mod ladder;
mod load;
mod matrix;
mod phases;
mod picture;
mod rows;
mod sides;
mod spread;
mod streams;

pub(crate) use cells::mib;
use results::ResultRow;
use samples::Run;
use serde::Serialize;

use crate::Chapter;
use crate::figures::Figure;
use crate::table::{Table, cut, width};
use crate::views::Seen;

/// The answer that a program declares.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Its form.
    pub form: AnswerForm,
    /// What was found, a sentence each; the first is the answer.
    pub sentences: Vec<String>,
    /// How many of the sentences the first screen tells.
    #[serde(skip)]
    first_sentences: usize,
    /// The table of the first screen, where that has rows or columns of its own.
    #[serde(skip)]
    first_table: Option<FirstTable>,
    /// All tables; the first screen shows the first of them where it has none of its own.
    pub tables: Vec<Table>,
    /// The figures, which stand in the first chapter of the report.
    #[serde(skip)]
    pub figures: Vec<Figure>,
}

/// The table of a first screen: the rows that are asked for.
#[derive(Clone, Debug)]
struct FirstTable {
    table: Table,
    /// Rows of the tables that these are taken from, which `-v` shows.
    of: usize,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerForm {
    /// Time of an access by the size of what it is in.
    Ladder,
    /// One place against another.
    Sides,
    /// Calls a second, alone and in batches.
    Calls,
    /// One row for each label.
    Rows,
    /// The operations of each phase.
    Phases,
    /// Each two of a kind.
    Matrix,
    /// An operation beside what others move meanwhile.
    Load,
}

impl AnswerForm {
    const ALL: [AnswerForm; 7] = [
        AnswerForm::Ladder,
        AnswerForm::Sides,
        AnswerForm::Calls,
        AnswerForm::Rows,
        AnswerForm::Phases,
        AnswerForm::Matrix,
        AnswerForm::Load,
    ];

    /// As a program writes it.
    pub fn name(self) -> &'static str {
        match self {
            AnswerForm::Ladder => "ladder",
            AnswerForm::Sides => "sides",
            AnswerForm::Calls => "calls",
            AnswerForm::Rows => "rows",
            AnswerForm::Phases => "phases",
            AnswerForm::Matrix => "matrix",
            AnswerForm::Load => "load",
        }
    }
}

/// What the forms of answers are computed from.
#[derive(Clone, Copy)]
struct Measured<'a> {
    run: &'a Run,
    seen: &'a Seen<'a>,
    results: &'a [ResultRow],
    /// Cost of an empty timing, in seconds; 0 where it is not known.
    clock: f64,
}

/// The answer that the program of the run declares.
///
/// `None` where it declares none.
///
/// # Errors
/// A text that says why there is no such answer: the form is unknown, or the run lacks what it needs.
pub(crate) fn of(seen: &Seen, results: &[ResultRow]) -> Option<Result<Answer, String>> {
    let run = seen.run;
    let wanted = run.facts.report.get("answer")?;
    let Some(form) = AnswerForm::ALL.into_iter().find(|form| form.name() == wanted) else {
        let names: Vec<&str> = AnswerForm::ALL.into_iter().map(AnswerForm::name).collect();
        let all = names.join(", ");
        return Some(Err(format!(
            "`define report` asks for the answer `{wanted}`, which there is not; there are {all}."
        )));
    };
    let clock = run.facts.clock.as_ref().map_or(0.0, |clock| clock.overhead.p50_ps as f64 * 1e-12);
    let measured = Measured { run, seen, results, clock };
    let found = match form {
        AnswerForm::Ladder => ladder::answer(measured),
        AnswerForm::Sides => sides::answer(measured),
        AnswerForm::Calls => calls::answer(measured),
        AnswerForm::Rows => rows::answer(measured),
        AnswerForm::Phases => phases::answer(measured),
        AnswerForm::Matrix => matrix::answer(measured),
        AnswerForm::Load => load::answer(measured),
    };
    Some(found.map(|answer| Answer { form, ..answer }).ok_or_else(|| {
        format!("The answer `{wanted}` needs operations that this run does not have, or has too few of.")
    }))
}

impl Answer {
    /// An answer whose form is filled in by [`of`].
    fn new(sentences: Vec<String>, tables: Vec<Table>, figures: Vec<Figure>) -> Answer {
        let first_sentences = sentences.len();
        Answer { form: AnswerForm::Rows, sentences, first_sentences, first_table: None, tables, figures }
    }

    /// With sentences that the first screen leaves to the page and `-v`.
    fn and_further(mut self, further: impl IntoIterator<Item = String>) -> Answer {
        self.sentences.extend(further);
        self
    }

    /// With this table on the first screen; none of no rows. It is taken from so many rows.
    fn first(mut self, table: Table, of: usize) -> Answer {
        self.first_table = (!table.rows.is_empty()).then_some(FirstTable { table, of });
        self
    }

    /// The sentences of the first screen.
    pub(crate) fn brief(&self) -> &[String] {
        &self.sentences[..self.first_sentences.min(self.sentences.len())]
    }

    /// Puts its chapter before all others, which are folded below it. Returns what is to be said in short.
    pub(crate) fn lead(&self, chapters: &mut Vec<Chapter>) -> Vec<String> {
        chapters.iter_mut().for_each(Chapter::put_below_answer);
        let further = self.sentences[self.brief().len()..].join(" ");
        let mut own =
            Chapter::new("answer", "The answer", &further).with(self.figures.clone(), self.tables.clone());
        own.tables_first = true;
        chapters.insert(0, own);
        self.brief().to_vec()
    }

    /// Its first table in at most so many columns and lines, behind a blank line: columns that do not fit are left out
    /// from the right, rows from below.
    pub(crate) fn lines(&self, columns: usize, most: usize) -> Vec<String> {
        let first = self.first_table.as_ref().map(|first| (&first.table, first.of));
        let Some((table, of)) = first.or_else(|| self.tables.first().map(|table| (table, table.rows.len())))
        else {
            return Vec::new();
        };
        let mut lines = narrow(table, columns);
        let room = most.saturating_sub(2);
        let all = of.max(table.rows.len());
        if lines.len() > room || all > table.rows.len() {
            // Steps of a ladder are left out evenly: its ends matter most.
            match self.form {
                AnswerForm::Ladder => lines = evenly(lines, room),
                _ => lines.truncate(room),
            }
            let left = all - (lines.len().max(1) - 1);
            let rows = if left == 1 { "row" } else { "rows" };
            lines.push(format!("  {left} more {rows}: -v"));
        }
        lines.insert(0, String::new());
        lines
    }
}

/// So many of the lines: the first two, the last and others between them, evenly.
fn evenly(lines: Vec<String>, most: usize) -> Vec<String> {
    let rows = lines.len().saturating_sub(1);
    let kept = most.saturating_sub(1).max(2);
    if rows <= kept {
        return lines;
    }
    let wanted: Vec<usize> = (0..kept).map(|k| 1 + k * (rows - 1) / (kept - 1)).collect();
    let is_kept = |at: &usize| *at == 0 || wanted.contains(at);
    lines.into_iter().enumerate().filter(|(at, _)| is_kept(at)).map(|(_, line)| line).collect()
}

/// The lines of a table, its head first, of at most so many columns.
fn narrow(table: &Table, columns: usize) -> Vec<String> {
    let shown = |at: usize, cells: &[String]| cells.get(at).map_or(0, |cell| width(cell));
    let widest = |at: usize| {
        let cells = table.rows.iter().map(|row| shown(at, &row.cells)).max().unwrap_or(0);
        cells.max(width(&table.columns[at].name))
    };
    let mut kept = Vec::new();
    let mut used = 0;
    for at in 0..table.columns.len() {
        let wanted = widest(at) + 2;
        if used + wanted > columns && at > 0 {
            break;
        }
        kept.push((at, wanted));
        used += wanted;
    }
    let line = |cells: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        for (at, wanted) in &kept {
            let cell = cut(&cells(*at), columns.saturating_sub(2));
            let gap = " ".repeat(wanted.saturating_sub(width(&cell) + 2));
            match table.columns[*at].number {
                true => text.push_str(&format!("  {gap}{cell}")),
                false => text.push_str(&format!("  {cell}{gap}")),
            }
        }
        text.trim_end().to_owned()
    };
    let head = line(&|at| table.columns[at].name.clone());
    let rows = table.rows.iter().map(|row| line(&|at| row.cells.get(at).cloned().unwrap_or_default()));
    std::iter::once(head).chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_are_left_out_from_the_right_and_rows_from_below() {
        let mut table = Table::new("T", &["<what", "first", "second"]);
        for n in 0..4 {
            table.push(false, [format!("row {n}"), "1".into(), "2".into()]);
        }
        let answer = Answer::new(Vec::new(), vec![table], Vec::new());
        assert_eq!(
            answer.lines(16, 5),
            ["", "  what   first", "  row 0      1", "  row 1      1", "  2 more rows: -v"]
        );
        assert_eq!(answer.lines(40, 9).len(), 6);
        let ladder = Answer { form: AnswerForm::Ladder, ..answer };
        assert_eq!(
            ladder.lines(16, 5),
            ["", "  what   first", "  row 0      1", "  row 3      1", "  2 more rows: -v"]
        );
    }
}
