//! Aligns the columns of consecutive `define param` statements.

use crate::syntax::{Define, StatementKind, Statements};

use super::WIDTH;
use super::lines::columns;
use super::printer::Printer;
use super::spacing::{Spacing, SpacingRules};

impl Printer<'_> {
    /// Chooses the columns of the consecutive `define param` statements from `index` on and returns their
    /// number.
    pub(super) fn align_parameters(&mut self, list: Statements, index: usize) -> usize {
        let mut rows = Vec::new();
        let mut at = self.at;
        for (nth, id) in list.iter().skip(index).enumerate() {
            let statement = self.tree.statement(id);
            let StatementKind::Define(Define::Param { variable, default, .. }) = statement.kind else {
                break;
            };
            let item = self.items[at];
            let comments = &self.comments[item.comments.0 as usize..item.comments.1 as usize];
            let far =
                nth > 0 && (item.lines_before > 1 || comments.iter().any(|comment| comment.lines_before > 0));
            if far || nth == 1000 {
                break;
            }
            let find =
                |offset: u32| at + self.items[at..].iter().position(|item| item.start >= offset).unwrap_or(0);
            let middle = find(self.tree.span(variable).start);
            let (last, end) = (find(self.tree.span(default).start), find(statement.span.end));
            let plain = self.items[at + 1..end].iter().all(|item| !item.has_comments());
            // Excludes the comments before it, which are on other lines.
            let mut spacing = Spacing::new(SpacingRules::Param);
            spacing.joins(&item, &self.marks, self.text);
            let name = self.measure(at + 1, middle, spacing, WIDTH).map(|rest| "define ".len() + rest);
            if let (true, Some(name)) = (plain, name) {
                let width = columns(self.slice(self.items[middle].start, self.items[middle].end));
                rows.push((self.items[middle].start, self.items[last].start, name, width));
            }
            at = end;
            if nth + 1 == list.len() - index || !plain {
                break;
            }
        }
        let names = rows.iter().map(|row| row.2).max().unwrap_or(0);
        let widths = rows.iter().map(|row| row.3).max().unwrap_or(0);
        for (variable, default, ..) in &rows {
            self.columns.push((*variable, names + 1));
            self.columns.push((*default, names + 1 + widths + 1));
        }
        rows.len().max(1)
    }
}
