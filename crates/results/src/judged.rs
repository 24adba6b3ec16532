//! What was found in a run whose samples went by.

use samples::{Judgement, JudgementKind, Judgements, Run, SiteKind};

use crate::row::ResultRow;

/// What was found in a run of which the rows are known and not the samples: of earlier versions, which kept no judgements,
/// the rows tell what failed.
pub fn judgements(run: &Run, rows: &[ResultRow]) -> Judgements {
    if let Some(found) = &run.facts.judgements {
        return found.clone();
    }
    let mut found = Judgements::of_samples(run);
    for row in rows.iter().filter(|row| row.kind == SiteKind::Operation) {
        for (errno, count) in &row.errors_by_errno {
            found.add(Judgement {
                kind: JudgementKind::OperationFailed,
                errno: *errno,
                line: row.lines.first().copied().unwrap_or(0),
                operation: row.operation.clone(),
                count: *count,
                ..Judgement::default()
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_tell_what_failed_where_no_judgements_were_kept() {
        let mut run = Run::default();
        run.facts.complete = true;
        let row = ResultRow {
            kind: SiteKind::Operation,
            operation: "fread".into(),
            errors_by_errno: [(5, 2)].into(),
            ..ResultRow::default()
        };
        let rows = [row];
        let found = judgements(&run, &rows);
        assert_eq!((found.failed(), found.are_sound()), (2, false));
        run.facts.judgements = Some(Judgements::default());
        assert!(judgements(&run, &rows).are_sound());
    }
}
